"""Tasks put in line: everything about all of them is looked at first, then they are added in one transaction.

One task over several repositories becomes one for each. What may be wrong is told before anything is written, in one
sentence that names the task; nothing half is ever added.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from coordinator import githelper, proposing, standing
from coordinator.api import AddTasks, NewTask, TasksAdded, Wishes
from coordinator.constants import TURN_BYTES
from coordinator.tasks import ordering, paths
from coordinator.tasks.desk import Desk
from store import tasks
from store.canonical import dumps
from store.refusal import Fact, Refusal
from store.tx import Tx
from store.vocab import RefusalReason, TaskId

_AT_ONCE: Final = 4
"""Repositories that git is asked about side by side."""
_LONGEST_TITLE: Final = 200
MOST_ATTEMPTS: Final = 20


class Ready(Struct, frozen=True, kw_only=True):
    """A task as it is added, for one repository."""

    order: int
    """Of the task in what was given, from 0."""
    repository: str
    paths: str


async def add(desk: Desk, command: AddTasks, operator: str) -> TasksAdded | Refusal:
    given = command.tasks
    if not given:
        return Refusal(RefusalReason.QUEUE_FILE_INVALID, {"problem": "there is no task to add"})
    order = ordering.in_order([(one.name, [need for need in one.needs if isinstance(need, str)]) for one in given])
    if isinstance(order, Refusal):
        return order
    for n, one in enumerate(given):
        wrong = _wrong(desk, one)
        if wrong is not None:
            return _of(given, n, wrong)
    tops = await _repositories(given)
    if isinstance(tops, Refusal):
        return tops
    ready = await asyncio.to_thread(_ready, given, tops)
    if isinstance(ready, Refusal):
        return ready
    return await desk.ledger.transaction(lambda tx: _put(tx, desk, given, ready, order, operator))


def _wrong(desk: Desk, one: NewTask) -> Refusal | None:
    """What needs no look at a repository."""
    if not one.instruction.strip():
        return Refusal(RefusalReason.EMPTY_TURN)
    if (size := len(one.instruction.encode("utf-8", "replace"))) > TURN_BYTES:
        return Refusal(RefusalReason.TURN_TOO_LARGE, {"bytes": size, "limit": TURN_BYTES})
    if not one.repositories:
        return Refusal(RefusalReason.NOT_A_REPOSITORY)
    return wishes_refused(desk, one.wishes)


def wishes_refused(desk: Desk, wishes: Wishes) -> Refusal | None:
    """Wishes that could never be agreed to are said when they are made, not hours later."""
    names = [one.name for one in desk.profiles]
    if wishes.agent is not None and wishes.agent not in names:
        return Refusal(RefusalReason.UNKNOWN_AGENT, {"agent": wishes.agent, "agents": ", ".join(names)})
    if not 1 <= wishes.attempts <= MOST_ATTEMPTS:
        problem = f"attempts are from 1 to {MOST_ATTEMPTS}"
        return Refusal(RefusalReason.QUEUE_FILE_INVALID, {"problem": problem})
    rules = standing.parse_all(wishes.rules)
    return rules if isinstance(rules, Refusal) else None


async def _repositories(given: Sequence[NewTask]) -> dict[str, Path] | Refusal:
    """Each once, by how it was named; the first refusal names it."""
    few = asyncio.Semaphore(_AT_ONCE)
    named = list(dict.fromkeys(name for one in given for name in one.repositories))

    async def look(name: str) -> Path | Refusal:
        async with few:
            return await top_of(name)

    found = await asyncio.gather(*map(look, named))
    tops: dict[str, Path] = {}
    for name, top in zip(named, found, strict=True):
        if isinstance(top, Refusal):
            return top
        tops[name] = top
    return tops


async def top_of(name: str) -> Path | Refusal:
    """The repository that a folder is in, where work can begin: it is there and has a commit."""
    if not name or "\0" in name or not await asyncio.to_thread(_is_dir, name):
        return Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": name})
    facts = await githelper.find_repository(Path(name))
    if isinstance(facts, Refusal):
        return facts
    return facts.top if facts.head else Refusal(RefusalReason.NO_COMMIT, {"path": str(facts.top)})


def _is_dir(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):
        return False


def _ready(given: Sequence[NewTask], tops: dict[str, Path]) -> list[Ready] | Refusal:
    """On a thread: each path is followed through the file system, and ten thousand tasks have many."""
    known: dict[tuple[tuple[str, ...], Path], tuple[str, ...] | Refusal] = {}
    ready: list[Ready] = []
    for n, one in enumerate(given):
        for top in dict.fromkeys(tops[name] for name in one.repositories):
            kept = known.get((one.paths, top))
            if kept is None:
                kept = known.setdefault((one.paths, top), paths.normalise(one.paths, top))
            if isinstance(kept, Refusal):
                return _of(given, n, kept)
            ready.append(Ready(order=n, repository=str(top), paths=dumps(list(kept))))
    return ready


def _put(
    tx: Tx, desk: Desk, given: Sequence[NewTask], ready: Sequence[Ready], order: Sequence[int], operator: str
) -> TasksAdded | Refusal:
    """All of them, those that others need first; their numbers are told in the order in which they were given."""
    by_order: dict[int, list[Ready]] = {}
    for one in ready:
        by_order.setdefault(one.order, []).append(one)
    by_name: dict[str, list[TaskId]] = {}
    added: dict[int, list[TaskId]] = {}
    for n in order:
        task = given[n]
        needs: list[TaskId] = []
        for need in task.needs:
            needs += by_name[need] if isinstance(need, str) else [need]
        ids: list[TaskId] = []
        for one in by_order[n]:
            row = tasks.add(
                tx,
                title=title_of(desk, task.title, task.instruction),
                instruction=task.instruction,
                repository=one.repository,
                paths=one.paths,
                wishes=stored_wishes(task.wishes),
                priority=task.priority,
                needs=tuple(dict.fromkeys(needs)),
                operator=operator,
                parent=ids[0] if ids else None,
            )
            if isinstance(row, Refusal):
                return row
            ids.append(row.id)
        added[n] = ids
        if task.name:
            by_name[task.name] = ids
    return TasksAdded(tasks=tuple(id for n in range(len(given)) for id in added[n]))


def title_of(desk: Desk, given: str, instruction: str) -> str:
    """It is shown everywhere, so no secret stands in it."""
    short = " ".join(given.split())[:_LONGEST_TITLE]
    return desk.redactor.text(short) if short else proposing.retitle(desk.redactor.text(instruction))


def stored_wishes(wishes: Wishes) -> str:
    return dumps(msgspec.to_builtins(wishes))


def _of(given: Sequence[NewTask], n: int, refusal: Refusal) -> Refusal:
    """Which of several it is about."""
    if len(given) == 1:
        return refusal
    name = given[n].name or " ".join(given[n].title.split())[:60]
    facts: dict[str, Fact] = {**refusal.facts, "where": f"task {n + 1}" + (f" ({name})" if name else "")}
    return Refusal(refusal.reason, facts)
