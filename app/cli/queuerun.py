"""``queue run``: works through the line in the foreground without a screen; as ``start --plain``, of many runs.

Each line says which run it is of. What is typed begins with the run's number where several are at work. It ends when no
task is left that could begin: 0; 3 where what is left needs the operator; else 1 where a task failed meanwhile. The
first Ctrl-C says what a second one does: that one ends what is at work, and its tasks go back in line; a third kills.
When the terminal is lost, what is at work stays held (``on_disconnect``).

Which task begins is the dispatcher's; here it is only watched, so this process may be one of several on the line.
"""

import contextlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from app.cli import exits, opening, plain_commands, printing
from app.cli.calling import Caller
from app.cli.exits import Code
from app.cli.plain_inbox import Inbox, Tick, stdin_lines
from app.cli.plain_orders import RunOrders
from app.cli.plain_output import JsonOutput, TextOutput
from app.cli.plain_telling import RunTelling, code_of
from app.cli.queueleft import Left, left_of
from app.cli.surroundings import surroundings
from app.wording import terms_sentence
from app.wording_tasks import counts_line
from coordinator.api import (
    Backend,
    CloseAll,
    LeaveAll,
    Left as LeftHeld,
    OperatorCommand,
    QueueView,
    ReadQueue,
    SessionView,
    Stop,
)
from coordinator.clock import RealClock
from store.refusal import Refusal
from store.vocab import DecisionState, RunId

_LOOK_SECONDS = 1.0
"""How long the line is believed to be as it was read: waits end by the clock too."""
_SOME = 200
_ALL = 1_000_000


def run(*, as_json: bool) -> int:
    """
    Raises:
        Leave: the ledger or the configuration cannot be used, or this is called from within a run.
    """
    around = surroundings(as_json=as_json)
    opening.refuse_inside_a_hold(around, "queue run", as_json=as_json)
    printing.plain_output()
    with opening.opened(around, Path.cwd(), as_json=as_json) as here:
        session = QueueSession(
            here.backend,
            as_json=as_json,
            leave=around.config.on_disconnect == "hold",
            terminal=sys.stdin.isatty(),
            caller=Caller(around.config.notify, around.paths.notices),
        )
        return session.work(stdin_lines())


class _One(Struct):
    telling: RunTelling
    orders: RunOrders
    over: bool = False


