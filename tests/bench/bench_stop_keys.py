"""From the byte of the stop key on the terminal to the stop that is committed in the ledger, while everything is busy:
eight agents that stream a thousand chunks a second each, a message of 64 MB, a terminal that changes its size all the
time, and whatever can lie over the console. With an editor in front, the stop comes from another process.

Each press is told in its parts: until the key was read, until the order was given, until the supervisor had it, until
the ledger's writer was at it, until it was committed. The load is made by the bench itself and told beside the figures;
what others do on the same cores comes on top.
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
from dataclasses import dataclass, field
from pathlib import Path

from coordinator.api import Stop
from coordinator.clock import RealClock
from coordinator.commands import asked_body
from coordinator.poke import poke
from store import commands, incarnations
from store.db import read_ledger, write_ledger
from store.vocab import RunId
from tests.bench.bench_start import ROOT, around
from tests.bench.figures import Figure, middle, upper
from tests.bench.stop_child import HELD, KEPT
from tests.coordinator.held import repository
from tests.waiting import wait_until

STOP, ESCAPE = b"\x1c", b"\x1b[27u"
OVER: dict[str, tuple[bytes, ...]] = {
    "nothing over it": (),
    "the list of commands": (b"\x10",),
    "the question before leaving": (b"\x11",),
    "help": (ESCAPE, b"?"),
    "details": (ESCAPE, b"l"),
    "the queue": (ESCAPE, b"a"),
    "a field to write in": (ESCAPE, b"r"),
    "a search": (ESCAPE, b"/"),
}
EDITOR = (b"i", b"\x07")
ROUNDS = 2
"""With nothing over it, in the storm of sizes, and from outside; of all else one."""
GOAL = 100.0
BETWEEN = 0.15
"""Seconds between two keys, as a hand types them."""
ESCAPE_AGAIN = 1.0
READ_FIRST = 0.4
"""Seconds that somebody looks at a screen before stopping what is on it."""
GONE = "SELECT count(*) FROM custody WHERE state IN ('fencing', 'closed')"
STREAMING = """
SELECT count(*) FROM custody JOIN turns USING (run) WHERE custody.state = 'open' AND turns.state = 'accepted'
"""
PARTS = ("read", "issued", "before-order", "ordered", "booking")
"""What ``stop_child`` stamps, in the order that is told; the commit is seen from here."""


@dataclass(slots=True)
class Press:
    """One stop: when the byte was written, when the commit could be read, and what was stamped between."""

    begun: float
    committed: float
    stamps: dict[str, float] = field(default_factory=dict)

    @property
    def ms(self) -> float:
        return (self.committed - self.begun) * 1000

    def part(self, name: str) -> float:
        """Milliseconds since the key."""
        return (self.stamps[name] - self.begun) * 1000


class Busy:
    """The console of ``stop_child``, read all the time."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._home = folder / "home"
        self._stamps = folder / "stamps"
        self.ledger = self._home / "ledger.db"
        tree = repository(folder / "tree")
        self._home.mkdir()
        (self._home / "config.toml").write_text(f"max_held_sessions = {KEPT + 4}\n")
        self._editor = folder / "editor"
        self._editor.write_text(f"#!/bin/sh\necho $$ > {folder}/editor.pid\nexec sleep 300\n")
        self._editor.chmod(0o700)
        self.environment = around(self._home) | {"EDITOR": str(self._editor)}
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(tree)
            child = [sys.executable, "-m", "tests.bench.stop_child", str(self._stamps), *arguments]
            os.execve(sys.executable, child, self.environment)
        self.resize(36, 120)
        self.last = b""
        """The last that came to the terminal: what a console says that has broken."""
        threading.Thread(target=self._read, daemon=True).start()
        wait_until(self.ledger.exists, 30)
        self._reader = sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True)

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
        wait_until(lambda: self.count(STREAMING) >= HELD, 60, f"all of them stream: {self.last!r}")
        wait_until(self._streams_in_view, 60, "one that streams is in view")
        pause(READ_FIRST)

    def _streams_in_view(self) -> bool:
        shown = [line.split()[1] for line in self._stamps.read_text().splitlines() if line.startswith("in-view ")]
        return bool(shown) and self.count(f"{STREAMING} AND custody.run = {float(shown[-1]):.0f}") == 1

    def type(self, keys: tuple[bytes, ...]) -> None:
        for key in keys:
            os.write(self.master, key)
            pause(BETWEEN)
        if keys:
            pause(READ_FIRST)

    def open_editor(self) -> None:
        """Until it is there: a key that comes before the focus has moved does nothing."""
        end = time.monotonic() + 30
        while not self._editor.with_suffix(".pid").exists():
            assert time.monotonic() < end, f"no editor: {self.last!r}"
            for key in EDITOR:
                self.type((key,))
                pause(1.0)

    def stopped(self) -> Press:
        """Press the key, wait for the commit."""
        before, begun = self.count(GONE), time.monotonic()
        os.write(self.master, STOP)
        return self._committed(begun, before)

    def stopped_by_another(self) -> Press:
        """As ``footplate stop`` asks for it: a row in the ledger, and a poke."""
        now = RealClock().now
        run = self.count("SELECT min(run) FROM custody WHERE state = 'open'")
        with read_ledger(self.ledger, now=now) as tx:
            socket = incarnations.not_ended(tx)[0].socket_path
        verb, of, body = asked_body(Stop(run=RunId(run)))
        before, begun = self.count(GONE), time.monotonic()
        with write_ledger(self.ledger, now=now) as tx:
            commands.ask(tx, run=of, verb=verb, body=body, operator="Ada")
        poke(socket)
        return self._committed(begun, before)

    def _committed(self, begun: float, before: int) -> Press:
        while self.count(GONE) == before:
            assert time.monotonic() - begun < 30, f"no stop was committed: {self.last!r}"
            time.sleep(0.001)  # how exactly the commit is timed
        press = Press(begun, time.monotonic())
        wait_until(lambda: "ordered" in self._stamped(press), 30, "the supervisor has the order")
        return press

    def _stamped(self, press: Press) -> dict[str, float]:
        for line in self._stamps.read_text().splitlines():
            what, at = line.split()
            if not what.startswith(("lag-", "in-view")) and float(at) >= press.begun:
                press.stamps.setdefault(what.removesuffix("-by-screen").removesuffix("-by-reader"), float(at))
        return press.stamps

    def promptly(self) -> int:
        """How many stops were ordered by the thread that read the key."""
        return self._stamps.read_text().count("issued-by-reader")

    def lags(self, name: str) -> list[float]:
        """Milliseconds that a loop was late, the worst of each half second."""
        lines = (line.split() for line in self._stamps.read_text().splitlines())
        return [float(worst) * 1000 for what, worst in lines if what == f"lag-{name}"]

    def end(self) -> None:
        self._reader.close()
        with_editor = self._editor.with_suffix(".pid")
        if with_editor.exists():
            os.kill(int(with_editor.read_text()), signal.SIGTERM)
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


