"""Whether the operator is there, and what is shown to one who comes back. It takes no key and no focus.

Away is: no key for ten minutes, runs that paused for it, or no console at all. What happened meanwhile stands above the
text from then on, so that it is there when somebody looks; the key with which they come back does what it always does,
and one that comes a second later takes the block away.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.console.views.away import Away, happened, paused
from coordinator.api import ConsoleSnapshot
from store.vocab import Millis

if TYPE_CHECKING:
    from app.console.deeds import Deeds

NO_ABSENCE = 60_000
"""Milliseconds. Who comes back sooner went from one command to the next: they were not away."""
READ = 1.0
"""Seconds that the block stays at least, with the operator there."""


class Returning:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._drive = deeds.drive
        self._last_key = deeds.app.options.monotonic()
        self._there_at: Millis = deeds.drive.now
        """Wall clock of the last key."""
        self._back_at = float("-inf")
        self._last: Away | None = None
        """The newest absence that is over, to show again."""
        self._was_paused = False

    def acts(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """By the action's name in the key table."""
        return {"away": self._again}

    @property
    def away(self) -> bool:
        return self._drive.away is not None and self._drive.away.back is None

    def begin(self) -> None:
        """A console was opened: what happened while there was none."""
        self._watch(self._deeds.app.options.away_after)
        snapshot = self._drive.snapshot
        since = snapshot.last_here
        self._was_paused = bool(paused(snapshot))
        if since is None or self._drive.now - since < NO_ABSENCE or not happened(snapshot, since):
            return
        self._last = Away(since=since, back=self._drive.now)
        self._back_at = self._deeds.app.options.monotonic()
        self._drive.away = self._last
        self._drive.paint()

    def key(self) -> None:
        """Anything that the operator did at the terminal."""
        now = self._deeds.app.options.monotonic()
        self._last_key, self._there_at = now, self._drive.now
        away = self._drive.away
        if away is None:
            return
        if away.back is None:
            self._back_at = now
            self._last = self._drive.away = replace(away, back=self._drive.now)
            self._drive.paint()
            # What was in view all the time is seen now.
            self._deeds.viewing.watch_seen()
        elif now - self._back_at >= READ:
            self._drive.away = None
            self._drive.paint()

    def take(self, snapshot: ConsoleSnapshot) -> None:
        """A newer snapshot, before it is painted."""
        held, before = bool(paused(snapshot)), self._was_paused
        self._was_paused = held
        if held and not before:
            self._gone()

    def _watch(self, seconds: float) -> None:
        self._drive.set_timer(seconds, self._look)

    def _look(self) -> None:
        idle = self._deeds.app.options.monotonic() - self._last_key
        left = self._deeds.app.options.away_after - idle
        if left <= 0:
            self._gone()
            self._drive.paint()
        self._watch(max(left, 1.0) if left > 0 else self._deeds.app.options.away_after)

    def _gone(self) -> None:
        if not self.away:
            self._drive.away = Away(since=self._there_at)

    async def _again(self) -> None:
        if self._last is None:
            self._deeds.say("you were not away since this console was opened")
            return
        if not happened(self._drive.snapshot, self._last.since):
            self._deeds.say("nothing happened while you were away")
            return
        self._back_at = self._deeds.app.options.monotonic()
        self._drive.away = self._last
        self._drive.paint()
