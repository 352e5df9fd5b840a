"""The transactions in which a *no* can be said: admission, the final proof, the recording of a turn.

Each function is one transaction's whole body: it looks, in a fixed order, and either writes all or returns a
``Refusal`` (and the transaction rolls back). The order is the design's; what each check found goes along as facts. No
I/O but the ledger.
"""

import hmac
from collections.abc import Callable, Mapping
from hashlib import sha256

from msgspec import Struct, field
from msgspec.structs import replace

from coordinator import images, terms as terms_, worktime
from coordinator.account import GO_ON
from coordinator.constants import REPAIRS_IN_A_ROW, TURN_BYTES
from coordinator.drivers.base import Image
from coordinator.inputs import Extended
from coordinator.terms import Terms
from store import (
    attachments,
    attempts,
    authorizations,
    continued,
    custody,
    decisions,
    queued,
    runs,
    settings,
    stops,
    turns,
)
from store.db import Tx
from store.refusal import Fact, Refusal
from store.vocab import (
    AuthorizationId,
    AuthorizationState,
    Billing,
    CustodyId,
    CustodyState,
    DecisionId,
    DecisionKind,
    DecisionState,
    IncarnationId,
    MicroUsd,
    Millis,
    OperationId,
    RefusalReason,
    RunId,
    SeriesId,
    TaskId,
    TurnId,
    TurnSource,
    TurnState,
)

ADMISSION = "admission"
"""Setting: ``shut`` while a stop-all is in force; with an incarnation behind a dot, while that console shuts down."""


SHUT_BY = "shut by "
"""A stop-all names who shut it, so that a console that dies in the middle of one does not shut the ledger for ever."""


def admission_shut(tx: Tx, incarnation: str) -> bool:
    everywhere, here = settings.get(tx, ADMISSION), settings.get(tx, f"{ADMISSION}.{incarnation}")
    return here == "shut" or (everywhere or "").startswith("shut")


def open_if_gone(tx: Tx, gone: Callable[[IncarnationId], bool]) -> None:
    """Open admission again where the console that shut it is gone."""
    value = settings.get(tx, ADMISSION) or ""
    if value.startswith(SHUT_BY) and gone(IncarnationId(value.removeprefix(SHUT_BY))):
        settings.put(tx, ADMISSION, "open")


def keyed_digest(key: str, data: bytes) -> str:
    """Digest of bytes sent: equal bytes show as equal to the ledger's owner and tell nothing to another reader."""
    return hmac.new(key.encode(), data, sha256).hexdigest()


class Pool(Struct, frozen=True, kw_only=True):
    """Money for a day and for a month; None: no limit."""

    day: MicroUsd | None = None
    month: MicroUsd | None = None


class Pools(Pool, frozen=True, kw_only=True):
    """Money for all runs together that pay by the token, and for those of one agent."""

    day_began: Millis = Millis(0)
    month_began: Millis = Millis(0)
    agents: Mapping[str, Pool] = field(default_factory=dict)
    """By the profile's name."""


def pool_refused(tx: Tx, pools: Pools, *, agent: str, wanted: MicroUsd = MicroUsd(0)) -> Refusal | None:
    """Whether a pool is dry: that of all, else that of the agent. What open holds may still spend is reserved when
    more is ``wanted``."""
    for name, pool in ((None, pools), (agent, pools.agents.get(agent, Pool()))):
        for period, limit, began in (("day", pool.day, pools.day_began), ("month", pool.month, pools.month_began)):
            if limit is None:
                continue
            spent = turns.spent_since(tx, since=began, agent=name)
            reserved = _reserved(tx, name) if wanted else 0
            if spent + reserved + wanted > limit or spent >= limit:
                facts: dict[str, Fact] = {"period": period, "agent": name, "spent": spent, "limit": limit}
                asked: dict[str, Fact] = {"reserved": reserved, "wanted": wanted} if wanted else {}
                return Refusal(RefusalReason.POOL_EXHAUSTED, facts | asked)
    return None


def _reserved(tx: Tx, agent: str | None) -> int:
    """What runs that are held now may still spend: those of one agent, or all."""
    total = 0
    for run in runs.listing(tx, live_only=True, limit=1_000):
        if agent is not None and run.agent != agent:
            continue
        signed = authorizations.get(tx, AuthorizationId(run.authorization_id))
        terms = terms_.parse(signed.terms) if signed is not None else None
        if signed is None or not isinstance(terms, Terms) or terms.billing is not Billing.KEY:
            continue
        budget = effective_limits(tx, signed, terms).budget
        total += max(0, (budget or 0) - turns.spend(tx, run.id).money)
    return total


class Claim(Struct, frozen=True, kw_only=True):
    """A task that this console has claimed, for the one attempt that is begun under it."""

    task: TaskId
    token: str
    series: SeriesId
    operation: OperationId


class Admission(Struct, frozen=True, kw_only=True):
    """What one console admits with."""

    incarnation: IncarnationId
    operator: str
    max_held_sessions: int
    pools: "Pools"
    claim: Claim | None = None
    """The run is an attempt at a task."""


