"""Reads what is said and done in the conversation: partial and finished blocks, tool calls, tool results, echoes.

The key of a block is the message's id and the block's index in it, counted here, so that deltas and the finished block
meet though the finished line does not name its index.
"""

import json
import re

from coordinator.drivers import claude_asks, claude_turns
from coordinator.drivers.base import (
    AgentEvent,
    ContextUsage,
    Notice,
    PlanUpdated,
    TextBlock,
    TextDelta,
    ThoughtBlock,
    ThoughtDelta,
    ToolFinished,
    ToolStarted,
)
from coordinator.drivers.claude_results import context_tokens, window_for
from coordinator.drivers.claude_state import State, Stream
from coordinator.drivers.claude_tools import (
    PLAN_TOOLS,
    apply_task_call,
    output_text,
    plan_items,
    title_of,
    todo_items,
)
from coordinator.drivers.json_fields import Json, mapping, objects, text, whole, word, words
from coordinator.drivers.linedriver import remember

Out = list[AgentEvent]

SYNTHETIC = "<synthetic>"
"""The model that the agent names on messages that it wrote itself: failures, output of local commands."""

_LOCAL = re.compile(r"\A<local-command-(\w+)>(.*)</local-command-\1>\s*\Z", re.DOTALL)
_OWN_NOTE = "<task-notification>"
_SPEAKERS = 64


def _stream(state: State, parent: str | None, message: str) -> Stream:
    key = parent or ""
    stream = state.streams.get(key)
    if stream is None or (message and stream.message != message):
        state.streams.pop(key, None)
        stream = state.streams[key] = Stream(message=message)
        while len(state.streams) > _SPEAKERS:
            del state.streams[next(iter(state.streams))]
    return stream


def partial(state: State, line: Json, out: Out) -> bool:
    """One event of a streaming answer. The hot path: thousands a second."""
    event = line.get("event")
    if not isinstance(event, dict):
        return False
    kind = event.get("type")
    parent = word(line, "parent_tool_use_id")
    if kind == "content_block_delta":
        stream = state.streams.get(parent or "")
        delta = event.get("delta")
        index = event.get("index")
        if stream is None or not isinstance(delta, dict) or not isinstance(index, int):
            return False
        told = delta.get("type")
        if told == "text_delta" and isinstance(delta.get("text"), str):
            out.append(TextDelta(block=f"{stream.message}:{index}", text=delta["text"], parent=parent))
            return True
        if told == "thinking_delta" and isinstance(delta.get("thinking"), str):
            out.append(ThoughtDelta(block=f"{stream.message}:{index}", text=delta["thinking"], parent=parent))
            return True
        return told in ("input_json_delta", "signature_delta", "citations_delta")
    if kind == "message_start":
        _stream(state, parent, text(mapping(event, "message"), "id"))
        if parent is None:
            claude_turns.speaks(state, [], out)
        return True
    if kind in ("content_block_start", "content_block_stop"):
        stream = _stream(state, parent, text(line, "api_message_id"))
        stream.open = (whole(event, "index") or 0) if kind == "content_block_start" else -1
        return True
    return kind in ("message_delta", "message_stop", "ping", "error")


