"""Writing as bytes in a real terminal: pastes, an editor, a console that is killed; what the ledger has afterwards."""

import os
import signal
from pathlib import Path

import pytest

from store import drafts, queued, runs, turns
from store.db import read_ledger
from store.vocab import Millis, RunId
from tests.coordinator.held import repository
from tests.coordinator.repositories import git
from tests.fakes import main_job
from tests.fakes.plain_process import house_environment
from tests.terminal.screen import ENTER, ESCAPE, INTERRUPT, TAB, Screen
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("terminal, writing")

RUN = RunId(1)
TALKS = main_job.directive({"text": "First words."})
WORKS = main_job.directive({"text": "First words, and a long silence after them.", "chunks": 3, "slow": 600})
TWENTY = "\n".join(f"line {n} of the paste" for n in range(1, 21))


def house(tmp_path: Path, **more: str) -> dict[str, str]:
    environment = house_environment(tmp_path / "house", **more)
    environment["FOOTPLATE_CLAUDE"] = str(tmp_path / "no-such-program")
    return environment


def said(home: Path) -> list[str]:
    """What was said to the agent, in order."""
    with read_ledger(home / "ledger.db", now=lambda: Millis(0)) as tx:
        return [turn.text for turn in turns.of_run(tx, RUN)]


def in_line(home: Path) -> list[str]:
    with read_ledger(home / "ledger.db", now=lambda: Millis(0)) as tx:
        return [one.text for one in queued.waiting(tx, RUN)]


def draft(home: Path, key: str) -> str | None:
    with read_ledger(home / "ledger.db", now=lambda: Millis(0)) as tx:
        return drafts.get(tx, key)


def send(screen: Screen, data: bytes) -> None:
    """All of it, as a terminal sends it: as fast as it is read."""
    view = memoryview(data)
    while view:
        view = view[os.write(screen.child.child_fd, view[:65536]) :]


def settle_draft(screen: Screen, home: Path, key: str, text: str) -> None:
    wait_until(lambda: draft(home, key) == text, 20, f"the draft of {key} in the ledger")


