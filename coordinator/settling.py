"""The transactions that end something in the books: a hold, a run that never came to one, a turn that was never sent.

Each function is one transaction's whole body, or a piece of one; what may begin is decided in ``recording.py``. No I/O
but the ledger.
"""

from collections.abc import Sequence

from msgspec import Struct

from coordinator.custody.types import WriteProof
from store import attention, authorizations, custody, decisions, outcomes, queued, receipts, runs, stops, turns
from store.db import Tx
from store.refusal import Refusal
from store.vocab import (
    AttentionKind,
    AuthorizationId,
    CostKnowledge,
    CustodyId,
    CustodyState,
    DecisionKind,
    DecisionState,
    EndReason,
    MicroUsd,
    Millis,
    RefusalReason,
    RunId,
    RunOutcome,
    StopResult,
    TurnId,
    TurnState,
)


class Ending(Struct, frozen=True, kw_only=True):
    """How a hold ended, as its actor and its spool tell."""

    run: RunId
    custody: CustodyId
    generation: int
    outcome: RunOutcome
    reason: str
    detail: str
    proofs: Sequence[tuple[str, WriteProof]]
    """What the spool proves of each turn that was in flight and of each answer on its way, by the write's id."""
    guess: MicroUsd
    receipt: str
    """Canonical JSON; '' where no process was ever started."""
    remaining: int
    stop_result: StopResult
    reports_cost: bool = True
    cut_off_at: Millis | None = None
    """When the agent was gone, as its keeper tells; None: just now."""


def close_hold(tx: Tx, ending: Ending) -> runs.Run | Refusal:
    """The one transaction that ends a run, after its processes were seen gone."""
    _settle_turns(tx, ending)
    _take_back_unsent(tx, ending)
    decisions.end_of_hold(tx, ending.run)
    queued.unsent_all(tx, ending.run)
    if ending.receipt:
        receipts.add(
            tx,
            custody=ending.custody,
            generation=ending.generation,
            run=ending.run,
            body=ending.receipt,
            remaining=ending.remaining,
        )
    if stops.open_of(tx, ending.run) is not None:
        stops.settle(tx, run=ending.run, result=ending.stop_result)
    row = runs.get(tx, ending.run)
    if row is not None:
        authorizations.close(tx, id=AuthorizationId(row.authorization_id), reason=ending.reason)
    _clear_attention(tx, ending.run, stuck=bool(ending.remaining))
    ended = runs.end(tx, id=ending.run, outcome=ending.outcome, reason=ending.reason, detail=ending.detail)
    held = custody.get(tx, ending.custody)
    if held is not None and held.state not in (CustodyState.CONCLUDING, CustodyState.CLOSED):
        custody.fence(tx, id=ending.custody, reason=ending.reason)
    if not ending.remaining:
        custody.move(
            tx,
            id=ending.custody,
            expect=[CustodyState.CONCLUDING, CustodyState.FENCING],
            to=CustodyState.CLOSED,
        )
    if ended is not None:
        _tell_of_a_crash(tx, ended)
        outcomes.pending(tx, run=ended.id)
        return ended
    # A run whose processes would not die has its outcome already; when they are gone at last, its hold still closes.
    if row is None or held is None or held.state is CustodyState.CLOSED:
        return Refusal(RefusalReason.ALREADY_ENDED, {"run": ending.run})
    return row


def not_sent(tx: Tx, turn: TurnId) -> turns.Turn | None:
    """A turn of which no byte went, and never will: the answers that rode in it wait again."""
    cancelled = turns.cancel(tx, id=turn)
    if cancelled is not None:
        for decision in decisions.by_write(tx, cancelled.run, turn):
            decisions.undeliver(tx, id=decision.id)
    return cancelled


def _take_back_unsent(tx: Tx, ending: Ending) -> None:
    # An answer that provably never left is not uncertain: it may ride a later brief.
    proofs = dict(ending.proofs)
    for decision in decisions.live(tx, ending.run):
        never = proofs.get(decision.write_id or "") in (WriteProof.NEVER, WriteProof.CANCELLED)
        if decision.state is DecisionState.DELIVERING and never:
            decisions.undeliver(tx, id=decision.id)


