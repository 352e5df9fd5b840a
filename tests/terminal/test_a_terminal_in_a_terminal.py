"""A shell held by the console, in a real terminal: its transcript, its own screen, keys that go to it, and its end."""

from pathlib import Path

import pytest

from tests.coordinator.held import repository
from tests.fakes.plain_process import house_environment
from tests.terminal.screen import ENTER, ESCAPE, INTERRUPT, STOP, Screen

pytestmark = pytest.mark.xdist_group("terminal, few keys")


def test_a_shell_is_watched_typed_into_and_stopped(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    start = ("start", "echo $((600 + 66)); read -p 'go on? ' x; echo so: $x", "--agent", "bash", "--in-place")
    with Screen(*start, cwd=tree, environment=house_environment(tmp_path / "house")) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        screen.shows("   666")
        screen.press(ESCAPE)
        screen.shows("T its screen")
        screen.press("T")
        screen.shows("i types into it")
        screen.shows(r"go on\? ")
        screen.press("i")
        screen.shows("what you type goes to the program")
        screen.write("yes")
        screen.press(ENTER)
        screen.shows("no turn runs")  # then all keys are the program's, the interrupt too
        screen.shows("so: yes")
        screen.write("sleep 1000")
        screen.press(ENTER)
        screen.shows("sleep 1000")
        screen.press(INTERRUPT)
        screen.shows(r"\^C")
        screen.write("tput lines")
        screen.press(ENTER)
        screen.shows(r"^ *3\d *$|\n *3\d *\n")
        screen.press(ESCAPE, ESCAPE)
        screen.shows("so: yes")
        screen.press(STOP)
        screen.shows("Nothing left running")
        assert "interrupted" not in screen.text()
