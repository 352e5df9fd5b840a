"""KILL at a sample of the named steps with a real Claude Code, then the next console, and every invariant.

The whole matrix is tried on the practice agent (``tests/faults/test_matrix.py``). This is what keeps that honest: what
a real one leaves behind when a part of the chain dies (its own session file, the end of its tools, the cost that it
counts from when it is resumed) is not pretended by anybody here.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.steps import Step
from store import runs
from store.vocab import DecisionState, EndReason, RunOutcome, TurnState
from tests.agents import noted
from tests.agents.conftest import AgentHome, Binary
from tests.agents.install import PINNED
from tests.faults import flight, invariants
from tests.faults.consoles import KILLED, Consoles
from tests.faults.dooming import Doom
from tests.faults.test_matrix import CARRIED, ENDS, Case

pytestmark = pytest.mark.agents

OLD, NEW = PINNED
IN_FRONT = [
    (NEW, Case(Step.PROVEN)),
    (NEW, Case(Step.AGENT_STAMPED)),
    (NEW, Case(Step.TURN_AFTER_WRITE)),
    (NEW, Case(Step.DECISION_ASKED)),
    (NEW, Case(Step.ANSWER_COMMITTED)),
    (OLD, Case(Step.ANSWER_COMMITTED)),
    (NEW, Case(Step.TURN_SETTLED)),
    (NEW, Case(Step.ORDERED)),
    (NEW, Case(Step.NEXT_STARTED)),
    (NEW, Case(Step.DECISION_ASKED, 1, "worker keeper console")),
]
"""The console dies, in the last one with all that it holds."""
BEHIND = [
    (NEW, Case(Step.TURN_ACCEPTED, 1, "keeper")),
    (NEW, Case(Step.ANSWER_COMMITTED, 1, "worker")),
    (NEW, Case(Step.CONTROL_BEFORE_WRITE, 1, "agent")),
    (NEW, Case(Step.TURN_SETTLED, 1, "agent")),
]
"""What is held dies under a console that lives."""


def named(case: object) -> str:
    return str(getattr(case, "version", case))


@pytest.fixture(scope="module")
def consoles() -> Iterator[Consoles]:
    made = Consoles()
    yield made
    made.close()


@pytest.mark.parametrize(("claude_binary", "case"), IN_FRONT, indirect=["claude_binary"], ids=named)
async def test_a_console_killed_at_a_step(
    claude_binary: Binary, agent_home: AgentHome, consoles: Consoles, tmp_path: Path, case: Case
) -> None:
    told = {"binary": str(claude_binary.path), "environment": agent_home.environment}
    assert await case.fly(consoles, tmp_path, **told) == KILLED
    async with noted.house(tmp_path, claude_binary.path, agent_home.environment) as held:
        house = held.coordinator.house
        run = (await house.ledger.read(runs.listing))[0].id
        view = await noted.Pilot(held, case.ending).fly(run)
        await invariants.check(house.ledger, house.settings.spool, held.tree, output_lost="worker" in case.victims)
        if case.victims == "console" and case.step in CARRIED:
            assert [turn.state for turn in view.turns][:3] == [TurnState.SETTLED] * 3, view.turns
            assert {one.state for one in view.decisions} == {DecisionState.DELIVERED}, view.decisions
            assert (held.tree / flight.RAN).read_text() == "once\n"
            assert (view.outcome, view.reason) == ENDS[case.ending]


@pytest.mark.parametrize(("claude_binary", "case"), BEHIND, indirect=["claude_binary"], ids=named)
async def test_what_is_held_killed_under_a_console_that_lives(
    claude_binary: Binary, agent_home: AgentHome, tmp_path: Path, case: Case
) -> None:
    doom = Doom(step=case.step, nth=case.nth, victims=tuple(case.victims.split()), ledger=tmp_path / "ledger.db")
    async with noted.house(tmp_path, claude_binary.path, agent_home.environment, doom=doom) as held:
        house = held.coordinator.house
        run = await noted.start(held)
        view = await noted.Pilot(held, case.ending).fly(run)
        assert doom.hit, "nobody was there to be killed"
        await invariants.check(house.ledger, house.settings.spool, held.tree, output_lost="worker" in case.victims)
        assert view.outcome in (RunOutcome.INTERRUPTED, RunOutcome.FAILED) and view.reason != EndReason.STOPPED
