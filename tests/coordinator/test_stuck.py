"""A hold whose processes would not die, under a console that lives on: looked at again, closed when they are gone, and
told once.

A frozen process takes no signal, not even KILL; where this machine has no freezer, there is nothing to try it with.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator.api import Done, Stop, Sweep
from coordinator.clock import RealClock
from coordinator.custody import leftovers, spoolfile
from coordinator.custody.processes import carriers
from coordinator.custody.types import Ladder
from coordinator.ids import RealIds
from coordinator.passing import Passed, pass_by
from store import attention, custody, entries, receipts
from store.attention import AttentionItem
from store.db import Tx
from store.verify import verify
from store.vocab import AttentionKind, CustodyState, RunId, RunOutcome, TurnState
from tests.coordinator.held import QUICK, Holding, holding, script
from tests.waiting import eventually, wait_until

HASTY = replace(QUICK, ladder=Ladder(farewell=0.1, eof=0.1, term=0.1, total=0.3, not_dying=0.3))


class Freezer:
    def __init__(self) -> None:
        self.folder = Path("/sys/fs/cgroup/freezer") / f"footplate-stuck-{os.getpid()}"
        self.folder.mkdir()

    def freeze(self, pid: int) -> None:
        (self.folder / "cgroup.procs").write_text(str(pid))
        self._to("FROZEN")

    def thaw(self) -> None:
        self._to("THAWED")

    def _to(self, state: str) -> None:
        (self.folder / "freezer.state").write_text(state)
        wait_until(lambda: (self.folder / "freezer.state").read_text().strip() == state, 5, state)


@pytest.fixture
def freezer() -> Iterator[Freezer]:
    try:
        made = Freezer()
    except OSError:
        pytest.skip("no v1 freezer can be made here: a process that will not die is not tried")
    yield made
    made.thaw()
    wait_until(lambda: not (made.folder / "cgroup.procs").read_text(), 5, "nobody is in it")
    made.folder.rmdir()


async def stuck(held: Holding, freezer: Freezer) -> RunId:
    """A run that was stopped, and its agent is still there."""
    run = await held.start("go " + script({"do": "silence"}))
    await held.until(run, lambda v: v.turns and v.turns[0].state is TurnState.ACCEPTED)
    session = held.coordinator.sessions[run]
    row = session.rows.custody
    assert row is not None and row.agent_pid is not None
    freezer.freeze(row.agent_pid)
    assert isinstance(await held.do(Stop(run=run)), Done)
    view = await held.until(run, lambda v: v.outcome is not None)
    assert view.receipt is not None and [one.pid for one in view.receipt.remaining] == [row.agent_pid]
    assert view.custody is CustodyState.FENCING
    return run


async def pages(held: Holding) -> list[AttentionItem]:
    items: list[AttentionItem] = await held.coordinator.house.ledger.read(attention.open_items)
    return [one for one in items if one.kind is AttentionKind.PAGE]


async def swept(held: Holding, run: RunId) -> None:
    assert isinstance(await held.do(Sweep()), Done)
    await held.coordinator.sessions[run].ended.wait()


async def test_a_sweep_looks_again_at_this_consoles_own_and_closes_it_when_they_are_gone(
    tmp_path: Path, freezer: Freezer
) -> None:
    async with holding(tmp_path, timing=HASTY) as held:
        ledger = held.coordinator.house.ledger
        run = await stuck(held, freezer)
        nonce = held.coordinator.sessions[run].nonce
        before = await pages(held)
        assert [one.key for one in before] == ["remaining"]
        for _ in range(3):
            await swept(held, run)
        assert await pages(held) == before, "told once, and it stays"
        row = await ledger.read(lambda tx: custody.of_run(tx, run))
        assert row is not None and row.state is CustodyState.FENCING

        freezer.thaw()
        await eventually(lambda: not carriers(nonce), 10)
        await swept(held, run)
        view = await held.until(run, lambda v: v.custody is CustodyState.CLOSED)
        assert view.outcome is RunOutcome.INTERRUPTED and view.receipt is not None and not view.receipt.remaining
        assert await pages(held) == []

        def kept(tx: Tx) -> tuple[list[int], list[str]]:
            ended = [one.kind for one in entries.entries_of(tx, run) if one.kind in ("run.ended", "custody.closed")]
            return [one.remaining for one in receipts.of_run(tx, run)], ended

        assert await ledger.read(kept) == ([0], ["run.ended", "custody.closed"])
        assert await ledger.read(verify) is None
        assert await held.start("the tree is free again")


async def test_where_its_keeper_is_gone_too_what_remained_is_looked_for_from_here(
    tmp_path: Path, freezer: Freezer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "PATIENCE", 0.2)
    async with holding(tmp_path, timing=HASTY) as held:
        ledger = held.coordinator.house.ledger
        run = await stuck(held, freezer)
        session = held.coordinator.sessions[run]
        row = session.rows.custody
        assert row is not None and row.keeper_pid is not None and row.supervisor_pid is not None
        os.kill(row.supervisor_pid, signal.SIGSTOP)  # or it would note that its keeper goes
        os.kill(row.keeper_pid, signal.SIGKILL)
        os.kill(row.supervisor_pid, signal.SIGKILL)
        await eventually(lambda: not spoolfile.spool_is_locked(session.folder))
        before = await pages(held)
        await swept(held, run)
        found = await ledger.read(lambda tx: custody.of_run(tx, run))
        assert found is not None and found.state is CustodyState.FENCING and await pages(held) == before
        freezer.thaw()
        await swept(held, run)
        await held.until(run, lambda v: v.custody is CustodyState.CLOSED)
        assert carriers(session.nonce) == [] and await pages(held) == []
        assert [one.remaining for one in await ledger.read(lambda tx: receipts.of_run(tx, run))] == [0]
        assert await ledger.read(verify) is None


async def test_a_sweep_of_another_process_helps_a_living_consoles_own(tmp_path: Path, freezer: Freezer) -> None:
    async with holding(tmp_path, timing=HASTY) as held:
        ledger = held.coordinator.house.ledger
        run = await stuck(held, freezer)
        nonce = held.coordinator.sessions[run].nonce
        freezer.thaw()
        await eventually(lambda: not carriers(nonce), 10)
        passed = await pass_by(
            settings=replace(held.coordinator.house.settings, passing=True),
            profiles=held.coordinator.house.profiles,
            ledger_path=tmp_path / "ledger.db",
            clock=RealClock(),
            ids=RealIds(),
        )
        assert isinstance(passed, Passed) and passed.settled == (run,)
        row = await ledger.read(lambda tx: custody.of_run(tx, run))
        assert row is not None and row.state is CustodyState.CLOSED and await pages(held) == []
        view = await held.until(run, lambda v: v.custody is CustodyState.CLOSED)
        assert view.receipt is not None and not view.receipt.remaining, "and the console shows it so"
