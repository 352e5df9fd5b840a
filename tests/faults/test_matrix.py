"""The fault matrix: KILL at every named step, to the console or to what it holds; then the next console, and every
invariant.

One run passes through all the steps (``flight.py``). A console that is the victim is a process of its own
(``children/doomed.py``); where the keeper, the worker or the agent is, the console that lives on is this one.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from coordinator.api import Stop
from coordinator.steps import Step
from store import runs
from store.vocab import DecisionState, EndReason, RunOutcome, TurnState
from tests.coordinator.held import Holding
from tests.faults import flight, invariants
from tests.faults.consoles import KILLED, Consoles
from tests.faults.dooming import Doom

SWEEPING = (Step.SEIZED, Step.BEFORE_ATTACH, Step.ATTACHED, Step.CATCHING_UP, Step.CAUGHT_UP, Step.SPOOL_TAKEN_IN)
CONCLUDING = (Step.CONCLUDE_BEGUN, Step.CONCLUDE_BOOKED, Step.CONCLUDE_ORDERED)
EXTENDING = (
    Step.EXTENSION_SIGNED,
    Step.RESTART_ORDERED,
    Step.OLD_GONE,
    Step.OLD_RECEIPT_KEPT,
    Step.NEXT_STARTED,
)


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether there is time to start another run in the same tree afterwards."""
    return request.node.get_closest_marker("soak") is not None


AGAIN = {
    Step.BEFORE_HANDSHAKE: (2,),
    Step.HANDSHAKE_SENT: (2,),
    Step.TURN_RECORDED: (2,),
    Step.TURN_BEFORE_WRITE: (2, 3),
    Step.TURN_AFTER_WRITE: (2, 3),
    Step.TURN_ACCEPTED: (2,),
    Step.TURN_SETTLED: (2, 3),
    Step.DECISION_ASKED: (2,),
    Step.ANSWER_COMMITTED: (2, 3),
    Step.CONTROL_BEFORE_WRITE: (2,),
    Step.CONTROL_AFTER_WRITE: (2,),
}
"""Steps that a run passes more than once, and at which time it matters."""


@dataclass(frozen=True, slots=True)
class Case:
    step: Step
    nth: int = 1
    victims: str = "console"
    how: str = ""
    """Another ending than the step asks for."""

    @property
    def ending(self) -> str:
        if self.how:
            return self.how
        if self.step in CONCLUDING:
            return "finish"
        return "extend" if self.step in EXTENDING else "stop"

    async def fly(self, consoles: Consoles, folder: Path, *, ending: str = "") -> int:
        """One console, killed so."""
        return await consoles.fly(
            folder, step=self.step, nth=self.nth, victims=self.victims.split(), ending=ending or self.ending
        )

    def __str__(self) -> str:
        time = "" if self.nth == 1 else f"#{self.nth}"
        return "-".join(part for part in (f"{self.step}{time}", self.victims.replace(" ", "+"), self.how) if part)


def cases(steps: Sequence[Step], victims: Sequence[str], usual: Collection[Case]) -> list[ParameterSet]:
    """The whole product; what is not usual waits for ``make soak``."""
    made = [Case(step, nth, who) for step in steps for nth in (1, *AGAIN.get(step, ())) for who in victims]
    return [pytest.param(one, id=str(one), marks=() if one in usual else pytest.mark.soak) for one in made]


FIRST = [step for step in Step if step not in SWEEPING]
HELD = FIRST[FIRST.index(Step.SUPERVISOR_STARTED) : FIRST.index(Step.CLOSED)] + list(EXTENDING)
"""Steps at which there is somebody to be killed besides the console."""

