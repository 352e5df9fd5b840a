"""Every way of not dying, against the ladder and the receipt."""

import asyncio
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from coordinator.custody import processes
from coordinator.custody.client import Supervisor, fence_by_socket, kill_by_socket
from coordinator.custody.spoolfile import read_spool, spool_is_locked
from coordinator.custody.types import AgentSpec, Ladder, ProcessIdentity, RecordKind
from coordinator.supervisor import roll
from tests.supervisor.holding import QUICK, Holds, agent, gone
from tests.waiting import eventually


async def test_the_farewell_is_enough_for_an_agent_that_hears_it(holds: Holds) -> None:
    hold = await holds.launch(ladder=Ladder())
    started = await hold.start("echo")
    await hold.supervisor.farewell(b"not this\n")
    await hold.supervisor.farewell(b"bye\n")
    await hold.supervisor.fence("stopped")
    receipt = await hold.gone(timeout=3.0)
    assert (receipt.reason, receipt.already_ended, receipt.agent_exit) == ("stopped", False, "0")
    assert [name for name, _ in receipt.steps] == ["farewell"]
    assert [(p.pid, p.step) for p in receipt.ended] == [(started.pid, "farewell")]
    assert b"farewell heard\n" in hold.stdout()
    assert receipt.total_ms < 2000
    ids = [r.facts["id"] for r in hold.all(RecordKind.WRITING)]
    assert ids == ["farewell-1"]  # a control write like any other: in the spool before it went


async def test_end_of_file_without_a_farewell(holds: Holds) -> None:
    hold = await holds.launch(ladder=Ladder())
    await hold.start("echo")
    await hold.supervisor.fence("expired")
    receipt = await hold.gone(timeout=3.0)
    assert [name for name, _ in receipt.steps] == ["eof"]
    assert receipt.reason == "expired"


async def test_one_that_no_farewell_ends_has_its_input_ended_soon_after(holds: Holds) -> None:
    hold = await holds.launch(ladder=Ladder())
    await hold.start("echo")
    await hold.supervisor.farewell(b"last words\n", pause=0.1)
    await hold.supervisor.fence("stopped")
    receipt = await hold.gone()
    assert [name for name, _ in receipt.steps] == ["farewell", "eof"]
    assert 100 <= receipt.steps[1][1] < Ladder().farewell * 1000, "and not at once: what it still says is heard"
    assert b"last words" in hold.stdout()


async def test_an_agent_that_obeys_nothing_is_killed(holds: Holds) -> None:
    hold = await holds.launch()
    started = await hold.start("deaf")
    await hold.supervisor.farewell(b"bye\n")
    await hold.supervisor.fence("stopped")
    receipt = await hold.gone()
    assert [name for name, _ in receipt.steps] == ["farewell", "eof", "term", "kill"]
    assert receipt.agent_exit == "SIGKILL"
    assert gone([started])
    shown = [record.facts["step"] for record in hold.all(RecordKind.STEP)]
    assert shown == ["farewell", "eof", "term", "kill"]
    assert hold.all(RecordKind.STEP)[0].facts["left"][0]["pid"] == started.pid  # type: ignore[index]


async def test_kill_skips_the_ladder_and_is_quick(holds: Holds) -> None:
    hold = await holds.launch(ladder=Ladder())
    await hold.start("deaf")
    await hold.supervisor.kill()
    receipt = await hold.gone(timeout=2.0)
    assert receipt.reason == "killed"
    assert [name for name, _ in receipt.steps] == ["kill"]
    assert receipt.total_ms < 500


async def test_a_later_kill_makes_a_gentle_ending_quick_and_keeps_its_reason(holds: Holds) -> None:
    hold = await holds.launch(ladder=Ladder())
    await hold.start("deaf")
    await hold.supervisor.fence("revoked")
    await hold.until(lambda h: RecordKind.STEP in h.kinds())
    await hold.supervisor.kill()
    receipt = await hold.gone(timeout=2.0)
    assert receipt.reason == "revoked"
    assert [name for name, _ in receipt.steps][-1] == "kill"


