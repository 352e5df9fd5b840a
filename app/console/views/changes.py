"""What a run changed, as rows: the list of its files, and one file's lines with their signs, hunks and numbers. Pure.

All of it was written by an agent, names too: it is made literal here. A long diff is laid out apart from the screen's
loop, so nothing here may depend on what is seen.
"""

from msgspec import Struct

from app.console.views.ink import Line, Span, cells, cut, cut_path, one_line, sides
from app.console.views.markdown_code import coloured, diff_style
from app.console.views.text import literal, pieces
from app.console.views.transcript_lines import BLANK, Line as TextLine, Run
from app.wording_changes import counts, nothing, remark, source, span_of
from coordinator.api import Changes, Diff, FileChange

MOST_LINES = 20_000
"""Of one file's; a pager or an editor has all of them."""


class PatchLines(Struct, frozen=True):
    lines: tuple[TextLine, ...]
    hunks: tuple[int, ...]
    """Where each begins, among the lines."""
    numbers: tuple[int, ...]
    """For each line, the line of the file as it is now that it is at, or would be."""


def patch_lines(diff: Diff, file: FileChange | None) -> PatchLines:
    """One file's diff for reading. git's own header stands above it in words."""
    text = diff.patch.decode("utf-8", "replace")
    rows = text.removesuffix("\n").split("\n") if text else []
    lines: list[TextLine] = []
    hunks: list[int] = []
    numbers: list[int] = []
    name = file.path.rsplit("/", 1)[-1] if file is not None else ""
    language = name.rsplit(".", 1)[-1].lower()
    at, inside = 1, False
    for row in rows:
        if len(lines) >= MOST_LINES:
            break
        if row.startswith("@@"):
            inside = True
            at = _began(row)
            if lines:
                lines.append(BLANK)
                numbers.append(at)
            hunks.append(len(lines))
            _add(lines, numbers, row, "hunk", "", at)
        elif not inside:
            if row.startswith(_TOLD):
                _add(lines, numbers, row, "dim", "", at)
        else:
            _add(lines, numbers, row, diff_style(row) if row[:1] in "+-" and row else "", language, at)
            at += row[:1] != "-" and row[:1] != "\\"
    if diff.cut or len(lines) >= MOST_LINES:
        lines.append(_ours("it goes on: P shows more, o the file itself"))
        numbers.append(at)
    if not hunks and file is not None:
        lines.append(_ours(_without_lines(file)))
        numbers.append(1)
    return PatchLines(tuple(lines), tuple(hunks), tuple(numbers))


_TOLD = ("old mode", "new mode", "new file", "deleted file", "rename ", "similarity ")


def _began(row: str) -> int:
    """``@@ -1,2 +3,4 @@``: 3."""
    digits = row.partition("+")[2].partition(" ")[0].partition(",")[0]
    return max(int(digits), 1) if digits.isascii() and digits.isdigit() and len(digits) < 12 else 1


def _add(lines: list[TextLine], numbers: list[int], row: str, style: str, language: str, at: int) -> None:
    for piece in pieces(row.replace("\r", "␍")):
        shown = literal(piece.text)
        runs: tuple[Run, ...] = ((shown, style),) if shown else ()
        if not style and shown:
            runs = tuple(coloured(shown, language))
        source = piece.text if shown != piece.text else None
        lines.append(TextLine(runs, by_word=False, source=source, joined=piece.joined))
        numbers.append(at)


def _ours(words: str) -> TextLine:
    return TextLine(((words, "dim"),), ours=True)


def _without_lines(file: FileChange) -> str:
    if file.added is None:
        return "its lines are not compared: it is no text, or too large"
    if file.added or file.removed:
        return "its lines were not kept"
    if file.status[:1] == "A":
        return "an empty file"
    return "its lines are the same"


# ------------------------------------------------------------------------------------------------------------- the list


def file_row(file: FileChange, width: int, *, lit: bool) -> Line:
    fill = " on-sel" if lit else ""
    told = counts(file.added, file.removed)
    right: Line = (Span(f" {told} ", f"grey{fill}"),)
    mark = "*" if file.before else " "
    name = one_line(file.path) or "–"
    if file.was:
        name = f"{name} ← {one_line(file.was)}"
    ink = {"A": "green", "D": "red"}.get(file.status, "blue")
    room = max(width - cells(right) - 5, 4)
    # The end tells paths apart, but for a rename, where the beginning is the name that it has now.
    shown = cut(name, room) if file.was else cut_path(name, room)
    left: Line = (
        Span(f" {one_line(file.status)[:1] or '?'}", f"{ink}{fill}"),
        Span(f"{mark} ", f"amber{fill}"),
        Span(shown, f"bright{fill}" if lit else "text"),
    )
    if width < 16:
        return (Span(cut(f" {name}", width), f"text{fill}"),)
    row = sides(left, right, width)
    return tuple(Span(part.text, part.ink if fill in part.ink else part.ink + fill) for part in row) if lit else row


def list_rows(changes: Changes | None, at: int, first: int, room: int, width: int, told: str = "") -> tuple[Line, ...]:
    """Rows of the list from ``first`` on; ``told``: in its place while there is none."""
    if changes is None or not changes.files:
        return ((Span(cut(f" {told or (nothing(changes) if changes else '')}", width), "grey"),),)
    some = changes.files[first : first + room]
    return tuple(file_row(file, width, lit=first + n == at) for n, file in enumerate(some))


# ----------------------------------------------------------------------------------------------------------- round them


def heading(run: int, title: str, changes: Changes | None, width: int) -> Line:
    left: Line = (Span(f"what {run} changed", "strong bright"), Span(" · ", "grey"), Span(one_line(title), "text"))
    if changes is None:
        return sides(left, (), width)
    base = f" since {one_line(changes.base)[:10]}" if changes.base else ""
    right: Line = (Span(f"{span_of(changes)}{base}, {source(changes)}", "grey"),)
    if cells(left) + cells(right) + 2 > width:
        # Where the title has no room to end, something must stand between it and the rest.
        right = (Span("· ", "grey"), *right)
    return sides(left, right, width)


def summary(changes: Changes, at: int, width: int) -> Line:
    """Above the lines of the chosen file."""
    if not changes.files:
        return ()
    file = changes.files[min(at, len(changes.files) - 1)]
    added = sum(one.added or 0 for one in changes.files)
    removed = sum(one.removed or 0 for one in changes.files)
    told = f"file {at + 1:,} of {len(changes.files):,}  +{added:,} −{removed:,} in all"
    right: Line = (Span(told, "grey"),)
    return sides((Span(cut_path(one_line(file.path), max(width - cells(right) - 2, 8)), "bright"),), right, width)


def remark_rows(changes: Changes | None, width: int, most: int = 3) -> tuple[Line, ...]:
    if changes is None:
        return ()
    said = [remark(one) for one in changes.remarks]
    rows = [(Span(cut(one_line(words), width), "amber"),) for words in said]
    if len(rows) > most:
        rest = "; ".join(one_line(words) for words in said[most - 1 :])
        rows = [*rows[: most - 1], (Span(cut(rest, width), "amber"),)]
    return tuple(rows)
