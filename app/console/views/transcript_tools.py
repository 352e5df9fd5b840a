"""What a tool call means to a reader: whether it only looks, what came of it in a word, what an edit changed.

Looks at the agent's own names and inputs, whichever agent it is; a tool that is not known here is shown by its own
name. Nothing decides from these words: they are for reading only.
"""

import difflib
import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from app.console.views.markdown_code import diff_style
from app.console.views.text import SourceLine, excerpt, one_line, pieces
from app.console.views.transcript_lines import Line, Run, source_line
from app.console.views.transcript_stream import gap_line
from app.wording import plural

EDITS = frozenset(
    {"edit", "multiedit", "write", "notebookedit", "filechange", "apply_patch", "patch", "replace", "write_file"}
)
COMMANDS = frozenset({"bash", "execute", "shell", "commandexecution", "run_shell_command", "terminal", "exec_command"})
_READS = frozenset({"read", "read_file", "notebookread", "view"})
_SEARCHES = frozenset({"grep", "glob", "search", "ls", "list_directory", "find", "toolsearch"})
_WEB = frozenset({"webfetch", "websearch", "fetch", "web_search", "web_fetch"})
_PLANS = frozenset({"todowrite", "taskcreate", "taskupdate", "tasklist", "taskget", "update_plan"})
_LOOKING = frozenset(
    [
        "ls",
        "cat",
        "head",
        "tail",
        "wc",
        "grep",
        "rg",
        "find",
        "fd",
        "pwd",
        "which",
        "type",
        "file",
        "stat",
        "du",
        "df",
        "tree",
        "echo",
        "sort",
        "uniq",
        "cut",
        "nl",
        "diff",
        "realpath",
        "basename",
        "dirname",
        "whoami",
        "id",
        "date",
        "printenv",
        "ps",
        "jq",
    ]
)
_LOOKING_GIT = frozenset(
    ["status", "log", "diff", "show", "branch", "rev-parse", "ls-files", "blame", "remote", "describe", "shortlog"]
)
# A redirection into a file, a substitution, or a flag by which a looking command acts.
_ACTS = re.compile(
    r"(?<![0-9&])>(?!\s*/dev/null|&)|`|\$\(|\s-(?:delete|exec\w*|ok\w*|D|d|m|M)\b|\bxargs\b|\bset-url\b|\badd\b|\brm\b"
)
_TESTS = re.compile(r"\b(\d+) (failed|passed|errors?|failures?|skipped)\b")
_INPUT_MOST = 200
OUTPUT_HEAD, OUTPUT_TAIL = 60, 140
BACKGROUND = "in the background"
"""What came of a call that returned while its command goes on."""


def looks_only(name: str, given: dict[str, Any]) -> bool:
    """Whether the call is worth no line of its own: it reads, searches, plans, or runs a command that only looks."""
    low = name.lower()
    if low in COMMANDS:
        return _looking_command(command_of(given))
    return low in _READS or low in _SEARCHES or low in _WEB or low in _PLANS


def command_of(given: dict[str, Any]) -> str:
    found = given.get("command", given.get("cmd", ""))
    if isinstance(found, list):
        return " ".join(str(word) for word in found)
    return found if isinstance(found, str) else ""


def _looking_command(command: str) -> bool:
    if not command or len(command) > 400 or _ACTS.search(command):
        return False
    for part in re.split(r"\|\|?|&&?|;|\n", command):
        words = part.split()
        if not words:
            continue
        if words[0] == "cd":
            continue
        if words[0] == "git":
            if len(words) < 2 or words[1] not in _LOOKING_GIT:
                return False
        elif words[0] == "sed":
            if words[1:2] != ["-n"]:
                return False
        elif words[0] not in _LOOKING:
            return False
    return True


def group_words(calls: Iterable[tuple[str, bool | None]]) -> str:
    """``read 4 files, ran 2 commands``: tool names, and whether they went well (None: still at it)."""
    counts: dict[str, int] = {}
    failed = 0
    for name, ok in calls:
        low = name.lower()
        for kind, names in (
            ("read", _READS),
            ("search", _SEARCHES),
            ("command", COMMANDS),
            ("web", _WEB),
            ("plan", _PLANS),
        ):
            if low in names:
                counts[kind] = counts.get(kind, 0) + 1
        failed += ok is False
    words: dict[str, Callable[[int], str]] = {
        "read": lambda n: f"read {plural(n, 'file')}",
        "search": lambda n: "searched" if n == 1 else f"searched {plural(n, 'time')}",
        "command": lambda n: f"ran {plural(n, 'command')}",
        "web": lambda n: f"looked up {plural(n, 'page')}",
        "plan": lambda n: "updated the plan",
    }
    said = [words[kind](n) for kind, n in counts.items()]
    if failed:
        said.append(f"{failed} failed")
    return ", ".join(said)


def title_words(name: str, title: str, tree: str) -> str:
    """The call's one line without the folder that every path begins with."""
    shown = one_line(title)
    if tree and shown.startswith(tree.rstrip("/") + "/"):
        shown = shown[len(tree.rstrip("/")) + 1 :]
    elif tree:
        shown = shown.replace(f"{tree.rstrip('/')}/", "")
    return "" if shown == name else shown


