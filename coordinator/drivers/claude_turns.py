"""Which turn a line belongs to: receipt, beginning and result of ours, and turns that the agent begins by itself.

The newer generation names our ids; the older one only echoes them, so order fills in. Also the facts of the session
that come with turns (ids, model, mode) and the answers to our control writes.
"""

from collections.abc import Sequence

from coordinator.drivers import claude_asks
from coordinator.drivers.base import (
    AgentEvent,
    CannotStart,
    ContextUsage,
    ControlAcked,
    ConversationChanged,
    ModeChanged,
    ModelChanged,
    Notice,
    PlanUpdated,
    SessionReady,
    TurnAccepted,
    TurnBegunByAgent,
    TurnResult,
)
from coordinator.drivers.claude_results import (
    failure_of,
    failure_text_of,
    kind_of,
    marginal_of,
    usage_of,
    window_for,
    windows_of,
)
from coordinator.drivers.claude_state import State
from coordinator.drivers.claude_tools import listed_items
from coordinator.drivers.json_fields import Json, mapping, objects, text, whole, word, words
from coordinator.drivers.linedriver import remember
from coordinator.drivers.money import micro_usd
from store.vocab import FailureKind, MicroUsd, TurnId, TurnResultKind

Out = list[AgentEvent]

_WINDOWS = 32


def accept(state: State, turn: str, out: Out) -> None:
    state.working = True
    state.woken = ""
    if turn in state.begun:
        return
    state.begun.append(turn)
    out.append(TurnAccepted(turn=TurnId(turn)))


def lifecycle(state: State, line: Json, out: Out) -> bool:
    turn, told = word(line, "command_uuid"), text(line, "state")
    if turn is None or told not in ("queued", "started", "completed", "cancelled", "discarded", "refused"):
        return False
    if turn in state.settled:
        return True
    if told == "queued" and turn not in state.sent:
        state.sent.append(turn)
    elif told == "started":
        accept(state, turn, out)
    elif told in ("cancelled", "discarded", "refused"):
        # Taken out of the agent's own queue: no result will come, so this is the end of it. It cost nothing.
        _settle(state, [turn])
        cost = MicroUsd(state.cumulative or 0)
        out.append(
            TurnResult(
                turns=(TurnId(turn),),
                kind=TurnResultKind.INTERRUPTED if told == "cancelled" else TurnResultKind.ERROR,
                subtype=told,
                cumulative=cost,
                marginal=MicroUsd(0),
                failure=None if told == "cancelled" else FailureKind.REFUSED,
                failure_text="" if told == "cancelled" else f"the agent {told} the message",
            )
        )
    return True


def echoed(state: State, turn: str, out: Out) -> None:
    """The agent repeats our line when it takes it up. A line that it had before it repeats and drops."""
    if turn in state.settled:
        out.append(Notice(text="the agent had this message before and did nothing with it"))
    elif turn and _names_turns(state) and turn not in state.begun and turn not in state.sent:
        # That generation announces each of our lines before it echoes it: this one is not ours.
        out.append(Notice(text="the agent added a message of its own to the conversation"))
    elif turn:
        if turn == state.guessed:
            state.guessed = ""
        accept(state, turn, out)


def _names_turns(state: State) -> bool:
    """The newer generation says which line begins; then order must not be guessed from."""
    return "msg_lifecycle_v1" in state.abilities


def woken(state: State, why: str) -> None:
    if not state.working:
        state.woken = why


def wakes(state: State, out: Out) -> None:
    """An init line: a turn begins. With none of ours to begin after a background task ended, it is the agent's own."""
    if state.woken and not state.working and not state.begun and (not state.sent or _names_turns(state)):
        _begin_by_agent(state, state.woken, out)


def speaks(state: State, turns: Sequence[str], out: Out) -> None:
    """The main agent says something: whose turn is it?"""
    for turn in turns:
        if turn not in state.settled:
            accept(state, turn, out)
    if state.working:
        return
    if state.begun:
        return
    if state.sent and not _names_turns(state):
        state.guessed = state.sent[0]
        accept(state, state.guessed, out)
    else:
        _begin_by_agent(state, state.woken or "it went on by itself", out)


def _begin_by_agent(state: State, why: str, out: Out) -> None:
    state.working = True
    state.by_agent = True
    state.woken = ""
    out.append(TurnBegunByAgent(why=why))


def _settle(state: State, turns: Sequence[str]) -> None:
    for turn in turns:
        if turn in state.sent:
            state.sent.remove(turn)
        if turn in state.begun:
            state.begun.remove(turn)
        remember(state.settled, turn)


def _whole_cost(state: State, told: MicroUsd | None, marginal: MicroUsd | None) -> MicroUsd | None:
    """The process's cost. A total that falls with ``/clear`` started again; one that falls otherwise is passed on."""
    if told is None:
        return None
    before = state.cumulative or 0
    if state.cleared and state.carried + told < before:
        state.carried = before if marginal is None else max(before + marginal - told, 0)
    state.cleared = False
    return MicroUsd(state.carried + told)


