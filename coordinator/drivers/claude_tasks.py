"""Background tasks of the agent: which run, how those that ended did. A foreground command is none of them."""

from coordinator.drivers import claude_asks, claude_turns
from coordinator.drivers.base import AgentEvent, BackgroundChanged, BackgroundTask
from coordinator.drivers.claude_state import EndedTask, State, Task
from coordinator.drivers.json_fields import Json, listing, mapping, objects, text, word
from coordinator.drivers.linedriver import KEPT

Out = list[AgentEvent]

_ENDS = {
    "completed": "done",
    "failed": "failed",
    "error": "failed",
    "stopped": "stopped",
    "killed": "stopped",
    "cancelled": "stopped",
}


def _kind(task_type: str) -> str:
    return "agent" if "agent" in task_type else "shell"


def _running(state: State) -> tuple[BackgroundTask, ...]:
    return tuple(
        BackgroundTask(id=task_id, kind=task.kind, title=task.title, state="running")
        for task_id, task in state.tasks.items()
        if task.background
    )


def _end(state: State, task_id: str, how: str) -> BackgroundTask | None:
    """Note the end; the task to show when that is news about a background task."""
    task = state.tasks.pop(task_id, None)
    known = state.ended.get(task_id)
    if task is not None and task.background:
        known = EndedTask(kind=task.kind, title=task.title, state=how)
    elif known is None or known.state == how:
        return None
    else:
        # The list may drop a task before its notice says how it ended: the first word is corrected.
        known.state = how
    state.ended[task_id] = known
    while len(state.ended) > KEPT:
        del state.ended[next(iter(state.ended))]
    return BackgroundTask(id=task_id, kind=known.kind, title=known.title, state=how)


def _tell(state: State, ended: tuple[BackgroundTask, ...], out: Out) -> None:
    out.append(BackgroundChanged(tasks=_running(state) + ended))


def started(state: State, line: Json, out: Out) -> bool:
    task_id = word(line, "task_id")
    if task_id is None:
        return False
    call = text(line, "tool_use_id")
    claude_asks.used(state, call, out)
    told = line.get("is_backgrounded")
    background = told is True or (told is None and bool(call) and call in state.background_calls)
    known = state.tasks.get(task_id)
    state.tasks[task_id] = Task(
        kind=_kind(text(line, "task_type")),
        title=text(line, "description"),
        call=call,
        background=background or (known is not None and known.background),
    )
    state.ended.pop(task_id, None)
    if background and (known is None or not known.background):
        _tell(state, (), out)
    return True


def updated(state: State, line: Json, out: Out) -> bool:
    task_id, patch = word(line, "task_id"), mapping(line, "patch")
    if task_id is None:
        return False
    task = state.tasks.get(task_id)
    moved = patch.get("is_backgrounded") is True and task is not None and not task.background
    if moved and task is not None:
        task.background = True
    how = _ENDS.get(text(patch, "status"))
    ended = _end(state, task_id, how) if how else None
    if moved or ended:
        _tell(state, (ended,) if ended else (), out)
    return True


def notified(state: State, line: Json, out: Out) -> bool:
    task_id = word(line, "task_id")
    how = _ENDS.get(text(line, "status"))
    if task_id is None or how is None:
        return False
    background = task_id in state.ended or (task_id in state.tasks and state.tasks[task_id].background)
    ended = _end(state, task_id, how)
    if ended:
        _tell(state, (ended,), out)
    if background:
        claude_turns.woken(state, "background task ended")
    return True


def listed(state: State, line: Json, out: Out) -> bool:
    if not isinstance(line.get("tasks"), list):
        return False
    before = _running(state)
    named = {text(task, "task_id"): task for task in objects(line, "tasks") if word(task, "task_id")}
    if len(named) != len(listing(line, "tasks")):
        return False
    for task_id, told in named.items():
        known = state.tasks.get(task_id)
        if known is None:
            state.tasks[task_id] = Task(
                kind=_kind(text(told, "task_type")), title=text(told, "description"), background=True
            )
        else:
            known.background = True
    gone = [task.id for task in before if task.id not in named]
    ended = tuple(task for task_id in gone if (task := _end(state, task_id, "done")))
    if ended or _running(state) != before:
        _tell(state, ended, out)
    return True
