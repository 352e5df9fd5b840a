"""Keeper and worker are killed while a daemon lives that nothing leads back to: no parent, no environment. Its cgroup
does, for the console that holds the run and for the one that comes after it."""

import asyncio
from pathlib import Path

from coordinator.custody import processes
from coordinator.custody.types import ProcessIdentity, Receipt
from coordinator.ids import RealIds
from store import custody
from store.db import read_ledger
from store.verify import verify
from store.vocab import CustodyId, EndReason, Millis, RunId
from tests.coordinator.held import Holding, holding, script
from tests.coordinator.test_adopt import Killed
from tests.supervisor import cgroupfs
from tests.waiting import eventually, wait_until


class Named(RealIds):
    """The first custody is called so that its cgroup can be played."""

    def custody(self) -> CustodyId:
        return CustodyId("c0")


def leaving(pid_file: Path) -> str:
    return "go " + script({"do": "daemon", "pid_file": str(pid_file)}, {"do": "silence"})


def daemon_of(pid_file: Path) -> ProcessIdentity:
    pid = int(wait_until(lambda: pid_file.exists() and pid_file.read_text(), 15, "the daemon's pid") or 0)
    identity = processes.identity_of(pid)
    assert identity is not None and b"FOOTPLATE" not in Path(f"/proc/{pid}/environ").read_bytes()
    return identity


def row_of(folder: Path, run: RunId) -> custody.Custody:
    with read_ledger(folder / "ledger.db", now=lambda: Millis(0)) as tx:
        row = custody.of_run(tx, run)
    assert row is not None
    return row


def kill_both(row: custody.Custody) -> None:
    assert row.supervisor_pid and row.supervisor_ticks and row.keeper_pid and row.keeper_ticks
    cgroupfs.kill_both(
        ProcessIdentity(boot_id=row.boot_id, pid=row.supervisor_pid, start_ticks=row.supervisor_ticks),
        ProcessIdentity(boot_id=row.boot_id, pid=row.keeper_pid, start_ticks=row.keeper_ticks),
    )


async def receipt_of(held: Holding, run: RunId) -> Receipt:
    view = await held.until(run, lambda v: v.outcome is not None, timeout=30)
    await held.coordinator.sessions[run].ended.wait()
    assert await held.coordinator.house.ledger.read(verify) is None
    assert view.receipt is not None
    return view.receipt


async def test_the_next_console_ends_what_only_its_cgroup_knows(tmp_path: Path) -> None:
    unified = cgroupfs.real()
    first = Killed(tmp_path, leaving(tmp_path / "pid"))
    seen = await asyncio.to_thread(first.until, lambda said: said["turns"] == ["accepted"])
    daemon = await asyncio.to_thread(daemon_of, tmp_path / "pid")
    first.kill()
    run = RunId(seen["run"])
    row = row_of(tmp_path, run)
    assert cgroupfs.of(daemon.pid).endswith(f"/footplate-{row.id}-1")
    kill_both(row)
    await eventually(lambda: not processes.carriers(row.nonce))
    assert processes.is_alive(daemon), "nothing of it is left but its cgroup"
    async with holding(tmp_path) as held:
        receipt = await receipt_of(held, run)
        assert receipt.reason == EndReason.ORPHANED and not receipt.remaining
        assert [(one.pid, one.step) for one in receipt.ended] == [(daemon.pid, "cgroup")]
        assert not processes.is_alive(daemon)
        assert not list(Path(unified).glob(f"footplate-{row.id}-*"))


async def test_played_the_console_that_holds_it_ends_it(tmp_path: Path) -> None:
    """The same on any machine: the folder plays the kernel."""
    with cgroupfs.played(tmp_path / "cg" / "footplate-c0-1") as played:
        async with holding(tmp_path, ids=Named(), cgroups=str(tmp_path / "cg")) as held:
            run = await held.start(leaving(tmp_path / "pid"))
            await held.until(run, lambda v: [turn.state for turn in v.turns] == ["accepted"])
            daemon = await asyncio.to_thread(daemon_of, tmp_path / "pid")
            played.put(daemon.pid)
            row = row_of(tmp_path, run)
            kill_both(row)
            receipt = await receipt_of(held, run)
            assert receipt.reason == EndReason.SUPERVISOR_LOST and not receipt.remaining
            assert daemon.pid in [one.pid for one in receipt.ended]
            assert played.kills == 1 and not processes.is_alive(daemon)
