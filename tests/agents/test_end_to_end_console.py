"""The main job end to end in the console, in a pseudo-terminal, on a real Claude Code: the newer one.

One is enough here: what differs between them is the driver's affair, and `test_end_to_end_plain.py` has both.
"""

import pytest

from tests.agents.conftest import AgentHome, Binary
from tests.agents.install import PINNED
from tests.agents.test_end_to_end_plain import house_of
from tests.coordinator.held import repository
from tests.fakes import main_job
from tests.terminal import console_job
from tests.terminal.screen import ENTER, Screen

pytestmark = [pytest.mark.agents, pytest.mark.xdist_group("terminal")]


@pytest.mark.parametrize("claude_binary", PINNED[-1:], indirect=True, ids=lambda pinned: pinned.version)
def test_from_the_terms_to_the_stop_report(claude_binary: Binary, agent_home: AgentHome) -> None:
    assert claude_binary.generation == "332"
    tree = repository(agent_home.repository)
    environment = house_of(agent_home, claude_binary)
    with Screen("start", main_job.BRIEF, "--agent", "claude", cwd=tree, environment=environment) as screen:
        screen.shows("Enter starts under these terms")
        screen.press(ENTER)
        hold = console_job.play(screen, agent_home.home.parent / "house", tree)
    main_job.check_books(environment, tree, hold, "claude")
