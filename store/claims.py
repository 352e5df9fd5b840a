"""Who works at a task: one claim at a time, by a token that every later write about the task carries.

A stale holder is told None and steps aside. The claim asks what waits in one statement; what it needs to know of the
work that is going on is read just before, in the same transaction, which no other console's can come between. It is
measured (``tests/bench/bench_queue``): ten thousand tasks that wait cost a pass a few milliseconds, whatever for.
"""

from collections.abc import Collection
from typing import Any, Final

from msgspec import Struct

from store import agentwaits, entries, operations, reservations, series, tasks
from store.agentwaits import StoredWait
from store.canonical import dumps, storable
from store.reservations import Reserved
from store.rows import columns, many, number, one
from store.series import Left, Series
from store.tasks import CLAIM, UNCLAIMED, WHY, Task
from store.tx import Tx
from store.vocab import IncarnationId, Millis, OperationId, OperationState, RunId, SeriesState, TaskId, TaskState

_MAY_BE: Final = f"state = '{TaskState.QUEUED}' AND held = 0 AND unmet = 0 AND spent = 0 AND agreed_until > 0"
"""Spelled as the indexes are."""
_CLAIMABLE: Final = f"""{_MAY_BE} AND agreed_until > :now AND not_before <= :now
        AND agent NOT IN (SELECT value FROM json_each(:agents))"""
_NEXT: Final = f"""
  WITH needle(repository, text) AS MATERIALIZED (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:needles))
  SELECT id FROM (
    SELECT id, priority FROM (
      SELECT id, priority FROM tasks INDEXED BY tasks_claimable WHERE {_CLAIMABLE}
        AND repository NOT IN (SELECT value FROM json_each(:repositories))
        AND (repository NOT IN (SELECT value FROM json_each(:busy))
          OR (place IS NULL AND id NOT IN (SELECT value FROM json_each(:ending))))
      ORDER BY priority DESC, id LIMIT 1)
    UNION ALL
    SELECT id, priority FROM (
      SELECT tasks.id, priority FROM json_each(:gaps) AS gap CROSS JOIN tasks INDEXED BY tasks_by_place
        ON repository = json_extract(gap.value, '$[0]')
        AND place >= json_extract(gap.value, '$[1]') AND place < json_extract(gap.value, '$[2]')
      WHERE {_CLAIMABLE}
        AND (places = '' OR NOT EXISTS (
          SELECT 1 FROM needle WHERE instr(tasks.places, text) AND needle.repository = tasks.repository))
      ORDER BY priority DESC, tasks.id LIMIT 1)
  ) ORDER BY priority DESC, id LIMIT 1
"""
"""The best in repositories in which nothing goes on, against the best in the gaps of those in which something does."""
CLAIMABLE: Final = f"SELECT id FROM tasks WHERE id = ({_NEXT})"
TAKE: Final = f"""
UPDATE tasks SET state = '{TaskState.WORKING}', token = :token, incarnation = :incarnation, machine = :machine,
  uid = :uid, claimed_at = :now, reason = '', detail = '{{}}', ended_at = NULL
WHERE id = ({_NEXT}) RETURNING {columns(Task)}
"""
# The earliest that something in line is tried again, or an agent's wait is over.
WAKES: Final = f"""
SELECT min(at) FROM (
  SELECT min(not_before) AS at FROM tasks INDEXED BY tasks_claimable
  WHERE {_MAY_BE} AND not_before > :now
  UNION ALL SELECT min(until) FROM agent_waits WHERE until > :now)
"""
_KEPT: Final = f"'{TaskState.WORKING}', '{TaskState.NEEDS_OPERATOR}'"
SEIZE: Final = f"""
UPDATE tasks SET token = :token, incarnation = :incarnation
WHERE id = :task AND token = :expect_token AND state IN ({_KEPT}) RETURNING {columns(Task)}
"""
OF_GONE: Final = f"""
SELECT {columns(Task)} FROM tasks
WHERE token IS NOT NULL AND incarnation IN (SELECT value FROM json_each(:gone)) AND machine = :machine AND uid = :uid
ORDER BY id
"""
# Whose claims there are; those of one console that wait for an answer to what the task asked.
OWNERS: Final = "SELECT DISTINCT incarnation FROM tasks WHERE token IS NOT NULL"
ASKING: Final = f"""
SELECT {columns(Task)} FROM tasks
WHERE token IS NOT NULL AND incarnation = :incarnation AND state = '{TaskState.NEEDS_OPERATOR}' AND reason = :reason
ORDER BY id
"""
RELEASE: Final = f"""
UPDATE tasks SET state = '{TaskState.QUEUED}', {UNCLAIMED}, not_before = :not_before, counted = counted + :counted,
  spent = series IS NOT NULL AND {series.NOTHING_LEFT.format(series="tasks.series")}
WHERE id = :task AND token = :token AND state = '{TaskState.WORKING}' RETURNING {columns(Task)}
"""
NEED: Final = f"""
UPDATE tasks SET state = '{TaskState.NEEDS_OPERATOR}', reason = :reason, detail = :detail
WHERE id = :task AND token = :token AND state = '{TaskState.WORKING}' RETURNING {columns(Task)}
"""
RESUME: Final = f"""
UPDATE tasks SET state = '{TaskState.WORKING}', reason = '', detail = '{{}}'
WHERE id = :task AND token = :token AND state = '{TaskState.NEEDS_OPERATOR}' RETURNING {columns(Task)}
"""
FINISH: Final = f"""
UPDATE tasks SET state = :to, {UNCLAIMED}, reason = :reason, detail = :detail, ended_at = :now
WHERE id = :task AND token = :token AND state = '{TaskState.WORKING}' RETURNING {columns(Task)}
"""
# Of what it waits for: one that will not be done by itself, one that is not done, how many.
WAITED_FOR: Final = f"""
SELECT id, state IN ('{TaskState.FAILED}', '{TaskState.STOPPED}') FROM task_dependencies JOIN tasks ON tasks.id = needs
WHERE task = :task AND state <> '{TaskState.DONE}' ORDER BY 2 DESC, id
"""


