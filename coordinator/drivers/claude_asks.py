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


def answered(state: State, request_id: str, response: Json, out: Out) -> bool:
    """With replay on, the agent repeats the answers that it reads. Whether the line is such a one.

    It shows that the answer arrived; a refusal may follow with the tool's result. It also tells a driver that was
    restored from before the answer what was answered.
    """
    ask = state.asks.get(request_id)
    if ask is None:
        return False
    ask.answered = ask.answered or text(mapping(response, "response"), "behavior") or "deny"
    if not ask.arrived:
        ask.arrived = True
        out.append(DecisionResolved(request=request_id, accepted=True))
    return True


def used(state: State, call: str, out: Out) -> None:
    """The asked call runs: the answer arrived."""
    for request_id, ask in list(state.asks.items()):
        if call and ask.call == call:
            del state.asks[request_id]
            if not ask.arrived:
                out.append(DecisionResolved(request=request_id, accepted=True))


def finished(state: State, call: str, ok: bool, output: str, meta: Json, out: Out) -> None:
    """The asked call has a result, which shows whether the answer was understood."""
    for request_id, ask in list(state.asks.items()):
        if call and ask.call == call:
            del state.asks[request_id]
            accepted, detail = claude_decisions.verdict(ask, ok, output, meta)
            if not (accepted and ask.arrived):
                out.append(DecisionResolved(request=request_id, accepted=accepted, detail=detail))


def turn_ended(state: State, out: Out) -> None:
    """A request cannot outlive its turn; only a sub-agent in the background may still wait for its own."""
    for request_id, ask in list(state.asks.items()):
        if not ask.agent:
            del state.asks[request_id]
            if not ask.arrived:
                out.append(DecisionWithdrawn(request=request_id, why="the turn ended"))