async def test_the_first_of_two_fences_gives_the_reason(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("deaf")
    await asyncio.gather(hold.supervisor.fence("lapsed"), hold.supervisor.fence("stopped"))
    assert (await hold.gone()).reason == "lapsed"
    assert hold.all(RecordKind.FENCE)[0].facts["reason"] == "lapsed"


async def test_a_daemon_with_a_cleared_environment_does_not_get_away(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("daemon")
    tree = await hold.tree()
    assert len(tree) == 2
    assert len(processes.carriers(hold.spec.nonce)) == 1  # the daemon carries nothing
    await hold.supervisor.fence("stopped")
    receipt = await hold.gone()
    assert gone(tree)
    daemon = next(p for p in receipt.ended if p.daemonised)
    assert daemon.own_session and daemon.step == "kill" and " up " in daemon.name
    assert {p.pid for p in receipt.ended} == {identity.pid for identity in tree}
    assert not receipt.remaining


async def test_a_stopped_tool_hears_term(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("stopped")
    tree = await hold.tree()
    await hold.supervisor.fence("stopped")
    receipt = await hold.gone()
    assert gone(tree) and len(tree) == 2
    assert {p.step for p in receipt.ended} == {"term"}  # CONT went with it, so it did not have to be killed


@pytest.mark.parametrize(("mode", "n"), [("wide", 150), ("deep", 40)])
async def test_a_big_tree_is_killed_and_named_whole(holds: Holds, mode: str, n: int) -> None:
    hold = await holds.launch()
    await hold.start(mode, str(n))
    tree = await hold.tree()
    assert len(tree) == n + 1
    await hold.supervisor.kill()
    receipt = await hold.gone()
    assert gone(tree)
    assert {p.pid for p in receipt.ended} == {identity.pid for identity in tree}
    assert receipt.total_ms < 2000


async def test_what_never_stops_forking_is_caught(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("breeder")
    await hold.supervisor.kill()
    receipt = await hold.gone()
    assert not receipt.remaining
    assert not processes.carriers(hold.spec.nonce)


async def test_an_agent_that_left_by_itself_leaves_its_orphan_to_the_fence(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("quiet_end")
    await hold.until(lambda h: RecordKind.EXIT in h.kinds())
    assert hold.all(RecordKind.EXIT)[0].facts["exit"] == "3"
    status = await hold.supervisor.status()
    assert status["agent_alive"] is False
    (orphan,) = await hold.tree()
    await hold.supervisor.fence("stopped")
    receipt = await hold.gone()
    assert receipt.already_ended and receipt.agent_exit == "3"
    assert [(p.pid, p.step) for p in receipt.ended] == [(orphan.pid, "term")]
    assert gone([orphan])


async def test_a_hold_that_runs_out_fences_with_its_reason_though_the_console_is_attached(holds: Holds) -> None:
    hold = await holds.launch(hold_seconds=0.3)
    await hold.start("echo")
    await hold.supervisor.hold(0.2, reason="lapsed", expires_at_ms=None)
    assert (await hold.gone()).reason == "lapsed"


async def test_a_renewed_hold_goes_on(holds: Holds) -> None:
    hold = await holds.launch(hold_seconds=0.3)
    await hold.start("echo")
    await hold.supervisor.hold(30.0, reason="lapsed", expires_at_ms=None)
    assert float(str((await hold.supervisor.status())["hold_remaining"])) > 25
    assert RecordKind.FENCE not in hold.kinds()


async def test_nobody_attached_runs_out_and_the_lock_is_freed(holds: Holds) -> None:
    hold = await holds.launch(hold_seconds=0.4)
    started = await hold.start("deaf")
    await hold.supervisor.detach()
    await eventually(lambda: gone([started]))
    again = await hold.attach(2)
    receipt = await hold.gone()
    assert receipt.reason == "console-lost"
    assert spool_is_locked(hold.spec.folder)
    await again.end()
    await eventually(lambda: not spool_is_locked(hold.spec.folder))
    await eventually(lambda: gone([again.identity, again.keeper_identity]))
    assert not (hold.spec.folder / "s").exists()


async def test_a_receipt_that_nobody_reads_waits_a_bounded_time(holds: Holds) -> None:
    hold = await holds.launch(hold_seconds=0.2, linger=0.3)
    await hold.start("echo")
    await hold.supervisor.detach()
    await eventually(lambda: not spool_is_locked(hold.spec.folder))
    records = list(read_spool(hold.spec.folder / "spool"))
    assert [r.kind for r in records[-2:]] == [RecordKind.GONE, RecordKind.END]


async def test_the_wall_clock_expiry_is_the_supervisors_own(holds: Holds) -> None:
    import time

    hold = await holds.launch(expires_at_ms=int(time.time() * 1000) + 500)
    await hold.start("echo")
    assert (await hold.gone()).reason == "expired"


async def test_a_stop_from_elsewhere_takes_nothing_over(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("deaf")
    assert not await fence_by_socket(hold.spec.folder, "not the cookie", "stopped")
    assert await fence_by_socket(hold.spec.folder, hold.spec.cookie, "stopped")
    assert await kill_by_socket(hold.spec.folder, hold.spec.cookie)
    assert (await hold.gone()).reason == "stopped"
    assert not hold.supervisor.lost  # the attached console read it all


async def test_a_spared_daemon_lives_and_is_named(holds: Holds, tmp_path: Path) -> None:
    program = tmp_path / "shared-daemon"
    shutil.copy("/bin/sleep", program)
    hold = await holds.launch(spared=("shared-daemon",))
    spec = AgentSpec(
        argv=("/bin/sh", "-c", f"setsid {program} 100 & setsid sleep 100 & echo ready; read x"),
        cwd=Path("/"),
        environment={"PATH": os.environ["PATH"]},
    )
    assert isinstance(await hold.supervisor.start(1, spec), ProcessIdentity)

    async def daemon_runs() -> bool:
        listed = (await hold.supervisor.status())["processes"]
        return sum(p["name"].split()[0].endswith(("shared-daemon", "sleep")) for p in listed) == 2  # type: ignore[attr-defined]

    async with asyncio.timeout(5):
        while not await daemon_runs():
            pass
    await hold.supervisor.fence("stopped")
    receipt = await hold.gone()
    (spared,) = receipt.spared
    identity = processes.identity_of(spared.pid)
    assert identity is not None
    try:
        assert not receipt.remaining
        assert all(p.pid != spared.pid for p in receipt.ended)
        assert any(p.name == "sleep 100" for p in receipt.ended)
        await hold.supervisor.end()
        await eventually(lambda: not spool_is_locked(hold.spec.folder))
        assert processes.is_alive(identity)
    finally:
        os.kill(spared.pid, signal.SIGKILL)


async def test_restart_ends_one_generation_and_starts_the_next(holds: Holds) -> None:
    hold = await holds.launch()
    first = await hold.start("daemon")
    second = await hold.supervisor.start(2, agent("echo"))
    assert not isinstance(second, ProcessIdentity) and second.what == "agent-alive"
    tree = await hold.tree()
    await hold.supervisor.fence("budget", restart=True)
    await hold.until(lambda h: RecordKind.GONE in h.kinds())
    assert gone(tree)
    assert RecordKind.FENCE not in hold.kinds() and RecordKind.END not in hold.kinds()
    started = await hold.start("echo", generation=2)
    assert started != first
    assert await hold.supervisor.start(2, agent("echo")) == started  # idempotent
    await hold.supervisor.write("t", b"x\n")
    await hold.until(lambda h: b"heard x\n" in h.stdout(2))
    await hold.supervisor.fence("stopped")
    assert (await hold.gone()).reason == "stopped"
    refused = await hold.supervisor.start(3, agent("echo"))
    assert not isinstance(refused, ProcessIdentity) and refused.what == "fenced"


async def test_a_stop_of_a_restart_that_cannot_end_is_answered(holds: Holds) -> None:
    """Each of the two endings has its own receipt, though the same process remains of both."""
    freezer = Path("/sys/fs/cgroup/freezer") / f"footplate-again-{os.getpid()}"
    try:
        freezer.mkdir()
    except OSError:
        pytest.skip("no v1 freezer can be made here: a process that will not die is not tried")
    hold = await holds.launch(ladder=Ladder(farewell=0.1, eof=0.1, term=0.1, total=0.3, not_dying=0.3))
    started = await hold.start("deaf")
    try:
        (freezer / "cgroup.procs").write_text(str(started.pid))
        (freezer / "freezer.state").write_text("FROZEN")
        await eventually(lambda: (freezer / "freezer.state").read_text().strip() == "FROZEN")
        await hold.supervisor.fence("budget", restart=True)
        await hold.until(lambda h: RecordKind.GONE in h.kinds())
        await hold.supervisor.fence("stopped")
        await hold.until(lambda h: h.kinds().count(RecordKind.GONE) == 2)
        told = [one.facts for one in hold.all(RecordKind.GONE)]
        assert [(one["reason"], bool(one.get("restart"))) for one in told] == [("restart", True), ("stopped", False)]
        assert all([p["pid"] for p in one["remaining"]] == [started.pid] for one in told)  # type: ignore[attr-defined]
    finally:
        (freezer / "freezer.state").write_text("THAWED")
    assert not (await hold.gone()).remaining
    await eventually(lambda: not (freezer / "cgroup.procs").read_text())
    freezer.rmdir()


async def test_a_frozen_process_is_remaining_until_it_thaws(holds: Holds) -> None:
    freezer = Path("/sys/fs/cgroup/freezer") / f"footplate-test-{os.getpid()}"
    try:
        freezer.mkdir()
    except OSError:
        pytest.skip("no v1 freezer can be made here: a process that will not die is not tried")
    hold = await holds.launch(ladder=Ladder(farewell=0.1, eof=0.1, term=0.1, total=0.3, not_dying=0.3))
    started = await hold.start("deaf")
    try:
        (freezer / "cgroup.procs").write_text(str(started.pid))
        (freezer / "freezer.state").write_text("FROZEN")
        await eventually(lambda: (freezer / "freezer.state").read_text().strip() == "FROZEN")
        await hold.supervisor.kill()
        await hold.until(lambda h: RecordKind.GONE in h.kinds())
        told = hold.all(RecordKind.GONE)[0].facts
        assert [p["pid"] for p in told["remaining"]] == [started.pid]  # type: ignore[attr-defined]
        assert RecordKind.END not in hold.kinds()
        assert (await hold.supervisor.status())["gone"] is False  # it stays
    finally:
        (freezer / "freezer.state").write_text("THAWED")
    receipt = await hold.gone()
    assert not receipt.remaining and [p.pid for p in receipt.ended] == [started.pid]
    await eventually(lambda: not (freezer / "cgroup.procs").read_text())
    freezer.rmdir()


async def test_a_stopped_console_does_not_keep_the_agent(holds: Holds, tmp_path: Path) -> None:
    """The console is another process here, stopped with its socket open: it renews nothing."""
    import subprocess
    import sys

    spec = holds.spec(hold_seconds=0.5)
    program = Path(__file__).parent.parent / "children" / "console.py"
    root = Path(__file__).parent.parent.parent
    facts = [str(spec.folder), spec.cookie, spec.nonce, str(spec.hold_seconds)]
    console = await asyncio.create_subprocess_exec(
        sys.executable, str(program), *facts, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)}
    )
    try:
        assert console.stdout is not None
        line = await asyncio.wait_for(console.stdout.readline(), 15)
        started = processes.identity_of(int(line))
        assert started is not None
        os.kill(console.pid, signal.SIGSTOP)
        await eventually(lambda: gone([started]))
        late = await Supervisor.attach(spec.folder, cookie=spec.cookie, epoch=9, offset=0)
        assert isinstance(late, Supervisor)
        kinds = [record.kind async for record in late.records()]
        assert kinds[-2:] == [RecordKind.GONE, RecordKind.END]
    finally:
        console.kill()
        await console.wait()


def test_the_quick_ladder_is_within_its_total() -> None:
    for ladder in (QUICK, Ladder()):
        assert ladder.farewell + ladder.eof + ladder.term <= ladder.total


def test_one_whose_command_line_is_gone_keeps_the_name_that_it_had() -> None:
    program = subprocess.Popen(["sleep", "7405"])
    assert roll.named(program.pid, "sh -c sleep 7405") == "sleep 7405", "it became another program"
    program.kill()
    os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
    assert roll.named(program.pid, "sleep 7405") == "sleep 7405", "a dead one has no command line"
    program.wait()
