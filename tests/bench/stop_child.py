"""A console that holds eight agents which stream, in a terminal of its own; run by ``bench_stop_keys``.

What the command line builds, but that its runs are begun here: as many as there should be, and one that streams is
always in view. ``huge`` as an argument: the first of them sends one message of 64 MB.
"""

import app.console.before_textual  # noqa: F401, I001  (first: Textual reads its environment at import)

import asyncio
import sys
from pathlib import Path

from app.cli.surroundings import agent_profiles, surroundings
from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from app.console.views.standing import ended
from app.wiring import open_backend
from coordinator.api import Proposal, Propose, StartRun
from coordinator.clock import RealClock
from store.refusal import Refusal
from tests.coordinator.held import script

HELD = 8
CHUNKS = 1_000
_WORDS: dict[str, object] = {"text": "word after word\n" * CHUNKS, "chunks": CHUNKS, "slow": 0.001, "repeat": 120}
STREAM = script(_WORDS)
HUGE = script({"do": "big_line", "megabytes": 64}, _WORDS)


async def keep_going(console: FootplateApp, folder: Path) -> None:
    first = "huge" in sys.argv[1:]
    while True:
        live = [one for one in console.backend.snapshot().sessions if not ended(one) and one.ending is None]
        if len(live) < HELD:
            asked = Propose(
                instruction=f"go {HUGE if first else STREAM}", repository=str(folder), agent="practice", worktree=True
            )
            first = False
            proposal = await asyncio.wrap_future(console.backend.submit(asked))
            if isinstance(proposal, Proposal):
                await asyncio.wrap_future(console.backend.submit(StartRun(terms=proposal.terms)))
        elif console.drive.run_in_view not in {one.run for one in live}:
            await console.deeds.viewing.view(live[0].run)
        await asyncio.sleep(0.05)


def main() -> int:
    around = surroundings()
    folder = Path.cwd()
    profiles = agent_profiles(around.paths, around.config)
    with open_backend(around.config, around.paths, profiles, repository=folder, leave=False) as backend:
        assert not isinstance(backend, Refusal), backend
        console = FootplateApp(backend, ConsoleOptions(now=RealClock().now, repository=str(folder)))
        console.call_later(lambda: console.run_worker(keep_going(console, folder)))
        console.run()
        if console.broken is not None:
            raise console.broken
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
