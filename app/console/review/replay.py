"""Playing a run again in its own conversation, from the ledger alone: the same widget, fed as it was fed then.

When an event is to be seen is decided in ``coordinator/review/replaying``; here are clock, pages and screen.
"""

from collections.abc import Callable
from typing import Final

from textual.timer import Timer

from app.console.review.asking import Ask
from app.console.review.pane import RunPane
from app.console.views.transcript import Place
from app.console.workers import begin
from coordinator.api import FeedEvent, ReadTranscript, TranscriptPage
from coordinator.review import places, reading, replaying
from coordinator.review.replaying import Playing, Timeline
from coordinator.review.types import RunPage
from store.events import BEFORE_ALL
from store.tx import Tx
from store.vocab import TurnId

AHEAD: Final = 200
"""Events that are not played yet, at which more are read."""
KEPT: Final = 4_000
"""Events that were played and can be stepped back over."""
DRAWN: Final = 600
"""Events that are drawn again at a step back; what is before them comes from the ledger."""


class Replay:
    def __init__(self, pane: RunPane, ask: Ask, tell: Callable[[], None], monotonic: Callable[[], float]) -> None:
        self._pane = pane
        self._ask = ask
        self._tell = tell
        """It goes on, or stands: what is said of it is another."""
        self._monotonic = monotonic
        self.playing: Playing | None = None
        self._page: RunPage
        self._line = Timeline()
        self._events: list[FeedEvent] = []
        self._gone = 0
        """Events that were played so long ago that they are not kept."""
        self._more = self._before = False
        """Whether the ledger has some after those that are here, and before the first of all."""
        self._since = 0.0
        self._timer: Timer | None = None
        self._reading = False

    @property
    def active(self) -> bool:
        return self.playing is not None

    # ------------------------------------------------------------------------------------------------ begin and the end

    async def begin(self, page: RunPage, turn: TurnId | None = None) -> bool:
        """From the beginning, or from where a turn begins; False where there is nothing to play."""
        run = page.session.run

        def read(tx: Tx) -> tuple[TranscriptPage, TranscriptPage]:
            hit = None if turn is None else places.of_turn(tx, turn)
            if hit is None:
                return TranscriptPage(events=()), reading.feed(tx, ReadTranscript(run=run, after=BEFORE_ALL))
            before = reading.feed(tx, ReadTranscript(run=run, before=hit.key, limit=DRAWN))
            return before, reading.feed(tx, ReadTranscript(run=run, after=(hit.key[0], hit.key[1] - 1)))

        found = await self._ask(read)
        if found is None or not found[1].events:
            return False
        before, after = found
        self._page, self._line, self._events, self._gone = page, Timeline(), [], 0
        self._more, self._before = False, bool(before.events)
        self._take(after)
        self.playing = Playing()
        self._since = self._monotonic()
        session = replaying.as_of(page.session, after.events[0].at)
        self._pane.transcript.show(session, TranscriptPage(events=before.events, more_before=before.more_before))
        self._go_on()
        return True

    def end(self) -> None:
        """The conversation as it is read otherwise, at the place to which it was played."""
        playing, self.playing = self.playing, None
        self._stop()
        if playing is None:
            return
        shown = self._events[: max(playing.shown - self._gone, 1)]
        key = next((one.key for one in reversed(shown) if one.key is not None), None)
        transcript = self._pane.transcript
        transcript.show(self._page.session, TranscriptPage(events=(), more_before=True, more_after=True))
        transcript.go_to_place(Place(key=key or BEFORE_ALL), fresh=True)
        self._events = []
        self._tell()

    # ------------------------------------------------------------------------------------------------------------- keys

    def pause(self) -> None:
        self._change(replaying.paused)

    def faster(self) -> None:
        self._change(replaying.faster)

    def step(self, by: int) -> bool:
        """One event on or back; False where what is before was let go of."""
        self._catch_up()
        playing = self.playing
        if playing is None:
            return True
        moved = replaying.step(playing, self._line, by)
        if moved.shown <= self._gone:
            return False
        self.playing = moved
        if moved.shown < playing.shown:
            self._draw_again()
        else:
            self._feed(playing.shown, moved.shown)
        self._go_on()
        return True

    def _change(self, how: Callable[[Playing], Playing]) -> None:
        self._catch_up()
        if self.playing is not None:
            self.playing = how(self.playing)
            self._go_on()

    # ---------------------------------------------------------------------------------------------------------- playing

    def _catch_up(self) -> None:
        """Show all that is due by now."""
        playing = self.playing
        if playing is None:
            return
        now = self._monotonic()
        self.playing = replaying.passed(playing, self._line, (now - self._since) * 1000)
        self._since = now
        self._feed(playing.shown, self.playing.shown)

    def _tick(self) -> None:
        self._timer = None
        self._catch_up()
        self._go_on()

    def _go_on(self) -> None:
        self._stop()
        playing = self.playing
        if playing is None:
            return
        self._since = self._monotonic()
        if self._more and not self._reading and len(self._line.moments) - playing.shown < AHEAD:
            self._reading = True
            begin(self._pane, self._read_on, group="replay")
        if self._over(playing):
            # What is known only after the last event: how its turn ended, how the run did.
            self._pane.transcript.update_session(self._page.session)
        after = replaying.wait(playing, self._line)
        if after is not None:
            # Not 0: Textual divides by it.
            self._timer = self._pane.set_timer(max(after, 1) / 1000, self._tick)
        self._tell()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    async def _read_on(self) -> None:
        line, last = self._line, self._events[-1].key
        try:
            asked = ReadTranscript(run=self._page.session.run, after=last)
            found = await self._ask(lambda tx: reading.feed(tx, asked))
        finally:
            self._reading = False
        if line is not self._line or self.playing is None:
            return  # another run is played by now, or none
        if found is None:
            self._more = False
            return
        self._catch_up()
        self._take(found)
        self._go_on()

    def _take(self, page: TranscriptPage) -> None:
        self._events += page.events
        self._line.add(one.at for one in page.events)
        self._more = page.more_after and bool(page.events)

    def _feed(self, before: int, shown: int) -> None:
        new = tuple(self._events[before - self._gone : shown - self._gone])
        if not new:
            return
        transcript = self._pane.transcript
        transcript.update_session(replaying.as_of(self._page.session, max(one.at for one in new)))
        transcript.feed(new)
        if shown - self._gone > KEPT + AHEAD:
            del self._events[: shown - self._gone - KEPT]
            self._gone = shown - KEPT

    def _draw_again(self) -> None:
        assert self.playing is not None
        count = self.playing.shown - self._gone
        events = tuple(self._events[max(count - DRAWN, 0) : count])
        session = replaying.as_of(self._page.session, max(one.at for one in events))
        more = self._before or self._gone > 0 or count > DRAWN
        self._pane.transcript.following = True
        self._pane.transcript.show(session, TranscriptPage(events=events, more_before=more))

    def _over(self, playing: Playing) -> bool:
        return playing.shown >= len(self._line.moments) and not self._more

    # ------------------------------------------------------------------------------------------------------------ words

    def words(self) -> str:
        """How far it is, for the status row."""
        playing = self.playing
        if playing is None:
            return ""
        how = "at its end" if self._over(playing) else "stands" if playing.paused else f"{playing.speed}×"
        at = self._events[max(playing.shown - self._gone, 1) - 1]
        turn = next((one.n for one in self._page.session.turns if one.id == at.turn), None)
        told = [f"replay {how}", f"turn {turn}" if turn is not None else "", f"event {playing.shown:,}"]
        return " · ".join(part for part in told if part)
