"""When the tour of six keys is shown: once, to whoever has not worked in a console of this ledger and wants nothing
yet, and whenever it is asked for."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from app.console.screens.tour import Tour
from app.console.views.actions import cannot_start, why_dead
from coordinator.api import ConsoleSnapshot
from store.vocab import Billing, RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds


def is_new_here(snapshot: ConsoleSnapshot) -> bool:
    """Whether nobody has worked here yet: who tried the demo has seen one session, and was told to begin with it."""
    if snapshot.sessions:
        return all(session.billing is Billing.PRACTICE for session in snapshot.sessions)
    return snapshot.last_here is None


class Touring:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds

    def acts(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """By the action's name in the key table."""
        return {"tour": self._show}

    def begin(self) -> None:
        """A console was opened."""
        options, snapshot = self._deeds.app.options, self._deeds.drive.snapshot
        new_here = is_new_here(snapshot) and not options.brief and options.run is None
        # Where nothing can start, why is what must be read first.
        new_here = new_here and cannot_start(snapshot) is None
        if options.tour or (new_here and options.toured is not None and not options.toured.exists()):
            # Behind the first frame: the console is seen before what explains it.
            self._deeds.drive.call_after_refresh(self._first)

    def _first(self) -> None:
        if not self._deeds.drive.composer.text:
            self._open()

    def _open(self) -> None:
        app = self._deeds.app
        app.push_screen(Tour(app.table, self._deeds.drive.composer.put_pasted, stops=self._stops))
        if app.options.toured is not None:
            # Where it cannot be noted it is shown once more, which hurts nobody.
            with contextlib.suppress(OSError):
                app.options.toured.touch(mode=0o600)

    def _stops(self) -> RunId | None:
        """The session in view, if a stop would end it."""
        drive = self._deeds.drive
        return drive.run_in_view if why_dead("stop", drive.situation()) is None else None

    async def _show(self) -> None:
        self._open()
