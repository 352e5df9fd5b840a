"""The console in a real terminal: modes, bytes when idle, keys as bytes, the terminal given back."""

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

ROOT = Path(__file__).resolve().parents[2]


class Terminal:
    def __init__(self, scene: str = "quiet") -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30", "HOME": "/home/mara"}
        for name in ("SSH_TTY", "SSH_CONNECTION", "TMUX"):
            environment.pop(name, None)
        self.child = pexpect.spawn(
            sys.executable,
            ["-m", "tests.console.child", scene],
            cwd=str(ROOT),
            env=environment,
            dimensions=(30, 100),
            timeout=20,
        )
        self.all = b""

    def read(self, seconds: float) -> bytes:
        """What comes within a time; for the one thing that needs a time: that nothing comes."""
        end, got = time.monotonic() + seconds, b""
        while (left := end - time.monotonic()) > 0:
            try:
                got += self.child.read_nonblocking(65536, timeout=left)
            except (pexpect.TIMEOUT, pexpect.EOF):
                break
        self.all += got
        return got

    def until(self, text: bytes, timeout: float = 15.0) -> None:
        end = time.monotonic() + timeout
        while text not in self.all:
            assert time.monotonic() < end, f"{text!r} never came: {self.all[-2000:]!r}"
            self.read(0.05)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    one = Terminal()
    yield one
    one.child.close(force=True)


def test_the_terminal_is_used_as_promised_and_given_back(terminal: Terminal) -> None:
    terminal.until(b"quiet one")
    terminal.until(b"\x1b[?1002h")
    assert b"\x1b[?1003h" not in terminal.all, "clicks, the wheel and drags; never each cell that the mouse passes"
    while terminal.read(0.4):
        pass
    # Nobody waits, nothing works: not a byte, for longer than any tick of ours.
    assert terminal.read(2.2) == b""
    # Alt+Enter and ^J are new lines; a bare Enter in a quiet moment sends.
    for data in (b"one", b"\x1b\r", b"two", b"\x0a", b"three"):
        terminal.child.send(data)
        terminal.read(0.15)
    terminal.child.send(b"\r")
    terminal.read(0.3)
    # A paste without brackets, and one with.
    terminal.child.send(b"a\rb\rc\r")
    terminal.read(0.2)
    terminal.child.send(b"\x1b[200~d\re\x1b[201~")
    terminal.read(0.2)
    # ^C never quits, and Textual's toast for it never shows.
    terminal.child.send(b"\x03")
    terminal.until(b"nothing to interrupt")
    terminal.child.send(b"\x11")
    terminal.until(b"This is held")
    terminal.read(0.7)
    terminal.child.send(b"2")
    terminal.child.expect(pexpect.EOF)
    terminal.all += terminal.child.before or b""
    end = terminal.all
    for mode in (b"?1000l", b"?1002l", b"?1006l", b"?1049l", b"?2004l", b"?1004l", b"?25h"):
        assert b"\x1b[" + mode in end[end.rindex(b"This is held") :], mode
    terminal.child.wait()
    assert terminal.child.exitstatus == 0
    said = re.search(rb"sent: (\[.*\])", end)
    assert said is not None and json.loads(said.group(1)).count("Say") == 1