def take(
    tx: Tx,
    *,
    operation: OperationId,
    token: str,
    incarnation: IncarnationId,
    machine: str,
    uid: int,
    blocked_agents: Collection[str] = (),
    blocked_repositories: Collection[str] = (),
) -> Task | None:
    """Claim the task that is next, and write it to the operation. None: there is nothing to claim, or the operation is
    not begun (or not this console's): then nothing was changed.

    Next is the highest priority, then the oldest, of those that wait for nothing: not held back, agreed to (not used
    up, not run out), what it needs is done, its time has come, its agent is neither named here nor waits, its
    repository is not named here, nothing that it reserves is worked at, and no hold of it is left.
    """
    set_out = operations.get(tx, operation)
    if set_out is None or set_out.state is not OperationState.BEGUN or set_out.incarnation != incarnation:
        return None
    owner = {"token": token, "incarnation": incarnation, "machine": machine, "uid": uid}
    row = one(tx, Task, TAKE, owner | _asked(tx, blocked_agents, blocked_repositories))
    if row is None:
        return None
    entries.note(tx, entries.LEDGER_CHAIN, "task.claimed", row, "state", *CLAIM, *WHY, "ended_at")
    operations.claimed(tx, id=operation, incarnation=incarnation, task=row.id, token=token)
    return row


def claimable(
    tx: Tx, *, blocked_agents: Collection[str] = (), blocked_repositories: Collection[str] = ()
) -> TaskId | None:
    """What ``take`` would claim, without claiming it: a pass that would find nothing need not be written down."""
    row = tx.conn.execute(CLAIMABLE, _asked(tx, blocked_agents, blocked_repositories)).fetchone()
    return None if row is None else TaskId(row[0])


