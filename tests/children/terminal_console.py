"""A console that holds a shell and is killed at a step: ``python -m tests.children.terminal_console FOLDER STEP NTH``.

Each command leaves a line in ``ran`` in the tree, so that what was typed twice, or never, is seen there.
"""

import asyncio
import sys
from pathlib import Path

from coordinator.api import Finish, Interrupt, Say
from store.vocab import TurnState
from tests.coordinator.held import holding
from tests.faults.dooming import Doom

BRIEF = "echo one >> ran"
NEXT = "echo two >> ran\necho and three >> ran"
LONG = "echo four >> ran; sleep 1000"


async def main(folder: Path, step: str, nth: int) -> None:
    doom = Doom(step=step, nth=nth, victims=("console",), ledger=folder / "ledger.db")
    doom.arm()
    async with holding(folder) as held:
        run = await held.start(BRIEF, agent="bash")
        await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        await held.do(Say(run=run, text=NEXT))
        await held.until(run, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED)
        await held.do(Say(run=run, text=LONG))
        await held.until(run, lambda v: len(v.turns) == 3 and v.turns[2].state is TurnState.ACCEPTED)
        await held.do(Interrupt(run=run, turn=None))
        await held.until(run, lambda v: v.turns[2].state is TurnState.SETTLED)
        await held.do(Finish(run=run))
        await held.until(run, lambda v: v.outcome is not None)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
