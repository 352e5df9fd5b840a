"""``--plain`` over a scripted backend: what it tells, what it obeys, and how it ends."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from queue import Queue
from typing import Any

import pytest

from app.cli.plain import PlainSession
from coordinator.api import (
    AnswerDecision,
    EndingView,
    Finish,
    Interrupt,
    OperatorCommand,
    QueuedView,
    Said,
    Say,
    Stop,
)
from coordinator.custody.types import EndedProcess, Receipt
from coordinator.drivers import base
from store.refusal import Refusal
from store.vocab import (
    DecisionKind,
    DecisionState,
    RefusalReason,
    RunOutcome,
    TurnId,
    TurnState,
)
from tests.cli.fake_backend import RUN, FakeBackend, decision, done, feed, session, turn
from tests.waiting import wait_until


def working() -> FakeBackend:
    backend = FakeBackend(session(turns=(turn(1),), in_flight=TurnId("t1")))
    backend.on(Stop, lambda b, c: b.end(RunOutcome.INTERRUPTED, "killed" if c.kill else "stopped"))  # type: ignore[attr-defined]
    backend.on(Finish, lambda b, _: b.end())
    return backend


class Lines:
    """A stdin that a test types into."""

    def __init__(self) -> None:
        self._typed: Queue[str | None] = Queue()

    def type(self, line: str) -> None:
        self._typed.put(line)

    def close(self) -> None:
        self._typed.put(None)

    def __iter__(self) -> Iterator[str]:
        while (line := self._typed.get()) is not None:
            yield line


def hold(backend: FakeBackend, *lines: str, as_json: bool = False) -> int:
    return PlainSession(backend, RUN, as_json=as_json, sentence="It may work.").hold(iter(lines))


def stop_report(remaining: tuple[EndedProcess, ...] = ()) -> Receipt:
    return Receipt(
        reason="stopped",
        already_ended=False,
        agent_exit="0",
        steps=(),
        ended=(),
        remaining=remaining,
        spared=(),
        total_ms=9,
    )


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def events(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told(capsys)]


def test_a_run_from_start_to_finish(capsys: pytest.CaptureFixture[str]) -> None:
    backend = working()
    backend.page = (feed(base.TextBlock(block="b", text="I look.\nThen I act."), (10, 0)),)

    def settle(b: FakeBackend, _: OperatorCommand) -> Said:
        b.tell(base.ToolStarted(call="c", name="Bash", input={}, title="pytest -q"), (20, 0))
        b.tell(base.ToolFinished(call="c", ok=True, output="2 passed\n"), (30, 0))
        b.change(turns=(done(1), done(2)), in_flight=None)
        return Said(turn=TurnId("t2"))

    backend.on(Say, settle)
    assert hold(backend, "say go on", "finish") == 0
    assert told(capsys) == [
        "run 12 started: It may work.",
        "| I look.",
        "| Then I act.",
        "turn 1 working (brief)",
        "tool Bash: pytest -q",
        "tool done",
        "    2 passed",
        "turn 1 done (brief), 0.21 this turn, 0.21 so far",
        "turn 2 done, 0.21 this turn, 0.21 so far",
        "run 12 finished: finished by you, 0.21 spent",
    ]
    assert [type(command) for command in backend.commands[1:]] == [Say, Finish]
    assert backend.beats == 2


@pytest.mark.parametrize(
    ("outcome", "code"),
    [(RunOutcome.FINISHED, 0), (RunOutcome.FAILED, 1), (RunOutcome.REFUSED, 1), (RunOutcome.INTERRUPTED, 1)],
)
def test_the_exit_code_is_the_outcome(outcome: RunOutcome, code: int) -> None:
    backend = working()
    backend.on(Finish, lambda b, _: b.end(outcome, "finished"))
    assert hold(backend, "finish") == code


def test_something_left_is_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    left = EndedProcess(pid=41, name="sleep", step="kill", gone_after_ms=0)
    receipt = stop_report(remaining=(left,))
    backend = working()
    backend.on(Stop, lambda b, _: b.change(receipt=receipt))
    assert hold(backend, "stop") == 3
    assert any("1 process left (41)" in line for line in told(capsys))


def test_text_of_an_agent_is_literal_and_cannot_pass_for_ours(capsys: pytest.CaptureFixture[str]) -> None:
    backend = working()
    backend.page = (
        feed(base.TextBlock(block="b", text="\x1b[2Jhi\rquestion 9 (permission): ok?\nturn 5 done\u202e"), (1, 0)),
    )
    backend.change(decisions=(decision(title="Run\x1b]0;x\x07?", subject="echo \x1b[31m\nrm -rf /", why="a\x9bb"),))
    assert hold(backend, "finish") == 0
    raw = capsys.readouterr().out
    assert not {
        letter
        for letter in raw
        if (ord(letter) < 32 and letter != "\n") or 127 <= ord(letter) < 160 or letter == "\u202e"
    }
    assert "\nquestion 9" not in raw
    assert "\nturn 5" not in raw
    assert "\n    rm -rf /\n" in raw


def test_a_decision_is_numbered_and_answered_by_exactly_what_was_shown(capsys: pytest.CaptureFixture[str]) -> None:
    backend = working()
    backend.change(decisions=(decision(rule="Bash commands that begin with rm"),))

    def answered(b: FakeBackend, command: OperatorCommand) -> None:
        shown = decision(state=DecisionState.DELIVERED, answered_by="Mara", answer="denied: not here", delivered_at=1)
        b.change(decisions=(shown,))

    backend.on(AnswerDecision, answered)
    assert hold(backend, "answer 7 9", "deny 7 not here", "answer 8 1", "finish") == 0
    lines = told(capsys)
    at = lines.index("question 7 (permission): Run a command?")
    assert lines[at + 1 : at + 7] == [
        "    rm -rf build",
        "  1 allow once",
        "  2 deny",
        "  3 deny, and say why in a note",
        "  4 allow for this run: Bash commands that begin with rm",
        "  answer with: answer 7 1",
    ]
    sent = [command for command in backend.commands if isinstance(command, AnswerDecision)]
    assert sent == [
        AnswerDecision(
            run=RUN, decision=decision().id, revision=3, payload_hash="hash", answer=base.Deny(message="not here")
        )
    ]
    assert any(line.startswith("refused: 9 is not one of the choices") for line in lines)
    assert any(line.startswith("refused: There is no question 8") for line in lines)
    assert any(line.startswith("question 7: answer received") for line in lines)


def test_a_form_is_answered_by_numbers() -> None:
    questions = (
        base.Question(text="Which colour?", choices=(base.Choice(label="Red"), base.Choice(label="Blue"))),
        base.Question(text="Sizes?", choices=tuple(base.Choice(label=x) for x in "SML"), multiple=True),
    )
    backend = working()
    backend.change(decisions=(decision(kind=DecisionKind.QUESTION, questions=questions),))
    assert hold(backend, "answer 7 1=2 2=1,3; note: soon", "finish") == 0
    sent = next(command for command in backend.commands if isinstance(command, AnswerDecision))
    assert sent.answer == base.QuestionReply(answers={"Which colour?": ("Blue",), "Sizes?": ("S", "L")}, note="soon")


def test_what_is_no_command_never_reaches_the_agent(capsys: pytest.CaptureFixture[str]) -> None:
    backend = working()
    assert hold(backend, "yes do it", "1", "", "finish") == 0
    assert not [command for command in backend.commands if isinstance(command, Say)]
    assert "'yes' is no command; help lists them, and say TEXT speaks to the agent." in told(capsys)


def test_a_refusal_is_told_and_the_run_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    backend = working()
    backend.on(Say, lambda _b, _c: Refusal(RefusalReason.PAUSED, {"run": 12}))
    assert hold(backend, "say hi", "finish", as_json=True) == 0
    refused = [event for event in events(capsys) if event["event"] == "refused"]
    assert [event["reason"] for event in refused] == ["paused"]


def test_json_lines_have_the_documented_names(capsys: pytest.CaptureFixture[str]) -> None:
    backend = working()
    backend.page = (
        feed(base.TextBlock(block="b", text="a\x1b[0m[b]\x7f"), (1, 0)),
        feed(base.ToolStarted(call="c", name="Bash", input={}, title="ls"), (2, 0)),
        feed(base.Notice(text="using another model"), (3, 0)),
    )
    receipt = stop_report()
    ending = EndingView(reason="stopped", since=1, steps=(("no-new-turns", 0), ("gone", 9)))  # type: ignore[arg-type]
    backend.change(decisions=(decision(),), queued=(QueuedView(id=4, place=1, text="then that"),))
    backend.on(Stop, lambda b, _: b.end(RunOutcome.INTERRUPTED, "stopped", ending=ending, receipt=receipt))
    assert hold(backend, "stop", as_json=True) == 1
    raw = capsys.readouterr().out
    assert not {letter for letter in raw if (ord(letter) < 32 and letter != "\n") or ord(letter) >= 127}
    seen = [json.loads(line) for line in raw.splitlines()]
    names = [event["event"] for event in seen]
    assert names == [
        "started", "text", "tool", "agent", "turn", "decision", "queued", "ending", "ending", "receipt", "ended",
    ]  # fmt: skip
    assert all({"event", "at", "run"} <= set(event) for event in seen)
    assert seen[1]["text"] == "a\x1b[0m[b]\x7f"
    assert seen[-1] | {"at": 0} == {
        "event": "ended", "at": 0, "run": 12, "outcome": "interrupted", "reason": "stopped",
        "sentence": "ended: stopped by you", "spent_micro_usd": 210_000, "exit": 1,
    }  # fmt: skip


def test_events_are_told_once_and_dropped_ones_are_read_again(capsys: pytest.CaptureFixture[str]) -> None:
    backend = working()
    first = feed(base.TextBlock(block="a", text="one"), (1, 0))
    backend.page = (first,)

    def more(b: FakeBackend, _: OperatorCommand) -> None:
        b.dropped = 5
        b.page = (first, feed(base.TextBlock(block="b", text="two"), (2, 0)))
        b.tell(base.TextBlock(block="c", text="three"), (3, 0))

    backend.on(Say, more)
    assert hold(backend, "say go", "finish") == 0
    assert [line for line in told(capsys) if line.startswith("|")] == ["| one", "| two", "| three"]


def test_the_end_of_stdin_waits_for_the_turn_and_then_finishes() -> None:
    backend = working()
    lines = Lines()
    code: list[int] = []
    # The main thread has the signals; here a thread must do without.
    plain = PlainSession(backend, RUN, as_json=True, sentence="")
    held = threading.Thread(target=lambda: code.append(without_signals(plain, lines)))
    held.start()
    wait_until(lambda: backend.commands, what="it began to watch")
    lines.close()
    backend.change(queued=(QueuedView(id=1, place=1, text="x"),))
    backend.change(turns=(done(1),), in_flight=None)
    backend.change(decisions=(decision(),), queued=())
    assert Finish(run=RUN) not in backend.commands
    backend.change(decisions=(decision(state=DecisionState.DELIVERED),))
    held.join(10)
    assert code == [0]
    assert backend.commands[-1] == Finish(run=RUN)
    assert backend.commands.count(Finish(run=RUN)) == 1


def without_signals(plain: PlainSession, lines: Lines) -> int:
    real, signal.signal = signal.signal, lambda *_: None  # type: ignore[assignment,misc]
    try:
        return plain.hold(lines)
    finally:
        signal.signal = real


def test_ctrl_c_interrupts_then_stops(capsys: pytest.CaptureFixture[str]) -> None:
    backend = working()
    lines = Lines()

    def press() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    def first(b: FakeBackend, _: OperatorCommand) -> None:
        press()

    backend.on(Interrupt, first)
    lines.type("say x")
    backend.on(Say, lambda _b, _c: press())
    assert hold_lines(backend, lines) == 1
    asked = [command for command in backend.commands if isinstance(command, Interrupt | Stop)]
    assert asked == [Interrupt(run=RUN, turn=TurnId("t1")), Stop(run=RUN, kill=False)]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def hold_lines(backend: FakeBackend, lines: Lines) -> int:
    return PlainSession(backend, RUN, as_json=False, sentence="").hold(lines)


def test_turns_are_told_when_they_change_only(capsys: pytest.CaptureFixture[str]) -> None:
    backend = working()

    def churn(b: FakeBackend, _: OperatorCommand) -> None:
        for _n in range(50):
            b.wake()
        b.change(turns=(turn(1, TurnState.UNCERTAIN),))

    backend.on(Say, churn)
    hold(backend, "say x", "finish")
    assert [line.split(",")[0] for line in told(capsys) if line.startswith("turn")] == [
        "turn 1 working (brief)",
        "turn 1 outcome unknown: the agent was cut off (brief)",
    ]
