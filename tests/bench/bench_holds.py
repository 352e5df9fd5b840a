"""What holding costs while nothing happens: one, eight and fifty real sessions at rest, in a real terminal.

Memory is the sum of PSS, by which a page that several processes share counts once in all; of the console and its keeper
processes, not of the agents, which are somebody else's. So is the time of the processor. What the agents themselves
took is told beside it.
"""

import os
import pty
import select
import signal
import subprocess
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.bench.bench_console import ran
from tests.bench.bench_start import around
from tests.bench.figures import PYTHON, Figure
from tests.bench.fromterminal import pieces
from tests.coordinator.held import repository
from tests.waiting import wait_until

GOALS = {1: 65.0, 8: 125.0, 50: 480.0}
"""Sessions, and the megabytes that they may take."""
WATCHED = 20.0
"""Seconds in which nothing is to happen."""
SETTLING = 2.0
"""Seconds without a byte on the terminal: the last of what was shown of the start."""
KEEPER = "coordinator/supervisor/main.py"
AGENT = "coordinator/rehearsal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """Of one console."""

    console: int
    keepers: tuple[int, ...]
    """With the workers below them."""
    agents: tuple[int, ...]

    @property
    def ours(self) -> tuple[int, ...]:
        return (self.console, *self.keepers)

    @classmethod
    def below(cls, console: int) -> "Processes":
        told = {one.pid: " ".join(one.cmdline()) for one in psutil.Process(console).children(recursive=True)}
        return cls(
            console=console,
            keepers=tuple(pid for pid, line in told.items() if KEEPER in line),
            agents=tuple(pid for pid, line in told.items() if AGENT in line),
        )


class Terminal:
    """A console in it, read all the time."""

    def __init__(self, folder: Path, count: int) -> None:
        home, tree = folder / "home", repository(folder / "tree")
        home.mkdir()
        (home / "config.toml").write_text(f"max_held_sessions = {count + 1}\n")
        self.ready = folder / "ready"
        self.environment = around(home)
        self.tree = tree
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(tree)
            child = [PYTHON, "-m", "tests.children.many_console", str(count), str(self.ready)]
            os.execve(PYTHON, child, self.environment)
        termios.tcsetwinsize(self.master, (40, 120))
        self.count = 0
        """Bytes that came."""
        self.last = b""
        self._at = time.monotonic()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for got in pieces(self.master):
            self.last = (self.last + got)[-2000:]
            self.count += len(got)
            self._at = time.monotonic()

    def at_rest(self) -> None:
        wait_until(self.ready.exists, 180, f"all of them are idle: {self.last!r}")
        wait_until(lambda: time.monotonic() - self._at > SETTLING, 60, "a screen at rest")

    def end(self) -> None:
        os.kill(self.pid, signal.SIGTERM)
        wait_until(lambda: os.waitpid(self.pid, os.WNOHANG)[0], 60.0, "the console's end")
        subprocess.run(
            [PYTHON, "-m", "app.main", "stop", "--all"],
            cwd=self.tree,
            env=self.environment,
            capture_output=True,
            check=False,
        )
        os.close(self.master)


@contextmanager
def holding(count: int) -> Iterator[Terminal]:
    with tempfile.TemporaryDirectory(prefix="footplate-bench-") as folder:
        terminal = Terminal(Path(folder), count)
        try:
            yield terminal
        finally:
            terminal.end()


def memory(pids: tuple[int, ...]) -> float:
    """Megabytes."""
    return sum(float(psutil.Process(pid).memory_full_info().pss) for pid in pids) / 1e6


def nothing_for(seconds: float) -> None:
    """The time that is measured: nothing is to happen in it."""
    select.select([], [], [], seconds)


def held(count: int) -> list[Figure]:
    with holding(count) as terminal:
        terminal.at_rest()
        found = Processes.below(terminal.pid)
        assert len(found.agents) >= count and len(found.keepers) == 2 * count, found
        figures = [
            Figure(
                name=f"memory of the console and {count} keeper{'s' * (count > 1)}",
                value=memory(found.ours),
                unit="MB",
                goal=GOALS[count],
                note=f"{memory(found.keepers) / count:.1f} a keeper; their agents: {memory(found.agents):.0f}",
            )
        ]
        if count == max(GOALS):
            figures += _idle(terminal, found)
    return figures


def _idle(terminal: Terminal, found: Processes) -> list[Figure]:
    before, had = {pid: ran(pid) for pid in (*found.ours, *found.agents)}, terminal.count
    nothing_for(WATCHED)
    used = {pid: (ran(pid) - before[pid]) / WATCHED * 100 for pid in before}
    keepers, agents = (sum(used[pid] for pid in pids) for pids in (found.keepers, found.agents))
    note = f"console {used[found.console]:.2f}, keepers {keepers:.2f}; their agents {agents:.2f}"
    return [
        Figure(
            name=f"CPU with {len(found.agents)} idle sessions, of one core",
            value=used[found.console] + keepers,
            unit="%",
            goal=0.2,
            note=note,
        ),
        Figure(name=f"   bytes painted in {WATCHED:.0f} s", value=terminal.count - had, unit="B", goal=0),
    ]


def measure() -> list[Figure]:
    return [figure for count in GOALS for figure in held(count)]


if __name__ == "__main__":
    from tests.bench.figures import show

    show("Sessions at rest", measure())
