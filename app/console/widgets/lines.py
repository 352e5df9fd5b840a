"""Paints rows of a view, cell by cell, as text and nothing else. The one way in which views reach the screen.

No markup is read here: spans become segments as they are. Rows that did not change are not painted again.
"""

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from app.console.theme import name_of, style_of
from app.console.views.ink import Line


@lru_cache(maxsize=512)
def ink_style(ink: str, theme: str) -> Style:
    return style_of(ink, theme)


class Lines(Widget):
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Lines { height: auto; width: 1fr; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None, grows: bool = True) -> None:
        super().__init__(id=id, classes=classes)
        self._rows: tuple[Line, ...] = ()
        self._grows = grows
        """Whether its height is that of its rows; else the style sheet says it."""

    @property
    def rows(self) -> tuple[Line, ...]:
        return self._rows

    def put(self, rows: tuple[Line, ...]) -> None:
        """Show these rows; paints only what differs, lays out only when the count of rows changed."""
        before, self._rows = self._rows, rows
        if before == rows:
            return
        if len(before) != len(rows):
            if self._grows:
                # Told outright: an automatic height is not measured again when rows change during a resize.
                self.styles.height = len(rows)
            self.refresh()
            return
        width = self.size.width
        changed = [Region(0, y, width, 1) for y, (old, new) in enumerate(zip(before, rows, strict=True)) if old != new]
        self.refresh(*changed)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._rows)

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        width = self.size.width
        if y >= len(self._rows):
            return Strip.blank(width, base)
        theme = name_of(self.app.theme)
        segments = [Segment(span.text, ink_style(span.ink, theme)) for span in self._rows[y]]
        strip = Strip(segments).crop(0, width).extend_cell_length(width)
        return strip.apply_style(base)


class WindowedLines(Lines):
    """Rows taller than the widget: a window on them that keeps one row in sight, and follows the wheel."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes, grows=False)
        self._all: tuple[Line, ...] = ()
        self._first = 0

    def put_window(self, rows: tuple[Line, ...], keep: int | None = None) -> None:
        self._all = rows
        height = max(self.size.height, 1)
        if keep is not None:
            if keep < self._first:
                self._first = max(keep - 1, 0)
            elif keep + 1 >= self._first + height:
                self._first = keep + 2 - height
        self._cut()

    @property
    def first(self) -> int:
        return self._first

    def scroll_rows(self, by: int) -> None:
        self._first += by
        self._cut()

    def _cut(self) -> None:
        height = max(self.size.height, 1)
        self._first = max(min(self._first, len(self._all) - height), 0)
        self.put(self._all[self._first : self._first + height])

    def on_resize(self, event: events.Resize) -> None:
        self._cut()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.scroll_rows(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.scroll_rows(-3)
