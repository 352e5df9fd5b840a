"""All that is known of one task, beside the list or below it. Pure."""

from app.console.views.ink import EMPTY, Line, Span, literal, one_line, wrap
from app.console.views.taskterms import kept_paths
from app.console.views.taskwords import ASKS, title_of_task
from app.wording import agent_title, clock, moment, money, money_so_far, plural, short_path
from app.wording_queue import reason_sentence, waits_sentence
from app.wording_tasks import task_state
from coordinator.api import QueueView, TaskView
from store.vocab import Millis, TaskId, TaskState

LABEL = 12


def facts_lines(
    task: TaskView, view: QueueView, now: Millis, width: int, home: str | None, *, asks: bool = False
) -> tuple[Line, ...]:
    """``asks``: the agent at it waits for an answer."""
    rows: list[Line] = [(Span(row, "strong bright"),) for row in wrap(title_of_task(task), width)]
    kept = ", kept back by you" if task.held and task.state is TaskState.QUEUED else ""
    rows.append((Span(f"task {task.id}, {task_state(task.state)}{kept}", "grey"),))
    if asks:
        rows += [(Span(row, "amber"),) for row in wrap("Its agent asks you: Enter opens its session.", width)]
    why, ink = why_sentence(task)
    rows += [(Span(row, ink),) for row in wrap(literal(why), width)] if why else []
    rows.append(EMPTY)
    for label, said in _pairs(task, view, now, home):
        rows += _pair(label, said, width)
    rows += [EMPTY, (Span("TO DO", "grey strong"),)]
    rows += [(Span(row, "text"),) for row in wrap(literal(task.instruction, newlines=True), width)]
    return tuple(rows)


def why_sentence(task: TaskView) -> tuple[str, str]:
    """Why it stands as it does, and the ink for it."""
    if task.state is TaskState.QUEUED and task.waits is not None:
        return waits_sentence(task.waits, task.waits_facts), "amber" if task.waits in ASKS else "text"
    if task.reason is None:
        return "", "text"
    ink = {TaskState.NEEDS_OPERATOR: "amber", TaskState.FAILED: "red"}.get(task.state, "text")
    return reason_sentence(task.reason, task.detail), ink


def _pair(label: str, said: str, width: int) -> list[Line]:
    if not said:
        return []
    pieces = wrap(said, max(width - LABEL, 12))
    return [
        (Span((label if not number else "").ljust(LABEL), "grey"), Span(piece, "text"))
        for number, piece in enumerate(pieces)
    ]


def _pairs(task: TaskView, view: QueueView, now: Millis, home: str | None) -> list[tuple[str, str]]:
    return [
        ("repository", one_line(short_path(task.repository, home))),
        ("agent", _agent(task)),
        ("terms", _terms(task)),
        ("money", _money(task)),
        ("sessions", _sessions(task)),
        ("needs", ", ".join(_needed(one, view) for one in task.needs)),
        ("its paths", kept_paths(task.paths)),
        ("priority", f"{task.priority:+d}" if task.priority else ""),
        ("one of", f"several over more than one repository: {task.parent} is the first" if task.parent else ""),
        ("held by", one_line(task.owner)),
        ("added", f"{moment(task.created_at, now)}, by {one_line(task.operator)}"),
        ("ended", clock(task.ended_at) if task.ended_at is not None else ""),
    ]


def _agent(task: TaskView) -> str:
    if not task.agent:
        return "the one that would be chosen here"
    model = f", model {one_line(task.wishes.model)}" if task.wishes.model else ""
    return f"{one_line(agent_title(task.agent))}{model}"


def _terms(task: TaskView) -> str:
    if task.state in (TaskState.DONE, TaskState.STOPPED):
        return ""
    if task.attempts_left is None:
        return f"not agreed yet: s shows them ({plural(task.wishes.attempts, 'attempt')})"
    if not task.attempts_left:
        return "all attempts are used up"
    return f"agreed, {plural(task.attempts_left, 'attempt')} left"


def _money(task: TaskView) -> str:
    limit = task.budget if task.budget is not None else task.wishes.budget
    if not task.runs and not task.spent:
        return f"at most {money(limit)}" if limit is not None else ""
    spent = money_so_far(task.spent, guess=False, told=False)
    return f"{spent} of {money(limit)}" if limit is not None else spent


def _sessions(task: TaskView) -> str:
    if not task.runs:
        return ""
    told = [str(run) for run in task.runs[-6:]]
    before = f"{len(task.runs) - 6} before, " if len(task.runs) > 6 else ""
    return f"{before}{', '.join(told)}: Enter opens {task.runs[-1]}"


def _needed(needed: TaskId, view: QueueView) -> str:
    other = next((one for one in view.tasks if one.id == needed), None)
    if other is None:
        return str(needed)
    return f"{needed} {title_of_task(other)} ({task_state(other.state)})"
