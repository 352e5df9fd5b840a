"""KILL to the console at each step between a claim and what becomes of its task; the next console goes on with it, and
the agent works at it once."""

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from coordinator.steps import Step
from tests.faults import queueing
from tests.faults.consoles import KILLED, Consoles

OF_THE_LINE = [
    step for step in Step if step.name.startswith("QUEUE_") and step not in (Step.QUEUE_TAKEN, Step.QUEUE_SENT)
]
CLAIMING = OF_THE_LINE[: OF_THE_LINE.index(Step.QUEUE_PENDING)]
ENDING = OF_THE_LINE[OF_THE_LINE.index(Step.QUEUE_PENDING) :]


async def _killed(consoles: Consoles, folder: Path, step: Step) -> int:
    return await consoles.fly(folder, queue=True, step=step, nth=1, victims=["console"])


async def _carried_on(folder: Path) -> None:
    async with queueing.house(folder) as held:
        await queueing.to_the_end(held, folder, queueing.ONE)
        await queueing.check(held, folder, queueing.ONE)


@pytest.mark.parametrize("step", OF_THE_LINE, ids=str)
async def test_a_console_killed_at_a_step_of_the_line(consoles: Consoles, tmp_path: Path, step: Step) -> None:
    queueing.made_ready(tmp_path, queueing.ONE)
    assert await _killed(consoles, tmp_path, step) == KILLED
    await _carried_on(tmp_path)


def twice() -> list[ParameterSet]:
    """The next console is killed as well: while it claims again, or while it deals with what has ended."""
    made = []
    for first in OF_THE_LINE:
        for then in OF_THE_LINE if first in CLAIMING else ENDING:
            usual = (first, then) in (
                (Step.QUEUE_CLAIMED, Step.QUEUE_ADMITTED),
                (Step.QUEUE_DECIDED, Step.QUEUE_CARRIED_OUT),
            )
            reached = first is not Step.QUEUE_ACKNOWLEDGED and not (
                first in (Step.QUEUE_DECIDED, Step.QUEUE_CARRIED_OUT) and then is Step.QUEUE_DECIDED
            )
            if reached:
                marks = () if usual else pytest.mark.soak
                made.append(pytest.param(first, then, id=f"{first}-then-{then}", marks=marks))
    return made


@pytest.mark.parametrize(("first", "then"), twice())
async def test_a_second_console_killed_over_the_same_task(
    consoles: Consoles, tmp_path: Path, first: Step, then: Step
) -> None:
    queueing.made_ready(tmp_path, queueing.ONE)
    assert await _killed(consoles, tmp_path, first) == KILLED
    # A claim that is resumed is begun already, and made.
    done = first in (Step.QUEUE_CLAIMED,) and then in (Step.QUEUE_BEGUN, Step.QUEUE_CLAIMED)
    assert await _killed(consoles, tmp_path, then) == (0 if done else KILLED)
    await _carried_on(tmp_path)
