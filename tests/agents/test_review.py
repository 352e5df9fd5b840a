"""A ledger that a real Claude Code made: reviewed, searched and replayed."""

from pathlib import Path

import pytest

from app.console.options import ConsoleOptions
from store.vocab import Millis
from tests.agents.conftest import AgentHome, Binary
from tests.agents.install import PINNED
from tests.agents.test_end_to_end_plain import house_of
from tests.console.review.opened import NOW, reviewing
from tests.coordinator.held import repository
from tests.fakes import main_job
from tests.fakes.plain_process import PlainProcess

pytestmark = [pytest.mark.agents, pytest.mark.xdist_group("terminal")]


def ledger_of(agent_home: AgentHome, binary: Binary) -> Path:
    tree = repository(agent_home.repository)
    environment = house_of(agent_home, binary)
    with PlainProcess(main_job.BRIEF, repository=tree, environment=environment, agent="claude") as plain:
        main_job.play(plain, tree)
    return Path(environment["FOOTPLATE_HOME"]) / "ledger.db"


@pytest.mark.parametrize("claude_binary", PINNED, indirect=True, ids=lambda pinned: pinned.version)
async def test_reviewed_searched_and_replayed(claude_binary: Binary, agent_home: AgentHome) -> None:
    ledger = ledger_of(agent_home, claude_binary)
    options = ConsoleOptions(now=lambda: Millis(NOW), monotonic=lambda: 0.0)
    async with reviewing(ledger, options=options) as on:
        page = on.review.pane.page
        assert page is not None and page.session.turns and page.session.decisions and page.problems == ()
        await on.press("enter", "tab")
        whole = on.conversation
        for decision in page.session.decisions:
            assert on.review.pane.to_decision(decision.id)
            on.review.go("facts")
            await on.press("enter")
            assert on.review.pane.part == "conversation", decision
        await on.press("escape", "t")
        hits = on.review.list.hits.items
        assert {"turn", "text", "tool-started", "decision"} <= {hit.kind for hit in hits}
        await on.press("enter", "r")
        while "at its end" not in on.review.replay.words():
            await on.press("full_stop")
        on.review.pane.transcript.flush()
        await on.pilot.pause()
        assert on.conversation == whole
