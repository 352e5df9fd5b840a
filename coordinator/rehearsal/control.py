"""What the practice agent hears: user lines, control requests and answers, while a turn plays on another thread.

Everything here answers at once; a turn that plays is never waited for, only told to stop.
"""

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from coordinator.rehearsal.flags import MODES
from coordinator.rehearsal.player import replay
from coordinator.rehearsal.session import COMMANDS, MODELS, VERSION, Session, UserLine, context_usage
from coordinator.rehearsal.toolbox import stop_task

Json = dict[str, Any]


class Malformed(Exception):
    """A line that the real agent dies of."""


class ControlFault(Exception):
    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


def hear(session: Session, line: bytes) -> None:
    if not line.strip():
        return
    try:
        told = json.loads(line)
    except ValueError as problem:
        raise Malformed(
            f"Error parsing streaming input line (type=unknown, {len(line)} chars): SyntaxError"
        ) from problem
    if not isinstance(told, dict):
        raise Malformed("Error parsing streaming input line: not an object")
    match told.get("type"):
        case "user":
            hear_user(session, told)
        case "control_request":
            hear_request(session, told)
        case "control_response":
            hear_answer(session, told)


def hear_user(session: Session, told: Json) -> None:
    message = told.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if content is None:
        if not session.newer:
            raise Malformed("TypeError: undefined is not an object (evaluating 'message.content')")
        return
    line = UserLine(
        text=plain(content),
        uuid=told.get("uuid") or None,
        content=content,
        composed=bool(told.get("client_composed")) and session.newer,
    )
    with session.changed:
        if line.uuid is not None and line.uuid in session.seen:
            # A known id is not a new message: the replay is all that comes, and never a result.
            if session.flags.replay:
                replay(session, line)
            return
        if line.uuid is not None:
            session.seen.add(line.uuid)
        if session.told_state == "idle":
            session.state("running")
        session.lifecycle(line, "queued")
        session.inbox.append(line)
        session.changed.notify_all()


def plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (block for block in blocks if isinstance(block, dict) and block.get("type", "text") == "text")
    return "\n".join(str(block.get("text", "")) for block in texts)


def hear_answer(session: Session, told: Json) -> None:
    response = told.get("response")
    response = response if isinstance(response, dict) else {}
    with session.changed:
        pending = session.pending.get(str(response.get("request_id")))
        if pending is None or pending.answered:
            return
        pending.answered = True
        if response.get("subtype") == "error":
            pending.error = str(response.get("error"))
        else:
            pending.response = response.get("response")
        if not session.newer:
            session.state("running")
        if session.flags.replay:
            # The host's own answers are replayed like its turns.
            session.wire.send(told)
        session.state("running")
        session.changed.notify_all()


# --------------------------------------------------------------------------------------------------- control requests


def hear_request(session: Session, told: Json) -> None:
    request = told.get("request")
    request = request if isinstance(request, dict) else {}
    identity = told.get("request_id")
    subtype = str(request.get("subtype"))
    if subtype in session.ignoring or (session.script.never_ready and subtype == "initialize"):
        return
    handler = HANDLERS.get(subtype)
    try:
        if handler is None:
            raise ControlFault(f"Unsupported control request subtype: {subtype}")
        answer = handler(session, request)
        response: Json = {"subtype": "success", "request_id": identity} | (
            {} if answer is None else {"response": answer}
        )
    except ControlFault as fault:
        response = {"subtype": "error", "request_id": identity, "error": str(fault)}
        response |= {"error_code": fault.code} if fault.code and session.newer else {}
    session.wire.send({"type": "control_response", "response": response})
    after = AFTERWARDS.get(subtype)
    if after is not None and response["subtype"] == "success":
        after(session, request)


def initialize(session: Session, request: Json) -> Json:
    told: Json = {
        "commands": [{"name": name, "description": text, "argumentHint": ""} for name, text in COMMANDS],
        "agents": [],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": [
            {"value": value, "resolvedModel": resolved, "displayName": shown, "description": text}
            for value, resolved, shown, text in MODELS
        ],
        "account": {"tokenSource": "none", "apiKeySource": "practice", "apiProvider": "practice"},
        "pid": os.getpid(),
    }
    if session.newer:
        told |= {"claude_code_version": VERSION, "current_permission_mode": session.mode}
        told |= {"session_state": "running" if session.playing else "idle", "capabilities": []}
    return told


