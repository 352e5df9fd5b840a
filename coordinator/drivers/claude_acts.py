"""What a tool of the agent would do, for standing rules: only where its input is known to the last key.

A key that is not known may change what is done (a command outside its sandbox, say); then no rule looks at it.
"""

from typing import Final

from coordinator.drivers.asks import Act, ActKind
from coordinator.drivers.json_fields import Json, is_plain_list, word

_KEYS: Final[dict[str, frozenset[str]]] = {
    "Bash": frozenset({"command", "description", "timeout", "run_in_background"}),
    "Edit": frozenset({"file_path", "old_string", "new_string", "replace_all"}),
    "MultiEdit": frozenset({"file_path", "edits"}),
    "Write": frozenset({"file_path", "content"}),
    "NotebookEdit": frozenset({"notebook_path", "new_source", "cell_id", "cell_type", "edit_mode"}),
    "Read": frozenset({"file_path", "offset", "limit", "pages"}),
    "WebFetch": frozenset({"url", "prompt"}),
}
_ONE_EDIT: Final = frozenset({"old_string", "new_string", "replace_all"})
_RUNS: Final = frozenset({"command", "commands", "cmd", "script", "code"})
"""Inputs of other tools that are a program: no name of a tool says what it would run."""


def act_of(tool: str, tool_input: Json) -> Act | None:
    """None: what it would do is not known whole."""
    if not tool:
        return None
    known = _KEYS.get(tool)
    if known is None:
        return None if _RUNS & set(tool_input) else Act(kind=ActKind.TOOL, tool=tool)
    if not set(tool_input) <= known:
        return None
    if tool == "MultiEdit" and not is_plain_list(tool_input.get("edits"), _ONE_EDIT):
        return None
    if tool == "Bash":
        command = word(tool_input, "command")
        return Act(kind=ActKind.COMMAND, command=command) if command else None
    if tool == "WebFetch":
        url = word(tool_input, "url")
        return Act(kind=ActKind.FETCH, url=url) if url else None
    path = word(tool_input, "file_path") or word(tool_input, "notebook_path")
    kind = ActKind.READ if tool == "Read" else ActKind.EDIT
    return Act(kind=kind, paths=(path,)) if path else None
