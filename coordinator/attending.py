"""What becomes of the holds as the operator comes and goes: looked at on each edge of the window, told to each session.

When which edge comes is ``attendance``'s, what a session does about it is its machine's; here is only the task between
them.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from coordinator.api import Done
from coordinator.attendance import Presence
from coordinator.house import House
from coordinator.machine import AttendanceChanged, GraceOver
from store.vocab import EndReason, RunId

if TYPE_CHECKING:
    from coordinator.session import HeldSession


class Attending:
    def __init__(self, house: House, sessions: "Mapping[RunId, HeldSession]") -> None:
        self.beaten = asyncio.Event()
        self.changed: Callable[[], None] = lambda: None
        """Told on each edge: who comes back lets what waits in line begin."""
        self._house = house
        self._sessions = sessions

    def beat(self) -> None:
        """The operator did something. Paused runs stay so until they are resumed."""
        now = self._house.clock.monotonic()
        nearly = self._house.attendance.at(now) is not Presence.THERE
        self._house.attendance = self._house.attendance.beat(now)
        if nearly:
            self.beaten.set()

    def resume(self, run: RunId | None) -> Done:
        self.beat()
        resumed = 0
        for session in self._sessions.values():
            if session.state.paused and run in (None, session.run_id):
                session.inbox.command(AttendanceChanged(paused=False))
                resumed += 1
        return Done(note=f"{resumed} resumed")

    async def keep(self) -> None:
        """Look at each edge of the window what becomes of the holds."""
        house, was = self._house, Presence.THERE
        while True:
            now = house.clock.monotonic()
            presence = house.attendance.at(now)
            house.away_in = house.attendance.left(now) if presence is Presence.NEARLY_AWAY else None
            if presence is not was:
                self._presence_changed(presence)
                was = presence
                self.changed()
            house.changed()
            self.beaten.clear()
            # While the countdown shows, it is shown again each second.
            pause = 1.0 if presence is Presence.NEARLY_AWAY else house.attendance.next_change(now) + 0.01
            try:
                async with asyncio.timeout(pause):
                    await self.beaten.wait()
            except TimeoutError:
                pass

    def _presence_changed(self, presence: Presence) -> None:
        for session in self._sessions.values():
            if session.ended.is_set():
                continue
            match presence:
                case Presence.AWAY if self._house.settings.at_lapse == "stop":
                    session.order_end(EndReason.LAPSED)
                case Presence.AWAY:
                    session.inbox.command(AttendanceChanged(paused=True))
                case Presence.GRACE_OVER:
                    # The edge before may have been slept through.
                    session.inbox.command(AttendanceChanged(paused=True))
                    session.inbox.command(GraceOver())
                case Presence.LAPSED:
                    session.order_end(EndReason.LAPSED)
                case Presence.THERE | Presence.NEARLY_AWAY:
                    pass
