"""Whether something of the line would still begin without the operator, and what of it needs them. Pure.

A task waits for others and those for others again, so a reason alone does not say it: what waits for a task that needs
the operator needs them too.
"""

from msgspec import Struct

from app.wording_tasks import numbers
from coordinator.api import QueueView, TaskView, Waits
from store.vocab import Millis, TaskId, TaskState

_OPERATOR = frozenset(
    {Waits.NEED_FAILED, Waits.SIGNING, Waits.EDITED, Waits.SPENT, Waits.AGENT, Waits.REPOSITORY, Waits.QUEUE_HELD}
)


class Needing(Struct, frozen=True, kw_only=True):
    task: TaskId
    why: str
    """A ``Waits`` or a ``TaskReason``."""


class Left(Struct, frozen=True, kw_only=True):
    comes: bool
    """Some task would begin without the operator."""
    needs: tuple[Needing, ...]
    held_back: int
    """Those that the operator keeps back, and those that wait for them: as they wanted it."""
    away: bool
    """Something would begin if the operator were there."""
    failed: tuple[TaskId, ...] = ()
    """Those that failed since it was begun to look."""

    def sentence(self) -> str:
        if self.needs:
            which = numbers(one.task for one in self.needs)
            many = len(self.needs) > 1
            return (
                f"Nothing more begins by itself: {'tasks' if many else 'task'} {which} {'need' if many else 'needs'} "
                "you; footplate queue ls says why."
            )
        if self.failed:
            it = "Task" if len(self.failed) == 1 else "Tasks"
            return f"{it} {numbers(self.failed)} failed; footplate queue show {self.failed[0]} says why."
        if self.held_back:
            return "Nothing is left that could begin; what you keep back stays in line."
        return "Nothing is left in line."


def left_of(view: QueueView, since: Millis) -> Left:
    """``since``: what failed before it was failed already, and is nobody's news."""
    by_id = {one.id: one for one in view.tasks}
    judged: dict[TaskId, str] = {}
    queued = [one for one in view.tasks if one.state is TaskState.QUEUED]
    for one in queued:
        _judge(one, by_id, judged)
    standing = [judged[one.id] for one in queued]
    needs = [
        Needing(task=one.id, why=(one.reason.value if one.reason is not None else ""))
        for one in view.tasks
        if one.state is TaskState.NEEDS_OPERATOR
    ]
    needs += [
        Needing(task=one.id, why=(one.waits.value if one.waits is not None else ""))
        for one in queued
        if judged[one.id] in ("operator", "away")
    ]
    # Begun by this console, though its run is not to be seen yet, or its end is not dealt with yet.
    begun = any(one.state is TaskState.WORKING and not one.owner for one in view.tasks)
    return Left(
        comes=begun or "comes" in standing,
        needs=tuple(needs),
        held_back=standing.count("kept"),
        away="away" in standing,
        failed=tuple(one.id for one in view.tasks if one.state is TaskState.FAILED and (one.ended_at or 0) >= since),
    )


def _judge(first: TaskView, by_id: dict[TaskId, TaskView], judged: dict[TaskId, str]) -> None:
    """Along its needs, without recursion: a chain of tasks may be as long as the line."""
    chain = [first]
    while chain:
        one = chain[-1]
        if one.id in judged:
            chain.pop()
            continue
        if one.waits is not Waits.NEED:
            judged[one.id] = _alone(one)
            continue
        queued = [need for need in one.needs if need in by_id and by_id[need].state is TaskState.QUEUED]
        unknown = [need for need in queued if need not in judged]
        if unknown and len(chain) <= len(by_id):
            chain.append(by_id[unknown[0]])
            continue
        states = {judged.get(need) or _ended(by_id.get(need)) for need in one.needs}
        judged[one.id] = next((state for state in ("operator", "kept", "away", "unread") if state in states), "comes")


def _ended(need: TaskView | None) -> str:
    """Of one that is not in line any more: whether who waits for it waits for the operator."""
    match need.state if need is not None else None:
        case None:
            return "unread"
        case TaskState.NEEDS_OPERATOR | TaskState.FAILED | TaskState.STOPPED:
            return "operator"
        case _:
            return "comes"


def _alone(one: TaskView) -> str:
    if one.held or one.waits is Waits.HELD:
        return "kept"
    if one.waits is Waits.AWAY:
        return "away"
    if one.waits is Waits.AGENT and one.waits_facts.get("until") is not None:
        return "comes"
    return "operator" if one.waits in _OPERATOR else "comes"
