"""Turns, the line behind them, their events, and the search over both."""

import sqlite3

import pytest

from coordinator import eventcodec
from store import (
    events,
    queued,
    turns,
)
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import (
    Billing,
    CostKnowledge,
    FailureKind,
    MicroUsd,
    Millis,
    QueuedTurnState,
    RefusalReason,
    RunId,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)
from tests.store.scenes import NOON, admitted, event, held, later, said


def test_single_flight_but_for_turns_of_the_agents_own(tx: Tx) -> None:
    run, _ = held(tx)
    brief = said(tx, run.id)
    refused = turns.record(
        tx, id=TurnId("turn-2"), run=run.id, source=TurnSource.OPERATOR, generation=1, text="and", preamble="",
        bytes=3, digest="d", operator="ada",
    )  # fmt: skip
    assert isinstance(refused, Refusal)
    assert (refused.reason, refused.facts["turn"]) == (RefusalReason.IN_FLIGHT, brief)
    woken = turns.record(
        tx, id=TurnId("turn-3"), run=run.id, source=TurnSource.AGENT, generation=1, text="", preamble="",
        bytes=0, digest="d", operator="", state=TurnState.ACCEPTED,
    )  # fmt: skip
    assert not isinstance(woken, Refusal)
    assert (woken.n, woken.state, woken.accepted_at) == (2, TurnState.ACCEPTED, NOON)
    assert [turn.id for turn in turns.in_flight(tx, run.id)] == [brief, woken.id]
    assert turns.settle(tx, id=brief, result=TurnResultKind.SUCCESS) is not None
    assert said(tx, run.id, "turn-4", source=TurnSource.OPERATOR) == "turn-4"


def test_a_turn_that_is_there_already_is_a_bug(tx: Tx) -> None:
    run, _ = held(tx)
    turns.cancel(tx, id=said(tx, run.id))
    with pytest.raises(LookupError):
        said(tx, run.id)


def test_a_result_may_come_without_a_sign_of_acceptance(tx: Tx) -> None:
    run, _ = held(tx)
    turn = said(tx, run.id)
    assert turns.accepted(tx, id=turn) is None, "not before it is written"
    assert turns.written(tx, id=turn) is not None
    assert turns.written(tx, id=turn) is None
    settled = turns.settle(
        tx,
        id=turn,
        result=TurnResultKind.ERROR,
        subtype="error_during_execution",
        cost=MicroUsd(12),
        cost_known=CostKnowledge.REPORTED,
        cumulative=MicroUsd(12),
        input_tokens=5,
        duration_ms=900,
        failure=FailureKind.OVERLOADED,
        failure_text="busy",
    )
    assert settled is not None
    assert (settled.state, settled.result, settled.cost, settled.output_tokens) == (
        TurnState.SETTLED,
        TurnResultKind.ERROR,
        12,
        None,
    )
    for late in (turns.written(tx, id=turn), turns.cancel(tx, id=turn), turns.uncertain(tx, id=turn)):
        assert late is None
    assert turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS) is None
    assert turns.get(tx, turn) == settled


def test_spend_counts_what_was_told_and_what_was_guessed(tx: Tx) -> None:
    run, _ = held(tx)
    for number, (cost, known) in enumerate(
        [
            (7, CostKnowledge.REPORTED),
            (None, CostKnowledge.UNKNOWN),
            (None, CostKnowledge.MERGED),
            (30, CostKnowledge.GUESS),
        ]
    ):
        turn = said(tx, run.id, f"t{number}", source=TurnSource.OPERATOR)
        turns.settle(
            tx,
            id=turn,
            result=TurnResultKind.SUCCESS,
            cost=None if cost is None else MicroUsd(cost),
            cost_known=known,
            cumulative=MicroUsd(number * 10) if known is CostKnowledge.REPORTED else None,
        )
    turns.cancel(tx, id=said(tx, run.id, "t9", source=TurnSource.OPERATOR))
    assert turns.spend(tx, run.id) == turns.Spend(money=MicroUsd(37), turns=4, unknown=1, guessed=MicroUsd(30))


