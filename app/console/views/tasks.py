"""The line of tasks as rows: what needs the operator, what is at work, what waits and why, what is over; and why a key
does nothing to the one that is lit. Pure.
"""

from collections.abc import Collection

from msgspec import Struct

from app.console.views.glyphs import Glyphs
from app.console.views.ink import EMPTY, Line, Span, cut, one_line, sides, wrap
from app.console.views.standing import ended
from app.console.views.taskwords import short_words, title_of_task
from app.wording import agent_title, failure_in_short, moment
from app.wording_queue import kept_back_words
from coordinator.api import AgentWait, ConsoleSnapshot, Group, QueueSummary, QueueView, TaskView
from store.vocab import FailureKind, Millis, RunId, TaskId, TaskState

PARTS: tuple[tuple[str, tuple[TaskState, ...]], ...] = (
    ("NEEDS YOU", (TaskState.NEEDS_OPERATOR,)),
    ("WORKING", (TaskState.WORKING,)),
    ("WAITING", (TaskState.QUEUED,)),
    ("ENDED", (TaskState.DONE, TaskState.FAILED, TaskState.STOPPED)),
)
_PART_OF = {state: part for part, (_, states) in enumerate(PARTS) for state in states}
Asking = Collection[RunId]
"""Sessions that need the operator just now."""


def asking(snapshot: ConsoleSnapshot) -> frozenset[RunId]:
    return frozenset(one.run for one in snapshot.sessions if one.group is Group.NEEDS_YOU and not ended(one))


def asks_you(task: TaskView, asks: Asking) -> bool:
    """An agent is at it and needs the operator to go on."""
    return task.state is TaskState.WORKING and bool(task.runs) and task.runs[-1] in asks


def part_of(task: TaskView, asks: Asking) -> int:
    return 0 if asks_you(task, asks) else _PART_OF[task.state]


def is_over(task: TaskView) -> bool:
    return PARTS[_PART_OF[task.state]][0] == "ENDED"


class LinePicture(Struct, frozen=True, kw_only=True):
    lines: tuple[Line, ...]
    tasks: tuple[TaskId | None, ...]
    """The task that each row belongs to, for the mouse and for keeping the lit one on the screen."""


def listed(view: QueueView | None, words: str, asks: Asking) -> tuple[TaskView, ...]:
    """In the order in which they are shown: by part, within it as they would be begun."""
    tasks = view.tasks if view is not None else ()
    return tuple(sorted((one for one in tasks if matches(one, words, asks)), key=lambda one: part_of(one, asks)))


def matches(task: TaskView, words: str, asks: Asking) -> bool:
    """Every word is in its number, title, instruction, agent, repository, paths or part."""
    if not words.strip():
        return True
    part = PARTS[part_of(task, asks)][0]
    hay = " ".join((str(task.id), task.title, task.instruction, task.agent, task.repository, *task.paths, part))
    hay = f"{hay} {task.state}".casefold()
    return all(word in hay for word in words.casefold().split())


def line_picture(
    tasks: tuple[TaskView, ...],
    lit: TaskId | None,
    marked: Collection[TaskId],
    now: Millis,
    width: int,
    glyphs: Glyphs,
    asks: Asking,
) -> LinePicture:
    lines: list[Line] = []
    ids: list[TaskId | None] = []
    part = -1
    digits = max((len(str(one.id)) for one in tasks), default=1)
    for task in tasks:
        if part_of(task, asks) != part:
            part = part_of(task, asks)
            if lines:
                lines.append(EMPTY)
                ids.append(None)
            count = sum(1 for one in tasks if part_of(one, asks) == part)
            ink = "amber strong" if part == 0 else "grey strong"
            lines.append(cut_to(((Span(PARTS[part][0], ink), Span(f" {count}", "grey"))), width))
            ids.append(None)
        asked = asks_you(task, asks)
        lines.append(_row(task, task.id == lit, task.id in marked, now, width, digits, glyphs, asked=asked))
        ids.append(task.id)
    return LinePicture(lines=tuple(lines), tasks=tuple(ids))


def cut_to(row: Line, width: int) -> Line:
    return sides(row, (), width)


