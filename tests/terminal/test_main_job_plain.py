"""The main job end to end without a screen, on the practice agent: nothing that needs npm."""

from pathlib import Path

import pytest

from tests.coordinator.held import repository
from tests.fakes import main_job
from tests.fakes.plain_process import PlainProcess, house_environment

pytestmark = pytest.mark.xdist_group("terminal")


def test_from_the_brief_to_the_stop_report(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    with PlainProcess(
        main_job.BRIEF,
        repository=tree,
        environment=house_environment(tmp_path / "house"),
        agent="practice",
        options=("--in-place", "--script", "plain"),
    ) as plain:
        hold = main_job.play(plain, tree)
        main_job.check_plain(plain, hold, "rehearsal")
