"""How few keys it takes: from the shell's prompt to the first word of an agent, and through the whole demo."""

import time
from pathlib import Path

import pytest

from tests.coordinator.held import repository
from tests.fakes import main_job
from tests.fakes.plain_process import house_environment
from tests.terminal.console_job import answer, option, to_card
from tests.terminal.screen import ENTER, QUIT, STOP, Screen

pytestmark = pytest.mark.xdist_group("terminal, few keys")

STREAMING = main_job.directive({"text": "The very first words, and more much later.", "chunks": 5, "slow": 60})


def agree(screen: Screen) -> None:
    """To the terms, once they have stood long enough to be read."""
    screen.stands("START UNDER THESE TERMS")
    screen.shows("Enter start   Esc not yet   Tab other limits")
    screen.press(ENTER)


def test_start_with_a_brief_takes_one_enter(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    start = ("start", "speak " + STREAMING, "--agent", "practice", "--script", "plain")
    with Screen(*start, cwd=tree, environment=house_environment(tmp_path / "house")) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        # Half a sentence: it streams, the turn is still going on.
        screen.shows("   The very")
        screen.shows("WORKING")
        assert screen.keys == 1


def test_the_bare_command_takes_a_brief_and_two_enters(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    environment = house_environment(tmp_path / "house")
    # No other agent can be run here, so the practice agent is proposed.
    environment["FOOTPLATE_CLAUDE"] = str(tmp_path / "no-such-program")
    with Screen(cwd=tree, environment=environment) as screen:
        screen.shows("Enter show the terms")
        screen.paste("speak " + STREAMING)
        screen.shows("› speak")
        screen.press(ENTER)
        agree(screen)
        screen.shows("   The very")
        assert screen.keys == 1 + 2


def test_the_demo_by_the_keys_in_its_hints(tmp_path: Path) -> None:
    """A turn, a permission, a question, a change and a stop: at most 25 keys and 120 s, at the pace a person sees."""
    environment = house_environment(tmp_path / "house")
    del environment["FOOTPLATE_REHEARSAL_PACE"]
    with Screen("demo", cwd=tmp_path, environment=environment) as screen:
        screen.shows("› The test suite fails now and then")
        screen.shows("Enter show the terms")
        screen.press(ENTER)
        agree(screen)
        answer(screen, "soak.py --rounds 6")
        screen.shows("Tell me to go on")
        screen.shows("Enter send")
        screen.write("go on")
        screen.press(ENTER)
        to_card(screen, "In which order")
        screen.press(option(screen, "Alphabetical"))
        answer(screen, "menu.py")
        answer(screen, "soak.py --rounds 6")
        screen.shows("thousand would be proof")
        screen.shows("Enter send")
        screen.write("go on")
        screen.press(ENTER)
        answer(screen, "soak.py --rounds 20000")
        screen.shows("BACKGROUND +1 running")
        screen.press(STOP)
        screen.shows("Nothing left running")
        took = time.monotonic() - screen.started_at
        assert (screen.keys <= 25, took < 120) == (True, True), (screen.keys, took)
        screen.press(QUIT)
        assert screen.code() == 0
        assert screen.given_back()
    assert not list(Path(environment.get("TMPDIR", "/tmp")).glob("footplate-demo-*/shop/soak.log"))
