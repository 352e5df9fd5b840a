"""The longest that one turn may work: a stopwatch that stands still while the operator is awaited, and what follows.

Off unless the operator set it. It interrupts and then asks, or fences where that was chosen. ``TurnWatch`` is pure;
``watch`` and ``passed`` run in the session's own task. A console that takes a turn over starts the stopwatch where it
stands by the ledger's times (``taken_over``): that one was killed gives a turn no time of its own.
"""

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from coordinator import machine
from coordinator.rows import SessionRows
from coordinator.worktime import working_ms
from store import attention
from store.vocab import AttentionKind, EndReason, Millis, TurnId

if TYPE_CHECKING:
    from coordinator.session import HeldSession

TIMER = "turn-timeout"
KEY = "turn-timeout"


class TurnWatch(Struct, frozen=True, kw_only=True):
    """How long the turn in flight has worked, by the monotonic clock."""

    turn: TurnId | None = None
    worked: float = 0.0
    """Seconds, up to ``since``."""
    since: float | None = None
    """When it last began to run; None: it stands still."""
    over: bool = False
    """It was too long, and that was acted on: once for each turn."""

    def at(self, turn: TurnId | None, *, awaited: bool, now: float) -> "TurnWatch":
        """As it is now, with this turn in flight, the operator awaited or not."""
        if turn != self.turn:
            return TurnWatch(turn=turn, since=None if awaited or turn is None else now)
        if self.since is not None and awaited:
            return replace(self, worked=self.worked + now - self.since, since=None)
        if self.since is None and turn is not None and not awaited:
            return replace(self, since=now)
        return self

    def left(self, timeout: float | None, now: float) -> float | None:
        """Seconds that it may still work; None: nothing counts just now."""
        if timeout is None or self.turn is None or self.since is None or self.over:
            return None
        return max(0.0, timeout - self.worked - (now - self.since))


def taken_over(rows: SessionRows, flying: TurnId | None, *, wall: Millis, now: float) -> TurnWatch:
    """As it stands for a turn that another console sent: from when it went, less the time in which a decision was open.

    By the wall clock, the only one that two consoles share: where it was set back meanwhile, less is counted.
    """
    turn = next((one for one in rows.turns if one.id == flying), None)
    if turn is None:
        return TurnWatch()
    # That its bytes went may stand in the spool alone; it was recorded only a moment before.
    went = turn.written_at or turn.accepted_at or turn.recorded_at
    awaited = [(one.asked_at, one.answered_at or one.ended_at or wall) for one in rows.decisions]
    worked = working_ms([(went, wall)], awaited) / 1000
    return TurnWatch(turn=turn.id, worked=worked, since=None if rows.open_decisions else now)


async def watch(session: "HeldSession") -> None:
    """Look again after whatever happened: a turn began or ended, a decision was asked or answered."""
    timeout = session.house.settings.timing.turn_timeout
    if timeout is None:
        return
    flying = session.state.turns[0].id if session.state.turns else None
    now = session.house.clock.monotonic()
    was = session.turn_watch
    # An agent that is still starting has no turn to interrupt: how long that takes has a limit of its own.
    still = bool(session.rows.open_decisions) or not session.state.ready
    session.turn_watch = was.at(flying, awaited=still, now=now)
    session.set_deadline(TIMER, session.turn_watch.left(timeout, now))
    if flying is not None and flying != was.turn:
        # What was asked after the one before it is answered by this one.
        await session.write(
            lambda tx: attention.clear(tx, run=session.run_id, kind=AttentionKind.STALLED, key=KEY, by="turn")
        )


async def passed(session: "HeldSession") -> None:
    """The timer came."""
    timeout, settings = session.house.settings.timing.turn_timeout, session.house.settings
    turn = session.turn_watch.turn
    if timeout is None or turn is None or all(one.id != turn for one in session.state.turns):
        return
    session.turn_watch = replace(session.turn_watch, over=True)
    if settings.at_timeout == "fence":
        session.order_end(EndReason.TURN_TIMEOUT)
        return
    text = f"its turn took longer than {timeout / 60:g} min and was interrupted: say how to go on"
    await session.write(
        lambda tx: attention.raise_(tx, run=session.run_id, kind=AttentionKind.STALLED, key=KEY, text=text)
    )
    await session.decide(machine.InterruptAsked(turn=turn))
