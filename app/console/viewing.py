"""Which session is in view, and keeping it up to date: snapshots, its page, its feed, and that it was seen.

The session in view changes only through ``view``, which is called for a key, a click or an entered text and for nothing
else.
"""

from typing import TYPE_CHECKING

from textual.timer import Timer

from app.console.keys import Where
from app.console.screens.asking import Quit, StopAllSheet
from app.console.screens.changes import ChangesSheet
from app.console.screens.reading import Details
from app.console.views.announcing import announced
from app.console.views.lists import ordered
from app.console.views.standing import ended, foreign
from app.wording import sentence
from coordinator.api import ConsoleSnapshot, Group, ReadTranscript, Seen, TranscriptPage
from store.refusal import Refusal
from store.vocab import RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class Viewing:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._page_of: RunId | None = None
        """The run whose page is in the transcript; its feed goes on from there."""
        self._to_the_end = 0
        """Pages that reach to the end of a run and are being read: nothing is drained meanwhile."""
        self._seen_timer: Timer | None = None
        self._visited = False

    # ------------------------------------------------------------------------------------------------------- snapshots

    async def begin(self) -> None:
        """The session in view at the start: none with a brief given or nothing held, else the first of the list."""
        options = self._deeds.app.options
        picked, over = self._deeds.drive.snapshot.recovered
        if picked or over:
            self._deeds.drive.say(f"recovered at start: {picked} picked up, {over} ended", "grey")
        snapshot = self._deeds.drive.snapshot
        first = next((one for one in ordered(snapshot) if not ended(one)), None)
        asked = next((one for one in snapshot.sessions if one.run == options.run), None)
        if asked is not None:
            await self.view(asked.run)
        elif options.brief or first is None:
            await self.view(None)
            if options.brief:
                self._deeds.drive.composer.set_text(options.brief)
        else:
            await self.view(first.run)

    def take(self, snapshot: ConsoleSnapshot) -> None:
        if self._deeds.away:
            return
        before = self._deeds.drive.snapshot
        self._deeds.returning.take(snapshot)
        self._deeds.drive.take(snapshot)
        self._deeds.beside.take(snapshot)
        self._deeds.waiting_list.take(snapshot)
        self._deeds.tasking.take(snapshot)
        if self._deeds.app.options.announce and (said := announced(before, snapshot)):
            self._deeds.drive.say("; ".join(said), "grey")
        session = self._deeds.session
        self._deeds.history.show()
        if session is not None and self._page_of == session.run and not self._to_the_end:
            events, dropped = self._deeds.app.backend.drain(session.run)
            if dropped and not self._deeds.drive.transcript.goes_on:
                self._deeds.aside(self._read_page, session.run)
            elif events:
                self._deeds.drive.transcript.feed(events)
        screen = self._deeds.app.screen
        if isinstance(screen, Details):
            screen.take(snapshot, self._deeds.drive.now)
        elif isinstance(screen, ChangesSheet):
            screen.take(snapshot)
        elif isinstance(screen, StopAllSheet | Quit):
            screen.fill(snapshot)
        self.watch_seen()

    def watch_seen(self) -> None:
        """A second in view counts as seen."""
        session = self._deeds.session
        if session is None or self._seen_timer is not None or foreign(session):
            return
        newest = max(session.turn_ended_at or 0, session.ended_at or 0)
        if not self._visited or newest > session.seen_at or session.group is Group.YOUR_MOVE:
            run = session.run
            self._seen_timer = self._deeds.drive.set_timer(self._deeds.app.options.seen_after, lambda: self._seen(run))

    def _seen(self, run: RunId) -> None:
        self._seen_timer = None
        if self._deeds.returning.away:
            return  # it stands on a screen that nobody looks at
        if self._deeds.drive.run_in_view == run and self._deeds.drive.is_current and not self._deeds.away:
            self._visited = True
            self._deeds.aside(self._deeds.quietly, Seen(run=run))

    # ------------------------------------------------------------------------------------------------ session in view

    async def view(self, run: RunId | None, *, focus: bool = True) -> None:
        """Bring a session into view, or the start form. Only ever called for a key, a click or an entered text."""
        self._deeds.queueing.leave()
        self._deeds.drafts.leave(self._deeds.drive.run_in_view)
        self._deeds.beside.comes_into_view(run)
        before, self._deeds.drive.run_in_view = self._deeds.drive.run_in_view, run
        self.leave(before)
        self._deeds.drive.decision_in_view = None
        self._page_of = None
        self._visited = False
        if self._seen_timer is not None:
            self._seen_timer.stop()
            self._seen_timer = None
        session = self._deeds.session
        composer = self._deeds.drive.composer
        composer.begin_anew()
        self._deeds.drafts.arrive(run)
        self._deeds.history.show()
        self._deeds.completing.edited()
        if session is not None:
            self._deeds.drive.transcript.show(session, None)
            self._deeds.aside(self._read_page, session.run)
        self._deeds.drive.paint()
        if focus and self._deeds.drive.focus_place is not Where.KEYS:
            composer.focus()
        self.watch_seen()

    def leave(self, run: RunId | None) -> None:
        """What comes of it now is nobody's to draw, unless it stands on the screen all the same."""
        if run is not None and run not in (self._deeds.drive.run_in_view, self._deeds.drive.run_beside):
            self._deeds.app.backend.leave(run)

    async def _read_page(self, run: RunId) -> None:
        # What waits in the feed is in the page, unfinished words too.
        self._page_of = None
        self._deeds.app.backend.drain(run)
        reply = await self._deeds.order(ReadTranscript(run=run))
        session = self._deeds.session
        if session is None or session.run != run or self._deeds.away:
            self.leave(run)
            return
        if isinstance(reply, TranscriptPage):
            self._deeds.drive.transcript.show(session, reply)
            self._page_of = run
            events, _ = self._deeds.app.backend.drain(run)
            if events:
                self._deeds.drive.transcript.feed(events)
        elif isinstance(reply, Refusal):
            self._deeds.drive.say(sentence(reply))

    async def read(self, asked: ReadTranscript) -> None:
        """A part of the run that its transcript lacks. While the end of the run is read nothing is drained: what comes
        meanwhile is in that page, or in the feed after it."""
        to_the_end = asked.before is None and asked.around is None
        self._to_the_end += to_the_end
        try:
            reply = await self._deeds.order(asked)
        finally:
            self._to_the_end -= to_the_end
        transcript = self._deeds.drive.transcript
        if self._deeds.drive.run_in_view == asked.run and transcript.waits_for(asked):
            if isinstance(reply, TranscriptPage):
                transcript.take_page(asked, reply)
                self._deeds.searching.arrived()
            else:
                transcript.page_failed(asked)
        self.take(self._deeds.drive.snapshot)
