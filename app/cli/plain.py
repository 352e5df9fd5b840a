"""A run held in the foreground without a screen: the same coordinator and rules, told in lines, driven from stdin.

For dumb terminals, screen readers, scripts and tests. The lines and JSON events are described in ``plain_output``, the
commands in ``plain_commands``. Exit code: 0 finished; 1 failed, refused, or ended before it finished; 3 something of it
may still be there, or all of it: when the terminal is lost, or TERM or a hangup comes, it stays held for the next
console (or is stopped, where ``on_disconnect`` says so). Ctrl-C: first the turn, then the run, then at once.

Everything comes through one queue (``plain_inbox``), so whatever stdin does, the run is watched to its end. Tasks that
wait in line are begun by ``queuerun``, never from here: who starts one run gets one run.
"""

import contextlib
from collections.abc import Iterable

from app.cli import plain_commands
from app.cli.calling import Caller
from app.cli.exits import Code
from app.cli.plain_inbox import Inbox, Tick
from app.cli.plain_orders import RunOrders
from app.cli.plain_output import JsonOutput, TextOutput
from app.cli.plain_telling import RunTelling, code_of
from coordinator.api import Backend, Finish, LeaveAll, Left, SessionView
from store.refusal import Refusal
from store.vocab import DecisionState, RunId, TurnState

_DONE = (TurnState.SETTLED, TurnState.CANCELLED, TurnState.UNCERTAIN)


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
        caller: Caller | None = None,
    ) -> None:
        """``leave``: what is to become of it when the terminal is lost. The others as for ``Inbox``."""
        self._backend = backend
        self._run = run
        self._telling = RunTelling(backend, run, JsonOutput(run) if as_json else TextOutput())
        self._orders = RunOrders(backend, self._telling)
        self._sentence = sentence
        self._leave = leave
        self._inbox = Inbox(backend, terminal=terminal, caller=caller)
        self._eof = False
        self._interrupts = 0

    def hold(self, lines: Iterable[str]) -> int:
        """Until the run has ended; the exit code. ``lines``: the operator's, read on a thread of their own."""
        return self._inbox.served(lines, self._watch, self._lost)

    def _watch(self) -> int:
        started, telling = False, self._telling
        while True:
            item = self._inbox.next()
            session = telling.session()
            if session is not None and not started:
                started = True
                telling.begin(session, self._sentence)
            if started:
                telling.tell_news()
            match item:
                case Tick.EOF:
                    self._eof = telling.nobody_answers = True
                    for decision in session.decisions if session is not None else ():
                        if decision.state is DecisionState.OPEN:
                            telling.say_what_waits(decision.id)
                case Tick.SIGINT:
                    self._interrupted()
                case Tick.LOST:
                    if self._lost():
                        return Code.UNREACHABLE
                case str():
                    self._obey(item)
                case _:
                    pass
            session = telling.session()
            if session is not None and (code := code_of(session)) is not None:
                telling.ended(session, code)
                return code
            self._finish_when_at_rest(session)

    def _obey(self, text: str) -> None:
        meant = plain_commands.parse(text)
        if meant is not None:
            self._backend.beat()
            self._orders.obey(meant)

    def _interrupted(self) -> None:
        """Ctrl-C: first the turn, then the run, then at once."""
        self._interrupts += 1
        session = self._telling.session()
        if self._interrupts == 1:
            if session is not None and session.in_flight is not None:
                self._orders.interrupt()
            self._telling.out.note(self._telling.now(), "Ctrl-C again stops the run and everything that it started.")
        else:
            self._orders.stop(kill=self._interrupts > 2)

    def _lost(self) -> bool:
        """Nobody is there any more. Whether it was left; else it ends, and is watched to its end."""
        if not self._leave:
            self._orders.stop()
            return False
        reply = self._backend.submit(LeaveAll()).result()
        until = dict(reply.until).get(self._run) if isinstance(reply, Left) else None
        if until is None:
            return False
        with contextlib.suppress(OSError):
            self._telling.out.left(self._telling.now(), until)
        return True

    def _finish_when_at_rest(self, session: SessionView | None) -> None:
        """Nobody can say anything more: when nothing is in flight, in line or in question, the run is finished."""
        if not self._eof or self._orders.finish_asked or session is None or session.ending is not None:
            return
        flying = session.in_flight is not None
        begun = any(turn.state in _DONE for turn in session.turns)
        waits = any(one.state is DecisionState.OPEN for one in session.decisions)
        if begun and not flying and not waits and (not session.queued or session.queue_held):
            self._orders.finish_asked = not isinstance(self._backend.submit(Finish(run=self._run)).result(), Refusal)
