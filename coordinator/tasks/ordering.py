"""In which order tasks that name each other are added, and the circle where there is none. Pure."""

import heapq
from collections.abc import Sequence
from typing import Final

from store.refusal import Refusal
from store.vocab import RefusalReason

_SHOWN: Final = 8
"""Tasks of a circle that are told."""


def in_order(tasks: Sequence[tuple[str, Sequence[str]]]) -> tuple[int, ...] | Refusal:
    """Places of the tasks, each after those that it needs, else as they were given. A task is its name ('' for none)
    and the names that it needs.

    ``queue-file-invalid`` for a name that is there twice, ``no-such-task`` for one that is not, ``dependency-cycle``
    (tasks) where no order is possible. Linear in what was given.
    """
    places: dict[str, int] = {}
    for n, (name, _) in enumerate(tasks):
        if name and name in places:
            problem = f"two tasks have the name {name[:60]}"
            return Refusal(RefusalReason.QUEUE_FILE_INVALID, {"problem": problem})
        if name:
            places[name] = n
    needs: list[set[int]] = []
    needed_by: list[list[int]] = [[] for _ in tasks]
    for n, (_, names) in enumerate(tasks):
        missing = next((name for name in names if name not in places), None)
        if missing is not None:
            return Refusal(RefusalReason.NO_SUCH_TASK, {"task": missing[:60]})
        needs.append({places[name] for name in names})
        for before in needs[n]:
            needed_by[before].append(n)
    waiting = [len(one) for one in needs]
    ready = [n for n, left in enumerate(waiting) if not left]
    order: list[int] = []
    while ready:
        n = heapq.heappop(ready)
        order.append(n)
        for after in needed_by[n]:
            waiting[after] -= 1
            if not waiting[after]:
                heapq.heappush(ready, after)
    if len(order) == len(tasks):
        return tuple(order)
    return Refusal(RefusalReason.DEPENDENCY_CYCLE, {"tasks": _told([tasks[n][0] for n in _circle(needs, waiting)])})


def _circle(needs: Sequence[set[int]], waiting: Sequence[int]) -> list[int]:
    """One of the circles: of what is left, each has something left that it needs, so following that comes round."""
    at = next(n for n, left in enumerate(waiting) if left)
    seen: dict[int, int] = {}
    way: list[int] = []
    while at not in seen:
        seen[at] = len(way)
        way.append(at)
        at = min(before for before in needs[at] if waiting[before])
    return [*way[seen[at] :], at]


def _told(names: Sequence[str]) -> str:
    shown = [name[:40] for name in names]
    if len(shown) > _SHOWN:
        shown = [*shown[: _SHOWN - 1], "…", shown[-1]]
    return " → ".join(shown)
