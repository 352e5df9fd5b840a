"""A console without a screen that holds a real agent, to be killed.

    python -m tests.children.agent_console FOLDER PROFILE URL
    python -m tests.children.agent_console FOLDER PROFILE URL STEP

The first plays the first part of ``tests/agents/scene.py``, and says on stdout, in one line of JSON, which run it is
and what its processes carry, once the agent asks about the tool of its second turn. The second kills itself at a step.
"""

import asyncio
import json
import sys
from pathlib import Path

from coordinator.drivers.asks import Allow
from tests.agents.kinds import KINDS, Kind
from tests.agents.scene import Operator, house, once, texts
from tests.faults.dooming import Doom


async def play(folder: Path, kind: Kind, url: str) -> None:
    async with house(folder, kind, url) as held:
        operator = Operator(held, kind)
        first, second, _ = texts(kind, held.tree)
        await operator.start(first)
        await operator.answer(await operator.asked(1), Allow())
        await operator.refuse(await operator.asked(2))
        await operator.settled(1)
        await operator.say(second)
        await operator.asked(3)
        print(json.dumps({"run": operator.run, "nonce": held.coordinator.sessions[operator.run].nonce}), flush=True)
        await asyncio.Event().wait()


async def fall(folder: Path, kind: Kind, url: str, step: str) -> None:
    Doom(step=step, nth=1, victims=("console",), ledger=folder / "ledger.db").arm()
    async with house(folder, kind, url) as held:
        operator = Operator(held, kind)
        await operator.start(once(kind))
        await operator.to_the_end()


if __name__ == "__main__":
    folder, profile, url, *step = sys.argv[1:]
    kind = next(one for one in KINDS if one.profile == profile)
    asyncio.run(fall(Path(folder), kind, url, *step) if step else play(Path(folder), kind, url))
