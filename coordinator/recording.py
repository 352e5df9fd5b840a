"""The transactions in which a *no* can be said: admission, the final proof, the recording of a turn, the closing of a
hold.

Each function is one transaction's whole body: it looks, in a fixed order, and either writes all or returns a
``Refusal`` (and the transaction rolls back). The order is the design's; what each check found goes along as facts. No
I/O but the ledger.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from coordinator import terms as terms_
from coordinator.constants import TURN_BYTES
from coordinator.custody.types import WriteProof
from coordinator.terms import Terms
from store import (
    attention,
    authorizations,
    custody,
    decisions,
    queued,
    receipts,
    runs,
    settings,
    stops,
    turns,
)
from store.db import Tx
from store.refusal import Fact, Refusal
from store.vocab import (
    AttentionKind,
    AuthorizationId,
    AuthorizationState,
    Billing,
    CostKnowledge,
    CustodyId,
    CustodyState,
    DecisionId,
    DecisionKind,
    DecisionState,
    IncarnationId,
    MicroUsd,
    Millis,
    RefusalReason,
    RunId,
    RunOutcome,
    StopResult,
    TurnId,
    TurnSource,
    TurnState,
)

ADMISSION = "admission"
"""Setting: ``shut`` while a stop-all is in force; with an incarnation behind a dot, while that console shuts down."""


def admission_shut(tx: Tx, incarnation: str) -> bool:
    return "shut" in (settings.get(tx, ADMISSION), settings.get(tx, f"{ADMISSION}.{incarnation}"))


def keyed_digest(key: str, data: bytes) -> str:
    """Digest of bytes sent: equal bytes show as equal to the ledger's owner and tell nothing to another reader."""
    return hmac.new(key.encode(), data, sha256).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Money for all runs together that pay by the token; None: no limit."""

    day: MicroUsd | None = None
    month: MicroUsd | None = None
    day_began: Millis = Millis(0)
    month_began: Millis = Millis(0)


def pool_refused(tx: Tx, pools: Pools, *, wanted: MicroUsd = MicroUsd(0)) -> Refusal | None:
    """Whether a pool is dry. What open holds may still spend is reserved when more is ``wanted``."""
    for period, limit, began in (("day", pools.day, pools.day_began), ("month", pools.month, pools.month_began)):
        if limit is None:
            continue
        spent = turns.spent_since(tx, since=began)
        reserved = _reserved(tx) if wanted else 0
        if spent + reserved + wanted > limit or spent >= limit:
            facts: dict[str, Fact] = {"period": period, "spent": spent, "reserved": reserved, "limit": limit}
            return Refusal(RefusalReason.POOL_EXHAUSTED, facts)
    return None


def _reserved(tx: Tx) -> int:
    """What runs that are held now may still spend."""
    total = 0
    for run in runs.listing(tx, live_only=True, limit=1_000):
        signed = authorizations.get(tx, AuthorizationId(run.authorization_id))
        terms = terms_.parse(signed.terms) if signed is not None else None
        if signed is None or not isinstance(terms, Terms) or terms.billing is not Billing.KEY:
            continue
        budget = effective_limits(tx, signed, terms).budget
        total += max(0, (budget or 0) - turns.spend(tx, run.id).money)
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What one console admits with."""

    incarnation: IncarnationId
    operator: str
    max_held_sessions: int
    pools: "Pools"


