"""Why a task in line is not begun: the first reason that holds, in the order in which they are declared (``Waits``).

Pure. What the ledger tells of the task comes in as ``WaitingFacts``, what is so for all tasks as ``Around``; nothing
that waits is ever written because it waits.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from coordinator.tasks.tasktypes import Waits, Wishes
from store.claims import WaitingFacts
from store.refusal import Fact
from store.tasks import Task
from store.vocab import Millis, RefusalReason, RunId, TaskId


class Around(Struct, frozen=True, kw_only=True):
    """What all tasks in line have in common."""

    kept_back: str = ""
    """Why the whole line is, a ``KeptBack``."""
    away: bool = False
    held: int = 0
    limit: int = 1
    """Sessions that may be held."""
    console: bool = True
    """One is open that would begin a task."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """Agents that cannot be run here, and why."""
    gone: frozenset[str] = frozenset()
    """Repositories that are not there."""
    in_place: Mapping[str, RunId] = field(default_factory=dict)
    """Repositories that a run works in itself, and which."""
    dry: frozenset[TaskId] = frozenset()
    """Tasks for whose budget the day or the month has too little left."""


Why = tuple[Waits, dict[str, Fact]]


def why(task: Task, wishes: Wishes, facts: WaitingFacts, around: Around, now: Millis) -> Why:
    return _its_own(task, wishes, facts, around, now) or _of_all(around)


def _its_own(task: Task, wishes: Wishes, facts: WaitingFacts, around: Around, now: Millis) -> Why | None:
    agent = wishes.agent or ""
    if task.held:
        return Waits.HELD, {}
    if facts.failed_need is not None:
        return Waits.NEED_FAILED, {"task": facts.failed_need}
    if facts.need is not None:
        return Waits.NEED, {"task": facts.need, "more": facts.needs_more or None}
    if facts.reserved is not None:
        other, path = facts.reserved
        return Waits.RESERVED, {"task": other.task, "run": other.run, "path": None if path == "." else path}
    if wishes.in_place and task.repository in around.in_place:
        return Waits.RESERVED, {"run": around.in_place[task.repository]}
    if facts.series is None:
        return (Waits.EDITED if facts.agreed_before else Waits.SIGNING), {}
    used_up = _used_up(facts)
    if used_up:
        return Waits.SPENT, {"what": used_up}
    if facts.agent is not None:
        return Waits.AGENT, {"agent": agent, "why": facts.agent.reason, "until": facts.agent.until}
    if agent in around.agents:
        return Waits.AGENT, {"agent": agent, "why": around.agents[agent]}
    if task.id in around.dry:
        return Waits.AGENT, {"agent": agent, "why": str(RefusalReason.POOL_EXHAUSTED)}
    if task.not_before > now:
        return Waits.LATER, {"at": task.not_before}
    if task.repository in around.gone:
        return Waits.REPOSITORY, {"path": task.repository}
    if facts.ending is not None:
        return Waits.ENDING, {"run": facts.ending}
    return None


def _used_up(facts: WaitingFacts) -> str:
    """What of the agreement is; '' for nothing."""
    if facts.expired:
        return "time"
    if facts.left is None or not facts.left.nothing:
        return ""
    return "attempts" if facts.left.attempts <= 0 else "money"


def _of_all(around: Around) -> Why:
    if around.kept_back:
        return Waits.QUEUE_HELD, {"why": around.kept_back}
    if around.away:
        return Waits.AWAY, {}
    if around.held >= around.limit:
        return Waits.SLOT, {"held": around.held, "limit": around.limit}
    return (Waits.NEXT if around.console else Waits.CONSOLE), {}
