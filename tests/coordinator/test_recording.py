"""Every *no* of admission, final proof and turn, on a real ledger: in the design's order, with its facts, rolled back
whole.

Each reason has a way here to make it true by itself. Two neighbours of the list are then made true at once, and the
first must be the one that is given.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path

import pytest

from coordinator import recording, settling
from coordinator import terms as terms_
from coordinator.constants import TURN_BYTES
from coordinator.custody.types import WriteProof
from coordinator.recording import ADMISSION, SHUT_BY, Admission, NewTurn, Pools, Proof
from coordinator.terms import Terms, TreeKind
from store import (
    attention,
    authorizations,
    custody,
    decisions,
    entries,
    incarnations,
    queued,
    receipts,
    runs,
    settings,
    stops,
    turns,
)
from store.db import Ledger, Tx
from store.refusal import Refusal
from store.verify import verify
from store.vocab import (
    AttentionKind,
    AuthorizationId,
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
    TurnResultKind,
    TurnSource,
    TurnState,
)
from tests.cli.made import made_terms
from tests.store.scenes import NOON, open_ledger, register

HERE, OTHER = IncarnationId("console-1"), IncarnationId("console-2")
HOLD = CustodyId("hold-1")
SIGNED = made_terms(
    tree_kind=TreeKind.IN_PLACE, budget=MicroUsd(1_000), max_turns=5, expires_at=Millis(NOON + 3_600_000)
)
POOLS = Pools(day=MicroUsd(100_000), day_began=NOON)
ADMITTING = Admission(incarnation=HERE, operator="Ada", max_held_sessions=8, pools=POOLS)


@dataclass
class Scene:
    """One admitted run on a ledger of its own, and what is about to be asked of it."""

    ledger: Ledger
    run: RunId
    proof: Proof | None = None
    turn: NewTurn | None = None
    paused: bool = False
    asker: IncarnationId = HERE
    pools: Pools = POOLS
    late: int = 0
    """Milliseconds by which the question comes later than all else."""

    async def do(self, body: Callable[[Tx], object]) -> object:
        return await self.ledger.transaction(body)  # type: ignore[arg-type]

    async def prove(self) -> custody.Custody | Refusal:
        proof = self.proof
        assert proof is not None
        return await self.ledger.transaction(
            lambda tx: recording.prove(Tx(tx.conn, Millis(tx.now + self.late)), proof, digest_key="k")
        )

    async def record(self) -> turns.Turn | Refusal:
        turn = self.turn
        assert turn is not None
        return await self.ledger.transaction(
            lambda tx: recording.record_turn(
                Tx(tx.conn, Millis(tx.now + self.late)),
                self.run,
                turn,
                digest_key="k",
                paused=self.paused,
                pools=self.pools,
                incarnation=self.asker,
            )
        )

    async def facts(self) -> object:
        """All that the ledger holds, to see that nothing of a refused transaction stands."""

        def look(tx: Tx) -> object:
            tables = ("authorizations", "runs", "custody", "turns", "queued_turns", "decisions", "stops", "attention")
            rows = [tx.conn.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall() for name in tables]
            return rows, tx.conn.execute("SELECT count(*), max(hash) FROM entries").fetchall()

        return await self.ledger.read(look)


def turn(source: TurnSource = TurnSource.BRIEF, text: str = "mend the roof", **more: object) -> NewTurn:
    facts = {"id": TurnId("turn-1"), "preamble": "", "sent": text.encode(), "operator": "Ada", **more}
    return NewTurn(source=source, text=text, **facts)  # type: ignore[arg-type]


async def scene(folder: Path, terms: Terms = SIGNED) -> Scene:
    ledger = await open_ledger(folder / "ledger.db")

    def begin(tx: Tx) -> RunId:
        register(tx, HERE)
        register(tx, OTHER)
        run = recording.admit(tx, ADMITTING, terms=terms, authorization=AuthorizationId("terms-1"), title="roof")
        assert not isinstance(run, Refusal), run
        return run.id

    run = await ledger.transaction(begin)
    assert not isinstance(run, Refusal)
    proof = Proof(
        run=run,
        custody=HOLD,
        incarnation=HERE,
        actual=terms,
        tree=terms.repository,
        nonce="n",
        native_id="conversation-1",
        socket_fits=True,
        max_held_sessions=8,
        brief=turn(),
    )
    return Scene(ledger=ledger, run=run, proof=proof)


async def held(folder: Path, terms: Terms = SIGNED) -> Scene:
    """The same, its hold open, its brief settled: a turn of the operator is about to be recorded."""
    made = await scene(folder, terms)
    assert not isinstance(await made.prove(), Refusal)

    def open_(tx: Tx) -> None:
        custody.move(tx, id=HOLD, expect=[CustodyState.PROPOSED], to=CustodyState.OPEN)
        turns.settle(tx, id=TurnId("turn-1"), result=TurnResultKind.SUCCESS, cost=MicroUsd(10))

    await made.do(open_)
    made.turn = turn(TurnSource.OPERATOR, id=TurnId("turn-2"))
    return made


def other_run(tx: Tx, n: int, *, tree: str = "/elsewhere", in_place: bool = False, native: str | None = None) -> None:
    terms = replace(SIGNED, repository=tree, tree_kind=TreeKind.WORKTREE)
    run = recording.admit(tx, ADMITTING, terms=terms, authorization=AuthorizationId(f"other-{n}"), title="other")
    assert not isinstance(run, Refusal), run
    made = custody.propose(
        tx, id=CustodyId(f"other-{n}"), run=run.id, incarnation=HERE, tree=tree, in_place=in_place, nonce="m",
        native_id=native,
    )  # fmt: skip
    assert not isinstance(made, Refusal), made


def sql(statement: str, **values: object) -> Callable[[Scene], Callable[[Tx], object]]:
    """A state that no function of the store leads to: what the check is for."""
    return lambda made: lambda tx: tx.conn.execute(statement, {"run": made.run, **values}) and None


# --------------------------------------------------------------------------------------------------- the final proof

Break = Callable[[Scene], Callable[[Tx], object] | None]


def given(**changes: object) -> Break:
    def change(made: Scene) -> None:
        assert made.proof is not None
        made.proof = replace(made.proof, **changes)  # type: ignore[arg-type]

    return change


def actual(**changes: object) -> Break:
    def change(made: Scene) -> None:
        assert made.proof is not None
        made.proof = replace(made.proof, actual=replace(made.proof.actual, **changes))  # type: ignore[arg-type]

    return change


def full(made: Scene) -> Callable[[Tx], object]:
    assert made.proof is not None
    made.proof = replace(made.proof, max_held_sessions=1)
    return lambda tx: other_run(tx, 1)


def fenced_before(made: Scene) -> Callable[[Tx], object]:
    def fence(tx: Tx) -> None:
        custody.propose(
            tx, id=CustodyId("hold-0"), run=made.run, incarnation=HERE, tree="/t", in_place=False, nonce="m"
        )
        custody.fence(tx, id=CustodyId("hold-0"), reason="stopped")
        custody.move(tx, id=CustodyId("hold-0"), expect=[CustodyState.FENCING], to=CustodyState.CLOSED)

    return fence


UNBIND = "UPDATE authorizations SET state = 'open' WHERE id = 'terms-1'"
SPEND = "UPDATE authorizations SET run = 77 WHERE id = 'terms-1'"
R = RefusalReason
PROOF: dict[RefusalReason, Break] = {
    R.STOPPED: lambda made: lambda tx: stops.ask(tx, run=made.run, reason="stopped", operator="Ada") and None,
    R.SHUTTING_DOWN: lambda made: lambda tx: settings.put(tx, f"{ADMISSION}.{HERE}", "shut") and None,
    R.SOCKET_PATH: given(socket_fits=False),
    R.AUTHORIZATION_CLOSED: lambda made: (
        lambda tx: authorizations.close(tx, id=AuthorizationId("terms-1"), reason="revoked") and None
    ),
    R.AUTHORIZATION_UNBOUND: sql(UNBIND),
    R.AUTHORIZATION_SPENT: sql(SPEND),
    R.TERMS_UNREADABLE: sql("UPDATE authorizations SET terms = '{\"instruction\":1}' WHERE id = 'terms-1'"),
    R.TERMS_MOVED: actual(head="another"),
    R.WRONG_RUNNER: actual(machine="another"),
    R.SESSION_CAP: full,
    R.ALREADY_HELD: lambda made: lambda tx: other_run(tx, 2, native="conversation-1"),
    R.TREE_HELD: lambda made: lambda tx: other_run(tx, 3, tree=SIGNED.repository, in_place=True),
    R.FENCED: fenced_before,
    R.EXPIRED: lambda made: setattr(made, "late", 3_700_000),
}
FACTS: dict[RefusalReason, dict[str, object]] = {
    R.AUTHORIZATION_CLOSED: {"reason": "revoked"},
    R.AUTHORIZATION_SPENT: {"run": 77},
    R.TERMS_MOVED: {"field": "head", "was": SIGNED.head, "is": "another"},
    R.WRONG_RUNNER: {"was": "m 1000", "is": "another 1000"},
    R.SESSION_CAP: {"held": 1, "limit": 1},
    R.ALREADY_HELD: {"run": 2, "native_id": "conversation-1"},
    R.TREE_HELD: {"run": 2, "tree": SIGNED.repository},
    R.FENCED: {"custody": "hold-0", "reason": "stopped"},
    R.EXPIRED: {"at": SIGNED.expires_at},
}


async def broken(made: Scene, table: dict[RefusalReason, Break], *reasons: RefusalReason) -> None:
    for reason in reversed(reasons):
        body = table[reason](made)
        if body is not None:
            await made.do(body)


@pytest.mark.parametrize("reason", list(PROOF))
async def test_the_final_proof_refuses_with_facts_and_leaves_nothing(tmp_path: Path, reason: RefusalReason) -> None:
    made = await scene(tmp_path)
    try:
        await broken(made, PROOF, reason)
        before = await made.facts()
        refused = await made.prove()
        assert isinstance(refused, Refusal) and refused.reason is reason, refused
        assert {**refused.facts, **FACTS.get(reason, {})} == dict(refused.facts)
        assert await made.facts() == before, "a refused proof leaves neither custody nor turn nor entry"
    finally:
        await made.ledger.close()


PAIRS = list(zip(list(PROOF), list(PROOF)[1:], strict=False))


@pytest.mark.parametrize(("first", "second"), PAIRS)
async def test_the_final_proof_looks_in_the_designs_order(
    tmp_path: Path, first: RefusalReason, second: RefusalReason
) -> None:
    made = await scene(tmp_path)
    try:
        await broken(made, PROOF, first, second)
        refused = await made.prove()
        assert isinstance(refused, Refusal) and refused.reason is first, refused
    finally:
        await made.ledger.close()


CHANGED: dict[str, object] = {
    "instruction": "burn the roof",
    "preamble": False,
    "agent": "other",
    "driver": "codex",
    "program": "/tmp/claude",
    "agent_version": "0.0.1",
    "billing": Billing.SUBSCRIPTION,
    "repository": "/srv/other",
    "head": "f00",
    "branch": "side",
    "tree_kind": TreeKind.WORKTREE,
    "model": "large",
    "mode": "bypass",
    "budget": None,
    "max_turns": 6,
    "working_seconds": 5,
    "expires_at": Millis(SIGNED.expires_at + 1),
    "attendance_seconds": 9,
    "machine": "other",
    "uid": 0,
    "at_budget": "fence",
    "rules": ("Bash",),
    "script": "loop",
}


def test_every_field_of_the_terms_is_tried() -> None:
    assert set(CHANGED) == {one.name for one in fields(Terms)}


@pytest.mark.parametrize("name", list(CHANGED))
async def test_any_field_that_moved_is_named_with_what_was_and_what_is(tmp_path: Path, name: str) -> None:
    made = await scene(tmp_path)
    try:
        await broken(made, {R.TERMS_MOVED: actual(**{name: CHANGED[name]})}, R.TERMS_MOVED)
        refused = await made.prove()
        assert isinstance(refused, Refusal)
        if name in ("machine", "uid"):
            assert refused.reason is R.WRONG_RUNNER and refused.facts["was"] != refused.facts["is"]
        else:
            was, now = str(getattr(SIGNED, name)), str(CHANGED[name])
            assert refused == Refusal(R.TERMS_MOVED, {"field": name, "was": was, "is": now})
    finally:
        await made.ledger.close()


@pytest.mark.parametrize(
    "stored",
    ["", "[]", "null", "{}", '{"surprise": 1}', terms_.canonical(SIGNED)[:-1], terms_.canonical(SIGNED) + " "],
)
async def test_terms_that_were_touched_since_are_unreadable(tmp_path: Path, stored: str) -> None:
    made = await scene(tmp_path)
    try:
        await made.do(sql("UPDATE authorizations SET terms = :terms WHERE id = 'terms-1'", terms=stored)(made))
        refused = await made.prove()
        assert isinstance(refused, Refusal) and refused.reason is R.TERMS_UNREADABLE, refused
        assert refused.facts["problem"]
    finally:
        await made.ledger.close()


async def test_a_stop_is_a_refusal_for_a_run_that_is_over_or_never_was(tmp_path: Path) -> None:
    made = await scene(tmp_path)
    try:
        await made.do(lambda tx: settling.refuse_run(tx, made.run, Refusal(R.GIT_FAILED), "x") and None)
        for run in (made.run, RunId(99)):
            await broken(made, {R.STOPPED: given(run=run)}, R.STOPPED)
            refused = await made.prove()
            assert isinstance(refused, Refusal) and refused.reason is R.STOPPED
        row = await made.ledger.read(lambda tx: authorizations.get(tx, AuthorizationId("terms-1")))
        assert row is not None and row.close_reason == "refused:git-failed"
        again = await made.ledger.transaction(lambda tx: settling.refuse_run(tx, made.run, Refusal(R.STOPPED), ""))
        assert isinstance(again, Refusal) and again.reason is R.ALREADY_ENDED, "a run ends once"
    finally:
        await made.ledger.close()


async def test_what_is_proven_stands_whole(tmp_path: Path) -> None:
    made = await scene(tmp_path)
    try:
        proven = await made.prove()
        assert isinstance(proven, custody.Custody) and proven.state is CustodyState.PROPOSED
        brief = await made.ledger.read(lambda tx: turns.of_run(tx, made.run))
        assert [(one.n, one.source, one.state) for one in brief] == [(1, TurnSource.BRIEF, TurnState.RECORDED)]
        assert await made.ledger.read(verify) is None
        again = await made.prove()
        assert isinstance(again, Refusal) and again.reason is R.ALREADY_HELD, "an authorization starts one run"
    finally:
        await made.ledger.close()


# -------------------------------------------------------------------------------------------------------- a turn


def says(**changes: object) -> Break:
    def change(made: Scene) -> None:
        assert made.turn is not None
        made.turn = replace(made.turn, **changes)  # type: ignore[arg-type]

    return change


def flying(made: Scene) -> Callable[[Tx], object]:
    return lambda tx: (
        turns.record(
            tx, id=TurnId("flying"), run=made.run, source=TurnSource.OPERATOR, generation=1, text="x", preamble="",
            bytes=1, digest="", operator="Ada",
        )
        and None
    )  # fmt: skip


def asked(tx: Tx, made: Scene, request: str) -> decisions.Decision:
    return decisions.ask(
        tx, run=made.run, turn=TurnId("turn-1"), kind=DecisionKind.PARK, request=request, generation=1, payload=request,
        title="?", subject="",
    )  # fmt: skip


def parked(made: Scene) -> Callable[[Tx], object]:
    return lambda tx: asked(tx, made, "open") and None


def spent_turns(made: Scene) -> Callable[[Tx], object]:
    return sql("UPDATE authorizations SET terms = :terms WHERE id = 'terms-1'", terms=_terms(max_turns=1))(made)


def spent_money(made: Scene) -> Callable[[Tx], object]:
    return lambda tx: tx.conn.execute("UPDATE turns SET cost = 1000 WHERE id = 'turn-1'") and None


def _terms(**changes: object) -> str:
    return terms_.canonical(replace(SIGNED, **changes))  # type: ignore[arg-type]


def dry(made: Scene) -> None:
    made.pools = Pools(day=MicroUsd(5), day_began=NOON)


def delivered(made: Scene) -> Callable[[Tx], object]:
    def ride(tx: Tx) -> None:
        one = asked(tx, made, "ridden")
        decisions.answer(tx, id=one.id, revision=1, payload_hash=one.payload_hash, answer='"x"', operator="Ada")
        decisions.deliver(tx, id=one.id, write_id="before")
        assert made.turn is not None
        made.turn = replace(made.turn, decisions=(int(one.id),))

    return ride


def repaired(made: Scene) -> Callable[[Tx], object]:
    assert made.turn is not None
    made.turn = replace(made.turn, source=TurnSource.REPAIR)

    def twice(tx: Tx) -> None:
        for n in (1, 2):
            id = TurnId(f"repair-{n}")
            turns.record(
                tx, id=id, run=made.run, source=TurnSource.REPAIR, generation=1, text="x", preamble="", bytes=1,
                digest="", operator="Ada",
            )  # fmt: skip
            turns.settle(tx, id=id, result=TurnResultKind.SUCCESS, cost=MicroUsd(1))

    return twice


LARGE = "x" * (TURN_BYTES + 1)
TURN: dict[RefusalReason, Break] = {
    R.NO_HELD_SESSION: sql("UPDATE custody SET state = 'closed' WHERE id = 'hold-1'"),
    R.FENCING: sql("UPDATE custody SET state = 'fencing' WHERE id = 'hold-1'"),
    R.SHUTTING_DOWN: lambda made: lambda tx: settings.put(tx, f"{ADMISSION}.{HERE}", "shut") and None,
    R.SUPERSEDED: lambda made: setattr(made, "asker", OTHER),
    R.AUTHORIZATION_CLOSED: PROOF[R.AUTHORIZATION_CLOSED],
    R.EXPIRED: lambda made: setattr(made, "late", 3_700_000),
    R.PAUSED: lambda made: setattr(made, "paused", True),
    R.IN_FLIGHT: flying,
    R.DECISION_OPEN: parked,
    R.TURN_CAP: spent_turns,
    R.BUDGET_EXHAUSTED: spent_money,
    R.POOL_EXHAUSTED: dry,
    R.ALREADY_DELIVERED: delivered,
    R.REPAIR_EXHAUSTED: repaired,
    R.EMPTY_TURN: says(text=" \n ", sent=b" \n "),
    R.TURN_TOO_LARGE: says(text=LARGE, sent=LARGE.encode()),
}
TURN_FACTS: dict[RefusalReason, dict[str, object]] = {
    R.NO_HELD_SESSION: {"run": 1},
    R.FENCING: {"state": "fencing"},
    R.SUPERSEDED: {"owner": HERE},
    R.AUTHORIZATION_CLOSED: {"reason": "revoked"},
    R.EXPIRED: {"at": SIGNED.expires_at},
    R.IN_FLIGHT: {"turn": 2},
    R.DECISION_OPEN: {"decision": 1},
    R.TURN_CAP: {"turns": 1, "limit": 1},
    R.BUDGET_EXHAUSTED: {"spent": 1000, "limit": 1000},
    R.POOL_EXHAUSTED: {"period": "day", "spent": 10, "limit": 5},
    R.ALREADY_DELIVERED: {"decision": 1},
    R.REPAIR_EXHAUSTED: {"limit": 2},
    R.TURN_TOO_LARGE: {"bytes": TURN_BYTES + 1, "limit": TURN_BYTES},
}


@pytest.mark.parametrize("reason", list(TURN))
async def test_a_turn_is_refused_with_facts_and_leaves_nothing(tmp_path: Path, reason: RefusalReason) -> None:
    made = await held(tmp_path)
    try:
        await broken(made, TURN, reason)
        before = await made.facts()
        refused = await made.record()
        assert isinstance(refused, Refusal) and refused.reason is reason, refused
        assert {**refused.facts, **TURN_FACTS.get(reason, {})} == dict(refused.facts)
        assert await made.facts() == before
    finally:
        await made.ledger.close()


TWO = [
    pair
    for pair in zip(list(TURN), list(TURN)[1:], strict=False)
    # One state of one hold, one length of one text: these cannot both be true.
    if pair not in ((R.NO_HELD_SESSION, R.FENCING), (R.EMPTY_TURN, R.TURN_TOO_LARGE))
]


@pytest.mark.parametrize(("first", "second"), TWO)
async def test_a_turn_is_looked_at_in_the_designs_order(
    tmp_path: Path, first: RefusalReason, second: RefusalReason
) -> None:
    made = await held(tmp_path)
    try:
        await broken(made, TURN, first, second)
        refused = await made.record()
        assert isinstance(refused, Refusal) and refused.reason is first, refused
    finally:
        await made.ledger.close()


@pytest.mark.parametrize("state", [s for s in CustodyState if s is not CustodyState.OPEN])
async def test_no_state_of_a_hold_but_open_admits_a_turn(tmp_path: Path, state: CustodyState) -> None:
    made = await held(tmp_path)
    try:
        await made.do(sql("UPDATE custody SET state = :state WHERE id = 'hold-1'", state=state)(made))
        refused = await made.record()
        expected = R.NO_HELD_SESSION if state is CustodyState.CLOSED else R.FENCING
        assert isinstance(refused, Refusal) and refused.reason is expected
    finally:
        await made.ledger.close()


async def test_a_turn_of_the_agents_own_stands_in_no_ones_way(tmp_path: Path) -> None:
    made = await held(tmp_path)
    try:
        await made.do(
            lambda tx: turns.record(
                tx, id=TurnId("own"), run=made.run, source=TurnSource.AGENT, generation=1, text="woken", preamble="",
                bytes=0, digest="", operator="", state=TurnState.ACCEPTED,
            )
        )  # fmt: skip
        assert isinstance(await made.record(), turns.Turn)
        made.turn = turn(TurnSource.ANSWER, id=TurnId("turn-3"))
        refused = await made.record()
        assert isinstance(refused, Refusal) and refused.reason is R.IN_FLIGHT
    finally:
        await made.ledger.close()


async def test_an_amendment_lets_the_next_turn_go(tmp_path: Path) -> None:
    made = await held(tmp_path)
    try:
        await broken(made, TURN, R.TURN_CAP, R.BUDGET_EXHAUSTED)
        made.late = 3_700_000
        more = {"money": MicroUsd(1), "turns": 1, "expires_at": Millis(SIGNED.expires_at + 3_600_000)}
        for missing, reason in (("expires_at", R.EXPIRED), ("turns", R.TURN_CAP), ("money", R.BUDGET_EXHAUSTED)):
            refused = await made.record()
            assert isinstance(refused, Refusal) and refused.reason is reason
            one = {missing: more[missing]}
            await made.do(
                lambda tx, one=one: (  # type: ignore[misc]
                    authorizations.amend(tx, id=AuthorizationId("terms-1"), operator="Ada", **one) and None
                )
            )
        assert isinstance(await made.record(), turns.Turn)
    finally:
        await made.ledger.close()


async def test_what_rides_in_a_turn_moves_with_it_or_not_at_all(tmp_path: Path) -> None:
    made = await held(tmp_path)
    try:

        def wait(tx: Tx) -> tuple[int, DecisionId]:
            one = asked(tx, made, "q")
            decisions.answer(tx, id=one.id, revision=1, payload_hash=one.payload_hash, answer='"x"', operator="Ada")
            return queued.add(tx, run=made.run, text="later", operator="Ada").id, one.id

        line, decision = await made.do(wait)  # type: ignore[misc]
        made.turn = turn(TurnSource.OPERATOR, id=TurnId("turn-2"), queued=line, decisions=(int(decision), 999))
        refused = await made.record()
        assert isinstance(refused, Refusal) and refused.reason is R.ALREADY_DELIVERED
        made.turn = replace(made.turn, decisions=(int(decision),))
        await made.do(lambda tx: queued.withdraw(tx, id=line) and None)
        refused = await made.record()
        assert isinstance(refused, Refusal) and refused.reason is R.STALE, "it was taken out of the line meanwhile"

        def states(tx: Tx) -> tuple[str, str]:
            one = decisions.get(tx, decision)
            waiting = queued.get(tx, line)
            assert one is not None and waiting is not None
            return one.state.value, waiting.state.value

        assert await made.ledger.read(states) == ("answered", "withdrawn")
        made.turn = replace(made.turn, queued=None)
        assert isinstance(await made.record(), turns.Turn)
        assert await made.ledger.read(states) == ("delivering", "withdrawn")
        await made.do(lambda tx: settling.not_sent(tx, TurnId("turn-2")) and None)
        assert (await made.ledger.read(states))[0] == "answered", "provably not sent: it waits again"
        assert await made.ledger.read(verify) is None
    finally:
        await made.ledger.close()


# ------------------------------------------------------------------------------------------------------- admission


async def admit(made: Scene, terms: Terms, given: Admission = ADMITTING) -> runs.Run | Refusal:
    return await made.ledger.transaction(
        lambda tx: recording.admit(tx, given, terms=terms, authorization=AuthorizationId(terms.repository), title="t")
    )


def shut(value: str, name: str = ADMISSION) -> Callable[[Tx], object]:
    return lambda tx: settings.put(tx, name, value) and None


ADMISSIONS = [R.SHUTTING_DOWN, R.SESSION_CAP, R.POOL_EXHAUSTED, R.TREE_HELD]


@pytest.mark.parametrize("first", ADMISSIONS)
async def test_admission_refuses_in_order_and_costs_no_signature(tmp_path: Path, first: RefusalReason) -> None:
    made = await held(tmp_path)
    try:
        wrong = ADMISSIONS[ADMISSIONS.index(first) :]
        given = ADMITTING
        if R.SHUTTING_DOWN in wrong:
            await made.do(shut("shut"))
        if R.SESSION_CAP in wrong:
            given = replace(given, max_held_sessions=1)
        if R.POOL_EXHAUSTED in wrong:
            given = replace(given, pools=Pools(day=MicroUsd(1_500), day_began=NOON))
        before = await made.facts()
        refused = await admit(made, SIGNED, given)
        assert isinstance(refused, Refusal) and refused.reason is first, refused
        expected: dict[RefusalReason, dict[str, object]] = {
            R.SESSION_CAP: {"held": 1, "limit": 1},
            # Ten are spent, of a thousand that the open hold may spend.
            R.POOL_EXHAUSTED: {"period": "day", "spent": 10, "reserved": 990, "limit": 1_500},
            R.TREE_HELD: {"run": 1, "tree": SIGNED.repository},
        }
        assert dict(refused.facts) == expected.get(first, {})
        assert await made.facts() == before, "no authorization row is left"
    finally:
        await made.ledger.close()


async def test_a_pool_counts_what_pays_by_the_token_and_nothing_else(tmp_path: Path) -> None:
    made = await held(tmp_path)
    try:
        dry = replace(ADMITTING, pools=Pools(month=MicroUsd(10), month_began=NOON))
        for billing in (Billing.SUBSCRIPTION, Billing.PRACTICE):
            free = replace(SIGNED, repository=f"/srv/{billing}", billing=billing)
            run = await made.ledger.transaction(
                lambda tx, free=free: recording.admit(  # type: ignore[misc]
                    tx, dry, terms=free, authorization=AuthorizationId(free.repository), title="t"
                )
            )
            assert isinstance(run, runs.Run)
        refused = await admit(made, replace(SIGNED, repository="/srv/paid"), dry)
        assert isinstance(refused, Refusal) and refused.facts["period"] == "month"
    finally:
        await made.ledger.close()


async def test_a_stop_of_all_by_a_console_that_is_gone_shuts_nothing_for_ever(tmp_path: Path) -> None:
    made = await scene(tmp_path)
    try:
        await made.do(shut(f"{SHUT_BY}{OTHER}"))
        refused = await admit(made, replace(SIGNED, repository="/srv/two"))
        assert isinstance(refused, Refusal) and refused.reason is R.SHUTTING_DOWN
        await made.do(lambda tx: recording.open_if_gone(tx, lambda id: False))
        assert isinstance(await admit(made, replace(SIGNED, repository="/srv/two")), Refusal)
        await made.do(lambda tx: recording.open_if_gone(tx, lambda id: id == OTHER))
        assert isinstance(await admit(made, replace(SIGNED, repository="/srv/two")), runs.Run)
        await made.do(shut("shut", f"{ADMISSION}.{OTHER}"))
        assert not await made.ledger.read(lambda tx: recording.admission_shut(tx, HERE)), "another's end is not mine"
    finally:
        await made.ledger.close()


# ---------------------------------------------------------------------------------------------------------- the end


def ending(made: Scene, **more: object) -> settling.Ending:
    facts: dict[str, object] = {
        "run": made.run,
        "custody": HOLD,
        "generation": 1,
        "outcome": RunOutcome.INTERRUPTED,
        "reason": "stopped",
        "detail": "",
        "proofs": (),
        "guess": MicroUsd(300),
        "receipt": "{}",
        "remaining": 0,
        "stop_result": StopResult.HELD,
        **more,
    }
    return settling.Ending(**facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("proof", "state", "cost"),
    [
        (WriteProof.NEVER, TurnState.CANCELLED, None),
        (WriteProof.CANCELLED, TurnState.CANCELLED, None),
        (WriteProof.BEGUN, TurnState.UNCERTAIN, 300),
        (WriteProof.WHOLE, TurnState.UNCERTAIN, 300),
        (None, TurnState.UNCERTAIN, 300),
    ],
)
async def test_a_hold_ends_in_one_transaction_by_what_the_spool_proves(
    tmp_path: Path, proof: WriteProof | None, state: TurnState, cost: int | None
) -> None:
    made = await held(tmp_path)
    try:

        def begin(tx: Tx) -> DecisionId:
            one = asked(tx, made, "rides")
            decisions.answer(tx, id=one.id, revision=1, payload_hash=one.payload_hash, answer='"x"', operator="Ada")
            queued.add(tx, run=made.run, text="later", operator="Ada")
            attention.raise_(tx, run=made.run, kind=AttentionKind.STALLED, key="silent", text="silent")
            stops.ask(tx, run=made.run, reason="stopped", operator="Ada")
            return one.id

        decision: DecisionId = await made.do(begin)  # type: ignore[assignment]
        made.turn = turn(TurnSource.ANSWER, id=TurnId("turn-2"), decisions=(int(decision),))
        assert isinstance(await made.record(), turns.Turn)
        proofs = () if proof is None else ((TurnId("turn-2"), proof),)
        ended = await made.ledger.transaction(lambda tx: settling.close_hold(tx, ending(made, proofs=proofs)))
        assert isinstance(ended, runs.Run) and ended.outcome is RunOutcome.INTERRUPTED

        def look(tx: Tx) -> None:
            flown = turns.get(tx, TurnId("turn-2"))
            assert flown is not None and (flown.state, flown.cost) == (state, cost)
            assert flown.cost_known == (CostKnowledge.GUESS if cost else None)
            one = decisions.get(tx, decision)
            expected = DecisionState.UNDELIVERED if state is TurnState.CANCELLED else DecisionState.UNCERTAIN
            assert one is not None and one.state is expected
            row = custody.get(tx, HOLD)
            assert row is not None and row.state is CustodyState.CLOSED
            signed = authorizations.get(tx, AuthorizationId("terms-1"))
            assert signed is not None and (signed.state, signed.close_reason) == ("closed", "stopped")
            assert [one.state for one in queued.of_run(tx, made.run)] == ["unsent"]
            assert stops.of_run(tx, made.run)[-1].result is StopResult.HELD
            assert len(receipts.of_run(tx, made.run)) == 1
            assert attention.open_items(tx) == []
            assert verify(tx) is None

        await made.ledger.read(look)
        before = await made.facts()
        again = await made.ledger.transaction(lambda tx: settling.close_hold(tx, ending(made)))
        assert isinstance(again, Refusal) and again.reason is R.ALREADY_ENDED
        assert await made.facts() == before, "a terminal state never changes"
    finally:
        await made.ledger.close()


async def test_a_hold_with_something_left_alive_stays_fencing_and_closes_later(tmp_path: Path) -> None:
    made = await held(tmp_path)
    try:
        first = await made.ledger.transaction(lambda tx: settling.close_hold(tx, ending(made, remaining=1)))
        assert isinstance(first, runs.Run)
        row = await made.ledger.read(lambda tx: custody.get(tx, HOLD))
        assert row is not None and row.state is CustodyState.FENCING
        other = ending(made, reason="orphaned", receipt="")
        later = await made.ledger.transaction(lambda tx: settling.close_hold(tx, other))
        assert isinstance(later, runs.Run) and later.reason == "stopped", "the first reason stays"
        row = await made.ledger.read(lambda tx: custody.get(tx, HOLD))
        assert row is not None and row.state is CustodyState.CLOSED
        assert await made.ledger.read(verify) is None
    finally:
        await made.ledger.close()


async def test_a_body_that_raises_leaves_nothing(tmp_path: Path) -> None:
    made = await held(tmp_path)
    try:
        before = await made.facts()

        def half(tx: Tx) -> None:
            settling.close_hold(tx, ending(made))
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await made.ledger.transaction(half)
        assert await made.facts() == before
        assert await made.ledger.read(lambda tx: entries.head(tx, made.run)) is not None
        assert await made.ledger.read(lambda tx: incarnations.get(tx, HERE)) is not None
    finally:
        await made.ledger.close()
