"""``queue run`` over a scripted backend: which run a line is of and is for, and when it ends with which code."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from queue import Queue
from typing import Any

import pytest
from msgspec.structs import replace

from app.cli.queuerun import QueueSession
from coordinator.api import (
    AnswerDecision,
    CloseAll,
    ConsoleSnapshot,
    Done,
    LeaveAll,
    Left,
    OperatorCommand,
    QueueSummary,
    QueueView,
    ReadQueue,
    Say,
    SessionView,
    Stop,
    TaskView as Task,
    Waits,
)
from store.vocab import DecisionId, RunId, RunOutcome, TaskState, TurnId
from tests.cli.fake_backend import FakeBackend, decision, done, session, turn
from tests.cli.made import NOW
from tests.cli.test_queue import line, view
from tests.waiting import wait_until


class LineBackend(FakeBackend):
    """Several sessions, and a line that a test sets."""

    def __init__(self, *sessions: SessionView, tasks: tuple[Task, ...] = ()) -> None:
        super().__init__(session())
        self.sessions = {one.run: one for one in sessions}
        self.tasks = tasks
        self._stamp = 0
        self.on(ReadQueue, lambda b, _: line(*b.tasks))  # type: ignore[attr-defined]

    def snapshot(self) -> ConsoleSnapshot:
        summary = QueueSummary(stamp=self._stamp)
        return ConsoleSnapshot(now=NOW, operator="Mara", sessions=tuple(self.sessions.values()), queue=summary)

    def put(self, one: SessionView, *tasks: Task) -> None:
        self.sessions[one.run] = one
        self.stands(*tasks)

    def over(self, run: int, outcome: RunOutcome = RunOutcome.FINISHED) -> None:
        ended = replace(self.sessions[RunId(run)], outcome=outcome, reason="finished", in_flight=None)
        self.put(ended, *self.tasks)

    def stands(self, *tasks: Task) -> None:
        self.tasks = tasks
        self._stamp += 1
        self.wake()

    def drain(self, run: RunId) -> tuple[tuple[Any, ...], int]:
        return (), 0


def at_work(run: int, asks: int | None = None) -> SessionView:
    made = session(run=RunId(run), title=f"task of {run}", turns=(turn(1),), in_flight=TurnId("t1"))
    return made if asks is None else replace(made, decisions=(decision(id=DecisionId(asks), run=RunId(run)),))


class Script:
    """A stdin that does something before each line, once what is told has the text that it waits for."""

    def __init__(self) -> None:
        self._typed: Queue[str | None] = Queue()

    def type(self, text: str) -> None:
        self._typed.put(text)

    def close(self) -> None:
        self._typed.put(None)

    def __iter__(self) -> Iterator[str]:
        while (text := self._typed.get()) is not None:
            yield text


def test_with_nothing_in_line_it_is_over_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert QueueSession(LineBackend(), as_json=False).work(iter(())) == 0
    assert capsys.readouterr().out == "Nothing is left in line.\n"
    ended = replace(at_work(3), outcome=RunOutcome.FAILED)
    assert QueueSession(LineBackend(ended), as_json=True).work(iter(())) == 0
    told = [json.loads(one) for one in capsys.readouterr().out.splitlines()]
    assert [one["event"] for one in told] == ["over"], "a run that had ended before is nobody's news"


def test_lines_of_two_runs_are_told_apart_and_reach_the_one_that_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    backend, typed = LineBackend(at_work(12), at_work(13, asks=7)), Script()
    backend.on(AnswerDecision, lambda b, _: b.over(13))  # type: ignore[attr-defined]
    backend.on(Stop, lambda b, c: b.over(c.run, RunOutcome.FAILED))  # type: ignore[attr-defined]
    for text in ("say hello", "99 say hello", "13 say to thirteen", "answer 7 1", "say to the only one", "stop"):
        typed.type(text)
    assert QueueSession(backend, as_json=False).work(typed) == 0
    told = capsys.readouterr().out.splitlines()
    assert "[12] run 12 started: task of 12." in told
    assert "[13] question 7 (permission): Run a command?" in told
    assert told.count("of which run? 12, 13 are at work; begin with its number: 12 say hello") == 2
    assert [one for one in told if one.startswith("[13] run 13 finished")]
    assert [one for one in told if one.startswith("[12] run 12 failed")]
    said = [one for one in backend.commands if isinstance(one, Say)]
    assert [(one.run, one.text) for one in said] == [(13, "to thirteen"), (12, "to the only one")]


@pytest.mark.parametrize(
    ("tasks", "code", "says"),
    [
        ((view(1, state=TaskState.DONE),), 0, "Nothing is left in line."),
        ((view(1, Waits.HELD),), 0, "Nothing is left that could begin; what you keep back stays in line."),
        ((view(1, Waits.SIGNING), view(2, Waits.NEED, needs=(1,))), 3, "Nothing more begins by itself: tasks 1 and 2"),
        ((view(1, Waits.AWAY),), 3, "Nothing more begins by itself: task 1 needs you;"),
        ((view(4, state=TaskState.FAILED, ended_at=NOW),), 1, "Task 4 failed; footplate queue show 4 says why."),
    ],
)
def test_the_code_is_what_the_line_comes_to(
    tasks: tuple[Task, ...], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    backend, typed = LineBackend(at_work(12), tasks=tasks), Script()
    backend.on(Stop, lambda b, _: b.over(12))  # type: ignore[attr-defined]
    typed.type("stop")
    assert QueueSession(backend, as_json=False).work(typed) == code
    told = capsys.readouterr()
    assert says in (told.err if code else told.out)


def test_what_comes_by_itself_is_waited_for_and_who_was_away_may_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    backend, typed = LineBackend(tasks=(view(1, Waits.AWAY),)), Script()

    def look(b: FakeBackend, _: OperatorCommand) -> QueueView:
        if backend.beats:
            backend.on(ReadQueue, lambda _b, _c: line(view(1, state=TaskState.DONE)))
        else:
            typed.type("help")
        return line(view(1, Waits.AWAY))

    backend.on(ReadQueue, look)
    assert QueueSession(backend, as_json=False, terminal=True).work(typed) == 0
    told = capsys.readouterr().out
    assert "You were away: nothing more is begun until you press Enter." in told
    assert told.endswith("Nothing is left in line.\n")


def test_a_second_ctrl_c_ends_what_is_at_work_and_a_third_kills(capsys: pytest.CaptureFixture[str]) -> None:
    backend, typed = LineBackend(at_work(12), tasks=(view(2, Waits.NEXT),)), Script()

    def press(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    backend.on(Say, press)
    backend.on(CloseAll, press)
    backend.on(Stop, lambda b, _: b.over(12, RunOutcome.INTERRUPTED))  # type: ignore[attr-defined]
    typed.type("say x")
    typed.type("say y")
    assert QueueSession(backend, as_json=False).work(typed) == 1
    asked = [one for one in backend.commands if isinstance(one, CloseAll | Stop)]
    assert asked == [CloseAll(), Stop(run=RunId(12), kill=True)]
    told = capsys.readouterr()
    assert "Ctrl-C again ends what is at work here; its tasks go back in line." in told.out
    assert told.err == "Ended by you; what was at work is in line again.\n"


@pytest.mark.parametrize("leave", [True, False])
def test_a_terminal_that_is_lost_leaves_or_ends_all_of_it(leave: bool, capsys: pytest.CaptureFixture[str]) -> None:
    backend, typed = LineBackend(at_work(12), at_work(13)), Script()
    backend.on(LeaveAll, lambda *_: Left(until=((RunId(12), NOW), (RunId(13), NOW))))

    def close(b: FakeBackend, _: OperatorCommand) -> Done:
        backend.over(12, RunOutcome.INTERRUPTED)
        backend.over(13, RunOutcome.INTERRUPTED)
        return Done()

    backend.on(CloseAll, close)
    typed.close()
    code = QueueSession(backend, as_json=True, leave=leave, terminal=True).work(typed)
    events = [json.loads(one) for one in capsys.readouterr().out.splitlines()]
    assert code == (3 if leave else 1)
    assert {one["run"] for one in events if one["event"] == ("left" if leave else "ended")} == {12, 13}


def test_without_anybody_at_stdin_a_question_says_from_where_it_can_be_answered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    backend, typed = LineBackend(at_work(12, asks=7)), Script()
    typed.close()
    told: list[dict[str, Any]] = []

    def answered() -> bool:
        told.extend(json.loads(one) for one in capsys.readouterr().out.splitlines())
        return any("footplate answer 7 CHOICE" in str(one.get("sentence")) for one in told)

    work = threading.Thread(target=lambda: unsignalled(QueueSession(backend, as_json=True), typed))
    work.start()
    wait_until(answered, 10, "it is said")
    backend.put(replace(at_work(12), turns=(done(1),), outcome=RunOutcome.FINISHED, reason="finished"))
    work.join(10)
    assert not work.is_alive()


def unsignalled(one: QueueSession, typed: Script) -> int:
    """Off the main thread, where no handler can be set."""
    real, signal.signal = signal.signal, lambda *_: None  # type: ignore[assignment,misc]
    try:
        return one.work(typed)
    finally:
        signal.signal = real
