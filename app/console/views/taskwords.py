"""How a task stands, in the few words of a row: why it waits, what it needs, how it ended. Pure.

The sentences that say the same at length are ``app.wording_queue``'s; these are for a column.
"""

from app.console.views.ink import Span, one_line
from app.wording import clock, coarse_age
from app.wording_tasks import task_state
from coordinator.api import TaskReason, TaskView, Waits
from store.vocab import Millis, TaskState

_WAITS: dict[Waits, str] = {
    Waits.HELD: "kept back",
    Waits.NEED_FAILED: "{task} is not done",
    Waits.NEED: "after {task}",
    Waits.RESERVED: "paths of {task}",
    Waits.SIGNING: "no terms yet",
    Waits.EDITED: "changed: new terms",
    Waits.SPENT: "terms used up",
    Waits.LATER: "again at {at}",
    Waits.AGENT: "{agent} waits",
    Waits.REPOSITORY: "repository gone",
    Waits.ENDING: "still ending",
    Waits.QUEUE_HELD: "line kept back",
    Waits.AWAY: "you are away",
    Waits.SLOT: "no room yet",
    Waits.CONSOLE: "no console",
    Waits.NEXT: "next",
}
_REASONS: dict[TaskReason, str] = {
    TaskReason.SIGN_AGAIN: "new terms",
    TaskReason.QUESTION: "asks you",
    TaskReason.CUT_OFF: "was cut off",
    TaskReason.UNCERTAIN: "outcome unknown",
    TaskReason.LAPSED: "you were away",
    TaskReason.EXPIRED: "time was up",
    TaskReason.REVOKED: "terms taken back",
    TaskReason.BUDGET: "at its budget",
    TaskReason.TURN_TIMEOUT: "turn took too long",
    TaskReason.RESTORED: "older ledger",
    TaskReason.ENDED_EARLY: "ended early",
    TaskReason.CHECKS: "a check failed",
    TaskReason.NOTHING_RECORDED: "no trace of work",
    TaskReason.ATTEMPTS: "attempts used up",
    TaskReason.REFUSED: "could not begin",
    TaskReason.FAILED: "failed",
    TaskReason.STOPPED: "stopped by you",
    TaskReason.GIVEN_UP: "taken out by you",
}
ASKS = frozenset({Waits.NEED_FAILED, Waits.SIGNING, Waits.EDITED, Waits.SPENT, Waits.REPOSITORY})
"""Reasons to wait that only the operator can end."""


def title_of_task(task: TaskView) -> str:
    return one_line(task.title) or f"task {task.id}"


def short_words(task: TaskView, now: Millis, *, asks: bool = False) -> Span:
    """For the row of the list. ``asks``: the agent at it waits for an answer."""
    match task.state:
        case TaskState.QUEUED if task.waits is not None:
            return Span(_waits(task, task.waits), "amber" if task.waits in ASKS else "grey")
        case TaskState.WORKING if asks:
            return Span(f"session {task.runs[-1]} asks you" if task.runs else "asks you", "amber")
        case TaskState.WORKING:
            return Span(f"session {task.runs[-1]}" if task.runs else "beginning", "grey")
        case TaskState.NEEDS_OPERATOR:
            return Span(_REASONS[task.reason] if task.reason is not None else "needs you", "amber")
        case TaskState.FAILED | TaskState.STOPPED if task.reason is not None:
            return Span(_REASONS[task.reason], "red" if task.state is TaskState.FAILED else "grey")
        case _:
            return Span(_ended(task, now), "grey")


def _waits(task: TaskView, waits: Waits) -> str:
    facts = task.waits_facts
    at = facts.get("at")
    told = {
        "task": facts.get("task", "another"),
        "agent": one_line(str(facts.get("agent", "its agent"))),
        "at": clock(at) if isinstance(at, int) else "a later time",
    }
    return _WAITS[waits].format_map(told)


def _ended(task: TaskView, now: Millis) -> str:
    words = task_state(task.state)
    if task.ended_at is None:
        return words
    ago = now - task.ended_at
    return f"{words} {coarse_age(ago)} ago" if ago >= 60_000 else f"{words} just now"
