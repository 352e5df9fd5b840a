"""A transcript's logical lines and how they fall into rows. Values only: which lines there are is decided elsewhere.

A line is literal text in styled runs, with what stands before it on its first and on its following rows, and what
stands at the right edge. The widget paints exactly what ``rows_of`` gives; nothing may measure or cut a second time.
"""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from app.console.views.text import SourceLine, breaks, cells, cut, literal
from app.wording_measures import noun

Run = tuple[str, str]
"""Literal text and the name of its style."""
NARROWEST = 12
_GAP = 2


class Line(Struct, frozen=True, eq=False):
    """Compared and cached by identity: a line that changes is another line."""

    runs: tuple[Run, ...]
    lead: Run = ("", "")
    hang: Run = ("", "")
    """Before the first row and before those that follow; both as wide as their text."""
    right: tuple[Run, ...] = ()
    fold: bool = False
    """One row only, cut where it does not fit: a line that opens on a key."""
    by_word: bool = True
    fill: str = ""
    """Style of the whole row behind the runs."""
    source: str | None = None
    """The text as it was written, where what is shown differs from it; what a copy of the whole line gives."""
    joined: bool = False
    ours: bool = False
    """Footplate's own words or space: left out when the agent's text is copied over it."""
    target: str = ""
    """What opens or folds when the operator folds on this line; '' for what cannot."""

    @property
    def text(self) -> str:
        return self.runs[0][0] if len(self.runs) == 1 else "".join(run[0] for run in self.runs)


BLANK = Line((), ours=True)


def source_line(line: SourceLine, style: str, lead: Run = ("", ""), *, by_word: bool = True, fill: str = "") -> Line:
    """A line of somebody's text, as it is."""
    shown = literal(line.text)
    runs: tuple[Run, ...] = ((shown, style),) if shown else ()
    if line.rewritten:
        runs = (*runs, (f"  (written over {line.rewritten:,} {noun(line.rewritten, 'time')})", "dim"))
    source = line.text if (shown is not line.text and shown != line.text) or line.rewritten else None
    return Line(runs, lead, lead, by_word=by_word, fill=fill, source=source, joined=line.joined)


def indented(line: Line, by: str) -> Line:
    return replace(line, lead=(by + line.lead[0], line.lead[1]), hang=(by + line.hang[0], line.hang[1]))


def targeted(line: Line, target: str) -> Line:
    return line if line.target else replace(line, target=target)


class Row(Struct, frozen=True):
    runs: tuple[Run, ...]
    start: int
    """Where in the line's text its own text begins, and how many characters of ours stand before it."""
    end: int
    before: int


def _room(line: Line, width: int) -> tuple[int, int]:
    width = max(width, NARROWEST)
    lead, hang = cells(line.lead[0]), cells(line.hang[0])
    return max(width - lead, 4), max(width - hang, 4)


def row_breaks(line: Line, width: int) -> list[tuple[int, int]]:
    first, rest = _room(line, width)
    return breaks(line.text, first, rest, by_word=line.by_word)


def count_rows(line: Line, width: int) -> int:
    """How many rows ``rows_of`` gives; most lines are short, and thousands are counted at a resize."""
    runs = line.runs
    if not runs or line.fold or line.right:
        return 1
    text = runs[0][0] if len(runs) == 1 else line.text
    if len(text) + len(line.lead[0]) <= width and text.isascii() and line.lead[0].isascii():
        return 1
    return len(row_breaks(line, width))


def guess_rows(line: Line, width: int) -> int:
    """About how many, at once: for lines that nobody sees yet."""
    runs = line.runs
    if not runs or line.fold or line.right:
        return 1
    length = len(runs[0][0]) if len(runs) == 1 else sum(len(run[0]) for run in runs)
    return 1 + length // max(width - len(line.lead[0]), 4)


def rows_of(line: Line, width: int) -> list[Row]:
    if line.fold or line.right:
        return [_one_row(line, max(width, NARROWEST))]
    out: list[Row] = []
    for number, (start, end) in enumerate(row_breaks(line, width)):
        prefix = line.hang if number else line.lead
        runs = slice_runs(line.runs, start, end)
        if prefix[0]:
            runs = (prefix, *runs)
        out.append(Row(runs, start, end, len(prefix[0])))
    return out


def _one_row(line: Line, width: int) -> Row:
    right = line.right
    taken = sum(cells(run[0]) for run in right)
    if right and width - taken < 10 + cells(line.lead[0]):
        right, taken = (), 0
    room = width - cells(line.lead[0]) - (taken + _GAP if right else 0)
    text = line.text
    shown = cut(text, max(room, 1))
    if shown == text:
        runs = line.runs
    else:
        kept = len(shown) - 1
        runs = (*slice_runs(line.runs, 0, kept), ("…", "dim"))
    prefix: tuple[Run, ...] = (line.lead,) if line.lead[0] else ()
    gap = width - cells(line.lead[0]) - cells(shown) - taken
    tail: tuple[Run, ...] = ((" " * gap, line.fill), *right) if right else ()
    return Row((*prefix, *runs, *tail), 0, len(text) if shown == text else len(shown) - 1, len(line.lead[0]))


def slice_runs(runs: tuple[Run, ...], start: int, end: int) -> tuple[Run, ...]:
    if len(runs) == 1:
        text, style = runs[0]
        return runs if start == 0 and end == len(text) else ((text[start:end], style),)
    out: list[Run] = []
    at = 0
    for text, style in runs:
        low, high = max(start - at, 0), min(end - at, len(text))
        if low < high:
            out.append((text[low:high], style))
        at += len(text)
        if at >= end:
            break
    return tuple(out)


def plain(lines: Iterable[Line], width: int = 10_000) -> list[str]:
    """For tests and for ``--plain``: what a reader sees."""
    return ["".join(run[0] for run in row.runs).rstrip() for line in lines for row in rows_of(line, width)]
