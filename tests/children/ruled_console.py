"""A console without a screen in which a standing rule answers, gone before the answer went: the ledger has it, no byte
was written.

    python -m tests.children.ruled_console FOLDER BRIEF RULE
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from coordinator import steps
from coordinator.steps import Step
from tests.coordinator.held import holding


def _die(step: Step) -> None:
    if step is Step.ANSWER_COMMITTED:
        os.kill(os.getpid(), signal.SIGKILL)


async def main(folder: Path, brief: str, rule: str) -> None:
    async with holding(folder) as held:
        steps.install(_die)
        await held.start(brief, rules=(rule,))
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
