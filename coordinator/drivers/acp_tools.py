"""Tool calls of the Agent Client Protocol, joined: an agent tells one in pieces, in any order, or not at all.

What is kept of a call until it ends, and what it means to a person. Nothing here knows turns or decisions.
"""

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from coordinator.drivers.acp_state import State, Tool
from coordinator.drivers.base import AgentEvent, PlanUpdated, ToolFinished, ToolStarted
from coordinator.drivers.diffs import diff_of
from coordinator.drivers.json_fields import Json, listing, mapping, objects, text, whole, word
from coordinator.drivers.linedriver import remember
from coordinator.plaincommand import is_shell

Out = list[AgentEvent]

_MOST_TOOLS: Final = 500
MOST_PATHS: Final = 50
_MOST_OUTPUT: Final = 4_000_000
"""Characters of one call's output that are kept until it ends; what comes beyond is cut off, and says so."""
_KINDS: Final = frozenset({"read", "edit", "delete", "move", "search", "execute", "fetch"})
"""Kinds that say what a call does, whatever its agent calls the tool."""
_OUTPUTS: Final = ("output", "stdout", "text", "formatted_output", "aggregated_output", "error", "message")
_NAMES: Final = ("toolName", "tool_name")
_PLANS: Final = frozenset({"todowrite", "todo_write", "todo", "update_plan"})
PLAN_STATES: Final[Mapping[str, str]] = {"pending": "pending", "in_progress": "active", "completed": "done"}


def names_call(update: Json) -> bool:
    return word(update, "toolCallId") is not None


def told(state: State, update: Json, out: Out) -> None:
    """A line about a call: ``tool_call`` or ``tool_call_update``."""
    call = text(update, "toolCallId")
    if call in state.finished:
        return
    tool = join(state, call, update)
    status = text(update, "status")
    done = status in ("completed", "failed")
    # The first line of some is an empty form, filled in by the next one: what is kept must show the whole call.
    if done or status == "in_progress" or _is_told(tool):
        start(state, call, out)
    if done:
        _finish(state, call, tool, status == "completed", update, out)


def join(state: State, call: str, update: Json) -> Tool:
    """What is known of the call, with what this line adds."""
    tool = state.tools.get(call)
    if tool is None:
        while len(state.tools) >= _MOST_TOOLS:
            del state.tools[next(iter(state.tools))]
        tool = state.tools[call] = Tool()
        state.turn_tools += 1
    tool.waits = False
    meta = mapping(update, "_meta")
    tool.kind = word(update, "kind") or tool.kind
    tool.title = word(update, "title") or tool.title
    if named := word(update, "name") or _meta_word(meta, _NAMES):
        tool.name, tool.named = named, True
    tool.name = tool.name or _bare(text(update, "title"))
    tool.parent = parent_of(meta) or tool.parent
    given = update.get("rawInput")
    if isinstance(given, dict) and given:
        # A request may tell less than the call did before it, and what is left out still holds.
        tool.input_json = json.dumps({**input_of(tool), **given})
    elif isinstance(given, str | list) and given:
        tool.input_json = json.dumps({"input": given})
    places = [text(place, "path") for place in objects(update, "locations") if word(place, "path")]
    tool.paths = places[:MOST_PATHS] or tool.paths
    if isinstance(update.get("content"), list):
        tool.text = _content_text(update)[:_MOST_OUTPUT]
        tool.diffs = _diffs(update) or tool.diffs
    piece = text(mapping(meta, "terminal_output_delta"), "data")
    if piece and len(tool.text) < _MOST_OUTPUT:
        tool.text = (tool.text + piece)[:_MOST_OUTPUT]
    return tool


def requested(tool: Tool) -> None:
    """A permission was asked for. What the request shows of the call is no output of it."""
    tool.text, tool.waits = "", True


def start(state: State, call: str, out: Out) -> None:
    """Tell that it began, once."""
    tool = state.tools.get(call)
    if tool is None or tool.started:
        return
    tool.started = True
    out.append(
        ToolStarted(
            call=call,
            name=name_of(tool),
            input=input_of(tool),
            title=one_line(command_of(tool) or tool.title or next(iter(tool.paths), "") or name_of(tool)),
            parent=tool.parent or None,
        )
    )


def turn_ended(state: State, out: Out) -> None:
    """Calls that were only announced are told now; what comes later about a call is told when it comes.

    One that nothing more was heard of since it was asked for did not run: some say no more of a call that was refused.
    """
    for call, tool in list(state.tools.items()):
        start(state, call, out)
        if tool.waits:
            _finish(state, call, tool, False, {}, out)


def name_of(tool: Tool) -> str:
    """What it does where the protocol says so, else the agent's own name for it."""
    return tool.kind if tool.kind in _KINDS else tool.name or tool.kind or "tool"


def input_of(tool: Tool) -> Json:
    given: Json = json.loads(tool.input_json)
    return given


