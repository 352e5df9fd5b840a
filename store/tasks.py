"""Tasks: work that waits in line, and what the operator may do with it. Who works at one is in ``claims``.

A task is written when something becomes of it, never because it waits: what it waits for is asked by the claim and by
whoever shows it. What its JSON columns say is not known here, but for the few facts that the schema takes out of them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Final

from store import dependencies, entries, moves, reservations, series as agreements
from store.canonical import dumps, loads, storable
from store.refusal import Refusal
from store.rows import Record, columns, many, one, sure, values
from store.tx import Tx
from store.vocab import CustodyState, IncarnationId, Millis, RefusalReason, RunId, SeriesId, TaskId, TaskState


class Task(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "tasks"
    DIGESTED: ClassVar[tuple[str, ...]] = ("instruction",)
    UNTRACKED: ClassVar[tuple[str, ...]] = ("agent", "place", "places", "unmet", "agreed_until", "spent")

    id: TaskId
    parent: TaskId | None
    """Of one over several repositories: the first of them, which may be removed."""
    state: TaskState
    title: str
    instruction: str
    repository: str
    paths: str
    """Canonical JSON list of what it reserves, relative to the repository; ``.`` is all of it, ``[]`` nothing."""
    wishes: str
    """Canonical JSON of ``coordinator.tasks.tasktypes.Wishes``."""
    agent: str
    """Profile that the wishes name; '' while nobody has said."""
    place: str | None
    """The first of the paths, as ``reservations.places`` has it."""
    places: str
    """The others in one text, for the claim."""
    priority: int
    """Higher first."""
    held: bool
    """Kept back by the operator."""
    revision: int
    series: SeriesId | None
    """The terms in force; None: not agreed to, or stale since an edit."""
    unmet: int
    """How many of its dependencies are not done."""
    agreed_until: Millis
    """When its series expires; 0 without one."""
    spent: bool
    """Nothing was left of its series when it was put in line."""
    not_before: Millis
    counted: int
    """Attempts since it was put in line (again)."""
    begun: int
    """Attempts ever."""
    token: str | None
    incarnation: IncarnationId | None
    machine: str | None
    uid: int | None
    reason: str
    """A ``TaskReason``, or ''."""
    detail: str
    """Canonical JSON of the facts of that reason."""
    operator: str
    created_at: Millis
    claimed_at: Millis | None
    ended_at: Millis | None


EDITABLE: Final = frozenset({TaskState.QUEUED, TaskState.NEEDS_OPERATOR, TaskState.FAILED, TaskState.STOPPED})
UNCLAIMED: Final = "token = NULL, incarnation = NULL, machine = NULL, uid = NULL, claimed_at = NULL"
"""As a part of statements: nobody works at it any more."""
CLAIM: Final = ("token", "incarnation", "machine", "uid", "claimed_at")
WHY: Final = ("reason", "detail")
_EDITABLE: Final = ", ".join(sorted(f"'{state}'" for state in EDITABLE))
_RETRIED: Final = moves.sources(moves.TASK, TaskState.QUEUED)
_GIVEN_UP: Final = f"'{TaskState.QUEUED}', '{TaskState.NEEDS_OPERATOR}'"

ADD: Final = f"INSERT INTO tasks {values(Task, 'id')} RETURNING {columns(Task)}"
GET: Final = f"SELECT {columns(Task)} FROM tasks WHERE id = :id"
# By number; by the order in which they would be begun; by their end, the newest first.
LISTING: Final = f"SELECT {columns(Task)} FROM tasks WHERE id > :after ORDER BY id LIMIT :limit"
LISTING_OF_STATES: Final = f"""
SELECT {columns(Task)} FROM tasks WHERE id > :after AND state IN (SELECT value FROM json_each(:states))
ORDER BY id LIMIT :limit
"""
IN_LINE: Final = f"""
SELECT {columns(Task)} FROM tasks WHERE state = '{TaskState.QUEUED}' ORDER BY priority DESC, id LIMIT :limit
"""
ENDED: Final = f"""
SELECT {columns(Task)} FROM tasks WHERE state IN ('{TaskState.DONE}', '{TaskState.FAILED}', '{TaskState.STOPPED}')
ORDER BY ended_at DESC, id DESC LIMIT :limit
"""
COUNTS: Final = "SELECT state, count(*) FROM tasks GROUP BY state"
EDIT: Final = f"""
UPDATE tasks SET title = :title, instruction = :instruction, paths = :paths, wishes = :wishes, agent = :agent,
  place = :place, places = :places, priority = :priority, revision = revision + 1
