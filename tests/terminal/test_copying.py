"""What is copied arrives: through real tmux, as OSC 52 on a real terminal, by a local program, else in a file that is
named; and a drag with the mouse selects, unless the terminal has the mouse.
"""

import base64
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from app.console import clipboard
from tests.console.test_terminal import Terminal
from tests.terminal.keyboards import have_tmux
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
TEXT = "first line\nsécond; line \x1b[31m\nthird 翻訳"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    for name in ("TMUX", "SSH_TTY", "SSH_CONNECTION", "WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(clipboard.shutil, "which", lambda name: None)
    yield monkeypatch


def program(folder: Path, name: str, *, code: int = 0) -> Path:
    """One that keeps what it is given, as the real ones do."""
    file = folder / name
    file.write_text(f"#!/bin/sh\ncat > {folder}/{name}.got\nexit {code}\n")
    file.chmod(0o755)
    return folder / f"{name}.got"


async def copied(written: list[str]) -> str:
    return await clipboard.copy_text(TEXT, written.append)


async def test_the_terminal_is_asked_where_nothing_else_is(bare: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    assert await copied(written) == "terminal"
    assert written == [TEXT]


@pytest.mark.parametrize(("name", "needs"), clipboard.LOCAL)
async def test_a_local_program_comes_first_here_and_never_over_ssh(
    name: str, needs: str, bare: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    got = program(tmp_path, name)
    bare.setattr(clipboard.shutil, "which", lambda asked: str(tmp_path / asked) if asked == name else None)
    bare.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    if needs:
        bare.setenv(needs, ":0")
    written: list[str] = []
    assert await copied(written) == name
    assert got.read_text() == TEXT and written == []
    bare.setenv("SSH_TTY", "/dev/pts/9")
    assert await copied(written) == "terminal"
    assert written == [TEXT]


async def test_one_that_fails_is_followed_by_the_next(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, "wl-copy", code=1)
    bare.setattr(clipboard.shutil, "which", lambda asked: str(tmp_path / asked) if asked == "wl-copy" else None)
    bare.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    bare.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert await copied([]) == "terminal"


@pytest.mark.parametrize("term", ["linux", "dumb"])
async def test_where_nothing_can_be_reached_it_is_a_file_of_ones_own(term: str, bare: pytest.MonkeyPatch) -> None:
    bare.setenv("TERM", term)
    how = await copied([])
    file = Path(how)
    try:
        assert file.read_text(encoding="utf-8") == TEXT
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    finally:
        file.unlink()


@pytest.mark.skipif(not have_tmux(), reason="no tmux on this machine")
def test_tmux_has_it_and_its_terminal_too(tmp_path: Path) -> None:
    """``load-buffer -w``: the buffer, and OSC 52 to the terminal that tmux itself is in."""
    socket = str(tmp_path / "tmux")
    config = tmp_path / "tmux.conf"
    config.write_text("set -s set-clipboard external\n")
    code = (
        "import asyncio, sys; from app.console.clipboard import copy_text; "
        f"print('how:', asyncio.run(copy_text({TEXT!r}, lambda text: None))); sys.stdin.read()"
    )
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    environment.pop("TMUX", None)
    command = ["-S", socket, "-f", str(config), "new-session", sys.executable, "-c", code]
    client = pexpect.spawn("tmux", command, cwd=str(ROOT), env=environment, dimensions=(24, 100), timeout=20)
    try:
        client.expect("how: tmux")
        told = subprocess.run(["tmux", "-S", socket, "show-buffer"], capture_output=True, timeout=10, check=True)
        assert told.stdout.decode() == TEXT
        # What reached the outer terminal, before or after what was waited for.
        seen = (client.before or b"") + (client.after or b"")
        whole = re.compile(rb"\x1b\]52;[^;]*;([A-Za-z0-9+/=]+)(?:\x07|\x1b\\)")
        while not whole.search(seen):
            seen += client.read_nonblocking(65536, timeout=10)
        found = whole.search(seen)
        assert found is not None and base64.b64decode(found.group(1)).decode() == TEXT
    finally:
        subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, timeout=10, check=False)
        client.close(force=True)


OSC52 = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]+)(?:\x07|\x1b\\)")


def mouse(button: int, column: int, row: int, end: str = "M") -> str:
    return f"\x1b[<{button};{column};{row}{end}"


def test_a_drag_selects_and_ctrl_c_copies_it_to_the_terminal() -> None:
    terminal = Terminal("talk")
    try:
        terminal.until(b"THE ANSWER")
        terminal.read(0.5)
        row, column = where(terminal.all, b"THE ANSWER")
        ends = column + len("THE ANSWER to all")
        for data in (mouse(0, column, row), mouse(32, column + 8, row), mouse(32, ends, row), mouse(0, ends, row, "m")):
            terminal.child.send(data)
            terminal.read(0.1)
        terminal.child.send(b"\x03")
        terminal.until(b"copied 1 line (terminal)")
        found = OSC52.search(terminal.all)
        assert found is not None
        assert b"ANSWER to all" in base64.b64decode(found.group(1))
    finally:
        terminal.child.close(force=True)


def where(raw: bytes, words: bytes) -> tuple[int, int]:
    """The row and the column of the screen in which these begin, from 1."""
    import pyte

    screen = pyte.Screen(100, 30)
    pyte.ByteStream(screen).feed(raw)
    shown = words.decode()
    return next((at, row.index(shown) + 1) for at, row in enumerate(screen.display, 1) if shown in row)


def test_m_gives_the_mouse_to_the_terminal_and_takes_it_back() -> None:
    terminal = Terminal("talk")
    try:
        terminal.until(b"THE ANSWER")
        terminal.read(0.7)
        terminal.child.send(b"\x1b")
        terminal.read(0.8)
        for sign, words in ((b"l", b"the mouse is the terminal's"), (b"h", b"the mouse is the console's")):
            terminal.all = b""
            terminal.child.send(b"m")
            terminal.until(words)
            for mode in (b"?1000", b"?1002", b"?1006"):
                wait_until(lambda mode=mode, sign=sign: b"\x1b[" + mode + sign in terminal.all)  # type: ignore[misc]
    finally:
        terminal.child.close(force=True)