def command_of(tool: Tool) -> str:
    """The command of a call that runs one, as a shell would be given it; empty: it is not told."""
    command = input_of(tool).get("command")
    if isinstance(command, str):
        return command
    if isinstance(command, list) and command and all(isinstance(part, str) for part in command):
        shell = len(command) == 3 and command[1] in ("-c", "-lc") and is_shell(command[0])
        return str(command[2]) if shell else shlex.join(command)
    return ""


def subject_of(tool: Tool) -> str:
    """What it is about, whole and uncut: the command, the change, else all that is told."""
    if command := command_of(tool):
        return command
    if tool.diffs:
        return diffs_text(tool)
    for key in ("diff", "patch", "unified_diff", "plan"):
        if said := text(input_of(tool), key):
            return said
    parts = [tool.title, *tool.paths]
    given = input_of(tool)
    if given and tool.kind != "execute":
        parts.append(json.dumps(given, indent=1, ensure_ascii=False))
    news = [part for n, part in enumerate(parts) if part and not any(part in other for other in parts[:n])]
    return "\n".join(news) or name_of(tool)


def diffs_text(tool: Tool) -> str:
    return "\n".join(diff_of(path, old, new) for path, old, new in tool.diffs)


def one_line(said: str) -> str:
    return said.strip().split("\n", 1)[0].strip()


def plan_items(entries: list[Json]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (PLAN_STATES.get(text(entry, "status"), "pending"), one_line(text(entry, "content")))
        for entry in entries
        if word(entry, "content")
    )


def _is_told(tool: Tool) -> bool:
    return bool(input_of(tool).keys() - {"cwd"})


def _finish(state: State, call: str, tool: Tool, ok: bool, update: Json, out: Out) -> None:
    del state.tools[call]
    remember(state.finished, call)
    detail: Json = {}
    if tool.diffs:
        detail["diff"] = diffs_text(tool)
    raw = update.get("rawOutput")
    code = whole(mapping(mapping(update, "_meta"), "terminal_exit"), "exit_code")
    if isinstance(raw, dict):
        found = (whole(raw, key) for key in ("exitCode", "exit_code"))
        within = whole(mapping(raw, "metadata"), "exit")
        code = next((one for one in (*found, within) if one is not None), code)
    if code is not None:
        detail["exit_code"] = code
    # Where both are told, what is shown is dressed for a screen (fences, headings).
    output = raw[:_MOST_OUTPUT] if isinstance(raw, str) and raw else tool.text or _raw_text(raw)
    if len(tool.text) == _MOST_OUTPUT:
        output += "\n… (cut off here)"
    out.append(ToolFinished(call=call, ok=ok and not code, output=output, detail=detail, parent=tool.parent or None))
    if ok and name_of(tool).lower() in _PLANS and (todos := objects(input_of(tool), "todos")):
        items = plan_items(todos)
        if list(items) != state.plan:
            state.plan = list(items)
            out.append(PlanUpdated(items=items))


def _meta_word(meta: Json, keys: tuple[str, ...]) -> str:
    """From the agent's own extensions, on the first or the second level."""
    for level in (meta, *(inner for inner in meta.values() if isinstance(inner, dict))):
        for key in keys:
            if found := word(level, key):
                return found
    return ""


def parent_of(meta: Json) -> str:
    """The call of the sub-agent that speaks; empty: the agent itself."""
    return _meta_word(meta, ("parentToolUseId",))


def _bare(title: str) -> str:
    """A first title that is the tool's name (``bash``, ``todowrite``)."""
    return title if title.isidentifier() else ""


def content_text(block: Json) -> str:
    """One block of content as text; what is no text is named in brackets rather than lost."""
    kind = text(block, "type")
    if kind == "text":
        return text(block, "text")
    if kind == "resource":
        inner = mapping(block, "resource")
        return text(inner, "text") or f"[{text(inner, 'uri') or kind}]"
    return f"[{text(block, 'uri') or text(block, 'name') or kind or 'block'}]"


def _content_text(update: Json) -> str:
    blocks = [block for block in objects(update, "content") if text(block, "type") == "content"]
    return "\n".join(content_text(mapping(block, "content")) for block in blocks)


def _diffs(update: Json) -> list[tuple[str, str, str]]:
    return [
        (text(block, "path"), text(block, "oldText"), text(block, "newText"))
        for block in objects(update, "content")
        if text(block, "type") == "diff"
    ]


def _raw_text(raw: Any) -> str:
    if isinstance(raw, str):
        return raw[:_MOST_OUTPUT]
    if isinstance(raw, list):
        return "\n".join(one if isinstance(one, str) else json.dumps(one) for one in raw)[:_MOST_OUTPUT]
    if not isinstance(raw, dict):
        return ""
    for key in _OUTPUTS:
        said = raw.get(key)
        if isinstance(said, str) and said:
            return said[:_MOST_OUTPUT]
        if isinstance(said, dict) and word(said, "message"):
            return text(said, "message")
    return "\n".join(text(part, "text") for part in listing(raw, "content") if isinstance(part, dict))
