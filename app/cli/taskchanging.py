"""``queue edit|hold|release|retry|accept|rm``: changes of tasks that are in line.

Each task has its own answer: one that is refused keeps none of the others back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.cli import brief as briefs, printing, taskadding, taskdesk, values
from app.cli.elsewhere import refuse_inside_a_hold
from app.cli.exits import Code, note, refused, usage
from app.cli.surroundings import Surroundings, surroundings
from app.cli.tasklist import find
from app.wording import sentence
from app.wording_tasks import about_task
from coordinator.api import (
    AcceptTask,
    Done,
    EditTask,
    HoldLine,
    HoldTask,
    QueueCommand,
    ReleaseAgent,
    RemoveTask,
    RetryTask,
    Waits,
)
from store.refusal import Refusal
from store.vocab import RefusalReason, TaskId

_ORDERS: dict[str, tuple[Callable[[TaskId], QueueCommand], str]] = {
    "retry": (lambda task: RetryTask(task=task), "is in line again"),
    "accept": (lambda task: AcceptTask(task=task), "is done"),
    "rm": (lambda task: RemoveTask(task=task), "is out of the line"),
    "hold": (lambda task: HoldTask(task=task, held=True), "is kept back"),
    "release": (lambda task: HoldTask(task=task, held=False), "is let go"),
}
_NEW_TERMS = frozenset({Waits.SIGNING, Waits.EDITED, Waits.SPENT})
"""Nothing begins such a task before its terms are agreed to (again)."""


def each(verb: str, given: Sequence[str], *, as_json: bool) -> int:
    """One order for each of the tasks; 1 where one of them was refused.

    Raises:
        Leave: a number is none, or the ledger cannot be used.
    """
    tasks = values.task_ids(given)
    here = _ours(f"queue {verb}", as_json=as_json)
    make, came = _ORDERS[verb]
    told: list[dict[str, object]] = []
    for task in tasks:
        reply = _one(here, make(task), task, as_json=as_json)
        if isinstance(reply, Refusal):
            said = sentence(reply)
            note(about_task(task, said) if len(tasks) > 1 else said)
            told.append({"task": task, "ok": False, "refused": reply.reason.value, "sentence": said})
        else:
            anew = verb == "retry" and find(here, task, as_json=as_json).waits in _NEW_TERMS
            told.append({"task": task, "ok": True, **({"agree_again": anew} if verb == "retry" else {})})
            if not as_json:
                again = f", once you agree to new terms: footplate queue agree {task}" if anew else ""
                printing.sentence(f"Task {task} {came}{again}.")
    if any(one["ok"] for one in told):
        taskdesk.tell_consoles(here.paths)
    if as_json:
        printing.as_json({"tasks": told})
    return Code.DONE if all(one["ok"] for one in told) else Code.REFUSED


def _one(here: Surroundings, order: QueueCommand, task: TaskId, *, as_json: bool) -> object:
    if not here.paths.ledger.exists():
        return Refusal(RefusalReason.NO_SUCH_TASK, {"task": task})
    return taskdesk.ask(here, order, as_json=as_json)


def keep_back(given: Sequence[str], *, held: bool, agent: str | None = None, as_json: bool) -> int:
    """Tasks, the tasks of an agent, or the whole line.

    Raises:
        Leave: refused, or typed wrongly.
    """
    if given:
        if agent is not None:
            raise usage("Give tasks or --agent, not both.")
        return each("hold" if held else "release", given, as_json=as_json)
    here = _ours("queue hold" if held else "queue release", as_json=as_json)
    taskdesk.done(here, HoldLine(held=held) if agent is None else ReleaseAgent(agent=agent), Done, as_json=as_json)
    if as_json:
        printing.as_json({"line": "held" if held else "open"} if agent is None else {"agent": agent, "held": False})
    elif agent is not None:
        printing.sentence(f"Tasks of {printing.one_line(agent)} are begun again.")
    elif held:
        printing.sentence("The line is kept back: nothing more is begun; footplate queue release lets it go.")
    else:
        printing.sentence("The line is let go.")
    return Code.DONE


def edit(
    task: str,
    *,
    text: str | None,
    title: str | None,
    after: Sequence[str] | None,
    paths: Sequence[str] | None,
    priority: int | None,
    wished: Mapping[str, Any],
    as_json: bool,
) -> None:
    """
    Raises:
        Leave: refused, or typed wrongly.
    """
    number = values.task_id(task)
    wishing = any(value is not None for value in wished.values())
    if not wishing and all(value is None for value in (text, title, after, paths, priority)):
        raise usage("edit what? footplate queue edit --help shows what there is.")
    given = None if text is None else briefs.read(None if text == "-" else text, "-" if text == "-" else None)
    needs = None if after is None else () if list(after) == ["none"] else values.task_ids(after)
    changed = taskadding.wishes(**wished) if wishing else None  # what is typed wrongly is said before anything is read
    here = _ours("queue edit", as_json=as_json)
    view = find(here, number, as_json=as_json)
    if changed is not None:
        changed = taskadding.wishes(view.wishes, **wished)
    reply = taskdesk.ask(
        here,
        EditTask(
            task=number,
            revision=view.revision,
            title=title,
            instruction=None if given is None else given.text,
            paths=None if paths is None else tuple(paths),
            needs=needs,
            priority=priority,
            wishes=changed,
        ),
        as_json=as_json,
    )
    if isinstance(reply, Refusal):
        raise refused(reply, as_json=as_json)
    taskdesk.tell_consoles(here.paths)
    after_it = find(here, number, as_json=as_json)
    anew = view.attempts_left is not None and after_it.attempts_left is None
    if as_json:
        printing.as_json({"task": number, "revision": after_it.revision, "agree_again": anew})
    else:
        again = f"; its terms are to be agreed to again: footplate queue agree {number}" if anew else ""
        printing.sentence(f"Task {number} is changed{again}.")


def _ours(verb: str, *, as_json: bool) -> Surroundings:
    here = surroundings(as_json=as_json)
    refuse_inside_a_hold(here.paths, None, verb, as_json=as_json)
    return here
