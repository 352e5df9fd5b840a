"""``queue ls`` and ``queue show``: the line as a table that fits the terminal, and one task with all that is known."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from app.cli import printing, taskdesk
from app.cli.columns import Column
from app.cli.exits import refused
from app.cli.surroundings import Surroundings
from app.console.views.taskwords import short_words
from app.wording import age, agent_title, moment, plural, short_path
from app.wording_queue import agent_wait_words, line_held_words, reason_sentence, waits_sentence
from app.wording_tasks import counts_line, numbers, paths_words, task_glyph, task_money, task_state
from coordinator.api import ReadQueue, TaskView
from coordinator.clock import RealClock
from store import decisions
from store.db import read_ledger
from store.refusal import Refusal
from store.vocab import DecisionId, DecisionState, Millis, RefusalReason, TaskId, TaskState

NOBODY: Final[Mapping[TaskId, DecisionId]] = MappingProxyType({})
_NAMES = 10
"""Cells of what stands before a fact of ``show``."""
COLUMNS = (
    Column(),
    Column(head="task", right=True),
    Column(head="title", least=12),
    Column(head="repository", least=12, end=True, goes=5),
    Column(head="agent", least=8, goes=4),
    Column(head="state"),
    Column(head="ago", right=True, goes=3),
    Column(head="spent", right=True, goes=2),
    Column(head="now", least=14, goes=1),
)


def list_tasks(here: Surroundings, *, live: bool, limit: int, as_json: bool) -> None:
    """
    Raises:
        Leave: the ledger cannot be used.
    """
    view = taskdesk.read(here, ReadQueue(limit=limit, ended=not live), as_json=as_json)
    if as_json:
        printing.as_json(view)
        return
    now = RealClock().now()
    if view.held:
        printing.sentence(f"{printing.one_line(line_held_words(view.held))} footplate queue release lets it go.")
    for one in view.agents:
        free = "" if one.until is not None else f" footplate queue release --agent {one.agent} does."
        printing.sentence(printing.one_line(agent_wait_words(one, now) + free, 400))
    if not view.tasks:
        printing.sentence('Nothing waits in line. footplate queue add "what to do" puts a task there.')
        return
    asks = _asking(here, view.tasks)
    tasks = sorted(view.tasks, key=lambda one: one.id not in asks)  # what needs the operator comes first
    printing.table(rows(tasks, now, ascii=here.config.ascii, asks=asks), COLUMNS)
    for question in sorted(asks.values())[:1]:
        printing.sentence(f"Answer one with: footplate answer {question} CHOICE")
    counted = counts_line(view.counts)
    more = f" ({len(view.tasks)} shown; --limit N shows more)" if view.more else ""
    if counted and (more or len(view.tasks) > 1):
        printing.sentence(f"{counted}{more}")


def show_task(here: Surroundings, task: TaskId, *, as_json: bool) -> None:
    """
    Raises:
        Leave: there is no such task.
    """
    view = find(here, task, as_json=as_json)
    if as_json:
        printing.as_json(view)
        return
    printing.sentence(printing.one_line(f"Task {view.id} {view.title}", 400))
    for said in facts_of(view, RealClock().now()):
        printing.sentence(said, hang=_NAMES + 2)
    printing.line()
    for text in printing.literal_lines(view.instruction):
        printing.sentence(f"    {text}", hang=0)


def find(here: Surroundings, task: TaskId, *, as_json: bool) -> TaskView:
    """
    Raises:
        Leave: there is no such task.
    """
    view = taskdesk.read(here, ReadQueue(task=task), as_json=as_json)
    if not view.tasks:
        raise refused(Refusal(RefusalReason.NO_SUCH_TASK, {"task": task}), as_json=as_json)
    return view.tasks[0]


def _asking(here: Surroundings, tasks: Sequence[TaskView]) -> dict[TaskId, DecisionId]:
    """Tasks at work whose agent waits for the operator, each with its oldest open question."""
    at_work = {one.runs[-1]: one.id for one in tasks if one.state is TaskState.WORKING and one.runs}
    if not at_work:
        return {}
    with read_ledger(here.paths.ledger, now=RealClock().now) as tx:
        found = [one for one in decisions.live(tx) if one.run in at_work and one.state is DecisionState.OPEN]
    return {at_work[one.run]: one.id for one in sorted(found, key=lambda one: one.id, reverse=True)}


def rows(
    tasks: Sequence[TaskView], now: Millis, *, ascii: bool, asks: Mapping[TaskId, DecisionId] = NOBODY
) -> list[tuple[str, ...]]:
    """A row for each task. ``asks``: the question with which a task at work waits for the operator."""
    return [
        (
            task_glyph(TaskState.NEEDS_OPERATOR if one.id in asks else one.state, ascii),
            str(one.id),
            printing.one_line(one.title, 40),
            printing.one_line(short_path(one.repository), 400),
            printing.one_line(one.agent, 16),
            _state(one, asks),
            age(now - _since(one)),
            task_money(one),
            f"question {asks[one.id]}" if one.id in asks else _in_short(one, now),
        )
        for one in tasks
    ]


def _state(one: TaskView, asks: Mapping[TaskId, DecisionId]) -> str:
    if one.id in asks:
        return "asks you"
    return "kept back" if one.held and one.state is TaskState.QUEUED else task_state(one.state)


def _in_short(one: TaskView, now: Millis) -> str:
    if one.state is TaskState.WORKING:
        return f"run {one.runs[-1]}" if one.runs else "begins"
    if one.state is TaskState.DONE or one.held:
        return ""
    return printing.one_line(short_words(one, now).text, 60)


def _since(one: TaskView) -> Millis:
    return one.ended_at or (one.claimed_at if one.state is TaskState.WORKING else None) or one.created_at


def why(one: TaskView, now: Millis) -> str:
    """Why it waits, needs the operator or ended so, as a sentence; for one at work, its run."""
    if one.state is TaskState.WORKING:
        run = f"Run {one.runs[-1]} is at it" if one.runs else "It begins"
        said = f"{run}{f', held by {one.owner}' if one.owner else ''}."
    elif one.reason is not None:
        said = reason_sentence(one.reason, one.detail)
    elif one.waits is not None:
        said = waits_sentence(one.waits, one.waits_facts, now)
    else:
        said = ""
    return printing.one_line(said, 600)


def facts_of(one: TaskView, now: Millis) -> list[str]:
    """All that is known of a task but its title and what is to be done; text of others made literal."""
    rows = [
        ("state", f"{task_state(one.state)} ({age(now - _since(one))})"),
        ("why", why(one, now)),
        ("repository", printing.one_line(short_path(one.repository), 400)),
        ("agent", printing.one_line(agent_title(one.agent) if one.agent else "as it comes to agreeing to its terms")),
        ("keeps", printing.one_line(paths_words(one.paths, 20), 800) if one.paths else ""),
        ("after", numbers(one.needs)),
        ("priority", str(one.priority) if one.priority else ""),
        ("terms", _agreed(one)),
        ("money", task_money(one)),
        ("runs", ", ".join(map(str, one.runs))),
        ("added", printing.one_line(f"{moment(one.created_at, now)} by {one.operator}")),
    ]
    if one.parent is not None:
        rows.append(("with", f"task {one.parent}, in another repository"))
    return [f"{name.ljust(_NAMES)}  {value}" for name, value in rows if value]


def _agreed(one: TaskView) -> str:
    if one.attempts_left is None:
        return f"not agreed to; footplate queue agree {one.id} shows them"
    return f"agreed to, {plural(one.attempts_left, 'attempt')} left"
