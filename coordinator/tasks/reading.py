"""The line as the operator sees it: each task with what it came to, and why one in line is not begun.

Read over one state of the ledger; agents and repositories are looked for only where a task waits that could be begun
but for them. Nothing is written.
"""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from coordinator import incarnation
from coordinator.api import AgentWait, QueueView, ReadQueue, TaskReason, TaskView, Wishes
from coordinator.house import pools_of
from coordinator.profiles import Found
from coordinator.recording import pool_refused
from coordinator.tasks import line, waiting
from coordinator.tasks.desk import Desk
from coordinator.tasks.waiting import Around
from store import attempts, claims, custody, incarnations, runs, series, tasks
from store.canonical import loads
from store.incarnations import Incarnation
from store.refusal import Fact
from store.tasks import Task
from store.tx import Tx
from store.vocab import (
    Billing,
    FailureKind,
    IncarnationId,
    MicroUsd,
    Millis,
    RefusalReason,
    RunId,
    TaskId,
    TaskState,
)

_ENDED: Final = (TaskState.DONE, TaskState.FAILED, TaskState.STOPPED)


class _Read(Struct, frozen=True, kw_only=True):
    """What one look into the ledger gave."""

    now: Millis
    rows: tuple[Task, ...]
    views: tuple[TaskView, ...]
    """In the order of ``rows``, without why those in line wait."""
    facts: Mapping[TaskId, claims.WaitingFacts]
    counts: Mapping[TaskState, int]
    kept_back: str
    agents: tuple[AgentWait, ...]
    held: int
    in_place: Mapping[str, RunId]
    dry: frozenset[TaskId]
    living: tuple[Incarnation, ...]
    """Consoles that have not said that they end; some may have died."""


async def read(desk: Desk, command: ReadQueue) -> QueueView:
    found = await desk.ledger.read(lambda tx: _read(tx, desk, command))
    around = await _around(desk, found)
    shown = tuple(_with_wait(view, row, found, around) for view, row in zip(found.views, found.rows, strict=True))
    wanted = sum(n for state, n in found.counts.items() if command.ended or state not in _ENDED)
    more = command.task is None and wanted > len(shown)
    return QueueView(tasks=shown, counts=found.counts, held=found.kept_back, agents=found.agents, more=more)


def _read(tx: Tx, desk: Desk, command: ReadQueue) -> _Read:
    rows = _rows(tx, command)
    common = claims.standing(tx)
    facts = {row.id: claims.waiting_facts(tx, row, tx.now, common) for row in rows if row.state is TaskState.QUEUED}
    return _Read(
        now=tx.now,
        rows=tuple(rows),
        views=tuple(_view(tx, row, desk.incarnation) for row in rows),
        facts=facts,
        counts=tasks.counts(tx),
        kept_back=line.kept_back(tx),
        agents=tuple(AgentWait(agent=one.agent, reason=one.reason, until=one.until) for one in common.agents),
        held=runs.live_count(tx),
        in_place={one.tree: one.run for one in custody.not_closed(tx) if one.in_place},
        dry=_dry(tx, desk, rows, facts),
        living=tuple(incarnations.not_ended(tx)),
    )


def _dry(tx: Tx, desk: Desk, rows: Iterable[Task], facts: Mapping[TaskId, claims.WaitingFacts]) -> frozenset[TaskId]:
    """Tasks that no run would be admitted for, as little is left of the day or the month."""
    pools = pools_of(desk.settings, tx.now)
    paid = {one.name for one in desk.profiles if one.billing is Billing.KEY}
    asked: dict[tuple[str, int], bool] = {}
    found: list[TaskId] = []
    for row in rows:
        agent, left = wishes_of(row).agent or "", facts[row.id].left if row.id in facts else None
        if agent not in paid or left is None:
            continue
        wanted = left.money or MicroUsd(0)
        if (agent, wanted) not in asked:
            asked[agent, wanted] = pool_refused(tx, pools, agent=agent, wanted=wanted) is not None
        if asked[agent, wanted]:
            found.append(row.id)
    return frozenset(found)


