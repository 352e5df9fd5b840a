"""The console in a real terminal over a ledger of a million lines: from the byte of a key to the bytes that it paints,
while eight sessions stream a thousand chunks a second each; while a line of 64 MB arrives; at a new size; at rest.
"""

import os
import pty
import re
import signal
import struct
import tempfile
import termios
import threading
import time
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path

import psutil

from tests.bench.bench_start import ROOT, around
from tests.bench.figures import PYTHON, Figure, middle, upper
from tests.bench.fromterminal import pieces
from tests.waiting import wait_until

LINES = 1_000_000
SESSIONS = 8
CHUNKS = 1_000
KEYS = 120
PAUSE = 0.06
"""Seconds between two keys. A bench paces its keys as a person does; it waits for what a key brings, not by this."""
ALONE = 0.5
"""Before a key that must come alone, so that it is no part of a burst."""
ESCAPE_DECIDED = 1.0
"""After an Esc: the console waits half a second for what may make it a sequence, and nothing tells when it has."""
TAG = re.compile(rb"#(\d{7})")
PAGE_UP, PAGE_DOWN, ESCAPE = b"\x1b[5~", b"\x1b[6~", b"\x1b"


class Busy:
    """A console of ``tests.children.busy_console``, read all the time."""

    def __init__(self, ledger: Path, lines: int, sessions: int, rate: int, **environment: str) -> None:
        self.ledger = ledger
        arguments = ["-m", "tests.children.busy_console", str(ledger), str(lines), str(sessions), str(rate)]
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.execve(PYTHON, [PYTHON, *arguments], around(ledger.parent) | environment)
        self.size(120, 40)
        self.seen = bytearray()
        self._came = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for got in pieces(self.master):
            with self._came:
                self.seen += got
                self._came.notify_all()

    def size(self, columns: int, rows: int) -> None:
        ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)

    def send(self, keys: bytes) -> None:
        while keys:  # a long paste does not go into the terminal at once
            keys = keys[os.write(self.master, keys) :]

    def until(self, look: Callable[[bytes], object], since: int, most: float = 60.0) -> float:
        """When what came since then looks so."""
        end = time.perf_counter() + most
        with self._came:
            while not look(bytes(self.seen[since:])):
                left = end - time.perf_counter()
                assert left > 0, self.seen[-2000:]
                self._came.wait(left)
            return time.perf_counter()

    def quiet(self, seconds: float = 0.5) -> None:
        """Until nothing has come for so long."""
        end = time.perf_counter() + 60
        while True:
            had = len(self.seen)
            time.sleep(seconds)  # the silence that is waited for
            if len(self.seen) == had:
                return
            assert time.perf_counter() < end

    def painted(self, key: bytes, look: Callable[[bytes], object]) -> float:
        """Milliseconds from a key to the bytes that it was to bring."""
        since, begun = len(self.seen), time.perf_counter()
        self.send(key)
        return (self.until(look, since) - begun) * 1000

    def to_keys(self) -> None:
        """Started, the newest page painted, the keys no longer the text's."""
        self.until(lambda seen: TAG.search(seen), 0)
        time.sleep(ALONE)
        self.send(ESCAPE)
        time.sleep(ESCAPE_DECIDED)

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.master)


def into_history(busy: Busy) -> None:
    """Up, past what streams."""
    end = time.perf_counter() + 60
    while True:
        since = len(busy.seen)
        busy.send(PAGE_UP)
        time.sleep(PAUSE)
        if len(set(TAG.findall(bytes(busy.seen[since:])))) > 20:
            return
        assert time.perf_counter() < end


def pages(busy: Busy, count: int, times: list[float]) -> None:
    """Page by page upwards, then back: each page must bring numbers that were not in view."""
    shown: set[bytes] = set()
    for number in range(count):
        key = PAGE_UP if number % 20 < 10 else PAGE_DOWN
        since = len(busy.seen)
        times.append(busy.painted(key, lambda seen: set(TAG.findall(seen)) - shown))  # noqa: B023
        time.sleep(PAUSE)
        shown = set(TAG.findall(bytes(busy.seen[since:])))


