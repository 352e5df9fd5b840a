"""The fault matrix: KILL at every named step, to the console or to what it holds; then the next console, and every
invariant.

One run passes through all the steps (``flight.py``). A console that is the victim is a process of its own
(``children/doomed.py``); where the keeper, the worker or the agent is, the console that lives on is this one.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from coordinator.steps import Step
from store import runs
from store.vocab import DecisionState, EndReason, RunOutcome, TurnState
from tests.faults import flight, invariants

ROOT = Path(__file__).parents[2]


class Consoles:
    """The process that forks consoles to be killed."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.children.doomed"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def fly(
        self, folder: Path, step: Step, *, nth: int = 1, ending: str = "stop", victims: str = "console"
    ) -> int:
        """One console until it is dead; its exit code."""
        told = {"folder": str(folder), "step": step, "nth": nth, "ending": ending, "victims": victims.split()}
        return await asyncio.to_thread(self._fly, json.dumps(told))

    def _fly(self, told: str) -> int:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(told + "\n")
        self.process.stdin.flush()
        return int(json.loads(self.process.stdout.readline())["exit"])

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


@pytest.fixture(scope="module")
def consoles() -> Iterator[Consoles]:
    made = Consoles()
    yield made
    made.close()


SWEEPING = (
    Step.SEIZED,
    Step.BEFORE_ATTACH,
    Step.ATTACHED,
    Step.CATCHING_UP,
    Step.CAUGHT_UP,
)
CONCLUDING = (Step.CONCLUDE_BEGUN, Step.CONCLUDE_BOOKED, Step.CONCLUDE_ORDERED)
EXTENDING = (
    Step.EXTENSION_SIGNED,
    Step.RESTART_ORDERED,
    Step.OLD_GONE,
    Step.OLD_RECEIPT_KEPT,
    Step.NEXT_STARTED,
)
AGAIN = {
    Step.TURN_BEFORE_WRITE: (2, 3),
    Step.TURN_AFTER_WRITE: (2, 3),
    Step.TURN_ACCEPTED: (2,),
    Step.TURN_SETTLED: (2, 3),
    Step.TURN_RECORDED: (2,),
    Step.DECISION_ASKED: (2,),
    Step.ANSWER_COMMITTED: (2, 3),
    Step.CONTROL_BEFORE_WRITE: (2,),
    Step.CONTROL_AFTER_WRITE: (2,),
    Step.BEFORE_HANDSHAKE: (2,),
    Step.HANDSHAKE_SENT: (2,),
}
"""Steps that a run passes more than once, and at which time it matters."""


@dataclass(frozen=True, slots=True)
class Case:
    step: Step
    nth: int = 1
    victims: str = "console"

    @property
    def ending(self) -> str:
        if self.step in CONCLUDING:
            return "finish"
        return "extend" if self.step in EXTENDING else "stop"

    def __str__(self) -> str:
        return f"{self.step}{'' if self.nth == 1 else f'#{self.nth}'}-{self.victims.replace(' ', '+')}"


FIRST = [step for step in Step if step not in (*SWEEPING, Step.SPOOL_TAKEN_IN)]
CONSOLE = [Case(step, nth) for step in FIRST for nth in (1, *AGAIN.get(step, ()))]


@pytest.mark.parametrize("case", CONSOLE, ids=str)
async def test_a_console_killed_at_a_step(consoles: Consoles, tmp_path: Path, case: Case) -> None:
    exit = await consoles.fly(tmp_path, case.step, nth=case.nth, ending=case.ending)
    assert exit == -9, "the step was never reached"
    await carried_on(tmp_path, case)


async def carried_on(folder: Path, case: Case) -> None:
    """The next console: sweeps, flies on what lives, and finds every invariant kept."""
    async with flight.house(folder) as held:
        run = (await held.coordinator.house.ledger.read(runs.listing))[0].id
        lives = run in held.coordinator.swept.picked_up
        view = await flight.Pilot(held, case.ending).fly(run)
        house = held.coordinator.house
        print('LIVES', case, lives, view.outcome, view.reason, [t.state.value for t in view.turns], [d.state.value for d in view.decisions])
        await invariants.check(house.ledger, house.settings.spool, held.tree)
        if lives:
            # It was taken over alive, so nothing is missing from the flight.
            assert [turn.state for turn in view.turns][:3] == [TurnState.SETTLED] * 3, view.turns
            assert [one.state for one in view.decisions] == [DecisionState.DELIVERED] * 3, view.decisions
            assert (held.tree / flight.RAN).read_text() == "once\n"
            wanted = (
                (RunOutcome.FINISHED, EndReason.FINISHED)
                if case.ending == "finish"
                else (RunOutcome.INTERRUPTED, EndReason.STOPPED)
            )
            assert (view.outcome, view.reason) == wanted
