"""The form of a task: its fields as text, and what was written in them read again, or a sentence why not. Pure.

The same fields add a task and change one; of one that is changed only what differs is sent.
"""

import re

from msgspec import Struct
from msgspec.structs import replace

from app.console.views.ink import one_line
from app.wording import money
from coordinator.api import EditTask, NewTask, TaskView, Wishes
from store.vocab import MicroUsd, TaskId

INSTRUCTION = "instruction"


class FormField(Struct, frozen=True, kw_only=True):
    name: str
    label: str
    value: str = ""


def new_fields(
    repository: str, wishes: Wishes | None = None, *, needs: tuple[TaskId, ...] = ()
) -> tuple[FormField, ...]:
    return (
        FormField(name="title", label="title (empty: first words)"),
        FormField(name="repository", label="repository (; between more)", value=repository),
        FormField(name="needs", label="after tasks, by number", value=" ".join(str(one) for one in needs)),
        FormField(name="paths", label="its paths (; between)"),
        FormField(name="priority", label="priority (higher is sooner)", value="0"),
        *_of_wishes(wishes or Wishes()),
    )


def fields_of(task: TaskView) -> tuple[FormField, ...]:
    return (
        FormField(name="title", label="title", value=task.title),
        FormField(name="needs", label="after tasks, by number", value=" ".join(str(one) for one in task.needs)),
        FormField(name="paths", label="its paths (; between)", value="; ".join(task.paths)),
        FormField(name="priority", label="priority (higher is sooner)", value=str(task.priority)),
        *_of_wishes(task.wishes),
    )


def _of_wishes(wishes: Wishes) -> tuple[FormField, ...]:
    budget = money(wishes.budget) if wishes.budget is not None else ""
    return (
        FormField(name="agent", label="agent (empty: the usual)", value=wishes.agent or ""),
        FormField(name="model", label="model (empty: its own)", value=wishes.model or ""),
        FormField(name="budget", label="money for all attempts, USD", value=budget),
        FormField(name="attempts", label="attempts at most", value=str(wishes.attempts)),
        FormField(name="turns", label="turns at most in each", value=_number(wishes.max_turns)),
        FormField(name="tree", label="tree (new, or in place)", value="in place" if wishes.in_place else "new"),
    )


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def new_task(values: dict[str, str], base: Wishes, title: str) -> NewTask | str:
    """``title``: what it is called where nobody gave it one."""
    if not values[INSTRUCTION].strip():
        return "say first what is to be done"
    repositories = tuple(one.strip() for one in values["repository"].split(";") if one.strip())
    if not repositories:
        return "repository: say where it is to be done"
    read = _read(values, base)
    if isinstance(read, str):
        return read
    return NewTask(
        instruction=values[INSTRUCTION].strip("\n"),
        repositories=repositories,
        title=values["title"].strip() or title,
        paths=read.paths,
        needs=read.needs,
        priority=read.priority,
        wishes=read.wishes,
    )


def edited(values: dict[str, str], task: TaskView) -> EditTask | str:
    if not values[INSTRUCTION].strip():
        return "say what is to be done: x takes the task out of the line"
    read = _read(values, task.wishes)
    if isinstance(read, str):
        return read
    instruction, title = values[INSTRUCTION].strip("\n"), values["title"].strip() or task.title
    order = EditTask(
        task=task.id,
        revision=task.revision,
        title=title if title != task.title else None,
        instruction=instruction if instruction != task.instruction.strip("\n") else None,
        paths=read.paths if read.paths != task.paths else None,
        needs=read.needs if set(read.needs) != set(task.needs) else None,
        priority=read.priority if read.priority != task.priority else None,
        wishes=read.wishes if read.wishes != task.wishes else None,
    )
    return order if order != EditTask(task=task.id, revision=task.revision) else "nothing was changed: Esc goes back"


def touches_terms(order: EditTask) -> bool:
    """Whether what was agreed to is stale with it."""
    return any(part is not None for part in (order.title, order.instruction, order.paths, order.wishes))


class _Fields(Struct, frozen=True, kw_only=True):
    needs: tuple[TaskId, ...]
    paths: tuple[str, ...]
    priority: int
    wishes: Wishes


def _read(values: dict[str, str], base: Wishes) -> _Fields | str:
    numbers = [part for part in re.split(r"[\s,;]+", values["needs"]) if part]
    if wrong := next((part for part in numbers if not _whole(part)), None):
        return f"after tasks: {one_line(wrong)} is no number of a task; write them as 9 12"
    priority = values["priority"].strip() or "0"
    if not _whole(priority.lstrip("+-")):
        return f"priority: {one_line(priority)} is no whole number; write it as 1 or -1"
    attempts = values["attempts"].strip()
    if not _whole(attempts) or int(attempts) < 1:
        return f"attempts: {one_line(attempts) or 'nothing'} is no whole number; write it as 3"
    turns = values["turns"].strip()
    if turns and (not _whole(turns) or int(turns) < 1):
        return f"turns: {one_line(turns)} is no whole number; write it as 40"
    budget = _budget(values["budget"].strip(), base)
    if isinstance(budget, str):
        return budget
    tree = values["tree"].strip().lower()
    if tree not in ("new", "in place"):
        return "tree: write new or in place"
    agent = values["agent"].strip() or None
    return _Fields(
        needs=tuple(TaskId(int(one)) for one in numbers),
        paths=tuple(one.strip() for one in values["paths"].split(";") if one.strip()),
        priority=int(priority),
        wishes=replace(
            base,
            agent=agent,
            model=values["model"].strip() or None,
            # Models and modes go by each agent's own names.
            mode=base.mode if agent == base.agent else None,
            budget=budget,
            max_turns=int(turns) if turns else None,
            attempts=int(attempts),
            in_place=tree == "in place",
        ),
    )


def _whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


def _budget(text: str, base: Wishes) -> MicroUsd | str | None:
    if not text:
        return None
    if base.budget is not None and text == money(base.budget):
        return base.budget  # what is shown is rounded
    try:
        budget = MicroUsd(round(float(text) * 1_000_000))
    except (ValueError, OverflowError):
        return f"money: {one_line(text)} is no number; write it as 5.00"
    return budget if budget > 0 else "money: it must be more than nothing"
