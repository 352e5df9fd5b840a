"""Which task waits for which: the edges, the circles that must not be, and the count that each task keeps of them.

The count (``tasks.unmet``) is bookkeeping of the claim: it is lowered in the transaction in which a task is done, and
nothing is noted of the tasks that wait.
"""

from collections.abc import Collection
from typing import Final

from store.canonical import dumps
from store.tx import Tx
from store.vocab import TaskId, TaskState

NEEDS: Final = "SELECT needs FROM task_dependencies WHERE task = :task ORDER BY needs"
NEEDED_BY: Final = "SELECT task FROM task_dependencies WHERE needs = :task ORDER BY task"
# Of those named, those that are no task.
KNOWN: Final = "SELECT id FROM tasks WHERE id IN (SELECT value FROM json_each(:tasks))"
PUT: Final = "INSERT INTO task_dependencies (task, needs) VALUES (:task, :needs)"
DROP: Final = "DELETE FROM task_dependencies WHERE task = :task"
COUNT: Final = f"""
UPDATE tasks SET unmet = (SELECT count(*) FROM task_dependencies JOIN tasks AS needed ON needed.id = needs
  WHERE task = :task AND needed.state <> '{TaskState.DONE}')
WHERE id = :task
"""
LOWER: Final = """
UPDATE tasks SET unmet = unmet - 1 WHERE id IN (SELECT task FROM task_dependencies WHERE needs = :task)
"""


def needs_of(tx: Tx, task: TaskId) -> tuple[TaskId, ...]:
    """What it waits for, also what is done meanwhile."""
    return tuple(TaskId(id) for (id,) in tx.conn.execute(NEEDS, {"task": task}))


def needed_by(tx: Tx, task: TaskId) -> tuple[TaskId, ...]:
    return tuple(TaskId(id) for (id,) in tx.conn.execute(NEEDED_BY, {"task": task}))


def unknown(tx: Tx, needs: Collection[TaskId]) -> TaskId | None:
    """The first of them that is no task."""
    known = {id for (id,) in tx.conn.execute(KNOWN, {"tasks": dumps(sorted(set(needs)))})}
    return next((one for one in needs if one not in known), None)


def circle(tx: Tx, task: TaskId, needs: Collection[TaskId]) -> tuple[TaskId, ...]:
    """The way back to the task, were it to need these: each needs the next, the last is the task again. (): none."""
    came_from: dict[TaskId, TaskId] = {}
    ahead = [task] if task in needs else []
    for one in needs:
        if one not in came_from:
            came_from[one] = task
            ahead.append(one)
    while ahead:
        at = ahead.pop()
        if at == task:
            way = [task]
            while (at := came_from[at]) != task:
                way.append(at)
            return (task, *reversed(way))
        for further in needs_of(tx, at):
            if further not in came_from:
                came_from[further] = at
                ahead.append(further)
    return ()


def put(tx: Tx, task: TaskId, needs: Collection[TaskId]) -> None:
    """In the place of what it needed before; counts those that are not done."""
    tx.conn.execute(DROP, {"task": task})
    tx.conn.executemany(PUT, [{"task": task, "needs": one} for one in sorted(set(needs))])
    tx.conn.execute(COUNT, {"task": task})


def met(tx: Tx, task: TaskId) -> None:
    """It is done: what waits for it waits for one less."""
    tx.conn.execute(LOWER, {"task": task})
