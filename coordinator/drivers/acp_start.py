"""The handshake of the Agent Client Protocol, step by step: who are you, here is a tree, ask a person.

Each step's answer says what the next one is. ``SessionReady`` comes when all are done, and not before the agent is in
the mode in which a person is asked: several begin in one that lets a model decide, in a new conversation and again in
one that goes on. Also the facts of the session that the first answers tell and later lines change.
"""

from typing import Final

from coordinator.drivers import jsonrpc
from coordinator.drivers.acp_agents import ASK, PLAN, Ways, ways_of, why_broken
from coordinator.drivers.acp_results import AUTH_REQUIRED, failure_kind, failure_text
from coordinator.drivers.acp_state import Mode, State
from coordinator.drivers.base import (
    AgentEvent,
    CannotStart,
    ModeChanged,
    ModelChanged,
    Notice,
    ProtocolFault,
    Reply,
    SessionReady,
)
from coordinator.drivers.json_fields import Json, mapping, objects, text, whole, word
from store.vocab import FailureKind

Out = list[AgentEvent]

VERSION: Final = 1
INITIALIZE: Final = "hs-initialize"
SESSION: Final = "hs-session"
MODE: Final = "hs-mode"
_MODE_AGAIN: Final = "hs-mode-"
MODEL: Final = "hs-model"
SET_BACK: Final = "ask-again-"
_SAME, _COPY = "on", "copy"
_CLIENT: Final[Json] = {
    "protocolVersion": VERSION,
    "clientCapabilities": {
        # The agent's own tools stay the only ones: what it does through ours nobody here would do for it.
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
        "elicitation": {"form": {}},
    },
    "clientInfo": {"name": "footplate", "title": "Footplate", "version": "1"},
}
MOST_SET_BACK: Final = 20
"""An agent that leaves that mode again and again is not held by asking it once more."""
_MOST: Final = 500
"""Modes, models and commands that are kept of what an agent lists."""


def initialize() -> bytes:
    return jsonrpc.request(INITIALIZE, "initialize", _CLIENT, versioned=True)


def answered(state: State, response: jsonrpc.Response, out: Out) -> bool:
    """An answer to a step. False: to none."""
    if response.id == INITIALIZE:
        _initialized(state, response, out)
    elif isinstance(response.id, str) and response.id.partition(" ")[0] == SESSION:
        _session(state, response.id.partition(" ")[2], response, out)
    elif response.id in (MODE, MODEL) or (isinstance(response.id, str) and response.id.startswith(_MODE_AGAIN)):
        _step(state, str(response.id), response, out)
    elif isinstance(response.id, str) and response.id.startswith(SET_BACK):
        if response.error is not None:
            # As at its start: it is not held where nobody is asked.
            said = failure_text(response.error)
            out.append(ProtocolFault(what=f"it would not be set back into the mode in which a person is asked: {said}"))
        else:
            took_mode(state, mode_id(state, ASK) or state.mode, out)
    else:
        return False
    return True


# -------------------------------------------------------------------------------------------------------------- steps


def _initialized(state: State, response: jsonrpc.Response, out: Out) -> None:
    if response.error is not None:
        out.append(CannotStart(failure=failure_kind(response.error), text=failure_text(response.error)))
        return
    result = response.result
    told = whole(result, "protocolVersion")
    if told is not None and told != VERSION:
        said = f"it speaks version {told} of the Agent Client Protocol, and version {VERSION} is spoken here"
        out.append(CannotStart(failure=FailureKind.UNKNOWN, text=said))
        return
    info = mapping(result, "agentInfo")
    state.name, state.version = text(info, "name"), text(info, "version")
    broken = why_broken(ways(state), state.version)
    if broken is not None:
        said = f"{state.name} {state.version} cannot be held: {broken}"
        out.append(CannotStart(failure=FailureKind.UNKNOWN, text=said))
        return
    can = mapping(result, "agentCapabilities")
    state.takes_images = mapping(can, "promptCapabilities").get("image") is True
    state.sign_in = [text(one, "name") or text(one, "id") for one in objects(result, "authMethods")][:20]
    more = mapping(can, "sessionCapabilities")
    params: Json = {"cwd": state.cwd, "mcpServers": []}
    method, name = "session/new", ""
    if state.session_wanted:
        params = {"sessionId": state.session_wanted, **params}
        name = f"{_COPY if state.fork else _SAME} {state.session_wanted}"
        if state.fork:
            method = "session/fork" if "fork" in more else ""
        elif "resume" in more:
            method = "session/resume"
        else:
            method = "session/load" if can.get("loadSession") is True else ""
        if not method:
            what = "make a copy of a conversation" if state.fork else "go on with a conversation"
            out.append(CannotStart(failure=FailureKind.REFUSED, text=f"{state.name or 'the agent'} cannot {what}"))
            return
    _ask_for(state, SESSION, method, params, out, name=name)


