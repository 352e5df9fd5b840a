"""The working time that the operator agreed to: counted again whenever turns or decisions changed, and when it matters.

The machine decides what follows (``machine.Worked``); here it is only told, at four fifths, at the limit, and when a
turn began or ended. What counts is the ledger, never how long this console has been looking.
"""

from typing import TYPE_CHECKING

from coordinator import machine
from coordinator.rows import SessionRows
from coordinator.worktime import Work

if TYPE_CHECKING:
    from coordinator.session import HeldSession

TIMER = "working"

Counted = tuple[SessionRows, int, Work]
"""The rows and the limit that a count was made for, and the count: while both stay, only time brings something new."""


async def watch(session: "HeldSession", *, again: bool = False) -> None:
    """Count, tell the machine, and set the timer for the next moment at which the machine must know.

    ``again``: the timer came, so time alone makes the difference.
    """
    limit = session.limits.working_ms
    if limit is None:
        return
    before = session.counted
    if not again and before is not None and before[0] is session.rows and before[1] == limit:
        return
    work = _work(session)
    worked = work.at(session.house.clock.now())
    rows = session.rows
    await session.decide(machine.Worked(ms=worked))
    if session.rows.turns is not rows.turns or session.rows.decisions is not rows.decisions:
        return await watch(session, again=True)  # what came meanwhile counts too
    # What the machine had to say about it changes rows, but no working time.
    session.counted = (session.rows, limit, work)
    moments = (limit * 8 // 10, limit)
    due = next((moment for moment in moments if moment > worked), None)
    session.set_deadline(TIMER, (due - worked) / 1000 if due is not None and work.runs else None)


def left(session: "HeldSession") -> float | None:
    """Seconds that it may still work; None: there is no limit, or nothing counts just now."""
    limit = session.limits.working_ms
    work = _work(session) if limit is not None else None
    if limit is None or work is None or not work.runs:
        return None
    return max(0.0, (limit - work.at(session.house.clock.now())) / 1000)


def _work(session: "HeldSession") -> Work:
    rows, before = session.rows, session.counted
    if before is not None and before[0].turns is rows.turns and before[0].decisions is rows.decisions:
        return before[2]
    return Work.of(rows.turns, rows.decisions)
