"""What the agent's items mean to a person: a tool's name, its input, one line for it, its output.

Nothing here knows the stream or keeps anything; a new kind of item needs a line here and nowhere else.
"""

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final

from coordinator.drivers.diffs import diff_of
from coordinator.drivers.json_fields import Json, listing, mapping, objects, text, whole, word, words
from coordinator.plaincommand import is_shell

COMMAND: Final = "commandExecution"
FILES: Final = "fileChange"
_LONGEST_TAKEN_APART: Final = 65_536
"""Characters: taking words apart is slow, and what is longer is no easier to read without its shell."""


def inner(command: str) -> str:
    """The command as the model wrote it, out of the shell that it is run by; unchanged where it is anything else."""
    if len(command) > _LONGEST_TAKEN_APART:
        return command
    try:
        parts = shlex.split(command)
    except ValueError:
        return command
    if len(parts) == 3 and is_shell(parts[0]) and parts[1] in ("-lc", "-c"):
        return parts[2]
    return command


def diff(change: Json) -> str:
    """One file's change; of a new or a removed file the agent tells the bare text."""
    path, kind, told = text(change, "path"), mapping(change, "kind"), text(change, "diff")
    match text(kind, "type"):
        case "add":
            return diff_of(path, "", told.removesuffix("\n"))
        case "delete":
            return diff_of(path, told.removesuffix("\n"), "")
        case _:
            to = text(kind, "move_path") or path
            return f"--- {path}\n+++ {to}\n{told}".rstrip("\n")


def diffs(changes: list[Json]) -> str:
    return "\n".join(diff(change) for change in changes)


def changes_of(item: Json) -> list[Json]:
    return objects(item, "changes")


def touched(item: Json) -> list[str]:
    """Every file that a change reads or writes, the new place of a moved one too."""
    changes = changes_of(item)
    named = [text(change, "path") for change in changes]
    moved = [text(mapping(change, "kind"), "move_path") for change in changes]
    return [path for path in (*named, *moved) if path]


def paths(changes: list[Json]) -> str:
    named = [text(change, "path") for change in changes if text(change, "path")]
    return named[0] if len(named) == 1 else f"{len(named)} files: {', '.join(named)}" if named else "files"


def _command(item: Json) -> tuple[str, Json, str]:
    command = inner(text(item, "command"))
    told: Json = {"command": command}
    if word(item, "cwd"):
        told["cwd"] = text(item, "cwd")
    return "shell", told, command


def _files(item: Json) -> tuple[str, Json, str]:
    changes = changes_of(item)
    edits = [
        {"path": text(one, "path"), "kind": text(mapping(one, "kind"), "type"), "diff": diff(one)} for one in changes
    ]
    return "apply_patch", {"edits": edits}, paths(changes)


def _mcp(item: Json) -> tuple[str, Json, str]:
    name = f"{text(item, 'server')}.{text(item, 'tool')}"
    arguments = item.get("arguments")
    return name, arguments if isinstance(arguments, dict) else {}, _first(arguments) or name


def _dynamic(item: Json) -> tuple[str, Json, str]:
    name = text(item, "tool") or text(item, "name") or "tool"
    arguments = item.get("arguments")
    return name, arguments if isinstance(arguments, dict) else {}, _first(arguments) or name


def _search(item: Json) -> tuple[str, Json, str]:
    action = mapping(item, "action")
    query = text(item, "query") or text(action, "query") or text(action, "url") or text(action, "pattern")
    asked = query or ", ".join(words(action, "queries"))
    return "web_search", {"query": asked, **({"action": action} if action else {})}, asked or "the web"


def _sub_agent(item: Json) -> tuple[str, Json, str]:
    told = {"prompt": text(item, "prompt"), "agents": words(item, "receiverThreadIds"), "model": text(item, "model")}
    name = text(item, "tool") or "agent"
    return name, {key: value for key, value in told.items() if value}, _first(told) or name


def _image(item: Json) -> tuple[str, Json, str]:
    return "view_image", {"path": text(item, "path")}, text(item, "path")


def _drawn(item: Json) -> tuple[str, Json, str]:
    return "image_generation", {"prompt": text(item, "revisedPrompt")}, text(item, "revisedPrompt") or "an image"


def _sleep(item: Json) -> tuple[str, Json, str]:
    ms = whole(item, "durationMs") or 0
    return "sleep", {"ms": ms}, f"{ms / 1000:.0f} s"


TOOLS: Final[Mapping[str, Callable[[Json], tuple[str, Json, str]]]] = {
    COMMAND: _command,
    FILES: _files,
    "mcpToolCall": _mcp,
    "dynamicToolCall": _dynamic,
    "functionCallOutput": _dynamic,
    "webSearch": _search,
    "collabAgentToolCall": _sub_agent,
    "imageView": _image,
    "imageGeneration": _drawn,
    "sleep": _sleep,
}
"""Items that are work: (name, input, title)."""


def told(item: Json) -> tuple[str, Json, str]:
    """Name, input and title of an item that is work; the title is one line."""
    name, given, title = TOOLS[text(item, "type")](item)
    return name, given, title.strip().split("\n", 1)[0].strip() or name


def subject(item: Json) -> str:
    """What an approval of it is about, uncut."""
    if text(item, "type") == FILES:
        return diffs(changes_of(item))
    return inner(text(item, "command"))


def went_well(item: Json) -> bool:
    if mapping(item, "error") or item.get("success") is False or mapping(item, "failure"):
        return False
    code = whole(item, "exitCode")
    return text(item, "status") not in ("failed", "declined", "interrupted") and code in (None, 0)


def output(item: Json) -> str:
    """What it gave back, as text."""
    kind = text(item, "type")
    if kind == COMMAND:
        return text(item, "aggregatedOutput")
    if kind == FILES:
        return "" if text(item, "status") == "completed" else text(item, "status")
    if kind == "mcpToolCall":
        error = text(mapping(item, "error"), "message")
        return error or _content(listing(mapping(item, "result"), "content"))
    if kind == "dynamicToolCall":
        return _content(listing(item, "contentItems"))
    if kind == "functionCallOutput":
        given = item.get("output")
        return given if isinstance(given, str) else _content(given if isinstance(given, list) else [])
    if kind == "collabAgentToolCall":
        states = mapping(item, "agentsStates")
        said = [text(one, "message") for one in states.values() if isinstance(one, dict)]
        return "\n".join(message for message in said if message)
    if kind == "imageGeneration":
        return text(item, "savedPath")
    return ""


def detail(item: Json) -> Json:
    """The agent's structured result, where it gives one."""
    kept = {key: item[key] for key in ("exitCode", "durationMs", "status", "results") if item.get(key) is not None}
    structured = mapping(mapping(item, "result"), "structuredContent")
    return {**kept, "structured": structured} if structured else kept


def thought(item: Json) -> str:
    """What it says of its reasoning: its summary, else the reasoning itself."""
    return "\n\n".join(words(item, "summary")) or "\n\n".join(words(item, "content"))


def _content(parts: list[Any]) -> str:
    said: list[str] = []
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            said.append(part["text"])
        elif isinstance(part, dict):
            said.append(f"[{text(part, 'type') or 'block'}]")
        else:
            said.append(json.dumps(part))
    return "\n".join(said)


def _first(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return ""
    return next((value for value in arguments.values() if isinstance(value, str) and value), "")