# ------------------------------------------------------------------------------------------------------------- edits


def diff_lines(given: dict[str, Any], detail: dict[str, Any]) -> list[str]:
    """What an edit changed, by lines: the agent's own patch where it tells one, else made from what was asked."""
    patch = detail.get("structuredPatch")
    if isinstance(patch, list) and patch:
        return [row for hunk in patch if isinstance(hunk, dict) for row in _hunk(hunk)]
    for key in ("diff", "patch", "unified_diff"):
        told = detail.get(key, given.get(key))
        if isinstance(told, str) and told:
            return told.split("\n")
    edits = given.get("edits")
    if isinstance(edits, list):
        return [row for edit in edits if isinstance(edit, dict) for row in diff_lines(edit, {})]
    old = _first_text(given, "old_string", "old_str", "oldText")
    new = _first_text(given, "new_string", "new_str", "newText", "content", "new_source")
    if new is None and old is None:
        return []
    before, after = _rows(old or ""), _rows(new or "")
    if len(before) + len(after) > 4_000:  # difflib is quadratic on what has nothing in common
        return [f"-{row}" for row in before] + [f"+{row}" for row in after]
    rows = difflib.unified_diff(before, after, lineterm="", n=3)
    return [row for row in islice(rows, 2, None)]


def _rows(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _hunk(hunk: dict[str, Any]) -> list[str]:
    rows = hunk.get("lines")
    head = f"@@ -{hunk.get('oldStart', '?')} +{hunk.get('newStart', '?')} @@"
    return [head, *(str(row) for row in rows)] if isinstance(rows, list) else []


def _first_text(given: dict[str, Any], *keys: str) -> str | None:
    return next((given[key] for key in keys if isinstance(given.get(key), str)), None)


def diff_size(rows: list[str]) -> tuple[int, int]:
    """Lines added and removed."""
    added = sum(row.startswith("+") and not row.startswith("+++") for row in rows)
    removed = sum(row.startswith("-") and not row.startswith("---") for row in rows)
    return added, removed


# ------------------------------------------------------------------------------------------------------------- endings


def came_of_it(name: str, ok: bool, output: str, detail: dict[str, Any]) -> str:
    """What came of a call in two words (``2 failed``, ``exit 1``), '' for nothing to say."""
    if name.lower() in COMMANDS:
        last = output[-2_000:].rstrip().rsplit("\n", 3)[-3:]
        for row in reversed(last):
            found = {kind: number for number, kind in _TESTS.findall(row)}
            for kind in ("failed", "failures", "failure", "errors", "error", "passed"):
                if kind in found:
                    return f"{found[kind]} {kind}"
        code = detail.get("exit_code", detail.get("exitCode"))
        if isinstance(code, int) and not isinstance(code, bool) and code != 0:
            return f"exit {code}"
        told = re.match(r"(?:Error: )?Exit code (\d{1,3})\b", output)
        if told:
            return f"exit {told[1]}"
        if detail.get("interrupted") is True:
            return "interrupted"
        if isinstance(detail.get("backgroundTaskId"), str):
            return BACKGROUND
    return "" if ok else "failed"


def took(ms: int) -> str:
    if ms < 100:
        return ""
    return f"{ms / 1000:.1f}s" if ms < 60_000 else f"{ms // 60_000}m{ms // 1000 % 60:02d}s"


# ------------------------------------------------------------------------------------------------------------- opened


def input_lines(name: str, given: dict[str, Any], lead: Run) -> list[Line]:
    """What the call was given, whole up to a bound."""
    command = command_of(given)
    if name.lower() in COMMANDS and command:
        return _bounded(command, "code", lead, first="$ ")
    out: list[Line] = []
    for key, value in given.items():
        text = value if isinstance(value, str) else repr(value)
        head = Line(((f"{one_line(key, 60)}: ", "dim"),), lead, lead, ours=True)
        if "\n" not in text and len(text) < 200:
            shown = source_line(SourceLine(text), "code")
            out.append(Line((*head.runs, *shown.runs), lead, lead, by_word=False))
        else:
            out.append(head)
            out.extend(_bounded(text, "code", (lead[0] + "  ", lead[1])))
    return out


def output_lines(found: "tuple[SourceLine, ...]", style: str, lead: Run) -> list[Line]:
    return [source_line(line, style, lead, by_word=False) for line in found]


def _bounded(text: str, style: str, lead: Run, first: str = "") -> list[Line]:
    cut = excerpt(text, _INPUT_MOST, _INPUT_MOST // 4)
    out = output_lines(cut.head, style, lead)
    if first and out:
        out[0] = Line(
            out[0].runs, (lead[0] + first, "dim"), (lead[0] + " " * len(first), ""), by_word=False, source=out[0].source
        )
    if cut.hidden:
        out.append(gap_line(cut.hidden, cut.hidden_chars, lead))
    return out + output_lines(cut.tail, style, lead)


def patch_lines(rows: list[str], lead: Run) -> list[Line]:
    shown = [
        source_line(piece, diff_style(row), lead, by_word=False) for row in rows[:400] for piece in pieces(row)[:4]
    ]
    if len(rows) > 400:
        shown.append(gap_line(len(rows) - 400, 0, lead))
    return shown