def letters(busy: Busy, count: int) -> list[float]:
    """What is typed in the text, letter by letter, each seen."""
    times = []
    for number in range(count):
        letter = b"qwertzuiopasdfghjklyxcvbnm"[number % 26 : number % 26 + 1]
        times.append(busy.painted(letter, lambda seen: letter in re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", seen)))  # noqa: B023
        time.sleep(PAUSE)
    return times


def told(name: str, times: list[float], goals: tuple[float | None, float | None, float | None]) -> list[Figure]:
    return [
        middle(f"{name}, p50", times, goal=goals[0]),
        upper("   p95", times, 0.95, goal=goals[1], note="noisy machine: 50"),
        upper("   max", times, 1.0, goal=goals[2]),
    ]


def streaming(ledger: Path) -> list[Figure]:
    busy = Busy(ledger, LINES, SESSIONS, CHUNKS)
    try:
        busy.to_keys()
        into_history(busy)
        times: list[float] = []
        pages(busy, KEYS, times)
        busy.send(b"i")
        time.sleep(ALONE)
        typed = letters(busy, 60)
        memory = psutil.Process(busy.pid).memory_full_info().pss / 1e6
    finally:
        busy.end()
    name = f"page key to paint, {SESSIONS} sessions × {CHUNKS:,} chunks/s, {LINES:,} lines"
    return [
        *told(name, times, (12, 30, 60)),
        *told("letter to paint meanwhile", typed, (12, 30, 60)),
        Figure(name="   memory of it all (PSS)", value=memory, unit="MB"),
    ]


def huge(ledger: Path, megabytes: int) -> list[Figure]:
    busy = Busy(ledger, LINES, 1, 50)
    try:
        busy.to_keys()
        into_history(busy)
        size = ledger.with_suffix(".size")
        size.write_text(str(megabytes * 1_000_000))
        os.kill(busy.pid, signal.SIGUSR1)
        wait_until(lambda: size.read_text() == "ready", 30.0)
        begun, times = time.perf_counter(), []
        shown: set[bytes] = set()
        while size.read_text() != "done" or len(times) < 20:
            since = len(busy.seen)
            key = PAGE_UP if len(times) % 20 < 10 else PAGE_DOWN
            times.append(busy.painted(key, lambda seen: set(TAG.findall(seen)) - shown))  # noqa: B023
            time.sleep(PAUSE / 3)  # quicker than a person: a line of 64 MB is not long in coming
            shown = set(TAG.findall(bytes(busy.seen[since:])))
        took = time.perf_counter() - begun
        since = len(busy.seen)
        busy.send(b"G")
        busy.until(lambda seen: b"THE END OF IT" in seen, since)
    finally:
        busy.end()
    return [
        upper(f"page key to paint while one line of {megabytes} MB arrives, max", times, 1.0, goal=60),
        middle("   p50", times, note=f"{len(times)} keys in {took:.1f} s"),
    ]


def ran(pid: int) -> float:
    """Seconds of a core that a process has had so far, to the nanosecond: the usual count goes by hundredths."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def resting(ledger: Path) -> list[Figure]:
    busy = Busy(ledger, LINES, 1, 0)
    try:
        busy.to_keys()
        busy.quiet(1.0)
        had, before = len(busy.seen), ran(busy.pid)
        time.sleep(10.0)  # the time that is measured: nothing is to happen in it
        used = (ran(busy.pid) - before) / 10.0 * 100
        painted = len(busy.seen) - had
        for _ in range(12):
            busy.send(PAGE_UP)
            time.sleep(PAUSE)
        busy.quiet()
        first, settled = resized(busy)
        pasted = pasting(busy)
    finally:
        busy.end()
    return [
        Figure(name="CPU with nothing waiting", value=used, unit="%", goal=0.2),
        Figure(name="   bytes painted in 10 s", value=painted, unit="B", goal=0),
        middle(f"a new width with {LINES:,} lines: first right frame, p50", first, goal=50),
        upper("   settled, max", settled, 1.0, goal=500),
        *pasted,
    ]


def pasting(busy: Busy) -> list[Figure]:
    """A paste of a megabyte stands in the draft as one mark, and what is typed behind it is not behind it in time."""
    busy.send(b"i")
    busy.quiet()
    line = b"some forty letters of a log, line %06d\r"
    text = b"".join(line % n for n in range(1_000_000 // len(line % 0)))
    took = busy.painted(b"\x1b[200~" + text + b"\x1b[201~", lambda seen: b"stands for a long text" in seen)
    return [
        Figure(name="a paste of 1 MB, until it stands in the draft", value=took, goal=1500),
        *told("   letter to paint behind it", letters(busy, 20), (12, 30, 60)),
    ]


def resized(busy: Busy) -> tuple[list[float], list[float]]:
    """Milliseconds to the first frame that has the row at the right place, and until nothing more came."""
    first, settled = [], []
    for columns in (100, 140, 110, 130, 120):
        since, begun = len(busy.seen), time.perf_counter()
        busy.size(columns, 40)
        at = busy.until(lambda seen: len(TAG.findall(seen)) >= 8, since)
        first.append((at - begun) * 1000)
        last, had = at, len(busy.seen)
        while time.perf_counter() - last < 0.4:
            time.sleep(0.005)  # how exactly the last byte is timed
            if len(busy.seen) != had:
                last, had = time.perf_counter(), len(busy.seen)
        settled.append((last - begun) * 1000)
    return first, settled


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="footplate-bench-") as folder:
        ledger = Path(folder) / "ledger.db"
        from tests.children import busy_console

        begun = time.perf_counter()
        busy_console.fill(ledger, LINES)
        filled = time.perf_counter() - begun
        return [
            Figure(name=f"   (a ledger of {LINES:,} lines made)", value=filled, unit="s"),
            *streaming(ledger),
            *huge(ledger, 12),
            *huge(ledger, 64),
            *resting(ledger),
        ]
