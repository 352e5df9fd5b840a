"""What an operator's world throws at a start, end to end: strange briefs, trees in a state, a disk that is full.

Each comes to one clear sentence and a meaningful code, or to a run that goes well; nothing is lost. What one function
can show is shown beside it (tests/cli, tests/coordinator); here are the whole ways.
"""

import json
import os
import re
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coordinator.held import repository
from tests.fakes import main_job
from tests.fakes.accounts import everything_once, hold_of
from tests.fakes.plain_process import PlainProcess, Ran, house_environment, run_footplate
from tests.terminal.console_job import CARD
from tests.terminal.screen import ENTER, ESCAPE, QUIT, Screen
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("faults, input")

PRACTICE = ("--agent", "practice", "--script", "plain")
PLAIN = ("start", "--plain", "--json", "--yes", *PRACTICE)
HOSTILE = "[bold]not bold[/bold] [/] [red [link=x]y[/link] $(echo no) {braces} \\[ %s"


@pytest.fixture
def house(tmp_path: Path) -> dict[str, str]:
    return house_environment(tmp_path / "house")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return repository(tmp_path / "tree")


def events(ran: Ran, name: str) -> list[main_job.Json]:
    told = [json.loads(line) for line in ran.out.splitlines()]
    return [one for one in told if one.get("event") == name]


def one_sentence(ran: Ran, code: int = 1) -> str:
    assert ran.code == code, (ran.out, ran.err)
    assert ran.err.count("\n") == 1 and ran.err.endswith("\n"), ran.err
    assert "Traceback" not in ran.err
    return ran.err.strip()


# -------------------------------------------------------------------------------------------------------------- briefs


def test_a_brief_of_the_largest_size_reaches_the_agent_whole(house: dict[str, str], tree: Path) -> None:
    """1 MiB with every bracket there is; the agent's answer stands at its very end, so it came whole."""
    end = main_job.directive({"text": "read to the end"})
    filler = (HOSTILE + "\n") * 20_000
    limit = 1_048_576
    brief = filler.encode()[: limit - len(end.encode())].decode() + end
    assert len(brief.encode()) == limit
    given = brief.encode()
    ran = run_footplate(house, *PLAIN, "--in-place", "--brief-file", "-", cwd=tree, given=given)
    assert ran.code == 0, ran.err
    assert [one["text"] for one in events(ran, "text")] == ["read to the end"]
    report = json.loads(run_footplate(house, "show", "1", "--json", cwd=tree).out)
    assert report["turns"][0]["text"] == brief


def test_a_brief_that_begins_with_a_slash_from_a_file_is_no_command(house: dict[str, str], tree: Path) -> None:
    given = ("/clear the table, " + main_job.directive({"text": "cleared"})).encode()
    ran = run_footplate(house, *PLAIN, "--in-place", "--brief-file", "-", cwd=tree, given=given)
    assert ran.code == 0, ran.err
    assert [one["text"] for one in events(ran, "text")] == ["cleared"]
    assert "begins with /" in one_sentence(run_footplate(house, *PLAIN, "/clear", cwd=tree), 2)


def test_control_characters_in_a_brief_start_nothing(house: dict[str, str], tree: Path) -> None:
    for strange in (b"look \x1b[2J here", b"a\x07b", b"x\x9b31m"):
        given = strange if strange != b"x\x9b31m" else "x\x9b31m".encode()
        ran = run_footplate(house, *PLAIN, "--brief-file", "-", cwd=tree, given=given)
        assert "control character" in one_sentence(ran, 2)
        assert "\x1b" not in ran.err and "\x9b" not in ran.err
    assert json.loads(run_footplate(house, "ls", "--json", cwd=tree).out)["runs"] == []


def test_brackets_are_letters_on_every_screen(house: dict[str, str], tree: Path) -> None:
    """In the brief, in what the agent says, in a command that is asked about, in a title."""
    brief = HOSTILE + " " + main_job.directive({"text": "said " + HOSTILE} | main_job.bash("echo " + HOSTILE))
    with Screen("start", *PRACTICE, "--in-place", brief, cwd=tree, environment=house) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        screen.shows(rf"{CARD}.*echo \[bold\]not bold")
        # A card does not wait for the rows beside it, nor they for the card.
        screen.shows(re.escape("said [bold]not bold[/bold] [/] [red"))
        screen.shows(re.escape("1 [bold]not bold[/bold]"))
        screen.press(ESCAPE)
        screen.press("l")
        screen.shows(r"(?i)stop would end|turns")
        screen.press(ESCAPE)
        screen.press(QUIT)
        screen.stands("1 leave")
        screen.press("2")
        assert screen.code() == 0
        assert screen.given_back()


# --------------------------------------------------------------------------------------------------------------- trees


