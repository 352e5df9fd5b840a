"""A console that holds eight agents which stream, in a terminal of its own; run by ``bench_stop_keys``.

What the command line builds, but that its runs are begun here: as many as there should be, and one that streams is
always in view. Its arguments: a file for the stamps, and ``huge`` where the first agent sends one message of 64 MB.
A stamp is a line, what was reached and when by the monotonic clock, which all processes of a machine share.
"""

import app.console.before_textual  # noqa: F401, I001  (first: Textual reads its environment at import)

import asyncio
import os
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

from textual import events
from textual.message import Message

from app.cli.surroundings import agent_profiles, surroundings
from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from app.console.promptly import Promptly
from app.console.views.standing import ended
from app.wiring import open_backend
from coordinator import steps
from coordinator.api import OperatorCommand, Proposal, Propose, Reply, StartRun, Stop
from coordinator.clock import RealClock
from coordinator.steps import Step
from coordinator.thread import CoordinatorThread
from store import stops
from store.refusal import Refusal
from tests.coordinator.held import script

HELD = 8
KEPT = HELD + 2
"""So many are begun, so that one that was stopped is replaced while the next press is made."""
CHUNKS = 1_000
_WORDS: dict[str, object] = {"text": "word after word\n" * CHUNKS, "chunks": CHUNKS, "slow": 0.001, "repeat": 2_000}
STREAM = script(_WORDS)
HUGE = script({"do": "big_line", "megabytes": 64}, _WORDS)
LAG = 0.005
"""Seconds between two looks at how late a loop is."""


class Stamps:
    """One small write each, so that threads may share the file."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        read, submit, ask = Promptly.read, CoordinatorThread.submit, stops.ask

        def key_read(promptly: Promptly, message: Message) -> None:
            if isinstance(message, events.Key) and message.key == "ctrl+backslash":
                self.put("read")
            read(promptly, message)

        def submitted(backend: CoordinatorThread, command: OperatorCommand) -> "Future[Reply]":
            if isinstance(command, Stop):
                where = "screen" if threading.current_thread() is threading.main_thread() else "reader"
                self.put(f"issued-by-{where}")
            return submit(backend, command)

        def asked(*args: object, **named: object) -> stops.Stop:
            self.put("booking")
            return ask(*args, **named)  # type: ignore[arg-type]

        Promptly.read, CoordinatorThread.submit = key_read, submitted  # type: ignore[assignment,method-assign]
        stops.ask = asked
        steps.install(self._step)

    def _step(self, step: Step) -> None:
        if step in (Step.BEFORE_ORDER, Step.ORDERED):
            self.put(step)

    def put(self, what: str, at: float | None = None) -> None:
        os.write(self._file, f"{what} {time.monotonic() if at is None else at:.6f}\n".encode())

    async def watch(self, name: str) -> None:
        """How late this loop is, the worst of each half second."""
        worst, upto = 0.0, time.monotonic() + 0.5
        while True:
            due = time.monotonic() + LAG
            await asyncio.sleep(LAG)
            now = time.monotonic()
            worst = max(worst, now - due)
            if now > upto:
                self.put(f"lag-{name}", worst)
                worst, upto = 0.0, now + 0.5


async def keep_going(console: FootplateApp, folder: Path, stamps: Stamps) -> None:
    first = "huge" in sys.argv[2:]
    while True:
        live = [one for one in console.backend.snapshot().sessions if not ended(one) and one.ending is None]
        if len(live) < KEPT:
            asked = Propose(
                instruction=f"go {HUGE if first else STREAM}", repository=str(folder), agent="practice", worktree=True
            )
            first = False
            proposal = await asyncio.wrap_future(console.backend.submit(asked))
            if isinstance(proposal, Proposal):
                await asyncio.wrap_future(console.backend.submit(StartRun(terms=proposal.terms)))
        elif console.drive.run_in_view not in {one.run for one in live}:
            await console.deeds.viewing.view(live[0].run)
            stamps.put("in-view", live[0].run)
        await asyncio.sleep(0.05)  # looks again; nothing that is timed waits for it


def main() -> int:
    stamps = Stamps(sys.argv[1])
    around = surroundings()
    folder = Path.cwd()
    profiles = agent_profiles(around.paths, around.config)
    with open_backend(around.config, around.paths, profiles, repository=folder, leave=False) as backend:
        assert not isinstance(backend, Refusal), backend
        console = FootplateApp(backend, ConsoleOptions(now=RealClock().now, repository=str(folder)))

        def begin() -> None:
            console.run_worker(keep_going(console, folder, stamps))
            console.run_worker(stamps.watch("screen"))
            assert isinstance(backend, CoordinatorThread) and backend._loop is not None
            asyncio.run_coroutine_threadsafe(stamps.watch("coordinator"), backend._loop)

        console.call_later(begin)
        console.run()
        if console.broken is not None:
            raise console.broken
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
