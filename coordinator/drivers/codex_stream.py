"""Reads the lines that ``codex app-server`` prints and says, in our events, what happened.

One handler a method; what no handler knows is ``Unknown``, and a request that nobody knows is answered with the
protocol's error. The state it changes is all in ``codex_state``.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from coordinator.drivers import codex_asks, codex_hello, codex_turns, codex_words, codex_work, jsonrpc
from coordinator.drivers.base import (
    Compacted,
    ControlAcked,
    DecisionResolved,
    Idle,
    LimitNotice,
    ModeChanged,
    ModelChanged,
    Notice,
    PlanUpdated,
    ProtocolFault,
    Reply,
    RetryNotice,
    Unknown,
)
from coordinator.drivers.codex_state import Held, Out, State, bound
from coordinator.drivers.json_fields import Json, mapping, objects, text, whole, word

Handler = Callable[[Held, Json, Out], bool]
"""Says whether it knew the line; events go into the list."""

_ATTEMPT: Final = re.compile(r"(\d{1,6})/(\d{1,6})")
_PLAN: Final = {"pending": "pending", "inProgress": "active", "completed": "done"}
_MOST_SET_BACK: Final = 20
"""An agent that leaves that mode again and again is not held by asking it once more."""
_NEARLY: Final = 80
"""Percent of a limit from which it is told of."""


def read_line(held: Held, raw: bytes, out: Out) -> None:
    """One line, never an exception: an agent's surprise is a line kept whole."""
    if not raw or raw.isspace():
        return
    before = len(out)
    message: jsonrpc.Message | None = None
    known = False
    try:
        message = jsonrpc.read(raw)
        match message:
            case jsonrpc.Notification():
                handler = _NOTIFIED.get(message.method)
                known = handler is not None and handler(held, message.params, out)
            case jsonrpc.Request():
                known = _asked(held, message, out)
            case jsonrpc.Response():
                known = _answered(held, message, out)
    except Exception:
        # Whatever shape it has, it must not end a hold (rule of design section 8). What was read before stands.
        known = False
    if known:
        return
    if isinstance(message, jsonrpc.Request) and len(out) == before:
        out.append(_refusal(message))
    out.append(Unknown(raw=raw.decode("utf-8", "replace")))


# ------------------------------------------------------------------------------------------------- the agent's requests


def _asked(held: Held, request: jsonrpc.Request, out: Out) -> bool:
    found = codex_asks.asked(held.state, request)
    if found is None:
        return False
    event, ask = found
    held.state.asks[jsonrpc.key(request.id)] = ask
    bound(held.state.asks)
    out.append(event)
    return True


def _refusal(request: jsonrpc.Request) -> Reply:
    said = f"not supported by this host: {request.method}"
    data = jsonrpc.error(request.id, jsonrpc.METHOD_NOT_FOUND, said, versioned=False)
    return Reply(id=f"reply-{jsonrpc.key(request.id)}", data=data, why=f"unknown request: {request.method}")


def _resolved(held: Held, params: Json, out: Out) -> bool:
    """It was answered, or given up with its turn; which of the two, whoever answered knows."""
    id = params.get("requestId")
    if isinstance(id, bool) or not isinstance(id, str | int):
        return False
    request = jsonrpc.key(id)
    if held.state.asks.pop(request, None) is not None:
        out.append(DecisionResolved(request=request, accepted=True))
    return True


# ---------------------------------------------------------------------------------------------- answers to our requests


def _answered(held: Held, response: jsonrpc.Response, out: Out) -> bool:
    id = response.id
    if not isinstance(id, str):
        return False
    if id.startswith("hs-"):
        return codex_hello.greeted(held, id, response, out)
    if id.startswith(codex_words.TURN):
        ours = id.removeprefix(codex_words.TURN)
        if response.error is not None:
            codex_turns.not_begun(held.state, ours, response.error, out)
        else:
            codex_turns.claimed(held.state, text(mapping(response.result, "turn"), "id"), ours, out)
        return True
    if id.startswith(codex_words.LEFT):
        codex_work.end_left(held.state, id.removeprefix(codex_words.LEFT), response.result, out)
        return True
    if id.startswith(codex_words.ASK_AGAIN):
        if response.error is not None:
            # As at its start: it is not held where nobody is asked.
            said = f"it would not be set back to asking a person: {response.error.message}"
            out.append(ProtocolFault(what=said))
        return True
    if id.startswith((codex_words.INTERRUPT, codex_words.END)):
        return True
    number = id.rpartition("-")[2]
    if number.isdecimal() and len(number) < 10:
        # A console that was restarted may know fewer of its writes than the agent has answered.
        held.state.controls = max(held.state.controls, int(number))
    if response.error is not None:
        out.append(ControlAcked(id=id, ok=False, detail={"error": response.error.message}))
    else:
        out.append(ControlAcked(id=id, ok=True, detail=response.result))
    return True


