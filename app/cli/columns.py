"""A table as lines of text: heads over columns, measured in terminal cells, made to fit where a width is given. Pure.

On a terminal with no room for all, names and texts give way first, down to what still tells them apart, and are cut
with ``…``; then whole columns go, those first that ``show`` and ``--json`` can be asked for. What is copied from a
table (a command, a number) is whole or not there.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from app.console.views.text import cells, cut, cut_front

GAP: Final = 2
"""Blanks between two columns."""


class Column(Struct, frozen=True, kw_only=True):
    head: str = ""
    """'' where a reader can guess it."""
    right: bool = False
    """It ends at its right edge, as numbers do."""
    least: int | None = None
    """Cells to which it may be cut; None: it is whole, or not there."""
    end: bool = False
    """Cut at its front: what tells paths apart is their end."""
    goes: int = 0
    """Where there is no room, the column with the highest goes first; 0: never."""


def rendered(rows: Sequence[Sequence[str]], columns: Sequence[Column], width: int | None) -> list[str]:
    """``width``: cells of a line; None: no limit. A column without anything in it is left out; one that has a head only
    on a terminal, so that who reads the lines by program finds the same columns each time."""
    if not rows:
        return []
    natural = [max(cells(row[n]) for row in rows) for n in range(len(columns))]
    shown = [n for n, size in enumerate(natural) if size or (columns[n].head and width is None)]
    heads = any(columns[n].head for n in shown)
    for n in shown:
        natural[n] = max(natural[n], cells(columns[n].head))
    if width is not None:
        shown, natural = _fitted(shown, natural, columns, width)
    lines = [[columns[n].head for n in shown]] if heads else []
    lines += [[row[n] for n in shown] for row in rows]
    return [_line(line, [columns[n] for n in shown], [natural[n] for n in shown]) for line in lines]


def _line(texts: Sequence[str], columns: Sequence[Column], sizes: Sequence[int]) -> str:
    out = []
    for text, column, size in zip(texts, columns, sizes, strict=True):
        held = cut_front(text, size) if column.end else cut(text, size)
        blank = " " * (size - cells(held))
        out.append(blank + held if column.right else held + blank)
    return (" " * GAP).join(out).rstrip()


def _fitted(shown: list[int], natural: list[int], columns: Sequence[Column], width: int) -> tuple[list[int], list[int]]:
    def least(n: int) -> int:
        most = columns[n].least
        return natural[n] if most is None else min(natural[n], max(most, cells(columns[n].head)))

    def size(sizes: Sequence[int]) -> int:
        return sum(sizes) + GAP * (len(sizes) - 1)

    while size([least(n) for n in shown]) > width:
        going = max(shown, key=lambda n: (columns[n].goes, n))
        if not columns[going].goes:
            break
        shown = [n for n in shown if n != going]
    sizes = list(natural)
    flexible = [n for n in shown if columns[n].least is not None]
    floor = {n: least(n) for n in flexible}
    over = size([sizes[n] for n in shown]) - width
    while over > 0 and flexible:
        widest = max((n for n in flexible if sizes[n] > floor[n]), key=lambda n: sizes[n], default=None)
        if widest is None:
            # Only what must stay is left, on a terminal that is narrower still.
            floor = {n: 1 for n in flexible}
            if all(sizes[n] == 1 for n in flexible):
                break
            continue
        sizes[widest] -= 1
        over -= 1
    return shown, sizes
