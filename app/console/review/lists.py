"""A list of any length, of which one row is lit: it draws the rows in view only, and says when its end is near."""

import app.console.before_textual  # noqa: F401, I001  (sets what textual reads at import)

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from textual import events
from textual.message import Message

from app.console.views.ink import Line, Span, cells, cut
from app.console.views.review_rows import lit
from app.console.widgets.lines import Lines

T = TypeVar("T")

NEAR = 100
"""Rows before the end at which more are asked for."""


class ListPane(Lines, Generic[T], can_focus=True):
    class Lit(Message):
        """Another row is lit."""

        def __init__(self, pane: "ListPane[T]") -> None:
            super().__init__()
            self.pane = pane

    class Near(Message):
        """The end of what is here is near."""

        def __init__(self, pane: "ListPane[T]") -> None:
            super().__init__()
            self.pane = pane

    class Taken(Message):
        """The lit row was clicked."""

        def __init__(self, pane: "ListPane[T]") -> None:
            super().__init__()
            self.pane = pane

    def __init__(
        self,
        draw: Callable[[T, int], Line],
        head: Callable[[int], Line] | None = None,
        *,
        id: str,
        stops_at: Callable[[T], bool] = lambda row: True,
    ) -> None:
        super().__init__(id=id, grows=False)
        self._draw = draw
        self._head = head
        self._stops_at = stops_at
        """Whether a row can be lit."""
        self.items: list[T] = []
        self.at = 0
        self._first = 0
        self._in_sight = True
        """Whether the lit row was in view when it was painted last."""
        self.empty = ""
        """Said where there is none."""

    # ------------------------------------------------------------------------------------------------------------- rows

    def show(self, rows: Iterable[T], *, at: int = 0) -> None:
        self.items = list(rows)
        self.at, self._first = 0, 0
        self._light(at, 1)
        if not at:
            # What stands before the first row that can be lit is read first.
            self._first = 0
        self._in_sight = self._sees(self.at)
        self.paint()

    def lay_again(self, rows: Iterable[T]) -> None:
        """The same rows, wrapped for another width. What was read stays in view: the lit row only where it was."""
        lit_before = sum(self._stops_at(row) for row in self.items[: self.at])
        self.items = list(rows)
        stops = [at for at, row in enumerate(self.items) if self._stops_at(row)]
        self.at = stops[min(lit_before, len(stops) - 1)] if stops else 0
        if self._in_sight:
            self._bring(self.at)
        self.paint()

    def extend(self, rows: Iterable[T]) -> None:
        self.items.extend(rows)
        self.paint()

    @property
    def chosen(self) -> T | None:
        return self.items[self.at] if 0 <= self.at < len(self.items) else None

    # ------------------------------------------------------------------------------------------------------------ moves

    def move(self, by: int) -> None:
        """To another row. Where the lit one is out of sight the view goes on, and lights what can be lit in it."""
        if self._sees(self.at):
            self._light(self.at + by, 1 if by > 0 else -1)
            return
        self._first = max(min(self._first + by, len(self.items) - self.tall), 0)
        view = [
            at
            for at in range(self._first, min(self._first + self.tall, len(self.items)))
            if self._stops_at(self.items[at])
        ]
        if view and not self._sees(self.at):
            self._light(view[0 if by > 0 else -1], 1)
        self.paint()

    def _sees(self, at: int) -> bool:
        return self._first <= at < self._first + self.tall

    def to(self, at: int) -> None:
        self._light(at, 1)

    def to_end(self) -> None:
        self._light(len(self.items) - 1, -1)

    @property
    def tall(self) -> int:
        """Rows that are shown at once."""
        return max(self.size.height - (1 if self._head is not None else 0), 1)

    def _light(self, at: int, way: int) -> None:
        """Light this row, or the next one that can be; where there is none that way, the row that was lit stays."""
        last = len(self.items) - 1
        at = max(min(at, last), 0)
        found = at
        while 0 <= found <= last and not self._stops_at(self.items[found]):
            found += way
        if not 0 <= found <= last:
            # What cannot be lit can still be read: the view goes there all the same.
            self._bring(at)
            self.paint()
            return
        before, self.at = self.at, found
        self._bring(at)
        if abs(found - at) < self.tall:
            self._bring(found)  # else what lies between is read first
        self.paint()
        if before != found:
            self.post_message(self.Lit(self))
        if found + NEAR >= len(self.items):
            self.post_message(self.Near(self))

    def _bring(self, at: int) -> None:
        tall = self.tall
        if at < self._first:
            self._first = at
        elif at >= self._first + tall:
            self._first = at - tall + 1

    # ---------------------------------------------------------------------------------------------------------- drawing

    def paint(self) -> None:
        width, tall = self.size.width, self.tall
        if not width:
            return
        self._first = max(min(self._first, len(self.items) - tall), 0)
        self._in_sight = self._sees(self.at)
        marks = self._marks(tall)
        width -= bool(marks)
        rows: list[Line] = [self._head(width)] if self._head is not None else []
        ground = "on-sel" if self.has_focus else "on-card"
        for number in range(self._first, min(self._first + tall, len(self.items))):
            item = self.items[number]
            here = number == self.at and self._stops_at(item)
            row = lit(self._draw(item, width), width, ground if here else "")
            if marks:
                row = (*row, Span(" " * (width - cells(row))), marks[number - self._first])
            rows.append(row)
        if not self.items and self.empty:
            rows.append((Span(cut(f"  {self.empty}", width), "grey"),))
        self.put(tuple(rows))

    def _marks(self, tall: int) -> list[Span]:
        """The last column, where there is more than fits: how far down this is, as a scroll bar shows it."""
        count = len(self.items)
        if count <= tall:
            return []
        size = max(tall * tall // count, 1)
        start = (tall - size) * self._first // (count - tall)
        return [Span(" ", "faint reverse" if start <= row < start + size else "text") for row in range(tall)]

    def on_focus(self) -> None:
        self.paint()

    def on_blur(self) -> None:
        self.paint()

    def on_resize(self, event: events.Resize) -> None:
        if self._in_sight:
            self._bring(self.at)
        self.paint()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(-3)

    def _wheel(self, by: int) -> None:
        self._first = max(min(self._first + by, len(self.items) - self.tall), 0)
        self.paint()
        if self._first + self.tall + NEAR >= len(self.items):
            self.post_message(self.Near(self))

    def on_click(self, event: events.Click) -> None:
        at = self._first + event.y - (1 if self._head is not None else 0)
        if not 0 <= at < len(self.items) or not self._stops_at(self.items[at]):
            return
        again = at == self.at
        self._light(at, 1)
        if again:
            self.post_message(self.Taken(self))
