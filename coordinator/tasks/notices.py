"""What of a task comes up in the operator's queue of attention: one item for each task, while it needs them, has
failed, or was stopped and others wait for it; and one for each agent of which nothing is begun until they say so.

The sentences for a person stand in ``app``; the text here is what a notice or a list without them shows.
"""

import json
from typing import Final

from coordinator.tasks.tasktypes import TaskReason
from store import agentwaits, attention, tasks
from store.tasks import Task
from store.tx import Tx
from store.vocab import AttentionKind, FailureKind, Millis, RunId, TaskId, TaskState

_SAID: Final[dict[str, str]] = {
    TaskReason.SIGN_AGAIN: "its terms must be agreed to again",
    TaskReason.QUESTION: "it asks something",
    TaskReason.CUT_OFF: "it was cut off at work",
    TaskReason.UNCERTAIN: "what became of its last turn is not known",
    TaskReason.LAPSED: "it ended because nobody was there",
    TaskReason.EXPIRED: "its time was up",
    TaskReason.REVOKED: "its terms were taken back",
    TaskReason.BUDGET: "its budget is used up",
    TaskReason.TURN_TIMEOUT: "its turn took too long",
    TaskReason.RESTORED: "the ledger was put back",
    TaskReason.ENDED_EARLY: "its agent ended at work",
    TaskReason.CHECKS: "a check failed",
    TaskReason.NOTHING_RECORDED: "it said something at most, and changed nothing",
    TaskReason.ATTEMPTS: "all its attempts came to nothing",
    TaskReason.REFUSED: "it could not be begun",
    TaskReason.FAILED: "it failed",
}
_OF_AGENT: Final[dict[str, str]] = {
    FailureKind.AUTHENTICATION: "is signed out",
    FailureKind.BILLING: "cannot be paid for just now",
    FailureKind.RATE_LIMITED: "has used up what it is allowed, and does not say until when",
    FailureKind.NOT_INSTALLED: "cannot be run here",
}
_SHOWN: Final = (TaskState.NEEDS_OPERATOR, TaskState.FAILED)


def key_of(task: TaskId) -> str:
    return f"{task}:"


def follow(tx: Tx, task: Task, *, by: str) -> None:
    """Raise, renew or clear the item of a task, as its state is now. ``by``: who or what moved it."""
    attention.clear(tx, run=None, kind=AttentionKind.TASK, key=key_of(task.id), by=by)
    waits = _waits_for(tx, task) if task.state is TaskState.STOPPED else None
    if task.state in _SHOWN or waits is not None:
        said = f"it was stopped, and task {waits} waits for it" if waits else _said(task)
        text = f"task {task.id} ({task.title}): {said}"
        attention.raise_(tx, run=None, kind=AttentionKind.TASK, key=key_of(task.id), text=text)


def _said(task: Task) -> str:
    check = json.loads(task.detail).get("check") if task.reason == TaskReason.CHECKS else None
    return f"the check {check}" if check else _SAID.get(task.reason, task.reason)


def _waits_for(tx: Tx, task: Task) -> TaskId | None:
    """The first in line that will not be begun because of it."""
    needing = (tasks.get(tx, id) for id in tasks.needed_by(tx, task.id))
    return next((one.id for one in needing if one is not None and one.state is TaskState.QUEUED), None)


def agent_waits(tx: Tx, *, agent: str, reason: FailureKind, until: Millis | None, run: RunId | None) -> None:
    """Nothing of this agent is begun until then; where only the operator can end that, they are told."""
    stands = agentwaits.wait(tx, agent=agent, reason=reason, until=until, run=run)
    if stands.until is None:
        said = _OF_AGENT.get(stands.reason, "cannot be used just now")
        text = f"{agent} {said}; its tasks wait until you let them go on"
        attention.raise_(tx, run=None, kind=AttentionKind.TASK, key=_key_of_agent(agent), text=text)


def agent_goes_on(tx: Tx, agent: str, *, by: str) -> bool:
    """The operator has seen to it. False: it did not wait."""
    attention.clear(tx, run=None, kind=AttentionKind.TASK, key=_key_of_agent(agent), by=by)
    return agentwaits.over(tx, agent=agent) is not None


def _key_of_agent(agent: str) -> str:
    return f"agent:{agent}"
