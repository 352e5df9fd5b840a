"""Keyboards: which bytes a terminal sends for a key, and a terminal, bare or tmux, in which the key log runs."""

import contextlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pexpect

from tests.fakes.plain_process import house_environment
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
_LETTERS = {
    "space": " ", "question_mark": "?", "colon": ":", "slash": "/", "full_stop": ".", "comma": ",",
    "vertical_line": "|", "dollar_sign": "$", "plus": "+", "minus": "-",
    "left_square_bracket": "[", "right_square_bracket": "]", "left_curly_bracket": "{", "right_curly_bracket": "}",
}  # fmt: skip
_COMMON = {
    "enter": "\r", "tab": "\t", "escape": "\x1b", "alt+enter": "\x1b\r",
    "ctrl+backslash": "\x1c", "ctrl+right_square_bracket": "\x1d",
    "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "pageup": "\x1b[5~", "pagedown": "\x1b[6~",
    "shift+tab": "\x1b[Z", "f8": "\x1b[19~", "f9": "\x1b[20~",
    **{f"ctrl+{letter}": chr(ord(letter) - 96) for letter in "abcdefghijklmnopqrstuvwxyz"},
    **_LETTERS,
}  # fmt: skip
XTERM = {**_COMMON, "f1": "\x1bOP", "f4": "\x1bOS", "home": "\x1b[H", "end": "\x1b[F"}
LINUX = {**_COMMON, "f1": "\x1b[[A", "f4": "\x1b[[D", "home": "\x1b[1~", "end": "\x1b[4~", "shift+tab": "\x1b\t"}
NO_BYTES = {"shift+enter": "only terminals with kitty's keys send it: an alias of ^J"}


def bytes_of(key: str, keyboard: dict[str, str]) -> str:
    return key if len(key) == 1 else keyboard[key]


class KeyLog:
    """``footplate doctor --keys`` in a terminal; with ``tmux``, in a server of its own with this configuration."""

    def __init__(self, folder: Path, term: str, tmux: str | None = None, columns: int = 160) -> None:
        self._socket = folder / "tmux"
        self._tmux = tmux is not None
        environment = {**house_environment(folder / "house"), "TERM": term, "SHELL": "/bin/sh", "LANG": "C.UTF-8"}
        for name in ("TMUX", "SSH_TTY", "SSH_CONNECTION", "TERM_PROGRAM"):
            environment.pop(name, None)
        command = [sys.executable, "-m", "app.main", "doctor", "--keys"]
        if tmux is not None:
            config = folder / "tmux.conf"
            config.write_text(f"{tmux}\nset -g history-limit 5000\nset -g remain-on-exit on\n")
            command = ["tmux", "-S", str(self._socket), "-f", str(config), "new-session", *command]
        self.seen = b""
        self.child: Any = pexpect.spawn(
            command[0], command[1:], cwd=str(ROOT), env=environment, dimensions=(50, columns), timeout=20, echo=False
        )

    def __enter__(self) -> Self:
        self.shows("Press keys to see")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tmux:
            self._ask("kill-server")
        self.child.close(force=True)

    def _ask(self, *arguments: str) -> str:
        ran = subprocess.run(
            ["tmux", "-S", str(self._socket), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
        return ran.stdout

    def _drain(self) -> None:
        with contextlib.suppress(pexpect.TIMEOUT, pexpect.EOF):
            while True:
                self.seen += self.child.read_nonblocking(65536, timeout=0)

    def rows(self) -> list[str]:
        """What the log says so far, a press in each."""
        self._drain()
        text = self._ask("capture-pane", "-p", "-J", "-S", "-") if self._tmux else self.seen.decode("utf-8", "replace")
        plain = re.sub(r"\x1b\[[?>0-9;]*[a-zA-Z]", "", text.replace("\r", ""))
        return [row.rstrip() for row in plain.partition("ends it.\n")[2].splitlines() if row.strip()]

    def shows(self, words: str) -> None:
        def look() -> bool:
            self._drain()
            text = self._ask("capture-pane", "-p") if self._tmux else self.seen.decode("utf-8", "replace")
            return words in text

        wait_until(look, 20, f"{words!r} on the screen")

    def press(self, data: str) -> str:
        """The row that comes of it."""
        before = len(self.rows())
        self.child.send(data)
        wait_until(lambda: len(self.rows()) > before, 10, f"a row for {data!r} after {self.rows()[-3:]}")
        return self.rows()[before]


def have_tmux() -> bool:
    return shutil.which("tmux") is not None