def _session(state: State, name: str, response: jsonrpc.Response, out: Out) -> None:
    """``name``: of the conversation that it goes on with, and how."""
    how, _, old = name.partition(" ")
    _done(state, SESSION)
    if response.error is not None:
        said = failure_text(response.error)
        failure = failure_kind(response.error)
        if response.error.code == AUTH_REQUIRED and state.sign_in:
            said = f"{said} (it offers: {', '.join(state.sign_in)})"
        out.append(CannotStart(failure=failure, text=said))
        return
    result = response.result
    state.native_id = text(result, "sessionId") or (old if how == _SAME else "")
    if how:
        state.went_on = True
    elif state.cost is None:
        state.cost_settled = 0
    if not state.native_id:
        out.append(CannotStart(failure=FailureKind.UNKNOWN, text="the agent gave its conversation no name"))
        return
    modes = mapping(result, "modes")
    if objects(modes, "availableModes"):
        state.modes = _listed(objects(modes, "availableModes"), "id")
        state.mode = text(modes, "currentModeId")
    models = mapping(result, "models")
    if objects(models, "availableModels"):
        state.models = _listed(objects(models, "availableModels"), "modelId")
        state.model = text(models, "currentModelId")
    options(state, objects(result, "configOptions"))
    _set_mode_first(state, out)
    if not any(isinstance(event, CannotStart) for event in out):
        _set_model_first(state, out)
        _ready_if_done(state, out)


def _set_mode_first(state: State, out: Out) -> None:
    wanted = mode_id(state, state.mode_wanted)
    if wanted is None and state.mode_wanted == PLAN:
        said = f"{state.name or 'the agent'} has no mode in which it only plans"
        out.append(CannotStart(failure=FailureKind.REFUSED, text=said))
    elif wanted is None and state.modes:
        names = ", ".join(mode.name or mode.id for mode in state.modes)
        out.append(Notice(text=f"none of its modes is known to ask a person ({names}); it works in {state.mode}"))
    elif wanted is None:
        out.append(Notice(text="it tells of no modes: whether it asks before it acts is up to its own settings"))
    else:
        # Also where it says that it is in that mode already: what it says is what it read from a file.
        method, params = mode_request(state, wanted)
        _ask_for(state, MODE, method, params, out)


def _set_model_first(state: State, out: Out) -> None:
    wanted = model_id(state, state.model_wanted)
    if wanted and wanted != state.model:
        method, params = model_request(state, wanted)
        _ask_for(state, MODEL, method, params, out)


def _step(state: State, step: str, response: jsonrpc.Response, out: Out) -> None:
    _done(state, step)
    if response.error is not None:
        said = failure_text(response.error)
        if step == MODEL:
            known = ", ".join(model.id for model in state.models[:20])
            more = f" (it has: {known})" if known else ""
            text_ = f"it would not take the model {state.model_wanted}: {said}{more}"
            out.append(CannotStart(failure=FailureKind.MODEL_NOT_FOUND, text=text_))
        else:
            text_ = f"it would not go into its mode {state.mode_wanted}: {said}"
            out.append(CannotStart(failure=FailureKind.REFUSED, text=text_))
        return
    if step == MODEL:
        state.model = model_id(state, state.model_wanted) or state.model
    else:
        state.mode = mode_id(state, state.mode_wanted) or state.mode
    options(state, objects(response.result, "configOptions"))
    _ready_if_done(state, out)


def _ready_if_done(state: State, out: Out) -> None:
    if state.waiting or state.ready or not _is_in_mode(state, out):
        return
    state.ready = True
    out.append(
        SessionReady(
            native_id=state.native_id,
            model=state.model or None,
            mode=mode_word(state, state.mode) or None,
            version=state.version or None,
            commands=tuple(state.commands.items()),
            models=tuple((model.id, model.name or model.id) for model in state.models),
        )
    )


def _is_in_mode(state: State, out: Out) -> bool:
    """Some leave the mode that they were put into while their model is set: then it is set once more."""
    wanted = mode_id(state, state.mode_wanted)
    if wanted is None or state.mode == wanted:
        return True
    state.set_back += 1
    if state.set_back > MOST_SET_BACK:
        said = f"it does not stay in its mode {wanted}, and goes into {state.mode}"
        out.append(CannotStart(failure=FailureKind.REFUSED, text=said))
        return False
    method, params = mode_request(state, wanted)
    _ask_for(state, f"{_MODE_AGAIN}{state.set_back}", method, params, out)
    return False


