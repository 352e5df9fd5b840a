"""Where work is going on: paths that tasks reserve while an agent is at them, and what of a repository that leaves.

A path that is reserved reserves all below it. In an index by place (a path ended by ``/``; '' is the whole repository)
what is below one is a stretch, and what is above it a few points: so a claim reads the gaps between and never one of
the tasks that wait. Nothing here writes.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from store.canonical import loads
from store.tx import Tx
from store.vocab import CustodyState, RunId, TaskId, TaskState

AT_WORK: Final = f"""
SELECT id, repository, paths, NULL FROM tasks WHERE state = '{TaskState.WORKING}'
UNION ALL
SELECT tasks.id, tasks.repository, tasks.paths, custody.run
FROM custody CROSS JOIN attempts ON attempts.run = custody.run JOIN tasks ON tasks.id = attempts.task
WHERE custody.state <> '{CustodyState.CLOSED}'
"""
"""Tasks that are claimed for work, and those of which a hold is not over, whatever became of them: some come twice."""
_MARK: Final = "\x01"
_FARTHEST: Final = "\U0010ffff"


class Reserved(Struct, frozen=True, kw_only=True):
    task: TaskId
    repository: str
    places: tuple[str, ...]
    run: RunId | None
    """Whose hold is not over; None: a claim whose run is not held yet, or any more."""


def at_work(tx: Tx) -> list[Reserved]:
    """Few: as many as there are held sessions, and claims that are on their way."""
    return [
        Reserved(
            task=TaskId(task), repository=repository, places=places(paths), run=None if run is None else RunId(run)
        )
        for task, repository, paths, run in tx.conn.execute(AT_WORK)
    ]


def places(paths: str) -> tuple[str, ...]:
    """Of a task's ``paths``: what the schema makes of the first of them."""
    return tuple("" if path == "." else f"{path}/" for path in loads(paths))


def overlap(ours: Iterable[str], theirs: Sequence[str]) -> str | None:
    """The first of our places that is the same as one of theirs, above or below it."""
    return next((one for one in ours if any(one.startswith(two) or two.startswith(one) for two in theirs)), None)


def in_the_way(
    at_work: Iterable[Reserved], *, task: TaskId, repository: str, paths: str
) -> tuple[Reserved, str] | None:
    """Another task's reservation that these paths touch, and the path of ours that does."""
    ours = places(paths)
    for other in at_work:
        if other.task != task and other.repository == repository:
            place = overlap(ours, other.places)
            if place is not None:
                return other, place.rstrip("/") or "."
    return None


def one_text(places: Sequence[str]) -> str:
    """So that a claim finds a place in it without opening JSON: each between two marks that no path has."""
    return _MARK + _MARK.join(places) + _MARK if places else ""


def needles(place: str) -> list[str]:
    """What stands in such a text if it has a place that is this one, or below or above it."""
    return [_MARK + place, *(f"{_MARK}{one}{_MARK}" for one in _above(place))]


def _above(place: str) -> list[str]:
    parts = place.split("/")[:-2]
    return [] if place == "" else ["", *("/".join(parts[: n + 1]) + "/" for n in range(len(parts)))]


def gaps(reserved: Iterable[str]) -> list[tuple[str, str]]:
    """Stretches of places that touch none of these: from the first, up to and without the second."""
    taken: list[tuple[str, str]] = []
    for place in reserved:
        if place == "":
            return []
        taken.append((place, place[:-1] + "0"))  # '0' comes after '/': all that begins with it is between
        taken += [(one, one + _MARK) for one in _above(place)]  # itself, and nothing below it
    found, at = [], ""
    for low, high in sorted(taken):
        if low > at:
            found.append((at, low))
        at = max(at, high)
    return [*found, (at, _FARTHEST)]
