"""Reads the lines that Claude Code prints and says, in our events, what happened.

One handler a line type; what no handler knows is ``Unknown``. The state it changes is all in ``claude_state``; what
goes out to the agent is written in ``claude``, but for the answer to a request that nobody here knows.
"""

from collections.abc import Callable
from typing import Any

from coordinator.drivers import claude_asks, claude_messages, claude_tasks, claude_turns
from coordinator.drivers.base import (
    AgentEvent,
    Compacted,
    ContextUsage,
    Idle,
    LimitNotice,
    ModeChanged,
    Notice,
    RetryNotice,
    SessionReady,
    Unknown,
)
from coordinator.drivers.claude_results import window_for
from coordinator.drivers.claude_state import State
from coordinator.drivers.json_fields import Json, decode, fraction, mapping, objects, text, whole, word, words

Out = list[AgentEvent]
Handler = Callable[[State, Json, Out], bool]
"""Says whether it knew the line; events go into the list."""

_LIMITS = {"allowed": "allowed", "allowed_warning": "warning", "rejected": "rejected"}


def read_line(state: State, raw: bytes, out: Out) -> None:
    """One line, never an exception: an agent's surprise is a line kept whole."""
    if not raw or raw.isspace():
        return
    before = len(out)
    line: Any = None
    try:
        line = decode(raw)
        if isinstance(line, dict):
            handler = _BY_TYPE.get(text(line, "type"))
            if handler is not None and handler(state, line, out):
                return
    except Exception:
        # Whatever shape it has, it must not end a hold (rule of design section 8). What was read before stands.
        pass
    if isinstance(line, dict) and line.get("type") == "control_request" and len(out) == before:
        claude_asks.refuse(line, out)
    out.append(Unknown(raw=raw.decode("utf-8", "replace")))


def _silent(state: State, line: Json, out: Out) -> bool:
    return True


# ------------------------------------------------------------------------------------------------------ system lines


def _system(state: State, line: Json, out: Out) -> bool:
    handler = _BY_SUBTYPE.get(text(line, "subtype"))
    return handler is not None and handler(state, line, out)


def _init(state: State, line: Json, out: Out) -> bool:
    claude_turns.learn(
        state,
        out,
        native_id=text(line, "session_id"),
        model=text(line, "model"),
        mode=text(line, "permissionMode"),
        version=text(line, "claude_code_version"),
    )
    for ability in words(line, "capabilities"):
        if ability not in state.abilities and len(state.abilities) < 200:
            state.abilities.append(ability)
    for name in words(line, "slash_commands"):
        state.commands.setdefault(name, "")
    claude_turns.wakes(state, out)
    return True


def _status(state: State, line: Json, out: Out) -> bool:
    mode = word(line, "permissionMode")
    if mode and mode != state.mode:
        state.mode = mode
        out.append(ModeChanged(mode=mode))
    if line.get("status") == "compacting":
        out.append(Notice(text="compacting the conversation"))
    if text(line, "compact_result") == "failed":
        out.append(Notice(text=f"could not compact: {text(line, 'compact_error')}"))
    return True


def _activity(state: State, line: Json, out: Out) -> bool:
    told = text(line, "state")
    if told == "idle":
        out.append(Idle())
    return told in ("idle", "running", "requires_action")


def _compacted(state: State, line: Json, out: Out) -> bool:
    facts = mapping(line, "compact_metadata")
    before, after = whole(facts, "pre_tokens"), whole(facts, "post_tokens")
    out.append(Compacted(before=before, after=after))
    if after is not None:
        state.context = after
        out.append(ContextUsage(used=after, size=window_for(state.speaker, state.windows)))
    return True


def _retry(state: State, line: Json, out: Out) -> bool:
    wait = fraction(line, "retry_delay_ms")
    status = whole(line, "error_status")
    why = text(line, "error") or "unknown"
    out.append(
        RetryNotice(
            attempt=whole(line, "attempt") or 0,
            of=whole(line, "max_retries"),
            wait_seconds=None if wait is None else round(wait / 1000, 3),
            why=f"{why} ({status})" if status is not None else why,
        )
    )
    return True


def _said(key: str) -> Handler:
    def handler(state: State, line: Json, out: Out) -> bool:
        said = text(line, key)
        if said:
            out.append(Notice(text=said))
        return bool(said)

    return handler


def _denied(state: State, line: Json, out: Out) -> bool:
    why = text(line, "decision_reason") or text(line, "message")
    out.append(Notice(text=f"{text(line, 'tool_name') or 'a tool'} was not allowed: {why}"))
    return True


def _commands(state: State, line: Json, out: Out) -> bool:
    state.commands = claude_turns.command_table(objects(line, "commands"))
    out.append(SessionReady(commands=tuple(state.commands.items())))
    return True


# ------------------------------------------------------------------------------------------------------- other lines


def _limit(state: State, line: Json, out: Out) -> bool:
    facts = mapping(line, "rate_limit_info")
    status = _LIMITS.get(text(facts, "status"))
    if status is None:
        return False
    resets = whole(facts, "resetsAt")
    state.limit_reset = resets if status == "rejected" else None
    out.append(
        LimitNotice(
            status=status,
            kind=text(facts, "rateLimitType") or "unnamed",
            resets_at=resets,
            used_fraction=fraction(facts, "utilization"),
        )
    )
    return True


def _reset(state: State, line: Json, out: Out) -> bool:
    # Its ``new_conversation_id`` is not the session's new id; that one comes with the next init.
    state.context = None
    state.cleared = True
    out.append(Notice(text="the agent cleared its conversation"))
    return True


_BY_SUBTYPE: dict[str, Handler] = {
    "init": _init,
    "status": _status,
    "session_state_changed": _activity,
    "compact_boundary": _compacted,
    "api_retry": _retry,
    "model_fallback": _said("content"),
    "local_command": _said("content"),
    "local_command_output": _said("content"),
    "informational": _said("content"),
    "permission_denied": _denied,
    "commands_changed": _commands,
    "task_started": claude_tasks.started,
    "task_updated": claude_tasks.updated,
    "task_notification": claude_tasks.notified,
    "background_tasks_changed": claude_tasks.listed,
    "task_progress": _silent,
    "thinking_tokens": _silent,
    "control_request_progress": _silent,
}

_BY_TYPE: dict[str, Handler] = {
    "stream_event": claude_messages.partial,
    "assistant": claude_messages.assistant,
    "user": claude_messages.user,
    "system": _system,
    "result": claude_turns.result,
    "command_lifecycle": claude_turns.lifecycle,
    "control_request": claude_asks.asked,
    "control_cancel_request": claude_asks.withdrawn,
    "control_response": claude_turns.control_response,
    "rate_limit_event": _limit,
    "conversation_reset": _reset,
    "keep_alive": _silent,
    "tool_progress": _silent,
}
