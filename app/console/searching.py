"""Looking for a text in the conversation in view: at once in what is here, in the background in all of the run.

The ledger is read page by page, the newest first, and each page is one answer of the backend: however long the run is,
a key waits for none of them. What is found is a list of places; going to one loads the window of lines round it.
"""

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from itertools import accumulate
from typing import Any, Protocol

from textual.app import App
from textual.worker import Worker

from app.console.views.transcript import Place
from app.console.widgets.transcript import Transcript
from app.console.workers import begin
from coordinator.api import Hit, SearchTranscript, TranscriptHits
from coordinator.textsearch import Needle
from store.vocab import RunId

TYPING = 0.15
"""Seconds without a key after which the ledger is searched for what was typed."""


class Searched(Protocol):
    """What shows the conversation: the live console, or a review."""

    @property
    def transcript(self) -> Transcript: ...
    @property
    def run_in_view(self) -> RunId | None: ...
    @property
    def searching(self) -> bool: ...
    def begin_search(self) -> None: ...
    def end_search(self) -> None: ...
    def tell_search(self, words: str) -> None: ...


class Asks(Protocol):
    """Who answers for the ledger."""

    @property
    def app(self) -> App[Any]: ...
    @property
    def drive(self) -> Searched: ...
    async def order(self, command: SearchTranscript, /) -> object: ...
    def say(self, words: str, /) -> None: ...


