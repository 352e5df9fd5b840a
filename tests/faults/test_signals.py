"""Signals and lost terminals: what a console holds is left, or ended where that was chosen, and what stays is said.

KILL and STOP, and the screen's own ways out, are in ``test_console_lost``.
"""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from coordinator.custody.processes import carriers
from store import custody
from store.db import read_ledger
from store.vocab import Millis, RunId
from tests.coordinator.held import repository
from tests.fakes.plain_process import ROOT, PlainProcess, house_environment, run_footplate
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("faults")

BRIEF = 'go @@{"steps":[{"text":"a long while","delay":600}]}@@'
OPTIONS = ("--in-place", "--script", "plain", "--agent", "practice")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[dict[str, str]]:
    home = tmp_path / "house"
    home.mkdir()
    environment = house_environment(home)
    yield environment
    run_footplate(environment, "stop", "--all", cwd=tmp_path)


def home_of(house: dict[str, str]) -> Path:
    return Path(house["FOOTPLATE_HOME"])


def nonce(house: dict[str, str]) -> str:
    with read_ledger(home_of(house) / "ledger.db", now=lambda: Millis(0)) as tx:
        row = custody.of_run(tx, RunId(1))
    assert row is not None
    return row.nonce


def stop_on_disconnect(house: dict[str, str]) -> None:
    (home_of(house) / "config.toml").write_text('on_disconnect = "stop"\n')


# -------------------------------------------------------------------------------------------------------------- plain


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_told_to_go_it_leaves_and_says_so(tmp_path: Path, house: dict[str, str], number: signal.Signals) -> None:
    tree = repository(tmp_path / "tree")
    with PlainProcess(BRIEF, repository=tree, environment=house, agent="practice", options=OPTIONS) as process:
        process.saw("turn", n=1, state="accepted")
        process.process.send_signal(number)
        assert process.code() == 3
        left = process.saw("left")
        assert left["until"] > left["at"] + 600_000, "for the rest of the attendance window"
        said = process.err()
        assert said.startswith("Run 1 stays held until ") and said.endswith("; footplate picks it up.\n"), said
        assert process.events("ending") == []
    # It was picked up by nobody and lives on; and so it is found, and ended.
    told = json.loads(run_footplate(house, "sweep", "--json", cwd=tmp_path).out)
    if told["living"]:
        assert told["living"][0]["run"] == 1


def test_where_that_was_chosen_it_ends(tmp_path: Path, house: dict[str, str]) -> None:
    stop_on_disconnect(house)
    tree = repository(tmp_path / "tree")
    with PlainProcess(BRIEF, repository=tree, environment=house, agent="practice", options=OPTIONS) as process:
        process.saw("turn", n=1, state="accepted")
        process.process.send_signal(signal.SIGHUP)
        assert process.code() == 1
        ended = process.saw("ended")
        assert (ended["outcome"], ended["reason"]) == ("interrupted", "stopped")
        assert "stays held" not in process.err()
    assert carriers(nonce(house)) == []


def test_the_next_console_goes_on_with_what_was_left(tmp_path: Path, house: dict[str, str]) -> None:
    tree, other = repository(tmp_path / "tree"), repository(tmp_path / "other")
    with PlainProcess(BRIEF, repository=tree, environment=house, agent="practice", options=OPTIONS) as process:
        process.saw("turn", n=1, state="accepted")
        process.process.send_signal(signal.SIGHUP)
        process.code()
        mark = nonce(house)
        assert carriers(mark)
        # Another one without a screen picks up what it finds, and leaves it when its own run is done.
        quick = 'hi @@{"steps":[{"text":"hello"}]}@@'
        ran = run_footplate(house, "start", quick, "--plain", "--yes", *OPTIONS, cwd=other)
        assert ran.code == 0, ran.err
        assert "Run 1 stays held until " in ran.err
        assert carriers(mark), "a run of somebody else is not ended on the way"
        assert run_footplate(house, "stop", "1", cwd=tmp_path).code == 0
        assert carriers(mark) == []


def spawn(house: dict[str, str], tree: Path) -> pexpect.spawn:
    return pexpect.spawn(
        sys.executable,
        ["-m", "app.main", "start", BRIEF, "--plain", "--yes", *OPTIONS],
        cwd=str(tree),
        env=house,
        timeout=30,
        encoding="utf-8",
        dimensions=(34, 160),
    )