def result(state: State, line: Json, out: Out) -> bool:
    if not word(line, "subtype"):
        return False
    if not state.version and text(line, "subtype") == "error_during_execution" and not whole(line, "num_turns"):
        # Before it said anything else: the conversation that it was to go on in is not there. No turn was sent.
        out.append(CannotStart(failure=FailureKind.UNKNOWN, text=failure_text_of(line)))
        return True
    session(state, text(line, "session_id"), out)
    origin = text(mapping(line, "origin"), "kind")
    turns = list(dict.fromkeys(words(line, "user_message_uuids")))
    its_own = origin not in ("", "human", "user")
    by_agent = state.by_agent or its_own
    if not turns:
        # What was echoed is in this turn. A guess from order is wrong when the agent says that the turn is its own.
        turns = [turn for turn in state.begun if not its_own or turn != state.guessed]
        if not turns and not by_agent:
            turns = state.sent[:1]
    for turn in turns:
        if turn not in state.settled:
            accept(state, turn, out)
    claude_asks.turn_ended(state, out)
    kind = kind_of(line)
    failed = kind is TurnResultKind.ERROR
    failure = failure_of(line, state.error, state.error_status) if failed else None
    state.windows.update(windows_of(line))
    while len(state.windows) > _WINDOWS:
        del state.windows[next(iter(state.windows))]
    window = window_for(state.speaker, state.windows)
    marginal = marginal_of(line)
    cumulative = _whole_cost(state, micro_usd(line.get("total_cost_usd")), marginal)
    out.append(
        TurnResult(
            turns=tuple(TurnId(turn) for turn in turns),
            kind=kind,
            subtype=text(line, "subtype"),
            cumulative=cumulative,
            marginal=marginal,
            usage=usage_of(line),
            duration_ms=whole(line, "duration_ms"),
            api_duration_ms=whole(line, "duration_api_ms"),
            text=text(line, "result"),
            failure=failure,
            failure_text=failure_text_of(line) if failed else "",
            resets_at=state.limit_reset if failure is FailureKind.RATE_LIMITED else None,
            by_agent=by_agent,
            context=None if state.context is None else ContextUsage(used=state.context, size=window),
        )
    )
    _settle(state, turns)
    state.cumulative = cumulative if cumulative is not None else state.cumulative
    if state.guessed and state.guessed in state.begun:
        state.begun.remove(state.guessed)
    state.working = state.by_agent = False
    state.woken = state.guessed = ""
    state.error, state.error_status = "", None
    return True


# ------------------------------------------------------------------------------------------------- the session's facts


def session(state: State, native_id: str, out: Out) -> None:
    """``/clear`` gives the conversation a new id in the middle of a process."""
    if not native_id or native_id == state.native_id:
        return
    first = not state.native_id
    state.native_id = native_id
    state.context = None
    state.cleared = not first
    out.append(SessionReady(native_id=native_id) if first else ConversationChanged(native_id=native_id))


def learn(state: State, out: Out, *, native_id: str, model: str, mode: str, version: str) -> None:
    """Facts of an init line, told when they are new; the line itself comes with every turn."""
    if state.native_id:
        session(state, native_id, out)
    if (native_id and not state.native_id) or (model and not state.model) or (version and version != state.version):
        state.native_id = native_id or state.native_id
        state.model, state.mode = model or state.model, mode or state.mode
        state.version = version or state.version
        out.append(
            SessionReady(
                native_id=state.native_id or None,
                model=state.model or None,
                mode=state.mode or None,
                version=state.version or None,
            )
        )
        return
    if model and model != state.model:
        state.model = model
        out.append(ModelChanged(model=model))
    if mode and mode != state.mode:
        state.mode = mode
        out.append(ModeChanged(mode=mode))


def command_table(commands: Sequence[Json]) -> dict[str, str]:
    return {text(c, "name"): text(c, "description") for c in commands if word(c, "name")}


def _signed_in(account: Json) -> bool | None:
    if not account:
        return None
    sources = [text(account, key) for key in ("tokenSource", "apiKeySource", "email")]
    other = text(account, "apiProvider") not in ("", "firstParty")
    return other or any(source not in ("", "none") for source in sources)


def control_response(state: State, line: Json, out: Out) -> bool:
    response = mapping(line, "response")
    request_id = word(response, "request_id")
    if request_id is None or text(response, "subtype") not in ("success", "error"):
        return False
    if claude_asks.answered(state, request_id, response, out) or "behavior" in mapping(response, "response"):
        return True
    number = request_id.rpartition("-")[2]
    if number.isdecimal() and len(number) < 10:
        # A console that was restarted may know fewer of its writes than the agent has answered.
        state.controls = max(state.controls, int(number))
    if text(response, "subtype") == "error":
        said = {"error": text(response, "error"), "error_code": text(response, "error_code")}
        out.append(ControlAcked(id=request_id, ok=False, detail={k: v for k, v in said.items() if v}))
        return True
    detail = mapping(response, "response")
    if isinstance(detail.get("commands"), list):
        _ready(state, detail, out)
        detail = {key: value for key, value in detail.items() if key not in ("commands", "models", "agents")}
    out.append(ControlAcked(id=request_id, ok=True, detail=detail))
    mode, model = word(detail, "mode"), word(detail, "model")
    if mode and mode != state.mode:
        state.mode = mode
        out.append(ModeChanged(mode=mode))
    if model and set(detail) == {"model"} and model != state.model:
        state.model = model
        out.append(ModelChanged(model=model))
    if detail.get("exists") is True and (items := listed_items(text(detail, "content"))):
        out.append(PlanUpdated(items=items))
    return True


def _ready(state: State, detail: Json, out: Out) -> None:
    """The answer to ``initialize``."""
    state.commands |= command_table(objects(detail, "commands"))
    state.version = text(detail, "claude_code_version") or state.version
    state.mode = text(detail, "current_permission_mode") or state.mode
    models = objects(detail, "models")
    out.append(
        SessionReady(
            native_id=state.native_id or None,
            model=state.model or None,
            mode=state.mode or None,
            version=state.version or None,
            commands=tuple(state.commands.items()),
            models=tuple(
                (text(m, "value"), text(m, "displayName") or text(m, "value")) for m in models if word(m, "value")
            ),
            agent_pid=whole(detail, "pid"),
            signed_in=_signed_in(mapping(detail, "account")),
        )
    )