class Searching:
    def __init__(self, deeds: Asks) -> None:
        self._deeds = deeds
        self._drive = deeds.drive
        self._run: RunId | None = None
        self._needle: Needle | None = None
        self._hits: list[Hit] = []
        """In order, so far."""
        self._total = self._here = 0
        """Lines of all of them; lines that were here when it was typed."""
        self._counts: list[int] = []
        """How many lines come before each; made when it is first asked for."""
        self._whole = False
        """Whether the run was searched to its beginning."""
        self._through: tuple[int, int] = (-1, -1)
        self._at: tuple[Hit, int] | None = None
        """The match that the reader is at: the event, and which of its lines."""
        self._began: Place | None = None
        self._wanted: tuple[Hit, int] | None = None
        """To be gone to when the page that has it is here; of its lines the first (1), or the last (-1)."""
        self._search: Worker[None] | None = None

    def acts(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """By the action's name in the key table."""
        return {"search-next": lambda: self._step(1), "search-previous": lambda: self._step(-1)}

    # -------------------------------------------------------------------------------------------------------- the field

    def begin(self) -> None:
        self._began = self._drive.transcript.place()
        self._run = self._drive.run_in_view
        self._drive.begin_search()

    def typed(self, text: str) -> None:
        self._forget()
        self._needle = Needle(text) if text else None
        transcript = self._drive.transcript
        transcript.mark(self._needle)
        if self._needle is not None:
            lines = transcript.found_lines(self._needle)
            self._here = len(lines)
            if lines:
                at = max(bisect_right(lines, transcript.bottom_line()) - 1, 0)
                transcript.go_to_line(lines[at], found=True)
            self._search = begin(self._deeds.app, partial(self._look, self._needle), name="search", group="search")
        self._tell()

    def left(self, kept: bool) -> None:
        self._drive.end_search()
        if kept and self._needle is not None:
            self._tell()
            if self._drive.transcript.found_line is None and self._hits:
                self._go(self._hits[-1], -1)
            return
        self._drive.transcript.go_to_place(self._began)
        self.clear()

    def look_for(self, text: str, hit: Hit) -> None:
        """As if it had been typed, from a place that was found otherwise: that is gone to, n and N go on from it."""
        self._run = self._drive.run_in_view
        self._forget()
        self._needle = Needle(text)
        self._drive.transcript.mark(self._needle)
        self._search = begin(self._deeds.app, partial(self._look, self._needle), name="search", group="search")
        self._go(hit, 1)

    def clear(self) -> bool:
        """No search any more; False where there was none."""
        if self._needle is None:
            return False
        self._forget()
        self._needle = None
        self._drive.transcript.mark(None)
        return True

    def _forget(self) -> None:
        if self._search is not None:
            self._search.cancel()
        self._search, self._at, self._wanted = None, None, None
        self._hits, self._counts, self._whole, self._through = [], [], False, (-1, -1)
        self._total = self._here = 0

    # ------------------------------------------------------------------------------------------------------- the ledger

    async def _look(self, needle: Needle) -> None:
        await asyncio.sleep(TYPING)
        before: tuple[int, int] | None = None
        while await self._page(needle, before=before):
            before = self._before
            self._tell()
        self._whole = True
        self._tell()
        here = self._drive.transcript.found_line is not None or self._at is not None
        if not here and self._wanted is None and self._hits and not self._drive.searching:
            self._go(self._hits[-1], -1)

    _before: tuple[int, int] | None = None

    async def _page(
        self, needle: Needle, *, before: tuple[int, int] | None = None, after: tuple[int, int] | None = None
    ) -> bool:
        """Search one page; whether there is another."""
        run = self._run
        if run is None:
            return False
        reply = await self._deeds.order(SearchTranscript(run=run, text=needle.text, before=before, after=after))
        if not isinstance(reply, TranscriptHits) or needle is not self._needle:
            return False
        # Pages never overlap: older ones come before all that is here, those of what came since after it.
        self._hits = [*self._hits, *reply.hits] if after is not None else [*reply.hits, *self._hits]
        self._counts = []
        self._total += sum(hit.lines for hit in reply.hits)
        self._through = max(self._through, reply.through)
        self._before = reply.before
        return reply.before is not None

    # ------------------------------------------------------------------------------------------------- from one to next

    async def _step(self, by: int) -> None:
        needle, transcript = self._needle, self._drive.transcript
        if needle is None or self._run != self._drive.run_in_view:
            self._deeds.say("nothing is looked for: / begins a search")
            return
        if self._whole:
            # What came since is in no page that was searched.
            before = None
            while await self._page(needle, before=before, after=self._through):
                before = self._before
        here = transcript.found_line
        if here is not None and self._at is not None:
            lines = transcript.model.lines_with(_place(self._at[0]), needle)
            beyond = [line for line in lines if (line - here) * by > 0]
            if self._at[0].lines > 1 and beyond:
                line = beyond[0] if by > 0 else beyond[-1]
                self._at = (self._at[0], _nth(self._at[0], lines, line))
                transcript.go_to_line(line, found=True)
                self._tell()
                return
        hit = self._next(by)
        if hit is None:
            self._tell()
            return
        self._go(hit, by)

    def _next(self, by: int) -> Hit | None:
        """The next event that has it from here on; at an end of the run it goes on at the other."""
        if not self._hits:
            return None
        if self._at is not None:
            here = _order(self._at[0])
        else:
            transcript = self._drive.transcript
            line = transcript.found_line if transcript.found_line is not None else transcript.bottom_line()
            place = transcript.model.place_at(line)
            if place is None:
                return self._hits[-1]
            here = (place.key, not place.turn)
        hits = self._hits
        at = bisect_right(hits, here, key=_order) if by > 0 else bisect_left(hits, here, key=_order) - 1
        if not 0 <= at < len(hits) and not self._whole:
            return None
        return hits[at % len(hits)]

    def _go(self, hit: Hit, by: int) -> None:
        self._wanted = (hit, by)
        if self._drive.transcript.bring(_place(hit)):
            self.arrived()

    def arrived(self) -> None:
        """The lines round a place that was asked for are here."""
        wanted, needle, transcript = self._wanted, self._needle, self._drive.transcript
        if wanted is None or needle is None:
            return
        self._wanted = None
        hit, by = wanted
        lines = transcript.reveal(_place(hit), needle)
        if lines:
            at = 0 if by > 0 else len(lines) - 1
            self._at = (hit, _nth(hit, lines, lines[at]))
            transcript.go_to_line(lines[at], found=True)
            if not needle.spans(transcript.lines[lines[at]].text):
                self._deeds.say("it is in a part that is not shown: o opens it whole")
                return
        self._tell()

    def _tell(self) -> None:
        self._drive.tell_search(self._words())

    def _words(self) -> str:
        needle = self._needle
        if needle is None:
            return ""
        if not self._whole:
            return f"{max(self._total, self._here):,} so far, searching the rest"
        if not self._total:
            return "not in this conversation"
        at = self._number()
        return f"{at:,} of {self._total:,}" if at is not None else f"{self._total:,} found"

    def _number(self) -> int | None:
        """Which of all matches the reader is at."""
        if self._at is None:
            self._at = self._hit_here()
        if self._at is None:
            return None
        hit, inside = self._at
        if not self._counts:
            self._counts = [0, *accumulate(one.lines for one in self._hits)]
        return self._counts[bisect_left(self._hits, _order(hit), key=_order)] + min(inside, hit.lines - 1) + 1

    def _hit_here(self) -> tuple[Hit, int] | None:
        """The match on the line that was gone to before the ledger had answered."""
        transcript, needle = self._drive.transcript, self._needle
        line = transcript.found_line
        place = transcript.model.place_at(line) if line is not None else None
        if line is None or place is None or needle is None:
            return None
        for hit in self._hits[bisect_left(self._hits, (place.key, False), key=_order) :]:
            lines = transcript.model.lines_with(_place(hit), needle)
            if line in lines:
                return hit, _nth(hit, lines, line)
            if not lines or lines[0] > line:
                return None
        return None


def _nth(hit: Hit, lines: list[int], line: int) -> int:
    """Which of the event's matches stands on this line. Of a text whose middle is not shown, the last ones are counted
    from its end: that is all that is known of them, and enough."""
    at = lines.index(line)
    return at if len(lines) >= hit.lines or at < len(lines) // 3 else hit.lines - (len(lines) - at)


def _order(hit: Hit) -> tuple[tuple[int, int], bool]:
    return hit.key, not hit.turn


def _place(hit: Hit) -> Place:
    return Place(key=hit.key, turn=hit.turn)
