"""The bytes that really reach a terminal: none but the console's own sequences whatever it shows, no colour where there
is to be none, and nothing at all while nobody waits."""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import psutil
import pyte
import pytest

ROOT = Path(__file__).resolve().parents[2]
OWN = re.compile(
    r"\x1b\[[0-9;]*m"  # colours and weights
    r"|\x1b\[\d*(?:;\d*)?[HABCDGdJK]"  # the cursor, and blank cells
    r"|\x1b\[\?(?:25|7|1000|1002|1003|1004|1006|1015|1016|1049|2004|2026|2027|2031|2048)(?:;\d+)*[hl]"  # modes
    r"|\x1b\[\?(?:2026|2048|2031|2027|1016)\$p|\x1b\[>\d+u|\x1b\[<u|\x1b\[\?u|\x1b\[\d+;\d+r|\x1b\[\?\d+;\d+[lh]"
    r"|\x1b\]22;[a-z-]*\x07"  # the shape of the mouse's pointer
    r"|[\r\n]"
)
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\u2060-\u2064\ufeff\U000e0000-\U000e007f]"
)
COLOURS = re.compile(r"(?:^|;)(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;|$)")


class Watched:
    """A console in a pty of a size, all that came from it, and the screen that this makes."""

    def __init__(self, child: "pexpect.spawn[bytes]", width: int, height: int) -> None:
        self.child = child
        self.all = b""
        self.screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self.screen)

    def read(self, seconds: float) -> bytes:
        """What comes within a time: that nothing comes can be known in no other way."""
        end, got = time.monotonic() + seconds, b""
        while (left := end - time.monotonic()) > 0:
            try:
                got += self.child.read_nonblocking(65536, timeout=left)
            except pexpect.TIMEOUT:
                break
        self.all += got
        self._stream.feed(got)
        return got

    def until(self, text: str, timeout: float = 30.0) -> None:
        end = time.monotonic() + timeout
        while not any(text in row for row in self.screen.display):
            assert time.monotonic() < end, "\n".join(self.screen.display)
            self.read(0.05)

    def until_quiet(self, for_: float = 0.5, timeout: float = 30.0) -> None:
        end = time.monotonic() + timeout
        while self.read(for_):
            assert time.monotonic() < end, "it never came to rest"

    def press(self, key: bytes) -> None:
        self.child.send(key)
        self.until_quiet(0.7)


@contextmanager
def watched(*words: str, size: tuple[int, int] = (120, 34), **environment: str) -> Iterator[Watched]:
    around = {**os.environ, "TERM": "xterm-256color", "HOME": "/home/mara", "COLORTERM": "truecolor", "TZ": "UTC"}
    for name in ("SSH_TTY", "SSH_CONNECTION", "TMUX", "NO_COLOR", "COLUMNS", "LINES"):
        around.pop(name, None)
    child = pexpect.spawn(
        sys.executable,
        ["-m", "tests.console.looks_child", *words],
        cwd=str(ROOT),
        env={**around, **environment},
        dimensions=(size[1], size[0]),
        timeout=20,
    )
    try:
        yield Watched(child, *size)
    finally:
        child.close(force=True)


SIZES = [
    pytest.param((80, 24), marks=pytest.mark.soak),
    (120, 34),
    pytest.param((200, 50), marks=pytest.mark.soak),
]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
def test_no_byte_goes_out_but_the_consoles_own(size: tuple[int, int]) -> None:
    with watched("hostile", size=size) as one:
        one.until("need")
        one.until_quiet()
        # Keys, details, what waits, all commands, help, the conversation up and down.
        for key in (b"\x1b", b"l", b"\x1b", b"a", b"\x1b", b"\x10", b"\x1b", b"?", b"\x1b", b"g", b"G", b"\x0f"):
            one.press(key)
        said = one.all.decode("utf-8")
        rest = OWN.sub("", said)
        assert HIDDEN.findall(rest) == [], repr(HIDDEN.split(rest)[1][:80])
        assert len(said) > 10_000


def test_without_colours_none_goes_out_and_weights_do() -> None:
    with watched("eight", "ascii", NO_COLOR="1") as one:
        one.until("2 need you")
        one.until_quiet()
        for key in (b"\x1b", b"l", b"\x1b", b"\x10", b"\x1b"):
            one.press(key)
        weights = re.findall(r"\x1b\[([0-9;]*)m", one.all.decode("utf-8"))
        assert [found for found in weights if COLOURS.search(found)] == []
        assert any("7" in found.split(";") for found in weights), "what is lit is reversed"
        assert any("1" in found.split(";") for found in weights)


def test_with_colours_some_do() -> None:
    """So that the test above can fail."""
    with watched("eight") as one:
        one.until("2 need you")
        one.until_quiet()
        assert COLOURS.search(re.findall(r"\x1b\[([0-9;]*38[0-9;]*)m", one.all.decode("utf-8"))[0])


def test_nothing_is_painted_and_next_to_nothing_done_while_nobody_waits() -> None:
    with watched("rest") as one:
        one.until("IDLE")
        one.until_quiet(1.5)
        process = psutil.Process(one.child.pid)
        before = process.cpu_times()
        assert one.read(4.0) == b""
        after = process.cpu_times()
        used = after.user + after.system - before.user - before.system
        assert used <= 0.08, f"{used:.3f} s of processor in 4 s of rest"
