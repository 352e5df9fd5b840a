"""The timers of one session: what is due, renewals of the hold, silence, clocks that step. Named, few, and all here.

Durations are monotonic. A timer only says that its time has come; what then happens is the machine's, or the keeper's.
"""

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from coordinator import catchup, extending, foretold, machine, stuck, turntimeout, worklimit
from coordinator.constants import Timing
from coordinator.plurals import plural
from store import attention
from store.vocab import AttentionKind, EndReason

if TYPE_CHECKING:
    from coordinator.session import HeldSession

MOST_AT_REST = 60.0
"""Seconds."""
log = logging.getLogger(__name__)


async def fire(session: "HeldSession") -> None:
    now = session.house.clock.monotonic()
    due = [name for name, at in session.deadlines.items() if at <= now]
    for name in due:
        session.deadlines.pop(name, None)
        match name:
            case "renew":
                await renew(session)
                if session.stop_reason is None:
                    await foretold.look(session, session.wall.left(session.limits.expires_at))
            case "start":
                if not session.state.ready:
                    session.order_end(EndReason.START_TIMEOUT)
            case "interrupt":
                await session.decide(machine.InterruptLate())
            case "interrupt-ack":
                await interrupt_heard(session)
            case "catch-up":
                await _catch_up(session)
            case foretold.TIMER:
                await foretold.silence_is_due(session)
            case extending.TIMER:
                await extending.look_after(session)
            case stuck.TIMER:
                pass  # nothing new of what remained
            case turntimeout.TIMER:
                await turntimeout.passed(session)
            case worklimit.TIMER:
                await worklimit.watch(session, again=True)
            case _:
                log.warning("run %s: no timer is called %s", session.run_id, name)


def renewal_in(timing: Timing, remaining: float, *, at_rest: bool) -> float:
    """Seconds until the keeper is to hear of this console again, which it now gives ``remaining`` seconds.

    At rest that is a tenth of them: with fifty holds the renewals are nearly all that an idle console does. Nothing is
    found out later by it but what nobody waits for; a step of the clock is looked for once for all holds
    (``following``).
    """
    if not at_rest:
        return timing.hold_renewal
    return max(timing.hold_renewal, min(MOST_AT_REST, remaining / 10))


def keep_up(session: "HeldSession") -> None:
    """A turn began: what is timed from renewals is timed closely again."""
    due, now = session.deadlines.get("renew"), session.house.clock.monotonic()
    soon = session.house.settings.timing.hold_renewal
    if due is not None and session.state.turns and due > now + soon:
        session.set_deadline("renew", soon)


async def renew(session: "HeldSession") -> None:
    """Say to the supervisor that this actor answers. Expiry is looked at here too, by the wall clock."""
    supervisor, timing = session.supervisor, session.house.settings.timing
    session.set_deadline("renew", timing.hold_renewal)
    if supervisor is None or session.stop_reason is not None:
        return
    session.wall, stepped = session.wall.at(session.house.clock.now(), session.house.clock.monotonic())
    left = session.wall.left(session.limits.expires_at)
    if stepped:
        await _clock_stepped(session, left)
    if left <= 0:
        session.order_end(EndReason.EXPIRED)
        return
    at_rest = session.state.ready and not session.state.turns and session.wall.grace_until is None
    # A console that is lost just before its next renewal leaves the whole of ``hold_seconds`` too.
    remaining = timing.hold_seconds + renewal_in(timing, timing.hold_seconds, at_rest=at_rest)
    reason = EndReason.CONSOLE_LOST
    if left < remaining:
        remaining, reason = left, EndReason.EXPIRED
    lapse = session.house.attendance.lapses_in(session.house.clock.monotonic())
    if lapse < remaining:
        remaining, reason = lapse, EndReason.LAPSED
    remaining, reason = promised(session, remaining, reason)
    session.set_deadline("renew", renewal_in(timing, remaining, at_rest=at_rest))
    with contextlib.suppress(ConnectionError, OSError):
        # Bounded: one that does not answer must not keep this actor from a stop.
        async with asyncio.timeout(timing.command):
            # The keeper looks at the wall clock too; while a step of it is being told, it must not.
            end = session.limits.expires_at if session.wall.grace_until is None else None
            await supervisor.hold(remaining, reason=reason, expires_at_ms=end)


def promised(session: "HeldSession", remaining: float, reason: EndReason) -> tuple[float, EndReason]:
    """How long its keeper may hold it at most, and why it ends then: the hard ends that the operator chose for a turn
    and for its work hold without a console too. The keeper counts on through what no console sees, a turn that ends
    among it: such an end never comes late, and may come early."""
    house = session.house
    late = session.turn_watch.left(house.settings.timing.turn_timeout, house.clock.monotonic())
    if late is not None and late < remaining and house.settings.at_timeout == "fence":
        remaining, reason = late, EndReason.TURN_TIMEOUT
    work = worklimit.left(session) if session.state.limits.fence_at_budget else None
    if work is not None and work < remaining:
        remaining, reason = work, EndReason.BUDGET_EXHAUSTED
    return remaining, reason


async def interrupt_heard(session: "HeldSession") -> None:
    session.interrupt_write = ""
    session.set_deadline("interrupt-ack", None)
    await session.decide(machine.InterruptHeard())


async def _catch_up(session: "HeldSession") -> None:
    supervisor = session.supervisor
    size = supervisor.facts.get("spool_size") if supervisor is not None else 0
    if isinstance(size, int) and session.ingest.position < size and session.gone is None:
        session.set_deadline("catch-up", 0.02)
        return
    await catchup.catch_up(session)
    if session.state.restarting:
        session.set_deadline(extending.TIMER, 0.0)
    for order in session.early:
        session.inbox.command(order)
    session.early.clear()


async def _clock_stepped(session: "HeldSession", left: float) -> None:
    """The wall clock ran ahead (it was set, or the machine slept): a person is told before anything ends by it."""
    minutes = max(0, int(left / 60))
    text = f"the clock stepped forward; this run ends in {plural(minutes, 'minute')} by it"
    await session.write(
        lambda tx: attention.raise_(tx, run=session.run_id, kind=AttentionKind.ENDS_SOON, key="clock", text=text)
    )
