"""Claims: what waits is not taken, a token that is not in force writes nothing, and what is used of terms is exact."""

from collections.abc import Callable

import pytest

from store import agentwaits, attempts, bookcheck, claims, custody, operations, outcomes, series, tasks, turns
from store.attempts import Attempt
from store.refusal import Refusal
from store.reservations import gaps, needles, one_text, overlap
from store.tasks import Task
from store.tx import Tx
from store.vocab import (
    CostKnowledge,
    CustodyId,
    CustodyState,
    IncarnationId,
    MicroUsd,
    Millis,
    OperationId,
    OperationState,
    OutcomeState,
    RefusalReason,
    RunId,
    SeriesId,
    TaskState,
    TurnResultKind,
)
from tests.store.inline import HOUR, attempt, begun, claimed, ended, now, queued, sign
from tests.store.scenes import INCARNATION, admitted, held, later, register, said

OTHER = IncarnationId("console-2")


def taken(tx: Tx) -> Task:
    task = claimed(tx)
    assert task is not None
    return task


def token_of(task: Task) -> str:
    assert task.token is not None
    return task.token


def test_highest_priority_then_oldest_and_each_once(tx: Tx) -> None:
    order = [queued(tx, priority=priority).id for priority in (0, 5, 5, 1)]
    got = [taken(tx).id for _ in order]
    assert got == [order[1], order[2], order[3], order[0]]
    assert claimed(tx) is None and claims.claimable(tx) is None


def test_a_claim_is_written_to_its_operation_and_only_to_one_that_is_begun_and_its_own(tx: Tx) -> None:
    task = queued(tx)
    register(tx, OTHER)
    owner = {"token": "t", "machine": "machine-1", "uid": 1000}
    theirs, gone = begun(tx, incarnation=OTHER), begun(tx)
    operations.move(tx, id=gone, expect=[OperationState.BEGUN], to=OperationState.CANCELLED)
    for operation in (theirs, gone, OperationId("none")):
        assert claims.take(tx, operation=operation, incarnation=INCARNATION, **owner) is None  # type: ignore[arg-type]
    assert now(tx, task.id).state is TaskState.QUEUED
    ours = begun(tx)
    got = claims.take(tx, operation=ours, incarnation=INCARNATION, **owner)  # type: ignore[arg-type]
    done = operations.get(tx, ours)
    assert got is not None and done is not None
    assert (done.state, done.task, done.token) == (OperationState.CLAIMED, task.id, "t")
    assert (got.token, got.incarnation, got.machine, got.uid) == ("t", INCARNATION, "machine-1", 1000)
    assert {one.id for one in operations.open_of(tx)} == {theirs, ours}
    assert [one.id for one in operations.open_of(tx, [OTHER])] == [theirs]


def unsigned(tx: Tx) -> Tx:
    queued(tx, signed=False)
    return tx


def run_out(tx: Tx) -> Tx:
    sign(tx, queued(tx, signed=False), lasts=10)
    return later(tx, 10)


def closed(tx: Tx) -> Tx:
    agreed = queued(tx).series
    assert agreed is not None
    taken_one = taken(tx)
    claims.needs_operator(tx, task=taken_one.id, token=token_of(taken_one), reason="revoked", detail="{}")
    series.close(tx, id=agreed, reason="revoked")
    tasks.retry(tx, id=taken_one.id)
    return tx


def kept_back(tx: Tx) -> Tx:
    tasks.hold(tx, id=queued(tx).id, held=True)
    return tx


def needing(tx: Tx) -> Tx:
    queued(tx, needs=[queued(tx, signed=False).id])
    return tx


def not_yet(tx: Tx) -> Tx:
    queued(tx)
    task = taken(tx)
    claims.release(tx, task=task.id, token=token_of(task), not_before=Millis(tx.now + 50), counted=True)
    assert claims.wakes_at(tx) == tx.now + 50
    return later(tx, 49)


def limited(tx: Tx) -> Tx:
    queued(tx)
    agentwaits.wait(tx, agent="claude", reason="rate-limited", until=Millis(tx.now + 50), run=None)
    assert claims.wakes_at(tx) == tx.now + 50
    return later(tx, 49)


@pytest.mark.parametrize("waits", [unsigned, run_out, closed, kept_back, needing, not_yet, limited])
def test_what_waits_is_not_taken_and_nothing_is_noted_of_it(tx: Tx, waits: Callable[[Tx], Tx]) -> None:
    at = waits(tx)
    before = tx.conn.execute("SELECT count(*) FROM entries WHERE kind LIKE 'task.%'").fetchone()
    assert claims.claimable(at) is None and claimed(at) is None
    assert tx.conn.execute("SELECT count(*) FROM entries WHERE kind LIKE 'task.%'").fetchone() == before


