"""How a run held without a screen is told: as lines of text for a person, or as JSON lines for a program.

JSON lines, one object each, with ``event``, ``at`` (ms UTC) and ``run``:

=============  ====================================================================================================
event          fields
=============  ====================================================================================================
``started``    ``terms`` (the sentence), ``title``, ``agent``, ``tree``
``turn``       ``n``, ``state`` (as the ledger's), ``source``, ``result``, ``cost_micro_usd``, ``cost_known``,
               ``spent_micro_usd``, ``text``; each time a turn's state changes
``text``       ``text``, ``parent`` (sub-agent's call, or null): a finished block
``tool``       ``phase`` (``started``, ``done``, ``failed``), ``call``, ``name``, ``title``, ``output``
``agent``      ``kind``, ``lines``: anything else the agent told (plan, retries, limits, background)
``decision``   ``id``, ``kind``, ``title``, ``subject``, ``why``, ``tool``, ``options``, ``questions``
``answered``   ``id``, ``state``, ``by``, ``answer``, ``note``: each time an asked decision's state changes
``ruled``      ``id``, ``kind``, ``title``, ``subject``, ``by``, ``answer``: a standing rule answered what it asked
``queued``     ``waiting`` (texts, in order), ``held`` (waits for ``queue go``)
``refused``    ``reason``, ``sentence``, ``facts``: a command that was not carried out
``note``       ``sentence``
``ending``     ``reason``, ``step``, ``ms``: each step of an ending as it is reached
``receipt``    ``receipt``: the stop report
``check``      ``command``, ``state``, ``detail``: each time that the state of a check of the finished work changes
``left``       ``until`` (ms UTC): the terminal was lost; until then it stays held for the next console
``ended``      ``outcome``, ``reason``, ``sentence``, ``spent_micro_usd``, ``exit``
``line``       ``counts`` (tasks by state), ``held``: ``queue run`` only, as are notes with ``run`` null
``over``       ``sentence``, ``needs`` (``task``, ``why``), ``exit``: ``queue run`` only, its last
=============  ====================================================================================================
"""

from typing import Any, Protocol

import msgspec

from app import wording
from app.cli import answers, event_text, printing
from app.cli.printing import json_line, literal_lines, one_line, told
from app.console.views import standing
from app.wording_checks import check_line
from coordinator import eventcodec
from coordinator.api import DecisionView, FeedEvent, SessionView, TurnView
from coordinator.checktypes import CheckView
from coordinator.custody.types import Receipt
from coordinator.drivers import base
from store.refusal import Refusal
from store.vocab import DecisionState, Millis, TurnState


class Output(Protocol):
    """What ``plain`` tells. Text of others comes in raw and is made literal by whoever writes it."""

    def started(self, at: Millis, session: SessionView, sentence: str) -> None: ...

    def turn(self, at: Millis, session: SessionView, turn: TurnView) -> None: ...

    def event(self, event: FeedEvent) -> None: ...

    def decision(self, at: Millis, decision: DecisionView) -> None: ...

    def answered(self, at: Millis, decision: DecisionView) -> None: ...

    def ruled(self, at: Millis, decision: DecisionView) -> None: ...

    def queued(self, at: Millis, session: SessionView) -> None: ...

    def refused(self, at: Millis, refusal: Refusal) -> None: ...

    def note(self, at: Millis, sentence: str) -> None: ...

    def ending(self, at: Millis, reason: str, step: str, ms: int) -> None: ...

    def receipt(self, at: Millis, receipt: Receipt) -> None: ...

    def check(self, at: Millis, check: CheckView) -> None: ...

    def left(self, at: Millis, until: Millis) -> None: ...

    def ended(self, at: Millis, session: SessionView, code: int) -> None: ...


def asked_of(decision: DecisionView) -> answers.Asked:
    return answers.Asked(kind=decision.kind, questions=decision.questions, rule=decision.rule, offers=decision.offers)


def end_sentence(session: SessionView) -> str:
    outcome = wording.outcome(session.outcome) if session.outcome is not None else "not ended"
    return f"{outcome}: {wording.end_reason(session.reason)}"


