"""What a tool call would do, for standing rules: only where the agent told its whole input, to the last key.

A title is a sentence, whoever wrote it; no rule reads one. A key that is not known may change what is done.
"""

from typing import Final

from coordinator.drivers import acp_tools
from coordinator.drivers.acp_state import Tool
from coordinator.drivers.asks import Act, ActKind
from coordinator.drivers.json_fields import Json, text, word

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
_READ: Final = _SAID | {*_PATHS, "offset", "limit", "pages"}
_FETCH: Final = _SAID | {"url", "prompt", "format", "timeout"}
_RUNS: Final = frozenset({"command", "commands", "cmd", "script", "code"})
"""Inputs of other tools that are a program: no name of a tool says what it would run."""


def act_of(tool: Tool) -> Act | None:
    """None: what it would do is not known whole."""
    given = acp_tools.input_of(tool)
    keys = given.keys()
    if tool.kind == "execute":
        command = acp_tools.command_of(tool)
        if not command or not keys <= _COMMAND:
            return None
        return Act(
            kind=ActKind.COMMAND, command=command, cwd=next(filter(None, (text(given, k) for k in _FOLDERS)), "")
        )
    if tool.kind == "edit":
        paths = {path for path, _, _ in tool.diffs} | _paths(given)
        known = tool.diffs and all(paths) and keys <= _EDIT
        return Act(kind=ActKind.EDIT, paths=tuple(sorted(paths))) if known else None
    if tool.kind == "read":
        paths = _paths(given)
        return Act(kind=ActKind.READ, paths=tuple(sorted(paths))) if paths and keys <= _READ else None
    if tool.kind == "fetch":
        url = word(given, "url")
        return Act(kind=ActKind.FETCH, url=url) if url and keys <= _FETCH else None
    if tool.named and tool.name and tool.kind in ("other", "") and not _RUNS & keys:
        return Act(kind=ActKind.TOOL, tool=tool.name)
    return None


def _paths(given: Json) -> set[str]:
    return {text(given, key) for key in _PATHS if word(given, key)}
