"""What tests of the queue begin from: a task in line that is agreed to, a claim, an attempt, an attempt that ended."""

from collections.abc import Sequence

from store import attempts, authorizations, claims, operations, outcomes, runs, series, tasks
from store.attempts import Attempt
from store.canonical import dumps
from store.refusal import Refusal
from store.series import Series
from store.tasks import Task
from store.tx import Tx
from store.vocab import IncarnationId, MicroUsd, Millis, OperationId, RunId, RunOutcome, SeriesId, TaskId
from tests.store.scenes import INCARNATION, admitted

HOUR = 3_600_000


def queued(
    tx: Tx,
    *,
    repository: str = "/work/repository",
    paths: Sequence[str] = (),
    agent: str = "claude",
    priority: int = 0,
    needs: Sequence[TaskId] = (),
    signed: bool = True,
    attempts: int = 3,
    budget: int | None = None,
) -> Task:
    """In line; reserves nothing where no paths are named."""
    task = tasks.add(
        tx, title="slates", instruction="Mend the roof.", repository=repository, paths=dumps(list(paths)),
        wishes=dumps({"agent": agent}), priority=priority, needs=needs, operator="ada",
    )  # fmt: skip
    assert not isinstance(task, Refusal), task
    if signed:
        sign(tx, task, attempts=attempts, budget=budget)
    return now(tx, task.id)


def sign(tx: Tx, task: Task, *, attempts: int = 3, budget: int | None = None, lasts: int = HOUR) -> Series:
    made = len(tx.conn.execute("SELECT id FROM series").fetchall())
    row = series.sign(
        tx, id=SeriesId(f"series-{made + 1}"), task=task.id, revision=task.revision, terms="{}", digest="d",
        attempts=attempts, budget=None if budget is None else MicroUsd(budget), operator="ada",
        expires_at=Millis(tx.now + lasts),
    )  # fmt: skip
    assert tasks.attach_series(tx, id=task.id, revision=task.revision, series=row.id) is not None
    return row


def now(tx: Tx, id: TaskId) -> Task:
    task = tasks.get(tx, id)
    assert task is not None
    return task


def begun(tx: Tx, *, incarnation: IncarnationId = INCARNATION) -> OperationId:
    made = len(tx.conn.execute("SELECT id FROM operations").fetchall())
    return operations.begin(tx, id=OperationId(f"operation-{made + 1}"), incarnation=incarnation).id


def claimed(
    tx: Tx, *, incarnation: IncarnationId = INCARNATION, agents: Sequence[str] = (), repositories: Sequence[str] = ()
) -> Task | None:
    """What is next, claimed by an operation of its own; the token is named after that."""
    operation = begun(tx, incarnation=incarnation)
    return claims.take(
        tx, operation=operation, token=f"token-of-{operation}", incarnation=incarnation, machine="machine-1", uid=1000,
        blocked_agents=agents, blocked_repositories=repositories,
    )  # fmt: skip


def attempt(tx: Tx, task: Task, run: RunId | None = None) -> Attempt:
    """A run of a claimed task, by the operation that claimed it."""
    assert task.token is not None and task.series is not None
    operation = next(one.id for one in operations.open_of(tx) if one.token == task.token)
    run = admitted(tx).id if run is None else run
    made = attempts.add(tx, run=run, task=task.id, series=task.series, operation=operation, token=task.token)
    assert isinstance(made, Attempt), made
    return made


def ended(tx: Tx, run: RunId, *, counted: bool = True) -> None:
    """Its outcome, as the coordinator deals with it, up to its being carried out."""
    row = runs.get(tx, run)
    assert row is not None
    authorizations.close(tx, id=row.authorization_id, reason="shutdown")
    runs.end(tx, id=run, outcome=RunOutcome.INTERRUPTED, reason="shutdown")
    assert outcomes.pending(tx, run=run) is not None
    assert outcomes.decide(tx, run=run, verdict="{}") is not None
    assert outcomes.acknowledge(tx, run=run, counted=counted) is not None
