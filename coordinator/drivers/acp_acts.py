"""What a tool call would do, for standing rules: only where the agent told its whole input, to the last key.

A title is a sentence, whoever wrote it; no rule reads one. A key that is not known may change what is done.
"""

import re
from collections.abc import Sequence
from typing import Final

from coordinator.drivers import acp_tools
from coordinator.drivers.acp_state import Tool
from coordinator.drivers.asks import Act, ActKind
from coordinator.drivers.json_fields import Json, is_plain_list, text, word

_SAID: Final = frozenset({"description", "explanation", "reason", "justification", "call_id", "turn_id", "process_id"})
"""Keys that say something about a call, or name it, and change nothing of it."""
_COMMAND: Final = _SAID | {
    *("command", "cwd", "workdir", "directory", "timeout", "is_background", "run_in_background", "started_at_ms"),
    *("parsed_cmd", "source", "proposed_execpolicy_amendment", "available_decisions"),
}
_FOLDERS: Final = ("cwd", "workdir", "directory")
_PATHS: Final = ("file_path", "filePath", "filepath", "path", "notebook_path", "absolute_path")
_EDIT: Final = _SAID | {
    *_PATHS,
    *(
        "content",
        "old_string",
        "new_string",
        "oldString",
        "newString",
        "replace_all",
        "replaceAll",
        "overwrite",
        "diff",
    ),
    *("edits", "new_source", "cell_id", "cell_type", "edit_mode"),
}
_ONE_EDIT: Final = frozenset(
    {"old_string", "new_string", "oldString", "newString", "oldText", "newText", "replace_all", "replaceAll"}
)
_HEAD: Final = re.compile(r"--- |\+\+\+ |\*\*\* |Index: |diff |rename |copy ")
"""Lines with which a patch names a file."""
_READ: Final = _SAID | {*_PATHS, "offset", "limit", "pages"}
_FETCH: Final = _SAID | {"url", "prompt", "format", "timeout"}
_RUNS: Final = frozenset({"command", "commands", "cmd", "script", "code"})
"""Inputs of other tools that are a program: no name of a tool says what it would run."""


def act_of(tool: Tool) -> Act | None:
    """None: what it would do is not known whole."""
    given = acp_tools.input_of(tool)
    keys, name = given.keys(), tool.name if tool.named else ""
    if tool.kind == "execute":
        command, folders = acp_tools.command_of(tool), _told(given, _FOLDERS)
        if not command or not keys <= _COMMAND or folders is None or len(folders) > 1:
            return None
        return Act(kind=ActKind.COMMAND, command=command, cwd=next(iter(folders), ""), tool=name)
    if tool.kind == "edit":
        changed = {path for path, _, _ in tool.diffs}
        paths = _paths(tool, changed)
        known = paths and changed and keys <= _EDIT and _edits_say_no_more(given, paths)
        return Act(kind=ActKind.EDIT, paths=tuple(sorted(paths)), tool=name) if known and paths else None
    if tool.kind == "read":
        paths = _paths(tool, set())
        return Act(kind=ActKind.READ, paths=tuple(sorted(paths)), tool=name) if paths and keys <= _READ else None
    if tool.kind == "fetch":
        url = word(given, "url")
        return Act(kind=ActKind.FETCH, url=url, tool=name) if url and keys <= _FETCH else None
    if name and tool.kind in ("other", "") and not _RUNS & keys:
        return Act(kind=ActKind.TOOL, tool=name)
    return None


def _told(given: Json, names: Sequence[str]) -> set[str] | None:
    """What stands under these keys, where all of it is text."""
    there = [given[name] for name in names if given.get(name)]
    return set(there) if all(isinstance(one, str) for one in there) else None


def _paths(tool: Tool, more: set[str]) -> set[str] | None:
    """Every path that is told, wherever; None where one is no path, or there may be more."""
    told = _told(acp_tools.input_of(tool), _PATHS)
    if told is None or not all(more) or len(tool.paths) >= acp_tools.MOST_PATHS:
        return None
    return told | set(tool.paths) | more


def _edits_say_no_more(given: Json, paths: set[str]) -> bool:
    """Whether neither single edits nor a patch name files of their own."""
    if "edits" in given and not is_plain_list(given["edits"], _ONE_EDIT):
        return False
    heads = [line for line in text(given, "diff").splitlines() if _HEAD.match(line)]
    return all(line.partition(" ")[2].split("\t")[0].strip() in paths for line in heads)