def pause(seconds: float) -> None:
    """What a hand, or an eye, takes."""
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end)


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
    every: list[Press] = []

    def told(name: str, presses: list[Press]) -> None:
        every.extend(presses)
        figures.append(Figure(name=f"   {name}, worst of {len(presses)}", value=max(one.ms for one in presses)))

    with busy() as console:
        for name, keys in OVER.items():
            took = []
            for _ in range(1 if keys else ROUNDS):
                console.ready()
                console.type(keys)
                took.append(console.stopped())
                if keys:
                    # One alone: two within a second interrupt a turn.
                    console.type((ESCAPE,))
                    pause(ESCAPE_AGAIN)
            told(name, took)
        with resizing(console):
            took = []
            for _ in range(ROUNDS):
                console.ready()
                took.append(console.stopped())
        told("in a storm of sizes", took)
        console.resize(36, 120)
        promptly = console.promptly()
        lags = {name: console.lags(name) for name in ("screen", "coordinator")}
        console.ready()
        console.open_editor()
        from_outside = [console.stopped_by_another() for _ in range(ROUNDS)]
    with busy("huge") as console:
        console.ready()
        told("beside a message of 64 MB", [console.stopped()])
    return [*_together(every, promptly), *figures, *_outside(from_outside), *_lags(lags)]


def _together(every: list[Press], promptly: int) -> list[Figure]:
    times = [one.ms for one in every]
    note = f"{HELD} × 1,000 chunks/s asked for; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    found = [
        middle(f"stop key to committed stop, {len(every)} presses, p50", times, note=note),
        upper("   p95", times, 0.95),
        upper("   p99", times, 0.99, goal=GOAL),
    ]
    for name in PARTS:
        parts = [one.part(name) for one in every if name in one.stamps]
        found.append(middle(f"   from the key to {name}, p50", parts))
        found.append(upper("      worst", parts, 1.0))
    return [*found, Figure(name="   ordered by the thread that reads the keys", value=float(promptly), unit="of all")]


def _outside(presses: list[Press]) -> list[Figure]:
    worst = max(one.ms for one in presses)
    return [Figure(name="stop by another process to committed, an editor in front, worst", value=worst, goal=GOAL)]


def _lags(lags: dict[str, list[float]]) -> list[Figure]:
    return [middle(f"the {name}'s loop late, the worst of each half second, p50", late) for name, late in lags.items()]


if __name__ == "__main__":
    from tests.bench.figures import show

    show("The stop key while everything is busy", measure())
