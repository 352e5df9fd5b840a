"""A console without a screen that answers one question and is gone before the answer went: the ledger has it, no byte
was written.

    python -m tests.children.answering_console FOLDER BRIEF ANSWER NAME=VALUE

The last one is in its environment, where ANSWER may be a secret of it.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from coordinator import steps
from coordinator.api import AnswerDecision
from coordinator.drivers.base import QuestionReply
from coordinator.steps import Step
from tests.coordinator.held import holding


def _die(step: Step) -> None:
    if step is Step.CONTROL_BEFORE_WRITE:
        os.kill(os.getpid(), signal.SIGKILL)


async def main(folder: Path, brief: str, answer: str, environment: dict[str, str]) -> None:
    async with holding(folder, environment=environment) as held:
        run = await held.start(brief)
        view = await held.until(run, lambda v: v.decisions)
        asked = view.decisions[0]
        steps.install(_die)
        reply = QuestionReply(answers={question.text: (answer,) for question in asked.questions})
        command = AnswerDecision(
            run=run, decision=asked.id, revision=asked.revision, payload_hash=asked.payload_hash, answer=reply
        )
        await held.do(command)
        await asyncio.Event().wait()


if __name__ == "__main__":
    name, _, value = sys.argv[4].partition("=")
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], {name: value}))
