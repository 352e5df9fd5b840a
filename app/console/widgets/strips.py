"""Textual's strips (rows of styled text), where hundreds of thousands scroll by: what they remember of themselves.

Import it wherever rows are made for a view that streams. Each change keeps what the method gives and only lets go of
memory; Textual is pinned to the version that they were made for.
"""

import app.console.before_textual  # noqa: F401, I001  (sets what textual reads at import)

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from rich.style import Style
from textual.strip import Strip

STYLES_KEPT: Final = 1_024
"""Textual remembers the codes of 16,384 styles. With the place in it that a selection needs (``apply_offsets``) each
row that scrolls by has a style of its own, which nobody asks for again: ten megabytes after a quarter of an hour with
eight streams (measured). Those that are asked for again are a few dozen."""

_codes = vars(Strip)["render_ansi"].__func__.__wrapped__
_divide, _crop_extend = Strip.divide, Strip.crop_extend


def divide(self: Strip, cuts: Iterable[int]) -> Sequence[Strip]:
    """As Textual's; a strip that is not cut does not remember itself."""
    cuts = [cut for cut in cuts if cut <= self.cell_length]
    return [self] if cuts == [self.cell_length] else _divide(self, cuts)


def crop_extend(self: Strip, start: int, end: int, style: Style | None) -> Strip:
    """As Textual's; a strip that has this length already does not remember itself."""
    return self if start <= 0 and end == self.cell_length else _crop_extend(self, start, end, style)


# A strip that remembers itself is a circle, and only the collector of circles lets it go: rows that had scrolled by
# stayed for minutes, hundreds of them each minute, and left the memory that they were in full of holes.
for _name, _change in {
    "render_ansi": classmethod(lru_cache(maxsize=STYLES_KEPT)(_codes)),  # type: ignore[arg-type]
    "divide": divide,
    "crop_extend": crop_extend,
}.items():
    setattr(Strip, _name, _change)
