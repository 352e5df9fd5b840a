"""The review: every run of a ledger in a table, what was said in all of them, what they cost; and one run below it.

It opens a ledger read-only and keeps no part of the live console. Whatever takes time is read on the source's own
thread, and asked for anew when a key says something else meanwhile: no key waits for the ledger.
"""

import app.console.before_textual  # noqa: F401, I001  (sets what textual reads at import)

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from textual.app import ComposeResult

from app.console.workers import begin
from app.console.keys import Key
from app.console.review import exporting
from app.console.review.jumps import Jumps
from app.console.review.line import ReviewLine
from app.console.review.listing import Listing
from app.console.review.lists import ListPane
from app.console.review.pane import PARTS, RunPane
from app.console.review.pressing import Presses
from app.console.review.replay import Replay
from app.console.screens.sheet import Sheet
from app.console.searching import Searching
from app.console.views.glyphs import Glyphs
from app.console.views.ink import Line, Span, cut, one_line, sides, wrap
from app.console.views.review_rows import review_hints
from app.console.widgets.lines import Lines
from app.console.widgets.searchline import SearchLine
from app.console.widgets.transcript import Transcript
from app.wording import noun, plural, sentence, short_path
from app.wording_review import ledger_day
from coordinator.api import ReadTranscript, SearchTranscript, TranscriptPage
from coordinator.review import filters, reading
from coordinator.review.source import ReviewSource
from coordinator.review.types import RunPage, SearchHit, Sizes, SpendBy, SpendRow
from store.faults import LedgerFault
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import Millis, RunId

T = TypeVar("T")

TYPING: Final = 0.12
"""Seconds without a key after which what was typed is looked for."""
LIGHTING: Final = 0.04
"""Seconds that a run must be lit before it is read: who holds a key down passes by many."""


