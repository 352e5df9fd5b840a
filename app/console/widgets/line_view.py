"""Lines of any number as a scrolling widget that paints the visible rows: what stays where when lines change, when the
width changes, when text is selected.

It knows nothing of conversations; the lines are told to it in splices. Growing must not lay out, and a new width first
wraps what is in view (performance.md).
"""

import app.console.before_textual  # noqa: F401, I001  (sets what textual reads at import)

from rich.style import Style
from textual import events
from textual.geometry import Offset, Region, Size
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from app.console.theme import name_of
from app.console.views.transcript import Splice
from app.console.views.transcript_copy import copied
from app.console.views.transcript_lines import Line, Row, count_rows, guess_rows, rows_of
from app.console.views.transcript_rows import RowIndex
from app.console.widgets import strips  # noqa: F401  (what rows of text remember)
from app.console.widgets.transcript_paint import Painter
from coordinator.textsearch import Needle

_BELOW = 0.5
"""Seconds between two paintings of how much is below."""
_SLICE = 400
"""Lines that are wrapped in one go after a new width, at each side of what is in view."""


class LineView(ScrollView, can_focus=True):
    DEFAULT_CSS = """
    LineView {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    """

    unread: var[int] = var(0)
    """Lines that came below while the reader was further up."""
    following: var[bool] = var(True)
    """Whether the view stays at the end as lines are added."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._index = RowIndex()
        self._painter = Painter()
        self._row_width = 80
        self._placing = False
        self._exact = (0, 0)
        """The lines whose rows were counted for this width; those of the others are guessed until ``_settle``."""
        self._settling: Timer | None = None
        self._cursor: int | None = None
        self.show_cursor = False
        """Set while the keys go here: the line that Space folds is lit."""
        self._telling: Timer | None = None
        self._base: Style | None = None
        """The widget's own style, looked up once a frame: it costs more than a row."""
        self._needle: Needle | None = None
        self._found: int | None = None
        """The line of the match that the reader is at."""

    @property
    def lines(self) -> list[Line]:
        raise NotImplementedError

    @property
    def goes_on(self) -> bool:
        """Whether there is more below the last line: then its end is no end to follow."""
        return False

    # --------------------------------------------------------------------------------------------------- lines and rows

    def _splice(self, splice: Splice) -> None:
        width = self._row_width
        self._index.splice(splice.at, splice.removed, [count_rows(line, width) for line in splice.added])
        low, high = self._exact
        at, end, more = splice.at, splice.at + splice.removed, len(splice.added) - splice.removed
        if end <= low and at < low:
            self._exact = (low + more, high + more)
        elif at <= high:
            self._exact = (min(low, at), max(high, end) + more)

    def _apply(self, splices: list[Splice], *, by_itself: bool = False) -> None:
        """Carry out what changed; ``by_itself``: not for a key of the reader's."""
        if not splices:
            return
        index, y, height = self._index, self.scroll_offset.y, self.size.height
        selected = self._selected_lines()
        selected_row = 0 if selected is None else index.row_of(selected[0])
        anchor = index.locate(y) if y < index.total else None
        low_row = index.total
        for splice in splices:
            low_row = min(low_row, index.row_of(splice.at) if splice.at < len(index) else index.total)
            if not self.following and (anchor is None or splice.at > anchor[0]):
                self.unread = max(0, self.unread + len(splice.added) - splice.removed)
            if selected is not None:
                selected = _moved_range(selected, splice)
                if selected is None:  # the selected text itself changed
                    self._clear_selection()
            self._splice(splice)
            anchor = _moved(anchor, splice)
            self._cursor = self._moved_line(self._cursor, splice)
            self._found = self._moved_line(self._found, splice)
        self._settle_size(by_itself=by_itself)
        if self.following:
            target = self._end_row()
        elif anchor is None or anchor[0] >= len(index):
            target = y
        else:
            target = index.row_of(anchor[0]) + min(anchor[1], index.count(anchor[0]) - 1)
        if selected is not None:
            self._shift_selection(index.row_of(selected[0]) - selected_row)
        if self._place(target) or low_row < y:
            self.refresh()
        elif low_row < y + height:
            self.refresh(Region(0, low_row - y, self.size.width, height - (low_row - y)))

    def _settle_size(self, *, by_itself: bool = False) -> None:
        # As a reactive the virtual size lays the whole screen out again; only the scrollbar has to know.
        size = Size(self._row_width, self._index.total)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            if by_itself and not self.following:
                self._tell_soon()
            else:
                self._tell_size()

    def _tell_soon(self) -> None:
        """What grows below the reader moves nothing but the scrollbar and a number: painted now and then."""
        if self._telling is None and self.is_attached:
            self._telling = self.set_timer(_BELOW, self._tell_size)

    def _tell_size(self) -> None:
        if self._telling is not None:
            self._telling.stop()
            self._telling = None
        if self.is_attached:
            self.vertical_scrollbar.window_virtual_size = self.virtual_size.height
            self.told()

    def told(self) -> None:
        """How much there is, and how much came below, may be said anew."""

    def _end_row(self) -> int:
        return max(0, self._index.total - self.size.height)

    def _place(self, row: int) -> bool:
        """Put this row at the top; whether it was another before."""
        row = self._wrapped(max(0, min(row, self._end_row())))
        before = self.scroll_offset.y
        self._placing = True
        try:
            self.set_reactive(Widget.scroll_target_y, float(row))
            self.scroll_y = row
        finally:
            self._placing = False
        return before != row

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._placing:
            row = round(new_value)
            if (wrapped := self._wrapped(row)) != row:
                self._place(wrapped)
            self.following = self.scroll_offset.y >= self._end_row() and not self.goes_on
            if self.following:
                self.unread = 0
        self.looked()

    def looked(self) -> None:
        """The rows in view are others: what a kind of view does then."""

    # ------------------------------------------------------------------------------------------------------- new widths

    def on_resize(self, event: events.Resize) -> None:
        self.rewrap(self.scrollable_content_region.width or self._row_width)
        self.looked()

    def rewrap(self, width: int) -> None:
        """Lay all lines out for this width; the text at the top of the view stays there."""
        y = self.scroll_offset.y
        anchor = self._index.locate(y) if y < self._index.total else None
        if width != self._row_width:
            start = self._row_start(anchor)
            self._row_width = width
            lines = self.lines
            self._index.rebuild([guess_rows(line, width) for line in lines])
            at = len(lines) if self.following or anchor is None else anchor[0]
            self._exact = (at, at)
            self._widen(2 * self.size.height + 1)
            self._clear_selection()
            if anchor is not None:
                anchor = (anchor[0], self._row_with(anchor[0], start))
        self._settle_size()
        if self.following or anchor is None:
            self._place(self._end_row())
        else:
            self._place(self._index.row_of(anchor[0]) + anchor[1])
        self.refresh()
        self._settle_soon()

    def _widen(self, lines: int) -> None:
        """Count the rows of so many more lines, at each side of those that were counted."""
        low, high = self._exact
        width, every = self._row_width, self.lines
        first, last = max(0, low - lines), min(len(every), high + lines)
        for start, end in ((high, last), (first, low)):
            if start < end:
                self._index.splice(start, end - start, [count_rows(line, width) for line in every[start:end]])
        self._exact = (first, last)

    @property
    def settled(self) -> bool:
        return self._exact == (0, len(self.lines))

    def _settle_soon(self) -> None:
        if not self.settled and self._settling is None and self.is_attached:
            self._settling = self.set_timer(0.01, self._settle)

    def _settle(self) -> None:
        """A few more lines as they really are; what the reader looks at stays where it is."""
        self._settling = None
        y = self.scroll_offset.y
        anchor = self._index.locate(y) if y < self._index.total else None
        self._widen(_SLICE)
        self._settle_size()
        if self.following or anchor is None:
            self._place(self._end_row())
        else:
            self._place(self._index.row_of(anchor[0]) + anchor[1])
        self._settle_soon()

    def _wrapped(self, row: int) -> int:
        """The row that stands at this place once all that is in view from there is wrapped and not guessed."""
        if self.settled or row >= self._index.total:
            return row
        line, inside = self._index.locate(row)
        bottom = min(row + self.size.height, self._index.total - 1)
        low, high = self._exact
        if line >= low and self._index.locate(bottom)[0] < high:
            return row
        self._widen(len(self.lines))
        self._settle_size()
        return min(self._index.row_of(line) + min(inside, self._index.count(line) - 1), self._end_row())

    def _row_start(self, at: tuple[int, int] | None) -> int:
        """The character of the line with which its row begins: the same text stays at the top in any width."""
        if at is None or at[1] == 0:
            return 0
        rows = rows_of(self.lines[at[0]], self._row_width)
        return rows[min(at[1], len(rows) - 1)].start

    def _row_with(self, line: int, character: int) -> int:
        if character == 0:
            return 0
        rows = rows_of(self.lines[line], self._row_width)
        return max(number for number, row in enumerate(rows) if row.start <= character)

    # --------------------------------------------------------------------------------------------------------- painting

    def render_lines(self, crop: Region) -> list[Strip]:
        self._base = self.rich_style
        try:
            return super().render_lines(crop)
        finally:
            self._base = None

    def render_line(self, y: int) -> Strip:
        row_at = y + self.scroll_offset.y
        painter = self._painter
        base = self._base or self.rich_style
        painter.begin(self._row_width, name_of(self.app.theme), base, rows=self.size.height)
        if row_at >= self._index.total:
            return Strip.blank(self.size.width, base)
        number, row = self._index.locate(row_at)
        line = self.lines[number]
        selection = self.text_selection
        span = selection.get_span(row_at) if selection is not None else None
        if span is not None:
            over = self.screen.get_component_rich_style("screen--selection")
            strip = painter.lit(line, rows_of(line, self._row_width)[row], ((*span, over),))
        elif marks := self._marks(line, number, row):
            strip = painter.lit(line, rows_of(line, self._row_width)[row], marks)
        elif self._lit(number):
            over = Style(bgcolor=painter.style("cursor-fill", "").bgcolor)
            strip = painter.lit(line, rows_of(line, self._row_width)[row], ((0, -1, over),))
        else:
            strip = painter.strips(line)[row]
        return strip.apply_offsets(0, row_at)

    def _lit(self, number: int) -> bool:
        return self.show_cursor and number == self._cursor

    def _marks(self, line: Line, number: int, row: int) -> tuple[tuple[int, int, Style], ...]:
        """Where the row has the text that is looked for; told without colours too, by a line below or turned round."""
        needle = self._needle
        spans = needle.spans(line.text) if needle is not None else []
        if not spans:
            return ()
        shown: Row = rows_of(line, self._row_width)[row]
        over = self._painter.style("found-here" if number == self._found else "found", "")
        marks: list[tuple[int, int, Style]] = []
        if self._lit(number):
            marks.append((0, -1, Style(bgcolor=self._painter.style("cursor-fill", "").bgcolor)))
        for start, end in spans:
            low, high = max(start, shown.start), min(end, shown.end)
            if low < high:
                marks.append((low - shown.start + shown.before, high - shown.start + shown.before, over))
        return tuple(marks)

    # -------------------------------------------------------------------------------------------------------- selection

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        text = copied(self.lines, self._index, self._row_width, selection.start, selection.end)
        return (text, "\n") if text else None

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def _clear_selection(self) -> None:
        if self.is_attached and self.text_selection is not None:
            self.screen.selections = {w: s for w, s in self.screen.selections.items() if w is not self}

    def _selected_lines(self) -> tuple[int, int] | None:
        """First and last line of the selection, while it is one of both ends."""
        selection = self.text_selection if self.is_attached else None
        if selection is None or selection.start is None or selection.end is None or not self._index.total:
            return None
        last = self._index.total - 1
        return self._index.locate(min(selection.start.y, last))[0], self._index.locate(min(selection.end.y, last))[0]

    def _shift_selection(self, rows: int) -> None:
        selection = self.text_selection
        if rows and selection is not None and selection.start is not None and selection.end is not None:
            start, end = (Offset(at.x, at.y + rows) for at in (selection.start, selection.end))
            self.screen.selections = {**self.screen.selections, self: Selection(start, end)}

    def _moved_line(self, line: int | None, splice: Splice) -> int | None:
        moved = None if line is None else _moved((line, 0), splice)
        return None if moved is None else min(moved[0], max(0, len(self._index) - 1))


def _moved(at: tuple[int, int] | None, splice: Splice) -> tuple[int, int] | None:
    """Where a line is after a splice; inside of what was replaced it keeps its distance from the start of that."""
    if at is None or at[0] < splice.at:
        return at
    if at[0] >= splice.at + splice.removed:
        return at[0] + len(splice.added) - splice.removed, at[1]
    return (min(at[0], splice.at + max(0, len(splice.added) - 1)), at[1])


def _moved_range(lines: tuple[int, int], splice: Splice) -> tuple[int, int] | None:
    """Where these lines are after a splice; None where it touches them."""
    first, last = lines
    if splice.at > last:
        return lines
    if splice.at + splice.removed <= first:
        by = len(splice.added) - splice.removed
        return first + by, last + by
    return None