@pytest.mark.parametrize("waits", [not_yet, limited])
def test_what_waits_for_a_time_is_taken_at_it(tx: Tx, waits: Callable[[Tx], Tx]) -> None:
    assert claimed(later(waits(tx), 1)) is not None


def test_of_named_agents_and_repositories_nothing_is_taken(tx: Tx) -> None:
    task = queued(tx, agent="codex", repository="/a")
    assert claimed(tx, agents=["codex"]) is None and claimed(tx, repositories=["/a"]) is None
    assert claims.claimable(tx, blocked_agents=["claude"], blocked_repositories=["/b"]) == task.id


def test_the_longer_wait_of_an_agent_stands_until_somebody_ends_it(tx: Tx) -> None:
    agentwaits.wait(tx, agent="claude", reason="authentication", until=None, run=None)
    stands = agentwaits.wait(tx, agent="claude", reason="rate-limited", until=Millis(tx.now + 5), run=None)
    assert (stands.reason, stands.until) == ("authentication", None)
    assert agentwaits.over(tx, agent="claude") is not None and agentwaits.over(tx, agent="claude") is None
    agentwaits.wait(tx, agent="claude", reason="rate-limited", until=Millis(tx.now + 5), run=None)
    assert len(agentwaits.listing(tx)) == 1 and agentwaits.listing(later(tx, 5)) == []
    again = agentwaits.wait(later(tx, 6), agent="claude", reason="rate-limited", until=Millis(tx.now + 7), run=RunId(1))
    assert again.until == tx.now + 7, "a wait that is over is none"


# ------------------------------------------------------------------------------------------------- reserved paths

PLACES = ["", "src/", "src/a/", "src/a/b/", "src-old/", "src0/", "srd/", "a/", "é/", "src/é/", "z/"]


@pytest.mark.parametrize("taken_places", [[one] for one in PLACES] + [["src/a/", "z/"], ["src/", "src/a/"], []])
def test_gaps_and_needles_are_overlap(taken_places: list[str]) -> None:
    """Both ways by which the claim looks at places give what the plain comparison of two paths gives."""
    stretches = gaps(taken_places)
    for place in PLACES:
        apart = overlap([place], taken_places) is None
        assert any(low <= place < high for low, high in stretches) == apart, place
        text = one_text([place, "quite/else/"])
        if "" not in taken_places:
            assert any(needle in text for one in taken_places for needle in needles(one)) == (not apart), place


@pytest.mark.parametrize(
    ("ours", "theirs", "apart"),
    [
        (["."], ["src"], False),
        (["src"], ["."], False),
        (["src/a"], ["src"], False),
        (["src"], ["src/a"], False),
        (["src"], ["src"], False),
        (["src-old"], ["src"], True),
        (["doc", "src"], ["src/a"], False),
        (["doc", "."], ["src"], False),
        (["doc", "test"], ["src", "lib"], True),
        ([], ["."], True),
        (["."], [], True),
    ],
)
def test_what_overlaps_with_work_that_goes_on_waits_until_its_hold_is_over(
    tx: Tx, ours: list[str], theirs: list[str], apart: bool
) -> None:
    first = queued(tx, paths=theirs, priority=9)
    waiting = queued(tx, paths=ours)
    other = queued(tx, paths=ours, repository="/elsewhere", priority=-1)
    task = taken(tx)
    assert task.id == first.id
    assert claims.claimable(tx) == (waiting.id if apart else other.id)
    facts = claims.waiting_facts(tx, waiting, tx.now)
    assert (facts.reserved is None) == apart
    run, hold = held(tx)
    attempt(tx, task, run.id)
    claims.finish(tx, task=task.id, token=token_of(task), to=TaskState.FAILED, reason="failed")
    assert claims.claimable(tx) == (waiting.id if apart else other.id), "what it held is still being ended"
    tasks.retry(tx, id=first.id)
    assert claims.claimable(tx) != first.id, "nor is it begun again itself"
    assert claims.waiting_facts(tx, now(tx, first.id), tx.now).ending == run.id
    assert isinstance(tasks.edit(tx, id=first.id, expect_revision=1, paths='["x"]'), Refusal)
    custody.fence(tx, id=hold, reason="stopped")
    custody.move(tx, id=hold, expect=[CustodyState.FENCING], to=CustodyState.CLOSED)
    assert claims.claimable(tx) == first.id


# ------------------------------------------------------------------------------------------------------- tokens

