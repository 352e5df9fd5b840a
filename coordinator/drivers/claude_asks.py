"""The agent's requests on the control channel: put to the operator, withdrawn, seen answered, or refused as unknown."""

from coordinator.drivers import claude_decisions
from coordinator.drivers.base import AgentEvent, DecisionResolved, DecisionWithdrawn, Reply
from coordinator.drivers.claude_state import State
from coordinator.drivers.json_fields import Json, encode_line, mapping, text, word

Out = list[AgentEvent]


def asked(state: State, line: Json, out: Out) -> bool:
    request_id, request = word(line, "request_id"), mapping(line, "request")
    if request_id is None or text(request, "subtype") != "can_use_tool":
        return False
    event, ask = claude_decisions.asked(request_id, request)
    state.asks[request_id] = ask
    out.append(event)
    return True


def refuse(line: Json, out: Out) -> None:
    """The agent blocks until it is answered; nobody here knows the request, so it gets the protocol's error."""
    request_id = word(line, "request_id")
    if request_id is None:
        return
    subtype = text(mapping(line, "request"), "subtype") or "unnamed"
    body = {"subtype": "error", "request_id": request_id, "error": f"not supported by this host: {subtype}"}
    out.append(
        Reply(
            id=f"reply-{request_id}",
            data=encode_line({"type": "control_response", "response": body}),
            why=f"unknown request of the agent: {subtype}",
        )
    )


def withdrawn(state: State, line: Json, out: Out) -> bool:
    request_id = word(line, "request_id")
    if request_id is None:
        return False
    state.asks.pop(request_id, None)
    out.append(DecisionWithdrawn(request=request_id, why="the agent took the question back"))
    return True


def used(state: State, call: str, out: Out) -> None:
    """The asked call runs: the answer arrived."""
    for request_id, ask in list(state.asks.items()):
        if call and ask.call == call:
            del state.asks[request_id]
            out.append(DecisionResolved(request=request_id, accepted=True))


def finished(state: State, call: str, ok: bool, output: str, meta: Json, out: Out) -> None:
    """The asked call has a result, which shows whether the answer was understood."""
    for request_id, ask in list(state.asks.items()):
        if call and ask.call == call:
            del state.asks[request_id]
            accepted, detail = claude_decisions.verdict(ask, ok, output, meta)
            out.append(DecisionResolved(request=request_id, accepted=accepted, detail=detail))


def turn_ended(state: State, out: Out) -> None:
    """A request cannot outlive its turn; only a sub-agent in the background may still wait for its own."""
    for request_id, ask in list(state.asks.items()):
        if not ask.agent:
            del state.asks[request_id]
            out.append(DecisionWithdrawn(request=request_id, why="the turn ended"))
