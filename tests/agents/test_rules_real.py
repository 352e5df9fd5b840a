"""Standing rules with real agents: what each of them really sends for an edit and a command is known to the last key,
so that a rule may answer it; and the agent takes that answer as the operator's."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from coordinator.api import Proposal, Propose, Started, StartRun
from coordinator.drivers.asks import Allow
from store.vocab import DecisionState, TurnResultKind
from tests.agents import scene
from tests.agents.conftest import installed
from tests.agents.install import PINNED
from tests.agents.kinds import CLAUDE_ACP_KIND, GEMINI_KIND, KINDS, Kind, claude_home
from tests.coordinator.held import script
from tests.fakes.loopback_model import LoopbackModel

pytestmark = pytest.mark.agents

EDITS, RUNS, NEVER = "allow edit src/**", "allow command touch", "deny command touch denied.txt"


def claude_itself(home: Path, url: str) -> Mapping[str, str]:
    return {name: told for name, told in claude_home(home, url).items() if name != "CLAUDE_CODE_EXECUTABLE"}


CLAUDES = tuple(
    replace(CLAUDE_ACP_KIND, pinned=pinned, driver="claude", profile="claude", prepare=claude_itself, needs=())
    for pinned in PINNED
)


@pytest.fixture(params=(*CLAUDES, *KINDS), ids=lambda kind: f"{kind.profile}-{kind.pinned.version}")
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    installed(found.pinned, *found.needs)
    return found


async def test_what_it_asks_is_answered_by_its_rule(kind: Kind, loopback: LoopbackModel, tmp_path: Path) -> None:
    async with scene.house(tmp_path, kind, loopback.url) as held:
        made = held.tree / "src" / "made.txt"
        made.parent.mkdir()
        brief = "Do it. " + script(
            {"text": "on it", "tools": [kind.write(made, scene.LINE)]},
            scene.tool(kind, "touch ruled.txt"),
            scene.tool(kind, "touch denied.txt"),
            {"text": "that was all"},
        )
        proposal = await held.do(
            Propose(
                instruction=brief,
                repository=str(held.tree),
                agent=kind.profile,
                preamble=False,
                more_rules=(EDITS, RUNS, NEVER),
            )
        )
        assert isinstance(proposal, Proposal), proposal
        started = await held.do(StartRun(terms=proposal.terms))
        assert isinstance(started, Started), started

        operator = scene.Operator(held, kind, started.run)
        rules = [f"rule: {EDITS}", f"rule: {RUNS}", f"rule: {NEVER}"]
        if kind is GEMINI_KIND:
            # It puts a command into the title of its request and nowhere else, and no rule reads a title.
            await operator.answer(await operator.asked(2), Allow())
            await operator.refuse(await operator.asked(3))
            rules[1:] = ["Ada", "Ada"]
        view = await operator.settled(1)
        assert [one.answered_by for one in sorted(view.decisions, key=lambda one: one.id)] == rules
        assert {one.state for one in view.decisions} == {DecisionState.DELIVERED}, view.decisions
        assert view.turns[0].result in (TurnResultKind.SUCCESS, TurnResultKind.INTERRUPTED)
        assert made.read_text().strip() == scene.LINE and (held.tree / "ruled.txt").exists()
        assert not (held.tree / "denied.txt").exists()
        await operator.stop()
