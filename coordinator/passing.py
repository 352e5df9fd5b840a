"""A sweep that only passes by: what is over is settled, what lives on is left exactly as it is.

For ``footplate sweep``, which ends as soon as it is done. A console takes living holds over and renews them; a process
that leaves again at once must not, for whatever it promised a keeper would replace what the last console promised: it
would shorten a hold, or (from a timer that nobody attends) lengthen it for ever. So a living hold is asked how it
stands, without being attached to, and nothing else.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from coordinator.clock import Clock
from coordinator.coordinator import Coordinator
from coordinator.house import HouseSettings
from coordinator.ids import Ids
from coordinator.profiles import AgentProfile
from coordinator.sweep import Swept
from store.db import Ledger
from store.refusal import Refusal
from store.vocab import RunId


class Passed(Struct, frozen=True, kw_only=True):
    swept: Swept
    settled: tuple[RunId, ...]
    unsettled: tuple[RunId, ...]
    """Taken over and not brought to an end: what is left of them could not be proven gone, or not in time."""
    notes: tuple[str, ...] = ()


async def pass_by(
    *, settings: HouseSettings, profiles: Sequence[AgentProfile], ledger_path: Path, clock: Clock, ids: Ids
) -> Passed | Refusal:
    """Open, settle what is over, close again."""
    ledger = await Ledger.open(ledger_path, now=clock.now, machine=settings.machine, ledger_id=ids.secret)
    if isinstance(ledger, Refusal):
        return ledger
    try:
        async with Coordinator.opened(
            settings=replace(settings, passing=True),
            profiles=profiles,
            ledger=ledger,
            clock=clock,
            ids=ids,
            repository=None,
        ) as coordinator:
            passed = await _settled(coordinator)
        return replace(passed, notes=tuple(coordinator.house.notes))
    finally:
        await ledger.close()


async def _settled(coordinator: Coordinator) -> Passed:
    taken = tuple(coordinator.sessions.values())
    waits = [asyncio.ensure_future(session.ended.wait()) for session in taken]
    if waits:
        await asyncio.wait(waits, timeout=coordinator.house.settings.timing.close_deadline)
    for wait in waits:
        wait.cancel()
    over = [session for session in taken if session.ended.is_set() and not session.left]
    return Passed(
        swept=coordinator.swept,
        settled=tuple(session.run_id for session in over),
        unsettled=tuple(session.run_id for session in taken if session not in over),
    )
