"""Any agent that speaks the Agent Client Protocol, held on its standard streams: what is written to it.

This file encodes; ``acp_stream`` and its neighbours read. What is peculiar to single agents is in ``acp_agents``. No
I/O, clock or randomness may come in: ids are made from what the ledger knows, so that an answer finds its question
after a console was restarted.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from coordinator.drivers import acp_asks, acp_start, jsonrpc
from coordinator.drivers.acp_agents import ASK, MODES, PLAN
from coordinator.drivers.acp_state import State
from coordinator.drivers.acp_stream import TURN, heard_as, read_line
from coordinator.drivers.base import (
    AgentEvent,
    Answer,
    Capabilities,
    ControlAcked,
    ControlWrite,
    Image,
    Start,
)
from coordinator.drivers.json_fields import Json
from coordinator.drivers.linedriver import LineDriver, command_in
from store.vocab import MicroUsd, TurnId

_ADDRESS: Final = b'"sessionId":""'
"""Where the conversation's name goes. It stands before the text, and within the text its quotes would be escaped."""
_TOLD: Final = "told by the agent as it goes"
_MAY_TELL: Final = "told by some agents of this kind"


class AcpDriver(LineDriver[State]):
    """One process of one agent, from its first byte to its last."""

    def __init__(self, instance: str = "fp") -> None:
        super().__init__(instance, State())

    @property
    def capabilities(self) -> Capabilities:
        """As much as is known now: of the kind, then of the agent that is started, then of what it says of itself."""
        ways = acp_start.ways(self._state)
        if ways.tells_cost or self._state.cost is not None:
            note = _TOLD
        else:
            note = _MAY_TELL if ways.tells_cost is None and not self._state.profile else ""
        return replace(
            _ALL,
            cost_note=note,
            modes=MODES if ways.plan else (ASK,),
            resumes=ways.resumes,
            takes_images=self._state.takes_images is not False,
        )

    # ---------------------------------------------------------------------------------------------------- starting

    def argv(self, start: Start) -> Sequence[str]:
        state = self._state
        state.profile, state.cwd = start.agent, start.cwd
        state.session_wanted = start.session if start.resume else ""
        state.fork = start.resume and start.fork
        state.mode_wanted = start.mode if start.mode in MODES else ASK
        state.model_wanted = start.model or ""
        return (start.program, *start.extra_args)

    def environment(self) -> tuple[Mapping[str, str], frozenset[str]]:
        return dict(acp_start.ways(self._state).environment), frozenset()

    def opening(self) -> Sequence[ControlWrite]:
        return (ControlWrite(id=self._next(), data=acp_start.initialize()),)

    # ----------------------------------------------------------------------------------------------------- reading

    def _read(self, line: bytes, out: list[AgentEvent]) -> None:
        read_line(self._state, line, out)

    # ----------------------------------------------------------------------------------------------------- writing

    def turn(self, turn: TurnId, text: str, images: Sequence[Image] = ()) -> bytes:
        """The prompt, not yet addressed. Called again for a turn in flight (after a restart) it changes nothing."""
        self._remember(turn)
        blocks: list[Json] = [{"type": "text", "text": text}]
        for image in images:
            data = base64.b64encode(image.data).decode()
            blocks.append({"type": "image", "mimeType": image.media_type.value, "data": data})
        params: Json = {"sessionId": "", "prompt": blocks}
        return jsonrpc.request(f"{TURN}{turn}", "session/prompt", params, versioned=True)

    def addressed(self, data: bytes) -> bytes:
        name = json.dumps(self._state.native_id).encode("ascii")
        return data.replace(_ADDRESS, b'"sessionId":' + name, 1)

    def answer(self, request: str, answer: Answer) -> bytes:
        data = acp_asks.answer(self._state.asks.get(request), request, answer)
        acp_asks.taken(self._state, request)
        return data

    def never_went(self, name: str) -> None:
        super().never_went(name)
        if (ask := self._state.asks.get(name)) is not None:
            ask.answered = False

    def interrupt(self) -> ControlWrite:
        """A cancel has no answer of its own: it is heard when the prompt is answered."""
        cancel = self._cancel() + self._cancel_asks()
        for ask in self._state.asks.values():
            ask.answered = True
        heard = heard_as(self._state.sent[0]) if self._state.sent else ""
        return ControlWrite(id=self._next(), data=cancel, heard_as=heard)

    def stop_background(self) -> Sequence[ControlWrite]:
        return ()

    def set_mode(self, mode: str) -> ControlWrite:
        wanted = acp_start.mode_id(self._state, mode) or mode
        return self._control(f"mode {wanted}", *acp_start.mode_request(self._state, wanted))

    def set_model(self, model: str) -> ControlWrite:
        wanted = acp_start.model_id(self._state, model)
        return self._control(f"model {wanted}", *acp_start.model_request(self._state, wanted))

    def ask_cost(self) -> ControlWrite:
        """Never needed: the protocol has no such question, and this driver does not say that it reports costs."""
        return ControlWrite(id=self._next(), data=b"")

    def cost_told(self, acked: ControlAcked) -> MicroUsd | None:
        return None

    def farewell(self) -> bytes:
        """Open requests answered as cancelled, and the turn with them; the end of its input ends the agent."""
        working = self._state.sent or self._state.asks or self._state.by_agent
        if not self._state.native_id or not working:
            return b""
        return self._cancel() + self._cancel_asks()

    def slash(self, text: str) -> str | None:
        return command_in(text, self._state.commands)

    # ----------------------------------------------------------------------------------------------------- internals

    def _control(self, what: str, method: str, params: Json) -> ControlWrite:
        """``what``: said again by the agent with its answer, so that whoever reads that knows what it is about."""
        id = self._next()
        return ControlWrite(id=id, data=jsonrpc.request(f"{id} {what}", method, params, versioned=True))

    def _cancel(self) -> bytes:
        return jsonrpc.notification("session/cancel", {"sessionId": self._state.native_id}, versioned=True)

    def _cancel_asks(self) -> bytes:
        open_ = ((request, ask) for request, ask in self._state.asks.items() if not ask.answered)
        return b"".join(acp_asks.cancelled(ask, request) for request, ask in open_)


_ALL: Final = Capabilities(
    reports_cost=False,
    asks_permission=True,
    asks_questions=True,
    interrupts=True,
    resumes=True,
    streams_text=True,
    raises_cap_live=True,
    modes=(ASK, PLAN),
    sets_model=True,
    takes_images=True,
    farewell_ends=False,
)
