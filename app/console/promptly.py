"""The stop key, obeyed by the thread that reads the terminal.

The screen's loop may be laying out a thousand lines when the key comes, and a stop must not wait for paint. So the
order is given where the key is read, and the screen hears of it when its turn comes: it does all else that the key does
(a second press, what is said), and gives the order itself where this thread did not.

An order is given here only where it is certain what it means: the first press, for the session that has been in view
since before anything else was typed. What was typed before it may bring another session into view.
"""

from concurrent.futures import Future
from typing import TYPE_CHECKING

from msgspec import Struct
from textual import events
from textual.message import Message

from app.console.keys import Where
from app.console.views.actions import Situation, why_dead
from coordinator.api import Reply, Stop
from store.vocab import RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds

NO_OTHER_VIEW = frozenset({"stop", "stop-all", "commands", "quit", "redraw", "interrupt"})
"""Wherever they are pressed, they bring no other session into view; nor does Esc."""
QUIET = 0.3
"""Seconds since anything else was typed or clicked, at least."""


class Ordered(Struct, frozen=True):
    """What was ordered for a press, under way."""

    pressed_at: float
    run: RunId
    answer: "Future[Reply]"


class Promptly:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._keys = {
            key for row in deeds.app.table if row.action == "stop" and row.where is Where.ANYWHERE for key in row.keys
        }
        self._harmless = {"escape"} | {
            key
            for row in deeds.app.table
            if row.where is Where.ANYWHERE and row.action in NO_OTHER_VIEW
            for key in row.keys
        }
        self._read = float("-inf")
        """When the newest input was read that may bring another session into view."""
        self._heard = float("-inf")
        """The newest that the screen has dealt with."""
        self._given: Ordered | None = None

    def read(self, message: Message) -> None:
        """On the reading thread, before the screen gets it."""
        if not isinstance(message, events.InputEvent | events.Paste):
            return
        if not isinstance(message, events.Key) or message.key not in self._harmless:
            self._read = message.time
        elif message.key in self._keys:
            long_ago = self._read <= self._heard and message.time - self._read >= QUIET
            if long_ago and not self._deeds.at_work:
                self._order(message.time)

    def _order(self, pressed_at: float) -> None:
        run = self._deeds.drive.run_in_view
        # The backend's own newest: the screen may not have come to taking it.
        at = Situation(snapshot=self._deeds.app.backend.snapshot(), run=run, focus=Where.ANYWHERE)
        if run is None or self._deeds.away or why_dead("stop", at) is not None:
            return
        if self._deeds.stopping.would_be_first(run):
            self._given = Ordered(pressed_at, run, self._deeds.app.backend.submit(Stop(run=run)))

    def heard(self, at: float) -> None:
        """On the screen's loop: dealt with."""
        self._heard = max(self._heard, at)

    def given(self, pressed_at: float) -> Ordered | None:
        """What was ordered for this press already."""
        given = self._given
        return given if given is not None and given.pressed_at == pressed_at else None
