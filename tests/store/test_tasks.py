"""Tasks in line: what may be done with them in each state; what becomes of their terms and of what waits for them."""

import sqlite3

import pytest

from store import bookcheck, claims, series, tasks
from store.refusal import Refusal
from store.tasks import Task
from store.tx import Tx
from store.vocab import RefusalReason, SeriesState, TaskId, TaskState
from tests.store.inline import attempt, claimed, ended, now, queued, sign

NOBODY = TaskId(99)


def refused(found: object) -> RefusalReason:
    assert isinstance(found, Refusal), found
    return found.reason


def made(found: Task | Refusal) -> Task:
    assert isinstance(found, Task), found
    return found


def test_it_is_put_in_line_and_given_back_as_it_is(tx: Tx) -> None:
    task = queued(tx, paths=("src/b", "src/a"), agent="codex", priority=3, signed=False)
    assert (task.state, task.revision, task.series, task.agent, task.place) == ("queued", 1, None, "codex", "src/b/")
    assert made(tasks.listing(tx)[0]) == task
    second, third = queued(tx, priority=9), queued(tx)
    assert [one.id for one in tasks.in_line(tx)] == [second.id, task.id, third.id]
    assert [one.id for one in tasks.listing(tx, after=task.id, limit=1)] == [second.id]
    made(tasks.give_up(tx, id=third.id))
    assert [one.id for one in tasks.listing(tx, states=[TaskState.STOPPED])] == [third.id]
    assert tasks.counts(tx) == dict.fromkeys(TaskState, 0) | {TaskState.QUEUED: 2, TaskState.STOPPED: 1}


def test_one_for_each_repository_of_a_parent_and_no_second(tx: Tx) -> None:
    first = queued(tx)
    given = {"title": "t", "instruction": "i", "paths": "[]", "wishes": "{}", "priority": 0, "needs": ()}
    made(tasks.add(tx, repository="/b", operator="ada", parent=first.id, **given))  # type: ignore[arg-type]
    with pytest.raises(sqlite3.IntegrityError):
        tasks.add(tx, repository="/b", operator="ada", parent=first.id, **given)  # type: ignore[arg-type]


def test_what_it_needs_is_there_and_leads_back_to_no_task(tx: Tx) -> None:
    a = queued(tx)
    b = queued(tx, needs=[a.id])
    c = queued(tx, needs=[b.id, a.id])
    assert (c.unmet, tasks.needs_of(tx, c.id), tasks.needed_by(tx, a.id)) == (2, (a.id, b.id), (b.id, c.id))
    unknown = tasks.edit(tx, id=a.id, expect_revision=1, needs=[NOBODY])
    assert refused(unknown) is RefusalReason.NO_SUCH_TASK
    circle = tasks.edit(tx, id=a.id, expect_revision=1, needs=[c.id])
    assert isinstance(circle, Refusal) and circle.reason is RefusalReason.DEPENDENCY_CYCLE
    assert circle.facts["tasks"] in (f"{a.id} → {c.id} → {b.id} → {a.id}", f"{a.id} → {c.id} → {a.id}")
    own = tasks.edit(tx, id=a.id, expect_revision=1, needs=[a.id])
    assert isinstance(own, Refusal) and own.facts["tasks"] == f"{a.id} → {a.id}"
    assert made(tasks.edit(tx, id=c.id, expect_revision=1, needs=[])).unmet == 0
    assert now(tx, c.id).series is not None, "what it waits for is no part of what was agreed to"


@pytest.mark.parametrize("end", ["done", "accepted"])
def test_done_lowers_what_waits_and_ends_its_terms(tx: Tx, end: str) -> None:
    first = queued(tx)
    waiting = queued(tx, needs=[first.id])
    task = claimed(tx)
    assert task is not None and task.token is not None and task.series is not None
    if end == "done":
        assert claims.finish(tx, task=task.id, token=task.token, to=TaskState.DONE) is not None
    else:
        claims.needs_operator(tx, task=task.id, token=task.token, reason="question", detail="{}")
        made(tasks.accept(tx, id=task.id))
    assert now(tx, waiting.id).unmet == 0
    agreed = series.get(tx, task.series)
    assert agreed is not None and (agreed.state, agreed.close_reason) == (SeriesState.CLOSED, "done")
    assert tasks.ended(tx) == [now(tx, first.id)]
    next_one = claimed(tx)
    assert next_one is not None and next_one.id == waiting.id
    assert list(bookcheck.unsound(tx)) == []