def assistant(state: State, line: Json, out: Out) -> bool:
    message = line.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        return False
    parent = word(line, "parent_tool_use_id")
    error = word(line, "error")
    if parent is None:
        claude_turns.speaks(state, words(line, "user_message_uuids"), out)
        if error:
            state.error = error
            state.error_status = whole(line, "api_error_status")
            reset = whole(mapping(mapping(line, "api_error_params"), "rate_limit_info"), "resetsAt")
            state.limit_reset = reset if reset is not None else state.limit_reset
    synthetic = text(message, "model") == SYNTHETIC
    stream = _stream(state, parent, text(message, "id") or text(line, "uuid"))
    for block in objects(message, "content"):
        index = stream.open if stream.open >= 0 else stream.next
        stream.next = index + 1
        key = f"{stream.message}:{index}"
        kind = text(block, "type")
        if kind == "text" and synthetic:
            # A failure's words come again with the result; a local command's are no part of the conversation.
            out.append(Notice(text=text(block, "text")))
        elif kind == "text":
            aborted = line.get("aborted") is True
            out.append(TextBlock(block=key, text=text(block, "text"), parent=parent, aborted=aborted))
        elif kind in ("thinking", "redacted_thinking"):
            out.append(ThoughtBlock(block=key, text=text(block, "thinking"), parent=parent))
        elif kind.endswith("tool_use"):
            _tool_started(state, block, parent, out)
        elif kind.endswith("tool_result"):
            _tool_finished(state, block, {}, {}, parent, out)
        else:
            out.append(Notice(text=f"the agent printed a block of an unknown kind: {json.dumps(block)}"))
    if parent is None and not synthetic:
        state.speaker = text(message, "model") or state.speaker
        used = context_tokens(mapping(message, "usage"))
        if used is not None and used != state.context:
            state.context = used
            out.append(ContextUsage(used=used, size=window_for(state.speaker, state.windows)))
    return True


def _tool_started(state: State, block: Json, parent: str | None, out: Out) -> None:
    call, name, tool_input = text(block, "id"), text(block, "name"), mapping(block, "input")
    out.append(ToolStarted(call=call, name=name, input=tool_input, title=title_of(name, tool_input), parent=parent))
    if tool_input.get("run_in_background") is True:
        remember(state.background_calls, call)
    if parent is not None:
        return
    if name in PLAN_TOOLS:
        # Shown when the call succeeded: an agent without these tools calls them all the same, and is refused.
        state.plan_calls[call] = json.dumps([name, tool_input])


def _tool_finished(state: State, block: Json, detail: Json, meta: Json, parent: str | None, out: Out) -> None:
    call = text(block, "tool_use_id")
    output = output_text(block.get("content"))
    content = block.get("content")
    failed = block.get("is_error") is True or (isinstance(content, dict) and text(content, "type").endswith("_error"))
    out.append(ToolFinished(call=call, ok=not failed, output=output, detail=detail, parent=parent))
    claude_asks.finished(state, call, not failed, output, meta, out)
    kept = state.plan_calls.pop(call, None)
    if kept is not None and not failed:
        name, tool_input = json.loads(kept)
        if name == "TodoWrite":
            if (items := todo_items(tool_input)) is not None:
                out.append(PlanUpdated(items=items))
        elif apply_task_call(state.plan, name, tool_input, output, detail):
            out.append(PlanUpdated(items=plan_items(state.plan.values())))


def user(state: State, line: Json, out: Out) -> bool:
    message = line.get("message")
    if not isinstance(message, dict):
        return False
    parent = word(line, "parent_tool_use_id")
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return False
    blocks = [block for block in content if isinstance(block, dict)]
    results = [block for block in blocks if text(block, "type").endswith("tool_result")]
    if results:
        detail = mapping(line, "tool_use_result") if len(results) == 1 else {}
        metas = {text(meta, "id"): meta for meta in objects(line, "tool_result_meta")}
        for block in results:
            _tool_finished(state, block, detail, metas.get(text(block, "tool_use_id"), {}), parent, out)
    said = "\n".join(text(block, "text") for block in blocks if text(block, "type") == "text")
    if line.get("isReplay") is True:
        local = _LOCAL.match(said)
        if local:
            out.append(Notice(text=local.group(2).strip() or "(no output)"))
        elif text(mapping(line, "origin"), "kind") not in ("", "human", "user") or said.startswith(_OWN_NOTE):
            # The agent's own note to itself goes through the same door as our lines, and is echoed like them.
            claude_turns.woken(state, "background task ended")
        else:
            claude_turns.echoed(state, text(line, "uuid"), out)
    elif said and parent is None:
        # What the agent puts into its own conversation in the user's place: an interrupt's mark, a summary.
        out.append(Notice(text=said))
    return True