def admit(tx: Tx, given: Admission, *, terms: Terms, authorization: AuthorizationId, title: str) -> runs.Run | Refusal:
    """Sign and bind in one: a full machine costs no signature."""
    if admission_shut(tx, given.incarnation):
        return Refusal(RefusalReason.SHUTTING_DOWN)
    held = runs.live_count(tx)
    if held >= given.max_held_sessions:
        return Refusal(RefusalReason.SESSION_CAP, {"held": held, "limit": given.max_held_sessions})
    if terms.tree_kind is terms_.TreeKind.IN_PLACE:
        for other in custody.not_closed(tx):
            if other.in_place and other.tree == terms.repository:
                return Refusal(RefusalReason.TREE_HELD, {"run": other.run, "tree": other.tree})
    dry = pool_refused(tx, given.pools, wanted=terms.budget or MicroUsd(0)) if terms.billing is Billing.KEY else None
    if dry is not None:
        return dry
    stored = terms_.canonical(terms)
    authorizations.sign(
        tx,
        id=authorization,
        terms=stored,
        digest=terms_.digest_of(stored),
        operator=given.operator,
        expires_at=terms.expires_at,
    )
    run = runs.admit(
        tx,
        title=title,
        agent=terms.agent,
        driver=terms.driver,
        billing=terms.billing,
        repository=terms.repository,
        tree=terms.repository,
        branch=terms.branch,
        authorization_id=authorization,
        incarnation=given.incarnation,
        operator=given.operator,
    )
    if authorizations.bind(tx, id=authorization, run=run.id) is None:
        return Refusal(RefusalReason.AUTHORIZATION_SPENT)
    return run


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What is about to be spawned, as it is in fact."""

    run: RunId
    custody: CustodyId
    incarnation: IncarnationId
    actual: Terms
    """The terms as they would be written from what is found now."""
    tree: str
    nonce: str
    native_id: str | None
    socket_fits: bool
    max_held_sessions: int
    brief: "NewTurn"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    id: TurnId
    source: TurnSource
    text: str
    """Redacted; what the ledger keeps."""
    preamble: str
    sent: bytes
    """What goes to the agent."""
    operator: str
    generation: int = 1
    queued: int | None = None
    decisions: tuple[int, ...] = ()
    """Answers that ride in it."""


def prove(tx: Tx, proof: Proof, *, digest_key: str) -> custody.Custody | Refusal:
    """The final proof: refusals in the design's order, then the custody row and the brief as turn 1."""
    run = runs.get(tx, proof.run)
    if run is None or run.outcome is not None or stops.open_of(tx, proof.run) is not None:
        return Refusal(RefusalReason.STOPPED)
    if admission_shut(tx, proof.incarnation):
        return Refusal(RefusalReason.SHUTTING_DOWN)
    if not proof.socket_fits:
        return Refusal(RefusalReason.SOCKET_PATH)
    signed = authorizations.get(tx, run.authorization_id)
    if signed is None or signed.state is AuthorizationState.CLOSED:
        return Refusal(RefusalReason.AUTHORIZATION_CLOSED, {"reason": signed.close_reason if signed else None})
    if signed.state is not AuthorizationState.BOUND:
        return Refusal(RefusalReason.AUTHORIZATION_UNBOUND)
    if signed.run != proof.run:
        return Refusal(RefusalReason.AUTHORIZATION_SPENT, {"run": signed.run})
    terms = terms_.parse(signed.terms)
    if isinstance(terms, Refusal):
        return terms
    if terms_.digest_of(signed.terms) != signed.digest:
        return Refusal(RefusalReason.TERMS_UNREADABLE, {"problem": "their digest does not match"})
    if (terms.machine, terms.uid) != (proof.actual.machine, proof.actual.uid):
        return Refusal(RefusalReason.WRONG_RUNNER, {"was": terms.machine, "is": proof.actual.machine})
    moved = terms_.first_difference(terms, proof.actual)
    if moved is not None:
        return moved
    held = [c for c in custody.not_closed(tx) if c.run != proof.run]
    if len(held) >= proof.max_held_sessions:
        return Refusal(RefusalReason.SESSION_CAP, {"held": len(held), "limit": proof.max_held_sessions})
    proposed = custody.propose(
        tx,
        id=proof.custody,
        run=proof.run,
        incarnation=proof.incarnation,
        tree=proof.tree,
        in_place=terms.tree_kind is terms_.TreeKind.IN_PLACE,
        nonce=proof.nonce,
        native_id=proof.native_id,
    )
    if isinstance(proposed, Refusal):
        return proposed
    brief = record_turn(tx, proof.run, proof.brief, digest_key=digest_key)
    if isinstance(brief, Refusal):
        return brief
    runs.set_step(tx, id=proof.run, step="proven")
    return proposed


def record_turn(
    tx: Tx, run: RunId, turn: NewTurn, *, digest_key: str, paused: bool = False, pools: Pools | None = None
) -> turns.Turn | Refusal:
    """A turn, before a byte of it goes: checks in the design's order, then the row."""
    refusal = turn_refused(tx, run, turn, paused=paused, pools=pools)
    if refusal is not None:
        return refusal
    recorded = turns.record(
        tx,
        id=turn.id,
        run=run,
        source=turn.source,
        generation=turn.generation,
        text=turn.text,
        preamble=turn.preamble,
        bytes=len(turn.sent),
        digest=keyed_digest(digest_key, turn.sent),
        operator=turn.operator,
    )
    if isinstance(recorded, Refusal):
        return recorded
    if turn.queued is not None:
        queued.recorded(tx, id=turn.queued, turn=turn.id)
    for decision in turn.decisions:
        if decisions.deliver(tx, id=DecisionId(decision), write_id=turn.id) is None:
            return Refusal(RefusalReason.ALREADY_DELIVERED, {"decision": decision})
    return recorded


