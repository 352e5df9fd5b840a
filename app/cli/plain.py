"""A run held in the foreground without a screen: the same coordinator and rules, told in lines, driven from stdin.

For dumb terminals, screen readers, scripts and tests. The lines and JSON events are described in ``plain_output``, the
commands in ``plain_commands``. Exit code: 0 finished; 1 failed, refused, or ended before it finished; 3 something of it
may still be there, or all of it: when the terminal is lost, or TERM or a hangup comes, it stays held for the next
console (or is stopped, where ``on_disconnect`` says so). Ctrl-C: first the turn, then the run, then at once.

Everything comes through one queue: the backend's wake, a line of stdin, a signal. So nothing here races, and whatever
stdin does, the run is watched to its end.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from queue import SimpleQueue
from types import FrameType

from app.cli import answers, plain_commands
from app.cli.exits import Code
from app.cli.plain_output import WORTH_TELLING, JsonOutput, Output, TextOutput, asked_of
from app.wording_rules import by_rule
from coordinator.api import (
    AnswerDecision,
    Backend,
    EditQueued,
    FeedEvent,
    Finish,
    Interrupt,
    LeaveAll,
    Left,
    OperatorCommand,
    ReadTranscript,
    ReleaseQueue,
    Reply,
    Said,
    Say,
    SessionView,
    Stop,
    TranscriptPage,
)
from coordinator.drivers.base import Deny
from store.refusal import Refusal
from store.vocab import DecisionKind, DecisionState, Millis, RefusalReason, RunId, RunOutcome, TurnState


class _Tick(Enum):
    WAKE = "wake"
    EOF = "eof"
    SIGINT = "sigint"
    LOST = "lost"
    """TERM, a hangup, the end of the terminal."""


_Item = _Tick | str

_FLYING = (TurnState.RECORDED, TurnState.WRITTEN, TurnState.ACCEPTED)
_DONE = (TurnState.SETTLED, TurnState.CANCELLED, TurnState.UNCERTAIN)


@dataclass(slots=True)
class _Told:
    """What was said already, so that a snapshot that says it again is silent."""

    turns: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    decisions: dict[int, DecisionState] = field(default_factory=dict)
    queued: tuple[int, ...] = ()
    queue_held: bool = False
    steps: int = 0
    receipt: bool = False
    at_budget: bool = False
    past_work: bool = False
    last_key: tuple[int, int] = (-1, -1)


class PlainSession:
    """One run, from its start to its end."""

    def __init__(
        self,
        backend: Backend,
        run: RunId,
        *,
        as_json: bool,
        sentence: str,
        leave: bool = True,
        terminal: bool = False,
    ) -> None:
        """``leave``: what is to become of it when the terminal is lost. ``terminal``: whether stdin is one, so that
        its end is a loss and not the end of what a script had to say."""
        self._backend = backend
        self._run = run
        self._out: Output = JsonOutput(run) if as_json else TextOutput()
        self._sentence = sentence
        self._leave = leave
        self._terminal = terminal
        self._inbox: SimpleQueue[_Item] = SimpleQueue()
        self._told = _Told()
        self._eof = False
        self._finish_asked = False
        self._interrupts = 0
        self._waking = threading.Event()

    def hold(self, lines: Iterable[str]) -> int:
        """Until the run has ended; the exit code. ``lines``: the operator's, read on a thread of their own."""
        reader = threading.Thread(target=self._read, args=(lines,), name="stdin", daemon=True)
        with self._signals(), self._subscribed():
            reader.start()
            try:
                return self._watch()
            except OSError:
                # What is told goes nowhere any more: the terminal, or whoever read along, has gone.
                if self._lost():
                    return Code.UNREACHABLE
                raise

    # --------------------------------------------------------------------------------------------------- what comes in

    def _read(self, lines: Iterable[str]) -> None:
        try:
            for text in lines:
                self._inbox.put(text)
        except (OSError, ValueError):
            pass  # a terminal that went away is the end of its input
        self._inbox.put(_Tick.LOST if self._terminal else _Tick.EOF)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def put(tick: _Tick) -> Callable[[int, FrameType | None], None]:
            return lambda _number, _frame: self._inbox.put(tick)

        wanted = {signal.SIGINT: _Tick.SIGINT, signal.SIGTERM: _Tick.LOST, signal.SIGHUP: _Tick.LOST}
        before = {
            number: signal.signal(number, put(tick))
            for number, tick in wanted.items()
            # Under nohup a hangup is nobody's wish.
            if not (number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def _subscribed(self) -> Iterator[None]:
        def wake() -> None:
            # One token in the queue at a time, however often the backend has news.
            if not self._waking.is_set():
                self._waking.set()
                self._inbox.put(_Tick.WAKE)

        unsubscribe = self._backend.subscribe(wake)
        wake()
        try:
            yield
        finally:
            unsubscribe()

    # ------------------------------------------------------------------------------------------------------- the watch

    def _watch(self) -> int:
        started = False
        while True:
            item = self._inbox.get()
            if item is _Tick.WAKE:
                self._waking.clear()
            session = self._session()
            if session is not None and not started:
                started = True
                self._out.started(self._now(), session, self._sentence)
                self._backend.drain(self._run)  # from here on events are kept for us; what was before is in the page
                self._tell_page()
            if started:
                self._tell_news()
            match item:
                case _Tick.EOF:
                    self._eof = True
                    for decision in session.decisions if session is not None else ():
                        if decision.state is DecisionState.OPEN:
                            self._say_what_waits(decision.id)
                case _Tick.SIGINT:
                    self._interrupted()
                case _Tick.LOST:
                    if self._lost():
                        return Code.UNREACHABLE
                case str():
                    self._obey(item)
                case _:
                    pass
            session = self._session()
            if session is not None and (code := self._over(session)) is not None:
                self._tell_news()
                self._out.ended(self._now(), session, code)
                return code
            self._finish_when_at_rest(session)

    def _session(self) -> SessionView | None:
        return next((one for one in self._backend.snapshot().sessions if one.run == self._run), None)

    def _now(self) -> Millis:
        return self._backend.snapshot().now

    def _over(self, session: SessionView) -> int | None:
        left = session.receipt is not None and bool(session.receipt.remaining)
        if session.outcome is None:
            return Code.UNREACHABLE if left else None
        if left:
            return Code.UNREACHABLE
        return Code.DONE if session.outcome is RunOutcome.FINISHED else Code.REFUSED

    # ------------------------------------------------------------------------------------------------------ the telling

    def _tell_news(self) -> None:
        events, dropped = self._backend.drain(self._run)
        if dropped:
            self._tell_page()
        for event in events:
            self._tell_event(event)
        session = self._session()
        if session is not None:
            self._tell_session(session)

    def _tell_page(self) -> None:
        reply = self._ask(ReadTranscript(run=self._run))
        if isinstance(reply, TranscriptPage):
            for event in reply.events:
                self._tell_event(event)

    def _tell_event(self, event: FeedEvent) -> None:
        if event.key is not None:
            if event.key <= self._told.last_key:
                return
            self._told.last_key = event.key
            self._out.event(event)

    def _tell_session(self, session: SessionView) -> None:
        told, now = self._told, self._now()
        for turn in session.turns:
            stands = (turn.state.value, turn.result.value if turn.result else None)
            if told.turns.get(turn.id) != stands:
                told.turns[turn.id] = stands
                self._out.turn(now, session, turn)
        for decision in sorted(session.decisions, key=lambda one: one.id):  # a view has those that wait first
            before = told.decisions.get(decision.id)
            told.decisions[decision.id] = decision.state
            if before is None and decision.state is DecisionState.OPEN:
                self._out.decision(now, decision)
                if self._eof:
                    self._say_what_waits(decision.id)
            elif before is None and by_rule(decision):
                self._out.ruled(now, decision)
            elif by_rule(decision) and decision.state is DecisionState.DELIVERED:
                pass  # that it was answered is told already, and nobody waits to hear that it arrived
            elif before is not None and before is not decision.state and decision.state in WORTH_TELLING:
                self._out.answered(now, decision)
        queued = tuple(one.id for one in session.queued)
        if (queued, session.queue_held) != (told.queued, told.queue_held):
            told.queued, told.queue_held = queued, session.queue_held
            self._out.queued(now, session)
        if session.at_budget and not told.at_budget:
            self._out.note(now, "holds at its budget: nothing is lost, nothing runs; finish or stop")
        told.at_budget = session.at_budget
        if session.past_work and not told.past_work:
            self._out.note(now, "has used its working time: interrupt it, extend it, or let its turn end")
        told.past_work = session.past_work
        if session.ending is not None:
            for step, ms in session.ending.steps[told.steps :]:
                self._out.ending(now, session.ending.reason, step, ms)
            told.steps = len(session.ending.steps)
        if session.receipt is not None and not told.receipt:
            told.receipt = True
            self._out.receipt(now, session.receipt)

    # ---------------------------------------------------------------------------------------------------- the operator

    def _obey(self, text: str) -> None:
        meant = plain_commands.parse(text)
        if meant is None:
            return
        self._backend.beat()
        match meant:
            case plain_commands.NotUnderstood(sentence=sentence):
                self._out.note(self._now(), sentence)
            case plain_commands.SayLine(text=said):
                reply = self._order(Say(run=self._run, text=said))
                if isinstance(reply, Said) and reply.queued is not None:
                    self._out.note(self._now(), "waits in line, sent when the turn ends")
            case plain_commands.AnswerLine(decision=number, words=words):
                self._answer(number, words=words)
            case plain_commands.DenyLine(decision=number, why=why):
                self._answer(number, deny=why)
            case plain_commands.QueueLine():
                self._queue(meant)
            case plain_commands.Word(word=word):
                self._word(word)

    def _word(self, word: str) -> None:
        match word:
            case "interrupt":
                self._interrupt()
            case "finish":
                self._finish_asked = not isinstance(self._order(Finish(run=self._run)), Refusal)
            case "help":
                for said in plain_commands.HELP:
                    self._out.note(self._now(), said)
            case _:
                self._order(Stop(run=self._run, kill=word == "kill"))

    def _answer(self, number: int, *, words: str = "", deny: str | None = None) -> None:
        session = self._session()
        decisions = session.decisions if session is not None else ()
        found = next((one for one in decisions if one.id == number), None)
        if found is None:
            self._out.refused(self._now(), Refusal(RefusalReason.NO_SUCH_DECISION, {"decision": number}))
            return
        answer = Deny(message=deny) if deny is not None else answers.read_line(asked_of(found), words)
        if isinstance(answer, Deny) and found.kind is DecisionKind.PARK:
            answer = Refusal(RefusalReason.NOT_AN_OPTION, {"choice": "deny"})
        if isinstance(answer, Refusal):
            self._out.refused(self._now(), answer)
            return
        self._order(
            AnswerDecision(
                run=self._run,
                decision=found.id,
                revision=found.revision,
                payload_hash=found.payload_hash,
                answer=answer,
            )
        )

    def _queue(self, meant: plain_commands.QueueLine) -> None:
        if meant.drop is not None:
            self._order(EditQueued(run=self._run, queued=meant.drop, text=""))
        elif meant.go:
            self._order(ReleaseQueue(run=self._run))
        elif (session := self._session()) is not None:
            self._out.queued(self._now(), session)

    def _interrupt(self) -> None:
        session = self._session()
        self._order(Interrupt(run=self._run, turn=session.in_flight if session is not None else None))

    def _interrupted(self) -> None:
        """Ctrl-C: first the turn, then the run, then at once."""
        self._interrupts += 1
        session = self._session()
        if self._interrupts == 1:
            if session is not None and session.in_flight is not None:
                self._interrupt()
            self._out.note(self._now(), "Ctrl-C again stops the run and everything that it started.")
        else:
            self._order(Stop(run=self._run, kill=self._interrupts > 2))

    def _lost(self) -> bool:
        """Nobody is there any more. Whether it was left; else it ends, and is watched to its end."""
        if not self._leave:
            self._order(Stop(run=self._run))
            return False
        reply = self._ask(LeaveAll())
        until = dict(reply.until).get(self._run) if isinstance(reply, Left) else None
        if until is None:
            return False
        with contextlib.suppress(OSError):
            self._out.left(self._now(), until)
        return True

    def _order(self, command: OperatorCommand) -> Reply:
        reply = self._ask(command)
        if isinstance(reply, Refusal):
            self._out.refused(self._now(), reply)
        return reply

    def _ask(self, command: OperatorCommand) -> Reply:
        return self._backend.submit(command).result()

    # ------------------------------------------------------------------------------------------------ after stdin ended

    def _say_what_waits(self, number: int) -> None:
        said = f"nobody can answer question {number} from here; from elsewhere: footplate answer {number} CHOICE"
        self._out.note(self._now(), said)

    def _finish_when_at_rest(self, session: SessionView | None) -> None:
        """Nobody can say anything more: when nothing is in flight, in line or in question, the run is finished."""
        if not self._eof or self._finish_asked or session is None or session.ending is not None:
            return
        flying = session.in_flight is not None or any(turn.state in _FLYING for turn in session.turns)
        begun = any(turn.state in _DONE for turn in session.turns)
        waits = any(one.state is DecisionState.OPEN for one in session.decisions)
        if begun and not flying and not waits and (not session.queued or session.queue_held):
            self._finish_asked = not isinstance(self._ask(Finish(run=self._run)), Refusal)


def stdin_lines() -> Iterator[str]:
    """The operator's lines, decoded whatever bytes come.

    Read past Python's own buffer on purpose: a thread that waits inside it at the end of the process is a fatal error
    of the interpreter.
    """
    rest = b""
    while chunk := os.read(0, 65_536):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (_text(raw) for raw in whole)
    if rest:
        yield _text(rest)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").rstrip("\r")
