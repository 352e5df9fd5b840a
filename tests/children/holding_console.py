"""A console without a screen, to be killed: holds one run in the folder given, and says on stdout how far it is.

    python -m tests.children.holding_console FOLDER BRIEF [AGENT]

Prints the run's view as JSON lines until it is killed.
"""

import asyncio
import json
import sys
from pathlib import Path

from tests.coordinator.held import holding


async def main(folder: Path, brief: str, agent: str = "practice") -> None:
    async with holding(folder) as held:
        run = await held.start(brief, agent=agent)
        last = ""
        while True:
            view = held.view(run)
            if view is not None:
                said = json.dumps(
                    {
                        "run": run,
                        "nonce": held.coordinator.sessions[run].nonce,
                        "turns": [turn.state for turn in view.turns],
                        "decisions": [decision.state for decision in view.decisions],
                        "outcome": view.outcome,
                    }
                )
                if said != last:
                    print(said, flush=True)
                    last = said
            await asyncio.sleep(0.01)  # how often it looks; who reads waits for what it prints


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
