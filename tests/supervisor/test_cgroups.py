"""A cgroup of our own around an agent: killed at once where there is one, and nothing is worse where there is none."""

import asyncio
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli import checkup
from coordinator.custody import leftovers, processes
from coordinator.custody.spoolfile import read_header, read_spool, spool_is_locked
from coordinator.custody.types import ProcessIdentity, RecordKind
from coordinator.supervisor import cgroup
from tests.supervisor import cgroupfs
from tests.supervisor.holding import Hold, Holds, agent, gone
from tests.waiting import eventually

KILLED = [
    ("daemon", 0),
    ("wide", 150),
    ("deep", 40),
    ("breeder", 0),
    ("storm", 40),
    ("stopped", 0),
    ("waiting_on_tty", 0),
]


@pytest.fixture
def unified() -> str:
    return cgroupfs.real()


@pytest.fixture
def played(tmp_path: Path) -> Iterator[cgroupfs.Played]:
    """That of the first generation of the first hold."""
    with cgroupfs.played(tmp_path / "cg" / "footplate-c0-1") as made:
        yield made


def left_of(hold: Hold, unified: str) -> list[str]:
    return [one.name for one in Path(unified).glob(f"footplate-{hold.spec.custody}-*")]


def custody() -> str:
    """Real cgroups are shared by all tests on this machine."""
    return os.urandom(6).hex()


def steps_of(hold: Hold) -> list[str]:
    return [str(record.facts["step"]) for record in hold.all(RecordKind.STEP)]


# ------------------------------------------------------------------------------------------------------- real cgroups


@pytest.mark.parametrize(("mode", "n"), KILLED)
async def test_everything_is_in_it_and_ends_at_once(holds: Holds, unified: str, mode: str, n: int) -> None:
    hold = await holds.launch(custody=custody(), cgroups=None)
    started = await hold.start(mode, *([str(n)] if n else []))
    assert cgroupfs.of(started.pid).endswith(f"/footplate-{hold.spec.custody}-1")
    tree = await hold.tree()
    if mode not in ("breeder", "storm"):
        assert {cgroupfs.of(one.pid) for one in tree} == {cgroupfs.of(started.pid)}
    assert cgroupfs.of(hold.supervisor.identity.pid) == cgroupfs.of(os.getpid())
    await hold.supervisor.kill()
    receipt = await hold.gone()
    assert [name for name, _ in receipt.steps] == steps_of(hold) == ["cgroup", "kill"]
    assert gone(tree) and not receipt.remaining and not processes.carriers(hold.spec.nonce)
    if mode not in ("breeder", "storm"):
        assert {one.pid for one in tree} == {one.pid for one in receipt.ended}
    assert {one.step for one in receipt.ended} == {"kill"}
    await hold.supervisor.end()
    await eventually(lambda: not left_of(hold, unified), what="its cgroup is removed")


async def test_a_gentle_end_uses_and_leaves_none(holds: Holds, unified: str) -> None:
    hold = await holds.launch(custody=custody(), cgroups=None)
    await hold.start("echo")
    await hold.supervisor.fence("stopped")
    assert [name for name, _ in (await hold.gone()).steps] == ["eof"]
    assert left_of(hold, unified) == []


async def test_each_generation_has_its_own(holds: Holds, unified: str) -> None:
    hold = await holds.launch(custody=custody(), cgroups=None)
    await hold.start("daemon")
    await hold.supervisor.fence("budget", restart=True)
    await hold.until(lambda h: RecordKind.GONE in h.kinds())
    assert left_of(hold, unified) == []
    second = await hold.start("echo", generation=2)
    assert left_of(hold, unified) == [f"footplate-{hold.spec.custody}-2"]
    assert cgroupfs.of(second.pid).endswith("-2")