def sign_of(task: TaskView, glyphs: Glyphs, *, asks: bool) -> Span:
    match task.state:
        case TaskState.WORKING if asks:
            return Span(glyphs.needs, "amber")
        case TaskState.NEEDS_OPERATOR:
            return Span(glyphs.needs, "amber")
        case TaskState.WORKING:
            return Span(glyphs.working, "green")
        case TaskState.QUEUED:
            return Span(glyphs.idle, "grey")
        case TaskState.DONE:
            return Span(glyphs.done, "grey")
        case _:
            return Span(glyphs.ended, "red" if task.state is TaskState.FAILED else "grey")


def _row(
    task: TaskView, lit: bool, marked: bool, now: Millis, width: int, digits: int, glyphs: Glyphs, *, asked: bool
) -> Line:
    on = " on-sel" if lit else ""
    sign = sign_of(task, glyphs, asks=asked)
    told = short_words(task, now, asks=asked)
    over = task.ended_at is not None and task.state is not TaskState.NEEDS_OPERATOR
    name = "bright strong" if lit else "bright" if marked else "grey" if over else "text"
    first = f"{task.priority:+d} ".replace("-", glyphs.minus) if task.priority and not over else ""
    left: Line = (
        Span("+ " if marked else "  ", f"amber strong{on}"),
        Span(sign.text, sign.ink + on),
        Span(f" {str(task.id).ljust(digits)} ", f"grey{on}"),
        Span(first, f"blue{on}"),
        Span(title_of_task(task), name + on),
    )
    right: Line = (Span(f"  {cut(told.text, max(width // 2, 8))} ", told.ink + on),)
    row = sides(left, right, width)
    return tuple(Span(span.text, span.ink if not on or "on-" in span.ink else span.ink + on) for span in row)


def empty_lines(width: int, words: str, told: str) -> tuple[Line, ...]:
    """Where there is no task to show: what the line is for, and the key that adds one."""
    if told:
        return ((Span(cut(told, width), "grey"),),)
    if words.strip():
        return (
            (Span(cut(f"No task is called “{one_line(words)}”.", width), "text"),),
            (Span("Esc shows all", "grey"),),
        )
    said = (
        "Nothing is in line.",
        "",
        "What is put here is begun by itself, one after the other, while you are there to be asked: each task under "
        "terms that you have agreed to, for so many attempts and so much money.",
    )
    rows: list[Line] = []
    for number, text in enumerate(said):
        rows += [(Span(row, "bright" if not number else "text"),) for row in wrap(text, width)]
    keys: tuple[tuple[str, str], ...] = (("a", "add a task"), ("Esc", "back to the sessions"))
    return (*rows, EMPTY, *((Span(key.ljust(5), "blue"), Span(words_, "grey")) for key, words_ in keys))


def heading(summary: QueueSummary, view: QueueView | None, shown: int, words: str, width: int, asks: Asking) -> Line:
    """How many there are of each part; by the list where there is one, else by the snapshot."""
    waiting, working, needs = summary.waiting, summary.working, summary.needs_operator
    if view is not None:
        waiting, working, needs = (
            view.counts.get(state, 0) for state in (TaskState.QUEUED, TaskState.WORKING, TaskState.NEEDS_OPERATOR)
        )
        asked = sum(asks_you(one, asks) for one in view.tasks)
        working, needs = max(working - asked, 0), needs + asked
    row: list[Span] = [Span("tasks in line", "strong bright")]
    told = (
        (needs, "needs you" if needs == 1 else "need you", "amber"),
        (working, "at work", "text"),
        (waiting, "waiting", "text"),
    )
    for count, what, ink in told:
        if count:
            row += [Span(" · ", "grey"), Span(f"{count:,} {what}", ink)]
    if words.strip() and view is not None:
        row += [Span(" · ", "grey"), Span(f"{shown:,} shown", "blue")]
    return sides(tuple(row), (), width)


def remark_lines(view: QueueView | None, now: Millis, width: int) -> tuple[Line, ...]:
    """Above the list: why the line is kept back, which agents are not run just now, and that there is more than is
    shown."""
    if view is None:
        return ()
    said: list[tuple[str, str]] = []
    if view.held:
        why = kept_back_words(view.held)
        said.append((f"The whole line is kept back{f', {why}' if why else ''}: H lets it go on.", "amber"))
    said += [(_agent_waits(one, now), "amber") for one in view.agents]
    if view.more:
        said.append(("Not all are shown: footplate queue ls has the rest.", "grey"))
    return tuple((Span(cut(one_line(words), width), ink),) for words, ink in said)


