"""Codex held open on ``codex app-server``: how it is started, what is written to it.

This file encodes, with the lines of ``codex_words``; ``codex_stream`` and its neighbours read. No I/O, clock or
randomness may come in: ids of control writes are counted, under a prefix that the owner makes unique for each life of a
driver; all else is named after what is in the ledger or was read.
"""

import base64
import json
from collections.abc import Mapping, Sequence

from coordinator.drivers import codex_asks, codex_items, codex_words, jsonrpc
from coordinator.drivers.base import (
    AgentEvent,
    Answer,
    Capabilities,
    ControlAcked,
    ControlWrite,
    Image,
    Start,
)
from coordinator.drivers.codex_state import Held, State
from coordinator.drivers.codex_stream import read_line
from coordinator.drivers.json_fields import Json
from coordinator.drivers.linedriver import LineDriver
from coordinator.prices import DATED
from store.vocab import MicroUsd, TurnId

_SET = {"NO_COLOR": "1"}
"""Its log on stderr is kept as text."""
_NEVER_INHERITED = frozenset({"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"})
"""What an outer Codex sets for its own commands: with it this one would think that it is inside a sandbox."""


class CodexDriver(LineDriver[State]):
    """One process of ``codex app-server``, from its first byte to its last."""

    capabilities: Capabilities = Capabilities(
        reports_cost=False,
        asks_permission=True,
        asks_questions=True,
        interrupts=True,
        resumes=True,
        streams_text=True,
        raises_cap_live=False,
        modes=codex_words.MODES,
        sets_model=True,
        takes_images=True,
        farewell_ends=False,
        cost_note=f"estimated from its tokens and prices.toml, else the list of {DATED}",
    )

    def __init__(self, instance: str = "fp") -> None:
        super().__init__(instance, State())
        self._held = Held(state=self._state)

    # ---------------------------------------------------------------------------------------------------- starting

    def argv(self, start: Start) -> Sequence[str]:
        self._held.start = start
        self._held.prices = start.prices
        self._state.mode_wanted = start.mode if start.mode in codex_words.MODES else codex_words.ASK
        return (start.program, *start.extra_args, "app-server")

    def environment(self) -> tuple[Mapping[str, str], frozenset[str]]:
        return _SET, _NEVER_INHERITED

    def opening(self) -> Sequence[ControlWrite]:
        return (ControlWrite(id=self._next(), data=codex_words.initialize()),)

    # ----------------------------------------------------------------------------------------------------- reading

    def _read(self, line: bytes, out: list[AgentEvent]) -> None:
        read_line(self._held, line, out)

    # ----------------------------------------------------------------------------------------------------- writing

    def turn(self, turn: TurnId, text: str, images: Sequence[Image] = ()) -> bytes:
        """The request, with no thread in it. Called again for a turn in flight (after a restart) it changes nothing."""
        self._remember(turn)
        parts: list[Json] = [{"type": "text", "text": text}]
        for image in images:
            data = base64.b64encode(image.data).decode()
            parts.append({"type": "image", "url": f"data:{image.media_type.value};base64,{data}"})
        return codex_words.turn(turn, parts)

    def addressed(self, data: bytes) -> bytes:
        return codex_words.addressed(data, self._state.thread)

    def answer(self, request: str, answer: Answer) -> bytes:
        ask = self._state.asks.get(request)
        if ask is not None:
            ask.answered = True
        return _response(request, codex_asks.body(ask, answer))

    def never_went(self, name: str) -> None:
        super().never_went(name)
        if (ask := self._state.asks.get(name)) is not None:
            ask.answered = False

    def interrupt(self) -> ControlWrite:
        """Open requests answered, and the turn's end. A turn that it has not named yet is interrupted when it does."""
        native = next(reversed(self._state.flights), None)
        cancelled = self._cancelled()
        id = self._next()
        if native is None:
            self._state.interrupt_next = bool(self._state.sent)
            return ControlWrite(id=id, data=cancelled + codex_words.still_there(id))
        return ControlWrite(id=id, data=cancelled + codex_words.interrupt(id, self._state.thread, native))

    def stop_background(self) -> Sequence[ControlWrite]:
        if not any(item.type == codex_items.COMMAND for item in self._state.items.values()):
            return ()
        id = self._next()
        return (ControlWrite(id=id, data=codex_words.end_all(id, self._state.thread)),)

    def set_mode(self, mode: str) -> ControlWrite:
        id, known = self._next(), mode if mode in codex_words.MODES else codex_words.ASK
        data = codex_words.settings(id, self._state.thread, mode=known, known_model=self._state.model)
        return ControlWrite(id=id, data=data)

    def set_model(self, model: str) -> ControlWrite:
        id = self._next()
        return ControlWrite(id=id, data=codex_words.settings(id, self._state.thread, model=model))

    def ask_cost(self) -> ControlWrite:
        """It knows no cost: only whether it answers is learned."""
        id = self._next()
        return ControlWrite(id=id, data=codex_words.still_there(id))

    def cost_told(self, acked: ControlAcked) -> MicroUsd | None:
        return None

    def farewell(self) -> bytes:
        """Its own good end is the end of its input; a turn in flight is interrupted first, so that its result comes."""
        native = next(reversed(self._state.flights), None)
        if native is None:
            return self._cancelled()
        return self._cancelled() + codex_words.interrupt(codex_words.INTERRUPT + native, self._state.thread, native)

    def slash(self, text: str) -> str | None:
        return None  # its commands live in its own screen; here a slash is text

    # -------------------------------------------------------------------------------------------------- the snapshot

    def restore(self, state: bytes) -> None:
        super().restore(state)
        self._held.state = self._state

    # ----------------------------------------------------------------------------------------------------- internals

    def _cancelled(self) -> bytes:
        return b"".join(_response(request, ask.cancel) for request, ask in self._state.asks.items() if not ask.answered)


def _response(request: str, body: str) -> bytes:
    return jsonrpc.result(jsonrpc.from_key(request), json.loads(body), versioned=False)