async def test_what_an_agent_makes_inside_it_goes_with_it(holds: Holds, unified: str) -> None:
    hold = await holds.launch(custody=custody(), cgroups=None)
    started = await hold.start("daemon")
    inner = Path(unified) / f"footplate-{hold.spec.custody}-1" / "its" / "own"
    inner.mkdir(parents=True)
    daemon = next(one for one in await hold.tree() if one != started)
    (inner / "cgroup.procs").write_text(str(daemon.pid))
    await hold.supervisor.kill()
    receipt = await hold.gone()
    assert receipt.steps[0][0] == "cgroup" and gone([started, daemon])
    await hold.supervisor.end()
    await eventually(lambda: not left_of(hold, unified))


@pytest.mark.parametrize("victim", ["worker", "keeper"])
async def test_one_of_the_two_is_killed_and_the_other_removes_it(holds: Holds, unified: str, victim: str) -> None:
    hold = await holds.launch(custody=custody(), cgroups=None)
    await hold.start("daemon")
    tree = await hold.tree()
    assert len(tree) == 2
    known = {"worker": hold.supervisor.identity, "keeper": hold.supervisor.keeper_identity}
    os.kill(known[victim].pid, signal.SIGKILL)
    if victim == "keeper":
        await hold.gone()
        await hold.supervisor.end()
    await eventually(lambda: not spool_is_locked(hold.spec.folder))
    records = list(read_spool(hold.spec.folder / "spool"))
    facts = records[-2].facts
    steps = [step[0] for step in facts["steps"]]  # type: ignore[attr-defined]
    assert "cgroup" in steps and not facts["remaining"] and gone(tree)
    await eventually(lambda: not left_of(hold, unified))


async def test_both_die_and_a_daemon_with_a_cleared_environment_is_found_all_the_same(
    holds: Holds, unified: str
) -> None:
    hold = await holds.launch(custody=custody(), cgroups=None)
    started = await hold.start("daemon")
    daemon = next(one for one in await hold.tree() if one != started)
    cgroupfs.kill_both(hold.supervisor.identity, hold.supervisor.keeper_identity)
    await eventually(lambda: not spool_is_locked(hold.spec.folder) and gone([started]))
    assert processes.is_alive(daemon) and not processes.carriers(hold.spec.nonce)
    facts = leftovers.end_left(hold.spec.folder, hold.spec.nonce, reason="orphaned")
    assert gone([daemon])
    assert [step for step, _ in facts["steps"]] == ["cgroup", "nonce"] and not facts["already_ended"]
    assert [(one["pid"], one["step"]) for one in facts["ended"]] == [(daemon.pid, "cgroup")]
    assert facts["remaining"] == [] and left_of(hold, unified) == []


async def test_who_spares_a_daemon_has_none(holds: Holds, unified: str) -> None:
    hold = await holds.launch(custody=custody(), cgroups=None, spared=("some-daemon",))
    started = await hold.start("echo")
    assert cgroupfs.of(started.pid) == cgroupfs.of(os.getpid()) and left_of(hold, unified) == []


async def test_an_agent_that_cannot_be_run_leaves_none(holds: Holds, unified: str) -> None:
    hold = await holds.launch(custody=custody(), cgroups=None)
    spec = agent("echo")
    missing = type(spec)(argv=("/nowhere/at/all",), cwd=spec.cwd, environment=spec.environment)
    assert not isinstance(await hold.supervisor.start(1, missing), ProcessIdentity)
    await hold.supervisor.kill()
    await hold.gone()
    assert left_of(hold, unified) == []


# --------------------------------------------------------------------------------------- a folder that plays the kernel


async def test_played_it_is_killed_before_anything_else(holds: Holds, tmp_path: Path, played: cgroupfs.Played) -> None:
    hold = await holds.launch(cgroups=str(tmp_path / "cg"))
    started = await hold.start("deaf")
    await eventually(lambda: started in played.inside, what="it wrote its own pid before the exec")
    await eventually(lambda: "populated 1" in (played.folder / "cgroup.events").read_text())
    await hold.supervisor.kill()
    receipt = await hold.gone()
    assert [name for name, _ in receipt.steps] == steps_of(hold) == ["cgroup", "kill"]
    await eventually(lambda: played.kills == 1)
    assert [one.pid for one in receipt.ended] == [started.pid] and receipt.agent_exit == "SIGKILL"


