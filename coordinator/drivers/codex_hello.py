"""The handshake: hello, who is signed in, the conversation, its mode; each step said when the one before was answered.

What is checked here is checked before the first turn: somebody is signed in, and a person will be asked.
"""

import re
from typing import Final

from coordinator.drivers import codex_turns, codex_words, jsonrpc
from coordinator.drivers.base import CannotStart, Reply, SessionReady
from coordinator.drivers.codex_state import Held, Out, State
from coordinator.drivers.json_fields import Json, mapping, objects, text, word
from store.vocab import FailureKind

_VERSION: Final = re.compile(r"/(\d+\.\d+\.\d+\S*)")


def greeted(held: Held, id: str, response: jsonrpc.Response, out: Out) -> bool:
    """An answer in the handshake: its next step comes out as a ``Reply``, its end as ``SessionReady``."""
    state, failure = held.state, response.error
    if id == codex_words.MODELS:
        named = objects(response.result, "data")
        state.models = {text(m, "model"): text(m, "displayName") or text(m, "model") for m in named if word(m, "model")}
        if state.ready and state.models:
            _say_ready(state, out)
        return True
    if failure is not None and id != codex_words.ACCOUNT:
        kind = codex_turns.failure_kind({"message": failure.message})
        out.append(CannotStart(failure=kind, text=failure.message))
        return True
    if id == codex_words.INITIALIZE:
        found = _VERSION.search(text(response.result, "userAgent"))
        state.version = found.group(1) if found else state.version
        out.append(Reply(id=codex_words.ACCOUNT, data=codex_words.account(), why="handshake"))
    elif id == codex_words.ACCOUNT:
        _account(held, response.result, out)
    elif id == codex_words.THREAD:
        _thread(held, response.result, out)
    elif id == codex_words.MODE:
        _say_ready(state, out)
    else:
        return False
    return True


def _account(held: Held, told: Json, out: Out) -> None:
    state = held.state
    if mapping(told, "account"):
        state.signed_in = True
    elif told.get("requiresOpenaiAuth") is True:
        state.signed_in = False
        out.append(CannotStart(failure=FailureKind.AUTHENTICATION, text="not signed in"))
        return
    if held.start is not None:
        data = codex_words.open_thread(held.start, state.mode_wanted)
        out.append(Reply(id=codex_words.THREAD, data=data, why="handshake"))


def _thread(held: Held, told: Json, out: Out) -> None:
    """The conversation is open; it must be one in which a person is asked, whatever a configuration said."""
    state = held.state
    policy, reviewer = told.get("approvalPolicy"), text(told, "approvalsReviewer")
    if policy != codex_words.POLICY or reviewer != codex_words.REVIEWER:
        said = f"it would not ask a person: approval policy {policy}, reviewer {reviewer or 'unknown'}"
        out.append(CannotStart(failure=FailureKind.REFUSED, text=said))
        return
    state.thread = text(mapping(told, "thread"), "id")
    state.model = text(told, "model")
    state.mode = state.mode_wanted
    if state.mode_wanted == codex_words.PLAN:
        data = codex_words.settings(codex_words.MODE, state.thread, mode=state.mode, known_model=state.model)
        out.append(Reply(id=codex_words.MODE, data=data, why="handshake"))
    else:
        _say_ready(state, out)


def _say_ready(state: State, out: Out) -> None:
    state.ready = True
    out.append(
        SessionReady(
            native_id=state.thread or None,
            model=state.model or None,
            mode=state.mode or None,
            version=state.version or None,
            models=tuple(state.models.items()),
            signed_in=state.signed_in,
        )
    )
