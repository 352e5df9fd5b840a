"""The conversation on the screen: the model's lines in a ``LineView``, and what of the run is in them.

It shows and asks: which lines there are is ``views/transcript.py``, how they look is ``transcript_paint.py``. It
never reads the ledger and never waits: whatever of the run it lacks is asked for with ``NeedPage``.
"""

import app.console.before_textual  # noqa: F401, I001  (sets what textual reads at import)

from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.timer import Timer

from app.console.views.glyphs import UNICODE, Glyphs
from app.console.views.transcript import Place, TranscriptModel
from app.console.views.transcript_blocks import Block
from app.console.views.transcript_lines import Line
from app.console.widgets.line_view import LineView
from coordinator.api import FeedEvent, ReadTranscript, SessionView, TranscriptPage
from coordinator.textsearch import Needle

FLUSH = 0.05
"""Events are drawn together, at most twenty times a second."""
_HARD_LIMIT = 40_000
"""Lines at which the oldest go though the reader is up there: memory is bounded whatever happens."""
_BEGINNING = Place(key=(-1, 0))


class Transcript(LineView, can_focus=True):
    @dataclass
    class NeedPage(Message):
        """A part of the run that is not here is to be seen: answer with ``take_page`` or ``page_failed``."""

        asked: ReadTranscript

    @dataclass
    class Looked(Message):
        """How much came below the reader."""

        unread: int

    def __init__(self, *, glyphs: Glyphs = UNICODE, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.model = TranscriptModel(glyphs)
        self._flush_timer: Timer | None = None
        self._asked: ReadTranscript | None = None
        """The page that is being read."""
        self._wanted: Place | None = None
        """What goes to the top when the page round it comes, and how many rows below the top it belongs."""
        self._wanted_rows = 0
        self._session: SessionView

    @property
    def lines(self) -> list[Line]:
        return self.model.lines

    @property
    def goes_on(self) -> bool:
        return self.model.more_after

    # ------------------------------------------------------------------------------------------------------- coming in

    def show(self, session: SessionView, page: TranscriptPage | None) -> None:
        """Bind to a session. The same one again, its page read anew, keeps the place of a reader who is further up."""
        same = self.model.run == session.run
        from_end = self._index.total - self.scroll_offset.y
        self._rebuilt(session, page)
        if not (same and not self.following):
            self._cursor = None
            self.following, self.unread = True, 0
        self._place(self._end_row() if self.following else self._index.total - from_end)
        self.refresh()
        self.looked()

    def _rebuilt(self, session: SessionView, page: TranscriptPage | None) -> None:
        splices = self.model.show(session, page)
        self._index.rebuild([])
        self._exact = (0, 0)
        self._asked, self._found = None, None
        self._session = session
        self._clear_selection()
        for splice in splices:
            self._splice(splice)
        self._settle_size()

    def feed(self, events: tuple[FeedEvent, ...]) -> None:
        if self.model.more_after:
            # Its place is below all that is here.
            self.unread += sum(event.key is not None for event in events)
            self._tell_soon()
            return
        self.model.feed(events)
        self._flush_soon()

    def update_session(self, session: SessionView) -> None:
        if session.run != self.model.run:
            return
        self._session = session
        self.model.update(session)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if self._flush_timer is None and self.model.dirty:
            self._flush_timer = self.set_timer(FLUSH, self.flush)

    def flush(self) -> None:
        """Draw what came since the last time, now."""
        self._flush_timer = None
        splices = self.model.flush()
        if (self.following and self.text_selection is None) or len(self.model.lines) > _HARD_LIMIT:
            splices += self.model.trim()
        self._apply(splices, by_itself=True)

    def watch_unread(self, before: int, now: int) -> None:
        if not before or not now:
            self.told()

    def told(self) -> None:
        self._say(self.Looked(self.unread))

    # ------------------------------------------------------------------------------------------------- pages of the run

    def looked(self) -> None:
        model, y, height = self.model, self.scroll_offset.y, self.size.height
        if self._asked is not None or model.run is None or not height:
            return
        if model.more_before and y < 2 * height:
            if model.too_long and (place := model.place_at(self._top_line())) is not None:
                self.go_to_place(place, rows=y - self._index.row_of(self._top_line()), fresh=True)
            else:
                self._ask(ReadTranscript(run=model.run, before=model.before))
        elif model.more_after and y > self._end_row() - 2 * height:
            self._ask(ReadTranscript(run=model.run, after=model.after))

    def _ask(self, asked: ReadTranscript) -> None:
        self._asked = asked
        self._say(self.NeedPage(asked))

    def _say(self, message: Message) -> None:
        """As coming from here, also when the screen's own handler of a key led to it: a message that seems to come from
        a parent goes no further up than that parent."""
        self.post_message(message.set_sender(self))

    def waits_for(self, asked: ReadTranscript) -> bool:
        return asked is self._asked

    def take_page(self, asked: ReadTranscript, page: TranscriptPage) -> None:
        """What was asked for. What the reader looks at stays where it is, but for a page that was to be gone to."""
        if not self.waits_for(asked):
            return
        self._asked = None
        if asked.around is not None or asked.turn is not None:
            self._rebuilt(self._session, page)
            self.following = False
            if asked.turn is not None:
                self._to_turn(self.model.line_of_turn(asked.turn))
            else:
                self._arrive()
        elif asked.after is not None:
            unread = self.unread
            self._apply(self.model.append(page))
            if self.scroll_offset.y > 4 * self.size.height:
                self._apply(self.model.trim())
            self.unread = unread  # what was read again is not new
        elif asked.before is not None or self.model.before is None:
            splices, _ = self.model.prepend(page)
            self._apply(splices)
        else:
            self.following = True
            self.show(self._session, page)
        self.looked()

    def page_failed(self, asked: ReadTranscript) -> None:
        """The page could not be read; the next move asks again."""
        if self.waits_for(asked):
            self._asked = None

    def place(self) -> Place | None:
        """Where the reader is; None: at the end."""
        return None if self.following else self.model.place_at(self._top_line())

    def go_to_place(self, place: Place | None, *, rows: int = 0, fresh: bool = False) -> bool:
        """Bring a place of the run to the top of the view, or so many rows above it; False while its page is read.

        None is the end. ``fresh``: read the page round it, though it is here.
        """
        if place is None:
            self._cursor = None
            self._to_end()
            return not self.model.more_after
        run = self.model.run
        if run is not None and (fresh or not self._has(place)):
            self._wanted, self._wanted_rows = place, rows
            self._ask(ReadTranscript(run=run, around=place.key))
            return False
        self._wanted, self._wanted_rows = place, rows
        self._arrive()
        return True

    def point_at(self, place: Place) -> bool:
        """As ``go_to_place``, with a few rows above it and the cursor on it: what was jumped to is lit."""
        self._cursor = self._cursor or 0
        self.show_cursor = self.show_cursor or self.has_focus
        return self.go_to_place(place, rows=-3)

    def _has(self, place: Place) -> bool:
        first, last, model = self.model.before, self.model.after, self.model
        if first is None or last is None:
            return not (model.more_before or model.more_after)
        return (place.key >= first or not model.more_before) and (place.key <= last or not model.more_after)

    def _arrive(self) -> None:
        place, self._wanted = self._wanted, None
        line = self.model.line_of(place) if place is not None else None
        if line is not None:
            if self._cursor is not None:
                self._cursor = line
            self.go_to(self._index.row_of(line) + self._wanted_rows)
        self.refresh()

    def _top_line(self) -> int:
        y = self.scroll_offset.y
        return self._index.locate(y)[0] if y < self._index.total else max(0, len(self.model.lines) - 1)

    # ----------------------------------------------------------------------------------------------------------- search

    def mark(self, needle: Needle | None) -> None:
        """Light up a text wherever it stands."""
        self._needle, self._found = needle, None
        self.refresh()

    def found_lines(self, needle: Needle) -> list[int]:
        return [number for number, line in enumerate(self.model.lines) if needle.spans(line.text)]

    def reveal(self, place: Place, needle: Needle) -> list[int]:
        """Open what hides an event that is here; the lines of it that have the text."""
        self.model.reveal(place)
        self._apply(self.model.flush())
        return self.model.lines_with(place, needle)

    def go_to_line(self, line: int, *, found: bool = False) -> None:
        """Bring a line into view, a third from the top where it was not."""
        row, y, height = self._index.row_of(line), self.scroll_offset.y, self.size.height
        if found:
            self._found = self._cursor = line
        if not y <= row < y + height:
            self.following = False
            self.go_to(row - height // 3)
        self.refresh()

    @property
    def found_line(self) -> int | None:
        """The line of the match that the reader is at; None once the lines changed so that it is none any more."""
        at, lines = self._found, self.model.lines
        if at is None or self._needle is None or at >= len(lines):
            return None
        return at if self._needle.spans(lines[at].text) else None

    def bring(self, place: Place) -> bool:
        """Have a place of the run among the lines; False while its page is read."""
        run = self.model.run
        if run is None or self._has(place):
            return True
        self._wanted, self._wanted_rows = place, 0
        self._ask(ReadTranscript(run=run, around=place.key))
        return False

    def bottom_line(self) -> int:
        return self._last_visible()

    # ----------------------------------------------------------------------------------------------------- what is here

    def block_here(self) -> Block | None:
        """The block under the cursor, else the first one in view."""
        return self.model.innermost(self.current_line())

    def line_here(self) -> Line | None:
        line = self.current_line()
        return self.model.lines[line] if line < len(self.model.lines) else None

    def text_of_block(self) -> str:
        """The whole block under the cursor (else the first one in view), as it was written."""
        return self.model.block_text(self.current_line())

    def text_of_message(self) -> str:
        """All that the agent wrote in the turn in view, as it was written."""
        return self.model.message_at(self.current_line())

    # ------------------------------------------------------------------------------------------------------------- keys

    def current_line(self) -> int:
        """The line under the cursor; without one the first in view."""
        if self._cursor is not None and self.show_cursor:
            return self._cursor
        y = self.scroll_offset.y
        return self._index.locate(y)[0] if y < self._index.total else max(0, len(self.model.lines) - 1)

    def toggle_fold(self) -> bool:
        """Open or fold the block under the cursor, else the first in view that can be; False where there is none."""
        line = self.current_line()
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
            self._cursor = self._last_visible() if self.following else self.current_line()
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
        self.following = self.scroll_offset.y >= self._end_row() and not self.goes_on
        if self.following:
            self.unread = 0

    def action_scroll_home(self) -> None:
        """To the first line of the run."""
        self._cursor = 0 if self._cursor is not None and self.model.lines else None
        if self.model.more_before:
            self.go_to_place(_BEGINNING)
        else:
            self.go_to(0)

    def action_scroll_end(self) -> None:
        self._cursor = len(self.model.lines) - 1 if self._cursor is not None and self.model.lines else None
        self._to_end()

    def _to_end(self) -> None:
        if self.model.more_after and self.model.run is not None:
            self._ask(ReadTranscript(run=self.model.run))
        else:
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
        other = None if following or not self.goes_on else self.model.turn_beside(line, 1)
        if other is not None and self.model.run is not None:
            self._ask(ReadTranscript(run=self.model.run, turn=other))
        else:
            self._to_turn(following[0] if following else None)

    def previous_turn(self) -> None:
        """The header of the turn in view to the top, or of the one before."""
        line, headers = self._turn_anchor(), self.model.turn_lines()
        before = [at for at in headers if at < line]
        # The first header here stands for all of its turn that is before the first line.
        cut = self.model.more_before and len(before) < 2
        wanted = before[-1] if before else line
        other = self.model.turn_beside(wanted, 0 if before or not headers else -1) if cut else None
        if other is not None and self.model.run is not None:
            self._ask(ReadTranscript(run=self.model.run, turn=other))
        else:
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
