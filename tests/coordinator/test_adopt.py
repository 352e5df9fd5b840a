"""A console that is killed, and the next one: the same live turn goes on, nothing doubled, nothing missing, nothing
left."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coordinator.api import AnswerDecision, Done, Finish, Say, Stop
from coordinator.custody import spoolfile
from coordinator.custody.processes import carriers, kill_carriers
from coordinator.custody.types import RecordKind
from coordinator.drivers import registry
from coordinator.drivers.base import TRANSIENT, Allow
from store import custody, events
from store.verify import verify
from store.vocab import DecisionState, EndReason, RunId, RunOutcome, TurnResultKind, TurnState
from tests.coordinator.held import Holding, bash, holding, script
from tests.waiting import eventually, wait_until

ROOT = Path(__file__).parents[2]


class Killed:
    """A console in a process of its own."""

    def __init__(self, folder: Path, *told: str, module: str = "tests.children.holding_console") -> None:
        """``told``: the brief, then what else the module takes."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, str(folder), *told], cwd=ROOT, stdout=subprocess.PIPE, bufsize=0
        )
        self.last: dict[str, Any] = {}
        self._begun = b""

    def until(self, look: Callable[[dict[str, Any]], object], timeout: float = 60.0) -> dict[str, Any]:
        """What it said that was looked for.

        Raises:
            AssertionError: it ended, or said nothing of the kind in time. It is killed then.
        """
        out, end = self.process.stdout, time.monotonic() + timeout
        assert out is not None
        while True:
            while b"\n" in self._begun:
                line, _, self._begun = self._begun.partition(b"\n")
                self.last = json.loads(line)
                if look(self.last):
                    return self.last
            ready, _, _ = select.select([out], [], [], max(0.0, end - time.monotonic()))
            more = out.read(65_536) if ready else b""
            if not more:
                self.kill()
                why = "the console ended" if ready else f"the console said nothing of it within {timeout} s"
                raise AssertionError(f"{why}; last: {self.last}")
            self._begun += more

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)


@pytest.mark.parametrize(("brief", "why"), [("", "within 0.1 s"), ("!", "ended")])
def test_a_child_that_says_nothing_more_fails_its_test_and_is_gone(tmp_path: Path, brief: str, why: str) -> None:
    silent = Killed(tmp_path, brief, module="tests.children.silent_console")
    with pytest.raises(AssertionError, match=why):
        silent.until(lambda said: said, timeout=0.1 if not brief else 30.0)
    assert silent.process.returncode is not None


async def everything_once(held: Holding, run: RunId) -> None:
    """The ledger's events are what a fresh driver finds in the whole spool, each once; and the books verify."""
    ledger = held.coordinator.house.ledger
    row = await ledger.read(lambda tx: custody.of_run(tx, run))
    assert row is not None
    driver = registry.create("rehearsal", "again")
    assert driver is not None
    expected = set()
    for record in spoolfile.read_spool(held.coordinator.house.settings.spool / row.id / "spool"):
        if record.kind is RecordKind.STDOUT:
            found = driver.feed(record.data)
            expected |= {(record.offset, n) for n, event in enumerate(found) if not isinstance(event, TRANSIENT)}
    rows = await ledger.read(lambda tx: events.page(tx, run, limit=1_000_000))
    keys = [(row.offset, row.n) for row in rows if row.kind != "stderr"]
    assert len(keys) == len(set(keys))
    assert len(keys) == len(expected)
    assert await ledger.read(verify) is None


