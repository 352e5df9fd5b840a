"""The console that is killed, stopped, told to go, or breaks, in the middle of a turn: what happens to what it holds.

A console in a pseudo-terminal, and one without a screen; the practice agent with a command in the foreground and one
in a session of its own.
"""

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from coordinator.custody.types import RecordKind
from tests.coordinator.held import repository
from tests.fakes import main_job
from tests.fakes.accounts import Hold, everything_once, hold_of
from tests.fakes.plain_process import PlainProcess, house_environment, run_footplate
from tests.terminal.console_job import answer
from tests.terminal.screen import ENTER, QUIT, Screen
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("faults")

HOLD_SECONDS = 5
RUNNING = ("sleep 7402", "time.sleep(7401)")
BRIEF = "go " + main_job.directive(
    {"text": "a command that goes on"} | main_job.bash(f"(setsid {RUNNING[0]} &) ; {main_job.wait_for(7401)}"),
    {"text": "never said"},
)
OPTIONS = ("--agent", "practice", "--script", "plain", "--in-place")


@pytest.fixture
def house(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "house"
    home.mkdir()
    (home / "config.toml").write_text(f"hold_seconds = {HOLD_SECONDS}\n")
    return house_environment(home)


def home_of(house: dict[str, str]) -> Path:
    return Path(house["FOOTPLATE_HOME"])


@contextmanager
def console(tmp_path: Path, house: dict[str, str], **more: Any) -> Iterator[tuple[Screen, Hold]]:
    """In the middle of a turn: the command runs, and what it started in a session of its own."""
    tree = repository(tmp_path / "tree")
    with Screen("start", BRIEF, *OPTIONS, cwd=tree, environment=house, **more) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        answer(screen, r"sleep\(7401")
        hold = hold_of(home_of(house))
        wait_until(lambda: main_job.among(RUNNING, hold.living().values()), 20, "the command runs")
        yield screen, hold


@contextmanager
def plain(tmp_path: Path, house: dict[str, str]) -> Iterator[tuple[PlainProcess, Hold]]:
    tree = repository(tmp_path / "tree")
    with PlainProcess(
        BRIEF, repository=tree, environment=house, agent="practice", options=("--in-place", "--script", "plain")
    ) as process:
        process.type(f"allow {process.asked(1)['id']}")
        hold = hold_of(home_of(house))
        wait_until(lambda: main_job.among(RUNNING, hold.living().values()), 20, "the command runs")
        yield process, hold


def the_keeper_fences(hold: Hold, lost_at: float) -> None:
    """After its hold time, not before; nothing is left; the spool tells all of it and ends with that."""
    wait_until(lambda: not hold.living(), HOLD_SECONDS + 20, "nothing of the run is alive")
    records = wait_until(
        lambda: found if (found := hold.spool())[-1].kind in (RecordKind.GONE, RecordKind.END) else [], 20, "the end"
    )
    kinds = [record.kind for record in records]
    assert kinds.count(RecordKind.GONE) == 1 and RecordKind.GAP not in kinds
    gone = records[kinds.index(RecordKind.GONE)]
    assert gone.facts["remaining"] == []
    assert gone.facts["reason"] == "console-lost"
    names = [one["name"] for one in gone.facts["ended"]]  # type: ignore[attr-defined]
    assert main_job.among(RUNNING, names), names
    # Whole lines from the first to the last: what the agent printed is all there, the end of the turn too.
    printed = b"".join(record.data for record in records if record.kind is RecordKind.STDOUT)
    assert printed.endswith(b"\n")
    told = [json.loads(line) for line in printed.splitlines()]
    results = [one for one in told if one["type"] == "result"]
    assert len(results) == 1 and results[0]["subtype"] == "error_during_execution"
    fence = next(record for record in records if record.kind is RecordKind.FENCE)
    # Renewed each 2 s: the hold had at least the rest of its time when the console was lost.
    assert fence.at_ms / 1000 - lost_at > HOLD_SECONDS - 2.5, "it waited for its console"


def test_a_killed_console(tmp_path: Path, house: dict[str, str]) -> None:
    with console(tmp_path, house) as (screen, hold):
        lost_at = time.time()
        screen.child.kill(signal.SIGKILL)
        wait_until(lambda: not screen.child.isalive())
        assert hold.living(), "the keeper holds on for its time"
        the_keeper_fences(hold, lost_at)
    # The next console settles it from the spool, each event once.
    told = run_footplate(
        house,
        "start",
        "--plain",
        "--yes",
        *OPTIONS,
        "look " + main_job.directive({"text": "hi"}),
        cwd=tmp_path / "tree",
    )
    assert told.code == 0, told.err
    report = json.loads(run_footplate(house, "show", "1", "--json", cwd=tmp_path).out)
    assert (report["run"]["outcome"], report["run"]["reason"]) == ("interrupted", "console-lost")
    assert [(one["state"], one["result"]) for one in report["turns"]] == [("settled", "interrupted")]
    assert report["receipt"]["remaining"] == []
    everything_once(home_of(house), "rehearsal")


def test_a_stopped_console(tmp_path: Path, house: dict[str, str]) -> None:
    """SIGSTOP keeps its sockets open and its process there: only that it renews nothing tells."""
    with console(tmp_path, house) as (screen, hold):
        lost_at = time.time()
        screen.child.kill(signal.SIGSTOP)
        the_keeper_fences(hold, lost_at)
        screen.child.kill(signal.SIGCONT)
        screen.shows("Nothing left running")
        screen.press(QUIT)
        assert screen.code() == 0
        assert screen.given_back()
    report = json.loads(run_footplate(house, "show", "1", "--json", cwd=tmp_path).out)
    assert (report["run"]["outcome"], report["run"]["reason"]) == ("interrupted", "console-lost")
    everything_once(home_of(house), "rehearsal")


@pytest.mark.xdist_group("faults, no screen")
@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_without_a_screen_it_is_the_same(tmp_path: Path, house: dict[str, str], signal_: signal.Signals) -> None:
    with plain(tmp_path, house) as (process, hold):
        lost_at = time.time()
        process.process.send_signal(signal_)
        the_keeper_fences(hold, lost_at)


def wish(house: dict[str, str], on_disconnect: str) -> None:
    with (home_of(house) / "config.toml").open("a") as config:
        config.write(f'on_disconnect = "{on_disconnect}"\n')


def stays_held_and_says_so(screen: Screen, hold: Hold) -> None:
    assert main_job.among(RUNNING, hold.living().values()), "held on by its keeper"
    after = screen.raw.rpartition(b"\x1b[?1049l")[2].decode()
    assert "Run 1 stays held until " in after, after


def is_ended_by_a_stop_from_elsewhere(tmp_path: Path, house: dict[str, str], hold: Hold) -> None:
    told = run_footplate(house, "stop", "1", cwd=tmp_path)
    assert told.code == 0, told.err
    assert "Nothing left running." in told.out
    assert hold.living() == {}


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGHUP], ids=["terminated", "hung up"])
def test_told_to_go_it_ends_everything_where_that_is_wanted(
    tmp_path: Path, house: dict[str, str], signal_: signal.Signals
) -> None:
    wish(house, "stop")
    with console(tmp_path, house) as (screen, hold):
        screen.child.kill(signal_)
        assert screen.code() == 0
        assert screen.given_back()
        assert hold.living() == {}
        assert b"Traceback" not in screen.raw
    report = json.loads(run_footplate(house, "show", "1", "--json", cwd=tmp_path).out)
    assert (report["run"]["outcome"], report["run"]["reason"]) == ("interrupted", "shutdown")
    everything_once(home_of(house), "rehearsal")


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGHUP], ids=["terminated", "hung up"])
def test_told_to_go_it_leaves_everything_held_and_says_so(
    tmp_path: Path, house: dict[str, str], signal_: signal.Signals
) -> None:
    with console(tmp_path, house) as (screen, hold):
        screen.child.kill(signal_)
        assert screen.code() == 0
        assert screen.given_back()
        stays_held_and_says_so(screen, hold)
        is_ended_by_a_stop_from_elsewhere(tmp_path, house, hold)


