"""The terminal around a program that is measured: all its bytes, the time of each, and the grid when it is asked for.

Nothing is drawn while bytes come: a terminal that is slow to read would be measured instead of the program. It finds
all processes of the program by a mark in their environment, or by their descent from one that has it.
"""

import contextlib
import os
import pty
import re
import secrets
import signal
import struct
import termios
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from fcntl import ioctl
from pathlib import Path

import psutil
import pyte

from tests.bench.bench_console import ran
from tests.bench.fromterminal import pieces
from tests.waiting import wait_until

MARK = "FOOTPLATE_BENCH_MARK"
INHERITED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE)
"""What is ignored where a bench runs in the background, under nohup, or in Python (a closed pipe) would be ignored by
the program too; a terminal that a person opens hands down nothing of that."""
QUIET = 0.25
"""Seconds without a byte after which the grid is worth drawing."""
DRAWN_EVERY = 1.0
MOST_DRAWN = 400_000
"""Bytes: of more than that only the last are drawn; every program here paints its whole screen in less."""


class OuterTerminal:
    """Use it as a context manager: what carries the mark is ended on the way out."""

    def __init__(
        self, command: Sequence[str], cwd: Path, environment: Mapping[str, str], *, columns: int = 120, rows: int = 40
    ) -> None:
        self.mark = secrets.token_hex(8)
        self.began = time.perf_counter()
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                for one in INHERITED:
                    signal.signal(one, signal.SIG_DFL)
                os.chdir(cwd)
                os.execvpe(command[0], list(command), {**environment, MARK: self.mark})
            finally:
                os._exit(127)
        ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._size = (columns, rows)
        self.raw = bytearray()
        self._times: list[float] = []
        self._ends: list[int] = []
        self._came = threading.Condition()
        self._grid = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._grid)
        self._drawn = 0
        self._reaped = False
        self._known: set[psutil.Process] = set()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> "OuterTerminal":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _read(self) -> None:
        for got in pieces(self.master):
            with self._came:
                self.raw += got
                self._times.append(time.perf_counter())
                self._ends.append(len(self.raw))
                self._came.notify_all()
            if b"\x1b[6n" in got:  # it asks where the cursor is, as a terminal would be asked
                self.send(b"\x1b[1;1R")
            if b"\x1b[c" in got:
                self.send(b"\x1b[?62;22c")

    # ----------------------------------------------------------------------------------------------------------- keys

    def send(self, keys: bytes) -> None:
        while keys:
            keys = keys[os.write(self.master, keys) :]

    def paste(self, text: str) -> None:
        """In brackets where the program has asked for them, else as it is."""
        asked = self.raw.rfind(b"\x1b[?2004h") > self.raw.rfind(b"\x1b[?2004l")
        self.send(b"\x1b[200~" + text.encode() + b"\x1b[201~" if asked else text.encode())

    # ------------------------------------------------------------------------------------------------ what stands there

    @property
    def last(self) -> float:
        """When the last byte came."""
        return self._times[-1] if self._times else self.began

    def text(self) -> str:
        """The grid, as it is now."""
        with self._came:
            data = bytes(self.raw[max(self._drawn, len(self.raw) - MOST_DRAWN) :])
            self._drawn = len(self.raw)
        try:
            self._stream.feed(data)
        except Exception:  # a byte that pyte stumbles over: it goes on with a clean grid
            self._grid = pyte.Screen(*self._size)
            self._stream = pyte.ByteStream(self._grid)
        return "\n".join(row.rstrip() for row in self._grid.display)

    def seen(self, words: str, most: float, since: int = 0) -> float | None:
        """When the words (a regular expression) first stood on the screen; None: not within so many seconds.

        They are looked for in the bytes themselves, and on the grid when nothing comes: a program that paints only what
        differs may never send a word in one piece.
        """
        pattern, end, looked = re.compile(words), time.perf_counter() + most, since
        drawn = last = time.perf_counter()
        raw = re.compile(words.encode())
        while time.perf_counter() < end:
            with self._came:
                found = raw.search(self.raw, max(since, looked - 200))
                looked = len(self.raw)
                if found:
                    return self._times[bisect_right(self._ends, found.end() - 1)]
                last = self.last
                self._came.wait(0.1)
                quiet = time.perf_counter() - last > QUIET and len(self.raw) == looked
            # Something that moves all the time is never quiet; what pours is not drawn while it pours.
            slow = time.perf_counter() - drawn > DRAWN_EVERY and looked - self._drawn < MOST_DRAWN // 4
            if (quiet or slow) and self._drawn < looked:
                drawn = time.perf_counter()
                if pattern.search(self.text()):
                    return last
            if not self.alive():
                return None
        return last if pattern.search(self.text()) else None

    def quiet(self, seconds: float = 1.0, most: float = 30.0) -> None:
        """Until nothing has come for so long, or it will never be quiet."""
        end = time.perf_counter() + most
        wait_until(
            lambda: (
                time.perf_counter() - (self._times[-1] if self._times else self.began) > seconds
                or time.perf_counter() > end
            ),
            most + 5,
        )

    def echoed(self, letter: bytes, most: float = 10.0) -> float | None:
        """Milliseconds from a letter to its being painted; None: not within so many seconds."""
        since, begun = len(self.raw), time.perf_counter()
        self.send(letter)
        while time.perf_counter() < begun + most:
            with self._came:
                if letter in re.sub(
                    rb"\x1b(\[[0-9;?<>=:]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\))", b"", self.raw[since:]
                ):
                    return (self._times[-1] - begun) * 1000
                self._came.wait(0.05)
        return None

    # -------------------------------------------------------------------------------------------------------- processes

    def alive(self) -> bool:
        if not self._reaped and os.waitpid(self.pid, os.WNOHANG)[0]:
            self._reaped = True
        return not self._reaped

    def processes(self) -> dict[int, str]:
        """All that carry the mark or descend from what did, with their command lines; also when their parents have
        ended, if they were seen before."""
        wanted = f"{MARK}={self.mark}".encode()
        roots = [psutil.Process(int(folder.name)) for folder in Path("/proc").iterdir() if _marked(folder, wanted)]
        if self.alive():  # one that gives itself another title writes it over its environment
            roots.append(psutil.Process(self.pid))
        # A program may give what it starts an environment of its own making.
        for one in [*roots, *self._known]:
            with contextlib.suppress(psutil.Error):
                self._known.update((one, *one.children(recursive=True)))
        found = {}
        for one in self._known:
            with contextlib.suppress(psutil.Error):
                if one.is_running() and one.status() != psutil.STATUS_ZOMBIE:
                    found[one.pid] = " ".join(one.cmdline())
        return found

    def runs(self, line: str) -> bool:
        """Whether one of them was started so."""
        return any(told.startswith(line) for told in self.processes().values())

    def memory(self, of: Callable[[str], bool]) -> float:
        """Megabytes of PSS, of those whose command line is meant."""
        total = 0.0
        for pid, line in self.processes().items():
            try:
                total += psutil.Process(pid).memory_full_info().pss / 1e6 if of(line) else 0.0
            except psutil.Error:
                continue
        return total

    def used(self, of: Callable[[str], bool], seconds: float) -> tuple[float, int]:
        """Per cent of one core, and bytes painted, while nothing is done for so long."""
        pids = [pid for pid, line in self.processes().items() if of(line)]
        before, had = {pid: _ran(pid) for pid in pids}, len(self.raw)
        time.sleep(seconds)  # the time that is measured: nothing is to happen in it
        spent = sum(max(0.0, _ran(pid) - before[pid]) for pid in pids)
        return spent / seconds * 100, len(self.raw) - had

    def kill(self) -> None:
        """The program alone, with no chance to say anything."""
        os.kill(self.pid, signal.SIGKILL)
        wait_until(lambda: not self.alive(), 10)

    def end(self) -> None:
        """It is asked, then made; then whatever still carries the mark."""
        self.processes()  # while their parents are there
        if self.alive():
            os.kill(self.pid, signal.SIGTERM)
            end = time.monotonic() + 5
            wait_until(lambda: not self.alive() or time.monotonic() > end, 10)
        for _ in range(3):
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.alive()
        with contextlib.suppress(OSError):
            os.close(self.master)


def _marked(folder: Path, wanted: bytes) -> bool:
    try:
        return folder.name.isdigit() and wanted in (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _ran(pid: int) -> float:
    try:
        return ran(pid)
    except (OSError, ValueError, IndexError):
        return 0.0
