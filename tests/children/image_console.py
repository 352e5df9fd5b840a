"""A console without a screen that says something with an image and is killed at a step: after the ledger has it, before
or while it goes.

    python -m tests.children.image_console FOLDER STEP WHERE

WHERE: ``brief``, ``turn`` (at rest) or ``line`` (behind a turn that runs).
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from msgspec.structs import replace

from coordinator import steps
from coordinator.api import AnswerDecision, Proposal, Propose, Say, StartRun
from coordinator.drivers.base import QuestionReply
from coordinator.steps import Step
from store.vocab import DecisionState, RunId
from tests.coordinator.held import Holding, holding, script
from tests.fakes.images import image

SAID = "look at @shot.png and @other.png"
BRIEF = "the brief"
ASKING = "ask " + script({"ask": "Which word?", "options": ["near", "far"]}, {"text": "thanks"})
"""Works until it is answered: what is said meanwhile waits in line."""
IMAGES = (image("shot.png", side=90), image("other.png", side=20, seed=2))


async def main(folder: Path, step: Step, where: str) -> None:
    async with holding(folder) as held:
        if where == "brief":
            _arm(step)
            await _start_with_images(held)
            await asyncio.Event().wait()
        run = await held.start(ASKING if where == "line" else BRIEF)
        if where == "turn":
            await held.until(run, lambda v: v.in_flight is None and v.turns)
        else:
            await held.until(run, lambda v: v.decisions)
        _arm(step)
        await held.do(Say(run=run, text=SAID, images=IMAGES))
        if where == "line":
            await answer(held, run)
        await asyncio.Event().wait()


async def answer(held: Holding, run: RunId) -> None:
    view = await held.until(run, lambda v: v.decisions and v.decisions[0].state is DecisionState.OPEN)
    asked = view.decisions[0]
    reply = QuestionReply(answers={question.text: ("near",) for question in asked.questions})
    await held.do(
        AnswerDecision(
            run=run, decision=asked.id, revision=asked.revision, payload_hash=asked.payload_hash, answer=reply
        )
    )


async def _start_with_images(held: Holding) -> None:
    proposal = await held.do(Propose(instruction=SAID, repository=str(held.tree), agent="practice", preamble=True))
    assert isinstance(proposal, Proposal) and proposal.takes_images
    await held.do(StartRun(terms=replace(proposal.terms, script="plain"), images=IMAGES))


def _arm(at: Step) -> None:
    def die(step: Step) -> None:
        if step is at:
            os.kill(os.getpid(), signal.SIGKILL)

    steps.install(die)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Step(sys.argv[2]), sys.argv[3]))
