"""What the tests of storms are made of: a step to act at, a locked ledger, the proof that a run left nothing behind."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from coordinator import steps
from coordinator.custody.processes import carriers, is_alive
from coordinator.session import HeldSession
from coordinator.steps import Step
from store import authorizations, custody, queued, runs, stops, turns
from store.db import Tx
from store.verify import verify
from store.vocab import (
    AuthorizationId,
    AuthorizationState,
    CustodyState,
    RunId,
    StopState,
    TurnState,
)
from tests.coordinator.held import Holding, script
from tests.waiting import eventually

SILENT = "go " + script({"do": "silence"})
BRIEF_BUSY = 100
"""Milliseconds after which a locked ledger counts as busy here."""


@contextmanager
def at(step: Step, act: Callable[[], object]) -> Iterator[None]:
    """``act`` once, the first time that the step is reached."""
    waiting = [act]

    def hook(reached: Step) -> None:
        if reached is step and waiting:
            waiting.pop()()

    steps.install(hook)
    try:
        yield
    finally:
        steps.install(None)


@asynccontextmanager
async def locked(path: Path) -> AsyncIterator[None]:
    """Another process's transaction, as long as the block lasts."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
    try:
        yield
    finally:
        if other.in_transaction:
            other.execute("ROLLBACK")
        other.close()


async def impatient(held: Holding) -> Path:
    """Let a locked ledger be *busy* soon, instead of after five seconds."""
    ledger = held.coordinator.house.ledger
    from store.db import _hop

    await _hop(ledger._writer, lambda conn: conn.execute(f"PRAGMA busy_timeout = {BRIEF_BUSY}").fetchall())
    return ledger.path


def session_of(held: Holding, run: RunId) -> HeldSession:
    return held.coordinator.sessions[run]


async def settled(held: Holding, run: RunId) -> runs.Run:
    """The run is over, nothing of it lives, and the books say so."""
    session = session_of(held, run)
    async with asyncio.timeout(20):
        await session.ended.wait()
    assert carriers(session.nonce) == []
    if session.supervisor is not None:
        identities = [session.supervisor.identity, session.supervisor.keeper_identity]
        await eventually(lambda: not any(is_alive(one) for one in identities))

    def look(tx: Tx) -> runs.Run:
        row = runs.get(tx, run)
        assert row is not None and row.outcome is not None
        signed = authorizations.get(tx, AuthorizationId(row.authorization_id))
        assert signed is not None and signed.state is AuthorizationState.CLOSED
        hold = custody.of_run(tx, run)
        assert hold is None or hold.state is CustodyState.CLOSED
        assert turns.in_flight(tx, run) == []
        assert all(one.state is StopState.SETTLED for one in stops.of_run(tx, run))
        assert [one for one in queued.of_run(tx, run) if one.state == "waiting"] == []
        assert verify(tx) is None
        return row

    return await held.coordinator.house.ledger.read(look)


async def working(held: Holding, **more: object) -> RunId:
    run = await held.start(SILENT, **more)
    await held.until(run, lambda v: v.turns and v.turns[0].state is TurnState.ACCEPTED)
    return run
