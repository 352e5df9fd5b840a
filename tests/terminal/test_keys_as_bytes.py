"""Every key of the table as the bytes that a terminal sends: bare, Linux's own console, and tmux with both delays.

Looked at through the key log (``doctor --keys``), which reads as the console reads; that the console then does it is
``test_few_keys`` and the console's own rules.
"""

from pathlib import Path

import pexpect
import pytest

from app.console.keys import TABLE, undeliverable
from tests.terminal.keyboards import LINUX, NO_BYTES, XTERM, KeyLog, bytes_of, have_tmux

TERMINALS = {
    "xterm": ("xterm-256color", None, XTERM),
    "linux": ("linux", None, LINUX),
    "tmux": ("xterm-256color", "", XTERM),
    "tmux that waits for Esc": ("xterm-256color", "set -s escape-time 500", XTERM),
    "tmux that does not wait": ("xterm-256color", "set -s escape-time 0", XTERM),
}


@pytest.mark.parametrize("name", TERMINALS)
def test_each_key_of_the_table_arrives(name: str, tmp_path: Path) -> None:
    term, tmux, keyboard = TERMINALS[name]
    if tmux is not None and not have_tmux():
        pytest.skip("no tmux on this machine")
    keys = [key for key in dict.fromkeys(key for row in TABLE for key in row.keys) if key not in ("ctrl+q", *NO_BYTES)]
    wrong: list[str] = []
    with KeyLog(tmp_path, term, tmux) as log:
        for key in keys:
            row = log.press(bytes_of(key, keyboard))
            actions = [f"{one.where.value}: {one.action}" for one in TABLE if key in one.keys]
            if row.split()[0] != key or not all(one in row for one in actions):
                wrong.append(f"{key}: {row}")
    assert wrong == []


def test_every_action_has_a_key_that_arrives_everywhere() -> None:
    """One control byte, or a letter after Esc: what needs a longer sequence is an alias."""
    plain = {"enter", "tab", "escape", "up", "down", "shift+tab", "space"}
    for row in TABLE:
        for key in row.keys:
            assert undeliverable(key) is None, (row.action, key)
        assert row.keys[0] in plain or len(bytes_of(row.keys[0], XTERM).encode()) == 1, row.action


@pytest.mark.parametrize("end", ["\x11", "\x1b"])
def test_the_log_ends_and_gives_the_terminal_back(end: str, tmp_path: Path) -> None:
    with KeyLog(tmp_path, "xterm-256color") as log:
        assert log.press("\x1bx").startswith("alt+x")
        assert "not bound, and can not be: tmux takes it" in log.press("\x02")
        assert "it is not heard" in log.press("\x1b[?62;22c")
        assert "a paste of 3 characters" in log.press("\x1b[200~a\rb\x1b[201~")
        log.press(end)
        if end == "\x1b":
            log.child.send(end)
        log.child.expect(pexpect.EOF)
        assert b"\x1b[<u\x1b[?2004l" in log.seen + (log.child.before or b"")
        log.child.wait()
        assert log.child.exitstatus == 0
