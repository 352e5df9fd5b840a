"""Attempts: which run was made of which task, under which claim and which terms.

Written in the transaction that admits the run, so that what is used of a series is known whatever happens after. Told
in the chain of its run and gone with it, when that is pruned.
"""

from typing import ClassVar, Final

from store import entries, operations, series, tasks
from store.refusal import Refusal
from store.rows import Record, columns, many, one, sure, values
from store.tx import Tx
from store.vocab import (
    Millis,
    OperationId,
    OperationState,
    RefusalReason,
    RunId,
    SeriesId,
    SeriesState,
    TaskId,
    TaskState,
)


class Attempt(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "attempts"
    KEY: ClassVar[tuple[str, ...]] = ("run",)

    run: RunId
    task: TaskId
    n: int
    """From 1, over all series of the task; not given twice."""
    series: SeriesId
    operation: OperationId
    token: str
    """Of the claim under which it was begun; the task may have another by now."""
    counted: bool
    """Against its series: from admission on, until its outcome says that it does not."""
    at: Millis


ADD: Final = f"INSERT INTO attempts {values(Attempt)} RETURNING {columns(Attempt)}"
BEGUN: Final = f"UPDATE tasks SET begun = begun + 1 WHERE id = :id RETURNING {columns(tasks.Task)}"
OF_RUN: Final = f"SELECT {columns(Attempt)} FROM attempts WHERE run = :run"
OF_TASK: Final = f"SELECT {columns(Attempt)} FROM attempts WHERE task = :task ORDER BY n"
LATEST: Final = f"SELECT {columns(Attempt)} FROM attempts WHERE task = :task ORDER BY n DESC LIMIT 1"
UNCOUNT: Final = f"UPDATE attempts SET counted = 0 WHERE run = :run AND counted = 1 RETURNING {columns(Attempt)}"


def add(tx: Tx, *, run: RunId, task: TaskId, series: SeriesId, operation: OperationId, token: str) -> Attempt | Refusal:
    """The run is this task's next attempt; its operation is ``admitted`` with it.

    Refused: ``stale`` where the claim is another's by now, its operation is not open, or the terms are not those in
    force; ``series-spent`` where nothing is left of them (facts: ``what`` of attempts, money, time).
    """
    at_work = tasks.get(tx, task)
    if at_work is None or at_work.state is not TaskState.WORKING or at_work.token != token or at_work.series != series:
        return Refusal(RefusalReason.STALE, {"task": task})
    set_out = operations.get(tx, operation)
    if (
        set_out is None
        or set_out.state is not OperationState.CLAIMED
        or (set_out.task, set_out.token) != (task, token)
        or set_out.incarnation != at_work.incarnation
    ):
        return Refusal(RefusalReason.STALE, {"task": task})
    what = _used_up(tx, series)
    if what is not None:
        return Refusal(RefusalReason.SERIES_SPENT, {"task": task, "what": what})
    begun = sure(tx, tasks.Task, BEGUN, {"id": task})
    entries.note(tx, entries.LEDGER_CHAIN, "task.begun", begun, "begun")
    given: dict[str, object] = {"run": run, "task": task, "n": begun.begun, "series": series, "operation": operation}
    row = sure(tx, Attempt, ADD, given | {"token": token, "counted": True, "at": tx.now})
    entries.note(tx, run, "attempt.begun", row)
    operations.move(tx, id=operation, expect=[OperationState.CLAIMED], to=OperationState.ADMITTED)
    return row


def _used_up(tx: Tx, id: SeriesId) -> str | None:
    agreed = series.get(tx, id)
    if agreed is None or agreed.state is not SeriesState.OPEN or agreed.expires_at <= tx.now:
        return "time"
    left = series.left(tx, agreed)
    if left.attempts <= 0:
        return "attempts"
    return "money" if left.nothing else None


def of_run(tx: Tx, run: RunId) -> Attempt | None:
    """None: the run is no attempt at a task."""
    return one(tx, Attempt, OF_RUN, {"run": run})


def of_task(tx: Tx, task: TaskId) -> list[Attempt]:
    """The newest last; those whose runs were pruned are gone."""
    return many(tx, Attempt, OF_TASK, {"task": task})


def latest(tx: Tx, task: TaskId) -> Attempt | None:
    return one(tx, Attempt, LATEST, {"task": task})


def uncount(tx: Tx, *, run: RunId) -> Attempt | None:
    """For ``outcomes``: it does not use up its series. None: it did not count before."""
    row = one(tx, Attempt, UNCOUNT, {"run": run})
    if row is not None:
        entries.note(tx, run, "attempt.uncounted", row, "counted")
    return row
