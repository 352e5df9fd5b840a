"""A second session beside the one in view: read along, with a feed of its own. Keys, card and text are never its own.

It is there to be looked at. What is typed, answered and stopped belongs to the session in view, whose title is lit; a
key of its own makes the two change places.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from app.console.views.layout import RICH
from app.console.views.lists import ordered
from app.console.views.standing import session_of
from coordinator.api import ConsoleSnapshot, ReadTranscript, SessionView, TranscriptPage
from store.vocab import RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class Beside:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._drive = deeds.drive
        self._page_of: RunId | None = None
        """The run whose page is in the second transcript; its feed goes on from there."""
        self._to_the_end = 0
        """Pages that reach to the end of its run and are being read: nothing is drained meanwhile."""
        self._before: RunId | None = None
        """In view before the one that is now."""
        deeds.drive.beside.on_need = self._need
        deeds.drive.beside.on_looked = deeds.drive.paint

    def acts(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """By the action's name in the key table."""
        return {"beside": self._toggle, "swap": self._swap}

    async def _toggle(self) -> None:
        if self._drive.run_beside is not None:
            self._show(None)
            return
        if self._drive.size.width < RICH:
            self._deeds.say(f"two sessions side by side need a screen of {RICH} columns")
            return
        run = self._candidate()
        if run is None:
            self._deeds.say("there is no other session to put beside this one")
            return
        self._show(run)
        self._deeds.say("b makes the two change places; | again leaves one")

    def _candidate(self) -> RunId | None:
        """The one that was in view before, else the first of the list that is not in view."""
        here, snapshot = self._drive.run_in_view, self._drive.snapshot
        if self._before not in (None, here) and session_of(snapshot, self._before) is not None:
            return self._before
        return next((one.run for one in ordered(snapshot, here) if one.run != here), None)

    async def _swap(self) -> None:
        other = self._drive.run_beside
        if other is None:
            self._deeds.say("no second session is shown: | puts one beside this one")
            return
        await self._deeds.viewing.view(other, focus=False)

    def comes_into_view(self, run: RunId | None) -> None:
        """Before another session comes into view: the one beside changes places with it, for one is never shown
        twice."""
        here = self._drive.run_in_view
        if here != run and here is not None:
            self._before = here
        if run is not None and run == self._drive.run_beside:
            self._show(here)

    def _show(self, run: RunId | None) -> None:
        before, self._drive.run_beside = self._drive.run_beside, run
        self._deeds.viewing.leave(before)
        self._page_of = None
        session = session_of(self._drive.snapshot, run)
        if session is not None:
            self._drive.beside.transcript.show(session, None)
            self._deeds.aside(self._read_page, session.run)
        self._drive.paint()

    def take(self, snapshot: ConsoleSnapshot) -> None:
        run = self._drive.run_beside
        session = session_of(snapshot, run)
        if session is None:
            if run is not None:
                self._show(None)
            return
        self._drive.beside.transcript.update_session(session)
        if self._page_of == session.run and not self._to_the_end:
            self._feed(session)

    def _feed(self, session: SessionView) -> None:
        events, dropped = self._deeds.app.backend.drain(session.run)
        if dropped and not self._drive.beside.transcript.goes_on:
            self._deeds.aside(self._read_page, session.run)
        elif events:
            self._drive.beside.transcript.feed(events)

    def _need(self, asked: ReadTranscript) -> None:
        self._deeds.aside(self._read_more, asked)

    async def _read_more(self, asked: ReadTranscript) -> None:
        to_the_end = asked.before is None and asked.around is None
        self._to_the_end += to_the_end  # what comes meanwhile is in that page, or in the feed after it
        try:
            reply = await self._deeds.order(asked)
        finally:
            self._to_the_end -= to_the_end
        transcript = self._drive.beside.transcript
        if self._drive.run_beside == asked.run and transcript.waits_for(asked):
            if isinstance(reply, TranscriptPage):
                transcript.take_page(asked, reply)
            else:
                transcript.page_failed(asked)

    async def _read_page(self, run: RunId) -> None:
        self._page_of = None
        self._deeds.app.backend.drain(run)
        reply = await self._deeds.order(ReadTranscript(run=run))
        session = session_of(self._drive.snapshot, run)
        if session is None or self._drive.run_beside != run or not isinstance(reply, TranscriptPage):
            self._deeds.viewing.leave(run)
            return
        self._drive.beside.transcript.show(session, reply)
        self._page_of = run
        self._feed(session)