WHERE id = :id AND revision = :expect_revision AND state IN ({_EDITABLE}) RETURNING {columns(Task)}
"""
# Terms that were agreed to for something else.
UNSIGN: Final = f"UPDATE tasks SET series = NULL, agreed_until = 0, spent = 0 WHERE id = :id RETURNING {columns(Task)}"
# Agreed to as it stands; not once it is worked at or done.
ATTACH: Final = f"""
UPDATE tasks SET series = :series, spent = {agreements.NOTHING_LEFT.format(series=":series")},
  agreed_until = (SELECT expires_at FROM series WHERE series.id = :series)
WHERE id = :id AND revision = :revision AND state IN ({_EDITABLE}) RETURNING {columns(Task)}
"""
HOLD: Final = f"UPDATE tasks SET held = :held WHERE id = :id RETURNING {columns(Task)}"
# In line again, as if it were new.
RETRY: Final = f"""
UPDATE tasks SET state = '{TaskState.QUEUED}', {UNCLAIMED}, not_before = 0, counted = 0, reason = '', detail = '{{}}',
  ended_at = NULL, spent = series IS NOT NULL AND {agreements.NOTHING_LEFT.format(series="tasks.series")}
WHERE id = :id AND state IN ({_RETRIED}) AND state <> '{TaskState.WORKING}' RETURNING {columns(Task)}
"""
ACCEPT: Final = f"""
UPDATE tasks SET state = '{TaskState.DONE}', {UNCLAIMED}, reason = '', detail = '{{}}', ended_at = :now
WHERE id = :id AND state = '{TaskState.NEEDS_OPERATOR}' RETURNING {columns(Task)}
"""
GIVE_UP: Final = f"""
UPDATE tasks SET state = '{TaskState.STOPPED}', {UNCLAIMED}, reason = 'given-up', detail = '{{}}', ended_at = :now
WHERE id = :id AND state IN ({_GIVEN_UP}) RETURNING {columns(Task)}
"""
UNNEEDED: Final = "DELETE FROM task_dependencies WHERE task = :id"
REMOVE: Final = f"DELETE FROM tasks WHERE id = :id RETURNING {columns(Task)}"
# A run of it whose hold is not over.
ENDING: Final = f"""
SELECT custody.run FROM attempts JOIN custody ON custody.run = attempts.run
WHERE attempts.task = :task AND custody.state <> '{CustodyState.CLOSED}' LIMIT 1
"""
# For the index of tasks by series: what of it is used was told anew.
RECKON: Final = f"""
UPDATE tasks SET spent = series IS NOT NULL AND {agreements.NOTHING_LEFT.format(series="tasks.series")} WHERE id = :id
"""


def add(
    tx: Tx,
    *,
    title: str,
    instruction: str,
    repository: str,
    paths: str,
    wishes: str,
    priority: int,
    needs: Sequence[TaskId],
    operator: str,
    parent: TaskId | None = None,
) -> Task | Refusal:
    """Put it in line. It may need what failed or was stopped: that is shown, and may be tried again.

    Raises:
        sqlite3.IntegrityError: there is one of this parent in this repository already.
        ValueError: ``paths`` or ``wishes`` is no JSON.
    """
    missing = dependencies.unknown(tx, needs)
    if missing is not None:
        return Refusal(RefusalReason.NO_SUCH_TASK, {"task": missing})
    row = sure(
        tx,
        Task,
        ADD,
        {
            "parent": parent,
            "state": TaskState.QUEUED,
            "title": storable(title),
            "instruction": storable(instruction),
            "repository": storable(repository),
            "paths": storable(paths),
            "wishes": storable(wishes),
            **_taken_out(paths, wishes),
            "priority": priority,
            "held": False,
            "revision": 1,
            "series": None,
            "unmet": 0,
            "agreed_until": 0,
            "spent": False,
            "not_before": 0,
            "counted": 0,
            "begun": 0,
            "token": None,
            "incarnation": None,
            "machine": None,
            "uid": None,
            "reason": "",
            "detail": "{}",
            "operator": operator,
            "created_at": tx.now,
            "claimed_at": None,
            "ended_at": None,
        },
    )
    if needs:
        dependencies.put(tx, row.id, needs)
    needed = dependencies.needs_of(tx, row.id)
    entries.note(tx, entries.LEDGER_CHAIN, "task.added", row, needs=needed)
    return sure(tx, Task, GET, {"id": row.id}) if needs else row


def _taken_out(paths: str, wishes: str) -> dict[str, object]:
    """What the claim asks of the JSON columns, in columns that an index has."""
    found = reservations.places(storable(paths))
    return {
        "agent": loads(wishes).get("agent") or "",
        "place": found[0] if found else None,
        "places": reservations.one_text(found[1:]),
    }


def get(tx: Tx, id: TaskId) -> Task | None:
    return one(tx, Task, GET, {"id": id})


def listing(
    tx: Tx, *, states: Collection[TaskState] | None = None, limit: int = 500, after: TaskId | None = None
) -> list[Task]:
    """By number, from behind ``after``."""
    given: dict[str, object] = {"after": 0 if after is None else after, "limit": limit}
    if states is None:
        return many(tx, Task, LISTING, given)
    return many(tx, Task, LISTING_OF_STATES, given | {"states": dumps(sorted(states))})


def in_line(tx: Tx, *, limit: int = 500) -> list[Task]:
    """Those that are queued, in the order in which they would be begun."""
    return many(tx, Task, IN_LINE, {"limit": limit})


def ended(tx: Tx, *, limit: int = 500) -> list[Task]:
    """Done, failed or stopped, the newest first."""
    return many(tx, Task, ENDED, {"limit": limit})


def counts(tx: Tx) -> Mapping[TaskState, int]:
    """How many there are in each state; none is left out."""
    found = dict(tx.conn.execute(COUNTS).fetchall())
    return {state: found.get(state.value, 0) for state in TaskState}


needs_of = dependencies.needs_of
needed_by = dependencies.needed_by


def edit(
    tx: Tx,
    *,
    id: TaskId,
    expect_revision: int,
    title: str | None = None,
    instruction: str | None = None,
    paths: str | None = None,
    wishes: str | None = None,
    priority: int | None = None,
    needs: Sequence[TaskId] | None = None,
) -> Task | Refusal:
    """Change what is given; what is None, or as it was, stays. Nothing that changes: the task as it stands.

    Anything but priority and dependencies makes the terms stale that were agreed to: their series is closed.
    Refused: not there, worked at (or its last hold is not over), done, changed by somebody else meanwhile, a need that
    is no task, a circle.
    """
    task = get(tx, id)
    refused = _may_change(tx, id, task)
    if task is None or refused is not None:
        return refused or Refusal(RefusalReason.NO_SUCH_TASK, {"task": id})
    if task.revision != expect_revision:
        return Refusal(RefusalReason.STALE, {"task": id, "was": expect_revision, "is": task.revision})
    if needs is not None:
        refused = _may_need(tx, id, needs)
        if refused is not None:
            return refused
    before = dependencies.needs_of(tx, id)
    new_needs = needs is not None and set(needs) != set(before)
    given = {"title": title, "instruction": instruction, "paths": paths, "wishes": wishes}
    given = {name: storable(text) for name, text in given.items() if text is not None}
    agreed = [name for name, text in given.items() if getattr(task, name) != text]
    changed = agreed + (["priority"] if priority is not None and priority != task.priority else [])
    if not changed and not new_needs:
        return task
    was = {name: getattr(task, name) for name in ("title", "instruction", "paths", "wishes", "priority")}
    now = was | given | ({} if priority is None else {"priority": priority})
    now |= _taken_out(str(now["paths"]), str(now["wishes"]))
    row = sure(tx, Task, EDIT, now | {"id": id, "expect_revision": expect_revision})
    more: dict[str, object] = {}
    if new_needs and needs is not None:
        dependencies.put(tx, id, needs)
        more["needs"] = dependencies.needs_of(tx, id)
    if agreed and row.series is not None:
        agreements.close(tx, id=row.series, reason="edited")
        row = sure(tx, Task, UNSIGN, {"id": id})
        changed.append("series")
    entries.note(tx, entries.LEDGER_CHAIN, "task.edited", row, "revision", *changed, **more)
    return sure(tx, Task, GET, {"id": id})


def _may_change(tx: Tx, id: TaskId, task: Task | None) -> Refusal | None:
    if task is None:
        return Refusal(RefusalReason.NO_SUCH_TASK, {"task": id})
    if task.state is TaskState.DONE:
        return Refusal(RefusalReason.TASK_OVER, {"task": id})
    run = ending(tx, id)
    if task.state is TaskState.WORKING or run is not None:
        return Refusal(RefusalReason.TASK_WORKING, {"task": id, "run": run})
    return None


def _may_need(tx: Tx, id: TaskId, needs: Sequence[TaskId]) -> Refusal | None:
    missing = dependencies.unknown(tx, needs)
    if missing is not None:
        return Refusal(RefusalReason.NO_SUCH_TASK, {"task": missing})
    circle = dependencies.circle(tx, id, needs)
    if circle:
        return Refusal(RefusalReason.DEPENDENCY_CYCLE, {"task": id, "tasks": " → ".join(map(str, circle))})
    return None


def ending(tx: Tx, task: TaskId) -> RunId | None:
    """A run of it whose hold is not over, whatever became of the task."""
    row = tx.conn.execute(ENDING, {"task": task}).fetchone()
    return None if row is None else RunId(row[0])


def attach_series(tx: Tx, *, id: TaskId, revision: int, series: SeriesId) -> Task | None:
    """These terms are in force now, those before are closed. None: the task is not as it was shown, or is worked at."""
    before = get(tx, id)
    row = one(tx, Task, ATTACH, {"id": id, "revision": revision, "series": series})
    if row is None or before is None:
        return None
    if before.series is not None and before.series != series:
        agreements.close(tx, id=before.series, reason="replaced")
    entries.note(tx, entries.LEDGER_CHAIN, "task.signed", row, "series")
    return row


def hold(tx: Tx, *, id: TaskId, held: bool) -> Task | Refusal:
    """Keep it back, or no longer. One that is worked at is not ended by it: it is kept back should it come in line."""
    task = get(tx, id)
    if task is None:
        return Refusal(RefusalReason.NO_SUCH_TASK, {"task": id})
    if task.state is TaskState.DONE:
        return Refusal(RefusalReason.TASK_OVER, {"task": id})
    if task.held == held:
        return task
    row = sure(tx, Task, HOLD, {"id": id, "held": held})
    entries.note(tx, entries.LEDGER_CHAIN, "task.held" if held else "task.let-go", row, "held")
    return row


def retry(tx: Tx, *, id: TaskId) -> Task | Refusal:
    """In line again, its waits, counts and claim as if it were new; what was agreed to stands, as far as it is left."""
    row = one(tx, Task, RETRY, {"id": id})
    if row is None:
        return _not(tx, id, RefusalReason.TASK_NOT_OVER)
    again = ("state", *CLAIM, "not_before", "counted", *WHY, "ended_at")
    entries.note(tx, entries.LEDGER_CHAIN, "task.retried", row, *again)
    return row


def accept(tx: Tx, *, id: TaskId) -> Task | Refusal:
    """The operator takes the work of one that needs him as it is: done."""
    row = one(tx, Task, ACCEPT, {"id": id, "now": tx.now})
    if row is None:
        return _not(tx, id, RefusalReason.TASK_NOT_OVER)
    entries.note(tx, entries.LEDGER_CHAIN, "task.accepted", row, "state", *CLAIM, *WHY, "ended_at")
    done(tx, row)
    return row


def done(tx: Tx, row: Task) -> None:
    """What goes with it wherever a task becomes done: its terms are over, what waits for it waits for one less."""
    dependencies.met(tx, row.id)
    if row.series is not None:
        agreements.close(tx, id=row.series, reason="done")


def give_up(tx: Tx, *, id: TaskId) -> Task | Refusal:
    """Out of the line, for now: it may be tried again."""
    row = one(tx, Task, GIVE_UP, {"id": id, "now": tx.now})
    if row is None:
        return _not(tx, id, RefusalReason.TASK_OVER)
    entries.note(tx, entries.LEDGER_CHAIN, "task.given-up", row, "state", *CLAIM, *WHY, "ended_at")
    return row


def remove(tx: Tx, *, id: TaskId) -> Task | Refusal:
    """Gone, where nothing was ever begun of it and nothing needs it; with attempts it is only given up.

    Gives the task as it was last, or as it is now.
    """
    task = get(tx, id)
    if task is None:
        return Refusal(RefusalReason.NO_SUCH_TASK, {"task": id})
    if task.state is TaskState.WORKING:
        return _not(tx, id, RefusalReason.TASK_WORKING)
    if task.begun:
        return task if task.state in (TaskState.STOPPED, TaskState.FAILED) else give_up(tx, id=id)
    needed = dependencies.needed_by(tx, id)
    if needed:
        return Refusal(RefusalReason.TASK_NEEDED, {"task": id, "by": needed[0], "more": len(needed) - 1})
    if task.series is not None:
        agreements.close(tx, id=task.series, reason="removed")
    tx.conn.execute(UNNEEDED, {"id": id})
    row = sure(tx, Task, REMOVE, {"id": id})
    entries.note(tx, entries.LEDGER_CHAIN, "task.removed", row, "revision")
    return row


def reckon(tx: Tx, id: TaskId) -> None:
    """Whether anything is left of its series, after what counts against it has changed."""
    tx.conn.execute(RECKON, {"id": id})


def _not(tx: Tx, id: TaskId, reason: RefusalReason) -> Refusal:
    """Why a move was not made: there is no such task, an agent is at it, it is done, or else ``reason``."""
    task = get(tx, id)
    if task is None:
        return Refusal(RefusalReason.NO_SUCH_TASK, {"task": id})
    if task.state is TaskState.WORKING:
        return Refusal(RefusalReason.TASK_WORKING, {"task": id, "run": ending(tx, id)})
    if task.state is TaskState.DONE:
        return Refusal(RefusalReason.TASK_OVER, {"task": id})
    return Refusal(reason, {"task": id})
