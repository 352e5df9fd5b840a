"""How the claim of a console that is gone becomes this console's, by compare-and-set: alone, or with the hold of its
run."""

from coordinator.house import House
from store import attempts, claims, tasks
from store.db import Tx
from store.tasks import Task
from store.vocab import RunId


def take(tx: Tx, task: Task, house: House) -> Task | None:
    """None: another console was first."""
    return claims.seize(
        tx, task=task.id, expect_token=task.token or "", token=house.ids.secret(), incarnation=house.incarnation
    )


def take_with_run(tx: Tx, run: RunId, house: House, gone: set[str]) -> None:
    """Who takes up a hold has the task whose attempt it is, in the same transaction, where that claim's owner is gone
    too."""
    attempt = attempts.of_run(tx, run)
    task = None if attempt is None else tasks.get(tx, attempt.task)
    newest = None if task is None else attempts.latest(tx, task.id)
    if task is None or newest is None or newest.run != run or task.token is None or task.incarnation not in gone:
        return
    take(tx, task, house)
