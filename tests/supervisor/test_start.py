"""How an agent is started: truthful failures, what it is given, a terminal."""

import contextlib
import json
import os
import sys
from pathlib import Path

from coordinator.custody.types import AgentSpec, ProcessIdentity, RecordKind, SpawnFailure, WriteOutcome
from tests.supervisor.holding import Holds, agent
from tests.waiting import eventually


def _spec(*argv: str, cwd: str = "/") -> AgentSpec:
    return AgentSpec(argv=argv, cwd=Path(cwd), environment={"PATH": "/nowhere:/usr/bin:/bin"})


async def test_failures_are_told_as_what_they_are(holds: Holds, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    plain.chmod(0o644)
    rubbish = tmp_path / "rubbish"
    rubbish.write_bytes(b"\x00\x01\x02")
    rubbish.chmod(0o755)
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    hold = await holds.launch()
    expected = [
        (_spec("/no/such/agent"), "not-found"),
        (_spec("no-such-agent"), "not-found"),
        (_spec(str(plain)), "not-executable"),
        (_spec(str(rubbish)), "not-executable"),
        (_spec(str(script)), "not-found"),
        (_spec(str(tmp_path)), "not-executable"),
        (_spec("sh", cwd="/no/such/folder"), "bad-folder"),
    ]
    for generation, (spec, what) in enumerate(expected, 1):
        failure = await hold.supervisor.start(generation, spec)
        assert isinstance(failure, SpawnFailure) and failure.what == what, (spec, failure)
        assert await hold.supervisor.start(generation, spec) == failure  # never tried twice
    assert RecordKind.STARTED not in hold.kinds()
    good = await hold.supervisor.start(len(expected) + 1, _spec("sh", "-c", "read x"))
    assert isinstance(good, ProcessIdentity)
    await hold.supervisor.kill()
    receipt = await hold.gone()
    assert [p.pid for p in receipt.ended] == [good.pid]


async def test_what_the_agent_is_given(holds: Holds) -> None:
    hold = await holds.launch()
    started = await hold.start("environment", TMUX="/tmp/other", TMUX_PANE="%1", KEPT="yes")
    await hold.until(lambda h: h.stdout().count(b"\n") == 4)
    environment, session, descriptors, ignored = map(json.loads, hold.stdout().splitlines())
    assert environment["FOOTPLATE_CUSTODY"] == hold.spec.nonce
    assert environment["KEPT"] == "yes"
    assert "TMUX" not in environment and "TMUX_PANE" not in environment
    assert environment["TMUX_TMPDIR"].startswith(str(hold.spec.folder))
    assert Path(environment["TMUX_TMPDIR"]).is_dir()
    assert session == {"session": True, "group": True}
    assert descriptors == [0, 1, 2, 3]  # 3 is the listing itself: nothing of ours is inherited
    assert not any(ignored)
    assert hold.all(RecordKind.STARTED)[0].facts["pid"] == started.pid
    assert hold.spec.cookie not in json.dumps(environment)


async def test_an_early_exit_keeps_code_and_last_words(holds: Holds) -> None:
    hold = await holds.launch()
    await hold.supervisor.start(1, _spec("sh", "-c", "echo broken config >&2; exit 7"))
    await hold.until(lambda h: RecordKind.EXIT in h.kinds())
    assert hold.all(RecordKind.EXIT)[0].facts["exit"] == "7"
    kinds = hold.kinds()
    assert kinds.index(RecordKind.STDERR) < kinds.index(RecordKind.EXIT)
    assert hold.all(RecordKind.STDERR)[0].data == b"broken config\n"
    second = await hold.supervisor.start(2, agent("echo"))
    assert isinstance(second, ProcessIdentity)  # again, because none is alive
    third = await hold.supervisor.start(4, agent("echo"))
    assert isinstance(third, SpawnFailure) and third.what == "agent-alive"


async def test_a_terminal_instead_of_pipes(holds: Holds) -> None:
    hold = await holds.launch()
    spec = AgentSpec(
        argv=(sys.executable, "-I", "-S", str(Path(__file__).parent.parent / "children/misbehaving.py"), "terminal"),
        cwd=Path("/"),
        environment={"PATH": os.environ["PATH"]},
        terminal=(33, 101),
    )
    assert isinstance(await hold.supervisor.start(1, spec), ProcessIdentity)
    await hold.until(lambda h: b"tty True" in h.stdout())
    assert b"columns=101, lines=33" in hold.stdout()
    await hold.supervisor.resize(20, 90)
    await hold.until(lambda h: b"now os.terminal_size(columns=90, lines=20)" in h.stdout())
    await hold.supervisor.write("t", b"hello\n")
    await hold.until(lambda h: b"heard hello" in h.stdout())
    await hold.supervisor.fence("stopped")
    receipt = await hold.gone()
    assert [name for name, _ in receipt.steps] == ["eof"]
    assert b"end of file" in hold.stdout()


async def test_the_silence_of_a_terminal_is_recorded_once_each_time(holds: Holds) -> None:
    hold = await holds.launch()
    spec = AgentSpec(
        argv=("sh", "-c", "read x; printf one; stty -echo; read x; exec sleep 100"),
        cwd=Path("/"),
        environment={"PATH": os.environ["PATH"]},
        terminal=(24, 80),
        quiet_ms=50,
    )
    assert isinstance(await hold.supervisor.start(1, spec), ProcessIdentity)
    await hold.until(lambda h: RecordKind.QUIET in h.kinds())
    assert hold.stdout() == b"", "also of one that has said nothing yet"
    await hold.supervisor.resize(20, 90)
    await hold.supervisor.write("a", b"x\r")
    await hold.until(lambda h: h.kinds().count(RecordKind.QUIET) == 2)
    await hold.supervisor.write("b", b"y\r")  # brings nothing: its silence counts from the write
    await hold.until(lambda h: h.kinds().count(RecordKind.QUIET) == 3)
    assert hold.stdout() == b"x\r\none"
    printed = [RecordKind.STDOUT] * hold.kinds().count(RecordKind.STDOUT)
    assert [kind for kind in hold.kinds() if kind not in (RecordKind.HEADER, RecordKind.STARTED)] == [
        RecordKind.QUIET,
        RecordKind.RESIZED,
        RecordKind.WRITING,
        RecordKind.WROTE,
        *printed,
        RecordKind.QUIET,
        RecordKind.WRITING,
        RecordKind.WROTE,
        RecordKind.QUIET,
    ]
    assert hold.all(RecordKind.RESIZED)[0].facts == {"rows": 20, "columns": 90}
    await hold.supervisor.kill()
    await hold.gone()
    assert hold.kinds().count(RecordKind.QUIET) == 3  # and nobody woke for it again


async def test_status_shows_the_tree(holds: Holds) -> None:
    hold = await holds.launch()
    started = await hold.start("daemon")
    status = await hold.supervisor.status()
    listed = status["processes"]
    assert isinstance(listed, list) and len(listed) == 2
    first, daemon = sorted(listed, key=lambda p: p["pid"] != started.pid)
    assert first["pid"] == started.pid and not first["own_session"] and first["rss_kb"] > 0
    assert daemon["own_session"] and daemon["daemonised"]
    assert status["generation"] == 1 and status["agent_alive"] is True and status["ending"] is None


async def test_idle_costs_no_wakeups(holds: Holds) -> None:
    """A hold at rest sleeps: the worker's switches do not grow while nothing happens."""
    hold = await holds.launch()
    await hold.start("deaf")
    pid = hold.supervisor.identity.pid

    def switches() -> int:
        text = Path(f"/proc/{pid}/status").read_text()
        return int(text.split("voluntary_ctxt_switches:")[1].split()[0])

    await eventually(lambda: not (hold.spec.folder / "crash").exists())
    before = switches()
    import time

    end = time.monotonic() + 1.5
    await eventually(lambda: time.monotonic() > end)
    assert switches() - before <= 15  # the one sync of what was started; a poll of 20 ms would make 75


def _has_terminal(pid: int) -> bool:
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if "ptmx" in str(fd.readlink()):
                return True
    return False


async def test_what_has_let_go_of_its_terminal_is_written_to_nowhere_else(holds: Holds) -> None:
    """The number of the terminal that was closed is soon another thing's: a console's own connection."""
    hold = await holds.launch()
    spec = AgentSpec(
        argv=("sh", "-c", "trap '' HUP; echo here; exec sleep 100 <&- >&- 2>&-"),
        cwd=Path("/"),
        environment={"PATH": os.environ["PATH"]},
        terminal=(24, 80),
        quiet_ms=50,
    )
    assert isinstance(await hold.supervisor.start(1, spec), ProcessIdentity)
    await hold.until(lambda h: b"here" in h.stdout())
    await eventually(lambda: not _has_terminal(hold.supervisor.identity.pid))
    await hold.attach(2)
    assert await hold.supervisor.write("late", b"typed into nothing\r") is WriteOutcome.FAILED
    assert RecordKind.WRITING not in hold.kinds()
    await hold.supervisor.fence("stopped")
    assert (await hold.gone()).reason == "stopped"