def _ask_for(state: State, step: str, method: str, params: Json, out: Out, *, name: str = "") -> None:
    """``name``: comes back with the answer, for whoever reads that and did not ask."""
    state.waiting.append(step)
    id = f"{step} {name}" if name else step
    out.append(Reply(id=step, data=jsonrpc.request(id, method, params, versioned=True), why=method))


def _done(state: State, step: str) -> None:
    if step in state.waiting:
        state.waiting.remove(step)


# ------------------------------------------------------------------------------------------------ modes, models, words


def ways(state: State) -> Ways:
    return ways_of(state.name, state.profile)


def mode_id(state: State, wanted: str) -> str | None:
    """The agent's own mode for one of ours; None: it has none."""
    ours = {ASK: ways(state).ask, PLAN: ways(state).plan}.get(wanted, ())
    there = {mode.id for mode in state.modes}
    return next((id for id in ours if id in there), None)


def mode_word(state: State, id: str) -> str:
    """Our word for the agent's mode; its own where it is neither of ours."""
    return next((word for word in (ASK, PLAN) if id and mode_id(state, word) == id), id)


def model_id(state: State, wanted: str) -> str:
    """The agent's id for a model that is named by its id or its name."""
    return next((model.id for model in state.models if wanted and wanted in (model.id, model.name)), wanted)


def mode_request(state: State, id: str) -> tuple[str, Json]:
    if state.mode_option:
        return "session/set_config_option", _option(state, state.mode_option, id)
    return "session/set_mode", {"sessionId": state.native_id, "modeId": id}


def model_request(state: State, id: str) -> tuple[str, Json]:
    if state.model_option:
        return "session/set_config_option", _option(state, state.model_option, id)
    return "session/set_model", {"sessionId": state.native_id, "modelId": id}


def _option(state: State, option: str, value: str) -> Json:
    return {"sessionId": state.native_id, "configId": option, "value": value}


def options(state: State, told: list[Json]) -> None:
    """Configuration options: the mode and the model may be two of them."""
    for option in told:
        id, kind = text(option, "id"), text(option, "category") or text(option, "id")
        values = _listed(objects(option, "options"), "value")
        for group in objects(option, "options"):
            values += _listed(objects(group, "options"), "value")
        if kind == "mode" and values:
            if not state.modes or state.mode_option:
                # Told in both ways, the protocol's own call is the one that every version has.
                state.modes, state.mode_option = values, id
            state.mode = word(option, "currentValue") or state.mode
        elif kind == "model" and values:
            state.models, state.model_option = values, id
            state.model = word(option, "currentValue") or state.model


def _listed(found: list[Json], key: str) -> list[Mode]:
    return [Mode(id=text(one, key), name=text(one, "name")) for one in found[:_MOST] if word(one, key)]


def took_mode(state: State, id: str, out: Out) -> None:
    """The agent is in this mode now. It is not left in one in which nobody is asked, however it came there."""
    if not id or id == state.mode:
        return
    state.mode = id
    if not state.ready:
        return
    out.append(ModeChanged(mode=mode_word(state, id)))
    ask = mode_id(state, ASK)
    if ask is None or id in (ask, mode_id(state, PLAN)):
        return
    state.set_back += 1
    if state.set_back > MOST_SET_BACK:
        out.append(ProtocolFault(what=f"it does not stay in the mode in which a person is asked ({id})"))
        return
    step = f"{SET_BACK}{state.set_back}"
    method, params = mode_request(state, ask)
    out.append(Notice(text=f"it went into its mode {id}, and is set back to the one that asks a person"))
    out.append(Reply(id=step, data=jsonrpc.request(step, method, params, versioned=True), why="ask a person again"))


def took_options(state: State, told: list[Json], out: Out) -> None:
    mode, model = state.mode, state.model
    options(state, told)
    now, state.mode = state.mode, mode
    took_mode(state, now, out)
    if state.ready and state.model != model:
        out.append(ModelChanged(model=state.model))


def took_commands(state: State, told: list[Json], out: Out) -> None:
    found = {text(one, "name"): text(one, "description") for one in told[:_MOST] if word(one, "name")}
    if found != state.commands:
        state.commands = found
        if state.ready:
            out.append(SessionReady(commands=tuple(found.items())))
