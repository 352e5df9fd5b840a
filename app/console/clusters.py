"""Cutting a painted row at a cell without cutting a letter in two.

Rich cuts between code points: an emoji of several, cut where a sheet lies over it, would leave a joiner or a skin
colour behind that has a width of its own, and the whole row would be too wide. Here what is cut through becomes blanks.
"""

from functools import lru_cache

from rich.cells import split_graphemes
from rich.segment import Segment


@lru_cache(maxsize=4096)
def split_at(segment: Segment, cut: int) -> tuple[Segment, Segment]:
    text, style, control = segment
    used = 0
    for start, end, size in split_graphemes(text)[0]:
        if used + size > cut:
            before, after = cut - used, used + size - cut
            if not before:
                return Segment(text[:start], style, control), Segment(text[start:], style, control)
            return (
                Segment(text[:start] + " " * before, style, control),
                Segment(" " * after + text[end:], style, control),
            )
        used += size
    return segment, Segment("", style, control)


def install() -> None:
    """Into Rich, whose own is called from the middle of Textual's compositor."""
    Segment._split_cells = classmethod(lambda _, segment, cut: split_at(segment, cut))  # type: ignore[assignment]