def _asked(tx: Tx, agents: Collection[str], repositories: Collection[str]) -> dict[str, Any]:
    """What the claim's statement is to know of the rest of the world."""
    waiting = {row.agent for row in agentwaits.listing(tx)}
    going_on = reservations.at_work(tx)
    by_repository: dict[str, list[str]] = {}
    for one_task in going_on:
        by_repository.setdefault(one_task.repository, []).extend(one_task.places)
    return {
        "now": tx.now,
        "agents": dumps(sorted(waiting | set(agents))),
        "repositories": dumps(sorted(set(repositories))),
        "busy": dumps(sorted(by_repository)),
        "ending": dumps([one_task.task for one_task in going_on]),
        "gaps": dumps(
            [
                (repository, low, high)
                for repository, places in by_repository.items()
                if repository not in repositories
                for low, high in reservations.gaps(places)
            ]
        ),
        "needles": dumps(
            sorted(
                {
                    (repository, text)
                    for repository, places in by_repository.items()
                    for place in places
                    for text in reservations.needles(place)
                }
            )
        ),
    }


def wakes_at(tx: Tx) -> Millis | None:
    """When there may be something to claim by nothing but time; None: never."""
    return Millis(at) if (at := number(tx, WAKES, {"now": tx.now})) else None


def seize(tx: Tx, *, task: TaskId, expect_token: str, token: str, incarnation: IncarnationId) -> Task | None:
    """The claim of a console that is gone becomes this one's, under a new token; so does what it claimed and had not
    begun (``operations.open_of``)."""
    given = {"task": task, "expect_token": expect_token, "token": token, "incarnation": incarnation}
    row = one(tx, Task, SEIZE, given)
    if row is None:
        return None
    entries.note(tx, entries.LEDGER_CHAIN, "task.seized", row, "token", "incarnation")
    operations.seized(tx, task=task, expect_token=expect_token, token=token, incarnation=incarnation)
    return row


def of_incarnations_gone(tx: Tx, gone: Collection[IncarnationId], machine: str, uid: int) -> list[Task]:
    """Claims of these consoles, working or needing the operator, on this machine and of this user."""
    return many(tx, Task, OF_GONE, {"gone": dumps(sorted(gone)), "machine": machine, "uid": uid})


def owners(tx: Tx) -> list[IncarnationId]:
    """Consoles that have a claim, alive or gone."""
    return [IncarnationId(owner) for (owner,) in tx.conn.execute(OWNERS) if owner is not None]


def kept_for(tx: Tx, incarnation: IncarnationId, reason: str) -> list[Task]:
    """Claims of this console that are kept for what the operator does, for this reason."""
    return many(tx, Task, ASKING, {"incarnation": incarnation, "reason": reason})


def release(tx: Tx, *, task: TaskId, token: str, not_before: Millis = Millis(0), counted: bool) -> Task | None:
    """In line again. ``counted``: as an attempt since it was put there; what its series keeps of it is told with the
    outcome (``outcomes.acknowledge``)."""
    row = one(tx, Task, RELEASE, {"task": task, "token": token, "not_before": not_before, "counted": counted})
    if row is not None:
        entries.note(tx, entries.LEDGER_CHAIN, "task.released", row, "state", *CLAIM, "not_before", "counted")
    return row


def needs_operator(tx: Tx, *, task: TaskId, token: str, reason: str, detail: str) -> Task | None:
    """It goes on only by what the operator does. The claim is kept, so that an answer leads back to it."""
    row = one(tx, Task, NEED, {"task": task, "token": token, "reason": reason, "detail": storable(detail)})
    if row is not None:
        entries.note(tx, entries.LEDGER_CHAIN, "task.needs-operator", row, "state", *WHY)
    return row


