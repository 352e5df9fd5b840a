"""From the byte of the stop key on the terminal to the stop that is committed in the ledger, while everything is busy:
eight agents that stream a thousand chunks a second each, a message of 64 MB, a terminal that changes its size all the
time, and whatever can lie over the console.
"""

import os
import pty
import signal
import sqlite3
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.bench_start import ROOT, around
from tests.bench.figures import Figure, median, percentile
from tests.bench.stop_child import HELD
from tests.coordinator.held import repository
from tests.waiting import wait_until

STOP, ESCAPE = b"\x1c", b"\x1b[27u"
OVER = {
    "nothing over it": b"",
    "the list of commands": b"\x10",
    "the question before leaving": b"\x11",
    "help": ESCAPE + b"?",
    "details": ESCAPE + b"l",
    "the queue": ESCAPE + b"a",
    "a field to write in": ESCAPE + b"r",
}
ROUNDS = 3
"""Of each."""
GOAL = 100.0
GONE = "SELECT count(*) FROM custody WHERE state IN ('fencing', 'closed')"
STREAMING = """
SELECT count(*) FROM custody JOIN turns USING (run) WHERE custody.state = 'open' AND turns.state = 'accepted'
"""


class Busy:
    """The console of ``stop_child``, read all the time."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._home = folder / "home"
        tree = repository(folder / "tree")
        config = self._home / "config.toml"
        self._home.mkdir()
        config.write_text(f"max_held_sessions = {HELD + 4}\n")
        self.environment = around(self._home)
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(tree)
            os.execve(sys.executable, [sys.executable, "-m", "tests.bench.stop_child", *arguments], self.environment)
        self.resize(36, 120)
        self.last = b""
        """The last that came to the terminal: what a console says that has broken."""
        threading.Thread(target=self._read, daemon=True).start()
        wait_until((self._home / "ledger.db").exists, 30)
        self._reader = sqlite3.connect(f"file:{self._home / 'ledger.db'}?mode=ro", uri=True)

    def _read(self) -> None:
        while True:
            try:
                got = os.read(self.master, 65_536)
                if not got:
                    return
                self.last = (self.last + got)[-4000:]
            except OSError:
                return

    def resize(self, rows: int, columns: int) -> None:
        termios.tcsetwinsize(self.master, (rows, columns))

    def count(self, query: str) -> int:
        try:
            return int(self._reader.execute(query).fetchone()[0])
        except sqlite3.OperationalError:
            return -1  # the schema is being made

    def ready(self) -> None:
        """All stream, and one of them has been in view for a while."""
        wait_until(lambda: self.count(STREAMING) >= HELD, 60, "all of them stream")
        end = time.monotonic() + 0.5
        wait_until(lambda: time.monotonic() > end)

    def write(self, data: bytes) -> None:
        """Keys one after the other, each alone."""
        for key in (data[: len(ESCAPE)], data[len(ESCAPE) :]) if data.startswith(ESCAPE) else (data,):
            os.write(self.master, key)
            end = time.monotonic() + 0.15
            wait_until(lambda end=end: time.monotonic() > end)  # type: ignore[misc]

    def stopped(self) -> float:
        """Milliseconds from the key to the commit."""
        before = self.count(GONE)
        begun = time.perf_counter()
        os.write(self.master, STOP)
        while self.count(GONE) == before:
            assert time.perf_counter() - begun < 30, f"no stop was committed: {self.last!r}"
            time.sleep(0.0005)
        return (time.perf_counter() - begun) * 1000

    def end(self) -> None:
        self._reader.close()
        os.kill(self.pid, signal.SIGTERM)
        wait_until(lambda: os.waitpid(self.pid, os.WNOHANG)[0], 60.0, "the console's end")
        # It went without a word; what it held is ended by the next.
        subprocess.run(
            [sys.executable, "-m", "app.main", "stop", "--all"],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            check=False,
        )
        os.close(self.master)


@contextmanager
def busy(*arguments: str) -> Iterator[Busy]:
    with tempfile.TemporaryDirectory(prefix="footplate-bench-") as folder:
        console = Busy(Path(folder), *arguments)
        try:
            yield console
        finally:
            console.end()


@contextmanager
def resizing(console: Busy) -> Iterator[None]:
    over = threading.Event()

    def storm() -> None:
        for n in range(1_000_000):
            if over.wait(0.02):
                return
            console.resize(24 + n % 20, 80 + n * 7 % 90)

    thread = threading.Thread(target=storm)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def measure() -> list[Figure]:
    figures: list[Figure] = []
    every: list[float] = []
    with busy() as console:
        for name, keys in OVER.items():
            took = []
            for _ in range(ROUNDS):
                console.ready()
                console.write(keys)
                took.append(console.stopped())
            every += took
            figures.append(Figure(name=f"stop key to committed stop, {name}, worst of {ROUNDS}", value=max(took)))
        with resizing(console):
            took = []
            for _ in range(ROUNDS):
                console.ready()
                took.append(console.stopped())
        every += took
        figures.append(Figure(name="   in a storm of sizes", value=max(took)))
    with busy("huge") as console:
        console.ready()
        took = [console.stopped()]
        every += took
        figures.append(Figure(name="   beside a message of 64 MB", value=max(took)))
    figures.append(Figure(name=f"all {len(every)} together, p50", value=median(every)))
    figures.append(Figure(name="   p99", value=percentile(every, 0.99), goal=GOAL))
    return figures
