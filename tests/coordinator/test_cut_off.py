"""A turn that was cut off while no console was there ended when its agent was gone, not when somebody came to see it.

Nobody looks for hours; what the run is said to have worked, and what a day is said to have cost, does not grow by them.
"""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from coordinator.api import SessionView
from coordinator.custody import spoolfile
from coordinator.custody.client import fence_by_socket, read_cookie
from coordinator.custody.processes import carriers
from coordinator.custody.types import RecordKind, WriteProof
from coordinator.settling import Ending, close_hold
from store import custody, turns
from store.db import Tx, read_ledger
from store.verify import verify
from store.vocab import CustodyId, EndReason, MicroUsd, Millis, RunId, RunOutcome, StopResult, TurnId, TurnState
from tests.coordinator.held import Holding, holding, script
from tests.coordinator.test_adopt import Killed
from tests.coordinator.test_worklimit import MINUTE, PATIENT, Moved
from tests.store.scenes import NOON, held as held_in, in_memory, said
from tests.waiting import wait_until

HOURS = 5 * 60


def left_working(folder: Path) -> tuple[RunId, str, Path]:
    """A run whose console was killed in the middle of its turn: its number, its nonce, its spool folder."""
    first = Killed(folder, "go " + script({"do": "silence"}))
    seen = first.until(lambda told: told["turns"] == ["accepted"])
    first.kill()
    return RunId(seen["run"]), seen["nonce"], next((folder / "spool").iterdir())


async def hours_later(held: Holding, run: RunId) -> SessionView:
    view = await held.until(run, lambda v: v.outcome is not None)
    await held.coordinator.sessions[run].ended.wait()
    assert view.turns[0].state is TurnState.UNCERTAIN
    assert view.budget.working_ms < 2 * MINUTE, "nobody worked in those hours"
    assert await held.coordinator.house.ledger.read(verify) is None
    return view


@pytest.mark.parametrize("keeper", ["waits", "is gone"])
async def test_its_keeper_saw_it_go_and_knows_when(tmp_path: Path, keeper: str) -> None:
    run, _, folder = await asyncio.to_thread(left_working, tmp_path)
    with read_ledger(tmp_path / "ledger.db", now=lambda: Millis(0)) as tx:
        row = custody.of_run(tx, run)
    assert row is not None and row.agent_pid is not None
    os.kill(row.agent_pid, signal.SIGKILL)

    def exits() -> list[int]:
        return [one.at_ms for one in spoolfile.read_spool(folder / "spool") if one.kind is RecordKind.EXIT]

    (gone,) = await asyncio.to_thread(wait_until, exits)
    if keeper == "is gone":
        assert await fence_by_socket(folder, read_cookie(folder) or "", EndReason.CONSOLE_LOST)
        await asyncio.to_thread(wait_until, lambda: not spoolfile.spool_is_locked(folder), 30)
    clock = Moved()
    clock.minutes(HOURS)
    async with holding(tmp_path, timing=PATIENT, clock=clock) as held:
        view = await hours_later(held, run)
        assert view.turns[0].ended_at == gone
        day = Millis(gone + MINUTE)
        spent = await held.coordinator.house.ledger.read(lambda tx: turns.spent_since(tx, since=day))
        assert spent == 0, "nor is its guessed cost another day's"


async def test_everything_was_gone_at_once_and_the_last_that_was_heard_counts(tmp_path: Path) -> None:
    run, nonce, folder = await asyncio.to_thread(left_working, tmp_path)
    with read_ledger(tmp_path / "ledger.db", now=lambda: Millis(0)) as tx:
        row = custody.of_run(tx, run)
    assert row is not None and row.keeper_pid and row.supervisor_pid
    os.kill(row.supervisor_pid, signal.SIGSTOP)  # or it would note that its keeper goes
    for pid in (row.keeper_pid, row.supervisor_pid, *carriers(nonce)):
        os.kill(pid, signal.SIGKILL)
    await asyncio.to_thread(wait_until, lambda: not spoolfile.spool_is_locked(folder) and not carriers(nonce), 30)
    heard = spoolfile.last_heard(folder / "spool")
    clock = Moved()
    clock.minutes(HOURS)
    async with holding(tmp_path, timing=PATIENT, clock=clock) as held:
        view = await hours_later(held, run)
        assert view.reason == EndReason.ORPHANED
        assert heard is not None and (view.turns[0].ended_at or 0) - heard < MINUTE


@pytest.mark.parametrize(
    ("at", "ended"),
    [(None, 9), (5, 5), (9, 9), (20, 9), (1, 3)],
    ids=["just now", "while nobody looked", "now", "a clock that ran ahead", "a clock that was set back"],
)
def test_a_turn_ends_between_its_beginning_and_now(at: int | None, ended: int) -> None:
    def second(tx: Tx, n: int) -> Tx:
        return Tx(tx.conn, Millis(NOON + n * 1000))

    with in_memory() as tx:
        run, hold = held_in(tx)
        said(second(tx, 2), run.id)
        turns.written(second(tx, 3), id=TurnId("turn-1"))
        ending = Ending(
            run=run.id,
            custody=CustodyId(hold),
            generation=1,
            outcome=RunOutcome.INTERRUPTED,
            reason=EndReason.CONSOLE_LOST,
            detail="",
            proofs=(("turn-1", WriteProof.WHOLE),),
            guess=MicroUsd(100_000),
            receipt="",
            remaining=0,
            stop_result=StopResult.ALREADY_ENDED,
            cut_off_at=None if at is None else Millis(NOON + at * 1000),
        )
        close_hold(second(tx, 9), ending)
        (turn,) = turns.of_run(tx, run.id)
        assert (turn.state, turn.ended_at) == (TurnState.UNCERTAIN, NOON + ended * 1000)
        assert verify(tx) is None