class TextOutput:
    """For a person, a screen reader, a dumb terminal: nothing is drawn, nothing is overwritten."""

    def __init__(self, of: str = "") -> None:
        """``of``: before each line, where the lines of several runs come mixed."""
        self._of = of

    def started(self, at: Millis, session: SessionView, sentence: str) -> None:
        printing.sentence(f"{self._of}run {session.run} started: {one_line(sentence, 2000)}")

    def turn(self, at: Millis, session: SessionView, turn: TurnView) -> None:
        source = wording.turn_source(turn)
        head = f"turn {turn.n} {wording.turn_line(turn)}" + (f" ({source})" if source else "")
        if turn.state in (TurnState.SETTLED, TurnState.UNCERTAIN):
            head += f", {wording.turn_money(turn)} this turn, {standing.spent(session)} so far"
        self._say(head)
        if turn.failure is not None:
            self._say(f"  {wording.failure(turn.failure, session.agent)}")

    def event(self, event: FeedEvent) -> None:
        for said in event_text.lines_of(event.event):
            self._say(said)

    def decision(self, at: Millis, decision: DecisionView) -> None:
        self._say(f"question {decision.id} ({wording.decision_kind(decision.kind)}): {one_line(decision.title)}")
        for said in literal_lines(decision.subject):
            self._say(f"    {said}")
        if decision.why:
            self._say(f"  why: {one_line(decision.why)}")
        for number, option in answers.options(asked_of(decision)).items():
            self._say(f"  {number} {one_line(option)}")
        for number, question in enumerate(decision.questions, 1):
            several = " (several may be chosen)" if question.multiple else ""
            self._say(f"  {number}. {one_line(question.text, 1000)}{several}")
            for place, choice in enumerate(question.choices, 1):
                more = f": {one_line(choice.description)}" if choice.description else ""
                self._say(f"      {place} {one_line(choice.label)}{more}")
        form = " ".join(f"{n}=…" for n in range(1, len(decision.questions) + 1)) if len(decision.questions) > 1 else "1"
        self._say(f"  answer with: answer {decision.id} {form}")

    def answered(self, at: Millis, decision: DecisionView) -> None:
        self._say(f"question {decision.id}: {one_line(wording.decision_state(decision))}")

    def ruled(self, at: Millis, decision: DecisionView) -> None:
        self._say(f"not asked ({one_line(decision.subject, 120)}): {one_line(wording.answered(decision))}")

    def queued(self, at: Millis, session: SessionView) -> None:
        if not session.queued:
            self._say("nothing waits in line")
        for waiting in session.queued:
            self._say(f"waits in line {waiting.id}: {one_line(waiting.text)}")
        if session.queue_held and session.queued:
            self._say("it waits for you after the interrupt: queue go sends it")

    def refused(self, at: Millis, refusal: Refusal) -> None:
        self._say(f"refused: {wording.sentence(refusal)}")

    def note(self, at: Millis, sentence: str) -> None:
        self._say(sentence)

    def ending(self, at: Millis, reason: str, step: str, ms: int) -> None:
        self._say(f"ending: {wording.stop_step(step)}, {wording.seconds(ms)}")

    def receipt(self, at: Millis, receipt: Receipt) -> None:
        self._say("stop report")
        for said in wording.receipt_lines(receipt):
            self._say(f"  {one_line(said, 400)}")

    def check(self, at: Millis, check: CheckView) -> None:
        self._say(f"check {one_line(check_line(check), 1000)}")

    def left(self, at: Millis, until: Millis) -> None:
        """Said on the way out, with all else that stays held."""

    def ended(self, at: Millis, session: SessionView, code: int) -> None:
        self._say(f"run {session.run} {one_line(end_sentence(session))}, {standing.spent(session)} spent")

    def _say(self, text: str) -> None:
        told(self._of + text)