DEEDS: dict[str, Callable[[Tx, Task, str], object]] = {
    "release": lambda tx, task, token: claims.release(tx, task=task.id, token=token, counted=True),
    "needs": lambda tx, task, token: claims.needs_operator(
        tx, task=task.id, token=token, reason="question", detail="{}"
    ),
    "finish": lambda tx, task, token: claims.finish(tx, task=task.id, token=token, to=TaskState.FAILED),
    "seize": lambda tx, task, token: claims.seize(
        tx, task=task.id, expect_token=token, token="third", incarnation=INCARNATION
    ),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_who_lost_the_claim_writes_nothing(tx: Tx, deed: str) -> None:
    queued(tx)
    task = taken(tx)
    register(tx, OTHER)
    assert claims.of_incarnations_gone(tx, [INCARNATION], "machine-2", 1000) == []
    [lost] = claims.of_incarnations_gone(tx, [INCARNATION], "machine-1", 1000)
    assert claims.seize(tx, task=lost.id, expect_token=token_of(lost), token="new", incarnation=OTHER) is not None
    before = now(tx, task.id)
    assert DEEDS[deed](tx, task, token_of(task)) is None
    assert now(tx, task.id) == before
    assert DEEDS[deed](tx, task, "new") is not None
    assert list(bookcheck.unsound(tx)) == []


def test_a_claim_that_was_not_begun_goes_over_to_the_next_console(tx: Tx) -> None:
    queued(tx)
    task = taken(tx)
    register(tx, OTHER)
    claims.seize(tx, task=task.id, expect_token=token_of(task), token="new", incarnation=OTHER)
    [set_out] = operations.open_of(tx)
    assert (set_out.incarnation, set_out.token) == (OTHER, "new")
    run = admitted(tx).id
    assert task.series is not None
    old = attempts.add(tx, run=run, task=task.id, series=task.series, operation=set_out.id, token=token_of(task))
    assert isinstance(old, Refusal) and old.reason is RefusalReason.STALE
    assert attempts.of_run(tx, run) is None
    assert attempt(tx, now(tx, task.id), run).n == 1


def test_a_kept_claim_is_resumed_by_a_new_operation_unless_its_paths_are_taken(tx: Tx) -> None:
    first = queued(tx, paths=["src"], priority=1)
    other = queued(tx, paths=["src/a"])
    task = taken(tx)
    claims.needs_operator(tx, task=task.id, token=token_of(task), reason="question", detail="{}")
    second = taken(tx)
    assert second.id == other.id, "a task that waits for an answer reserves nothing"
    operation = begun(tx)
    assert claims.resume(tx, task=first.id, token=token_of(task), operation=operation) is None
    claims.release(tx, task=second.id, token=token_of(second), counted=False)
    assert claims.resume(tx, task=first.id, token="another", operation=operation) is None
    resumed = claims.resume(tx, task=first.id, token=token_of(task), operation=operation)
    assert resumed is not None and (resumed.state, resumed.reason) == (TaskState.WORKING, "")
    done = operations.get(tx, operation)
    assert done is not None and (done.state, done.token) == (OperationState.CLAIMED, token_of(task))


# ------------------------------------------------------------------------------------------ attempts, money, outcomes


def test_a_claim_is_carried_out_once(tx: Tx) -> None:
    queued(tx)
    task = taken(tx)
    made = attempt(tx, task)
    done = operations.get(tx, made.operation)
    assert done is not None and done.state is OperationState.ADMITTED
    again = attempts.add(
        tx, run=admitted(tx).id, task=task.id, series=made.series, operation=made.operation, token=made.token
    )
    assert isinstance(again, Refusal) and again.reason is RefusalReason.STALE
    assert attempts.of_task(tx, task.id) == [made]


@pytest.mark.parametrize("counted", [True, False])
def test_attempts_are_used_up_from_admission_on_but_for_those_that_do_not_count(tx: Tx, counted: bool) -> None:
    task = queued(tx, attempts=1)
    assert task.series is not None
    working = taken(tx)
    made = attempt(tx, working)
    assert series.attempts_made(tx, task.series) == 1, "before anything is known of how it ends"
    claims.release(tx, task=task.id, token=token_of(working), counted=counted)
    assert claims.claimable(tx) is None
    ended(tx, made.run, counted=counted)
    assert series.attempts_made(tx, task.series) == int(counted)
    assert claims.claimable(tx) == (None if counted else task.id)
    facts = claims.waiting_facts(tx, now(tx, task.id), tx.now)
    assert facts.left is not None and facts.left.nothing == counted
    sign(tx, now(tx, task.id))
    again = attempt(tx, taken(tx))
    assert (again.n, attempts.latest(tx, task.id)) == (2, again)
    assert now(tx, task.id).counted == int(counted)


def spend(tx: Tx, run: RunId, cost: int) -> None:
    turn = said(tx, run, f"turn-{run}")
    turns.settle(
        tx, id=turn, result=TurnResultKind.SUCCESS, cost=MicroUsd(cost), cost_known=CostKnowledge.REPORTED,
        cumulative=MicroUsd(cost), input_tokens=1, output_tokens=1, duration_ms=1,
    )  # fmt: skip


def test_money_counts_whether_the_attempt_does_or_not(tx: Tx) -> None:
    task = queued(tx, budget=100)
    assert task.series is not None
    for cost, left in ((40, 60), (60, 0)):
        working = taken(tx)
        made = attempt(tx, working)
        spend(tx, made.run, cost)
        ended(tx, made.run, counted=False)
        claims.release(tx, task=task.id, token=token_of(working), counted=False)
        facts = claims.waiting_facts(tx, now(tx, task.id), tx.now)
        assert facts.left is not None and (facts.left.money, facts.left.attempts) == (left, 3)
    assert series.spent(tx, task.series) == 100 and claims.claimable(tx) is None
    assert list(bookcheck.unsound(tx)) == []


@pytest.mark.parametrize("what", ["attempts", "money", "time"])
def test_admission_looks_once_more_at_what_is_left(tx: Tx, what: str) -> None:
    """A claim is no promise: between it and the run somebody may have used up, or ended, what was agreed to."""
    task = queued(tx, attempts=1, budget=100)
    working = taken(tx)
    assert task.series is not None
    at = later(tx, HOUR) if what == "time" else tx
    if what != "time":
        tx.conn.execute(f"UPDATE series SET {'attempts' if what == 'attempts' else 'budget'} = 0")
    [set_out] = operations.open_of(tx)
    run = admitted(tx).id
    given = {"task": task.id, "series": task.series, "operation": set_out.id, "token": token_of(working)}
    found = attempts.add(at, run=run, **given)  # type: ignore[arg-type]
    assert isinstance(found, Refusal) and (found.reason, found.facts["what"]) == (RefusalReason.SERIES_SPENT, what)
    given["series"] = SeriesId("another")
    stale = attempts.add(tx, run=run, **given)  # type: ignore[arg-type]
    assert isinstance(stale, Refusal) and stale.reason is RefusalReason.STALE
    tx.conn.execute("UPDATE series SET attempts = 1, budget = 100")


def test_an_outcome_is_known_decided_and_carried_out_once_each(tx: Tx) -> None:
    assert outcomes.pending(tx, run=admitted(tx).id) is None, "no attempt"
    queued(tx)
    made = attempt(tx, taken(tx))
    first = outcomes.pending(tx, run=made.run)
    assert first is not None and outcomes.pending(tx, run=made.run) is None
    assert outcomes.acknowledge(tx, run=made.run, counted=True) is None, "nothing was decided"
    assert outcomes.decide(tx, run=made.run, verdict='{"to":"done"}') is not None
    assert outcomes.decide(tx, run=made.run, verdict='{"to":"failed"}') is None
    [still] = outcomes.open_ones(tx)
    assert (still.state, still.verdict) == (OutcomeState.DECIDED, '{"to":"done"}')
    assert outcomes.acknowledge(tx, run=made.run, counted=True) is not None
    assert outcomes.acknowledge(tx, run=made.run, counted=False) is None and outcomes.open_ones(tx) == []
    counted = attempts.of_run(tx, made.run)
    assert isinstance(counted, Attempt) and counted.counted


def test_why_a_task_waits_is_told_for_a_whole_line(tx: Tx) -> None:
    failed, open_one = queued(tx, signed=False), queued(tx, signed=False)
    tasks.give_up(tx, id=failed.id)
    waiting = queued(tx, needs=[open_one.id, failed.id], signed=False)
    facts = claims.waiting_facts(tx, waiting, tx.now, claims.standing(tx))
    assert (facts.failed_need, facts.need, facts.needs_more) == (failed.id, failed.id, 1)
    assert (facts.series, facts.agreed_before, facts.expired) == (None, False, False)
    sign(tx, waiting)
    agentwaits.wait(tx, agent="claude", reason="billing", until=None, run=None)
    facts = claims.waiting_facts(tx, now(tx, waiting.id), Millis(tx.now + HOUR))
    assert facts.expired and facts.agent is not None and facts.agent.reason == "billing"
    tasks.edit(tx, id=waiting.id, expect_revision=1, title="other")
    assert claims.waiting_facts(tx, now(tx, waiting.id), tx.now).agreed_before


def test_a_hold_of_nobodys_run_is_in_no_ones_way(tx: Tx) -> None:
    queued(tx, paths=["."], repository="/work/repository")
    held(tx)
    assert custody.get(tx, CustodyId("hold-1")) is not None
    assert claims.claimable(tx) is not None
