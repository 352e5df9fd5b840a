"""Takes in what the agents printed, a slice at a time and one session after the other.

Eight agents that stream a thousand pieces a second each leave one loop nothing else to do, and a stop passes through
the same loop. So the sessions share one place at the work: between two slices the loop goes round once, whoever waits
for it, and what was taken in so far is committed as one batch all the same. An order for the session itself ends its
batch early.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from coordinator import endingreports, extending
from coordinator.custody.types import SpoolRecord
from coordinator.house import House
from coordinator.inbox import BATCH
from coordinator.ingest import Batch
from coordinator.recording import keyed_digest

if TYPE_CHECKING:
    from coordinator.session import HeldSession

SLICE = 24
"""Records: two or three milliseconds of work, more on a machine that is short of time."""


async def turn(house: House) -> None:
    """Until it is one's turn to go on: after the others, and a round of the loop later at least."""
    async with house.work:
        await asyncio.sleep(0)


async def waiting(session: "HeldSession") -> bool:
    """What waits in the inbox, as much as one transaction should have; whether the wire was lost behind it."""
    batch: Batch | None = None
    taken, lost = 0, False
    while taken < BATCH and not lost:
        async with session.house.work:
            records, lost = session.inbox.take_records(SLICE)
            if not records:
                break
            batch, then = _slice(session, records, batch)
        taken += len(records)
        if then is not None:
            await _old_gone(session, batch, then)
            return lost
        await asyncio.sleep(0)
        if len(records) < SLICE or session.inbox.commanded:
            break
    if batch is not None:
        await _settle(session, batch)
    return lost


async def all_of(session: "HeldSession", records: Sequence[SpoolRecord]) -> None:
    """A batch that is here whole (what a spool file still had): decide, commit, then act."""
    batch: Batch | None = None
    for start in range(0, len(records), SLICE):
        async with session.house.work:
            batch, then = _slice(session, records[start : start + SLICE], batch)
        if then is not None:
            await _old_gone(session, batch, (*then, *records[start + SLICE :]))
            return
        await asyncio.sleep(0)
    if batch is not None:
        await _settle(session, batch)


async def _settle(session: "HeldSession", batch: Batch) -> None:
    able = session.supervisor is not None and not session.ending
    session.ingest.seal(batch, partial(keyed_digest, session.house.digest_key) if able else None)
    await session.settle(batch)


def _slice(
    session: "HeldSession", records: Sequence[SpoolRecord], batch: Batch | None
) -> tuple[Batch, Sequence[SpoolRecord] | None]:
    """The batch with these in it; the receipt of a restart, with what comes after it, is handed back."""
    ends = next((place for place, one in enumerate(records) if extending.is_old_ones(session, one)), None)
    now = records if ends is None else records[: ends + 1]
    batch = session.ingest.take(session.state, now, batch)
    for record in now:
        endingreports.follow(session, record)
    return batch, None if ends is None else records[ends:]


async def _old_gone(session: "HeldSession", batch: Batch, receipt_and_rest: Sequence[SpoolRecord]) -> None:
    """What comes after the receipt of a restart is the next process's."""
    await _settle(session, batch)
    await extending.old_gone(session, receipt_and_rest[0])
    if len(receipt_and_rest) > 1:
        await all_of(session, receipt_and_rest[1:])