def turn_refused(
    tx: Tx, run: RunId, turn: NewTurn, *, paused: bool = False, pools: Pools | None = None
) -> Refusal | None:
    """Why this turn may not be recorded now, or None. The key that is off asks here too."""
    row = runs.get(tx, run)
    held = custody.of_run(tx, run)
    brief = turn.source is TurnSource.BRIEF
    if row is None:
        return Refusal(RefusalReason.NO_SUCH_RUN, {"run": run})
    if held is None or row.outcome is not None or held.state is CustodyState.CLOSED:
        return Refusal(RefusalReason.NO_HELD_SESSION, {"run": run})
    if held.state is CustodyState.FENCING or held.state is CustodyState.CONCLUDING:
        return Refusal(RefusalReason.FENCING)
    if not brief and admission_shut(tx, held.incarnation):
        return Refusal(RefusalReason.SHUTTING_DOWN)
    signed = authorizations.get(tx, row.authorization_id)
    if signed is None or signed.state is AuthorizationState.CLOSED:
        return Refusal(RefusalReason.AUTHORIZATION_CLOSED, {"reason": signed.close_reason if signed else None})
    if tx.now >= _expiry(tx, signed):
        return Refusal(RefusalReason.EXPIRED, {"at": _expiry(tx, signed)})
    if paused:
        return Refusal(RefusalReason.PAUSED)
    flying = [t for t in turns.in_flight(tx, run) if t.source is not TurnSource.AGENT]
    if flying:
        return Refusal(RefusalReason.IN_FLIGHT, {"turn": flying[0].n})
    if turn.source is TurnSource.OPERATOR:
        parked = [d for d in decisions.live(tx, run) if d.kind is DecisionKind.PARK and d.state is DecisionState.OPEN]
        if parked:
            return Refusal(RefusalReason.DECISION_OPEN, {"decision": parked[0].id})
    terms = terms_.parse(signed.terms)
    if isinstance(terms, Refusal):
        return terms
    limits = effective_limits(tx, signed, terms)
    spend = turns.spend(tx, run)
    if spend.turns >= limits.max_turns:
        return Refusal(RefusalReason.TURN_CAP, {"turns": spend.turns, "limit": limits.max_turns})
    if limits.budget is not None and spend.money >= limits.budget:
        return Refusal(RefusalReason.BUDGET_EXHAUSTED, {"spent": spend.money, "limit": limits.budget})
    if pools is not None and terms.billing is Billing.KEY:
        dry = pool_refused(tx, pools)
        if dry is not None:
            return dry
    if not turn.sent.strip():
        return Refusal(RefusalReason.EMPTY_TURN)
    if len(turn.sent) > TURN_BYTES * 2 or len(turn.text.encode()) > TURN_BYTES:
        return Refusal(RefusalReason.TURN_TOO_LARGE, {"bytes": len(turn.text.encode()), "limit": TURN_BYTES})
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveLimits:
    budget: MicroUsd | None
    max_turns: int
    expires_at: int


def _expiry(tx: Tx, signed: authorizations.Authorization) -> int:
    ends = [a.expires_at for a in authorizations.amendments(tx, signed.id) if a.expires_at is not None]
    return max([signed.expires_at, *ends])


def effective_limits(tx: Tx, signed: authorizations.Authorization, terms: Terms) -> EffectiveLimits:
    """The signed terms with every signed amendment added."""
    budget, max_turns = terms.budget, terms.max_turns
    for amendment in authorizations.amendments(tx, signed.id):
        if amendment.money is not None and budget is not None:
            budget = MicroUsd(budget + amendment.money)
        max_turns += amendment.turns or 0
    return EffectiveLimits(budget=budget, max_turns=max_turns, expires_at=_expiry(tx, signed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a hold ended, as its actor and its spool tell."""

    run: RunId
    custody: CustodyId
    generation: int
    outcome: RunOutcome
    reason: str
    detail: str
    proofs: Sequence[tuple[TurnId, WriteProof]]
    """What the spool proves of each turn that was in flight."""
    guess: MicroUsd
    receipt: str
    """Canonical JSON; '' where no process was ever started."""
    remaining: int
    stop_result: StopResult
    reports_cost: bool = True


def close_hold(tx: Tx, ending: Ending) -> runs.Run | Refusal:
    """The one transaction that ends a run, after its processes were seen gone."""
    _settle_turns(tx, ending)
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
    _clear_attention(tx, ending.run)
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
    return ended if ended is not None else Refusal(RefusalReason.ALREADY_ENDED, {"run": ending.run})


def _clear_attention(tx: Tx, run: RunId) -> None:
    # A park outlives its hold; all else that waited for the operator is over with it.
    parked = {str(d.id) for d in decisions.live(tx, run) if d.kind is DecisionKind.PARK}
    for item in attention.open_items(tx):
        if item.run == run and not (item.kind is AttentionKind.DECISION and item.key in parked):
            attention.clear(tx, run=run, kind=item.kind, key=item.key, by="ended")


def _settle_turns(tx: Tx, ending: Ending) -> None:
    proofs = dict(ending.proofs)
    for turn in turns.in_flight(tx, ending.run):
        never = proofs.get(turn.id) in (WriteProof.NEVER, WriteProof.CANCELLED)
        if turn.state is TurnState.RECORDED and never:
            turns.cancel(tx, id=turn.id)
        elif ending.reports_cost:
            turns.uncertain(tx, id=turn.id, cost=ending.guess, cost_known=CostKnowledge.GUESS)
        else:
            turns.uncertain(tx, id=turn.id, cost=None, cost_known=CostKnowledge.UNKNOWN)


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
    return ended if ended is not None else Refusal(RefusalReason.ALREADY_ENDED, {"run": run})