async def test_played_both_die_and_the_kernels_word_is_the_proof(
    holds: Holds, tmp_path: Path, played: cgroupfs.Played
) -> None:
    hold = await holds.launch(cgroups=str(tmp_path / "cg"))
    started = await hold.start("daemon")
    daemon = next(one for one in await hold.tree() if one != started)
    played.put(daemon.pid)
    cgroupfs.kill_both(hold.supervisor.identity, hold.supervisor.keeper_identity)
    await eventually(lambda: not spool_is_locked(hold.spec.folder) and gone([started]))
    await eventually(lambda: (played.folder / "cgroup.procs").read_text() == f"{daemon.pid}\n")
    header = read_header(hold.spec.folder / "spool")
    assert header is not None and header["cgroups"] == str(tmp_path / "cg" / "footplate-c0")
    assert processes.is_alive(daemon) and not processes.carriers(hold.spec.nonce)
    facts = leftovers.end_left(hold.spec.folder, hold.spec.nonce, reason="orphaned")
    assert played.kills == 1 and gone([daemon])
    assert [one["pid"] for one in facts["ended"]] == [daemon.pid] and facts["remaining"] == []


async def test_played_what_cannot_be_killed_is_named_as_remaining(
    holds: Holds, tmp_path: Path, played: cgroupfs.Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "PATIENCE", 0.2)
    hold = await holds.launch(cgroups=str(tmp_path / "cg"))
    started = await hold.start("daemon")
    daemon = next(one for one in await hold.tree() if one != started)
    played.put(daemon.pid)
    cgroupfs.kill_both(hold.supervisor.identity, hold.supervisor.keeper_identity)
    await eventually(lambda: not spool_is_locked(hold.spec.folder) and gone([started]))
    await eventually(lambda: (played.folder / "cgroup.procs").read_text() == f"{daemon.pid}\n")
    played.end()  # from here on the kernel does nothing of what it is asked
    facts = leftovers.end_left(hold.spec.folder, hold.spec.nonce, reason="orphaned")
    assert [one["pid"] for one in facts["remaining"]] == [daemon.pid] and facts["ended"] == []
    assert " up " in facts["remaining"][0]["name"] and processes.is_alive(daemon)


async def test_a_cgroup_of_another_boot_is_nobodys(holds: Holds, tmp_path: Path, played: cgroupfs.Played) -> None:
    hold = await holds.launch(cgroups=str(tmp_path / "cg"))
    started = await hold.start("deaf")
    await eventually(lambda: started in played.inside)
    header = dict(read_header(hold.spec.folder / "spool") or {})
    await eventually(lambda: not leftovers._cgroups(header).empty())
    header["boot_id"] = "another"
    assert leftovers._cgroups(header).empty() and leftovers._cgroups(header).members() == []


# ----------------------------------------------------------------------------- where there is none, all goes on without


def _read_only(folder: Path) -> str:
    return "/proc/sys"  # takes no new folder from anybody, root included


def _missing(folder: Path) -> str:
    return str(folder / "not" / "there")


def _without_kill(folder: Path) -> str:
    return str(folder)  # a fresh folder in it has no cgroup.kill, as before Linux 5.14


def _unwritable(folder: Path) -> str:
    made = folder / "footplate-c0-1"
    for name in ("cgroup.kill", "cgroup.procs", "cgroup.events"):
        (made / name).mkdir(parents=True)  # neither to be read nor written, by root either
    return str(folder)


def _blocking(folder: Path) -> str:
    made = folder / "footplate-c0-1"
    made.mkdir()
    os.mkfifo(made / "cgroup.kill")
    (made / "cgroup.procs").touch()
    (made / "cgroup.events").write_text("populated 1\n")
    return str(folder)