def speaking(tmp_path: Path, environment: dict[str, str], brief: str = TALKS) -> Screen:
    """A session that was started with one Enter, in view."""
    tree = tmp_path / "tree"
    if not tree.exists():
        repository(tree)
    return Screen(
        "start", f"speak {brief}", "--agent", "practice", "--script", "plain", "--in-place", cwd=tree,
        environment=environment,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- pasting


def test_twenty_lines_are_one_draft_with_brackets_and_without(tmp_path: Path) -> None:
    environment, home = house(tmp_path), tmp_path / "house"
    with speaking(tmp_path, environment) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        screen.shows("YOUR MOVE|IDLE")
        screen.paste(TWENTY)
        settle_draft(screen, home, "run:1", TWENTY)
        screen.press(ENTER)
        wait_until(lambda: said(home)[1:] == [TWENTY], 20, "the draft as one turn")
        screen.shows("YOUR MOVE|IDLE")
        # A terminal without brackets: the lines are keys, and their ends are Enter.
        send(screen, (TWENTY.replace("\n", "\r") + "\r").encode())
        settle_draft(screen, home, "run:1", TWENTY + "\n")
        assert (len(said(home)), in_line(home)) == (2, [])
        screen.press(ENTER)
        wait_until(lambda: len(said(home)) == 3, 20, "the draft as one turn")


def test_a_paste_that_holds_keys_is_text(tmp_path: Path) -> None:
    """F9 stops, ^C interrupts, Esc leaves; Enter sends. In a paste they are letters."""
    environment, home = house(tmp_path), tmp_path / "house"
    with speaking(tmp_path, environment, WORKS) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        screen.shows("WORKING")
        screen.paste("one\x1b[20~two\x03three\x1cfour\x1b\rfive\x1d\x1dsix")
        wait_until(lambda: "six" in (draft(home, "run:1") or ""), 20, "the paste in the draft")
        assert draft(home, "run:1") == "one␛[20~two␃three␜four␛\nfive␝␝six"
        screen.shows("WORKING")
        assert in_line(home) == [] and len(said(home)) == 1


def test_a_megabyte_is_one_mark_and_over_the_limit_it_loses_nothing(tmp_path: Path) -> None:
    environment, home = house(tmp_path), tmp_path / "house"
    line = "some forty letters of a log, line %06d\n"
    text = "".join(line % n for n in range(1_000_000 // len(line % 0))).rstrip("\n")
    with speaking(tmp_path, environment) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        screen.shows("YOUR MOVE|IDLE")
        send(screen, f"\x1b[200~{text}\x1b[201~".encode())
        screen.shows(r"stands for a long text \(24,390 lines, 1.0 MB\)")
        send(screen, b"x")
        screen.shows("▤x")
        screen.paste("y" * 60_000)
        screen.press(ENTER)
        size = len(text) + 1 + 60_000
        screen.shows(rf"too long to send \({size} bytes, 1048576 at most\)")
        settle_draft(screen, home, "run:1", f"{text}x{'y' * 60_000}")
        screen.press("\x7f")
        settle_draft(screen, home, "run:1", f"{text}x")
        screen.press(ENTER)
        wait_until(lambda: said(home)[1:] == [f"{text}x"], 20, "all of it as one turn")
        wait_until(lambda: not draft(home, "run:1"), 20, "no draft of what was sent")


def test_ten_kilobytes_right_after_an_interrupt_arrive_whole(tmp_path: Path) -> None:
    environment, home = house(tmp_path), tmp_path / "house"
    text = "\n".join(f"line {n} " + "x" * 90 for n in range(100))
    with speaking(tmp_path, environment, WORKS) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        screen.shows("First words")
        send(screen, INTERRUPT.encode() + f"\x1b[200~{text}\x1b[201~".encode())
        settle_draft(screen, home, "run:1", text)
        screen.shows("interrupted")
        assert in_line(home) == [] and len(said(home)) == 1


# ------------------------------------------------------------------------------------------------- a console is killed


def killed(screen: Screen) -> None:
    """As a machine that is out of memory does it."""
    screen.child.kill(signal.SIGKILL)
    wait_until(lambda: not screen.child.isalive(), 20, "the console is gone")


def test_the_drafts_outlive_a_killed_console(tmp_path: Path) -> None:
    environment, home = house(tmp_path), tmp_path / "house"
    with speaking(tmp_path, environment) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        screen.shows("YOUR MOVE|IDLE")
        screen.write("half a thought about the race")
        settle_draft(screen, home, "run:1", "half a thought about the race")
        screen.press("\x0e")
        screen.shows("New session")
        screen.write("and a brief for later")
        settle_draft(screen, home, f"start:{tmp_path / 'tree'}", "and a brief for later")
        killed(screen)
        with Screen(cwd=tmp_path / "tree", environment=environment) as again:
            again.shows("recovered at start: 1 picked up")
            again.shows("› half a thought about the race")
            again.press("\x0e")
            again.shows("› and a brief for later")
            again.press(ESCAPE, "J")
            again.shows("› half a thought about the race")


def test_no_pause_is_needed_for_a_draft_to_be_saved(tmp_path: Path) -> None:
    """Who goes on typing must not lose it all."""
    environment, home = house(tmp_path), tmp_path / "house"
    repository(tmp_path / "tree")
    with Screen(cwd=tmp_path / "tree", environment=environment) as screen:
        screen.shows("Enter show the terms")
        pressed: list[int] = []

        def saved() -> bool:
            """Looked at every few milliseconds, and a key each time: no pause is as long as half a second."""
            send(screen, b"a")
            pressed.append(1)
            assert len(pressed) < 4000, "nothing was saved while keys came"
            return bool(draft(home, f"start:{tmp_path / 'tree'}"))

        wait_until(saved, 20, "a part of it in the ledger while keys come")
        killed(screen)


# ----------------------------------------------------------------------------------------------------------- an editor


def editor(tmp_path: Path, script: str) -> str:
    path = tmp_path / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_an_editor_gives_back_what_was_saved_and_the_agent_goes_on_meanwhile(tmp_path: Path) -> None:
    go, opened = tmp_path / "go", tmp_path / "opened"
    script = (
        f'cat "$1" > {opened}; while [ ! -e {go} ]; do sleep 0.05; done; '
        'printf "from the editor\\n\\tindented\\n" >> "$1"'
    )
    environment, home = house(tmp_path, EDITOR=editor(tmp_path, script)), tmp_path / "house"
    slow = main_job.directive({"text": "First words, then more.", "chunks": 4, "slow": 1}, {"text": "The end."})
    with speaking(tmp_path, environment, slow) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        screen.shows("WORKING")
        screen.write("typed here")
        screen.press("\x07")
        wait_until(opened.exists, 20, "the editor is open")
        assert not ended(home)
        wait_until(lambda: ended(home), 20, "the turn's end comes to the ledger while the editor is open")
        assert opened.read_text() == "typed here"
        go.touch()
        screen.shows("› typed herefrom the editor")
        screen.shows("The end.")
        settle_draft(screen, home, "run:1", "typed herefrom the editor\n\tindented")


def ended(home: Path) -> bool:
    with read_ledger(home / "ledger.db", now=lambda: Millis(0)) as tx:
        return all(turn.ended_at is not None for turn in turns.of_run(tx, RUN))


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 1", "ended with 1: your text is as it was"),
        ('rm "$1"', "left no file: your text is as it was"),
        ('printf "saved" > "$1"; exit 3', "ended with 3: your text is as it was; what it saved is in "),
        ("kill -9 $$", "ended with -9: your text is as it was"),
    ],
)
def test_an_editor_that_fails_loses_nothing(tmp_path: Path, script: str, words: str) -> None:
    environment = house(tmp_path, EDITOR=editor(tmp_path, script))
    repository(tmp_path / "tree")
    with Screen(cwd=tmp_path / "tree", environment=environment) as screen:
        screen.shows("Enter show the terms")
        screen.write("typed here")
        screen.press("\x07")
        screen.shows(words)
        screen.shows("› typed here")
        screen.write(" and on")
        screen.shows("› typed here and on")


@pytest.mark.parametrize("command", ["no-such-editor-at-all", "vim 'half", " "])
def test_no_editor_is_a_sentence(tmp_path: Path, command: str) -> None:
    environment = house(tmp_path, EDITOR=command)
    if not command.strip():
        environment["PATH"] = str(tmp_path)
    repository(tmp_path / "tree")
    with Screen(cwd=tmp_path / "tree", environment=environment) as screen:
        screen.shows("What is to be done")  # with no git there is nothing to start either
        screen.write("typed here")
        screen.press("\x07")
        screen.shows("did not start|cannot be read as a command")
        screen.write(" and on")
        screen.shows("› typed here and on")


# ------------------------------------------------------------------------------------------------- commands and files


def test_a_new_conversation_is_recorded_and_stamped_anew(tmp_path: Path) -> None:
    environment, home = house(tmp_path), tmp_path / "house"

    def native() -> str | None:
        with read_ledger(home / "ledger.db", now=lambda: Millis(0)) as tx:
            run = runs.get(tx, RUN)
        assert run is not None
        return run.native_id

    with speaking(tmp_path, environment) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        screen.shows("YOUR MOVE|IDLE")
        before = native()
        assert before
        screen.write("/clear")
        screen.shows("will run /clear in practice")
        screen.press(ENTER)
        wait_until(lambda: native() not in (None, before), 20, "the conversation's new id")
        wait_until(lambda: said(home)[1:] == ["/clear"], 20, "the command is a turn like any other")


def test_a_tracked_file_completes_and_what_was_said_comes_back(tmp_path: Path) -> None:
    environment, home = house(tmp_path), tmp_path / "house"
    tree = repository(tmp_path / "tree")
    (tree / "race test.py").write_text("")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "two")
    with speaking(tmp_path, environment) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        screen.shows("YOUR MOVE|IDLE")
        screen.write("look at @rac")
        screen.shows("race test.py")
        screen.press(TAB)
        screen.shows('› look at @"race test.py"')
        screen.press(ENTER)
        wait_until(lambda: said(home)[1:] == ['look at @"race test.py" '], 20, "sent")
        screen.shows("YOUR MOVE|IDLE")
        screen.write("unsent")
        screen.press("\x12")
        screen.shows("What you said before, newest first")
        screen.write("race")
        screen.press(ENTER)
        screen.shows('› look at @"race test.py"')
        assert len(said(home)) == 2
