"""What the ledger has and this console's holds did not tell: runs of other consoles, a hold that another process
settled, money that all of them spent, a day that began.

Looked at each second and whenever somebody pokes. At rest that is one row: the ledger's newest entry.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from coordinator import poolwarning, snapshots
from coordinator.custody.receipts import receipt_from_facts
from coordinator.house import House, periods
from coordinator.wallclock import WallClock
from store import entries, runs
from store.db import LedgerFault, Tx
from store.vocab import RunId

if TYPE_CHECKING:
    from coordinator.session import HeldSession

log = logging.getLogger(__name__)


class Follower:
    def __init__(self, house: House, sessions: "Mapping[RunId, HeldSession]", shown: snapshots.Snapshots) -> None:
        self.poked = asyncio.Event()
        self.changed: Callable[[], None] = lambda: None
        """Told when there is something new."""
        self._house = house
        self._sessions = sessions
        self._shown = shown
        self._seen: tuple[int, tuple[int, int]] | None = None
        """The newest entry and the periods of the last look."""
        self._wall = WallClock(wall_ms=house.clock.now(), monotonic=house.clock.monotonic())
        self._heads: dict[RunId, int] = {}
        """How long the chain of each run was that is not held here, when it was read."""

    async def keep(self) -> None:
        """The task that looks."""
        while True:
            try:
                async with asyncio.timeout(self._house.settings.timing.command_poll):
                    await self.poked.wait()
            except TimeoutError:
                pass
            self.poked.clear()
            self._look_at_the_clock()
            try:
                await self._shown.look_where_none_can_start()
                await self.look()
            except LedgerFault as fault:
                log.info("the ledger could not be looked at: %s; tried again in a second", fault)
            except Exception:
                log.exception("the ledger could not be followed; tried again in a second")

    def _look_at_the_clock(self) -> None:
        """Holds at rest look at it rarely, and their keepers end them by it: a step forward is told of first."""
        clock = self._house.clock
        self._wall, stepped = self._wall.at(clock.now(), clock.monotonic())
        for session in self._sessions.values() if stepped else ():
            session.renew_now()

    async def look(self) -> None:
        """Show what is new. What could not be read or said is tried again."""
        house = self._house
        newest = await house.ledger.read(lambda tx: (entries.newest_seq(tx), periods(tx.now)))
        if newest == self._seen:
            return
        changed = await house.ledger.read(self._changed)
        for run in changed:
            await self.show(run)
        self._heads |= changed
        await self._warn()
        self._seen = newest
        house.changed()
        self.changed()

    def _changed(self, tx: Tx) -> dict[RunId, int]:
        """Chains of runs that are not held here and are longer than they were, or new."""
        known = {run.id for run in runs.listing(tx, limit=snapshots.SHOWN_AT_START)} | self._heads.keys()
        held = {run for run, session in self._sessions.items() if not session.ended.is_set()}
        heads = {run: entries.head(tx, run)[0] for run in known - held}
        return {run: n for run, n in heads.items() if n != self._heads.get(run)}

    async def show(self, run: RunId) -> None:
        """Read a run anew that is not held here, or not any more."""
        session = self._sessions.get(run)
        if session is None:
            await self._shown.reload(run)
        elif session.ended.is_set():
            await session.refresh()
            if session.rows.receipt:
                session.live.receipt = receipt_from_facts(msgspec.json.decode(session.rows.receipt.encode()))
            if snapshots.is_elsewhere(session):
                await self._shown.reload(run)

    async def _warn(self) -> None:
        house = self._house

        def wanted(tx: Tx) -> dict[str, str] | None:
            due = poolwarning.due(tx, house.pools(tx.now))
            return None if poolwarning.is_told(tx, due) else due

        due = await house.ledger.read(wanted)
        if due is not None:
            await house.ledger.transaction(lambda tx: poolwarning.tell(tx, due))
