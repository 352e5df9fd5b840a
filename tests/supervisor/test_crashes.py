"""kill -9 of every process of a hold, and what is proven afterwards."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from coordinator.custody import processes
from coordinator.custody.client import Supervisor
from coordinator.custody.receipts import receipt_from_facts
from coordinator.custody.spoolfile import cut_torn_tail, proof_of_write, read_header, read_spool, spool_is_locked
from coordinator.custody.types import RecordKind, SpawnFailure, WriteOutcome, WriteProof
from tests.supervisor.holding import Hold, Holds, gone
from tests.waiting import eventually


def _kinds(folder: Path) -> list[RecordKind]:
    return [record.kind for record in read_spool(folder / "spool")]


async def _hold_with_daemon(holds: Holds) -> Hold:
    hold = await holds.launch()
    await hold.start("daemon")
    await hold.supervisor.write("t1", b"hello\n")
    return hold


async def test_the_worker_dies_and_the_keeper_ends_everything(holds: Holds) -> None:
    hold = await _hold_with_daemon(holds)
    tree = await hold.tree()
    os.kill(hold.supervisor.identity.pid, signal.SIGKILL)
    await eventually(lambda: not spool_is_locked(hold.spec.folder))
    assert gone(tree) and len(tree) == 2
    assert hold.supervisor.lost
    assert await hold.supervisor.write("t2", b"x") is WriteOutcome.LOST
    records = list(read_spool(hold.spec.folder / "spool"))
    assert [r.kind for r in records][-3:] == [RecordKind.WORKER_LOST, RecordKind.GONE, RecordKind.END]
    receipt = receipt_from_facts(records[-2].facts)
    assert receipt.reason == "supervisor-lost"
    assert {p.pid for p in receipt.ended} == {identity.pid for identity in tree}
    assert receipt.agent_exit in ("SIGKILL", "0")  # by the parent-death signal, or by the end of its stdin just before
    assert proof_of_write(hold.spec.folder / "spool", "t1") is WriteProof.WHOLE
    assert proof_of_write(hold.spec.folder / "spool", "t2") is WriteProof.NEVER
    await eventually(lambda: gone([hold.supervisor.keeper_identity]))  # no zombie of ours stays either


async def test_a_worker_that_dies_while_fencing_keeps_the_first_reason(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("deaf")
    await hold.supervisor.fence("revoked")
    os.kill(hold.supervisor.identity.pid, signal.SIGKILL)
    await eventually(lambda: not spool_is_locked(hold.spec.folder))
    last = list(read_spool(hold.spec.folder / "spool"))[-2]
    assert receipt_from_facts(last.facts).reason == "revoked"


async def test_a_half_written_record_of_a_dead_worker_is_cut(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("deaf")
    os.kill(hold.supervisor.identity.pid, signal.SIGSTOP)
    spool = hold.spec.folder / "spool"
    with spool.open("ab") as file:  # as if it had been killed inside a write
        file.write(b"FP\x01\x03" + b"half" * 100)
    os.kill(hold.supervisor.identity.pid, signal.SIGKILL)
    await eventually(lambda: not spool_is_locked(hold.spec.folder))
    assert RecordKind.GAP not in _kinds(hold.spec.folder)
    assert _kinds(hold.spec.folder)[-1] is RecordKind.END


async def test_the_keeper_dies_and_the_worker_fences(holds: Holds) -> None:
    hold = await _hold_with_daemon(holds)
    tree = await hold.tree()
    os.kill(hold.supervisor.keeper_identity.pid, signal.SIGKILL)
    receipt = await hold.gone()
    assert receipt.reason == "supervisor-lost" and gone(tree)
    assert spool_is_locked(hold.spec.folder)  # the worker alone still holds it, to be read
    await hold.supervisor.end()
    await eventually(lambda: not spool_is_locked(hold.spec.folder))
    assert not (hold.spec.folder / "s").exists()


async def test_both_die_the_agent_goes_and_the_nonce_finds_the_rest(holds: Holds) -> None:
    hold = await holds.launch()
    started = await hold.start("stopped")  # a tool that keeps the agent's environment
    tree = await hold.tree()
    assert len(tree) == 2
    worker, keeper = hold.supervisor.identity, hold.supervisor.keeper_identity
    os.kill(keeper.pid, signal.SIGSTOP)
    os.kill(worker.pid, signal.SIGKILL)
    os.kill(keeper.pid, signal.SIGKILL)
    await eventually(lambda: not spool_is_locked(hold.spec.folder))
    await eventually(lambda: gone([started]))  # by its parent-death signal
    header = read_header(hold.spec.folder / "spool")
    assert header is not None and header["nonce"] == hold.spec.nonce
    tool = next(identity for identity in tree if identity != started)
    await eventually(lambda: set(processes.carriers(str(header["nonce"]))) <= {tool.pid})
    if processes.is_alive(tool):  # a stopped orphan may have been hung up by the kernel already
        await eventually(lambda: not processes.kill_carriers(str(header["nonce"])))
    await eventually(lambda: gone(tree))
    assert _kinds(hold.spec.folder)[-1] is not RecordKind.END


async def test_both_die_and_a_cleared_environment_is_the_documented_limit(holds: Holds) -> None:
    hold = await _hold_with_daemon(holds)
    tree = await hold.tree()
    daemon = next(i for i in tree if " up " in processes.name_of(i.pid))
    os.kill(hold.supervisor.keeper_identity.pid, signal.SIGSTOP)
    os.kill(hold.supervisor.identity.pid, signal.SIGKILL)
    os.kill(hold.supervisor.keeper_identity.pid, signal.SIGKILL)
    try:
        await eventually(lambda: not spool_is_locked(hold.spec.folder))
        await eventually(lambda: not processes.carriers(hold.spec.nonce))
        assert processes.is_alive(daemon)  # it can only be proven by its identity, which STEP and status had told
    finally:
        assert processes.kill_identity(daemon)
    await eventually(lambda: gone([daemon]))


async def test_only_the_locks_holder_cuts_a_torn_tail(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("deaf")
    refused = False
    try:
        cut_torn_tail(hold.spec.folder)
    except BlockingIOError:
        refused = True
    assert refused
    await hold.supervisor.kill()
    await hold.gone()
    await hold.supervisor.end()
    await eventually(lambda: not spool_is_locked(hold.spec.folder))
    spool = hold.spec.folder / "spool"
    whole = spool.read_bytes()
    spool.write_bytes(whole[:-5])  # a power cut inside the last record
    records = list(read_spool(spool))
    assert records[-1].kind is RecordKind.GAP and records[-2].kind is RecordKind.GONE
    assert cut_torn_tail(hold.spec.folder) > 0
    assert [r.kind for r in read_spool(spool)] == [r.kind for r in records[:-1]]


async def test_sigterm_to_the_supervisor_is_a_shutdown(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("echo")
    os.kill(hold.supervisor.keeper_identity.pid, signal.SIGTERM)
    os.kill(hold.supervisor.identity.pid, signal.SIGTERM)
    assert (await hold.gone()).reason == "shutdown"


async def test_a_second_supervisor_for_a_run_is_refused(holds: Holds) -> None:
    hold = await holds.launch()
    again = await Supervisor.launch(hold.spec)
    assert isinstance(again, SpawnFailure) and again.what in ("socket-path", "bad-folder")
    assert (await hold.supervisor.status())["attached"] is True


async def test_no_child_of_the_console_is_left_as_a_zombie(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.supervisor.kill()
    await hold.gone()
    keeper = hold.supervisor.keeper_identity.pid
    await hold.supervisor.end()
    await eventually(lambda: not Path(f"/proc/{keeper}").exists())


async def test_a_killed_console_leaves_the_hold_and_a_new_one_adopts_it(holds: Holds) -> None:
    spec = holds.spec(hold_seconds=20.0)
    program = Path(__file__).parent.parent / "children" / "console.py"
    console = await asyncio.create_subprocess_exec(
        sys.executable,
        str(program),
        *(str(spec.folder), spec.cookie, spec.nonce, "20", "echo"),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
    )
    assert console.stdout is not None
    started = processes.identity_of(int(await asyncio.wait_for(console.stdout.readline(), 15)))
    assert started is not None
    console.kill()
    await console.wait()
    supervisor = await Supervisor.attach(spec.folder, cookie=spec.cookie, epoch=2, offset=0)
    assert isinstance(supervisor, Supervisor)
    hold = Hold(spec, supervisor)
    assert processes.is_alive(started)
    assert await supervisor.write("t", b"still there\n") is WriteOutcome.WROTE
    await hold.until(lambda h: b"heard still there\n" in h.stdout())
