"""The conversation on the screen: one scrolling widget that paints the visible rows of the model's lines, whatever
their number.

It shows and asks: which lines there are is ``views/transcript.py``, how they look is ``transcript_paint.py``. It
never reads the ledger and never waits; older events are asked for with ``NeedOlder``. Growing must not lay out
(performance.md).
"""

import app.console.before_textual  # noqa: F401, I001  (sets what textual reads at import)

from dataclasses import dataclass

from rich.style import Style
from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from app.console.views.glyphs import UNICODE, Glyphs
from app.console.views.transcript import Splice, TranscriptModel
from app.console.views.transcript_copy import copied
from app.console.views.transcript_lines import count_rows, rows_of
from app.console.views.transcript_rows import RowIndex
from app.console.widgets.transcript_paint import Painter
from coordinator.api import FeedEvent, SessionView, TranscriptPage
from store.vocab import RunId

FLUSH = 0.05
"""Events are drawn together, at most twenty times a second."""
_HARD_LIMIT = 40_000
"""Lines at which the oldest go though the reader is up there: memory is bounded whatever happens."""


class Transcript(ScrollView, can_focus=True):
    DEFAULT_CSS = """
    Transcript {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    """

    unread: var[int] = var(0)
    """Lines that came below while the reader was further up."""
    following: var[bool] = var(True)
    """Whether the view stays at the end as the conversation grows."""

    @dataclass
    class NeedOlder(Message):
        """The reader comes near the first line and the ledger has more: answer with ``prepend`` or ``older_failed``."""

        run: RunId
        before: int | None

    def __init__(self, *, glyphs: Glyphs = UNICODE, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.model = TranscriptModel(glyphs)
        self._index = RowIndex()
        self._painter = Painter()
        self._row_width = 80
        self._flush_timer: Timer | None = None
        self._placing = False
        self._asked_older = False
        self._cursor: int | None = None
        self.show_cursor = False
        """Set while the keys go to the transcript: the line that Space folds is lit."""

    # ------------------------------------------------------------------------------------------------------- coming in

    def show(self, session: SessionView, page: TranscriptPage | None) -> None:
        """Bind to a session. The same one again, its page read anew, keeps the place of a reader who is further up."""
        same = self.model.run == session.run
        from_end = self._index.total - self.scroll_offset.y
        splices = self.model.show(session, page)
        self._index.rebuild([])
        self._asked_older = False
        self._clear_selection()
        if not (same and not self.following):
            self._cursor = None
            self.following, self.unread = True, 0
        for splice in splices:
            self._splice(splice)
        self._settle_size()
        self._place(self._end_row() if self.following else self._index.total - from_end)
        self.refresh()
        self._look_for_older()

    def feed(self, events: tuple[FeedEvent, ...]) -> None:
        self.model.feed(events)
        self._flush_soon()

    def update_session(self, session: SessionView) -> None:
        if session.run != self.model.run:
            return
        self.model.update(session)
        self._flush_soon()

    def prepend(self, page: TranscriptPage) -> None:
        """Older events arrived; what the reader looks at stays where it is."""
        self._asked_older = False
        splices, _ = self.model.prepend(page)
        self._apply(splices)
        self._look_for_older()

    def older_failed(self) -> None:
        """The page could not be read; the next scroll up asks again."""
        self._asked_older = False

    def _flush_soon(self) -> None:
        if self._flush_timer is None and self.model.dirty:
            self._flush_timer = self.set_timer(FLUSH, self.flush)

    def flush(self) -> None:
        """Draw what came since the last time, now."""
        self._flush_timer = None
        splices = self.model.flush()
        if (self.following and self.text_selection is None) or len(self.model.lines) > _HARD_LIMIT:
            splices += self.model.trim()
        self._apply(splices)

    # --------------------------------------------------------------------------------------------------- lines and rows

    def _splice(self, splice: Splice) -> None:
        width = self._row_width
        self._index.splice(splice.at, splice.removed, [count_rows(line, width) for line in splice.added])

    def _apply(self, splices: list[Splice]) -> None:
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
            if self._cursor is not None:
                moved = _moved((self._cursor, 0), splice)
                self._cursor = None if moved is None else min(moved[0], max(0, len(index) - 1))
        self._settle_size()
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

    def _settle_size(self) -> None:
        # As a reactive the virtual size lays the whole screen out again; only the scrollbar has to know.
        size = Size(self._row_width, self._index.total)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            if self.is_attached:
                self.vertical_scrollbar.window_virtual_size = size.height

    def _end_row(self) -> int:
        return max(0, self._index.total - self.size.height)

    def _place(self, row: int) -> bool:
        """Put this row at the top; whether it was another before."""
        row = max(0, min(row, self._end_row()))
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
            self.following = round(new_value) >= self._end_row()
            if self.following:
                self.unread = 0
        self._look_for_older()

    def _look_for_older(self) -> None:
        if self._asked_older or not self.model.more_before or self.model.run is None or not self.size.height:
            return
        if self.scroll_offset.y < 2 * self.size.height:
            self._asked_older = True
            self.post_message(self.NeedOlder(self.model.run, self.model.before))

    def on_resize(self, event: events.Resize) -> None:
        self.rewrap(self.scrollable_content_region.width or self._row_width)
        self._look_for_older()

    def rewrap(self, width: int) -> None:
        """Lay all lines out for this width; the text at the top of the view stays there."""
        y = self.scroll_offset.y
        anchor = self._index.locate(y) if y < self._index.total else None
        if width != self._row_width:
            start = self._row_start(anchor)
            self._row_width = width
            self._index.rebuild([count_rows(line, width) for line in self.model.lines])
            self._clear_selection()
            if anchor is not None:
                anchor = (anchor[0], self._row_with(anchor[0], start))
        self._settle_size()
        if self.following or anchor is None:
            self._place(self._end_row())
        else:
            self._place(self._index.row_of(anchor[0]) + anchor[1])
        self.refresh()

    def _row_start(self, at: tuple[int, int] | None) -> int:
        """The character of the line with which its row begins: the same text stays at the top in any width."""
        if at is None or at[1] == 0:
            return 0
        rows = rows_of(self.model.lines[at[0]], self._row_width)
        return rows[min(at[1], len(rows) - 1)].start

    def _row_with(self, line: int, character: int) -> int:
        if character == 0:
            return 0
        rows = rows_of(self.model.lines[line], self._row_width)
        return max(number for number, row in enumerate(rows) if row.start <= character)

    # --------------------------------------------------------------------------------------------------------- painting

    def render_line(self, y: int) -> Strip:
        row_at = y + self.scroll_offset.y
        painter = self._painter
        theme = "light" if self.app.theme.endswith("light") else "dark"
        painter.begin(self._row_width, theme, self.rich_style)
        if row_at >= self._index.total:
            return Strip.blank(self.size.width, self.rich_style)
        number, row = self._index.locate(row_at)
        line = self.model.lines[number]
        selection = self.text_selection
        span = selection.get_span(row_at) if selection is not None else None
        if span is not None:
            over = self.screen.get_component_rich_style("screen--selection")
            strip = painter.lit(line, rows_of(line, self._row_width)[row], over, *span)
        elif self.show_cursor and number == self._cursor:
            over = Style(bgcolor=painter.style("cursor-fill", "").bgcolor)
            strip = painter.lit(line, rows_of(line, self._row_width)[row], over)
        else:
            strip = painter.strips(line)[row]
        return strip.apply_offsets(0, row_at)

    # -------------------------------------------------------------------------------------------------------- selection

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        text = copied(self.model.lines, self._index, self._row_width, selection.start, selection.end)
        return (text, "\n") if text else None

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def text_of_selection(self) -> str:
        """What is selected, as it was written: without our wraps, bars and indents. '' for nothing."""
        selection = self.text_selection
        found = self.get_selection(selection) if selection is not None else None
        return found[0] if found else ""

    def text_of_block(self) -> str:
        """The whole block under the cursor (else the first one in view), as it was written."""
        return self.model.block_text(self._current_line())

    def text_of_message(self) -> str:
        """All that the agent wrote in the turn in view, as it was written."""
        return self.model.message_at(self._current_line())

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

    # ------------------------------------------------------------------------------------------------------------- keys

    def _current_line(self) -> int:
        """The line under the cursor; without one the first in view."""
        if self._cursor is not None and self.show_cursor:
            return self._cursor
        y = self.scroll_offset.y
        return self._index.locate(y)[0] if y < self._index.total else max(0, len(self.model.lines) - 1)

    def toggle_fold(self) -> bool:
        """Open or fold the block under the cursor, else the first in view that can be; False where there is none."""
        line = self._current_line()
        lines = self.model.lines
        if not (self.show_cursor and self._cursor is not None):
            last = self._last_visible()
            line = next((n for n in range(line, last + 1) if lines[n].target), line)
        return self._toggle(line)

    def _toggle(self, line: int) -> bool:
        if not self.model.toggle(line):
            return False
        target = self.model.lines[line].target
        row = self._index.row_of(line) - self.scroll_offset.y
        self.following = self.following and self._index.total <= self.size.height
        self._apply(self.model.flush())
        # Folding on a line inside goes to the line that stays.
        first = self.model.first_line(target)
        if first is not None:
            if self._cursor is not None:
                self._cursor = first
            shown = self._index.row_of(first) - self.scroll_offset.y
            if not 0 <= shown < self.size.height:
                self._place(self._index.row_of(first) - max(0, min(row, self.size.height - 1)))
        self.following = self.scroll_offset.y >= self._end_row()
        self.refresh()
        return True

    def move_cursor(self, by: int) -> None:
        """Line by line, the view going along."""
        if not self.model.lines:
            return
        self.show_cursor = True
        if self._cursor is None:
            self._cursor = self._last_visible() if self.following else self._current_line()
        else:
            self._cursor = max(0, min(self._cursor + by, len(self.model.lines) - 1))
        top = self._index.row_of(self._cursor)
        bottom = top + self._index.count(self._cursor)
        y, height = self.scroll_offset.y, self.size.height
        if top < y:
            self.go_to(top)
        elif bottom > y + height:
            self.go_to(bottom - height)
        self.refresh()

    def _last_visible(self) -> int:
        row = min(self.scroll_offset.y + self.size.height, self._index.total) - 1
        return self._index.locate(row)[0] if row >= 0 else 0

    def go_to(self, row: int) -> None:
        self._place(row)
        self.following = self.scroll_offset.y >= self._end_row()
        if self.following:
            self.unread = 0

    def action_scroll_home(self) -> None:
        self._cursor = 0 if self._cursor is not None and self.model.lines else None
        self.go_to(0)

    def action_scroll_end(self) -> None:
        self._cursor = len(self.model.lines) - 1 if self._cursor is not None and self.model.lines else None
        self.go_to(self._end_row())

    def action_page_up(self) -> None:
        self._page(-1)

    def action_page_down(self) -> None:
        self._page(1)

    def _page(self, way: int) -> None:
        self.go_to(self.scroll_offset.y + way * max(1, self.size.height - 2))
        if self._cursor is not None:
            self._cursor = self._last_visible() if way > 0 else self._index.locate(self.scroll_offset.y)[0]

    def action_scroll_up(self) -> None:
        self.go_to(self.scroll_offset.y - 1)

    def action_scroll_down(self) -> None:
        self.go_to(self.scroll_offset.y + 1)

    def next_turn(self) -> None:
        """The next turn's header to the top; after the last one the end."""
        line = self._turn_anchor()
        following = [at for at in self.model.turn_lines() if at > line]
        self._to_turn(following[0] if following else None)

    def previous_turn(self) -> None:
        line = self._turn_anchor()
        before = [at for at in self.model.turn_lines() if at < line]
        self._to_turn(before[-1] if before else 0)

    def _turn_anchor(self) -> int:
        if self._cursor is not None and self.show_cursor:
            return self._cursor
        y = self.scroll_offset.y
        return self._index.locate(y)[0] if y < self._index.total else 0

    def _to_turn(self, line: int | None) -> None:
        if line is None:
            self.action_scroll_end()
            return
        if self._cursor is not None:
            self._cursor = line
        self.go_to(self._index.row_of(line))

    def on_focus(self) -> None:
        self.show_cursor = self._cursor is not None
        self.refresh()

    def on_blur(self) -> None:
        """The lit line means that keys go here."""
        self.show_cursor = False
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        row = event.y + self.scroll_offset.y
        if self.text_selection is not None or row >= self._index.total:
            return
        line = self._index.locate(row)[0]
        if self.model.lines[line].fold:
            self._toggle(line)


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
