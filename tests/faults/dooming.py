"""KILL at a named step: the hook, and who is hit.

The hook is called by the coordinator's own code in the middle of what it does, so that a console dies exactly there.
The others are known from what the console knows itself; a victim that is not there yet is no victim.
"""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from coordinator.custody.processes import is_alive
from coordinator.custody.types import ProcessIdentity
from coordinator.steps import Step, install
from coordinator.supervisor import kin
from coordinator.supervisor.kernel import kernel
from coordinator.supervisor.process import Stat
from store import custody
from store.db import read_ledger
from store.vocab import Millis
from tests.coordinator.held import Holding

Pair = tuple[ProcessIdentity, ProcessIdentity]


@dataclass(slots=True)
class Doom:
    """Who dies when the step is reached the n-th time."""

    step: str
    nth: int
    victims: tuple[str, ...]
    ledger: Path
    agent: str = "noting_agent"
    """In its command line."""
    held: Holding | None = None
    reached: bool = False
    hit: bool = False
    """Somebody other than the console was there to be killed."""

    def arm(self) -> None:
        install(self._reached)

    def disarm(self) -> None:
        install(None)

    def _reached(self, step: Step) -> None:
        if step != self.step or self.reached:
            return
        self.nth -= 1
        if self.nth > 0:
            return
        self.reached = True
        for victim in self.victims:
            if victim == "console":
                os.kill(os.getpid(), signal.SIGKILL)
            for pid in self._pids(victim):
                self.hit = True
                os.kill(pid, signal.SIGKILL)

    def _pids(self, victim: str) -> list[int]:
        worker_and_keeper = self._from_console() if self.held is not None else self._from_books()
        found: list[int] = []
        for worker, keeper in worker_and_keeper:
            if victim == "agent":
                # The worker's own child, whether or not it was stamped yet.
                found += [one.pid for one in kin.descendants(worker.pid) if self._is_agent(one)]
            else:
                found += [one.pid for one in [{"worker": worker, "keeper": keeper}[victim]] if is_alive(one)]
        return found

    def _from_console(self) -> list[Pair]:
        assert self.held is not None
        known = [session.supervisor for session in self.held.coordinator.sessions.values()]
        return [(one.identity, one.keeper_identity) for one in known if one is not None]

    def _from_books(self) -> list[Pair]:
        """While a console sweeps, it may know nobody yet; the ledger does."""
        found: list[Pair] = []
        with read_ledger(self.ledger, now=lambda: Millis(0)) as tx:
            for row in custody.not_closed(tx):
                if row.supervisor_pid and row.supervisor_ticks and row.keeper_pid and row.keeper_ticks:
                    worker = ProcessIdentity(
                        boot_id=row.boot_id, pid=row.supervisor_pid, start_ticks=row.supervisor_ticks
                    )
                    keeper = ProcessIdentity(boot_id=row.boot_id, pid=row.keeper_pid, start_ticks=row.keeper_ticks)
                    found.append((worker, keeper))
        return found

    def _is_agent(self, facts: Stat) -> bool:
        return not facts.dead and self.agent in kernel.name(facts.pid)
