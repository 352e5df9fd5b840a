"""The working time that the operator agreed to: counted again whenever its rows changed, and when it matters.

The machine decides what follows (``machine.Worked``); here it is only told, at four fifths, at the limit, and when a
turn began or ended. What counts is the ledger, never how long this console has been looking.
"""

from typing import TYPE_CHECKING

from coordinator import machine, worktime
from coordinator.rows import SessionRows

if TYPE_CHECKING:
    from coordinator.session import HeldSession

TIMER = "working"

Counted = tuple[SessionRows, int]
"""The rows and the limit that a count was made for: while both stay, only the timer brings something new."""


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
    worked = _worked(session)
    await session.decide(machine.Worked(ms=worked))
    # What the machine had to say about it changes rows, but no working time.
    session.counted = (session.rows, limit)
    moments = (limit * 8 // 10, limit)
    due = next((moment for moment in moments if moment > worked), None)
    counts = worktime.runs_now(session.rows.turns, session.rows.decisions)
    session.set_deadline(TIMER, (due - worked) / 1000 if due is not None and counts else None)


def left(session: "HeldSession") -> float | None:
    """Seconds that it may still work; None: there is no limit, or nothing counts just now."""
    limit = session.limits.working_ms
    if limit is None or not worktime.runs_now(session.rows.turns, session.rows.decisions):
        return None
    return max(0.0, (limit - _worked(session)) / 1000)


def _worked(session: "HeldSession") -> int:
    return worktime.worked_ms(session.rows.turns, session.rows.decisions, session.house.clock.now())