def _clear_attention(tx: Tx, run: RunId, *, stuck: bool = False) -> None:
    if stuck and attention.told(tx, run=run, kind=AttentionKind.PAGE, key="remaining") is not None:
        return  # all else was cleared when that was told
    # A park outlives its hold, and so does what it did to another one; all else that waited for the operator is over.
    parked = {str(d.id) for d in decisions.live(tx, run) if d.kind is DecisionKind.PARK}
    for item in attention.open_items(tx):
        park = item.kind is AttentionKind.DECISION and item.key in parked
        if item.run == run and not park and item.key != CONVERSATION and item.kind is not AttentionKind.CRASHED:
            attention.clear(tx, run=run, kind=item.kind, key=item.key, by="ended")


CONVERSATION = "conversation"
"""Key of the page about a run that went over into another one's conversation: that one is looked at too."""

UNEXPECTED = frozenset(
    {
        EndReason.EXITED,
        EndReason.WRITE_FAILED,
        EndReason.TELEMETRY,
        EndReason.MALFORMED_DECISION,
        EndReason.PROTOCOL_ERROR,
        EndReason.OUTPUT_FLOOD,
        EndReason.CONSOLE_LOST,
        EndReason.SUPERVISOR_LOST,
        EndReason.ORPHANED,
        EndReason.STORAGE,
    }
)
"""Ends that nobody ordered and no terms foresaw: each stays in the queue until somebody has seen it."""
CRASH = "end"
"""Its key: a run ends once."""


def _tell_of_a_crash(tx: Tx, run: runs.Run) -> None:
    name, _, how = (run.reason or "").partition(":")
    if name not in UNEXPECTED:
        return
    text = f"ended by itself ({how})" if name == EndReason.EXITED and how else "broke off"
    attention.raise_(tx, run=run.id, kind=AttentionKind.CRASHED, key=CRASH, text=text)


def _settle_turns(tx: Tx, ending: Ending) -> None:
    proofs = dict(ending.proofs)
    for turn in turns.in_flight(tx, ending.run):
        never = proofs.get(turn.id) in (WriteProof.NEVER, WriteProof.CANCELLED)
        then = _as_of(tx, ending.cut_off_at, turn)
        if turn.state is TurnState.RECORDED and never:
            not_sent(tx, turn.id)
        elif ending.reports_cost:
            turns.uncertain(then, id=turn.id, cost=ending.guess, cost_known=CostKnowledge.GUESS)
        else:
            turns.uncertain(then, id=turn.id, cost=None, cost_known=CostKnowledge.UNKNOWN)


def _as_of(tx: Tx, at: Millis | None, turn: turns.Turn) -> Tx:
    """A turn that was cut off while no console was there has not worked until one came. Nor did it end before it began,
    whatever the clocks did meanwhile."""
    if at is None:
        return tx
    began = max(turn.recorded_at, turn.written_at or 0, turn.accepted_at or 0)
    return Tx(tx.conn, Millis(min(tx.now, max(at, began))))


def refuse_run(tx: Tx, run: RunId, refusal: Refusal, detail: str) -> runs.Run | Refusal:
    """A run that was admitted and then refused: whole, in one transaction of its own, after the refusal's rollback."""
    row = runs.get(tx, run)
    if row is None:
        return Refusal(RefusalReason.NO_SUCH_RUN, {"run": run})
    authorizations.close(tx, id=AuthorizationId(row.authorization_id), reason=f"refused:{refusal.reason}")
    if stops.open_of(tx, run) is not None:
        stops.settle(tx, run=run, result=StopResult.NEVER_STARTED)
    _clear_attention(tx, run)
    ended = runs.end(tx, id=run, outcome=RunOutcome.REFUSED, reason=str(refusal.reason), detail=detail)
    if ended is None:
        return Refusal(RefusalReason.ALREADY_ENDED, {"run": run})
    outcomes.pending(tx, run=run)
    return ended
