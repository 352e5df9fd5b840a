"""Tasks from a file: TOML with one ``[[task]]`` for each, or one JSON object a line. All of it, or one sentence.

Pure: the text comes in, orders go out. Money is in dollars and times are in the unit that the key names, as in the
other files of the operator. What a task may need or reserve is looked at where it is added (``adding``).
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from coordinator.tasks.tasktypes import NewTask, Wishes
from store.refusal import Refusal
from store.vocab import MicroUsd, RefusalReason, TaskId

MOST_TASKS: Final = 10_000
_LONGEST_NAME: Final = 200
_JSON_NAMES: Final = (".jsonl", ".ndjson", ".json")

_Positive = Annotated[float, msgspec.Meta(gt=0, le=100_000)]
_Number = Annotated[int, msgspec.Meta(ge=1)]


class _Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    instruction: Annotated[str, msgspec.Meta(min_length=1)]
    name: Annotated[str, msgspec.Meta(max_length=_LONGEST_NAME)] = ""
    title: str = ""
    repository: str | list[str] | None = None
    paths: list[str] = msgspec.field(default_factory=list)
    needs: list[_Number | str] = msgspec.field(default_factory=list)
    priority: Annotated[int, msgspec.Meta(ge=-1000, le=1000)] = 0
    agent: str | None = None
    model: str | None = None
    mode: str | None = None
    preset: str | None = None
    budget: _Positive | None = None
    turns: Annotated[int, msgspec.Meta(ge=1, le=10_000)] | None = None
    working_minutes: _Positive | None = None
    expires_hours: _Positive | None = None
    attempts: Annotated[int, msgspec.Meta(ge=1, le=20)] | None = None
    in_place: bool | None = None
    preamble: bool | None = None
    rules: list[str] = msgspec.field(default_factory=list)
    script: str = ""


def parse(
    text: str, *, name: str, beside: Path, repositories: Sequence[str], base: Wishes
) -> tuple[NewTask, ...] | Refusal:
    """The tasks of a file, in its order. ``name``: of the file, as it is told and by which its form is known.

    ``beside``: the folder that its repositories are relative to. ``repositories`` and ``base`` go for a task that says
    nothing of its own. ``queue-file-invalid`` (file, where, problem) for the first mistake.
    """
    tables = _of_lines(text, name) if _is_json(text, name) else _of_toml(text, name)
    found: list[NewTask] = []
    names: set[str] = set()
    for where, table in tables:
        if isinstance(table, Refusal):
            return table
        if len(found) == MOST_TASKS:
            return _invalid(name, where, f"it has more than {MOST_TASKS} tasks")
        try:
            task = msgspec.convert(table, _Task)
        except msgspec.ValidationError as problem:
            return _invalid(name, where, _said(str(problem)))
        if task.name in names:
            return _invalid(name, where, f"another task has the name {task.name} already")
        if task.name:
            names.add(task.name)
        found.append(_order(task, beside, repositories, base))
    if not found:
        return _invalid(name, "", "it has no task")
    return _unknown_need(found, names, name) or tuple(found)


def _is_json(text: str, name: str) -> bool:
    return name.lower().endswith(_JSON_NAMES) or text.lstrip()[:1] == "{"


def _of_lines(text: str, name: str) -> Iterator[tuple[str, Any | Refusal]]:
    # Only at line ends: a JSON string may hold the other signs that ``splitlines`` breaks at.
    for n, row in enumerate(text.split("\n"), start=1):
        if not row.strip():
            continue
        where = f"line {n}"
        try:
            yield where, msgspec.json.decode(row.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError) as problem:
            said = str(problem) or "it is nested too deeply"
            yield where, _invalid(name, where, f"it is no JSON object: {said[:1].lower()}{said[1:]}")


def _of_toml(text: str, name: str) -> Iterator[tuple[str, Any | Refusal]]:
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        yield "", _invalid(name, "", f"it is not TOML: {str(problem) or 'it is nested too deeply'}")
        return
    listed = tables.pop("task", [])
    if tables:
        yield "", _invalid(name, "", f"there is no such key: {next(iter(tables))}; each task begins with [[task]]")
        return
    if not isinstance(listed, list):
        yield "", _invalid(name, "", "each task begins with [[task]], in two brackets")
        return
    for n, table in enumerate(listed, start=1):
        called = table.get("name") if isinstance(table, dict) else None
        yield f"task {n}" + (f" ({called[:60]})" if isinstance(called, str) and called else ""), table


def _order(task: _Task, beside: Path, repositories: Sequence[str], base: Wishes) -> NewTask:
    given = [task.repository] if isinstance(task.repository, str) else task.repository
    return NewTask(
        instruction=task.instruction,
        repositories=tuple(repositories if given is None else [_absolute(one, beside) for one in given]),
        title=task.title,
        paths=tuple(task.paths),
        needs=tuple(TaskId(one) if isinstance(one, int) else one for one in task.needs),
        name=task.name,
        priority=task.priority,
        wishes=_wishes(task, base),
    )


def _absolute(given: str, beside: Path) -> str:
    path = Path(given)
    try:
        path = path.expanduser()
    except RuntimeError:
        pass  # somebody's home that there is not: a folder of that name is not there either
    return str(path if path.is_absolute() else beside / path)


def _wishes(task: _Task, base: Wishes) -> Wishes:
    return Wishes(
        agent=task.agent or base.agent,
        model=task.model or base.model,
        mode=task.mode or base.mode,
        preset=task.preset or base.preset,
        budget=base.budget if task.budget is None else MicroUsd(round(task.budget * 1_000_000)),
        max_turns=base.max_turns if task.turns is None else task.turns,
        working_seconds=base.working_seconds if task.working_minutes is None else round(task.working_minutes * 60),
        expires_seconds=base.expires_seconds if task.expires_hours is None else round(task.expires_hours * 3600),
        attempts=base.attempts if task.attempts is None else task.attempts,
        in_place=base.in_place if task.in_place is None else task.in_place,
        preamble=base.preamble if task.preamble is None else task.preamble,
        rules=(*base.rules, *task.rules),
        script=task.script or base.script,
    )


def _unknown_need(tasks: Sequence[NewTask], names: set[str], file: str) -> Refusal | None:
    for n, task in enumerate(tasks, start=1):
        for need in task.needs:
            if isinstance(need, str) and need not in names:
                where = f"task {n}" + (f" ({task.name[:60]})" if task.name else "")
                return _invalid(file, where, f"it needs {need[:60]!r}, and no task here has that name")
    return None


def _said(message: str) -> str:
    """msgspec's ``Expected `int`, got `str` - at `$.turns``` with its key in front."""
    unknown = re.search(r"unknown field `([^`]*)`", message)
    if unknown:
        return f"there is no such key: {unknown.group(1)[:60]}"
    missing = re.search(r"missing required field `([^`]*)`", message)
    if missing:
        return f"it has no {missing.group(1)}"
    place = re.search(r" - at `\$\.?([^`]*)`", message)
    problem = re.sub(r" - at `[^`]*`", "", message).replace("`", "")
    key = f"key {place.group(1)[:60]}: " if place and place.group(1) else ""
    return f"{key}{problem[:1].lower()}{problem[1:]}"


def _invalid(file: str, where: str, problem: str) -> Refusal:
    return Refusal(RefusalReason.QUEUE_FILE_INVALID, {"file": file, "where": where, "problem": problem})
