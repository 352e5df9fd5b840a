"""Carries the machine's *book* effects into the ledger. One call, inside the transaction that holds the batch's
events."""

from coordinator import answerbook, decisioncodec
from coordinator.drivers import base
from coordinator.machine import (
    Book,
    BookAccepted,
    BookAgentTurn,
    BookAttention,
    BookDecision,
    BookLearned,
    BookReady,
    BookResolved,
    BookRuled,
    BookSettled,
    BookWithdrawn,
)
from coordinator.redaction import Redactor
from coordinator.settling import CONVERSATION
from store import attention, control_writes, custody, decisions, runs, turns
from store.db import Tx
from store.refusal import Refusal
from store.vocab import (
    AttentionKind,
    ControlWriteState,
    CustodyId,
    DecisionKind,
    DecisionState,
    EndReason,
    RefusalReason,
    RunId,
    TurnId,
    TurnSource,
    TurnState,
)

CONVERSATION_OF = f"{EndReason.PROTOCOL_ERROR}:conversation-of-"
"""The reason, with the number of the run whose conversation it is."""


class Books:
    """The ledger's side of one run, generation by generation."""

    def __init__(self, *, run: RunId, custody: CustodyId, redactor: Redactor) -> None:
        self._run = run
        self._custody = custody
        self._redactor = redactor

    def enter(self, tx: Tx, book: Book, *, generation: int) -> None:
        match book:
            case BookReady():
                said = book.event
                runs.learn(tx, id=self._run, native_id=self._own(tx, said.native_id), model=said.model, mode=said.mode)
            case BookLearned():
                mine = self._own(tx, book.native_id)
                runs.learn(tx, id=self._run, native_id=mine, model=book.model, mode=book.mode)
            case BookAccepted():
                turns.accepted(tx, id=book.turn)
                self._rode_in(tx, book.turn)
            case BookAgentTurn():
                turns.record(
                    tx,
                    id=book.turn,
                    run=self._run,
                    source=TurnSource.AGENT,
                    generation=generation,
                    text=book.why,
                    preamble="",
                    bytes=0,
                    digest="",
                    operator="",
                    state=TurnState.ACCEPTED,
                )
            case BookSettled():
                self._settled(tx, book)
            case BookDecision():
                self._asked(tx, book, generation)
            case BookRuled():
                self._ruled(tx, book, generation)
            case BookWithdrawn():
                self._withdrawn(tx, book, generation)
            case BookResolved():
                self._resolved(tx, book.event, generation)
            case BookAttention():
                if book.raised:
                    attention.raise_(
                        tx, run=self._run, kind=book.kind, key=book.key, text=self._redactor.text(book.text)
                    )
                else:
                    attention.clear(tx, run=self._run, kind=book.kind, key=book.key, by="footplate")

    def _own(self, tx: Tx, native_id: str | None) -> str | None:
        """The conversation that the agent says it is in; None: it says none, or one that another run holds.

        Two holds never drive one conversation. Its own custody is fenced with the very batch that says so: a console
        that dies here leaves the reason behind, for the one that comes after it.
        """
        if native_id is None:
            return None
        taken = custody.set_native(tx, id=self._custody, native_id=native_id)
        if not isinstance(taken, Refusal) or taken.reason is not RefusalReason.ALREADY_HELD:
            return native_id
        other = taken.facts["run"]
        text = f"run {self._run} went over into the conversation that run {other} holds, and is ended for it"
        custody.fence(tx, id=self._custody, reason=f"{CONVERSATION_OF}{other}")
        attention.raise_(tx, run=self._run, kind=AttentionKind.PAGE, key=CONVERSATION, text=text)
        return None

    def _rode_in(self, tx: Tx, turn: TurnId) -> None:
        """Answers that a turn carried have arrived when the agent began it."""
        for decision in decisions.by_write(tx, self._run, turn):
            if decision.state is DecisionState.DELIVERING:
                decisions.delivered(tx, id=decision.id)

    def _settled(self, tx: Tx, book: BookSettled) -> None:
        result = book.result
        self._rode_in(tx, book.turn)
        turns.settle(
            tx,
            id=book.turn,
            result=result.kind,
            subtype=result.subtype,
            cost=book.cost,
            cost_known=book.known,
            cumulative=result.cumulative,
            input_tokens=result.usage.input_tokens,
            output_tokens=result.usage.output_tokens,
            cache_read_tokens=result.usage.cache_read_tokens,
            cache_write_tokens=result.usage.cache_write_tokens,
            duration_ms=result.duration_ms,
            failure=result.failure,
            failure_text=self._redactor.text(result.failure_text),
        )
        # Requests on the control channel live no longer than the turn in which they were asked.
        for decision in decisions.live(tx, self._run):
            if decision.turn != book.turn:
                continue
            if decision.state is DecisionState.DELIVERING:
                if self._went(tx, decision):
                    decisions.delivered(tx, id=decision.id)
            elif decision.state in (DecisionState.OPEN, DecisionState.ANSWERED) and decision.kind != "park":
                decisions.withdraw(tx, id=decision.id, note="its turn ended")
            self._clear(tx, decision.id)

    def _asked(self, tx: Tx, book: BookDecision, generation: int) -> None:
        event = book.event
        decision = decisions.ask(
            tx,
            run=self._run,
            turn=book.turn,
            kind=event.kind,
            request=event.request,
            generation=generation,
            payload=decisioncodec.payload(event, self._redactor.text),
            title=self._redactor.text(event.title),
            subject=self._redactor.text(event.subject),
        )
        if decision.state is DecisionState.OPEN and book.ruling is None:
            attention.raise_(tx, run=self._run, kind=AttentionKind.DECISION, key=str(decision.id), text=decision.title)

    def _ruled(self, tx: Tx, book: BookRuled, generation: int) -> None:
        """Answered as it is asked, in one transaction: no console ever sees it open, not even the next one."""
        asked = self._request(tx, book.request, generation)
        if asked is None or asked.state is not DecisionState.OPEN:
            return
        answered = answerbook.given(
            tx, asked, answer=book.answer, by=book.by, revision=asked.revision, payload_hash=asked.payload_hash
        )
        if not isinstance(answered, Refusal):
            answerbook.on_its_way(tx, answered, generation=generation, length=book.length, digest=book.digest)

    def _request(self, tx: Tx, request: str, generation: int) -> decisions.Decision | None:
        """One of the control channel. A park is the mailbox's, and no line of an agent takes it back or answers it."""
        found = decisions.by_request(tx, self._run, request, generation)
        return found if found is not None and found.kind is not DecisionKind.PARK else None

    def _withdrawn(self, tx: Tx, book: BookWithdrawn, generation: int) -> None:
        decision = self._request(tx, book.request, generation)
        if decision is None:
            return
        if decision.state in (DecisionState.OPEN, DecisionState.ANSWERED):
            decisions.withdraw(tx, id=decision.id, note=book.why or "no longer asked")
        elif decision.state is DecisionState.DELIVERING:
            decisions.uncertain(tx, id=decision.id)
        self._clear(tx, decision.id)

    def _resolved(self, tx: Tx, event: base.DecisionResolved, generation: int) -> None:
        decision = self._request(tx, event.request, generation)
        if decision is None:
            return
        if decision.state in (DecisionState.DELIVERING, DecisionState.UNCERTAIN) and self._went(tx, decision):
            decisions.delivered(tx, id=decision.id)
            if not event.accepted:
                decisions.refused_by_agent(tx, id=decision.id, note=self._redactor.text(event.detail)[:500])
        elif decision.state is DecisionState.DELIVERED and not event.accepted:
            # The agent took the bytes first, and said later what became of them.
            decisions.refused_by_agent(tx, id=decision.id, note=self._redactor.text(event.detail)[:500])
        elif decision.state is DecisionState.OPEN:
            decisions.withdraw(tx, id=decision.id, note=self._redactor.text(event.detail)[:500] or "no longer asked")
        self._clear(tx, decision.id)

    def _went(self, tx: Tx, decision: decisions.Decision) -> bool:
        """Whether our answer was on the agent's wire: else what it heard was a farewell's *no*, or its own end."""
        write = control_writes.get(tx, self._run, decision.write_id or "")
        return write is None or write.state in (ControlWriteState.WRITING, ControlWriteState.WROTE)

    def _clear(self, tx: Tx, decision: int) -> None:
        attention.clear(tx, run=self._run, kind=AttentionKind.DECISION, key=str(decision), by="footplate")
