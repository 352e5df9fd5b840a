"""The last step before the terminal, for who wants no colours (NO_COLOR) or only signs of one sure width (``ascii``).

It stands behind every view and every widget, so that none of them can forget it. Without colours a line has bold,
italics, underlines and reverse; with ``ascii`` also those of our signs are replaced that a few terminals show two cells
wide, wherever they come from.
"""

import app.console.before_textual  # noqa: F401, I001  (first: Textual reads its environment at import)

from functools import lru_cache

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

_DARK, _BRIGHT = 40, 240
_STAND_INS = {
    "…": "~",
    "·•": "-",
    "–—−─╌": "-",
    "“”": '"',
    "‘’": "'",
    "«‹←": "<",
    "»›→▸": ">",
    "↑▴": "^",
    "↓▾": "v",
    "↵": "/",
    "✓": "+",
    "✗": "x",
    "●": "*",
    "○": "o",
    "◆": "!",
    "◇": ">",
    "■█▓▇▆▅▄": "#",
    "□▪": "#",
    "━═": "=",
    "▏▎▍▌▋▊▉▐│┃": "|",
    "░▒▁▂▃": ".",
}
_SIGNS = {ord(sign): stand_in for signs, stand_in in _STAND_INS.items() for sign in signs}


def _light(colour: RichColor | None) -> int | None:
    """0 to 255; None where it is the terminal's own."""
    return None if colour is None or colour.triplet is None else max(colour.triplet)


@lru_cache(maxsize=1024)
def uncoloured(style: Style) -> tuple[Style, bool]:
    """The style without its colours, by the table ``theme.MONO``; and whether what it writes is to be seen."""
    ink, ground = _light(style.color), _light(style.bgcolor)
    lit = ground is not None and ground > _DARK
    reverse = lit != bool(style.reverse)
    bold = bool(style.bold) or (ink is not None and ink >= _BRIGHT and not lit)
    plain = Style(
        bold=bold or None,
        italic=style.italic,
        underline=style.underline,
        strike=style.strike,
        reverse=reverse or None,
    )
    return plain, reverse or ink is None or ink > _DARK


class Uncoloured(LineFilter):
    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        out: list[Segment] = []
        for text, style, control in segments:
            if style is None:
                out.append(Segment(text, None, control))
                continue
            plain, seen = uncoloured(style)
            # An edge drawn in the colour of its ground is not there.
            out.append(Segment(text if seen else " " * len(text), plain + Style.from_meta(style.meta), control))
        return out


class Ascii(LineFilter):
    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.text.isascii()
            else Segment(segment.text.translate(_SIGNS), segment.style, segment.control)
            for segment in segments
        ]
