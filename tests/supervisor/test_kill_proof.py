"""What else is told of processes that do not die, and of those that must not: without a cgroup, by descent alone."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator.custody import processes
from coordinator.custody.types import ProcessIdentity
from coordinator.supervisor import roll
from coordinator.supervisor.kernel import kernel
from tests.supervisor.holding import Holds, gone
from tests.waiting import eventually

LAST_PID = Path("/proc/sys/kernel/ns_last_pid")


async def test_a_stopped_agent_hears_term(holds: Holds) -> None:
    hold = await holds.launch()
    started = await hold.start("echo")
    os.kill(started.pid, signal.SIGSTOP)
    await hold.supervisor.farewell(b"bye\n")
    await hold.supervisor.fence("stopped")
    receipt = await hold.gone()
    assert gone([started])
    # With the signal it goes on, and then it may as well have read its farewell first.
    assert [name for name, _ in receipt.steps][:3] == ["farewell", "eof", "term"]
    assert receipt.agent_exit in ("SIGTERM", "0")


async def test_a_stopped_agent_that_ignores_term_is_killed(holds: Holds) -> None:
    hold = await holds.launch()
    started = await hold.start("deaf")
    os.kill(started.pid, signal.SIGSTOP)
    await hold.supervisor.fence("stopped")
    receipt = await hold.gone()
    assert gone([started]) and receipt.agent_exit == "SIGKILL"


@pytest.mark.parametrize("kill", [True, False])
async def test_tools_that_wait_at_a_terminal_of_theirs_end(holds: Holds, kill: bool) -> None:
    hold = await holds.launch()
    await hold.start("waiting_on_tty")
    tree = await hold.tree()
    assert len(tree) == 3
    states = [facts.state for one in tree if (facts := kernel.stat(one.pid)) is not None]
    assert states.count("T") == 1, "one of them was stopped by the terminal"
    await (hold.supervisor.kill() if kill else hold.supervisor.fence("stopped"))
    receipt = await hold.gone()
    assert gone(tree) and not receipt.remaining
    assert {one.pid for one in receipt.ended} == {one.pid for one in tree}


@pytest.mark.parametrize("kill", [True, False])
async def test_a_storm_of_forks_is_ended(holds: Holds, kill: bool) -> None:
    hold = await holds.launch()
    await hold.start("storm", "40")
    await (hold.supervisor.kill() if kill else hold.supervisor.fence("stopped"))
    receipt = await hold.gone()
    assert not receipt.remaining and len(receipt.ended) > 40
    assert not processes.carriers(hold.spec.nonce)


# ------------------------------------------------------------------------------------------- those that must not be hit


@asynccontextmanager
async def bystander(**environment: str) -> AsyncIterator[ProcessIdentity]:
    """Somebody else's process."""
    process = await asyncio.create_subprocess_exec("/bin/sleep", "100", env=environment)
    identity = processes.identity_of(process.pid)
    assert identity is not None
    try:
        yield identity
        assert processes.is_alive(identity) and process.returncode is None
    finally:
        process.kill()
        await process.wait()


async def test_a_pid_alone_names_nobody() -> None:
    async with bystander() as one:
        for other in (replace(one, start_ticks=one.start_ticks - 1), replace(one, boot_id="another boot")):
            assert not processes.kill_identity(other) and not processes.is_alive(other)
        assert not kernel.signal_exactly(one.pid, one.start_ticks + 1, (signal.SIGKILL,))


async def test_who_does_not_carry_the_nonce_is_no_carrier() -> None:
    nonce = os.urandom(16).hex()
    async with bystander(FOOTPLATE_CUSTODY=nonce + "0", OTHER=nonce) as one:
        assert not kernel.kill_carrier(one.pid, nonce)
        assert processes.carriers(nonce) == [] and processes.kill_carriers(nonce) == []


async def test_the_roll_hits_no_process_that_came_after_one_it_saw() -> None:
    async with bystander() as one:
        seen = roll.Roll(os.getpid(), (), "a nonce that nobody carries")
        earlier = roll.Seen(one.pid, one.start_ticks - 1, "the one before it", True)
        seen.seen[one.pid, earlier.ticks] = earlier
        seen._alive[one.pid, earlier.ticks] = earlier
        seen._outside[one.pid, earlier.ticks] = earlier
        # Only those deeper than a child are signalled by what was seen, and it is a child of ours here.
        with_other_root = roll.Roll(2, (), "a nonce that nobody carries")
        with_other_root._alive = dict(seen._alive)
        with_other_root.kill_seen()
        seen.kill_outside()


def uptime() -> float:
    """Seconds since the boot; the number beside it, how long the cores were idle, is another matter."""
    return float(kernel.read("/proc/uptime").split()[0])


async def test_a_pid_that_was_given_out_again_is_left_alone() -> None:
    """For real: the kernel is asked to give the same number to another process."""
    try:
        LAST_PID.write_text(LAST_PID.read_text())
    except OSError as problem:
        pytest.skip(f"a pid cannot be given out again here: {problem}")
    for _ in range(50):
        async with bystander() as first:
            before = uptime()
        await eventually(lambda then=before: uptime() > then + 0.02)  # other ticks of the clock that starts are told by
        LAST_PID.write_text(str(first.pid - 1))
        async with bystander() as second:
            if second.pid != first.pid:
                continue  # somebody on this machine was quicker
            assert second != first and not processes.is_alive(first)
            assert not processes.kill_identity(first)
            assert not kernel.signal_exactly(first.pid, first.start_ticks, (signal.SIGKILL,))
            return
    pytest.skip("the same pid was never given out again: too many processes are started here")
