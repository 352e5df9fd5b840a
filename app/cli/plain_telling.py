"""What is told of one run that is held without a screen, each thing once. How it is written is ``plain_output``'s."""

from msgspec import Struct, field

from app.cli.exits import Code
from app.cli.plain_output import WORTH_TELLING, Output
from app.wording_rules import by_rule
from coordinator.api import Backend, FeedEvent, ReadTranscript, SessionView, TranscriptPage
from coordinator.checktypes import GOING_ON, CheckState
from store.vocab import DecisionState, Millis, RunId, RunOutcome


class _Told(Struct):
    """What was said already, so that a snapshot that says it again is silent."""

    turns: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    decisions: dict[int, DecisionState] = field(default_factory=dict)
    queued: tuple[int, ...] = ()
    queue_held: bool = False
    steps: int = 0
    receipt: bool = False
    checks: dict[str, CheckState] = field(default_factory=dict)
    at_budget: bool = False
    past_work: bool = False
    last_key: tuple[int, int] = (-1, -1)


class RunTelling:
    def __init__(self, backend: Backend, run: RunId, out: Output) -> None:
        self.run = run
        self.out = out
        self.nobody_answers = False
        """Stdin has ended: what is asked is told with from where it can be answered."""
        self._backend = backend
        self._told = _Told()

    def session(self) -> SessionView | None:
        return next((one for one in self._backend.snapshot().sessions if one.run == self.run), None)

    def now(self) -> Millis:
        return self._backend.snapshot().now

    def begin(self, session: SessionView, sentence: str) -> None:
        self.out.started(self.now(), session, sentence)
        self._backend.drain(self.run)  # from here on events are kept for us; what was before is in the page
        self._tell_page()

    def tell_news(self) -> None:
        events, dropped = self._backend.drain(self.run)
        if dropped:
            self._tell_page()
        for event in events:
            self._tell_event(event)
        session = self.session()
        if session is not None:
            self._tell_session(session)

    def ended(self, session: SessionView, code: int) -> None:
        self.tell_news()
        self.out.ended(self.now(), session, code)

    def say_what_waits(self, number: int) -> None:
        said = f"nobody can answer question {number} from here; from elsewhere: footplate answer {number} CHOICE"
        self.out.note(self.now(), said)

    def _tell_page(self) -> None:
        reply = self._backend.submit(ReadTranscript(run=self.run)).result()
        if isinstance(reply, TranscriptPage):
            for event in reply.events:
                self._tell_event(event)

    def _tell_event(self, event: FeedEvent) -> None:
        if event.key is not None:
            if event.key <= self._told.last_key:
                return
            self._told.last_key = event.key
            self.out.event(event)

    def _tell_session(self, session: SessionView) -> None:
        told, now = self._told, self.now()
        for turn in session.turns:
            stands = (turn.state.value, turn.result.value if turn.result else None)
            if told.turns.get(turn.id) != stands:
                told.turns[turn.id] = stands
                self.out.turn(now, session, turn)
        self._tell_decisions(session, now)
        queued = tuple(one.id for one in session.queued)
        if (queued, session.queue_held) != (told.queued, told.queue_held):
            told.queued, told.queue_held = queued, session.queue_held
            self.out.queued(now, session)
        if session.at_budget and not told.at_budget:
            self.out.note(now, "holds at its budget: nothing is lost, nothing runs; finish or stop")
        told.at_budget = session.at_budget
        if session.past_work and not told.past_work:
            self.out.note(now, "has used its working time: interrupt it, extend it, or let its turn end")
        told.past_work = session.past_work
        if session.ending is not None:
            for step, ms in session.ending.steps[told.steps :]:
                self.out.ending(now, session.ending.reason, step, ms)
            told.steps = len(session.ending.steps)
        if session.receipt is not None and not told.receipt:
            told.receipt = True
            self.out.receipt(now, session.receipt)
        for check in session.checks:
            if check.state is not CheckState.WAITING and told.checks.get(check.command) is not check.state:
                told.checks[check.command] = check.state
                self.out.check(now, check)

    def _tell_decisions(self, session: SessionView, now: Millis) -> None:
        told = self._told
        for decision in sorted(session.decisions, key=lambda one: one.id):  # a view has those that wait first
            before = told.decisions.get(decision.id)
            told.decisions[decision.id] = decision.state
            if before is None and decision.state is DecisionState.OPEN:
                self.out.decision(now, decision)
                if self.nobody_answers:
                    self.say_what_waits(decision.id)
            elif before is None and by_rule(decision):
                self.out.ruled(now, decision)
            elif by_rule(decision) and decision.state is DecisionState.DELIVERED:
                pass  # that it was answered is told already, and nobody waits to hear that it arrived
            elif before is not None and before is not decision.state and decision.state in WORTH_TELLING:
                self.out.answered(now, decision)


def code_of(session: SessionView) -> int | None:
    """The exit code that a run's end comes to, and that of its checks; None: something of it goes on."""
    if session.receipt is not None and session.receipt.remaining:
        return Code.UNREACHABLE
    if session.outcome is None:
        return None
    states = {one.state for one in session.checks}
    if states & GOING_ON:
        return None
    well = session.outcome is RunOutcome.FINISHED and states <= {CheckState.PASSED}
    return Code.DONE if well else Code.REFUSED
