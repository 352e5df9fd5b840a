"""Bytes on their way to the agent: each under its id, at most once, and what is done when they do not arrive.

The ledger has had the turn, or the control write, before anything here is called. That the bytes went is read from the
spool's records, not from the answer to the call; the answer matters only where they did not go.
"""

import contextlib
from typing import TYPE_CHECKING

from coordinator import machine, settling, steps
from coordinator.custody.client import Supervisor
from coordinator.custody.types import WriteOutcome
from coordinator.recording import keyed_digest
from coordinator.steps import Step
from store import control_writes
from store.db import Tx
from store.vocab import EndReason, TurnId

if TYPE_CHECKING:
    from coordinator.session import HeldSession


async def write_turn(session: "HeldSession", turn: TurnId, data: bytes) -> bool:
    """Write a recorded turn. Whether its last byte went, as far as it is known now."""
    supervisor = session.supervisor
    if supervisor is None:
        return False
    steps.reach(Step.TURN_BEFORE_WRITE)
    try:
        outcome = await supervisor.write(turn, session.driver.addressed(data))
    except (ConnectionError, OSError):
        outcome = WriteOutcome.LOST
    steps.reach(Step.TURN_AFTER_WRITE)
    match outcome:
        case WriteOutcome.WROTE | WriteOutcome.ALREADY:
            pass
        case WriteOutcome.CANCELLED:
            await _never_went(session, turn)
        case WriteOutcome.FAILED:
            session.order_end(EndReason.WRITE_FAILED)
        case WriteOutcome.FENCED | WriteOutcome.LOST | WriteOutcome.BEGUN:
            pass  # the hold is ending, or its wire is gone: the spool's proof settles the turn, then or at its end
    return outcome in (WriteOutcome.WROTE, WriteOutcome.ALREADY)


async def _never_went(session: "HeldSession", turn: TurnId) -> None:
    def cancel(tx: Tx) -> None:
        settling.not_sent(tx, turn)

    session.driver.never_went(turn)
    await session.write(cancel)
    session.inbox.command(machine.TurnNotSent(id=turn))


async def write_control(session: "HeldSession", write: str, data: bytes, what: str) -> None:
    """Record a control write, then send it."""
    digest = keyed_digest(session.house.digest_key, data)

    def record(tx: Tx) -> None:
        if control_writes.get(tx, session.run_id, write) is not None:
            return  # a reply that the console before had in the books: the keeper knows whether its bytes went
        control_writes.asked(
            tx,
            run=session.run_id,
            id=write,
            generation=session.generation,
            what=what,
            length=len(data),
            digest=digest,
        )

    await session.write(record)
    session.spawn(send(session, write, data), what)


async def send(session: "HeldSession", write: str, data: bytes) -> None:
    supervisor = session.supervisor
    if supervisor is None:
        return
    steps.reach(Step.CONTROL_BEFORE_WRITE)
    with contextlib.suppress(ConnectionError, OSError):
        outcome = await supervisor.write(write, data)
        steps.reach(Step.CONTROL_AFTER_WRITE)
        if outcome is WriteOutcome.FAILED:
            session.order_end(EndReason.WRITE_FAILED)


def renew_farewell(session: "HeldSession") -> None:
    """Leave with the keeper what would end this agent well by now, where that has changed."""
    supervisor = session.supervisor
    if supervisor is None or session.gone is not None:
        return
    wanted = session.driver.farewell()
    if wanted != session.farewell:
        session.farewell = wanted
        session.spawn(_leave_farewell(session, supervisor, wanted), "farewell")


async def _leave_farewell(session: "HeldSession", supervisor: Supervisor, wanted: bytes) -> None:
    with contextlib.suppress(ConnectionError, OSError):
        await supervisor.farewell(wanted, pause=session.driver.capabilities.farewell_pause)