def test_a_terminal_that_is_gone_does_not_keep_the_console_alive(tmp_path: Path, house: dict[str, str]) -> None:
    """The window is closed: reading fails, writing fails, and nobody is there to tell."""
    with console(tmp_path, house) as (screen, hold):
        pid = screen.child.pid
        screen.close_window()
        wait_until(lambda: not Path(f"/proc/{pid}").exists() or not screen.child.isalive(), 30, "the console ended")
        assert main_job.among(RUNNING, hold.living().values()), "held on by its keeper"
        is_ended_by_a_stop_from_elsewhere(tmp_path, house, hold)


def test_a_screen_that_breaks_is_one_sentence_and_harms_no_run(tmp_path: Path, house: dict[str, str]) -> None:
    program = (sys.executable, "-m", "tests.children.breaking_console")
    with console(tmp_path, house, program=program) as (screen, hold):
        screen.press("\x0c")
        assert screen.code() == 70
        assert screen.given_back()
        assert b"Traceback" not in screen.raw and b"locals" not in screen.raw
        assert b"what must be printed nowhere" not in screen.raw
        said = screen.raw.rpartition(b"\x1b[?1049l")[2].decode()
        assert said.count("went wrong inside Footplate (ZeroDivisionError)") == 1
        stays_held_and_says_so(screen, hold)
        traces = list((home_of(house) / "logs").glob("footplate-trace-*.txt"))
        assert len(traces) == 1 and "ZeroDivisionError" in traces[0].read_text()
        is_ended_by_a_stop_from_elsewhere(tmp_path, house, hold)
