"""A console that holds as many idle agents as it is told; run by ``bench_holds`` in a terminal of its own.

    python -m tests.children.many_console COUNT READY

What the command line builds, but that its runs are begun here. READY is written when each of them has ended its turn:
from then on nothing is to happen.
"""

import app.console.before_textual  # noqa: F401, I001  (first: Textual reads its environment at import)

import asyncio
import sys
from pathlib import Path

from app.cli.surroundings import agent_profiles, surroundings
from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from app.wiring import open_backend
from coordinator.api import Proposal, Propose, StartRun
from coordinator.clock import RealClock
from store.refusal import Refusal
from store.vocab import TurnState
from tests.coordinator.held import script
from tests.waiting import eventually

IDLE = script({"text": "Done, and nothing else to do."})


async def hold(console: FootplateApp, folder: Path, count: int, ready: Path) -> None:
    for number in range(count):
        asked = Propose(
            instruction=f"session {number + 1} {IDLE}", repository=str(folder), agent="practice", worktree=True
        )
        proposal = await asyncio.wrap_future(console.backend.submit(asked))
        assert isinstance(proposal, Proposal), proposal
        reply = await asyncio.wrap_future(console.backend.submit(StartRun(terms=proposal.terms)))
        assert not isinstance(reply, Refusal), reply
    await eventually(lambda: _at_rest(console, count), 120.0, "each has ended its turn")
    ready.write_text("ready")


def _at_rest(console: FootplateApp, count: int) -> bool:
    sessions = console.backend.snapshot().sessions
    done = [one for one in sessions if one.turns and one.turns[0].state is TurnState.SETTLED]
    return len(done) == count


def main(count: int, ready: Path) -> int:
    around = surroundings()
    folder = Path.cwd()
    profiles = agent_profiles(around.paths, around.config)
    with open_backend(around.config, around.paths, profiles, repository=folder, leave=False) as backend:
        assert not isinstance(backend, Refusal), backend
        console = FootplateApp(backend, ConsoleOptions(now=RealClock().now, repository=str(folder)))
        console.call_later(lambda: console.run_worker(hold(console, folder, count, ready)))
        console.run()
        if console.broken is not None:
            raise console.broken
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2])))