class JsonOutput:
    """For a program. Nothing is cut and nothing is made literal but by JSON's own escapes."""

    def __init__(self, run: int) -> None:
        self._run = run

    def started(self, at: Millis, session: SessionView, sentence: str) -> None:
        self._tell("started", at, terms=sentence, title=session.title, agent=session.agent, tree=session.tree)

    def turn(self, at: Millis, session: SessionView, turn: TurnView) -> None:
        self._tell(
            "turn",
            at,
            n=turn.n,
            state=turn.state.value,
            source=turn.source.value,
            result=turn.result,
            failure=turn.failure,
            cost_micro_usd=turn.cost,
            cost_known=turn.cost_known,
            spent_micro_usd=session.budget.spent,
            text=turn.text,
        )

    def event(self, event: FeedEvent) -> None:
        match event.event:
            case base.TextBlock() as block:
                self._tell("text", event.at, text=block.text, parent=block.parent)
            case base.ToolStarted() as tool:
                fields = {"call": tool.call, "name": tool.name, "title": tool.title, "output": None}
                self._tell("tool", event.at, phase="started", **fields)
            case base.ToolFinished() as tool:
                fields = {"call": tool.call, "name": None, "title": None, "output": tool.output}
                self._tell("tool", event.at, phase="done" if tool.ok else "failed", **fields)
            case other:
                lines = event_text.lines_of(other)
                if lines:
                    kind, _ = eventcodec.encode(other, str)
                    self._tell("agent", event.at, kind=kind, lines=lines)

    def decision(self, at: Millis, decision: DecisionView) -> None:
        self._tell(
            "decision",
            at,
            id=decision.id,
            kind=decision.kind.value,
            title=decision.title,
            subject=decision.subject,
            why=decision.why,
            tool=decision.tool,
            options={str(number): option for number, option in answers.options(asked_of(decision)).items()},
            questions=msgspec.to_builtins(decision.questions),
        )

    def answered(self, at: Millis, decision: DecisionView) -> None:
        self._tell(
            "answered",
            at,
            id=decision.id,
            state=decision.state.value,
            by=decision.answered_by,
            answer=decision.answer,
            note=decision.note,
        )

    def ruled(self, at: Millis, decision: DecisionView) -> None:
        self._tell(
            "ruled",
            at,
            id=decision.id,
            kind=decision.kind.value,
            title=decision.title,
            subject=decision.subject,
            by=decision.answered_by,
            answer=decision.answer,
        )

    def queued(self, at: Millis, session: SessionView) -> None:
        waiting = [{"id": one.id, "text": one.text} for one in session.queued]
        self._tell("queued", at, waiting=waiting, held=session.queue_held)

    def refused(self, at: Millis, refusal: Refusal) -> None:
        sentence = wording.sentence(refusal)
        self._tell("refused", at, reason=refusal.reason.value, sentence=sentence, facts=dict(refusal.facts))

    def note(self, at: Millis, sentence: str) -> None:
        self._tell("note", at, sentence=sentence)

    def ending(self, at: Millis, reason: str, step: str, ms: int) -> None:
        self._tell("ending", at, reason=reason, step=step, ms=ms)

    def receipt(self, at: Millis, receipt: Receipt) -> None:
        self._tell("receipt", at, receipt=msgspec.to_builtins(receipt))

    def check(self, at: Millis, check: CheckView) -> None:
        self._tell("check", at, command=check.command, state=check.state, detail=check.detail)

    def left(self, at: Millis, until: Millis) -> None:
        self._tell("left", at, until=until)

    def ended(self, at: Millis, session: SessionView, code: int) -> None:
        self._tell(
            "ended",
            at,
            outcome=session.outcome,
            reason=session.reason,
            sentence=end_sentence(session),
            spent_micro_usd=session.budget.spent,
            exit=code,
        )

    def _tell(self, event: str, at: Millis, **fields: Any) -> None:
        json_line({"event": event, "at": at, "run": self._run, **fields})


WORTH_TELLING = frozenset(DecisionState) - {DecisionState.OPEN, DecisionState.DELIVERING}
"""States of a decision whose coming is told; between answered and received there is nothing for a person."""