def admit(tx: Tx, given: Admission, *, terms: Terms, authorization: AuthorizationId, title: str) -> runs.Run | Refusal:
    """Sign and bind in one: a full machine costs no signature."""
    if admission_shut(tx, given.incarnation):
        return Refusal(RefusalReason.SHUTTING_DOWN)
    held = runs.live_count(tx)
    if held >= given.max_held_sessions:
        return Refusal(RefusalReason.SESSION_CAP, {"held": held, "limit": given.max_held_sessions})
    if terms.billing is Billing.KEY:
        dry = pool_refused(tx, given.pools, agent=terms.agent, wanted=terms.budget or MicroUsd(0))
        if dry is not None:
            return dry
    before = None if terms.continues is None else goes_on_from(tx, terms.continues)
    if isinstance(before, Refusal):
        return before
    shared = terms.repository if terms.tree_kind is terms_.TreeKind.IN_PLACE else terms.tree
    for other in custody.not_closed(tx):
        if other.in_place and other.tree == shared:
            return Refusal(RefusalReason.TREE_HELD, {"run": other.run, "tree": other.tree})
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
        title=title or (before.title if before is not None else ""),
        agent=terms.agent,
        driver=terms.driver,
        billing=terms.billing,
        repository=terms.repository,
        tree=terms.repository,
        branch=terms.branch,
        authorization_id=authorization,
        incarnation=given.incarnation,
        operator=given.operator,
        continues=terms.continues,
    )
    if authorizations.bind(tx, id=authorization, run=run.id) is None:
        return Refusal(RefusalReason.AUTHORIZATION_SPENT)
    if (claim := given.claim) is not None:
        made = attempts.add(
            tx, run=run.id, task=claim.task, series=claim.series, operation=claim.operation, token=claim.token
        )
        if isinstance(made, Refusal):
            return made
    return run


def goes_on_from(tx: Tx, run: RunId) -> runs.Run | Refusal:
    """The run that another one would go on from: over, and nothing of it left to be ended."""
    before = runs.get(tx, run)
    if before is None:
        return Refusal(RefusalReason.NO_SUCH_RUN, {"run": run})
    held = custody.of_run(tx, run)
    if before.outcome is None:
        return Refusal(RefusalReason.STILL_HELD, {"run": run})
    if held is not None and held.state is not CustodyState.CLOSED:
        return Refusal(RefusalReason.FENCING, {"run": run, "state": held.state})
    return before


class Proof(Struct, frozen=True, kw_only=True):
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


class NewTurn(Struct, frozen=True, kw_only=True):
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
    images: tuple[Image, ...] = ()
    """Those that are in ``sent``. Of a queued turn the ledger has them."""


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
    # The runner is a field of the terms like any other, but has a *no* of its own, after all the rest.
    moved = terms_.first_difference(terms, replace(proof.actual, machine=terms.machine, uid=terms.uid))
    if moved is not None:
        return moved
    if (terms.machine, terms.uid) != (proof.actual.machine, proof.actual.uid):
        return Refusal(
            RefusalReason.WRONG_RUNNER,
            {"was": f"{terms.machine} {terms.uid}", "is": f"{proof.actual.machine} {proof.actual.uid}"},
        )
    held = [c for c in custody.not_closed(tx) if c.run != proof.run]
    if len(held) >= proof.max_held_sessions:
        return Refusal(RefusalReason.SESSION_CAP, {"held": len(held), "limit": proof.max_held_sessions})
    before = custody.of_run(tx, proof.run)
    proposed = custody.propose(
        tx,
        id=proof.custody,
        run=proof.run,
        incarnation=proof.incarnation,
        tree=proof.tree,
        # A tree that was there before has one hold at a time, whoever made it.
        in_place=terms.tree_kind is terms_.TreeKind.IN_PLACE or bool(terms.tree),
        nonce=proof.nonce,
        native_id=proof.native_id,
    )
    if isinstance(proposed, Refusal):
        return proposed
    if before is not None:
        # Signed terms start one hold: what was fenced once is not begun again under them.
        return Refusal(RefusalReason.FENCED, {"custody": before.id, "reason": before.fence_reason})
    brief = record_turn(tx, proof.run, proof.brief, digest_key=digest_key)
    if isinstance(brief, Refusal):
        return brief
    runs.set_step(tx, id=proof.run, step="proven")
    return proposed


def record_turn(
    tx: Tx,
    run: RunId,
    turn: NewTurn,
    *,
    digest_key: str,
    paused: bool = False,
    pools: Pools | None = None,
    incarnation: IncarnationId | None = None,
) -> turns.Turn | Refusal:
    """A turn, before a byte of it goes: checks in the design's order, then the row."""
    refusal = turn_refused(tx, run, turn, paused=paused, pools=pools, incarnation=incarnation)
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
    if turn.queued is None:
        attachments.add(tx, run=run, turn=turn.id, images=images.to_keep(turn.images))
    elif queued.recorded(tx, id=turn.queued, turn=turn.id) is None:
        return Refusal(RefusalReason.STALE, {"what": "queued turn"})
    else:
        attachments.recorded(tx, queued=turn.queued, turn=turn.id)
    for decision in turn.decisions:
        if decisions.deliver(tx, id=DecisionId(decision), write_id=turn.id) is None:
            return Refusal(RefusalReason.ALREADY_DELIVERED, {"decision": decision})
    return recorded