# -------------------------------------------------------------------------------------------------------- notifications


def _silent(held: Held, params: Json, out: Out) -> bool:
    return True


def _turn_started(held: Held, params: Json, out: Out) -> bool:
    if len(text(mapping(params, "turn"), "id")) > jsonrpc.LONGEST_ID:
        return False
    if _ours(held.state, params):
        codex_turns.begun(held.state, text(mapping(params, "turn"), "id"), out)
    return True


def _turn_completed(held: Held, params: Json, out: Out) -> bool:
    turn = mapping(params, "turn")
    if not 0 < len(text(turn, "id")) <= jsonrpc.LONGEST_ID:
        return False
    ours = _ours(held.state, params)
    # What it leaves running is known before its result: an interrupt's end is not told before all it did is.
    codex_work.turn_over(
        held.state, text(turn, "id"), interrupted=ours and turn.get("status") == "interrupted", out=out
    )
    if ours:
        codex_turns.ended(held, turn, out)
    return True


def _ours(state: State, params: Json) -> bool:
    """Of the conversation itself, not of a sub-agent's."""
    thread = text(params, "threadId")
    return not thread or not state.thread or thread == state.thread


def _tokens(held: Held, params: Json, out: Out) -> bool:
    codex_turns.used(held, params, out)
    return True


def _plan(held: Held, params: Json, out: Out) -> bool:
    steps = objects(params, "plan")
    out.append(PlanUpdated(items=tuple((_PLAN.get(text(s, "status"), "pending"), text(s, "step")) for s in steps)))
    return True


def _activity(held: Held, params: Json, out: Out) -> bool:
    status = text(mapping(params, "status"), "type")
    if _ours(held.state, params) and status == "idle":
        out.append(Idle())
    return status in ("idle", "active", "systemError", "notLoaded")


def _settings(held: Held, params: Json, out: Out) -> bool:
    state = held.state
    if not _ours(state, params):
        return True
    told = mapping(params, "threadSettings")
    mode = codex_words.ASK
    if text(mapping(told, "collaborationMode"), "mode") == "plan":
        mode = codex_words.PLAN
    elif text(mapping(told, "sandboxPolicy"), "type") == "readOnly":
        mode = codex_words.READ_ONLY
    if mode != state.mode:
        state.mode = mode
        out.append(ModeChanged(mode=mode))
    _model(state, text(told, "model"), out)
    _ask_a_person(state, told, out)
    return True


def _ask_a_person(state: State, told: Json, out: Out) -> None:
    """It is not left with settings by which a model, or nobody, decides, however it came to them."""
    policy, reviewer = told.get("approvalPolicy", codex_words.POLICY), text(told, "approvalsReviewer")
    if policy == codex_words.POLICY and reviewer in ("", codex_words.REVIEWER):
        return
    state.set_back += 1
    said = f"approval policy {json.dumps(policy)}, reviewer {reviewer or 'unknown'}"
    if state.set_back > _MOST_SET_BACK:
        out.append(ProtocolFault(what=f"it does not stay in the mode in which a person is asked ({said})"))
        return
    id = f"{codex_words.ASK_AGAIN}{state.set_back}"
    data = codex_words.settings(id, state.thread, mode=state.mode, known_model=state.model)
    out.append(Notice(text=f"it asks otherwise now ({said}), and is set back to asking a person"))
    out.append(Reply(id=id, data=data, why="ask a person again"))


def _rerouted(held: Held, params: Json, out: Out) -> bool:
    out.append(Notice(text=f"another model answers: {text(params, 'toModel')} ({text(params, 'reason')})"))
    _model(held.state, text(params, "toModel"), out)
    return True


def _model(state: State, model: str, out: Out) -> None:
    if model and model != state.model:
        state.model = model
        out.append(ModelChanged(model=model))


def _limits(held: Held, params: Json, out: Out) -> bool:
    state, told = held.state, mapping(params, "rateLimits")
    reached = text(told, "rateLimitReachedType")
    windows = [(name, mapping(told, name)) for name in ("primary", "secondary") if mapping(told, name)]
    said = json.dumps([reached, windows], sort_keys=True)
    if said == state.limits:
        return True
    state.limits = said
    full = reached != "" or told.get("spendControlReached") is True
    # The fuller of the two is the one that will stop it.
    used, window = max(((whole(w, "usedPercent") or 0, w) for _, w in windows), key=lambda one: one[0], default=(0, {}))
    resets = whole(window, "resetsAt")
    if full:
        state.resets_at = resets
    if windows or full:
        status = "rejected" if full else "warning" if used >= _NEARLY else "allowed"
        fraction = used / 100 if windows else None
        out.append(LimitNotice(status=status, kind=_span(window, reached), resets_at=resets, used_fraction=fraction))
    return True


