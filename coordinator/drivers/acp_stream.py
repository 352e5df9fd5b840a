"""Reads the lines that an agent prints on the Agent Client Protocol and says, in our events, what happened.

Answers to what we asked, notifications, requests of its own; what nobody here knows is ``Unknown``, and a request that
nobody knows is answered with the protocol's error, so that nothing in the agent waits for ever.
"""

from typing import Final

from coordinator.drivers import acp_asks, acp_questions, acp_start, acp_tools, acp_updates, jsonrpc
from coordinator.drivers.acp_results import (
    cost_of,
    end_of,
    failure_kind,
    failure_text,
    in_words,
    kind_of_text,
    says_nothing_was_used,
    usage_of,
)
from coordinator.drivers.acp_state import MOST_ASKS, State
from coordinator.drivers.base import (
    AgentEvent,
    ContextUsage,
    ControlAcked,
    ModelChanged,
    Reply,
    TurnResult,
    Unknown,
)
from coordinator.drivers.json_fields import objects, text
from coordinator.drivers.linedriver import remember
from store.vocab import FailureKind, TurnId, TurnResultKind

Out = list[AgentEvent]

TURN: Final = "turn-"
"""What the id of a prompt begins with, before its turn's."""
_OURS_TO_DO: Final = ("fs/", "terminal/")
"""Requests for what we said that we do not do; some agents ask all the same, and go on without."""
_SILENT: Final = ("_auth/", "$/", "elicitation/complete")


def heard_as(turn: str) -> str:
    """Id under which a cancel of that turn is heard: with its result, asked for or not."""
    return f"cancel-{turn}"


def read_line(state: State, raw: bytes, out: Out) -> None:
    """One line, never an exception: an agent's surprise is a line kept whole."""
    if not raw or raw.isspace():
        return
    message: jsonrpc.Message | None = None
    before = len(out)
    try:
        message = jsonrpc.read(raw)
        if message is not None and _known(state, message, out):
            return
    except Exception:
        # Whatever shape it has, it must not end a hold (rule of design section 8). What was read before stands.
        pass
    known_no = False
    if isinstance(message, jsonrpc.Request) and not any(isinstance(event, Reply) for event in out[before:]):
        known_no = message.method.startswith((*_OURS_TO_DO, *acp_start.ways(state).hidden))
        data = jsonrpc.error(message.id, jsonrpc.METHOD_NOT_FOUND, "not supported by this host", versioned=True)
        name = f"reply-{jsonrpc.key(message.id)}"
        out.append(Reply(id=name, data=data, why=f"unknown request of the agent: {message.method[:100]}"))
    if not known_no:
        out.append(Unknown(raw=raw.decode("utf-8", "replace")))


def _known(state: State, message: jsonrpc.Message, out: Out) -> bool:
    match message:
        case jsonrpc.Response():
            return _response(state, message, out)
        case jsonrpc.Notification():
            return _notification(state, message, out)
        case jsonrpc.Request():
            return _request(state, message, out)


def _notification(state: State, message: jsonrpc.Notification, out: Out) -> bool:
    if message.method == "session/update":
        return acp_updates.read(state, message.params, out)
    if message.method == "$/cancel_request":
        return acp_asks.withdrawn(state, message.params, out)
    return message.method.startswith((*_SILENT, *acp_start.ways(state).hidden))


def _request(state: State, message: jsonrpc.Request, out: Out) -> bool:
    if message.method not in ("session/request_permission", "elicitation/create"):
        return False
    acp_updates.speaks(state, out)
    acp_updates.end_block(state, out)
    if message.method == "elicitation/create":
        known = acp_questions.form(state, message, out)
    else:
        known = acp_asks.permission(state, acp_start.ways(state), message, out)
    while len(state.asks) > MOST_ASKS:
        del state.asks[next(iter(state.asks))]
    return known


def _response(state: State, response: jsonrpc.Response, out: Out) -> bool:
    id = response.id
    if acp_start.answered(state, response, out):
        return True
    if not isinstance(id, str):
        return False
    if id.startswith(TURN):
        _result(state, id.removeprefix(TURN), response, out)
        return True
    name, _, what = id.partition(" ")
    if response.error is not None:
        said = {"error": failure_text(response.error)}
        out.append(ControlAcked(id=name, ok=False, detail=said))
        return True
    out.append(ControlAcked(id=name, ok=True))
    acp_start.took_options(state, objects(response.result, "configOptions"), out)
    kind, _, value = what.partition(" ")
    if kind == "mode":
        acp_start.took_mode(state, value, out)
    elif kind == "model" and value != state.model:
        state.model = value
        out.append(ModelChanged(model=value))
    return True


def _result(state: State, turn: str, response: jsonrpc.Response, out: Out) -> None:
    """The answer to a prompt: its turn is over."""
    if turn in state.settled:
        return
    if state.by_agent and turn not in state.begun:
        acp_updates.rests(state, out)
    acp_updates.end_block(state, out)
    acp_tools.turn_ended(state, out)
    acp_asks.turn_ended(state, out)
    ways = acp_start.ways(state)
    failed = response.error
    if failed is not None:
        kind, failure, said = TurnResultKind.ERROR, failure_kind(failed), failure_text(failed)
        subtype = "error"
    else:
        subtype = text(response.result, "stopReason")
        kind, maybe, said = end_of(subtype)
        failure = maybe or FailureKind.UNKNOWN
        as_text = ways.errors_as_text.search(state.last_text) if ways.errors_as_text else None
        if kind is TurnResultKind.SUCCESS and as_text and response.result.get("usage") is None:
            said = as_text.group().strip()
            kind, failure, said = TurnResultKind.ERROR, kind_of_text(said), in_words(said)
        elif kind is TurnResultKind.SUCCESS and says_nothing_was_used(response.result):
            # A cancel while it waits to call the model again is answered as if the turn had come to its end.
            kind = TurnResultKind.INTERRUPTED
    interrupted = kind is TurnResultKind.INTERRUPTED
    usage = usage_of(state, ways, response.result, interrupted=interrupted)
    if interrupted:
        out.append(ControlAcked(id=heard_as(turn), ok=True))
    out.append(
        TurnResult(
            turns=(TurnId(turn),),
            kind=kind,
            subtype=subtype or "unnamed",
            cumulative=None,
            marginal=cost_of(state, interrupted=interrupted),
            usage=usage,
            text=state.last_text,
            failure=failure if kind is TurnResultKind.ERROR else None,
            failure_text=said if kind is TurnResultKind.ERROR else "",
            context=None if state.context is None else ContextUsage(used=state.context, size=state.window),
        )
    )
    for ring in (state.sent, state.begun):
        if turn in ring:
            ring.remove(turn)
    remember(state.settled, turn)
    state.last_text = ""
    state.turn_tools = 0