def _rows(tx: Tx, command: ReadQueue) -> list[Task]:
    """Needing the operator, at work, in line, ended: as many as are asked for; or the one that is."""
    if command.task is not None:
        named = tasks.get(tx, command.task)
        return [] if named is None else [named]
    found: list[Task] = []
    for state in (TaskState.NEEDS_OPERATOR, TaskState.WORKING):
        found += tasks.listing(tx, states=[state], limit=max(0, command.limit - len(found)))
    found += tasks.in_line(tx, limit=max(0, command.limit - len(found)))
    if command.ended:
        found += tasks.ended(tx, limit=max(0, command.limit - len(found)))
    return found


def wishes_of(task: Task) -> Wishes:
    return msgspec.json.decode(task.wishes.encode(), type=Wishes)


def paths_of(task: Task) -> tuple[str, ...]:
    return tuple(loads(task.paths))


def _view(tx: Tx, task: Task, mine: IncarnationId | None) -> TaskView:
    agreed = None if task.series is None else series.get(tx, task.series)
    last = agreed or series.newest(tx, task.id)
    wishes = wishes_of(task)
    return TaskView(
        id=task.id,
        state=task.state,
        title=task.title,
        instruction=task.instruction,
        repository=task.repository,
        agent=wishes.agent or "",
        priority=task.priority,
        paths=paths_of(task),
        needs=tasks.needs_of(tx, task.id),
        held=task.held,
        revision=task.revision,
        created_at=task.created_at,
        operator=task.operator,
        wishes=wishes,
        reason=TaskReason(task.reason) if task.reason in frozenset(TaskReason) else None,
        detail=_facts(task.detail),
        runs=tuple(one.run for one in attempts.of_task(tx, task.id)) if task.begun else (),
        attempts_left=None if agreed is None else max(0, series.left(tx, agreed).attempts),
        spent=MicroUsd(0) if last is None or not task.begun else series.spent(tx, last.id),
        budget=None if last is None else last.budget,
        parent=task.parent,
        claimed_at=task.claimed_at,
        ended_at=task.ended_at,
        owner=_owner(tx, task, mine),
    )


def _owner(tx: Tx, task: Task, mine: IncarnationId | None) -> str:
    if task.state is not TaskState.WORKING or task.incarnation is None or task.incarnation == mine:
        return ""
    owner = incarnations.get(tx, task.incarnation)
    return "" if owner is None else f"the console of {owner.operator}"


def _facts(detail: str) -> dict[str, Fact]:
    found = loads(detail)
    return found if isinstance(found, dict) else {}


# -------------------------------------------------------------------------------------------------------- why it waits


async def _around(desk: Desk, found: _Read) -> Around:
    could = [view for view, row in zip(found.views, found.rows, strict=True) if row.state is TaskState.QUEUED]
    agents = {view.agent for view in could if view.agent}
    amiss: dict[str, str] = {}
    if agents:
        here = await desk.agents()
        amiss = {name: why for name in agents if (why := _amiss(here.get(name)))}
    gone, living = await asyncio.to_thread(_looked, {view.repository for view in could}, found.living)
    return Around(
        kept_back=found.kept_back,
        away=desk.away,
        held=found.held,
        limit=desk.settings.max_held_sessions,
        console=living,
        agents=amiss,
        gone=gone,
        in_place=found.in_place,
        dry=found.dry,
    )


def _amiss(one: Found | None) -> str:
    """Why an agent cannot be run, as a ``FailureKind``; '': it can."""
    if one is not None and one.problem is None:
        return ""
    shared = one is not None and one.problem is not None and one.problem.reason is RefusalReason.ACCOUNT_SHARED
    return str(FailureKind.AUTHENTICATION if shared else FailureKind.NOT_INSTALLED)


def _looked(repositories: Iterable[str], consoles: Iterable[Incarnation]) -> tuple[frozenset[str], bool]:
    gone = frozenset(one for one in repositories if not Path(one).is_dir())
    return gone, any(not incarnation.is_gone(one) for one in consoles)


def _with_wait(view: TaskView, row: Task, found: _Read, around: Around) -> TaskView:
    facts = found.facts.get(row.id)
    if facts is None:
        return view
    waits, told = waiting.why(row, view.wishes, facts, around, found.now)
    return replace(view, waits=waits, waits_facts=told)