def _span(window: Json, reached: str) -> str:
    minutes = whole(window, "windowDurationMins")
    if not minutes:
        return reached or "limit"
    hours = max(1, minutes // 60)
    return f"{minutes // 1440} days" if minutes >= 2880 else f"{hours} hours" if hours > 1 else "1 hour"


def _error(held: Held, params: Json, out: Out) -> bool:
    error = mapping(params, "error")
    if not error:
        return False
    if params.get("willRetry") is True:
        said = text(error, "message")
        found = _ATTEMPT.search(said)
        why = text(error, "additionalDetails") or said
        attempt, of = (int(found.group(1)), int(found.group(2))) if found else (1, None)
        out.append(RetryNotice(attempt=attempt, of=of, wait_seconds=None, why=why))
        return True
    flight = held.state.flights.get(text(params, "turnId"))
    if flight is not None:
        flight.failure = json.dumps(error)
    else:
        out.append(Notice(text=codex_turns.failure_text(error)))
    return True


def _says(held: Held, params: Json, out: Out) -> bool:
    said = text(params, "message") or text(params, "summary")
    more = text(params, "details")
    if said:
        out.append(Notice(text=f"{said} {more}".strip()))
    return True


def _server(held: Held, params: Json, out: Out) -> bool:
    if text(params, "status") == "failed" or word(params, "error"):
        out.append(Notice(text=f"tool server {text(params, 'name')}: {text(params, 'error') or 'failed'}"))
    return True


def _reviewed(held: Held, params: Json, out: Out) -> bool:
    out.append(Notice(text="a model, not a person, reviewed something that it wanted to do"))
    return True


def _compacted(held: Held, params: Json, out: Out) -> bool:
    if _ours(held.state, params):
        out.append(Compacted())
    return True


def _thread_named(held: Held, params: Json, out: Out) -> bool:
    """A conversation that is not ours is a sub-agent's."""
    state, thread = held.state, text(mapping(params, "thread"), "id")
    if thread and state.thread and thread != state.thread and thread not in state.agents:
        state.agents[thread] = thread
        bound(state.agents)
    return True


_NOTIFIED: Final[Mapping[str, Handler]] = {
    "turn/started": _turn_started,
    "turn/completed": _turn_completed,
    "turn/plan/updated": _plan,
    "item/started": codex_work.started,
    "item/completed": codex_work.completed,
    "item/agentMessage/delta": codex_work.says,
    "item/plan/delta": codex_work.says,
    "item/fileChange/patchUpdated": codex_work.patched,
    "item/reasoning/summaryTextDelta": codex_work.thinks,
    "item/reasoning/textDelta": codex_work.thinks,
    "item/autoApprovalReview/completed": _reviewed,
    "thread/tokenUsage/updated": _tokens,
    "thread/status/changed": _activity,
    "thread/settings/updated": _settings,
    "thread/started": _thread_named,
    "thread/compacted": _compacted,
    "serverRequest/resolved": _resolved,
    "account/rateLimits/updated": _limits,
    "model/rerouted": _rerouted,
    "mcpServer/startupStatus/updated": _server,
    "error": _error,
    "warning": _says,
    "configWarning": _says,
    "guardianWarning": _says,
    "deprecationNotice": _says,
    **dict.fromkeys(
        (
            # The finished item has all of these again, or the tree shows it, or it is about the agent's own windows.
            "item/commandExecution/outputDelta",
            "item/commandExecution/terminalInteraction",
            "item/fileChange/outputDelta",
            "item/mcpToolCall/progress",
            "item/reasoning/summaryPartAdded",
            "item/autoApprovalReview/started",
            "turn/diff/updated",
            "turn/moderationMetadata",
            "thread/readState/changed",
            "thread/name/updated",
            "thread/closed",
            "thread/goal/updated",
            "thread/goal/cleared",
            "thread/environment/connected",
            "thread/environment/disconnected",
            "thread/prediction/updated",
            "thread/queue/changed",
            "remoteControl/status/changed",
            "account/updated",
            "account/login/completed",
            "skills/changed",
            "app/list/updated",
            "hook/started",
            "hook/completed",
            "model/verification",
            "model/safetyBuffering/updated",
            "modelProvider/authRecoveryStarted",
            "modelProvider/authRecoveryCompleted",
        ),
        _silent,
    ),
}
