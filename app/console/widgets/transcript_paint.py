"""From style names and rows to strips: the only place where a transcript's colours are chosen.

Strips are made at full width once and kept, so that Textual's own cache of their bytes is used again at the next
frame.
"""

from collections import OrderedDict
from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from app.console.theme import style_of
from app.console.views.text import cells
from app.console.views.transcript_lines import Line, Row, rows_of

_KEPT = 256
"""Lines whose strips are kept; of a tall screen three times what is in view. Each has a dozen caches of Textual's below
it: 1,024 of them took ten megabytes, reached after a quarter of an hour of reading (measured)."""
_STYLES: dict[str, tuple[str, str]] = {
    "": ("text", ""),
    "agent": ("text", ""),
    "output": ("text", ""),
    "bad-output": ("text", ""),
    "tool": ("bright", ""),
    "you": ("bright", ""),
    "you-bar": ("blue", ""),
    "you-fill": ("text on-side", ""),
    "head": ("strong bright", ""),
    "head-dim": ("grey", ""),
    "heading": ("strong bright", ""),
    "heading-low": ("strong", ""),
    "strong": ("strong bright", ""),
    "slanted": ("text", "italic"),
    "strong-slanted": ("strong bright", "italic"),
    "struck": ("grey", "strike"),
    "quote": ("grey", "italic"),
    "bullet": ("grey", ""),
    "code": ("text", ""),
    "code-fill": ("text on-side", ""),
    "code-key": ("blue", ""),
    "code-str": ("green", ""),
    "code-num": ("text", ""),
    "code-com": ("grey", "italic"),
    "inline-code": ("blue", ""),
    "link": ("blue", "underline"),
    "url": ("grey", ""),
    "thought": ("grey", "italic"),
    "asked": ("text", ""),
    "needs": ("amber", ""),
    "ok": ("green", ""),
    "bad": ("red", ""),
    "add": ("green", ""),
    "del": ("red", ""),
    "hunk": ("grey", ""),
    "dim": ("grey", ""),
    "cursor-fill": ("text on-sel", ""),
    "found": ("amber", "underline"),
    "found-here": ("amber", "reverse"),
    "faint": ("faint", ""),
}


class Painter:
    """Strips for one width and one look; both change by ``begin``, which forgets what was made for others."""

    def __init__(self) -> None:
        self._strips: OrderedDict[Line, list[Strip]] = OrderedDict()
        self._styles: dict[tuple[str, str], Style] = {}
        self._look: tuple[int, str, Style] = (0, "", Style())
        self._most = _KEPT

    def begin(self, width: int, theme: str, base: Style, *, rows: int) -> None:
        """``rows``: as many are in view."""
        self._most = max(_KEPT, 3 * rows)
        look = (width, theme, base)
        if look != self._look:
            self._look = look
            self._strips.clear()
            self._styles.clear()

    def strips(self, line: Line) -> list[Strip]:
        made = self._strips.get(line)
        if made is not None:
            self._strips.move_to_end(line)
            return made
        width = self._look[0]
        made = [self._strip(self.segments(line, row), width, line) for row in rows_of(line, width)]
        self._strips[line] = made
        if len(self._strips) > self._most:
            self._strips.popitem(last=False)
        return made

    def segments(self, line: Line, row: Row) -> list[Segment]:
        out: list[Segment] = []
        for text, name in row.runs:
            style = self.style(name, line.fill)
            inner = text.lstrip(" ") if text[:1] == " " else text
            # Apart from its leading spaces: pictures of the console lose those that begin a piece of text.
            if inner is not text and inner:
                out.append(Segment(text[: len(text) - len(inner)], style))
            if inner or text:
                out.append(Segment(inner or text, style))
        return out

    def lit(self, line: Line, row: Row, marks: Sequence[tuple[int, int, Style]]) -> Strip:
        """The row with styles over some of its characters, later ones over earlier ones; -1 is its end. Not kept."""
        width = self._look[0]
        segments = self._strip(self.segments(line, row), width, line)._segments
        for start, end, over in marks:
            out: list[Segment] = []
            at = 0
            for text, style, _ in segments:
                low = min(max(start - at, 0), len(text))
                high = len(text) if end < 0 else min(max(end - at, low), len(text))
                plain = style or Style()
                parts = ((text[:low], plain), (text[low:high], plain + over), (text[high:], plain))
                out.extend(Segment(part, how) for part, how in parts if part)
                at += len(text)
            segments = out
        return Strip(segments)

    def _strip(self, segments: list[Segment], width: int, line: Line) -> Strip:
        used = sum(cells(segment.text) for segment in segments)
        if used < width:
            segments.append(Segment(" " * (width - used), self.style("", line.fill)))
            used = width
        return Strip(segments, used)

    def style(self, name: str, fill: str) -> Style:
        key = (name, fill)
        found = self._styles.get(key)
        if found is None:
            _, theme, base = self._look
            found = base
            if fill:
                found += Style(bgcolor=style_of(_STYLES[fill][0], theme).bgcolor)
            ink, way = _STYLES.get(name, ("text", ""))
            found += style_of(ink, theme)
            if way:
                found += Style.parse(way)
            self._styles[key] = found
        return found