USUAL_ALONE = [
    *(Case(step, 1, "worker") for step in (Step.SUPERVISOR_STARTED, Step.BEFORE_FIRST_BYTE, Step.DECISION_ASKED)),
    *(Case(step, 1, "worker") for step in (Step.ANSWER_COMMITTED, Step.MAILBOX_READ, Step.FENCE_BOOKED)),
    *(Case(step, 1, "keeper") for step in (Step.AGENT_STARTED, Step.TURN_ACCEPTED, Step.ORDERED)),
    *(Case(step, 1, "agent") for step in (Step.AGENT_STARTED, Step.HANDSHAKE_SENT, Step.CONTROL_BEFORE_WRITE)),
    *(Case(step, 1, "agent") for step in (Step.TURN_SETTLED, Step.QUEUE_TAKEN, Step.CONCLUDE_BOOKED)),
    *(Case(step, 1, "agent") for step in (Step.BEFORE_FENCE_BOOKED, Step.NEXT_STARTED)),
]
USUAL_TOGETHER = [
    *(Case(step, 1, "agent console") for step in (Step.AGENT_STAMPED, Step.CONTROL_AFTER_WRITE)),
    *(Case(step, 1, "worker console") for step in (Step.TURN_AFTER_WRITE, Step.BEFORE_ORDER)),
    *(Case(step, 1, "keeper console") for step in (Step.DECISION_ASKED,)),
    *(Case(step, 1, "worker keeper console") for step in (Step.AGENT_STARTED, Step.ANSWER_COMMITTED, Step.ORDERED)),
]
ALONE = ("worker", "keeper", "agent")
TOGETHER = ("worker console", "keeper console", "agent console", "worker keeper console", "worker keeper agent console")


@pytest.mark.parametrize("case", [Case(step, nth) for step in FIRST for nth in (1, *AGAIN.get(step, ()))], ids=str)
async def test_a_console_killed_at_a_step(consoles: Consoles, tmp_path: Path, case: Case, thorough: bool) -> None:
    assert await case.fly(consoles, tmp_path) == KILLED
    await carried_on(tmp_path, case, thorough=thorough)


HANDOFFS = [
    Case(Step.TURN_SETTLED, 3, how="handoff"),
    Case(Step.MAILBOX_READ, 3, how="handoff"),
    Case(Step.MAILBOX_BOOKED, 2, how="handoff"),
    Case(Step.MAILBOX_UNLINKED, 2, how="handoff"),
    Case(Step.CONCLUDE_BOOKED, how="handoff"),
    Case(Step.CONCLUDE_ORDERED, how="handoff"),
]


@pytest.mark.parametrize("case", HANDOFFS, ids=str)
async def test_a_console_killed_while_the_agent_hands_off(consoles: Consoles, tmp_path: Path, case: Case) -> None:
    assert await case.fly(consoles, tmp_path) == KILLED
    await carried_on(tmp_path, case, thorough=False)


@pytest.mark.parametrize("case", cases(HELD, TOGETHER, USUAL_TOGETHER))
async def test_a_console_killed_with_what_it_holds(
    consoles: Consoles, tmp_path: Path, case: Case, thorough: bool
) -> None:
    assert await case.fly(consoles, tmp_path) == KILLED
    await carried_on(tmp_path, case, thorough=thorough)


@pytest.mark.parametrize("case", cases(HELD, ALONE, USUAL_ALONE))
async def test_what_is_held_killed_under_a_console_that_lives(tmp_path: Path, case: Case, thorough: bool) -> None:
    doom = Doom(step=case.step, nth=case.nth, victims=tuple(case.victims.split()), ledger=tmp_path / "ledger.db")
    async with flight.house(tmp_path, doom=doom) as held:
        await held.try_start(flight.BRIEF)
        house = held.coordinator.house
        run = (await house.ledger.read(runs.listing))[0].id
        view = await flight.Pilot(held, case.ending).fly(run)
        assert doom.reached, "the step was never reached"
        await invariants.check(house.ledger, house.settings.spool, held.tree, output_lost="worker" in case.victims)
        assert view.outcome in (RunOutcome.INTERRUPTED, RunOutcome.FAILED, RunOutcome.FINISHED)
        if doom.hit and case.nth == 1 and case.step not in LATE:
            assert view.outcome is not RunOutcome.FINISHED and view.reason != EndReason.STOPPED
        if thorough:
            await again(held)