def test_a_dirty_tree_is_worked_in_or_beside_and_nothing_of_it_is_lost(house: dict[str, str], tree: Path) -> None:
    (tree / "mine.txt").write_text("not committed\n")
    brief = "go " + main_job.directive(
        {"tools": [{"name": "Read", "input": {"file_path": "mine.txt"}}]}, {"text": "done"}
    )
    beside = run_footplate(house, "start", "--plain", "--yes", *PRACTICE, "--worktree", brief, cwd=tree)
    assert beside.code == 0, beside.err
    assert "Changes in 1 file that are not committed are not in the new tree." in beside.out
    inside = run_footplate(house, "start", "--plain", "--yes", *PRACTICE, "--in-place", brief, cwd=tree)
    assert inside.code == 0, inside.err
    assert "not in the new tree" not in inside.out
    assert (tree / "mine.txt").read_text() == "not committed\n"
    status = subprocess.run(["git", "status", "--porcelain"], cwd=tree, capture_output=True, text=True, check=True)
    assert status.stdout == "?? mine.txt\n", "no trace of a note, of a helper, of an index"


def test_a_detached_head_is_worked_beside(house: dict[str, str], tree: Path) -> None:
    subprocess.run(["git", "checkout", "-q", "--detach"], cwd=tree, check=True, capture_output=True)
    ran = run_footplate(house, *PLAIN, "--worktree", "go " + main_job.directive({"text": "x"}), cwd=tree)
    assert ran.code == 0, ran.err
    assert events(ran, "started")[0]["tree"] != str(tree)


@pytest.mark.parametrize("arguments", [(), (*PLAIN, "x"), ("demo", "--plain"), ("ls",), ("doctor",)], ids=" ".join)
def test_a_config_of_the_wrong_type_names_file_and_key(
    house: dict[str, str], tree: Path, arguments: tuple[str, ...]
) -> None:
    home = Path(house["FOOTPLATE_HOME"])
    home.mkdir()
    (home / "config.toml").write_text('max_held_sessions = "many"\n')
    ran = run_footplate(house, *arguments, cwd=tree)
    if arguments == ("doctor",):
        assert ran.code == 1
        assert "max_held_sessions" in ran.out
        return
    if not arguments:  # the console: it looks for its terminal first
        assert "terminal" in one_sentence(ran)
        return
    said = one_sentence(ran)
    assert str(home / "config.toml") in said and "max_held_sessions" in said
    assert not (home / "ledger.db").exists()


# --------------------------------------------------------------------------------------------------------------- disks


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of 8 MiB."""
    where = tmp_path / "disk"
    where.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(where)], capture_output=True, check=False
    )
    if made.returncode:
        line = "NOTHING TESTED ON A FULL DISK: a small file system could not be mounted; root may"
        warnings.warn(line, stacklevel=1)
        pytest.skip(line)
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", str(where)], check=True, capture_output=True)


def fill(disk: Path) -> Path:
    """To the last byte."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def test_a_full_disk_starts_nothing(tree: Path, small_disk: Path) -> None:
    fill(small_disk)
    house = house_environment(small_disk / "house", HOME=str(tree.parent))
    said = one_sentence(run_footplate(house, *PLAIN, "x", cwd=tree))
    assert "no space" in said.lower() or "full" in said.lower(), said


def test_a_disk_that_fills_up_delays_no_stop_and_loses_nothing(tree: Path, small_disk: Path) -> None:
    house = house_environment(small_disk / "house", HOME=str(tree.parent))
    brief = "go " + main_job.directive(main_job.bash(f"(setsid sleep 7502 &) ; {main_job.wait_for(7501)}"))
    with PlainProcess(
        brief, repository=tree, environment=house, agent="practice", options=("--in-place", "--script", "plain")
    ) as plain:
        plain.type(f"allow {plain.asked(1)['id']}")
        hold = hold_of(plain.home)
        wait_until(lambda: main_job.among(["sleep 7502", "time.sleep(7501)"], hold.living().values()), 20, "it runs")
        filler = fill(small_disk)
        plain.type("stop")
        wait_until(lambda: not hold.living(), 20, "the stop waits for no disk")
        filler.unlink()
        assert plain.code() == 1
        assert plain.saw("receipt")["receipt"]["remaining"] == []
        assert plain.saw("ended")["outcome"] == "interrupted"
        assert plain.footplate("verify").out == "The ledger is whole.\n"
        everything_once(plain.home, "rehearsal")


def test_a_house_that_cannot_be_written_is_a_sentence(tmp_path: Path, tree: Path) -> None:
    """A read-only file system as root, a folder of mode 0500 as anybody else, a file in place of a folder."""
    house = tmp_path / "locked"
    house.mkdir()
    (tmp_path / "file").write_text("in the way")
    homes = [tmp_path / "file"]
    bound = False
    if os.getuid() == 0:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(house)], capture_output=True, check=False
        )
        bound = done.returncode == 0
    else:
        house.chmod(0o500)
    if bound or os.getuid():
        homes.append(house / "home")
    else:
        warnings.warn("NOTHING TESTED ON A READ-ONLY FILE SYSTEM: it could not be mounted", stacklevel=1)
    try:
        for home in homes:
            environment = house_environment(home, HOME=str(tmp_path))
            for arguments in ((*PLAIN, "x"), ("demo", "--plain")):
                said = one_sentence(run_footplate(environment, *arguments, cwd=tree))
                assert str(home) in said, said
            listed = run_footplate(environment, "ls", cwd=tree)
            assert listed.code in (0, 1) and "Traceback" not in listed.err
    finally:
        if bound:
            subprocess.run(["umount", "-l", str(house)], check=True, capture_output=True)
