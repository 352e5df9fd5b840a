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
from msgspec.structs import replace

from coordinator.api import Stop
from coordinator.clock import RealClock
from coordinator.steps import Step
from store import authorizations, entries, receipts, runs, turns
from store.db import write_ledger
from store.tx import Tx
from store.vocab import AuthorizationId, DecisionState, EndReason, RunId, RunOutcome, TurnState
from tests.coordinator.held import Holding
from tests.faults import flight, invariants
from tests.faults.consoles import KILLED, Consoles
from tests.faults.dooming import Doom

SWEEPING = (Step.SEIZED, Step.BEFORE_ATTACH, Step.ATTACHED, Step.CATCHING_UP, Step.CAUGHT_UP, Step.SPOOL_TAKEN_IN)
TAKING_BACK = (Step.TAKEN_BACK,)
"""Passed by a console that sweeps, where the one before had recorded what it did not come to send."""
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

    async def fly(self, consoles: Consoles, folder: Path, *, ending: str = "", **told: object) -> int:
        """One console, killed so; ``told``: what else ``children/doomed.py`` is to know."""
        return await consoles.fly(
            folder, step=self.step, nth=self.nth, victims=self.victims.split(), ending=ending or self.ending, **told
        )

    def __str__(self) -> str:
        time = "" if self.nth == 1 else f"#{self.nth}"
        return "-".join(part for part in (f"{self.step}{time}", self.victims.replace(" ", "+"), self.how) if part)


def cases(steps: Sequence[Step], victims: Sequence[str], usual: Collection[Case]) -> list[ParameterSet]:
    """The whole product; what is not usual waits for ``make soak``."""
    made = [Case(step, nth, who) for step in steps for nth in (1, *AGAIN.get(step, ())) for who in victims]
    return [pytest.param(one, id=str(one), marks=() if one in usual else pytest.mark.soak) for one in made]


OF_THE_LINE = tuple(Step)[tuple(Step).index(Step.QUEUE_BEGUN) :]
"""Of tasks, which have a matrix of their own (``test_queue_steps``)."""
FIRST = [step for step in Step if step not in SWEEPING + TAKING_BACK + OF_THE_LINE]
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


RESTARTING = [Case(step) for step in EXTENDING[:-1]]
"""Between the signature and the next process: whoever comes carries on with the very next thing."""
RESTARTED_TWICE = [
    *(Case(step, 2, how="extend") for step in (Step.AGENT_STARTED, Step.AGENT_STAMPED)),
    *(Case(step, 4, how="extend") for step in (Step.BEFORE_HANDSHAKE, Step.HANDSHAKE_SENT)),
]


@pytest.mark.parametrize("case", RESTARTED_TWICE, ids=str)
async def test_a_console_killed_while_the_next_process_starts(
    consoles: Consoles, tmp_path: Path, case: Case, thorough: bool
) -> None:
    assert await case.fly(consoles, tmp_path) == KILLED
    await carried_on(tmp_path, case, thorough=thorough)


def restarts_twice() -> list[ParameterSet]:
    made = []
    for place, case in enumerate(RESTARTING):
        for number, then in enumerate((*SWEEPING[:-1], *EXTENDING[1:], Step.AGENT_STARTED)):
            marks = () if number % len(RESTARTING) == place else pytest.mark.soak
            made.append(pytest.param(case, then, id=f"{case}-then-{then}", marks=marks))
    return made


@pytest.mark.parametrize(("case", "then"), restarts_twice())
async def test_a_second_console_killed_while_it_carries_a_restart_on(
    consoles: Consoles, tmp_path: Path, case: Case, then: Step
) -> None:
    assert await case.fly(consoles, tmp_path) == KILLED
    second = await Case(then).fly(consoles, tmp_path, ending=case.ending)
    ordered = then is Step.RESTART_ORDERED and case.step is not Step.EXTENSION_SIGNED
    assert second == (0 if ordered else KILLED), "its end is ordered once"
    await carried_on(tmp_path, case, thorough=False)


NOT_SENT = [Case(Step.ANSWER_COMMITTED), Case(Step.CONTROL_BEFORE_WRITE), Case(Step.BEFORE_HANDSHAKE)]


@pytest.mark.parametrize("case", NOT_SENT, ids=str)
async def test_a_second_console_killed_when_it_has_taken_back_what_the_first_did_not_send(
    consoles: Consoles, tmp_path: Path, case: Case
) -> None:
    """The keeper will never send it, and nothing stands in its place yet: the third console must not wait for it."""
    assert await case.fly(consoles, tmp_path) == KILLED
    assert await Case(Step.TAKEN_BACK).fly(consoles, tmp_path, ending=case.ending) == KILLED
    await carried_on(tmp_path, case, thorough=False)