def resume(tx: Tx, *, task: TaskId, token: str, operation: OperationId | None = None) -> Task | None:
    """Under the claim that was kept; ``operation`` (begun) becomes the one that its next attempt is admitted by.

    None: stale, the operation is not begun, or another works just now at what it reserves; then try again later.
    """
    standing = tasks.get(tx, task)
    if standing is None or standing.token != token or standing.incarnation is None:
        return None
    going_on = reservations.at_work(tx)
    paths = {"repository": standing.repository, "paths": standing.paths}
    if reservations.in_the_way(going_on, task=task, **paths) or any(one.task == task for one in going_on):
        return None
    if operation is not None:
        set_out = operations.get(tx, operation)
        if set_out is None or (set_out.state, set_out.incarnation) != (OperationState.BEGUN, standing.incarnation):
            return None
    row = one(tx, Task, RESUME, {"task": task, "token": token})
    if row is None:
        return None
    entries.note(tx, entries.LEDGER_CHAIN, "task.resumed", row, "state", *WHY)
    if operation is not None:
        operations.claimed(tx, id=operation, incarnation=standing.incarnation, task=task, token=token)
    return row


def finish(tx: Tx, *, task: TaskId, token: str, to: TaskState, reason: str = "", detail: str = "{}") -> Task | None:
    """Over: done, failed or stopped. Done lowers what waits for it by one, and its terms are over.

    Raises:
        ValueError: to another state.
    """
    if to not in (TaskState.DONE, TaskState.FAILED, TaskState.STOPPED):
        raise ValueError(f"a task does not end as {to}")
    given = {"task": task, "token": token, "to": to, "reason": reason, "detail": storable(detail), "now": tx.now}
    row = one(tx, Task, FINISH, given)
    if row is None:
        return None
    entries.note(tx, entries.LEDGER_CHAIN, f"task.{to}", row, "state", *CLAIM, *WHY, "ended_at")
    if to is TaskState.DONE:
        tasks.done(tx, row)
    return row


# ----------------------------------------------------------------------------------------------------- why a task waits


class Standing(Struct, frozen=True, kw_only=True):
    """What all tasks in line have in common: read once for a whole list."""

    at_work: tuple[Reserved, ...]
    agents: tuple[StoredWait, ...]


class WaitingFacts(Struct, frozen=True, kw_only=True):
    """All that is known of why a task in line is not begun; which of it is said is not decided here."""

    failed_need: TaskId | None
    """Failed or stopped: it will not be done by itself."""
    need: TaskId | None
    """The first that is not done."""
    needs_more: int
    """How many more are not."""
    reserved: tuple[Reserved, str] | None
    """Another's reservation that its paths touch, and the path."""
    ending: RunId | None
    """Of its own, whose hold is not over."""
    series: Series | None
    """In force; None: see ``agreed_before``."""
    left: Left | None
    expired: bool
    agreed_before: bool
    """It was agreed to once, and is not any more."""
    agent: StoredWait | None


def standing(tx: Tx) -> Standing:
    return Standing(at_work=tuple(reservations.at_work(tx)), agents=tuple(agentwaits.listing(tx)))


def waiting_facts(tx: Tx, task: Task, now: Millis, common: Standing | None = None) -> WaitingFacts:
    """A few look-ups by key. ``common``: of a list, read once by ``standing``."""
    common = standing(tx) if common is None else common
    waited_for = tx.conn.execute(WAITED_FOR, {"task": task.id}).fetchall() if task.unmet else []
    agreed = None if task.series is None else series.get(tx, task.series)
    in_force = agreed if agreed is not None and agreed.state is SeriesState.OPEN else None
    return WaitingFacts(
        failed_need=next((TaskId(id) for id, failed in waited_for if failed), None),
        need=next((TaskId(id) for id, _ in waited_for), None),
        needs_more=max(0, len(waited_for) - 1),
        reserved=reservations.in_the_way(common.at_work, task=task.id, repository=task.repository, paths=task.paths),
        ending=next((one.run for one in common.at_work if one.task == task.id and one.run is not None), None),
        series=in_force,
        left=None if in_force is None else series.left(tx, in_force),
        expired=in_force is not None and in_force.expires_at <= now,
        agreed_before=in_force is None and series.newest(tx, task.id) is not None,
        agent=next((one for one in common.agents if one.agent == task.agent), None),
    )
