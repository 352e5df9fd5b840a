"""What a selection in rows and characters means in the text that was written: without our wraps, bars, indents and
lines.

A line that is selected whole gives its source (tabs, Markdown); one that is selected in part gives what is seen of
it.
"""

from collections.abc import Sequence
from typing import Protocol

from app.console.views.text import copyable
from app.console.views.transcript_lines import Line, rows_of
from app.console.views.transcript_rows import RowIndex


class Place(Protocol):
    @property
    def x(self) -> int: ...
    @property
    def y(self) -> int: ...


def copied(lines: Sequence[Line], index: RowIndex, width: int, start: Place | None, end: Place | None) -> str:
    if not lines or not index.total:
        return ""
    first, first_char = (0, 0) if start is None else _place(lines, index, width, start)
    last, last_char = (len(lines) - 1, -1) if end is None else _place(lines, index, width, end)
    out: list[str] = []
    for number in range(first, last + 1):
        line = lines[number]
        low = first_char if number == first else 0
        high = last_char if number == last and last_char >= 0 else len(line.text)
        if number == last and number != first and high == 0 and line.text:
            continue
        if line.ours and first != last:
            # Between the agent's lines ours say nothing; an empty one still sets its texts apart.
            if not line.runs and out and out[-1]:
                out.append("")
            continue
        whole = low == 0 and high >= len(line.text)
        text = copyable(line.source) if whole and line.source is not None else line.text[low:high]
        if line.joined and out:
            out[-1] += text
        else:
            out.append(text)
    return "\n".join(out).strip("\n") if first != last else "\n".join(out)


def _place(lines: Sequence[Line], index: RowIndex, width: int, at: Place) -> tuple[int, int]:
    """Line and character of a row and column; columns are characters of the row as it is painted."""
    if at.y >= index.total:
        return len(lines) - 1, len(lines[-1].text)
    number, row = index.locate(max(0, at.y))
    rows = rows_of(lines[number], width)
    shown = rows[min(row, len(rows) - 1)]
    return number, min(max(shown.start + at.x - shown.before, shown.start), shown.end)
