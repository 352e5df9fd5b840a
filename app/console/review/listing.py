"""The upper half of a review: runs, or what was said in them, or what they cost, all by one filter; read page by page.

It knows which rows there are and which is lit. What a lit row leads to is for the screen.
"""

import app.console.before_textual  # noqa: F401, I001  (sets what textual reads at import)

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message

from app.console.workers import begin
from app.console.review.asking import Ask
from app.console.review.lists import ListPane
from app.console.views.glyphs import Glyphs
from app.console.views.ink import Line
from app.console.views.review_rows import hit_line, hits_head, run_line, runs_head, spend_head, spend_line
from app.wording import noun, plural
from app.wording_review import BY, SORTS, spend_sum
from coordinator.review import reading
from coordinator.review.types import RunFilter, RunRow, RunsPage, SearchHit, SearchPage, Sort, SpendBy, SpendRow
from store.tx import Tx
from store.vocab import Millis, RunId

PAGE: Final = 200
"""Runs, or places, that are read at once."""
SPENDS: Final = (SpendBy.DAY, SpendBy.REPOSITORY, SpendBy.AGENT, SpendBy.MODEL, SpendBy.RUN)
_FURTHER: Final = "nothing so far, looking further back …"


class Listing(Vertical):
    class Lit(Message):
        """Another row is lit, or there are other rows."""

    class Read(Message):
        """There are rows that were not there before; ``said``: what they come to."""

        def __init__(self, said: str = "") -> None:
            super().__init__()
            self.said = said

    def __init__(self, ask: Ask, glyphs: Glyphs, now: Callable[[], Millis]) -> None:
        super().__init__(id="review-list")
        self._ask = ask
        self._now = now
        self._glyphs = glyphs
        self.mode = "runs"
        self.wanted = RunFilter()
        self.sort = Sort.NEWEST
        self.by = SpendBy.DAY
        self.marked: dict[RunId, None] = {}
        self._more: object = None
        """Where the list goes on; None: all of it is here."""
        self.read = False
        """Whether the first page was read."""
        self._reading_on = False
        self._to_the_end = False
        self._most = 0
        """What the longest bar stands for."""
        self.runs: ListPane[RunRow] = ListPane(self._draw_run, runs_head, id="review-runs")
        self.hits: ListPane[SearchHit] = ListPane(self._draw_hit, hits_head, id="review-hits")
        self.spend: ListPane[SpendRow] = ListPane(self._draw_spend, self._head_spend, id="review-spend")

    def compose(self) -> ComposeResult:
        yield self.runs
        yield self.hits
        yield self.spend

    def on_mount(self) -> None:
        self._show()

    # ------------------------------------------------------------------------------------------------------------- rows

    def _draw_run(self, row: RunRow, width: int) -> Line:
        return run_line(row, width, self._now(), marked=row.run in self.marked)

    def _draw_hit(self, hit: SearchHit, width: int) -> Line:
        return hit_line(hit, width, self._now())

    def _draw_spend(self, row: SpendRow, width: int) -> Line:
        return spend_line(row, width, self.by, self._most, self._glyphs)

    def _head_spend(self, width: int) -> Line:
        return spend_head(width, self.by)

    @property
    def here(self) -> ListPane[Any]:
        panes: dict[str, ListPane[Any]] = {"runs": self.runs, "hits": self.hits, "spend": self.spend}
        return panes[self.mode]

    @property
    def run(self) -> RunId | None:
        """The run that the lit row is of."""
        match self.mode:
            case "runs":
                return None if self.runs.chosen is None else self.runs.chosen.run
            case "hits":
                return None if self.hits.chosen is None else self.hits.chosen.run
            case _:
                row = self.spend.chosen
                return RunId(int(row.key)) if row is not None and self.by is SpendBy.RUN else None

    @property
    def hit(self) -> SearchHit | None:
        return self.hits.chosen if self.mode == "hits" else None

    def filter_of(self) -> str:
        """The filter that shows the runs of the lit sum of money; '' where there is none."""
        row = self.spend.chosen if self.mode == "spend" else None
        fields = {SpendBy.DAY: "on", SpendBy.REPOSITORY: "repo", SpendBy.AGENT: "agent", SpendBy.MODEL: "model"}
        if row is None or self.by not in fields or not row.key or '"' in row.key:
            return ""
        return f"{fields[self.by]}:{row.key}" if self.by is SpendBy.DAY else f'{fields[self.by]}:"{row.key}"'

    @property
    def words(self) -> str:
        """Which list it is, in which order, how much of it is here."""
        if not self.read:
            return ""
        more = "+" if self._more is not None else ""
        count = len(self.here.items)
        match self.mode:
            case "runs":
                return f"{count:,}{more} {noun(count, 'run')}, {SORTS[self.sort]}"
            case "hits":
                return f"{count:,}{more} {noun(count, 'place')}, newest first"
            case _:
                return f"money {BY[self.by]}"

    def mark(self) -> None:
        """Mark the lit run, or take its mark away, and go on to the next."""
        run = self.run
        if run is None:
            return
        if run in self.marked:
            del self.marked[run]
        else:
            self.marked[run] = None
        self.here.move(1)
        self.here.paint()

    # ---------------------------------------------------------------------------------------------------- which of them

    def _show(self) -> None:
        for name, pane in (("runs", self.runs), ("hits", self.hits), ("spend", self.spend)):
            pane.display = name == self.mode

    def turn_to(self, mode: str) -> None:
        focused = self.here.has_focus
        self.mode = mode
        self._show()
        if focused:
            self.here.focus()
        self.reload()

    def narrow(self, wanted: RunFilter, *, after: float = 0.0) -> None:
        self.wanted = wanted
        self.reload(after=after)

    def next_order(self) -> None:
        if self.mode == "runs":
            every = tuple(Sort)
            self.sort = every[(every.index(self.sort) + 1) % len(every)]
        elif self.mode == "spend":
            self.by = SPENDS[(SPENDS.index(self.by) + 1) % len(SPENDS)]
        else:
            return
        self.reload()

    # --------------------------------------------------------------------------------------------------------- reading

    def reload(self, *, after: float = 0.0) -> None:
        """Read the list anew. Whatever was being read for another one is given up."""
        begin(self, partial(self._read, after), group="list", exclusive=True)

    async def _read(self, after: float) -> None:
        await asyncio.sleep(after)
        self._reading_on = self._to_the_end = False
        said = ""
        if not self.here.items:
            self.here.empty = "reading …"
            self.here.paint()
        match self.mode:
            case "runs":
                wanted, sort = self.wanted, self.sort
                page = await self._ask(lambda tx: reading.runs(tx, wanted, sort=sort, limit=PAGE))
                self._more = None if page is None else page.more
                self.runs.empty = "no run is like that" if wanted != RunFilter() else "there is no run in this ledger"
                self.runs.show(() if page is None else page.rows)
            case "hits":
                found = await self._ask(self._search(None))
                self._more = None if found is None else found.more
                self.hits.empty = "nobody said that" if self._more is None else _FURTHER
                self.hits.show(() if found is None else found.hits)
                if not self.hits.items:
                    self.go_on()
            case _:
                rows = await self._read_spend()
                said = spend_sum(rows)
        self.read = True
        self.post_message(self.Read(said))
        self.post_message(self.Lit())

    async def _read_spend(self) -> tuple[SpendRow, ...]:
        by, wanted = self.by, self.wanted
        rows = await self._ask(lambda tx: reading.spend(tx, by, wanted)) or ()
        self._more, self._most = None, max((row.cost for row in rows), default=0)
        self.spend.empty = "nothing was spent"
        # The newest day is what one looks for.
        self.spend.show(tuple(reversed(rows)) if by is SpendBy.DAY else rows)
        return rows

    def _search(self, before: int | None) -> Callable[[Tx], SearchPage]:
        wanted = self.wanted
        return lambda tx: reading.search(tx, wanted, limit=PAGE, before=before)

    def go_on(self) -> None:
        """Read the next page, where there is one."""
        if self._more is not None and not self._reading_on:
            self._reading_on = True
            begin(self, self._read_on, group="list", exclusive=True)

    def to_end(self) -> None:
        """To the last row there is, reading on until it is here."""
        self._to_the_end = self._more is not None
        self.here.to_end()
        self.go_on()

    async def _read_on(self) -> None:
        wanted, sort, more = self.wanted, self.sort, self._more
        page: RunsPage | SearchPage | None
        try:
            if self.mode == "runs":
                page = await self._ask(lambda tx: reading.runs(tx, wanted, sort=sort, limit=PAGE, more=more))
            else:
                page = await self._ask(self._search(more if isinstance(more, int) else None))
        finally:
            self._reading_on = False
        if page is None:
            return
        self._more = page.more
        if isinstance(page, RunsPage):
            self.runs.extend(page.rows)
        else:
            self.hits.empty = "nobody said that" if page.more is None else _FURTHER
            self.hits.extend(page.hits)
        if self._to_the_end:
            self.here.to_end()
        # What follows is read by another worker, after this one.
        if self._more is not None and (self._to_the_end or not self.here.items):
            self.call_later(self.go_on)
        self.post_message(self.Read())
        if self.here.items and self.here.at == 0:
            self.post_message(self.Lit())

    def on_list_pane_near(self, message: ListPane.Near) -> None:
        message.stop()
        if message.pane is self.here:
            self.go_on()

    def on_list_pane_lit(self, message: ListPane.Lit) -> None:
        message.stop()
        if message.pane is self.here:
            self._to_the_end = self._to_the_end and self.here.at >= len(self.here.items) - 1
            self.post_message(self.Lit())

    def told_marks(self) -> str:
        return f"{plural(len(self.marked), 'run')} marked" if self.marked else ""
