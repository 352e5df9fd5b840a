"""The main job end to end in the console, in a pseudo-terminal, on the practice agent."""

from pathlib import Path

import pytest

from tests.coordinator.held import repository
from tests.fakes import main_job
from tests.fakes.plain_process import house_environment
from tests.terminal import console_job
from tests.terminal.screen import ENTER, Screen

pytestmark = pytest.mark.xdist_group("terminal")


def test_from_the_terms_to_the_stop_report(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    environment = house_environment(tmp_path / "house")
    start = ("start", main_job.BRIEF, "--agent", "practice", "--script", "plain", "--in-place")
    with Screen(*start, cwd=tree, environment=environment) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        hold = console_job.play(screen, tmp_path / "house", tree)
    main_job.check_books(environment, tree, hold, "rehearsal")
