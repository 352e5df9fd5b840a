"""``o``: what of a line can be opened, how a program is given it, and that a page is opened after a yes only."""

import os
import stat
import sys
from ast import literal_eval
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from app.console.screens.openlink import host_of
from app.console.views.opening import FileAt, Link, editor_argv, targets
from coordinator.drivers import base
from store.vocab import RunId, TurnId
from tests.bench.bench_console import Busy
from tests.fakes.ledger_backend import LedgerBackend
from tests.waiting import wait_until

RUN, TURN = RunId(1), TurnId("turn-3")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/worker.py:41 for it", [FileAt(path="src/worker.py", line=41)]),
        ("src/worker.py:41:7: error", [FileAt(path="src/worker.py", line=41)]),
        ('File "/home/ada/a b.py"', [FileAt(path="/home/ada/a", line=None), FileAt(path="b.py", line=None)]),
        ("(tests/a_test.py:3)", [FileAt(path="tests/a_test.py", line=3)]),
        ("`./run.sh`, then ~/notes.txt.", [FileAt(path="./run.sh", line=None), FileAt(path="~/notes.txt", line=None)]),
        ("https://example.org/a.py:3 is a page", [Link(address="https://example.org/a.py:3")]),
        ("(see https://example.org/x_(y)).", [Link(address="https://example.org/x_(y)")]),
        ("read it at HTTP://example.org/?q=1&r=2!", [Link(address="HTTP://example.org/?q=1&r=2")]),
        ("nothing here, 12:30 or so", []),
    ],
)
def test_what_of_a_line_can_be_opened(text: str, found: list[object]) -> None:
    assert list(targets(text)) == found


@given(st.text(alphabet="ab./:~ ()[]\\\x1bhtps'\"0", max_size=300))
def test_any_line_is_read_without_a_fault(text: str) -> None:
    for target in targets(text):
        assert (target.address if isinstance(target, Link) else target.path) in text


def test_each_editor_is_told_the_line_in_its_own_way() -> None:
    assert editor_argv(["vi"], "/a/b.py", 7) == ["vi", "+7", "/a/b.py"]
    assert editor_argv(["code", "--wait"], "/a/b.py", 7) == ["code", "--wait", "--goto", "/a/b.py:7"]
    assert editor_argv(["/usr/bin/hx"], "/a/b.py", 7) == ["/usr/bin/hx", "/a/b.py:7"]
    assert editor_argv(["nano"], "/a/b.py", None) == ["nano", "/a/b.py"]


def test_the_host_is_the_one_that_would_be_asked() -> None:
    assert host_of("https://github.com@evil.example/login") == "evil.example"
    assert host_of("https://[::1") == "none that can be read"


def program(folder: Path, name: str) -> str:
    """Notes how it was called and what is in the file it was given, then ends."""
    path = folder / name
    path.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\n"
        f"out = pathlib.Path({str(folder)!r})\n"
        f"file = pathlib.Path(sys.argv[-1])\n"
        f"text = file.read_bytes() if file.is_file() else b''\n"
        f"(out / '{name}.text').write_bytes(text)\n"
        f"(out / '{name}.mode').write_text(oct(file.parent.stat().st_mode) if file.is_file() else '')\n"
        f"(out / '{name}.called').write_text(repr(sys.argv[1:]))\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_long_message_a_file_at_its_line_and_a_page_are_opened_by_their_programs(tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text("x\n" * 50)
    long = "the beginning\n" + "a line with \x1b[31mcolour\x1b[0m and \x07 bell\n" * 40_000 + "the end"
    ledger = tmp_path / "ledger.db"
    backend = LedgerBackend(ledger)
    backend.turn_in_ledger(RUN, str(TURN), "Go on.")
    backend.keep(
        RUN,
        [
            base.TextBlock(block="long", text=long),
            base.TextBlock(block="file", text=f"look at {tmp_path}/worker.py:41 and say"),
            base.TextBlock(block="page", text="read https://example.org/page first"),
        ],
        TURN,
    )
    backend.close()
    busy = Busy(
        ledger,
        0,
        1,
        0,
        PAGER=program(tmp_path, "pager"),
        EDITOR=program(tmp_path, "editor"),
        BROWSER=program(tmp_path, "browser") + " %s",
    )
    try:
        busy.until(lambda seen: b"example.org/page" in seen, 0)
        busy.send(b"\x1b")
        busy.quiet(0.3)
        busy.send(b"k")
        busy.quiet(0.3)
        since = len(busy.seen)
        busy.send(b"o")
        busy.until(lambda seen: b"Open what?" in seen, since)
        busy.quiet(0.3)
        busy.send(b"\r")
        busy.until(lambda seen: b"on the host" in seen, since)
        assert not (tmp_path / "browser.called").exists(), "only after a yes"
        busy.quiet(0.8)
        busy.send(b"y")
        wait_until(lambda: (tmp_path / "browser.called").exists(), 20.0)
        assert "https://example.org/page" in (tmp_path / "browser.called").read_text()
        busy.quiet(0.3)
        for _ in range(2):
            busy.send(b"k")
            busy.quiet(0.3)
        busy.send(b"o")
        wait_until(lambda: (tmp_path / "editor.called").exists(), 20.0)
        assert (tmp_path / "editor.called").read_text() == repr(["+41", f"{tmp_path}/worker.py"])
        busy.quiet(0.3)
        for _ in range(2):
            busy.send(b"k")
            busy.quiet(0.3)
        busy.send(b"o")
        wait_until(lambda: (tmp_path / "pager.called").exists(), 20.0)
        told = (tmp_path / "pager.text").read_bytes()
        assert told.startswith(b"the beginning\n") and told.endswith(b"the end") and len(told) > len(long)
        assert b"\x1b" not in told and b"\x07" not in told and told.count(b"colour") == 40_000
        assert (tmp_path / "pager.mode").read_text().endswith("700")
        given_away = literal_eval((tmp_path / "pager.called").read_text())[-1]
        wait_until(lambda: not Path(given_away).exists(), 10.0)
        since = len(busy.seen)
        busy.send(b"G")
        busy.quiet(0.5)
        assert len(busy.seen) > since and os.waitpid(busy.pid, os.WNOHANG) == (0, 0), "the console is there again"
    finally:
        busy.end()