def _agent_waits(one: AgentWait, now: Millis) -> str:
    kind = failure_in_short(FailureKind(one.reason)) if one.reason in frozenset(FailureKind) else "it cannot be used"
    agent = agent_title(one.agent)
    if one.until is not None:
        return f"{agent} is not begun until {moment(one.until, now)}: {kind}."
    return f"{agent} is not begun: {kind}; R on a task of it lets it go on."


# --------------------------------------------------------------------------------------------------------------- keys

VERBS: dict[str, str] = {
    "enter": "open",
    "a": "add",
    "s": "terms",
    "S": "all-terms",
    "space": "mark",
    "e": "edit",
    "h": "hold",
    "H": "hold-line",
    "r": "retry",
    "y": "accept",
    "x": "remove",
    "plus": "sooner",
    "minus": "later",
    "R": "agent",
}
"""Key to what it does, in the panel."""
OF_A_TASK = frozenset(
    {"open", "terms", "mark", "edit", "hold", "retry", "accept", "remove", "sooner", "later", "agent"}
)


def why_dead_of(verb: str, task: TaskView | None, view: QueueView | None) -> str | None:
    """Why a key of the panel does nothing just now, in a sentence; None where it does."""
    if verb == "all-terms":
        lacks = (
            any(one.state is TaskState.QUEUED and one.attempts_left is None for one in view.tasks) if view else False
        )
        return None if lacks else "every task in line has its terms"
    if verb not in OF_A_TASK:
        return None
    if task is None:
        return "no task is lit: a adds one"
    n = task.id
    match verb, task.state:
        case "open", _:
            return None if task.runs else f"no attempt of task {n} was begun yet: it has no session"
        case "agent", _:
            waits = {one.agent for one in view.agents} if view is not None else set()
            return None if task.agent in waits else "its agent is not kept waiting"
        case _, TaskState.WORKING:
            return f"an agent is at task {n}: Enter opens its session, where it can be stopped"
        case "accept", TaskState.NEEDS_OPERATOR:
            return None
        case "accept", _:
            return f"only a task that needs you is taken as done: {n} does not"
        case _, TaskState.DONE:
            return f"task {n} is done: a adds another one"
        case "terms" | "mark", TaskState.QUEUED | TaskState.NEEDS_OPERATOR:
            return None
        case "terms" | "mark", _:
            return f"task {n} has ended: r puts it in line again"
        case "hold" | "sooner" | "later", TaskState.QUEUED:
            return None
        case "hold" | "sooner" | "later", TaskState.NEEDS_OPERATOR:
            return f"task {n} waits for you, not in line: r puts it there again"
        case "hold" | "sooner" | "later", _:
            return f"task {n} has ended: r puts it in line again"
        case "retry", TaskState.QUEUED:
            return f"task {n} waits in line already"
        case "remove", TaskState.FAILED | TaskState.STOPPED if task.runs:
            return f"task {n} is out of the line already: it stays in the ledger"
        case _:
            return None


HINTS: tuple[tuple[str, str, str], ...] = (
    ("a", "add", "add"),
    ("Enter", "open", "its session"),
    ("s", "terms", "terms"),
    ("S", "all-terms", "terms of all"),
    ("Space", "mark", "mark"),
    ("e", "edit", "edit"),
    ("h", "hold", "keep back"),
    ("r", "retry", "again"),
    ("y", "accept", "take as done"),
    ("x", "remove", "remove"),
    ("+ -", "sooner", "priority"),
    ("R", "agent", "let its agent"),
    ("H", "hold-line", "keep the line back"),
)


def hint_parts(task: TaskView | None, view: QueueView | None) -> list[Line]:
    """The keys that do something just now, for the foot."""
    parts: list[Line] = []
    held = view is not None and bool(view.held)
    for key, verb, words in HINTS:
        if why_dead_of(verb, task, view) is not None:
            continue
        if verb == "hold" and task is not None and task.held:
            words = "let it go on"
        if verb == "hold-line" and held:
            words = "let the line go on"
        parts.append((Span(f"{key} ", "blue"), Span(words, "grey")))
    if view is not None and view.tasks:
        parts.append((Span("/ ", "blue"), Span("filter", "grey")))
    return [*parts, (Span("Esc ", "blue"), Span("back", "grey"))]