@pytest.mark.parametrize("broken", [_read_only, _missing, _without_kill, _unwritable, _blocking])
async def test_no_trouble_with_it_fails_a_start_or_a_stop(holds: Holds, tmp_path: Path, broken: object) -> None:
    assert callable(broken)
    folder = tmp_path / "cg"
    folder.mkdir()
    hold = await holds.launch(cgroups=broken(folder))
    await hold.start("daemon")
    tree = await hold.tree()
    await hold.supervisor.kill()
    receipt = await hold.gone()
    assert len(tree) == 2 and gone(tree) and not receipt.remaining
    assert [name for name, _ in receipt.steps] == ["kill"]
    await hold.supervisor.end()
    await eventually(lambda: not spool_is_locked(hold.spec.folder))


async def test_who_was_in_one_of_that_name_before_is_left_alone(
    holds: Holds, tmp_path: Path, played: cgroupfs.Played
) -> None:
    stranger = await asyncio.create_subprocess_exec("sleep", "100")
    played.put(stranger.pid)
    hold = await holds.launch(cgroups=str(tmp_path / "cg"))
    await hold.start("deaf")
    assert (read_header(hold.spec.folder / "spool") or {})["cgroups"] == ""
    await hold.supervisor.kill()
    receipt = await hold.gone()
    assert [name for name, _ in receipt.steps] == ["kill"] and len(receipt.ended) == 1
    assert played.kills == 0 and stranger.returncode is None
    stranger.kill()
    await stranger.wait()


# ------------------------------------------------------------------------------------------------------------ the parts


@pytest.mark.parametrize(
    ("cgroups", "mounts", "own"),
    [
        (
            "0::/user.slice/a.scope",
            "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            "/sys/fs/cgroup/user.slice/a.scope",
        ),
        (
            "4:memory:/x\n0::/",
            "41 1 0:9 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw",
            "/sys/fs/cgroup/unified",
        ),
        ("0::/pod/me", "30 1 0:26 /pod /sys/fs/cgroup ro - cgroup2 none ro", "/sys/fs/cgroup/me"),
        ("0::/elsewhere", "30 1 0:26 /pod /sys/fs/cgroup ro - cgroup2 none ro", ""),
        ("0::/../outside", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 none rw", ""),
        ("4:memory:/x", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 none rw", ""),
        ("0::/", "30 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory", ""),
        ("", "", ""),
        ("0::/a", "rubbish\n - cgroup2\n - \n", ""),
    ],
)
def test_our_own_cgroup_is_found_where_it_is_mounted(tmp_path: Path, cgroups: str, mounts: str, own: str) -> None:
    (tmp_path / "cgroup").write_text(cgroups + "\n")
    (tmp_path / "mountinfo").write_text(mounts + "\n")
    assert cgroup.own(str(tmp_path)) == own


def test_only_those_of_the_hold_are_touched(tmp_path: Path) -> None:
    for name in ("footplate-c1-1", "footplate-c1-2", "footplate-c10-1", "footplate-c1-x", "other"):
        (tmp_path / name).mkdir()
    ours = cgroup.of_hold("c1", str(tmp_path))
    ours.remove()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["footplate-c1-x", "footplate-c10-1", "other"]
    nowhere = cgroup.Cgroups("")
    nowhere.remove()
    assert nowhere.make(1) == "" and nowhere.empty() and not nowhere.kill() and nowhere.members() == []


def test_doctor_says_once_whether_there_is_one(unified: str, tmp_path: Path) -> None:
    found = [one for one in checkup.examine({"FOOTPLATE_HOME": str(tmp_path)}) if one.what == "cgroup"]
    assert [one.level for one in found] == [checkup.Level.OK]
    assert not list(Path(unified).glob("footplate-look-*"))


def test_doctor_says_why_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for own, said in (
        ("", "no cgroup v2 is mounted here"),
        ("/proc/sys", "/proc/sys "),
        (str(tmp_path), "this kernel cannot kill one at once (Linux 5.14 can)"),
    ):
        monkeypatch.setattr(cgroup, "own", lambda own=own: own)
        finding = checkup._cgroup(cgroup.why_none())
        assert finding.level is checkup.Level.NOTE and said in finding.found and finding.remedy
    assert list(tmp_path.iterdir()) == [], "what was made to try is removed again"
    shutil.rmtree(tmp_path)