def test_ctrl_c_interrupts_and_then_stops(tmp_path: Path, house: dict[str, str]) -> None:
    terminal = spawn(house, repository(tmp_path / "tree"))
    terminal.expect("turn 1 working")
    terminal.sendintr()
    terminal.expect_exact("Ctrl-C again stops the run and everything that it started.")
    terminal.expect("turn 1 interrupted")
    terminal.sendintr()
    terminal.expect("Nothing left running")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 1


def test_the_end_of_the_terminal_leaves_it(tmp_path: Path, house: dict[str, str]) -> None:
    terminal = spawn(house, repository(tmp_path / "tree"))
    terminal.expect("turn 1 working")
    terminal.sendeof()
    terminal.expect("Run 1 stays held until .*; footplate picks it up.")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 3
    assert carriers(nonce(house))


def test_a_window_that_is_closed_leaves_it(tmp_path: Path, house: dict[str, str]) -> None:
    terminal = spawn(house, repository(tmp_path / "tree"))
    terminal.expect("turn 1 working")
    os.close(terminal.child_fd)
    terminal.closed, terminal.child_fd = True, -1
    wait_until(lambda: os.waitid(os.P_PID, terminal.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None, 30)
    os.waitpid(terminal.pid, 0)
    assert carriers(nonce(house)), "held on by its keeper"


# ------------------------------------------------------------------------------------------------------------- console


def test_before_there_is_a_screen_a_hangup_ends_nothing_of_others(tmp_path: Path, house: dict[str, str]) -> None:
    """At the question whether to start: what a console that is gone had left was picked up, and is left again."""
    tree, other = repository(tmp_path / "tree"), repository(tmp_path / "other")
    with PlainProcess(BRIEF, repository=tree, environment=house, agent="practice", options=OPTIONS) as process:
        process.saw("turn", n=1, state="accepted")
        process.process.kill()
        process.process.wait()
        mark = nonce(house)
        terminal = pexpect.spawn(
            sys.executable,
            ["-m", "app.main", "start", "look", *OPTIONS],
            cwd=str(other),
            env=house,
            timeout=30,
            encoding="utf-8",
            dimensions=(34, 160),
        )
        terminal.expect_exact("Enter starts under these terms")
        terminal.kill(signal.SIGTERM)
        terminal.expect("Run 1 stays held until .*; footplate picks it up.")
        terminal.expect(pexpect.EOF)
        assert "Traceback" not in (terminal.before or "")
        terminal.close()
        assert carriers(mark)
        listed = json.loads(run_footplate(house, "ls", "--json", cwd=tmp_path).out)["runs"]
        assert [one["run"] for one in listed] == [1], "and nothing was started"


def test_a_terminal_that_nobody_reads_keeps_no_console(tmp_path: Path, house: dict[str, str]) -> None:
    """The screen stands in a write that never ends; a TERM leaves the hold all the same, and the process goes."""
    tree = repository(tmp_path / "tree")
    flood = 'go @@{"steps":[{"text":"%s","chunks":400,"slow":0.005},{"do":"silence"}]}@@' % ("word " * 20_000)
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(tree)
        command = [sys.executable, "-m", "app.main", "start", flood, "--yes", *OPTIONS]
        os.execve(sys.executable, command, {**house, "PYTHONPATH": str(ROOT)})
    seen = b""
    while b"\x1b[?1049h" not in seen:
        seen += os.read(master, 65_536)

    # From here on nobody reads.
    def stands_still() -> bool:
        import select

        return not select.select([], [master], [], 0)[1] or wait_state(pid) == "S"

    wait_until(stands_still, 30)
    mark = nonce(house)
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None, 60)
    _, status = os.waitpid(pid, 0)
    os.close(master)
    assert os.waitstatus_to_exitcode(status) == 0
    assert carriers(mark), "held on by its keeper"


def wait_state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def test_under_nohup_a_hangup_is_nobodys_wish(tmp_path: Path, house: dict[str, str]) -> None:
    tree = repository(tmp_path / "tree")
    command = ["nohup", sys.executable, "-m", "app.main", "start", BRIEF, "--plain", "--json", "--yes", *OPTIONS]
    with subprocess.Popen(
        command, cwd=tree, env=house, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        events = map(json.loads, process.stdout)
        assert next(one for one in events if one["event"] == "turn" and one["state"] == "accepted")
        process.send_signal(signal.SIGHUP)
        process.stdin.write(b"queue\n")
        process.stdin.flush()
        assert next(events)["event"] == "queued", "it goes on as if nothing had been"
        process.stdin.write(b"stop\n")
        process.stdin.flush()
        assert next(one for one in events if one["event"] == "ended")["reason"] == "stopped"
        assert process.wait(30) == 1
