"""Bytes on their way to the agent: each under its id, at most once, and what is done when they do not arrive.

The ledger has had the turn, or the control write, before anything here is called. That the bytes went is read from the
spool's records, not from the answer to the call; the answer matters only where they did not go.
"""

import contextlib
import logging
from typing import TYPE_CHECKING

from coordinator import machine
from coordinator.custody.types import WriteOutcome
from coordinator.recording import keyed_digest
from store import control_writes, turns
from store.db import Tx
from store.vocab import EndReason, TurnId

if TYPE_CHECKING:
    from coordinator.session import HeldSession

log = logging.getLogger(__name__)


async def write_turn(session: "HeldSession", turn: TurnId, data: bytes) -> None:
    """Write a recorded turn."""
    supervisor = session.supervisor
    if supervisor is None:
        return
    try:
        outcome = await supervisor.write(turn, data)
    except (ConnectionError, OSError):
        outcome = WriteOutcome.LOST
    match outcome:
        case WriteOutcome.WROTE | WriteOutcome.ALREADY:
            pass
        case WriteOutcome.CANCELLED:
            await _never_went(session, turn)
        case WriteOutcome.FAILED:
            session.order_end(EndReason.WRITE_FAILED)
        case WriteOutcome.FENCED | WriteOutcome.LOST | WriteOutcome.BEGUN:
            pass  # the hold is ending, or its wire is gone: the spool's proof settles the turn at its end


async def _never_went(session: "HeldSession", turn: TurnId) -> None:
    def cancel(tx: Tx) -> None:
        turns.cancel(tx, id=turn)

    await session.write(cancel)
    session.inbox.command(machine.TurnNotSent(id=turn))


async def write_control(session: "HeldSession", write: str, data: bytes, what: str) -> None:
    """Record a control write, then send it."""
    digest = keyed_digest(session.house.digest_key, data)

    def record(tx: Tx) -> None:
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
    with contextlib.suppress(ConnectionError, OSError):
        outcome = await supervisor.write(write, data)
        if outcome is WriteOutcome.FAILED:
            session.order_end(EndReason.WRITE_FAILED)
