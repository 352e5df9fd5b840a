"""A console without a screen that goes on from run 1 of the house given, and is killed at a step of that.

python -m tests.children.continuing_console FOLDER STEP
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from coordinator.api import Proposal, Propose, StartRun
from coordinator.steps import Step, install
from tests.coordinator.held import holding, script


def dies_at(step: Step) -> None:
    install(lambda reached: os.kill(os.getpid(), signal.SIGKILL) if reached is step else None)


async def main(folder: Path, step: Step) -> None:
    async with holding(folder, environment={"CLAUDE_CONFIG_DIR": str(folder / "agent")}) as held:
        brief = "go " + script({"text": "two"})
        proposal = await held.do(Propose(instruction=brief, repository="", continues=1, preamble=False))
        assert isinstance(proposal, Proposal), proposal
        dies_at(step)
        await held.do(StartRun(terms=proposal.terms))
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Step(sys.argv[2])))