@pytest.mark.parametrize(
    ("what", "stale"),
    [
        ({"instruction": "Mend the wall."}, True),
        ({"wishes": '{"agent":"codex"}'}, True),
        ({"paths": '["walls"]'}, True),
        ({"title": "walls"}, True),
        ({"priority": 7}, False),
        ({"instruction": "Mend the roof."}, False),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_an_edit_makes_stale_what_was_agreed_to_where_it_was_agreed_to(
    tx: Tx, what: dict[str, str], stale: bool
) -> None:
    task = queued(tx)
    assert task.series is not None
    edited = made(tasks.edit(tx, id=task.id, expect_revision=1, **what))  # type: ignore[arg-type]
    agreed = series.get(tx, task.series)
    assert agreed is not None and (agreed.close_reason == "edited") == stale == (edited.series is None)
    assert edited.revision == (1 if what == {"instruction": "Mend the roof."} else 2)
    assert (claims.claimable(tx) is None) == stale
    if edited.revision == 2:
        assert refused(tasks.edit(tx, id=task.id, expect_revision=1, title="x")) is RefusalReason.STALE
        assert tasks.attach_series(tx, id=task.id, revision=1, series=task.series) is None, "what was shown is gone"
    if stale:
        sign(tx, edited)
        assert claims.claimable(tx) == task.id


def test_other_terms_take_the_place_of_those_before(tx: Tx) -> None:
    task = queued(tx)
    sign(tx, task)
    assert task.series is not None
    before = series.get(tx, task.series)
    assert before is not None and before.close_reason == "replaced"
    newest = series.newest(tx, task.id)
    assert newest is not None and newest.id == now(tx, task.id).series


def test_it_is_kept_back_let_go_and_put_forward(tx: Tx) -> None:
    first, second = queued(tx), queued(tx)
    made(tasks.hold(tx, id=first.id, held=True))
    assert claims.claimable(tx) == second.id
    made(tasks.hold(tx, id=first.id, held=False))
    assert claims.claimable(tx) == first.id
    made(tasks.edit(tx, id=second.id, expect_revision=second.revision, priority=1))
    assert claims.claimable(tx) == second.id


def in_state(tx: Tx, state: TaskState) -> Task:
    task = queued(tx)
    if state is TaskState.QUEUED:
        return task
    claimed_one = claimed(tx)
    assert claimed_one is not None and claimed_one.token is not None
    if state is TaskState.NEEDS_OPERATOR:
        claims.needs_operator(tx, task=task.id, token=claimed_one.token, reason="question", detail="{}")
    elif state is not TaskState.WORKING:
        claims.finish(tx, task=task.id, token=claimed_one.token, to=state, reason="failed")
    return now(tx, task.id)


Q, W, N, D, F, S = TaskState
ALLOWED = {
    "edit": {Q, N, F, S},
    "hold": {Q, W, N, F, S},
    "retry": {N, F, S},
    "accept": {N},
    "give_up": {Q, N},
}
REFUSED = {W: RefusalReason.TASK_WORKING, D: RefusalReason.TASK_OVER}


@pytest.mark.parametrize("state", TaskState)
@pytest.mark.parametrize("deed", ALLOWED)
def test_what_may_be_done_in_each_state(tx: Tx, deed: str, state: TaskState) -> None:
    task = in_state(tx, state)
    more = {"edit": {"expect_revision": 1, "title": "x"}, "hold": {"held": True}}.get(deed, {})
    found = getattr(tasks, deed)(tx, id=task.id, **more)
    assert isinstance(found, Task) == (state in ALLOWED[deed]), found
    if isinstance(found, Refusal):
        elsewhere = RefusalReason.TASK_OVER if deed == "give_up" else RefusalReason.TASK_NOT_OVER
        assert found.reason is REFUSED.get(state, elsewhere)
    assert refused(getattr(tasks, deed)(tx, id=NOBODY, **more)) is RefusalReason.NO_SUCH_TASK
    assert list(bookcheck.unsound(tx)) == []


def test_retried_it_is_as_new_and_its_terms_stand(tx: Tx) -> None:
    task = in_state(tx, TaskState.NEEDS_OPERATOR)
    again = made(tasks.retry(tx, id=task.id))
    assert (again.token, again.counted, again.not_before, again.reason, again.ended_at) == (None, 0, 0, "", None)
    assert claims.claimable(tx) == task.id


def test_one_that_nothing_was_begun_of_is_gone_and_the_ledger_knows_it(tx: Tx) -> None:
    first = queued(tx)
    waiting = queued(tx, needs=[first.id])
    assert refused(tasks.remove(tx, id=first.id)) is RefusalReason.TASK_NEEDED
    made(tasks.remove(tx, id=waiting.id))
    made(tasks.remove(tx, id=first.id))
    assert tasks.listing(tx) == [] and claims.claimable(tx) is None
    assert queued(tx).id == waiting.id + 1, "a number is never given twice"


def test_one_with_attempts_is_only_stopped(tx: Tx) -> None:
    queued(tx)
    task = claimed(tx)
    assert task is not None and task.token is not None
    assert refused(tasks.remove(tx, id=task.id)) is RefusalReason.TASK_WORKING
    ended(tx, attempt(tx, task).run)
    assert claims.release(tx, task=task.id, token=task.token, counted=True) is not None
    assert made(tasks.remove(tx, id=task.id)).state is TaskState.STOPPED
    assert made(tasks.remove(tx, id=task.id)).state is TaskState.STOPPED
