"""Admission, which costs no signature when it refuses, and the end of a hold by what the spool proves, each whole."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator import recording, settling
from coordinator.custody.types import WriteProof
from coordinator.recording import ADMISSION, SHUT_BY, Admission, Pool, Pools
from coordinator.terms import Terms
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
from store.db import Tx
from store.refusal import Refusal
from store.verify import verify
from store.vocab import (
    AttentionKind,
    AuthorizationId,
    Billing,
    CostKnowledge,
    CustodyState,
    DecisionId,
    DecisionState,
    MicroUsd,
    RefusalReason,
    RunOutcome,
    StopResult,
    TurnId,
    TurnSource,
    TurnState,
)
from tests.coordinator.signed import (
    ADMITTING,
    HERE,
    HOLD,
    OTHER,
    SIGNED,
    R,
    Scene,
    asked,
    held,
    scene,
    turn,
)
from tests.store.scenes import NOON


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
            R.POOL_EXHAUSTED: {
                "period": "day",
                "agent": None,
                "spent": 10,
                "reserved": 990,
                "wanted": 1_000,
                "limit": 1_500,
            },
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


async def test_an_agents_own_pool_sets_aside_what_its_own_runs_may_still_spend(tmp_path: Path) -> None:
    made = await held(tmp_path)
    try:
        mine, other = replace(SIGNED, repository="/srv/mine"), replace(SIGNED, repository="/srv/other", agent="second")
        pools = Pools(
            agents={SIGNED.agent: Pool(day=MicroUsd(1_999)), "second": Pool(day=MicroUsd(1_999))}, day_began=NOON
        )
        given = replace(ADMITTING, pools=pools)
        assert isinstance(await admit(made, other, given), runs.Run), "what another agent holds is not its money"
        for terms, spent, reserved in ((mine, 10, 990), (replace(other, repository="/srv/third"), 0, 1_000)):
            refused = await admit(made, terms, given)
            facts = {"period": "day", "agent": terms.agent, "spent": spent, "limit": 1_999}
            assert refused == Refusal(R.POOL_EXHAUSTED, {**facts, "reserved": reserved, "wanted": 1_000})
        free = replace(mine, billing=Billing.SUBSCRIPTION)
        assert isinstance(await admit(made, free, given), runs.Run), "a subscription's money is nominal"
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
