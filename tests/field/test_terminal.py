"""A terminal whose console was killed, orders typed while an agent talks, files that were cut: the next thing works."""

import os
import re
import sys
from pathlib import Path

import pexpect
import psutil

from store import queued, turns
from store.db import read_ledger
from store.vocab import Millis, RunId
from tests.coordinator.held import repository
from tests.fakes import main_job
from tests.fakes.plain_process import ROOT, PlainProcess, house_environment, run_footplate
from tests.waiting import wait_until

USUAL = (b"\x1b[?7", b"\x1b[?25")
"""Switched on in every terminal: lines wrap, the cursor is seen."""
OPTIONS = ("--in-place", "--script", "plain")


class Shell:
    """A terminal in which one program runs after the other, and all that came of them."""

    def __init__(self, command: str) -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "HOME": "/home/mara"}
        self.child = pexpect.spawn("/bin/sh", ["-c", command], cwd=str(ROOT), env=environment, dimensions=(30, 100))
        self.all = b""

    def read(self) -> bytes:
        try:
            self.all += self.child.read_nonblocking(65536, timeout=0.05)
        except (pexpect.TIMEOUT, pexpect.EOF):
            pass
        return self.all

    def until(self, text: bytes, since: int = 0) -> int:
        """Where that stands, once it came."""
        try:
            wait_until(lambda: text in self.read()[since:], 20)
        except AssertionError:
            raise AssertionError(f"{text!r} never came: {self.all[-1500:]!r}") from None
        return self.all.index(text, since)

    def runs(self) -> psutil.Process:
        (child,) = psutil.Process(self.child.pid).children()
        return child


def test_a_killed_screen_is_cleared_by_the_next_in_its_terminal() -> None:
    """Nothing can be given back by what was killed; the console that is opened after it takes the terminal as it finds
    it, works, and leaves it clean."""
    console = f"{sys.executable} -m tests.console.child"
    shell = Shell(f"{console}; echo killed; {console}; echo over; exec cat")
    try:
        shell.until(b"quiet one")
        shell.runs().kill()
        again = shell.until(b"killed")
        assert b"?1049l" not in shell.all
        shell.until(b"quiet one", again)
        shell.child.send(b"\x11")
        asked = shell.until(b"This is held", again)

        def left() -> bool:
            """The sheet takes no key in the first half second that it stands."""
            shell.child.send(b"2")
            return b"over" in shell.read()[asked:]

        wait_until(left, 20, "it left")
        modes = {mode: shell.all.rindex(mode) for mode in re.findall(rb"\x1b\[\?\d+[hl]", shell.all)}
        switched = {mode[:-1] for mode in modes if mode.endswith(b"h")}
        assert {b"\x1b[?1049", b"\x1b[?2004", b"\x1b[?1006"} <= switched
        for mode in switched:
            off = modes.get(mode + b"l", -1) > modes[mode + b"h"]
            assert off is (mode not in USUAL), mode
    finally:
        shell.child.close(force=True)


def test_stop_is_an_order_while_the_agent_talks_and_no_words_for_it(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    house = house_environment(tmp_path / "house")
    talk = "go " + main_job.directive({"text": "word " * 2000, "chunks": 2000, "slow": 0.02})
    with PlainProcess(talk, repository=tree, environment=house, agent="practice", options=OPTIONS) as plain:
        plain.saw("turn", n=1, state="accepted")
        plain.type("stop")
        assert plain.code() == 1
        assert plain.saw("ended")["reason"] == "stopped"
    with read_ledger(tmp_path / "house" / "ledger.db", now=lambda: Millis(0)) as tx:
        assert [turn.text for turn in turns.of_run(tx, RunId(1))] == [talk]
        assert queued.of_run(tx, RunId(1)) == []


def test_whatever_file_beside_the_ledger_is_broken_the_next_run_starts(tmp_path: Path) -> None:
    """All of them at once: empty, as a full disk leaves them, and then with nothing in them."""
    tree = repository(tmp_path / "tree")
    house = house_environment(tmp_path / "house")
    start = ("start", "--plain", "--yes", "--agent", "practice", *OPTIONS, "hi")
    assert run_footplate(house, *start, cwd=tree).code == 0
    for left in (b"", b"{}"):
        broken = [file for file in (tmp_path / "house").rglob("*") if file.is_file() and "ledger.db" not in file.name]
        assert {"ledger.mark", "spool", "cookie"} <= {file.name for file in broken}
        for file in broken:
            file.write_bytes(left)
        told = run_footplate(house, *start, cwd=tree)
        assert told.code == 0 and "Traceback" not in told.err, (left, told.out, told.err)
    told = run_footplate(house, "verify", cwd=tree)
    # What is left of the raw output is no more than a note: the ledger has what was in it.
    first, *notes = told.out.splitlines()
    assert (told.code, first) == (0, "The ledger is whole."), told.err
    assert all(note.startswith("Note: raw output of run ") for note in notes)