async def test_the_next_console_carries_on_the_same_live_turn(tmp_path: Path) -> None:
    steps = [{"text": f"part {n} " + "word " * 50, "slow": 0.01, "chunks": 20} for n in range(1)]
    plan = {"tools": [{"name": "TodoWrite", "input": {"todos": [{"content": "look", "status": "pending"}]}}]}
    brief = "go " + script(plan, bash("echo one > one.txt"), *steps, {"text": "the end"})
    first = Killed(tmp_path, brief)
    seen = await asyncio.to_thread(first.until, lambda said: said["decisions"] == ["open"])
    first.kill()
    assert carriers(seen["nonce"])
    async with holding(tmp_path) as held:
        run = RunId(seen["run"])
        assert held.coordinator.swept.picked_up == (run,)
        # What the panel shows comes back with the hold, a moment after what is in the ledger's own rows.
        view = await held.until(run, lambda v: v.plan and v.decisions and v.decisions[0].state is DecisionState.OPEN)
        asked = view.decisions[0]
        assert view.plan == (("pending", "look"),)
        answer = AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        assert isinstance(await held.do(answer), Done)
        view = await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert view.turns[0].result is TurnResultKind.SUCCESS and (held.tree / "one.txt").exists()
        await held.do(Say(run=run, text="again " + script({"text": "yes"})))
        view = await held.until(run, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED)
        await held.do(Finish(run=run))
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.outcome is RunOutcome.FINISHED
        await held.coordinator.sessions[run].ended.wait()
        assert carriers(seen["nonce"]) == []
        await everything_once(held, run)


async def test_a_keeper_that_ended_meanwhile_is_settled_from_its_spool(tmp_path: Path) -> None:
    first = Killed(tmp_path, "go " + script({"text": "hello"}))
    seen = await asyncio.to_thread(first.until, lambda said: said["turns"] == ["settled"])
    first.kill()
    folder = next((tmp_path / "spool").iterdir())
    from coordinator.custody.client import fence_by_socket, read_cookie

    assert await fence_by_socket(folder, read_cookie(folder) or "", EndReason.CONSOLE_LOST)
    await eventually(lambda: not spoolfile.spool_is_locked(folder), timeout=30)
    async with holding(tmp_path) as held:
        run = RunId(seen["run"])
        view = await held.until(run, lambda v: v.outcome is not None)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.CONSOLE_LOST)
        assert view.receipt is not None and not view.receipt.remaining
        await held.coordinator.sessions[run].ended.wait()
        await everything_once(held, run)


async def test_console_keeper_and_worker_all_killed_is_orphaned_and_nothing_lives(tmp_path: Path) -> None:
    first = Killed(tmp_path, "go " + script({"do": "silence"}))
    seen = await asyncio.to_thread(first.until, lambda said: said["turns"] == ["accepted"])
    first.kill()
    from store.db import read_ledger
    from store.vocab import Millis

    with read_ledger(tmp_path / "ledger.db", now=lambda: Millis(0)) as tx:
        row = custody.of_run(tx, RunId(seen["run"]))
    assert row is not None and row.keeper_pid and row.supervisor_pid
    # Stopped first, or the worker might see its keeper go and begin to end the agent itself.
    os.kill(row.supervisor_pid, signal.SIGSTOP)
    os.kill(row.keeper_pid, signal.SIGKILL)
    os.kill(row.supervisor_pid, signal.SIGKILL)
    folder = tmp_path / "spool" / row.id
    wait_until(lambda: not spoolfile.spool_is_locked(folder))
    async with holding(tmp_path) as held:
        run = RunId(seen["run"])
        view = await held.until(run, lambda v: v.outcome is not None)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.ORPHANED)
        assert view.turns[0].state is TurnState.UNCERTAIN
        assert carriers(seen["nonce"]) == [] and kill_carriers(seen["nonce"]) == []
        await held.coordinator.sessions[run].ended.wait()
        await everything_once(held, run)


async def test_a_second_console_leaves_a_living_ones_hold_alone(tmp_path: Path) -> None:
    first = Killed(tmp_path, "go " + script({"do": "silence"}))
    seen = await asyncio.to_thread(first.until, lambda said: said["turns"] == ["accepted"])
    try:
        async with holding(tmp_path) as held:
            run = RunId(seen["run"])
            view = await held.until(run, lambda v: v.owner)
            assert "Ada" in view.owner and view.outcome is None
            refused = await held.do(Stop(run=run))
            assert getattr(refused, "reason", None) == "owned-by-another"
        assert carriers(seen["nonce"])
    finally:
        first.kill()
    async with holding(tmp_path) as held:
        await held.do(Stop(run=RunId(seen["run"])))
        await held.until(RunId(seen["run"]), lambda v: v.outcome is not None)
        assert carriers(seen["nonce"]) == []
