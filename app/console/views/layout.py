"""How wide each part of the screen is, from its width and what is wanted beside the conversation. Pure.

One place, because the rows of a part are made before the part is laid out: both must come to the same number.
"""

from msgspec import Struct

NARROW = 100
"""Under it there is one column: a strip for the list, no panel."""
RICH = 160
"""From here on there is room for a second conversation, in the place of the panel."""
BOTH = 200
"""From here on for the panel as well."""
CENTRE = 58
"""Cells that the conversation keeps: what is beside it gives way, and one row above it tells what the panel would."""
PANEL = 30
LIST = 32
"""The list at most, on a screen that is not rich."""


class Columns(Struct, frozen=True, kw_only=True):
    """Cells of each part, its margins included; 0: it is not there."""

    sessions: int
    centre: int
    beside: int
    panel: int

    @property
    def text(self) -> int:
        """Of the conversation in view, within its margins."""
        return self.centre - 2


def columns(width: int, *, listed: int, panel: bool, beside: bool, zoomed: bool) -> Columns:
    """``listed``: cells that the list asks for, 0 where there is nothing to list. ``panel``, ``beside``: whether the
    operator wants them and there is something to show in them."""
    if width < NARROW or zoomed:
        return Columns(sessions=0, centre=width, beside=0, panel=0)
    rich = width >= RICH
    sessions = 0 if not listed else 38 if rich else min(listed, LIST)
    second = beside and rich
    third = panel and (not second or width >= BOTH) and width - sessions - PANEL >= CENTRE
    side = (40 if rich else PANEL) if third else 0
    room = width - sessions - side
    other = room // 2 if second else 0
    return Columns(sessions=sessions, centre=room - other, beside=other, panel=side)
