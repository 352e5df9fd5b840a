"""On a real terminal: the terms and their one Enter, Ctrl-C, and doctor's look at the glyphs."""

import json
import re
import sys
from pathlib import Path

import pexpect
import pytest

from tests.cli.running import ROOT, environment, repository


def spawn(home: Path, *arguments: str, **more: str) -> pexpect.spawn:
    return pexpect.spawn(
        sys.executable,
        ["-m", "app.main", *arguments],
        cwd=str(ROOT),
        env={**environment(home), "TERM": "xterm-256color", **more},
        dimensions=(34, 160),
        timeout=20,
        encoding="utf-8",
    )


def start(tmp_path: Path) -> pexpect.spawn:
    tree = repository(tmp_path / "r")
    options = [
        "--plain",
        "--agent",
        "practice",
        "--script",
        "plain",
        "--in-place",
        "--repo",
        str(tree),
        "--budget",
        "2usd",
    ]
    return spawn(tmp_path / "h", "start", "look around", *options)


def test_one_enter_under_the_terms_starts(tmp_path: Path) -> None:
    terminal = start(tmp_path)
    terminal.expect(r"The practice agent may work in \S+ in place on main until .* for at most 2\.00 USD")
    terminal.expect("Enter starts under these terms, Ctrl-C leaves: ")
    terminal.send("\r")
    terminal.expect("run 1 started")
    terminal.expect("turn 1 done")
    terminal.send("finish\r")
    terminal.expect("run 1 finished: finished by you")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0


@pytest.mark.parametrize(
    ("typed", "code", "said"), [("yes\r", 1, "only a bare Enter"), ("\x04", 1, "Not started"), ("\x03", 130, "")]
)
def test_anything_else_does_not(tmp_path: Path, typed: str, code: int, said: str) -> None:
    terminal = start(tmp_path)
    terminal.expect("Ctrl-C leaves: ")
    terminal.send(typed)
    terminal.expect(said)
    terminal.expect(pexpect.EOF)
    assert "Traceback" not in (terminal.before or "")
    terminal.close()
    assert terminal.exitstatus == code


def test_doctor_asks_the_terminal_for_the_width_of_its_glyphs(tmp_path: Path) -> None:
    terminal = spawn(tmp_path / "h", "doctor")
    for cells in (3, 2, 2, 2, 2):  # the first is two cells wide, and the widest counts
        terminal.expect_exact("\x1b[6n")
        terminal.send(f"\x1b[1;{cells}R")
    terminal.expect("glyphs take 2 cells")
    terminal.expect("ascii = true")
    terminal.expect(pexpect.EOF)
    terminal.close()


def test_a_dumb_terminal_is_told_of_plain(tmp_path: Path) -> None:
    terminal = spawn(tmp_path / "h", TERM="dumb")
    terminal.expect("footplate start --plain")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 1


def test_doctor_is_json_too(tmp_path: Path) -> None:
    terminal = spawn(tmp_path / "h", "doctor", "--json")
    # No glyph is drawn into a document.
    terminal.expect(pexpect.EOF)
    text = re.sub(r"\r\n", "\n", terminal.before or "")
    terminal.close()
    told = json.loads(text)
    whats = [one["what"] for one in told["findings"]]
    assert whats[:7] == ["footplate", "configuration", "folders", "sockets", "disk", "sqlite", "ledger"]
    assert all(one["remedy"] for one in told["findings"] if one["level"] == "bad")
