"""What an edit would change, as rows: the agent's own diff where it gives one, else made from its input. Pure."""

import difflib
from typing import Any

from app.console.views.ink import Line, Span, hard_wrap, literal


def looks_like_diff(text: str) -> bool:
    rows = text.split("\n")
    return any(row.startswith("@@") for row in rows) and any(row[:1] in "+-" for row in rows)


def diff_of_input(given: dict[str, Any]) -> str | None:
    """A diff for an edit's or a write's input; None where it is neither."""
    edits = given.get("edits")
    if isinstance(edits, list):
        pieces = [diff_of_input(edit) for edit in edits if isinstance(edit, dict)]
        return "\n".join(piece for piece in pieces if piece) or None
    old, new = given.get("old_string"), given.get("new_string")
    if isinstance(old, str) and isinstance(new, str):
        every = "\n(every place where it stands)" if given.get("replace_all") is True else ""
        return _diff(old, new) + every
    content = given.get("content")
    if isinstance(content, str) and "file_path" in given:
        return _diff("", content)
    return None


def _diff(old: str, new: str) -> str:
    rows = difflib.unified_diff(old.split("\n") if old else [], new.split("\n") if new else [], lineterm="", n=3)
    return "\n".join(row for row in rows if not row.startswith(("---", "+++")))


def diff_rows(text: str, width: int) -> list[Line]:
    """Coloured by sign; long rows go on below, nothing is cut. The path stands once, and a lone hunk has no number: on
    a low card these rows would be all that is seen at first."""
    rows = text.split("\n")
    lines: list[Line] = []
    if len(rows) > 1 and rows[0][:4] == "--- " and rows[1] == f"+++ {rows[0][4:]}":
        lines += [(Span(piece, "bright"),) for piece in hard_wrap(literal(rows[0][4:]), width)]
        rows = rows[2:]
        if rows and rows[0][:3] == "@@ " and not any(row[:3] == "@@ " for row in rows[1:]):
            rows = rows[1:]
    for row in rows:
        ink = {"+": "green", "-": "red", "@": "blue"}.get(row[:1], "text")
        lines += [(Span(piece, ink),) for piece in hard_wrap(literal(row), width)]
    return lines
