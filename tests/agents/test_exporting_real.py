"""A run of each real Claude Code, exported in every format and checked again."""

from pathlib import Path

import pytest

from tests.agents.conftest import AgentHome, Binary
from tests.agents.test_end_to_end_plain import house_of
from tests.coordinator.held import repository
from tests.fakes import main_job
from tests.fakes.plain_process import PlainProcess
from tests.review.exported import in_every_format

pytestmark = [pytest.mark.agents, pytest.mark.xdist_group("terminal")]


def test_all_of_it_leaves_in_every_format(claude_binary: Binary, agent_home: AgentHome, tmp_path: Path) -> None:
    tree = repository(agent_home.repository)
    house = house_of(agent_home, claude_binary)
    with PlainProcess(main_job.BRIEF, repository=tree, environment=house, agent="claude") as plain:
        main_job.play(plain, tree)
    out = tmp_path / "out"
    out.mkdir()
    words = (
        "Claude Code",
        "the first turn is done",
        "rather not",
        "as dark as the sea",
        "Turn 3",
        "Nothing left running",
    )
    made = in_every_format(out, Path(house["FOOTPLATE_HOME"]) / "ledger.db", *words)
    page = made["html"].read_text()
    assert page.count('class="card') == 6, "each decision once"
    assert page.count("<details>") >= 6
