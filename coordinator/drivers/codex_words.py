"""The requests that the codex driver makes: every line that goes to ``codex app-server`` is built here.

Ids of requests are made from what the ledger or the agent's own lines know, so that a console that takes over reads
their answers. The placeholder of a turn's thread is filled in when the turn goes out (``addressed``): the thread's name
is the agent's to choose, and the brief's bytes are in the ledger before there is a process.
"""

from collections.abc import Sequence
from typing import Final

from coordinator.drivers import jsonrpc
from coordinator.drivers.base import Start
from coordinator.drivers.json_fields import Json, encode_line

ASK: Final = "ask"
READ_ONLY: Final = "read-only"
PLAN: Final = "plan"
MODES: Final = (ASK, READ_ONLY, PLAN)
"""A person is asked in each; those of the agent's own in which nobody, or a model, decides are not offered."""

POLICY: Final = "untrusted"
"""Every command that it does not know to be harmless is asked for."""
REVIEWER: Final = "user"
"""Never a model in the operator's place, whatever the configuration says."""

INITIALIZE: Final = "hs-initialize"
ACCOUNT: Final = "hs-account"
THREAD: Final = "hs-thread"
MODELS: Final = "hs-models"
MODE: Final = "hs-mode"
TURN: Final = "turn-"
INTERRUPT: Final = "interrupt-"
LEFT: Final = "left-"
END: Final = "end-"
ASK_AGAIN: Final = "ask-again-"

_SANDBOX: Final = {ASK: "workspace-write", READ_ONLY: "read-only", PLAN: "read-only"}
_SANDBOX_POLICY: Final = {ASK: "workspaceWrite", READ_ONLY: "readOnly", PLAN: "readOnly"}
_UNADDRESSED: Final = b'"threadId":""'


def request(id: str, method: str, params: Json) -> bytes:
    return jsonrpc.request(id, method, params, versioned=False)


def initialize() -> bytes:
    client = {"name": "footplate", "title": "Footplate", "version": "1"}
    return request(INITIALIZE, "initialize", {"clientInfo": client, "capabilities": {"experimentalApi": True}})


def account() -> bytes:
    return jsonrpc.notification("initialized", versioned=False) + request(ACCOUNT, "account/read", {})


def open_thread(start: Start, mode: str) -> bytes:
    """A new conversation, the one that is resumed, or a copy of it; and what models there are."""
    params: Json = {"cwd": start.cwd, "approvalPolicy": POLICY, "approvalsReviewer": REVIEWER}
    params["sandbox"] = _SANDBOX[mode]
    if start.model:
        params["model"] = start.model
    method = "thread/start"
    if start.resume:
        method = "thread/fork" if start.fork else "thread/resume"
        params = {"threadId": start.session, **params, "excludeTurns": True}
    return request(THREAD, method, params) + request(MODELS, "model/list", {})


def turn(id: str, input: Sequence[Json]) -> bytes:
    """Without its thread, which stands before the text, so that the first empty one is ours."""
    return request(TURN + id, "turn/start", {"threadId": "", "clientUserMessageId": id, "input": list(input)})


def addressed(data: bytes, thread: str) -> bytes:
    name = encode_line({"threadId": thread})[1:-2]
    return data.replace(_UNADDRESSED, name, 1)


def settings(id: str, thread: str, *, mode: str | None = None, model: str = "", known_model: str = "") -> bytes:
    params: Json = {"threadId": thread}
    if mode is not None:
        params |= {"approvalPolicy": POLICY, "approvalsReviewer": REVIEWER}
        params["sandboxPolicy"] = {"type": _SANDBOX_POLICY[mode]}
        work: Json = {"model": known_model, "reasoning_effort": None, "developer_instructions": None}
        params["collaborationMode"] = {"mode": "plan" if mode == PLAN else "default", "settings": work}
    if model:
        params["model"] = model
    return request(id, "thread/settings/update", params)


def interrupt(id: str, thread: str, turn: str) -> bytes:
    return request(id, "turn/interrupt", {"threadId": thread, "turnId": turn})


def still_there(id: str) -> bytes:
    """A question with a cheap answer and no effect, where an answer is all that is wanted."""
    return request(id, "thread/loaded/list", {})


def end_all(id: str, thread: str) -> bytes:
    """End all commands that it left running."""
    return request(id, "thread/backgroundTerminals/clean", {"threadId": thread})


def list_left(turn: str, thread: str) -> bytes:
    return request(LEFT + turn, "thread/backgroundTerminals/list", {"threadId": thread})


def end_one(thread: str, process: str) -> bytes:
    params = {"threadId": thread, "processId": process}
    return request(END + process, "thread/backgroundTerminals/terminate", params)