def test_the_pools_count_by_time_billing_and_agent(tx: Tx) -> None:
    for number, agent in enumerate(("claude", "claude", "codex")):
        run = admitted(tx, tree=f"/t{number}", agent=agent)
        turn = said(tx, run.id, f"t{number}")
        at = later(tx, number * 1000)
        turns.settle(
            at, id=turn, result=TurnResultKind.SUCCESS, cost=MicroUsd(10**number), cost_known=CostKnowledge.REPORTED
        )
    assert turns.spent_since(tx, since=NOON) == 111
    assert turns.spent_since(tx, since=Millis(NOON + 1000)) == 110
    assert turns.spent_since(tx, since=NOON, agent="claude") == 11
    assert turns.spent_since(tx, since=NOON, billing=Billing.PRACTICE) == 0


def test_the_line_keeps_its_order_and_can_be_edited_until_recorded(tx: Tx) -> None:
    run, _ = held(tx)
    one, two, three = (queued.add(tx, run=run.id, text=text, operator="ada") for text in ("one", "two", "three"))
    assert [turn.place for turn in queued.waiting(tx, run.id)] == [1, 2, 3]
    queued.edit(tx, id=two.id, text="zwei")
    turn = said(tx, run.id)
    assert queued.recorded(tx, id=one.id, turn=turn) is not None
    assert queued.edit(tx, id=one.id, text="late") is None
    assert queued.withdraw(tx, id=three.id) is not None
    assert [turn.text for turn in queued.waiting(tx, run.id)] == ["zwei"]
    assert queued.unsent_all(tx, run.id) == 1
    assert queued.unsent_all(tx, run.id) == 0
    assert [turn.state for turn in queued.of_run(tx, run.id)] == [
        QueuedTurnState.RECORDED,
        QueuedTurnState.UNSENT,
        QueuedTurnState.WITHDRAWN,
    ]


def test_events_are_counted_and_read_by_pages_from_both_ends(tx: Tx) -> None:
    run, _ = held(tx)
    other, _ = held(tx, tree="/other")
    for offset in range(10):
        assert events.append(tx, run=run.id, rows=[event(offset, turn=None)]) == 1
        events.append(tx, run=other.id, rows=[event(offset, turn=None)])
    assert (events.count(tx, run.id), events.count(tx, RunId(99))) == (10, 0)
    first = events.page(tx, run.id, limit=4)
    assert [one.offset for one in first] == [0, 1, 2, 3]
    assert [one.offset for one in events.page(tx, run.id, after=first[-1].id, limit=3)] == [4, 5, 6]
    last = events.page(tx, run.id, limit=3, newest=True)
    assert [one.offset for one in last] == [7, 8, 9]
    assert [one.offset for one in events.page(tx, run.id, before=last[0].id, limit=2)] == [5, 6]
    assert events.append(tx, run=run.id, rows=[]) == 0


def test_an_event_that_comes_twice_is_an_error_to_be_seen(tx: Tx) -> None:
    run, _ = held(tx)
    events.append(tx, run=run.id, rows=[event(1, turn=None)])
    tx.conn.execute("BEGIN")
    with pytest.raises(sqlite3.IntegrityError):
        events.append(tx, run=run.id, rows=[event(2, turn=None), event(1, turn=None)])
    tx.conn.execute("ROLLBACK")
    assert events.count(tx, run.id) == len(events.page(tx, run.id)) == 1


def test_the_hash_of_a_turn_is_over_what_its_events_say_in_order(tx: Tx) -> None:
    run, _ = held(tx)
    turn = said(tx, run.id)
    empty = events.hash_of(tx, turn)
    events.append(tx, run=run.id, rows=[event(1), event(2, body='{"text":"b"}')])
    both = events.hash_of(tx, turn)
    settled = turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS)
    assert settled is not None
    assert settled.events_hash == both != empty
    other, _ = held(tx, tree="/other")
    again = said(tx, other.id, "turn-2")
    events.append(tx, run=other.id, rows=[event(1, turn="turn-2"), event(2, turn="turn-2", body='{"text":"b"}')])
    assert events.hash_of(tx, again) == both, "row ids are no part of it"


def test_what_can_be_searched_is_what_the_coordinator_writes() -> None:
    written = {
        kind: set(cls.__struct_fields__)
        for kind, cls in eventcodec.KINDS.items()
        if kind in events.SEARCHABLE
        for kind, cls in eventcodec.KINDS.items()
        if kind in events.SEARCHABLE
    }
    assert set(written) == set(events.SEARCHABLE)
    for kind, field in events.SEARCHABLE.items():
        assert field in written[kind]