def withdraw(session: Session) -> None:
    """Take back what was asked and is not answered: the host must close its dialog."""
    for identity, pending in session.pending.items():
        if not pending.answered:
            session.wire.send({"type": "control_cancel_request", "request_id": identity})


def interrupt(session: Session, request: Json) -> Json | None:
    with session.changed:
        withdraw(session)
        cancelled = drop_queued(session) if request.get("cancel_queued") and session.newer else []
        still = [line.uuid for line in session.inbox if line.uuid]
    if not session.newer:
        return None
    return {"still_queued": still} | ({"cancelled": cancelled} if request.get("cancel_queued") else {})


def drop_queued(session: Session) -> list[str]:
    dropped = [line for line in session.inbox if line.origin is None]
    for line in dropped:
        session.inbox.remove(line)
        session.lifecycle(line, "cancelled")
    return [line.uuid for line in dropped if line.uuid]


def abort(session: Session, request: Json) -> None:
    """After the acknowledgement, so that the host reads it before the aborted result."""
    with session.changed:
        session.abort = session.playing
        session.changed.notify_all()


def end_session(session: Session, request: Json) -> None:
    with session.changed:
        withdraw(session)


def end(session: Session, request: Json) -> None:
    with session.changed:
        session.ending = True
        session.abort = session.playing
        session.changed.notify_all()


def set_permission_mode(session: Session, request: Json) -> Json:
    mode = str(request.get("mode"))
    if session.newer and mode not in MODES:
        raise ControlFault(f"Invalid permission mode: {mode}", "invalid_mode")
    if mode == "bypassPermissions" and not session.flags.may_bypass:
        raise ControlFault("Cannot set permission mode to bypassPermissions: the session was not launched to allow it")
    session.mode = "default" if mode == "manual" else mode
    return {"mode": session.mode}


def tell_mode(session: Session, request: Json) -> None:
    session.wire.system("status", status=None, permissionMode=session.mode)


def set_model(session: Session, request: Json) -> None:
    session.model = str(request.get("model") or "default")


def stop(session: Session, request: Json) -> Json:
    running = session.running.get(str(request.get("task_id")))
    if running is not None:
        stop_task(session, running)
    return {}


def cancel_message(session: Session, request: Json) -> Json:
    wanted = request.get("message_uuid")
    with session.changed:
        found = next((line for line in session.inbox if line.uuid is not None and line.uuid == wanted), None)
        if found is not None:
            session.inbox.remove(found)
            session.lifecycle(found, "cancelled")
    return {"cancelled": found is not None} | ({"message_uuid": wanted} if session.newer else {})


def get_usage(session: Session, request: Json) -> Json:
    told = {"total_cost_usd": session.spending.total, "model_usage": session.spending.model_usage(session.newer)}
    return {"session": told, "rate_limits": None}


def get_session_cost(session: Session, request: Json) -> Json:
    return {"text": f"Total cost: ${session.spending.total:.4f}"}


def get_context_usage(session: Session, request: Json) -> Json:
    return context_usage(session)


def nothing(session: Session, request: Json) -> Json:
    return {}


Handler = Callable[[Session, Json], Json | None]
HANDLERS: Mapping[str, Handler] = {
    "initialize": initialize,
    "interrupt": interrupt,
    "end_session": end_session,
    "set_permission_mode": set_permission_mode,
    "set_model": set_model,
    "set_max_thinking_tokens": nothing,
    "stop_task": stop,
    "cancel_async_message": cancel_message,
    "get_usage": get_usage,
    "get_session_cost": get_session_cost,
    "get_context_usage": get_context_usage,
    "get_settings": nothing,
    "mcp_status": nothing,
}
AFTERWARDS: Mapping[str, Callable[[Session, Json], None]] = {
    "interrupt": abort,
    "end_session": end,
    "set_permission_mode": tell_mode,
}