LATE = FIRST[FIRST.index(Step.QUEUE_SENT) :]
"""So near to the end that the operator's own order may be first."""

BEFORE_SWEEP = (
    Case(Step.TURN_BEFORE_WRITE, 2),
    Case(Step.ANSWER_COMMITTED),
    Case(Step.MAILBOX_BOOKED),
    Case(Step.CONCLUDE_BOOKED),
    Case(Step.BEFORE_HANDSHAKE),
    Case(Step.NEXT_STARTED),
)


def twice() -> list[ParameterSet]:
    made = []
    for place, first in enumerate(BEFORE_SWEEP):
        for number, step in enumerate(SWEEPING[:-1]):
            usual = number == place % 5 or (place < 2 and step in (Step.ATTACHED, Step.CATCHING_UP, Step.CAUGHT_UP))
            made.append(pytest.param(first, step, id=f"{first}-then-{step}", marks=() if usual else pytest.mark.soak))
    gone = Case(Step.DECISION_ASKED, 1, "worker keeper console")
    made.append(pytest.param(gone, Step.SPOOL_TAKEN_IN, id=f"{gone}-then-{Step.SPOOL_TAKEN_IN}"))
    return made


@pytest.mark.parametrize(("first", "then"), twice())
async def test_a_second_console_killed_while_it_sweeps(
    consoles: Consoles, tmp_path: Path, first: Case, then: Step, thorough: bool
) -> None:
    assert await first.fly(consoles, tmp_path) == KILLED
    second = await Case(then).fly(consoles, tmp_path, ending=first.ending)
    reached = then not in (Step.CATCHING_UP, Step.CAUGHT_UP) or first.step not in CONCLUDING
    assert second == (KILLED if reached else 0)
    await carried_on(tmp_path, first, thorough=thorough)


# --------------------------------------------------------------------------------------------------------- afterwards


ENDS = {
    "stop": (RunOutcome.INTERRUPTED, EndReason.STOPPED),
    "extend": (RunOutcome.INTERRUPTED, EndReason.STOPPED),
    "finish": (RunOutcome.FINISHED, EndReason.FINISHED),
    "handoff": (RunOutcome.FINISHED, EndReason.HANDOFF),
}


async def carried_on(folder: Path, case: Case, *, thorough: bool) -> None:
    """The next console: sweeps, flies on what lives, and finds every invariant kept."""
    async with flight.house(folder) as held:
        house = held.coordinator.house
        run = (await house.ledger.read(runs.listing))[0].id
        view = await flight.Pilot(held, case.ending).fly(run)
        await invariants.check(house.ledger, house.settings.spool, held.tree, output_lost="worker" in case.victims)
        if case.victims == "console" and case.step in CARRIED:
            # It was taken over alive, so nothing is missing from the flight.
            assert [turn.state for turn in view.turns][:3] == [TurnState.SETTLED] * 3, view.turns
            assert [one.state for one in view.decisions] == [DecisionState.DELIVERED] * 3, view.decisions
            assert (held.tree / flight.RAN).read_text() == "once\n"
            assert (view.outcome, view.reason) == ENDS[case.ending]
        if thorough:
            await again(held)


CARRIED = {step for step in FIRST[FIRST.index(Step.AGENT_STAMPED) :] if step not in EXTENDING} | {Step.NEXT_STARTED}
"""From here on the hold is open, and a console that goes is no reason for a run to end."""


async def again(held: Holding) -> None:
    """The tree is free: the next run is admitted, and is proven, in it."""
    house = held.coordinator.house
    run = await held.start("hello")
    await held.do(Stop(run=run))
    await invariants.check(house.ledger, house.settings.spool, held.tree, output_lost=True)