class QueueSession:
    """The line, from now until nothing of it could begin."""

    def __init__(
        self,
        backend: Backend,
        *,
        as_json: bool,
        leave: bool = True,
        terminal: bool = False,
        caller: Caller | None = None,
    ) -> None:
        self._backend = backend
        self._as_json = as_json
        self._leave = leave
        self._terminal = terminal
        self._inbox = Inbox(backend, terminal=terminal, caller=caller)
        self._runs: dict[RunId, _One] = {}
        self._eof = False
        self._ending = False
        self._interrupts = 0
        self._counted = ""
        self._waited_for_you = False
        self._since = backend.snapshot().now
        self._clock = RealClock()
        self._looked = (-1, 0.0)

    def work(self, lines: Iterable[str]) -> int:
        """The exit code. ``lines``: the operator's, read on a thread of their own."""
        return self._inbox.served(lines, self._watch, self._lost)

    def _watch(self) -> int:
        while True:
            item = self._inbox.next(_LOOK_SECONDS)
            self._tell()
            match item:
                case Tick.EOF:
                    self._nobody_answers()
                case Tick.SIGINT:
                    self._interrupted()
                case Tick.LOST:
                    if self._lost():
                        return Code.UNREACHABLE
                case str():
                    self._obey(item)
                case _:
                    pass
            self._tell()
            if not self._at_work() and (code := self._over()) is not None:
                return code

    # ------------------------------------------------------------------------------------------------------ the telling

    def _ours(self) -> list[SessionView]:
        """Held by this console since it works; what had ended before is nobody's news."""
        return [
            one
            for one in self._backend.snapshot().sessions
            if not one.owner and (one.run in self._runs or one.outcome is None or (one.ended_at or 0) >= self._since)
        ]

    def _at_work(self) -> list[_One]:
        return [one for one in self._runs.values() if not one.over]

    def _tell(self) -> None:
        for session in sorted(self._ours(), key=lambda one: one.run):
            known = self._runs.get(session.run)
            if known is None:
                known = self._begin(session)
            if known.over:
                continue
            known.telling.tell_news()
            if (code := code_of(session)) is not None:
                known.over = True
                known.telling.ended(session, code)

    def _begin(self, session: SessionView) -> _One:
        out = JsonOutput(session.run) if self._as_json else TextOutput(f"[{session.run}] ")
        telling = RunTelling(self._backend, session.run, out)
        telling.nobody_answers = self._eof
        known = self._runs[session.run] = _One(telling, RunOrders(self._backend, telling))
        terms = "" if session.terms is None else terms_sentence(session.terms, telling.now())
        telling.begin(session, terms if self._as_json else f"{session.title}. {terms}".rstrip())
        return known

    def _note(self, sentence: str) -> None:
        if self._as_json:
            printing.json_line({"event": "note", "at": self._backend.snapshot().now, "run": None, "sentence": sentence})
        else:
            printing.told(sentence)

    # ----------------------------------------------------------------------------------------------- whether it is over

    def _over(self) -> int | None:
        """Nothing of it is at work here: the exit code where nothing could begin, else None."""
        if self._ending:
            self._say_end(Code.REFUSED, "Ended by you; what was at work is in line again.", None)
            return Code.REFUSED
        stamp, now = self._backend.snapshot().queue.stamp, self._clock.monotonic()
        if stamp == self._looked[0] and now < self._looked[1] + _LOOK_SECONDS:
            return None
        self._looked = (stamp, now)
        view = self._read(_SOME)
        if view is None:
            return None
        left = left_of(view, self._since)
        self._say_counts(view)
        if left.comes:
            return None
        if left.away and self._terminal and not self._eof:
            # Somebody may come back to this terminal; a key is all that is needed.
            if not self._waited_for_you:
                self._waited_for_you = True
                self._note("You were away: nothing more is begun until you press Enter.")
            return None
        code = Code.UNREACHABLE if left.needs else Code.REFUSED if left.failed else Code.DONE
        self._say_end(code, left.sentence(), left)
        return code

    def _read(self, limit: int) -> QueueView | None:
        """None: it cannot be read just now."""
        reply = self._ask(ReadQueue(limit=limit, ended=True))
        if not isinstance(reply, QueueView):
            return None
        if reply.more and limit < _ALL and not left_of(reply, self._since).comes:
            return self._read(_ALL)
        return reply

    def _say_counts(self, view: QueueView) -> None:
        counted = counts_line(view.counts)
        if counted != self._counted:
            self._counted = counted
            if self._as_json:
                counts = {state.value: count for state, count in view.counts.items()}
                now = self._backend.snapshot().now
                printing.json_line({"event": "line", "at": now, "run": None, "counts": counts, "held": view.held})
            elif counted:
                printing.told(f"line: {counted}")

    def _say_end(self, code: int, sentence: str, left: Left | None) -> None:
        if self._as_json:
            needs = [] if left is None else [{"task": one.task, "why": one.why} for one in left.needs]
            now = self._backend.snapshot().now
            printing.json_line(
                {"event": "over", "at": now, "run": None, "sentence": sentence, "needs": needs, "exit": int(code)}
            )
        elif code == Code.DONE:
            printing.told(sentence)
        else:
            exits.note(sentence)

    # ---------------------------------------------------------------------------------------------------- the operator

    def _obey(self, text: str) -> None:
        self._backend.beat()
        self._waited_for_you = False
        found = re.match(r"\s*#?(\d{1,15})\s+(?=\S)(.*)", text, re.DOTALL)
        run, line = (RunId(int(found.group(1))), found.group(2)) if found else (None, text)
        meant = plain_commands.parse(line)
        if meant is None:
            return
        at_work = {one.telling.run: one for one in self._at_work()}
        if isinstance(meant, plain_commands.Word) and meant.word == "help":
            for said in (*plain_commands.HELP, "N COMMAND                 where several runs are at work: of run N"):
                self._note(said)
            return
        if run is None and isinstance(meant, plain_commands.AnswerLine | plain_commands.DenyLine):
            run = self._asked_by(meant.decision)
        if run is None and len(at_work) == 1:
            run = next(iter(at_work))
        if run in at_work:
            at_work[run].orders.obey(meant)
        elif isinstance(meant, plain_commands.NotUnderstood):
            self._note(meant.sentence)
        elif not at_work:
            self._note("no run is at work here")
        else:
            numbers = ", ".join(map(str, sorted(at_work)))
            self._note(
                f"of which run? {numbers} are at work; begin with its number: {min(at_work)} {line.strip()[:40]}"
            )

    def _asked_by(self, decision: int) -> RunId | None:
        return next((one.run for one in self._ours() if any(each.id == decision for each in one.decisions)), None)

    def _nobody_answers(self) -> None:
        self._eof = True
        for one in self._at_work():
            one.telling.nobody_answers = True
            session = one.telling.session()
            for decision in session.decisions if session is not None else ():
                if decision.state is DecisionState.OPEN:
                    one.telling.say_what_waits(decision.id)

    def _interrupted(self) -> None:
        """Ctrl-C: what it would do, then the end of all that is at work here, then at once."""
        self._interrupts += 1
        if self._interrupts == 1:
            self._note("Ctrl-C again ends what is at work here; its tasks go back in line.")
        elif self._interrupts == 2:
            self._ending = True
            self._backend.submit(CloseAll())  # not waited for: what it does is told as it happens
        else:
            for one in self._at_work():
                self._ask(Stop(run=one.telling.run, kill=True))

    def _lost(self) -> bool:
        """Nobody is there any more. Whether all was left; else it ends, and is watched to its end."""
        if not self._leave:
            if not self._ending:
                self._ending = True
                self._backend.submit(CloseAll())
            return False
        reply = self._ask(LeaveAll())
        if not isinstance(reply, LeftHeld):
            return False
        with contextlib.suppress(OSError):
            for run, until in reply.until:
                if (known := self._runs.get(run)) is not None:
                    known.telling.out.left(known.telling.now(), until)
        return True

    def _ask(self, command: OperatorCommand) -> object:
        reply = self._backend.submit(command).result()
        return None if isinstance(reply, Refusal) else reply
