"""Claude Code held open on stream-json with its control channel: how it is started, what is written to it.

This file encodes; ``claude_stream`` and its neighbours read. No I/O, clock or randomness may come in: ids of control
writes are counted, under a prefix that the owner makes unique for each life of a driver.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from coordinator.drivers import claude_decisions
from coordinator.drivers.base import (
    AgentEvent,
    Answer,
    Capabilities,
    ControlAcked,
    ControlWrite,
    Image,
    Start,
)
from coordinator.drivers.claude_screen import OWN_SCREEN
from coordinator.drivers.claude_state import State
from coordinator.drivers.claude_stream import read_line
from coordinator.drivers.json_fields import Json, encode_line, mapping
from coordinator.drivers.linedriver import LineDriver, command_in
from coordinator.drivers.money import micro_usd
from store.vocab import MicroUsd, TurnId

ASKING_MODE: Final = "default"
MODES: Final = (ASKING_MODE, "acceptEdits", "plan")
"""Those that let a model, or nobody, decide are not offered."""

_FLAGS: Final = (
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--permission-prompt-tool",
    "stdio",
    "--replay-user-messages",
    "--include-partial-messages",
)
_SET: Final = {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
_NEVER_INHERITED: Final = frozenset(
    {
        "CLAUDECODE",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_EXIT_AFTER_STOP_DELAY",
        "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_SDK_READS_SESSION_STATE",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_PID",
    }
)
_CANCELS_QUEUE: Final = (2, 1, 332)
"""The oldest version seen to take ``cancel_queued``."""
_TAKES_COMPOSED: Final = (2, 1, 248)
"""The oldest version said to take ``client_composed``."""
_ENDED: Final = "The operator ended the session."


class ClaudeDriver(LineDriver[State]):
    """One process of Claude Code, from its first byte to its last."""

    capabilities: Capabilities = Capabilities(
        reports_cost=True,
        asks_permission=True,
        asks_questions=True,
        interrupts=True,
        resumes=True,
        streams_text=True,
        raises_cap_live=False,
        modes=MODES,
        sets_model=True,
        takes_images=True,
        own_screen=OWN_SCREEN,
    )

    def __init__(self, instance: str = "fp") -> None:
        super().__init__(instance, State())

    # ---------------------------------------------------------------------------------------------------- starting

    def argv(self, start: Start) -> Sequence[str]:
        self._state.mode_wanted = start.mode if start.mode in MODES else ASKING_MODE
        return (start.program, *self._flags(start), *start.extra_args)

    def _flags(self, start: Start) -> Sequence[str]:
        flags = [*_FLAGS]
        if start.resume:
            flags.append(f"--resume={start.session}")
            if start.fork:
                flags.append("--fork-session")
        else:
            flags += ["--session-id", start.session]
        if start.model:
            flags += ["--model", start.model]
        if self._state.mode_wanted != ASKING_MODE:
            # The asking mode has another name as a flag in each generation; it is set by control write in both.
            flags += ["--permission-mode", self._state.mode_wanted]
        if start.cap is not None:
            # Zero is refused by the agent; the least there is ends it at its first answer.
            flags += ["--max-budget-usd", f"{Decimal(max(start.cap, 1)) / 1_000_000:f}"]
        return flags

    def environment(self) -> tuple[Mapping[str, str], frozenset[str]]:
        return _SET, _NEVER_INHERITED

    def opening(self) -> Sequence[ControlWrite]:
        return (
            self._control({"subtype": "initialize", "hooks": None}),
            self.set_mode(self._state.mode_wanted),
        )

    # ----------------------------------------------------------------------------------------------------- reading

    def _read(self, line: bytes, out: list[AgentEvent]) -> None:
        read_line(self._state, line, out)

    # ----------------------------------------------------------------------------------------------------- writing

    def turn(self, turn: TurnId, text: str, images: Sequence[Image] = ()) -> bytes:
        """The user line. Called again for a turn in flight (after a restart of the console) it changes nothing."""
        self._remember(turn)
        composed = self.slash(text) is None and (text.lstrip().startswith("/") or "@" in text)
        if composed and text.startswith("/") and not self._is_at_least(_TAKES_COMPOSED):
            # The older generation knows no flag against it; seen there: a space before the slash is enough.
            text = f" {text}"
        line: Json = {
            "type": "user",
            "message": {"role": "user", "content": _content(text, images) if images else text},
            "parent_tool_use_id": None,
            "session_id": "",
            "uuid": turn,
        }
        if composed:
            # Else the agent would run a command, or read a file into the text, that nobody meant.
            line["client_composed"] = True
        return encode_line(line)

    def addressed(self, data: bytes) -> bytes:
        return data  # the conversation's name was ours to choose

    def answer(self, request: str, answer: Answer) -> bytes:
        ask = self._state.asks.get(request)
        word, body = claude_decisions.response(ask, answer)
        if ask is not None:
            ask.answered = word
        return _response(request, body)

    def never_went(self, name: str) -> None:
        super().never_went(name)
        if (ask := self._state.asks.get(name)) is not None:
            ask.answered = ""

    def interrupt(self) -> ControlWrite:
        request: Json = {"subtype": "interrupt"}
        if self._cancels_queue():
            # Without it, lines that wait in the agent begin at once after the interrupt.
            request["cancel_queued"] = True
        return self._control(request)

    def stop_background(self) -> Sequence[ControlWrite]:
        return tuple(
            self._control({"subtype": "stop_task", "task_id": task_id})
            for task_id, task in self._state.tasks.items()
            if task.background
        )

    def set_mode(self, mode: str) -> ControlWrite:
        return self._control({"subtype": "set_permission_mode", "mode": mode})

    def set_model(self, model: str) -> ControlWrite:
        return self._control({"subtype": "set_model", "model": model})

    def ask_cost(self) -> ControlWrite:
        """Ask what has been spent, before a resumed process's first turn; ``cost_told`` reads its ``ControlAcked``."""
        return self._control({"subtype": "get_usage"})

    def cost_told(self, acked: ControlAcked) -> MicroUsd | None:
        return micro_usd(mapping(acked.detail, "session").get("total_cost_usd"))

    def farewell(self) -> bytes:
        denials = [
            _response(request, {"behavior": "deny", "message": _ENDED, "interrupt": True})
            for request, ask in self._state.asks.items()
            if not ask.arrived
        ]
        end = {"subtype": "end_session", "reason": _ENDED}
        # Not counted: the supervisor keeps a newer farewell in place of the one before, and sends at most one.
        return b"".join(denials) + _request(f"{self._instance}-farewell", end)

    def slash(self, text: str) -> str | None:
        return command_in(text, self._state.commands)

    # ----------------------------------------------------------------------------------------------------- internals

    def _control(self, request: Json) -> ControlWrite:
        id = self._next()
        return ControlWrite(id=id, data=_request(id, request))

    def _cancels_queue(self) -> bool:
        if "interrupt_cancel_queued_v1" in self._state.abilities:
            return True
        return self._is_at_least(_CANCELS_QUEUE)

    def _is_at_least(self, version: tuple[int, int, int]) -> bool:
        """False while the version is not known."""
        numbers = re.match(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", self._state.version)
        return numbers is not None and tuple(int(n) for n in numbers.groups()) >= version


class RehearsalDriver(ClaudeDriver):
    """The practice agent: a process of ours that speaks the same protocol, started through an interpreter."""

    def argv(self, start: Start) -> Sequence[str]:
        program, *flags = super().argv(
            Start(
                program=start.program,
                session=start.session,
                resume=start.resume,
                fork=start.fork,
                model=start.model,
                mode=start.mode,
                cap=start.cap,
            )
        )
        # The profile's own arguments name the module to run, so they stand before the protocol's flags.
        return (program, *start.extra_args, *flags)


def _content(text: str, images: Sequence[Image]) -> list[Json]:
    """The text, then the images in the order in which it names them."""
    blocks: list[Json] = [{"type": "text", "text": text}]
    for image in images:
        data = base64.b64encode(image.data).decode()
        source: Json = {"type": "base64", "media_type": image.media_type.value, "data": data}
        blocks.append({"type": "image", "source": source})
    return blocks


def _request(id: str, request: Json) -> bytes:
    return encode_line({"type": "control_request", "request_id": id, "request": request})


def _response(request: str, body: Json) -> bytes:
    inner = {"subtype": "success", "request_id": request, "response": body}
    return encode_line({"type": "control_response", "response": inner})