def turn_refused(
    tx: Tx,
    run: RunId,
    turn: NewTurn,
    *,
    paused: bool = False,
    pools: Pools | None = None,
    incarnation: IncarnationId | None = None,
) -> Refusal | None:
    """Why this turn may not be recorded now, or None. The key that is off asks here too."""
    row = runs.get(tx, run)
    held = custody.of_run(tx, run)
    brief = turn.source is TurnSource.BRIEF
    if row is None:
        return Refusal(RefusalReason.NO_SUCH_RUN, {"run": run})
    if held is None or row.outcome is not None or held.state is CustodyState.CLOSED:
        return Refusal(RefusalReason.NO_HELD_SESSION, {"run": run})
    if held.state is not (CustodyState.PROPOSED if brief else CustodyState.OPEN):
        return Refusal(RefusalReason.FENCING, {"state": held.state})
    if not brief and admission_shut(tx, held.incarnation):
        return Refusal(RefusalReason.SHUTTING_DOWN)
    if incarnation is not None and held.incarnation != incarnation:
        return Refusal(RefusalReason.SUPERSEDED, {"owner": held.incarnation})
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
        facts: dict[str, Fact] = {"budget": "money", "spent": spend.money, "limit": limits.budget}
        return Refusal(RefusalReason.BUDGET_EXHAUSTED, facts)
    if limits.working_ms is not None:
        worked = worktime.worked_ms(turns.of_run(tx, run), decisions.of_run(tx, run), tx.now)
        if worked >= limits.working_ms:
            facts = {"budget": "working-time", "worked_ms": worked, "limit_ms": limits.working_ms}
            return Refusal(RefusalReason.BUDGET_EXHAUSTED, facts)
    if pools is not None and terms.billing is Billing.KEY:
        dry = pool_refused(tx, pools, agent=terms.agent)
        if dry is not None:
            return dry
    for decision in turn.decisions:
        riding = decisions.get(tx, DecisionId(decision))
        if riding is None or riding.state not in (DecisionState.ANSWERED, DecisionState.UNDELIVERED):
            return Refusal(RefusalReason.ALREADY_DELIVERED, {"decision": decision})
    if brief and terms.unsent and terms.continues is not None:
        waiting = continued.unsent(tx, terms.continues, but=GO_ON)
        if len(waiting) < terms.unsent:
            # Another run has taken some of them up since these terms were shown.
            return Refusal(RefusalReason.ALREADY_DELIVERED, {"run": terms.continues})
    if turn.source is TurnSource.REPAIR and _repairs_in_a_row(tx, run) >= REPAIRS_IN_A_ROW:
        return Refusal(RefusalReason.REPAIR_EXHAUSTED, {"limit": REPAIRS_IN_A_ROW})
    if not turn.sent.strip() or not turn.text.strip():
        return Refusal(RefusalReason.EMPTY_TURN)
    if (length := len(turn.text.encode("utf-8", "replace"))) > TURN_BYTES:
        return Refusal(RefusalReason.TURN_TOO_LARGE, {"bytes": length, "limit": TURN_BYTES})
    return images.refused(turn.images)


def _repairs_in_a_row(tx: Tx, run: RunId) -> int:
    """How many of the newest turns asked for the same thing again. Any other turn of ours between them ends the row."""
    count = 0
    for turn in reversed(turns.of_run(tx, run)):
        if turn.source is TurnSource.AGENT or turn.state is TurnState.CANCELLED:
            continue
        if turn.source is not TurnSource.REPAIR:
            break
        count += 1
    return count


class EffectiveLimits(Struct, frozen=True, kw_only=True):
    budget: MicroUsd | None
    max_turns: int
    expires_at: int
    working_seconds: int | None

    @property
    def working_ms(self) -> int | None:
        return None if self.working_seconds is None else self.working_seconds * 1000

    def extended(self) -> Extended:
        """What the machine is told of them after an amendment."""
        return Extended(budget=self.budget, max_turns=self.max_turns, working_ms=self.working_ms)


def _expiry(tx: Tx, signed: authorizations.Authorization) -> int:
    ends = [a.expires_at for a in authorizations.amendments(tx, signed.id) if a.expires_at is not None]
    return max([signed.expires_at, *ends])


def effective_limits(tx: Tx, signed: authorizations.Authorization, terms: Terms) -> EffectiveLimits:
    """The signed terms with every signed amendment added."""
    budget, max_turns, work = terms.budget, terms.max_turns, terms.working_seconds
    for amendment in authorizations.amendments(tx, signed.id):
        if amendment.money is not None and budget is not None:
            budget = MicroUsd(budget + amendment.money)
        max_turns += amendment.turns or 0
        if work is not None:
            work += amendment.working_seconds or 0
    return EffectiveLimits(budget=budget, max_turns=max_turns, expires_at=_expiry(tx, signed), working_seconds=work)
