"""Every *no* of the recording of a turn, in the same manner as those of the final proof (``test_recording.py``)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator import settling, terms as terms_
from coordinator.constants import TURN_BYTES
from coordinator.recording import ADMISSION, Pool, Pools
from store import (
    authorizations,
    decisions,
    queued,
    settings,
    turns,
)
from store.db import Tx
from store.refusal import Refusal
from store.verify import verify
from store.vocab import (
    AuthorizationId,
    CustodyState,
    DecisionId,
    MicroUsd,
    Millis,
    RefusalReason,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)
from tests.coordinator.signed import (
    HERE,
    OTHER,
    SIGNED,
    Break,
    R,
    Scene,
    asked,
    broken,
    held,
    sql,
    turn,
)
from tests.store.scenes import NOON


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
    R.AUTHORIZATION_CLOSED: lambda made: (
        lambda tx: authorizations.close(tx, id=AuthorizationId("terms-1"), reason="revoked") and None
    ),
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


async def test_working_time_that_is_used_up_is_refused_by_name_until_more_is_given(tmp_path: Path) -> None:
    made = await held(tmp_path, replace(SIGNED, working_seconds=60))
    try:

        def worked(seconds: int) -> Callable[[Tx], object]:
            def change(tx: Tx) -> None:
                ended = tx.conn.execute("SELECT ended_at FROM turns WHERE id = 'turn-1'").fetchone()[0]
                tx.conn.execute("UPDATE turns SET written_at = ? WHERE id = 'turn-1'", (ended - seconds * 1000,))

            return change

        await made.do(worked(60))
        refused = await made.record()
        assert refused == Refusal(
            R.BUDGET_EXHAUSTED, {"budget": "working-time", "worked_ms": 60_000, "limit_ms": 60_000}
        )
        await made.do(
            lambda tx: (
                authorizations.amend(tx, id=AuthorizationId("terms-1"), operator="Ada", working_seconds=1) and None
            )
        )
        assert isinstance(await made.record(), turns.Turn)
        assert SIGNED.working_seconds is None, "all other tests here are of runs without that limit"
    finally:
        await made.ledger.close()


@pytest.mark.parametrize(("period", "pool"), [("day", Pool(day=MicroUsd(5))), ("month", Pool(month=MicroUsd(10)))])
async def test_an_agents_own_pool_stops_its_runs_and_no_others(tmp_path: Path, period: str, pool: Pool) -> None:
    made = await held(tmp_path)
    try:
        began = {"day_began": NOON, "month_began": NOON}
        made.pools = Pools(agents={"claude-second": pool}, **began)
        assert isinstance(await made.record(), turns.Turn)
        await made.do(
            lambda tx: turns.settle(tx, id=TurnId("turn-2"), result=TurnResultKind.SUCCESS, cost=MicroUsd(0)) and None
        )
        made.turn = turn(TurnSource.OPERATOR, id=TurnId("turn-3"))
        made.pools = Pools(agents={SIGNED.agent: pool}, **began)
        refused = await made.record()
        limit = pool.day or pool.month
        facts = {"period": period, "agent": SIGNED.agent, "spent": 10, "limit": limit}
        assert refused == Refusal(R.POOL_EXHAUSTED, facts)
        made.pools = Pools(day=MicroUsd(10), agents={SIGNED.agent: pool}, **began)
        refused = await made.record()
        assert isinstance(refused, Refusal) and refused.facts["agent"] is None, "that of all comes first"
    finally:
        await made.ledger.close()
