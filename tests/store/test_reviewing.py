"""Runs by filter and order against looking at each of them; sums; and that every combination goes by an index."""

import itertools
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st

from store import authorizations, custody, reviewing, runs, turns
from store.reviewing import Listed, Narrowed
from store.tx import Tx
from store.vocab import (
    AuthorizationId,
    Billing,
    CostKnowledge,
    CustodyId,
    CustodyState,
    MicroUsd,
    Millis,
    RunId,
    RunOutcome,
    TurnResultKind,
    TurnSource,
)
from tests.store.scenes import INCARNATION, NOON, held, in_memory, later, said

WORDS = ("tin", "zinc", "lead")


def one_run(
    tx: Tx,
    n: int,
    *,
    repository: str = "/src/orders",
    agent: str = "claude",
    costs: tuple[int | None, ...] = (),
    words: str = "go",
    age: int = 0,
    end: tuple[RunOutcome, str] | None = None,
) -> RunId:
    tx = Tx(tx.conn, Millis(NOON + age))
    terms = AuthorizationId(f"t{n}")
    authorizations.sign(tx, id=terms, terms="{}", digest="d", operator="ada", expires_at=Millis(NOON + 10**9))
    run = runs.admit(
        tx, title=f"Title {n}", agent=agent, driver="driver-of-" + agent, billing=Billing.KEY, repository=repository,
        tree=repository, branch="main", authorization_id=terms, incarnation=INCARNATION, operator="ada",
    )  # fmt: skip
    for place, cost in enumerate(costs or (None,)):
        turn = said(tx, run.id, f"turn-{n}-{place}", source=TurnSource.OPERATOR, text=words)
        known = CostKnowledge.UNKNOWN if cost is None else CostKnowledge.REPORTED
        price = None if cost is None else MicroUsd(cost)
        turns.settle(later(tx, 10), id=turn, result=TurnResultKind.SUCCESS, cost=price, cost_known=known)
    if end is not None:
        runs.end(later(tx, 1000 * (n + 1)), id=run.id, outcome=end[0], reason=end[1])
    return run.id


def every(tx: Tx, which: Narrowed, order: str, limit: int) -> list[Listed]:
    found: list[Listed] = []
    after = None
    for _ in range(100):
        page, after = reviewing.listing(later(tx, len(found)), which, order=order, limit=limit, after=after)
        found += page
        if after is None:
            return found
        assert len(page) == limit
    raise AssertionError("pages without end")


a_run = st.fixed_dictionaries(
    {
        "repository": st.sampled_from(["/src/orders", "/src/billing"]),
        "agent": st.sampled_from(["claude", "codex"]),
        "costs": st.lists(st.sampled_from([None, 0, 5, 900]), max_size=3).map(tuple),
        "words": st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(" ".join),
        "age": st.integers(0, 3),
        "end": st.sampled_from(
            [
                None,
                (RunOutcome.FINISHED, "finished"),
                (RunOutcome.FAILED, "exited:1"),
                (RunOutcome.FINISHED, "imported"),
            ]
        ),
    }
)
a_filter = st.fixed_dictionaries(
    {},
    optional={
        "repositories": st.sampled_from([("/src/orders",), (), ("/src/orders", "/src/billing")]),
        "agent": st.sampled_from(["claude", "CODEX", "driver-of-codex", "other"]),
        "outcome": st.sampled_from(["finished", "failed", "open"]),
        "reason": st.sampled_from(["exited", "exited:1", "finished"]),
        "cost_min": st.sampled_from([0, 5, 6]),
        "cost_max": st.sampled_from([0, 5, 905]),
        "since": st.integers(0, 3).map(lambda age: NOON + age),
        "until": st.integers(0, 3).map(lambda age: NOON + age),
        "imported": st.booleans(),
        "words": st.lists(st.sampled_from([*WORDS, "zin*", "title 1", "absent"]), max_size=2).map(tuple),
        "billing": st.sampled_from([Billing.KEY, Billing.PRACTICE]),
    },
)


def lets_through(one: Listed, words: str, which: Narrowed) -> bool:
    run = one.run
    text = words.split()
    for word in which.words:
        inside = any(piece.startswith(word[:-1]) if word.endswith("*") else piece == word for piece in text)
        if not inside and word.rstrip("*") not in run.title.lower():
            return False
    given_ = [
        which.repositories is None or run.repository in which.repositories,
        which.agent is None or which.agent.lower() in (run.agent, run.driver),
        which.outcome is None or which.outcome == (run.outcome or "open"),
        which.reason is None or (run.reason or "").split(":")[0] == which.reason or run.reason == which.reason,
        which.cost_min is None or (one.cost is not None and one.cost >= which.cost_min),
        which.cost_max is None or (one.cost is not None and one.cost <= which.cost_max),
        which.since is None or run.created_at >= which.since,
        which.until is None or run.created_at < which.until,
        which.imported is None or (run.reason == "imported") == which.imported,
        which.billing is None or run.billing != which.billing,
    ]
    return all(given_)


