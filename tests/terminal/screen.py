"""A console in a pseudo-terminal of its own, seen as a person sees it: a grid of letters, drawn by pyte.

It presses keys and waits for words. Everything that came is kept as bytes too, for what no grid shows (modes that are
switched on and off). A thread reads all the time: a terminal that is not read is a test of its own.
"""

import contextlib
import os
import re
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pexpect
import pyte

from tests.fakes.accounts import leave_nothing
from tests.fakes.plain_process import run_footplate
from tests.waiting import wait_until

ALONE = 0.09
"""Seconds of quiet around a key that must come alone: the console wants 60 ms."""
PAINTED = 0.65
"""Seconds for which a card must have stood: the console wants half a second."""

ENTER, ESCAPE, TAB = "\r", "\x1b", "\t"
INTERRUPT, NEXT_WAITING, QUIT, STOP = "\x03", "\x0f", "\x11", "\x1c"

MODES_OFF = (b"?1000l", b"?1002l", b"?1006l", b"?1049l", b"?2004l")
"""What a console that leaves must have switched off again: mouse, alternate screen, bracketed paste."""


class Screen:
    """Use it as a context manager: the process is hung up and ended on the way out."""

    def __init__(
        self,
        *arguments: str,
        cwd: Path,
        environment: Mapping[str, str],
        columns: int = 120,
        rows: int = 40,
        program: Sequence[str] = (sys.executable, "-m", "app.main"),
        toured: bool = True,
    ) -> None:
        """``toured``: the six keys were shown before, as to everybody but a newcomer."""
        self._grid = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._grid)
        self._lock = threading.Lock()
        self.raw = b""
        self.over = False
        self.keys = 0
        """How many keys were pressed."""
        self._home = Path(environment["FOOTPLATE_HOME"])
        if toured:
            with contextlib.suppress(OSError):
                self._home.mkdir(mode=0o700, exist_ok=True)
                (self._home / "toured").touch()
        self._last_key = 0.0
        self._cooked = False
        self.started_at = time.monotonic()
        self.environment = dict(environment)
        self.cwd = cwd
        command, *rest = [*program, *arguments]
        self.child = pexpect.spawn(
            command, rest, cwd=str(cwd), env=dict(environment), dimensions=(rows, columns), timeout=30, echo=False
        )
        self._reader = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.child.isalive():
            self.child.kill(signal.SIGCONT)
            self.child.kill(signal.SIGTERM)
            try:
                wait_until(lambda: not self.child.isalive(), 40, "the console ends at a TERM")
            finally:
                self.child.close(force=True)
                # Told to go, it leaves what it holds.
                run_footplate(self.environment, "stop", "--all", cwd=self.cwd)
        self._reader.join(10)
        self.child.close(force=True)
        leave_nothing(self._home)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self.child.child_fd, 65536)
            except OSError:
                data = b""
            if not data:
                break
            with self._lock:
                self.raw += data
                # A byte that pyte stumbles over must not stop the reading: then the console would stand still.
                with contextlib.suppress(Exception):
                    self._stream.feed(data)
        self.over = True

    # ----------------------------------------------------------------------------------------------- what stands there

    def text(self) -> str:
        with self._lock:
            return "\n".join(row.rstrip() for row in self._grid.display)

    def shows(self, words: str, timeout: float = 20.0) -> str:
        """Wait until the words (a regular expression) stand on the screen; gives the whole screen."""

        def look() -> str:
            text = self.text()
            return text if re.search(words, text) else ""

        return self._wait(look, timeout, f"{words!r} on the screen")

    def gone(self, words: str, timeout: float = 20.0) -> None:
        self._wait(lambda: not re.search(words, self.text()), timeout, f"{words!r} no longer on the screen")

    def stands(self, words: str, seconds: float = PAINTED, timeout: float = 20.0) -> None:
        """Wait until the words have stood there without a break for so long."""
        since: list[float] = []

        def look() -> bool:
            if not re.search(words, self.text()):
                since.clear()
                return False
            now = time.monotonic()
            since.append(now)
            return now - since[0] >= seconds

        self._wait(look, timeout, f"{words!r} for {seconds} s")

    def _wait(self, look: Callable[[], object], timeout: float, what: str) -> str:
        try:
            return str(wait_until(look, timeout, what))
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{self.text()}\n{self.raw[-300:]!r}") from None

    # -------------------------------------------------------------------------------------------------- what is pressed

    def press(self, *keys: str) -> None:
        """Keys, each of which comes alone."""
        for key in keys:
            self._quiet()
            self.child.send(key)
            self.keys += 1
            self._last_key = time.monotonic()
        self._quiet()

    def write(self, text: str) -> None:
        """A text typed fast, key by key."""
        self._quiet()
        self.child.send(text)
        self.keys += len(text)
        self._last_key = time.monotonic()
        self._quiet()

    def paste(self, text: str) -> None:
        """A text in the brackets of a paste: one piece for the console, and one key for who counts them."""
        self._quiet()
        self.child.send(f"\x1b[200~{text}\x1b[201~")
        self.keys += 1
        self._last_key = time.monotonic()
        self._quiet()

    def _quiet(self) -> None:
        wait_until(lambda: time.monotonic() - self._last_key > ALONE)

    def close_window(self) -> None:
        """The terminal goes away under the console."""
        with self._lock:
            self.child.ptyproc.fileobj.close()
        self.over = True

    def code(self, timeout: float = 40.0) -> int | None:
        """Wait for the end; the exit code."""
        wait_until(lambda: not self.child.isalive(), timeout, f"the console's end\n{self.text()}")
        self._reader.join(10)
        self._cooked = bool(termios.tcgetattr(self.child.child_fd)[3] & termios.ICANON)
        self.child.close()
        return self.child.exitstatus

    def given_back(self) -> bool:
        """Whether every mode was switched off after it was last switched on, and lines are lines again."""
        return self._cooked and all(
            self.raw.rfind(b"\x1b[" + mode) > self.raw.rfind(b"\x1b[" + mode[:-1] + b"h")
            and b"\x1b[" + mode in self.raw
            for mode in MODES_OFF
        )
