"""Plays one turn of a script as the real agent would tell it: message by message, block by block, call by call.

The order of the lines is the point of this file; it is the order that was measured on the real agent. What a tool does
is in toolbox.py, what goes wrong on purpose in mischief.py.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from coordinator.rehearsal import mischief
from coordinator.rehearsal.failures import Failure, fail
from coordinator.rehearsal.pictures import looked_at
from coordinator.rehearsal.script import Step
from coordinator.rehearsal.session import Aborted, Session, UserLine
from coordinator.rehearsal.toolbox import Toolbox
from coordinator.rehearsal.wire import now

Json = dict[str, Any]
CLOSING = Step(text="All done.")
"""What the agent says when a script ends with a tool call: the real one always has the last word."""


class Player:
    """One turn: made for it, played once."""

    def __init__(self, session: Session, lines: list[UserLine]) -> None:
        self.session = session
        self.lines = lines
        self.toolbox = Toolbox(session)
        self.started = time.monotonic()
        self.calls = 0
        self.said = ""
        self.echoed = 0
        self.stop_reason = "end_turn"

    def play(self, steps: Sequence[Step]) -> None:
        session = self.session
        session.spending.begin_turn()
        session.state("running")
        session.init_line(self.lines)
        try:
            if self.over_budget():
                return self.refuse_budget()
            self.play_steps([*looked_at(self.lines), *steps])
            self.settle("success", {"result": self.said, "stop_reason": self.stop_reason, "api_error_status": None})
        except Aborted as abort:
            self.tell_abort(abort.during)
        except Failure as failure:
            self.tell_failure(failure)
        except OutOfTurns:
            told = f"Reached maximum number of turns ({session.flags.max_turns})"
            self.settle("error_max_turns", {"terminal_reason": "max_turns", "errors": [told]}, calls=self.calls + 1)
        except OutOfBudget:
            self.refuse_budget()

    def play_steps(self, steps: list[Step]) -> None:
        position = 0
        ended_with_tools = False
        while position < len(steps):
            step = steps[position]
            position += 1
            if not self.applies(step):
                continue
            if step.do is not None:
                self.echo()
                mischief.perform(self.session, step, self.lines[0].text)
                continue
            self.side_lines(step)
            if step.calls_model:
                ended_with_tools = bool(step.tools)
                self.call_model(step)
                if step.tools and (injected := self.take_injected()):
                    steps, position = list(injected), 0
        if ended_with_tools:
            self.call_model(CLOSING)
        self.echo()

    def applies(self, step: Step) -> bool:
        if step.answered is not None:
            wanted = step.answered.removeprefix("!").casefold()
            if (wanted in self.toolbox.answer.casefold()) == step.answered.startswith("!"):
                return False
        last = self.toolbox.last
        return step.only is None or (last != "denied" if step.only == "allowed" else last == step.only)

    def side_lines(self, step: Step) -> None:
        if step.emit is not None:
            self.session.wire.say(step.emit)
        if step.limit is not None:
            info = {"status": "allowed_warning", "rateLimitType": "five_hour", "isUsingOverage": False, **step.limit}
            self.session.wire.say({"type": "rate_limit_event", "rate_limit_info": info})

    # --------------------------------------------------------------------------------------- a model call

    def call_model(self, step: Step) -> None:
        session = self.session
        if session.flags.max_turns is not None and self.calls >= session.flags.max_turns:
            raise OutOfTurns
        self.calls += 1
        if session.flags.partial:
            session.wire.system("status", status="requesting")
        if step.delay:
            session.wait(step.delay)
        if step.fail is not None:
            fail(session, step.fail)
            if step.text is None and not step.tools:
                return
        session.check()
        message = Message(session, step, self.echo)
        if session.newer and session.flags.partial:
            self.echo()
        message.begin()
        uses: list[tuple[str, str, Json]] = []
        try:
            if step.think:
                message.think(step.think)
            if step.text is not None:
                self.said = self.filled(step.text)
                message.text(self.said)
            for tool in step.tools:
                use = f"toolu_{secrets.token_hex(6)}{len(uses)}"
                # A copy: what one call learns must not reach into the script.
                call = json.loads(json.dumps(tool.input))
                if "content" in call:
                    call["content"] = self.filled(call["content"])
                message.tool(use, tool.name, call)
                uses.append((tool.name, use, call))
        finally:
            session.spending.charge(session.model_name, step.input_tokens, step.output_tokens, step.cost)
        self.stop_reason = "tool_use" if uses else "end_turn"
        message.end(self.stop_reason)
        if self.over_budget():
            raise OutOfBudget
        for name, use, call in uses:
            session.check("tools")
            self.toolbox.call(name, call, use)

    def filled(self, text: str) -> str:
        last_line = self.toolbox.output.strip().splitlines()[-1:] or [""]
        return text.replace("{answer}", self.toolbox.answer or "no answer").replace("{output}", last_line[0])

    def echo(self) -> None:
        """The replay of what the user said comes with the first content: *taken into the turn*, not *received*."""
        if self.session.flags.replay:
            for line in self.lines[self.echoed :]:
                if line.origin is None:
                    replay(self.session, line)
        self.echoed = len(self.lines)

    def take_injected(self) -> tuple[Step, ...]:
        """Lines that came while tools ran join this turn; a directive in the last one says how it goes on."""
        session = self.session
        with session.changed:
            joined = [line for line in session.inbox if line.origin is None]
            for line in joined:
                session.inbox.remove(line)
        for line in joined:
            session.lifecycle(line, "started")
        self.lines.extend(joined)
        self.echo()
        if not joined:
            return ()
        steps, session.played = session.script.choose(joined[-1].text, session.played)
        return steps

    # ------------------------------------------------------------------------------------------- endings

    def over_budget(self) -> bool:
        cap = self.session.flags.max_budget
        return cap is not None and self.session.spending.own >= cap

    def refuse_budget(self) -> None:
        self.echo()
        told = f"Reached maximum budget (${self.session.flags.max_budget:g})"
        extra = {"errors": [told]} | ({"terminal_reason": "budget_exhausted"} if self.session.newer else {})
        self.settle("error_max_budget_usd", extra)

    def tell_abort(self, during: str) -> None:
        tail = " for tool use" if during == "tools" else ""
        content = [{"type": "text", "text": f"[Request interrupted by user{tail}]"}]
        self.session.wire.say({"type": "user", "message": {"role": "user", "content": content}, "timestamp": now()})
        told = f"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={self.stop_reason}"
        extra = {"terminal_reason": f"aborted_{during}", "errors": [told], "stop_reason": self.stop_reason}
        self.settle("error_during_execution", extra, calls=self.calls + 1, state="cancelled")

    def tell_failure(self, failure: Failure) -> None:
        self.echo()
        message = synthetic(failure.text)
        self.session.wire.say({"type": "assistant", "message": message, "error": failure.error, "timestamp": now()})
        extra: Json = {"is_error": True, "result": failure.text, "api_error_status": failure.status}
        extra |= {"stop_reason": "stop_sequence"}
        if self.session.newer:
            extra |= {"terminal_reason": failure.reason}
        self.settle("success", extra, state="cancelled")

    def settle(self, subtype: str, extra: Json, *, calls: int | None = None, state: str = "completed") -> None:
        session = self.session
        told = {"permission_denials": self.toolbox.denials} | extra
        with session.changed:
            session.playing = False
            session.result(
                self.lines,
                started=self.started,
                calls=self.calls if calls is None else calls,
                subtype=subtype,
                extra=told,
            )
        for line in self.lines:
            session.lifecycle(line, state)
        if not session.inbox:
            session.state("idle")


class OutOfTurns(Exception):
    pass


class OutOfBudget(Exception):
    pass


class Message:
    """One answer of the pretended model: its blocks, streamed where the host asks for it, and whole in any case."""

    def __init__(self, session: Session, step: Step, before_whole: Callable[[], None]) -> None:
        self.session = session
        self.step = step
        self.before_whole = before_whole
        self.id = f"msg_{secrets.token_hex(8)}"
        self.index = -1
        self.usage = {
            "input_tokens": step.input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 1,
        }

    def begin(self) -> None:
        self.event({"type": "message_start", "message": self.body([])})

    def end(self, stop_reason: str) -> None:
        delta = {"stop_reason": stop_reason, "stop_sequence": None}
        self.event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": self.step.output_tokens}})
        self.event({"type": "message_stop"})

    def think(self, text: str) -> None:
        self.open({"type": "thinking", "thinking": "", "signature": ""})
        pieces = None if self.session.pace else 1
        self.stream(text, lambda piece: {"type": "thinking_delta", "thinking": piece}, pieces, text_block=False)
        self.event(
            {
                "type": "content_block_delta",
                "index": self.index,
                "delta": {"type": "signature_delta", "signature": "c2ln"},
            }
        )
        self.close({"type": "thinking", "thinking": text, "signature": "c2ln"})

    def text(self, text: str) -> None:
        self.open({"type": "text", "text": ""})
        self.stream(text, lambda piece: {"type": "text_delta", "text": piece}, self.step.chunks, text_block=True)
        self.close({"type": "text", "text": text})

    def tool(self, use: str, name: str, call: Json) -> None:
        self.open({"type": "tool_use", "id": use, "name": name, "input": {}})
        self.delta({"type": "input_json_delta", "partial_json": json.dumps(call)})
        self.close({"type": "tool_use", "id": use, "name": name, "input": call})

    def open(self, block: Json) -> None:
        self.index += 1
        self.event({"type": "content_block_start", "index": self.index, "content_block": block})

    def delta(self, delta: Json) -> None:
        self.event({"type": "content_block_delta", "index": self.index, "delta": delta})

    def close(self, block: Json) -> None:
        self.whole(block)
        self.event({"type": "content_block_stop", "index": self.index})

    def stream(self, text: str, delta: Any, chunks: int | None, *, text_block: bool) -> None:
        pace = self.session.pace if self.step.slow is None else self.step.slow
        done = ""
        try:
            for piece in pieces(text, chunks, smooth=self.session.pace > 0 and self.step.slow is None):
                self.delta(delta(piece))
                done += piece
                if pace:
                    self.session.wait(pace)
                self.session.check()
        except Aborted:
            if text_block:
                self.whole({"type": "text", "text": done}, aborted=self.session.newer)
            raise

    def body(self, content: list[Json]) -> Json:
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.session.model_name,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": self.usage,
        }

    def whole(self, block: Json, *, aborted: bool = False) -> None:
        self.before_whole()
        line: Json = {"type": "assistant", "message": self.body([block]), "parent_tool_use_id": None}
        line |= {"aborted": True} if aborted else {}
        self.session.wire.say(line | {"timestamp": now()})

    def event(self, event: Json) -> None:
        if self.session.flags.partial:
            self.session.wire.say({"type": "stream_event", "event": event, "parent_tool_use_id": None})


def pieces(text: str, chunks: int | None, *, smooth: bool) -> Iterable[str]:
    """Cut a text for streaming: into so many chunks, or a few words at a time where a person watches."""
    if not text:
        return [""]
    if chunks is None and smooth:
        words = text.split(" ")
        groups = [" ".join(words[at : at + 2]) for at in range(0, len(words), 2)]
        return [group + " " for group in groups[:-1]] + groups[-1:]
    size = max(1, len(text) // max(1, chunks or 2))
    return [text[at : at + size] for at in range(0, len(text), size)]


def replay(session: Session, line: UserLine) -> None:
    told: Json = {
        "type": "user",
        "message": {"role": "user", "content": line.content},
        "parent_tool_use_id": None,
        "timestamp": now(),
        "isReplay": True,
    }
    session.wire.say(told | ({} if line.uuid is None else {"uuid": line.uuid}))


def synthetic(text: str) -> Json:
    return {
        "id": f"msg_{secrets.token_hex(8)}",
        "type": "message",
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
