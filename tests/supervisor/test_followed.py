"""Real holds with no more than macOS would give them (``as_on_macos``): no subreaper, parent-death signal or pidfd."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from coordinator import helperprocess
from coordinator.custody import launching, leftovers, processes
from coordinator.custody.receipts import receipt_from_facts
from coordinator.custody.spoolfile import read_spool, spool_is_locked
from coordinator.custody.types import AgentSpec, ProcessIdentity, RecordKind
from coordinator.supervisor import follower, linux
from coordinator.supervisor.process import mark
from tests.supervisor import as_on_macos
from tests.supervisor.holding import Hold, Holds, gone
from tests.waiting import eventually

PLAYED = Path(as_on_macos.__file__)


@pytest.fixture(autouse=True)
def played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "PROGRAM", PLAYED)
    monkeypatch.setattr(helperprocess, "supervisor_main", SimpleNamespace(__file__=str(PLAYED)))
    monkeypatch.setattr(helperprocess, "death_signal", tuple)


async def shell(hold: Hold, script: str, then: str = "cat") -> ProcessIdentity:
    """An agent that runs this and says the pid of what it left, and what it does then."""
    spec = AgentSpec(
        argv=("/bin/sh", "-c", f"{script}; {then}"), cwd=Path("/"), environment={"PATH": os.environ["PATH"]}
    )
    started = await hold.supervisor.start(1, spec)
    assert isinstance(started, ProcessIdentity), started
    await hold.until(lambda h: b"\n" in h.stdout(1))
    left = processes.identity_of(int(hold.stdout(1)))
    assert left is not None
    return left


@pytest.mark.parametrize("kill", [True, False])
@pytest.mark.parametrize("kind", [("wide", "20"), ("deep", "20"), ("stopped",), ("deaf",)])
async def test_a_tree_is_ended_and_no_more_is_said_than_is_known(
    holds: Holds, kind: tuple[str, ...], kill: bool
) -> None:
    hold = await holds.launch()
    await hold.start(*kind)
    tree = await hold.tree()
    await (hold.supervisor.kill() if kill else hold.supervisor.fence("stopped"))
    receipt = await hold.gone()
    assert gone(tree) and not receipt.remaining and receipt.followed
    assert {one.pid for one in receipt.ended} >= {one.pid for one in tree}


async def test_a_storm_of_forks_is_ended(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("storm", "40")
    await hold.supervisor.kill()
    receipt = await hold.gone()
    assert not receipt.remaining and len(receipt.ended) > 40
    assert not processes.carriers(hold.spec.nonce)


async def test_what_lost_its_parents_and_its_environment_is_known_by_its_session(holds: Holds) -> None:
    hold = await holds.launch()
    left = await shell(hold, "(env -i sleep 1000 >/dev/null 2>&1 & echo $!)")
    await eventually(lambda: mark(hold.spec.nonce) not in linux.environment(left.pid))
    facts = linux.stat(left.pid)
    assert facts is not None and facts.parent not in (hold.supervisor.identity.pid, os.getpid())
    assert left in await hold.tree()
    await hold.supervisor.kill()
    receipt = await hold.gone()
    assert gone([left]) and [one.daemonised for one in receipt.ended if one.pid == left.pid] == [False]


async def test_the_worker_dies_and_the_keeper_ends_what_it_had_followed(holds: Holds) -> None:
    hold = await holds.launch()
    left = await shell(hold, "(env -i sleep 1000 >/dev/null 2>&1 & echo $!)")
    tree = await hold.tree()
    assert left in tree
    os.kill(hold.supervisor.identity.pid, signal.SIGKILL)
    await eventually(lambda: not spool_is_locked(hold.spec.folder))
    assert gone(tree)
    records = list(read_spool(hold.spec.folder / "spool"))
    assert [r.kind for r in records][-3:] == [RecordKind.WORKER_LOST, RecordKind.GONE, RecordKind.END]
    receipt = receipt_from_facts(records[-2].facts)
    assert receipt.followed and left.pid in {one.pid for one in receipt.ended}  # the shell ended with its input


async def test_the_keeper_dies_and_the_worker_ends_the_hold(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.start("stopped")
    tree = await hold.tree()
    os.kill(hold.supervisor.keeper_identity.pid, signal.SIGKILL)
    receipt = await hold.gone()
    assert gone(tree) and receipt.reason == "supervisor-lost"


@contextmanager
def as_the_next_console(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process, as far as it looks for what a hold has left."""
    seen = SimpleNamespace(**{name: getattr(linux, name) for name in dir(linux) if not name.startswith("__")})
    seen.queue, seen.watch, seen.drain = lambda: os.eventfd(0), lambda queue, pid: True, lambda queue: 0
    with monkeypatch.context() as patched:
        patched.setattr(linux, "FOLLOWS", True)
        patched.setattr(follower, "kernel", seen)
        yield


async def test_both_die_and_the_next_console_ends_the_agent_too(holds: Holds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing ends an agent with its keepers here, and of a shell no environment is shown: the spool names it."""
    hold = await holds.launch()
    left = await shell(hold, "(env -i sleep 1000 >/dev/null 2>&1 & echo $!)", then="exec sleep 1000")
    tree = await hold.tree()
    os.kill(hold.supervisor.keeper_identity.pid, signal.SIGSTOP)
    os.kill(hold.supervisor.identity.pid, signal.SIGKILL)
    os.kill(hold.supervisor.keeper_identity.pid, signal.SIGKILL)
    await eventually(lambda: not spool_is_locked(hold.spec.folder))
    assert processes.is_alive(left)
    monkeypatch.setattr(leftovers, "carriers", lambda nonce: [])
    monkeypatch.setattr(leftovers, "kill_carriers", lambda nonce: [])
    with as_the_next_console(monkeypatch):
        facts = await asyncio.to_thread(leftovers.end_left, hold.spec.folder, hold.spec.nonce, reason="orphaned")
    receipt = receipt_from_facts(facts)
    await eventually(lambda: gone(tree))
    assert not receipt.remaining and receipt.followed
    assert left.pid in {one.pid for one in receipt.ended}


@pytest.mark.parametrize("seconds", [10.0, 0.4])
async def test_a_guard_leaves_nothing_of_its_session(tmp_path: Path, seconds: float) -> None:
    note = tmp_path / "pid"
    script = f"(env -i sleep 1000 >/dev/null 2>&1 & echo $! >{note}); " + ("exit 3" if seconds > 1 else "sleep 1000")
    ended = await helperprocess.run(
        ["/bin/sh", "-c", script],
        cwd=tmp_path,
        environment={"PATH": os.environ["PATH"]},
        timeout=seconds,
        limit=1000,
        guarded=True,
    )
    assert (ended.code, ended.cut) == ((3, "") if seconds > 1 else (-9, helperprocess.TIMEOUT))
    assert processes.identity_of(int(note.read_text())) is None
