"""The main job end to end on each real Claude Code, through ``start --plain --json``, against the loopback model."""

import pytest

from tests.agents.conftest import AgentHome, Binary
from tests.coordinator.held import repository
from tests.fakes import main_job
from tests.fakes.plain_process import ROOT, PlainProcess

pytestmark = [pytest.mark.agents, pytest.mark.xdist_group("terminal")]


def house_of(agent_home: AgentHome, binary: Binary) -> dict[str, str]:
    """The operator's environment: the agent's quiet one, a house beside it, and which program is Claude Code."""
    return {
        **agent_home.environment,
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
        "FOOTPLATE_HOME": str(agent_home.home.parent / "house"),
        "FOOTPLATE_CLAUDE": str(binary.path),
    }


def test_from_the_brief_to_the_stop_report(claude_binary: Binary, agent_home: AgentHome) -> None:
    tree = repository(agent_home.repository)
    with PlainProcess(
        main_job.BRIEF, repository=tree, environment=house_of(agent_home, claude_binary), agent="claude"
    ) as plain:
        hold = main_job.play(plain, tree)
        main_job.check_plain(plain, hold, "claude")
