"""An agent's own terminal as rows of this console's inks. Bytes in, lines out; nothing of Textual, no clock.

Colours become the theme's own, so that they can be read on any background and fall away with NO_COLOR; all text is made
literal like any other of an agent. What a program asks its terminal is answered by the driver, never from here.
"""

import colorsys
import copy
from functools import lru_cache
from typing import Any

import pyte
from pyte.screens import Char

from app.console.views.ink import Line, Span, literal
from coordinator.drivers.base import TERMINAL_SIZE
from coordinator.terminals import Resized

_ALTERNATE = frozenset({47, 1047, 1049})
_CURSOR_KEYS = 1 << 5
_PASTE = 2004 << 5
_INKS = {
    "default": "text",
    "black": "grey",
    "red": "red",
    "green": "green",
    "brown": "amber",
    "blue": "blue",
    "magenta": "amber",
    "cyan": "blue",
    "white": "text",
    "brightblack": "grey",
    "brightred": "red",
    "brightgreen": "green",
    "brightbrown": "amber",
    "brightblue": "blue",
    "bfightmagenta": "amber",  # so spelled in pyte
    "brightmagenta": "amber",
    "brightcyan": "blue",
    "brightwhite": "bright",
}


class _Screen(pyte.Screen):
    """With the second page on which editors and pagers draw, which the library leaves out."""

    _first: tuple[Any, Any] | None = None

    def set_mode(self, *modes: int, **more: Any) -> None:
        if more.get("private") and _ALTERNATE & set(modes) and self._first is None:
            self._first = (copy.deepcopy(self.buffer), copy.copy(self.cursor))
            self.erase_in_display(2)
        super().set_mode(*modes, **more)

    def reset_mode(self, *modes: int, **more: Any) -> None:
        super().reset_mode(*modes, **more)
        if more.get("private") and _ALTERNATE & set(modes) and self._first is not None:
            self.buffer, self.cursor = self._first
            self._first = None
            self.dirty.update(range(self.lines))


class LiveScreen:
    """One terminal, as far as its bytes were fed."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """From nothing: what came before is not known."""
        rows, columns = TERMINAL_SIZE
        self._screen = _Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)

    def feed(self, piece: bytes | Resized) -> None:
        """Take the next piece. Whatever a program prints: what the library cannot take is left out."""
        try:
            if isinstance(piece, Resized):
                self._screen.resize(lines=max(piece.rows, 1), columns=max(piece.columns, 1))
            else:
                self._stream.feed(piece)
        except Exception:
            # It stumbles over rare sequences, and is then in no state to go on reading.
            self._stream = pyte.ByteStream(self._screen)

    @property
    def cursor_keys(self) -> bool:
        """The program wants arrows spelled for applications."""
        return _CURSOR_KEYS in self._screen.mode

    @property
    def marks_pastes(self) -> bool:
        return _PASTE in self._screen.mode

    def rows(self, *, cursor: bool) -> tuple[Line, ...]:
        """What stands there; ``cursor``: with the cell in which the next letter would come."""
        screen = self._screen
        at = (screen.cursor.y, min(screen.cursor.x, screen.columns - 1)) if cursor else (-1, -1)
        return tuple(_row(screen, y, at[1] if y == at[0] else -1) for y in range(screen.lines))


def _row(screen: pyte.Screen, y: int, cursor: int) -> Line:
    cells, spans, text, ink = screen.buffer[y], [], "", ""
    last = max(
        [x for x, cell in cells.items() if cell.data.strip() or cell.reverse or cell.bg != "default"], default=-1
    )
    for x in range(min(max(last, cursor) + 1, screen.columns)):
        cell = cells[x]
        its = _ink(cell) + (" reverse" if x == cursor else "")
        if its != ink and text:
            spans.append(Span(literal(text), ink))
            text = ""
        ink, text = its, text + cell.data
    if text:
        spans.append(Span(literal(text), ink))
    return tuple(spans)


def _ink(cell: Char) -> str:
    return _ink_of(cell.fg, cell.bg != "default", cell.bold, cell.reverse)


@lru_cache(maxsize=4096)
def _ink_of(colour: str, on: bool, bold: bool, reverse: bool) -> str:
    words = [_INKS.get(colour) or _nearest(colour)]
    words += ["strong"] * bold + ["on-sel"] * on + ["reverse"] * reverse
    return " ".join(words)


def _nearest(colour: str) -> str:
    """The ink for a colour in six hexadecimal digits."""
    try:
        red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4))
    except ValueError:
        return "text"
    hue, light, saturation = colorsys.rgb_to_hls(red, green, blue)
    if saturation < 0.2:
        return "bright" if light > 0.9 else "grey" if light < 0.6 else "text"
    degrees = hue * 360
    if degrees < 20 or degrees >= 320:
        return "red"
    return "amber" if degrees < 70 else "green" if degrees < 165 else "blue"