class Review(Sheet[None]):
    DEFAULT_CSS = """
    Review { background: $fp-base; align: left top; layout: vertical; overflow: hidden; }
    Review > .sheet-head { height: 1; margin: 0; background: $fp-side; }
    Review > .sheet-foot { height: 1; margin: 0; padding: 0 1; }
    Review #review-line { height: 1; }
    Review #review-problem { padding: 0 1; }
    Review #review-list { height: 2fr; }
    Review #review-runs, Review #review-hits, Review #review-spend { height: 1fr; }
    Review #review-run { height: 3fr; }
    Review #review-run-title { height: 1; background: $fp-side; }
    Review #review-turns, Review #review-facts, Review #review-money { height: 1fr; }
    Review #review-conversation { height: 1fr; padding: 0 1; background: $fp-base; }
    Review #review-end { padding: 0 1; background: $fp-base; }
    Review #search { height: 1; padding: 0 1; display: none; }
    Review #review-hints { height: 1; background: $fp-side; }
    Review.-sums #review-run { display: none; }
    Review.-alone #review-run { display: block; }
    Review.-alone #review-line, Review.-alone #review-problem, Review.-alone #review-list { display: none; }
    """

    def __init__(
        self,
        path: Path,
        table: tuple[Key, ...],
        glyphs: Glyphs,
        *,
        home: str,
        now: Callable[[], Millis],
        monotonic: Callable[[], float],
        leave: Callable[[], None],
    ) -> None:
        super().__init__("footplate review", "")
        self.path = path
        self.clock = now
        self.table = table
        self._home = home
        self.leave = leave
        self._source: ReviewSource | None = None
        self._opened = asyncio.Event()
        self._sizes: Sizes | None = None
        self._said = Span("")
        self._wrong = ""
        """Why the filter that stands there is none."""
        self.foot_lines = Lines(classes="sheet-foot", grows=False)
        self.head_lines = Lines(classes="sheet-head", grows=False)
        self.line = ReviewLine()
        self.problem = Lines(id="review-problem")
        self.list = Listing(self.ask, glyphs, now)
        self.pane = RunPane(glyphs, home, now)
        self.pane.on_need = self._need
        self.hints = Lines(id="review-hints", grows=False)
        self.replay = Replay(self.pane, self.ask, self.paint_status, monotonic)
        self.jumps = Jumps(self)
        self.looking = Searching(self)
        self.presses = Presses(self)
        self._wanted: RunId | None = None
        self.on_refused: Callable[[Refusal], None] = lambda refusal: None
        """The ledger could not be opened."""

    def compose(self) -> ComposeResult:
        yield self.head_lines
        yield self.line
        yield self.problem
        yield self.list
        yield self.pane
        yield self.foot_lines
        yield self.hints

    def prepare(self) -> None:
        self.list.here.focus()
        self.pane.clear("opening the ledger …")
        self.paint()
        begin(self, self._open, group="open")

    async def on_unmount(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            await source.close()

    # ------------------------------------------------------------------------------------------------------- the ledger

    async def _open(self) -> None:
        found = await ReviewSource.open(self.path, now=self.clock)
        self._opened.set()
        if isinstance(found, Refusal):
            self.pane.clear("nothing is shown")
            self.say(sentence(found))
            self.on_refused(found)
            return
        self._source = found
        if found.salvaged is not None:
            self.say("this ledger is damaged: what can still be read of it is shown, footplate verify says more")
        self.list.reload()
        self._sizes = await self.ask(reading.sizes)
        self.paint()

    async def ask(self, fn: Callable[[Tx], T], /) -> T | None:
        """Read the ledger; None: it could not be read, and that was said."""
        await self._opened.wait()
        source = self._source
        if source is None:
            return None
        try:
            return await source.ask(fn)
        except LedgerFault as fault:
            self.say(sentence(fault.refusal))
            return None

    # ---------------------------------------------------------------------------------------------------------- one run

    def on_listing_lit(self, message: Listing.Lit) -> None:
        message.stop()
        self.show_run(self.list.run, after=LIGHTING)

    def show_run(self, run: RunId | None, *, after: float = 0.0, hit: SearchHit | None = None) -> None:
        """Have this run below, or alone; ``hit``: at this place of its conversation."""
        if run is not None and run == self.pane.run == self._wanted and hit is None:
            return
        self._wanted = run
        if run is None:
            self.end_replay()
            self.pane.clear("choose a run" if self.list.here.items else "")
            return
        begin(self, partial(self._read_run, run, after, hit), group="run", exclusive=True)

    async def _read_run(self, run: RunId, after: float, hit: SearchHit | None) -> None:
        await asyncio.sleep(after)
        if run != self.pane.run:

            def read(tx: Tx) -> tuple[RunPage | Refusal, TranscriptPage, tuple[SpendRow, ...]]:
                page = reading.run_page(tx, run)
                return page, reading.feed(tx, ReadTranscript(run=run)), reading.spend(tx, SpendBy.TURN, run=run)

            found = await self.ask(read)
            if found is None or run != self._wanted:
                return
            page, conversation, spent = found
            self.end_replay()
            self.looking.clear()
            if isinstance(page, Refusal):
                self.pane.clear(sentence(page))
                return
            self.pane.show(page, conversation, spent)
        if hit is not None:
            await self.jumps.to_hit(hit)

    def _need(self, asked: ReadTranscript) -> None:
        begin(self, partial(self._read_page, asked), group="pages")

    async def _read_page(self, asked: ReadTranscript) -> None:
        page = await self.ask(lambda tx: reading.feed(tx, asked))
        transcript = self.pane.transcript
        if not transcript.waits_for(asked):
            return
        if page is None:
            transcript.page_failed(asked)
        else:
            transcript.take_page(asked, page)
            self.looking.arrived()

    # ------------------------------------------------------------------------------------------------ search in one run

    @property
    def drive(self) -> "Review":
        return self

    @property
    def transcript(self) -> Transcript:
        return self.pane.transcript

    @property
    def run_in_view(self) -> RunId | None:
        return self.pane.run

    @property
    def searching(self) -> bool:
        return self.has_class("-searching")

    async def order(self, command: SearchTranscript, /) -> object:
        return await self.ask(lambda tx: reading.hits(tx, command))

    def begin_search(self) -> None:
        self.add_class("-searching")
        self.pane.search_line.display = True
        self.pane.search_line.begin()

    def end_search(self) -> None:
        self.remove_class("-searching")
        self.pane.search_line.display = False
        self.pane.transcript.focus()

    def tell_search(self, words: str) -> None:
        if self.searching:
            self.pane.search_line.tell(words)
        elif words:
            self.say(f"{words}, n and N go on, Esc ends it", "grey")

    def on_search_line_typed(self, message: SearchLine.Typed) -> None:
        message.stop()
        self.looking.typed(message.text)

    def on_search_line_left(self, message: SearchLine.Left) -> None:
        message.stop()
        self.looking.left(message.kept)

    # ------------------------------------------------------------------------------------------------------- the filter

    def on_review_line_typed(self, message: ReviewLine.Typed) -> None:
        message.stop()
        wanted = filters.parse(message.text)
        self._wrong = sentence(wanted) if isinstance(wanted, Refusal) else ""
        self.paint()
        if isinstance(wanted, Refusal):
            # What stands before the piece that is wrong, which is mostly being typed, narrows as before.
            wanted = filters.parse(message.text.rstrip().rpartition(" ")[0])
        if not isinstance(wanted, Refusal):
            self.list.narrow(wanted, after=TYPING)

    def on_review_line_left(self, message: ReviewLine.Left) -> None:
        message.stop()
        self.list.here.focus()
        self.paint()

    def filter_by(self, text: str) -> None:
        """The runs of this filter."""
        self.line.text = text
        self.list.turn_to("runs")
        self.on_review_line_typed(ReviewLine.Typed(text))

    def on_listing_read(self, message: Listing.Read) -> None:
        message.stop()
        if message.said:
            self.say(message.said, "grey")
        self.paint()

    # ------------------------------------------------------------------------------------------------------------- keys

    @property
    def in_list(self) -> bool:
        return self.focused is self.list.here

    @property
    def alone(self) -> bool:
        """Whether the run has the screen for itself."""
        return self.has_class("-alone")

    def take_key(self, key: str) -> bool:
        if self.searching or self.focused is self.line:
            return False
        if self._said.text:
            self._said = Span("")
            self.paint_status()
        taken = self.presses.pressed(key)
        if taken:
            self.paint()
        return taken

    def back(self) -> None:
        """One step: out of the replay, the search, the run, the list, the filter, the review."""
        if self.replay.active:
            self.end_replay()
        elif not self.in_list:
            if self.pane.part == "conversation" and self.looking.clear():
                return
            self.remove_class("-alone")
            self.list.here.focus()
        elif self.list.mode != "runs":
            self.turn_to("runs")
        elif self.line.text:
            self.line.clear()
        else:
            self.leave()

    def turn_to(self, mode: str) -> None:
        self.remove_class("-alone")
        self.list.turn_to(mode)
        self.list.here.focus()
        if mode == "hits" and not self.list.wanted.words:
            self.say("all that was said, the newest first: f, then words, looks for them", "grey")

    def take(self) -> None:
        """Enter: the run alone, its conversation unless another part was chosen; or where this stands."""
        if not self.in_list:
            begin(self, self.jumps.from_here, group="jump", exclusive=True)
            return
        run = self.list.run
        if run is None:
            found = self.list.filter_of()
            if found:
                self.filter_by(found)
            return
        hit = self.list.hit
        # Its turns were seen below the list already.
        self.show_alone("conversation" if hit is not None or self.pane.part == "turns" else self.pane.part)
        self.show_run(run, hit=hit)

    def show_alone(self, part: str) -> None:
        self.add_class("-alone")
        self.go(part)

    def go(self, part: str) -> None:
        """This part of the run, and the keys to it."""
        if part != "conversation":
            self.end_replay()
        self.pane.go(part)
        self.pane.shown.focus()
        self.paint()

    def next_part(self, by: int) -> None:
        if self.pane.page is None:
            return
        if self.in_list:
            self.go(self.pane.part if by > 0 else PARTS[-1])
            return
        at = PARTS.index(self.pane.part) + by
        if 0 <= at < len(PARTS) or self.alone:
            self.go(PARTS[at % len(PARTS)])
        else:
            self.end_replay()
            self.pane.go(PARTS[0])
            self.list.here.focus()

    def export(self) -> None:
        run = self.pane.run if not self.in_list else self.list.run
        chosen = tuple(sorted(self.list.marked)) or ((run,) if run is not None else ())
        if chosen:
            exporting.begin(self, chosen)
        else:
            self.say("mark runs with Space, or choose one")

    def play(self) -> None:
        if self.replay.active:
            self.replay.faster()
            return
        page = self.pane.page
        if page is None or not page.session.turns:
            self.say("there is nothing to replay here")
            return
        begin(self, partial(self._begin_replay, page), group="jump", exclusive=True)

    async def _begin_replay(self, page: RunPage) -> None:
        turn = self.pane.turns.chosen if self.pane.part == "turns" and not self.in_list else None
        self.looking.clear()
        self.show_alone("conversation")
        if not await self.replay.begin(page, turn.id if turn is not None else None):
            self.say("the ledger has nothing of it to replay")
        self.paint()

    def end_replay(self) -> None:
        if self.replay.active:
            self.replay.end()
            self.paint()

    def on_list_pane_taken(self, message: ListPane.Taken) -> None:
        message.stop()
        self.take()

    def looks(self, act: Callable[[], Awaitable[None]]) -> None:
        """Carry out a key of the search."""

        async def look() -> None:
            await act()

        begin(self, look, group="looking")

    # --------------------------------------------------------------------------------------------------------- painting

    def on_resize(self) -> None:
        self.paint()

    def on_descendant_focus(self) -> None:
        self.paint()

    def paint(self) -> None:
        width = self.size.width or self.app.size.width
        if not self.is_mounted or not width:
            return
        self.set_class(self.list.mode == "spend" and self.list.by is not SpendBy.RUN, "-sums")
        self.head_lines.put((self._title(width),))
        self.line.tell(self.list.words)
        wrong = wrap(self._wrong, width - 2) if self._wrong else []
        self.problem.put(tuple((Span(row, "amber"),) for row in wrong))
        self.hints.put((review_hints(self._place, width, self.table),))
        self.pane.replayed = self.replay.active
        self.pane.paint()
        self.paint_status()

    @property
    def _place(self) -> str:
        if self.line.has_focus:
            return "filter"
        if self.replay.active and not self.in_list:
            return "replay"
        return "list" if self.in_list else "run"

    def _title(self, width: int) -> Line:
        left: Line = (
            Span(" footplate review", "strong bright"),
            Span(f"  {one_line(short_path(str(self.path), self._home))}", "text"),
        )
        sizes = self._sizes
        if sizes is None:
            return sides(left, (Span("read only ", "grey"),), width)
        told = plural(sizes.runs, "run")
        if width >= 100 and sizes.oldest is not None and sizes.newest is not None:
            told += f", {sizes.events:,} {noun(sizes.events, 'event')}"
            told += f", {ledger_day(sizes.oldest)} to {ledger_day(sizes.newest)}"
        return sides(left, (Span(f"{told}, read only ", "grey"),), width)

    def paint_status(self) -> None:
        width = (self.size.width or self.app.size.width) - 2
        if self._said.text:
            row: Line = (Span(cut(self._said.text, width), self._said.ink),)
        elif self.replay.active:
            row = (Span(cut(self.replay.words(), width), "green"),)
        else:
            row = (Span(cut(self.list.told_marks(), width), "amber"),)
        self.foot_lines.put((row,))

    def say(self, words: str, ink: str = "amber") -> None:
        self._said = Span(one_line(words), ink)
        if self.is_mounted:
            self.paint_status()
