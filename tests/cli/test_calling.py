"""Without a screen too, who looks elsewhere is told what waits: by their own program, once, and not while they type."""

import json
import sys
from pathlib import Path
from queue import Queue

import pytest

from app.cli.calling import Caller
from app.cli.plain import PlainSession
from app.cli.plain_inbox import Inbox, Tick
from app.notices.items import AT_IT, Kind, NoticeSettings
from coordinator.api import AttentionView, Say, Stop
from store.vocab import AttentionKind, RunOutcome
from tests.cli.fake_backend import RUN, FakeBackend, decision, session
from tests.cli.made import NOW
from tests.waiting import wait_until

ASKS = AttentionView(id=3, run=RUN, kind=AttentionKind.DECISION, text="run rm -rf build?", since=NOW)


class Clock:
    def __init__(self) -> None:
        self.at = 1_000.0

    def __call__(self) -> float:
        return self.at


class Desk:
    """An operator's program, which writes down what it was given."""

    def __init__(self, folder: Path, program: str = "") -> None:
        self.heard = folder / "heard"
        self.clock = Clock()
        code = program or f"import sys; open({str(self.heard)!r}, 'a').write(sys.stdin.read())"
        self.settings = NoticeSettings(command=(sys.executable, "-c", code))
        self._told = folder / "notices"

    def caller(self, **changes: object) -> Caller:
        settings = NoticeSettings(**({"command": self.settings.command} | changes))  # type: ignore[arg-type]
        return Caller(settings, self._told, self.clock)

    def keys(self) -> list[str]:
        return [json.loads(line)["key"] for line in self.heard.read_text().splitlines()] if self.heard.exists() else []


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def asking() -> FakeBackend:
    backend = FakeBackend(session(decisions=(decision(),)))
    backend.attention = (ASKS,)
    return backend


def test_what_waits_is_told_when_no_line_came_for_a_while_and_once(desk: Desk, asking: FakeBackend) -> None:
    one = desk.caller()
    assert one.look(asking.snapshot()) == AT_IT
    desk.clock.at += AT_IT - 1
    one.typed()
    assert one.look(asking.snapshot()) == AT_IT, "who just typed is there"
    desk.clock.at += AT_IT
    assert one.look(asking.snapshot()) is None
    assert one.look(asking.snapshot()) is None
    one.close(asking.snapshot())
    assert desk.keys() == ["attention 3"]
    again = desk.caller()
    desk.clock.at += AT_IT
    again.close(asking.snapshot())
    assert desk.keys() == ["attention 3"], "another process on the same ledger tells nothing again"


@pytest.mark.parametrize("changes", [{"command": ()}, {"off": frozenset({Kind.DECISION})}])
def test_nothing_is_told_or_looked_for_where_it_is_not_wanted(
    desk: Desk, asking: FakeBackend, changes: dict[str, object]
) -> None:
    one = desk.caller(**changes)
    desk.clock.at += AT_IT
    assert one.look(asking.snapshot()) is None
    one.close(asking.snapshot())
    assert desk.keys() == []


def test_a_program_that_fails_is_said_once_beside_the_lines(
    tmp_path: Path, asking: FakeBackend, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(tmp_path, "raise SystemExit(4)")
    one = desk.caller()
    asking.attention = (ASKS, AttentionView(id=4, run=RUN, kind=AttentionKind.PAGE, text="look", since=NOW))
    desk.clock.at += AT_IT
    one.close(asking.snapshot())
    said = capsys.readouterr()
    assert said.err.count("your notify command ended with 4") == 1 and said.out == ""


def test_an_inbox_looks_again_when_the_quiet_is_long_enough(desk: Desk, asking: FakeBackend) -> None:
    """The wait for the next item is no longer than what is left of it."""
    one = desk.caller()
    inbox = Inbox(asking, terminal=False, caller=one)
    desk.clock.at += AT_IT - 0.01
    assert inbox.next() is Tick.WAKE, "nothing came, and yet it went on"
    desk.clock.at += 0.01
    assert inbox.next(0.01) is Tick.WAKE
    wait_until(desk.keys, what="the operator's program was run")


@pytest.mark.parametrize("typed", [False, True])
def test_a_run_without_a_screen_tells_it(
    desk: Desk, asking: FakeBackend, typed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: Queue[str | None] = Queue()

    def quiet(backend: FakeBackend, _: object) -> None:
        desk.clock.at += AT_IT + 1
        lines.put("stop")

    def stopped(backend: FakeBackend, _: object) -> None:
        if not typed:
            wait_until(desk.keys, what="told while the run goes on")
        backend.end(RunOutcome.INTERRUPTED, "stopped")

    asking.on(Say, quiet)  # type: ignore[arg-type]
    asking.on(Stop, stopped)  # type: ignore[arg-type]
    lines.put("say hello" if not typed else "stop")
    plain = PlainSession(asking, RUN, as_json=False, sentence="", caller=desk.caller())
    assert plain.hold(iter(lines.get, None)) == 1
    assert desk.keys() == ([] if typed else ["attention 3"])
    assert "\a" not in capsys.readouterr().out