KEYS: dict[str, Callable[[Listed, int], tuple[object, ...]]] = {
    "newest": lambda one, now: (-one.run.created_at, -one.run.id),
    "oldest": lambda one, now: (one.run.created_at, one.run.id),
    "cost": lambda one, now: (-(-1 if one.cost is None else one.cost), -one.run.id),
    "turns": lambda one, now: (-one.turns, -one.run.id),
    "duration": lambda one, now: (-((one.run.ended_at or now) - one.run.created_at), -one.run.id),
    "repository": lambda one, now: (one.run.repository, -one.run.id),
}


@settings(max_examples=150, deadline=None)
@given(
    st.lists(a_run, max_size=12),
    a_filter,
    st.sampled_from(sorted(reviewing.ORDERS)),
    st.integers(1, 5),
    st.sampled_from([1, reviewing.RARE]),
)
def test_pages_in_any_order_are_what_looking_at_every_run_finds(
    made: list[dict[str, object]], asked: dict[str, object], order: str, limit: int, rare: int
) -> None:
    with in_memory() as tx, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reviewing, "RARE", rare)
        words = {one_run(tx, n, **one): str(one["words"]) for n, one in enumerate(made)}  # type: ignore[arg-type]
        which = Narrowed(**asked)  # type: ignore[arg-type]
        all_runs = reviewing.listed(tx, list(words))
        expected = [one for one in all_runs if lets_through(one, words[one.run.id], which)]
        expected.sort(key=lambda one: KEYS[order](one, tx.now))
        assert [one.run.id for one in every(tx, which, order, limit)] == [one.run.id for one in expected]


def test_what_the_turns_of_a_run_come_to(tx: Tx) -> None:
    run, _ = held(tx)
    assert reviewing.listed(tx, [run.id])[0] == Listed(run=run, turns=0, cost=None, guessed=0, unknown=0, decisions=0)
    for n, (cost, known) in enumerate([(7, CostKnowledge.REPORTED), (5, CostKnowledge.GUESS)]):
        turn = said(tx, run.id, f"t{n}", source=TurnSource.OPERATOR)
        turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS, cost=MicroUsd(cost), cost_known=known)
    turns.cancel(tx, id=said(tx, run.id, "never-sent", source=TurnSource.OPERATOR))
    turns.uncertain(tx, id=said(tx, run.id, "cut-off", source=TurnSource.OPERATOR))
    [one] = reviewing.listed(tx, [run.id])
    assert (one.turns, one.cost, one.guessed, one.unknown) == (3, 12, 1, 1)


def test_repositories_are_named_once(tx: Tx) -> None:
    assert reviewing.repositories(tx) == []
    for n, name in enumerate(["/b", "/a", "/b", "/c"]):
        one_run(tx, n, repository=name)
    assert reviewing.repositories(tx) == ["/a", "/b", "/c"]


ASKED = [list(names) for size in (0, 1, 2) for names in itertools.combinations(reviewing.CONDITIONS, size)]
GIVEN = dict.fromkeys((*reviewing.CONDITIONS, "key", "id", "now", "limit", "turn_since", "turn_until"), 1)


@pytest.mark.parametrize("order", reviewing.ORDERS)
def test_every_combination_compiles_and_newest_goes_by_its_index(tx: Tx, order: str) -> None:
    given_ = GIVEN | {"repositories": json.dumps(["/a"])}
    for asked in ASKED:
        parts = [reviewing.CONDITIONS[name] for name in asked]
        plan = tx.conn.execute(f"EXPLAIN QUERY PLAN {reviewing.listing_statement(order, parts)}", given_).fetchall()
        steps = [step for *_, step in plan]
        assert not any(step.startswith(("SCAN t", "SCAN u", "SCAN g")) for step in steps), steps
        if order in ("newest", "oldest") and "run" not in asked and "repositories" not in asked:
            assert not any("TEMP B-TREE" in step for step in steps), (asked, steps)
        for text in (reviewing.spent_statement(parts), reviewing.waited_statement(parts)):
            tx.conn.execute(f"EXPLAIN {text}", given_)
    for text in (reviewing.RARE_WORD, reviewing.COMMON_WORD):
        words = {"word_0": "a", "query_0": '"a"', "runs_0": "[]"}
        tx.conn.execute(f"EXPLAIN {reviewing.listing_statement(order, [text.format(n=0)])}", given_ | words)


def test_costs_of_a_page_come_from_the_index_alone(tx: Tx) -> None:
    plan = tx.conn.execute(f"EXPLAIN QUERY PLAN {reviewing.SUMS}", {"runs": "[1]"}).fetchall()
    assert any("COVERING INDEX turns_spend" in step for *_, step in plan), plan


def test_each_hold_of_a_run_is_listed(tx: Tx) -> None:
    run, first = held(tx)
    custody.move(tx, id=first, expect=[CustodyState.OPEN], to=CustodyState.CONCLUDING)
    custody.move(tx, id=first, expect=[CustodyState.CONCLUDING], to=CustodyState.CLOSED)
    second = CustodyId("another")
    custody.propose(later(tx, 1), id=second, run=run.id, incarnation=INCARNATION, tree="/t", in_place=True, nonce="n")
    assert [one.id for one in custody.each_of_run(tx, run.id)] == [first, second]