@pytest.mark.parametrize("taken_back", [False, True], ids=["", "and-the-next-one-too"])
async def test_a_turn_that_no_other_console_can_send_is_cancelled(
    consoles: Consoles, tmp_path: Path, taken_back: bool
) -> None:
    """Its text is redacted in the ledger: whoever comes takes it back, and may be killed over that."""
    case = Case(Step.TURN_RECORDED, 3, how="secret")
    assert await case.fly(consoles, tmp_path) == KILLED
    if taken_back:
        assert await Case(Step.TAKEN_BACK).fly(consoles, tmp_path, ending=case.ending) == KILLED
    async with flight.house(tmp_path) as held:
        house = held.coordinator.house
        run = (await house.ledger.read(runs.listing))[0].id
        view = await flight.Pilot(held, case.ending).fly(run)
        await invariants.check(house.ledger, house.settings.spool, held.tree)
        assert [turn.state for turn in view.turns] == [TurnState.SETTLED] * 3 + [TurnState.CANCELLED]
        assert (view.outcome, view.reason) == ENDS["stop"]
        assert flight.SECRET not in str(view.turns)


async def test_a_restart_that_no_console_can_bring_to_its_end_has_one(consoles: Consoles, tmp_path: Path) -> None:
    """The agent is not there any more when the next console would start it: a failure with a reason, nothing alive."""
    case = Case(Step.OLD_RECEIPT_KEPT)
    assert await case.fly(consoles, tmp_path) == KILLED
    broken = tuple(replace(one, args=("-c", "raise SystemExit(3)")) for one in flight.PROFILES)
    async with flight.house(tmp_path, profiles=broken) as held:
        house = held.coordinator.house
        run = (await house.ledger.read(runs.listing))[0].id
        view = await flight.Pilot(held, case.ending).fly(run)
        assert (view.outcome, view.reason) == (RunOutcome.FAILED, EndReason.SPAWN_FAILED)
        await invariants.check(house.ledger, house.settings.spool, held.tree, output_lost=True)
        assert [one.generation for one in await house.ledger.read(lambda tx: receipts.of_run(tx, run))] == [1, 2]


@pytest.mark.parametrize("step", [Step.EXTENSION_SIGNED, Step.OLD_GONE], ids=str)
async def test_a_restart_is_not_carried_on_where_the_terms_no_longer_stand(
    consoles: Consoles, tmp_path: Path, step: Step
) -> None:
    case = Case(step)
    assert await case.fly(consoles, tmp_path) == KILLED
    with write_ledger(tmp_path / "ledger.db", now=RealClock().now) as tx:
        run = runs.listing(tx)[0]
        assert authorizations.close(tx, id=AuthorizationId(run.authorization_id), reason=EndReason.REVOKED)
    async with flight.house(tmp_path) as held:
        house = held.coordinator.house
        view = await flight.Pilot(held, case.ending).fly(run.id)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.REVOKED)
        await invariants.check(house.ledger, house.settings.spool, held.tree)


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
            if case.ending == "extend":
                await house.ledger.read(lambda tx: started_again_once(tx, run))
        if thorough:
            await again(held)


CARRIED = set(FIRST[FIRST.index(Step.AGENT_STAMPED) :])
"""From here on the hold is open, and a console that goes is no reason for a run to end."""


def started_again_once(tx: Tx, run: RunId) -> None:
    """Signed once, started again once, in the same conversation; the turn after it was the new process's."""
    kinds = [entry.kind for entry in entries.entries_of(tx, run)]
    assert kinds.count("amendment.signed") == kinds.count("custody.restarting") == 1, kinds
    assert [one.generation for one in receipts.of_run(tx, run)] == [1, 2]
    said = turns.of_run(tx, run)
    assert [turn.generation for turn in said] == [1] * (len(said) - 1) + [2]
    assert (said[-1].text, said[-1].state) == (flight.AGAIN, TurnState.SETTLED)
    assert len({turn.cost for turn in said if turn.cost is None}) == 0, "each has its own cost"


async def again(held: Holding) -> None:
    """The tree is free: the next run is admitted, and is proven, in it."""
    house = held.coordinator.house
    run = await held.start("hello")
    await held.do(Stop(run=run))
    await invariants.check(house.ledger, house.settings.spool, held.tree, output_lost=True)
