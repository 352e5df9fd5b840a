"""The main job by the keys of the console: ^O and a digit, a note, ^C in the middle of a tool, ^\\ at the end."""

import re
from pathlib import Path

from tests.fakes import main_job
from tests.fakes.accounts import Hold, hold_of
from tests.terminal.screen import ENTER, INTERRUPT, NEXT_WAITING, QUIT, STOP, Screen
from tests.waiting import wait_until

CARD = "▌"
"""At the edge of every row of a card: what the transcript says of the same thing has none."""


def option(screen: Screen, words: str) -> str:
    """The digit under which the card offers this."""
    found = re.search(rf"{CARD}.*?(\d) {words}(  |\n|$)", screen.text())
    assert found, screen.text()
    return found.group(1)


def to_card(screen: Screen, about: str) -> None:
    """The card about this has the focus, and has stood long enough for a key."""
    screen.stands(f"{CARD}.*{about}")
    screen.press(NEXT_WAITING)
    screen.shows(r"1–\d answer")


def answer(screen: Screen, about: str, words: str = "allow once") -> None:
    to_card(screen, about)
    screen.press(option(screen, words))
    screen.gone(f"{CARD}.*{about}")


def play(screen: Screen, home: Path, tree: Path) -> Hold:
    """From the first card to the end of the console."""
    answer(screen, "allowed.txt")
    wait_until((tree / "allowed.txt").exists, 20, "what was allowed ran")
    to_card(screen, "denied.txt")
    screen.press(option(screen, "deny, and say why"))
    screen.paste("rather not")
    screen.press(ENTER)
    to_card(screen, "Which colour")
    screen.press("n")
    screen.paste("as dark as the sea")
    screen.press(ENTER)
    screen.shows(f"{CARD}.*note to it: as dark as the sea")
    screen.press("2")
    screen.shows("  the first turn is done")
    screen.shows("YOUR MOVE|IDLE")
    assert not (tree / "denied.txt").exists(), "what was denied did not"
    hold = hold_of(home)

    screen.paste(main_job.SECOND)
    screen.press(ENTER)
    answer(screen, r"sleep\(7300")
    wait_until(lambda: main_job.among([main_job.TOOL], hold.living().values()), 20, "the tool runs")
    screen.press(INTERRUPT)
    screen.shows("2 you · interrupted")
    wait_until(lambda: not main_job.among([main_job.TOOL], hold.living().values()), 20, "it went with its turn")

    screen.paste(main_job.THIRD)
    screen.press(ENTER)
    answer(screen, r"sleep\(7301")
    answer(screen, r"sleep\(7304")
    wait_until(lambda: main_job.among(main_job.SLEEPS, hold.living().values()), 20, "all four run")
    screen.press(STOP)
    screen.shows("Nothing left running")
    assert hold.living() == {}
    screen.press(QUIT)
    assert screen.code() == 0
    assert screen.given_back()
    return hold
