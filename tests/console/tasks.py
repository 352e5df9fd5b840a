"""Tasks in line, for pictures and tests: every way in which one stands, and the panel opened on them."""

from collections.abc import Mapping

from msgspec.structs import replace
from textual.pilot import Pilot

from app.console.app import FootplateApp
from app.console.screens.tasks import TasksSheet
from app.console.screens.taskterms import TaskTerms
from coordinator.api import (
    AgentWait,
    AttentionView,
    ConsoleSnapshot,
    OperatorCommand,
    ProposeSeries,
    QueueSummary,
    QueueView,
    SeriesProposal,
    SeriesProposals,
    SeriesTerms,
    TaskReason,
    TaskView,
    Waits,
    Wishes,
)
from store.refusal import Refusal
from store.vocab import AttentionKind, Billing, MicroUsd, Millis, RefusalReason, RunId, TaskId, TaskState
from tests.console.driving import alone, settled
from tests.console.scenes import Act, Scene, full
from tests.fakes.backend import HOUR, MINUTE, NOW, FakeBackend, ago, make_session, make_snapshot
from tests.waiting import eventually

REPOSITORY = "/home/mara/src/orders"
INSTRUCTION = "Fix the flaky test in tests/checkout. Find the cause, do not just retry.\n\nRun it twenty times."


def make_task(number: int, title: str, state: TaskState = TaskState.QUEUED, **changes: object) -> TaskView:
    base = TaskView(
        id=TaskId(number),
        state=state,
        title=title,
        instruction=INSTRUCTION,
        repository=REPOSITORY,
        agent="claude",
        priority=0,
        paths=(),
        needs=(),
        held=False,
        revision=1,
        created_at=ago(3 * HOUR),
        operator="mara",
        wishes=Wishes(agent="claude", budget=MicroUsd(5_000_000)),
        waits=Waits.NEXT if state is TaskState.QUEUED else None,
        attempts_left=3,
        budget=MicroUsd(5_000_000),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def waiting(number: int, title: str, waits: Waits, facts: Mapping[str, object], **changes: object) -> TaskView:
    return make_task(number, title, waits=waits, waits_facts=facts, **changes)


NEEDS = make_task(
    12,
    "fix flaky checkout",
    TaskState.NEEDS_OPERATOR,
    reason=TaskReason.CUT_OFF,
    runs=(RunId(7), RunId(12)),
    attempts_left=1,
    spent=MicroUsd(840_000),
    paths=("src/checkout", "tests/checkout"),
    claimed_at=ago(HOUR),
)
WORKING = make_task(
    14,
    "bump deps",
    TaskState.WORKING,
    runs=(RunId(14),),
    spent=MicroUsd(100_000),
    attempts_left=2,
    claimed_at=ago(9_000),
)
NEXT = make_task(15, "port the CLI", priority=2)
UNSIGNED = waiting(16, "翻訳を直す 🧪 [bold]x", Waits.SIGNING, {}, attempts_left=None, budget=None)
NEED = waiting(
    17,
    "write the changelog of all that was changed since the last release",
    Waits.NEED,
    {"task": 14, "more": 2},
    needs=(TaskId(14), TaskId(15), TaskId(16)),
)
RESERVED = waiting(
    18, "tidy the checkout", Waits.RESERVED, {"task": 12, "run": 12, "path": "src/checkout"}, paths=("src",)
)
DONE = make_task(9, "docs pass", TaskState.DONE, runs=(RunId(9),), ended_at=ago(6 * MINUTE), spent=MicroUsd(330_000))
FAILED = make_task(
    8,
    "try new linter",
    TaskState.FAILED,
    reason=TaskReason.FAILED,
    detail={"reason": "output-flood"},
    runs=(RunId(8),),
    ended_at=ago(30 * MINUTE),
    attempts_left=0,
)
STOPPED = make_task(
    7, "rename module", TaskState.STOPPED, reason=TaskReason.STOPPED, runs=(RunId(3),), ended_at=ago(40 * MINUTE)
)
TASKS = (
    NEEDS,
    WORKING,
    NEXT,
    UNSIGNED,
    NEED,
    RESERVED,
    waiting(19, "triage issues", Waits.HELD, {}, held=True, priority=-1),
    waiting(20, "migrate to v3", Waits.LATER, {"at": NOW + 8 * MINUTE}, runs=(RunId(11),), attempts_left=2),
    waiting(21, "after the linter", Waits.NEED_FAILED, {"task": 8}, needs=(TaskId(8),)),
    waiting(22, "of another agent", Waits.AGENT, {"agent": "codex", "why": "authentication"}, agent="codex"),
    DONE,
    FAILED,
    STOPPED,
)


def make_queue(*tasks: TaskView, **changes: object) -> QueueView:
    counts = {state: sum(1 for one in tasks if one.state is state) for state in TaskState}
    return replace(QueueView(tasks=tasks, counts=counts), **changes)  # type: ignore[arg-type]


ALL = make_queue(*TASKS)
HELD = make_queue(*TASKS, held="stop-all", agents=(AgentWait(agent="codex", reason="authentication", until=None),))
SUMMARY = QueueSummary(stamp=3, waiting=8, working=1, needs_operator=1)


def with_tasks(**changes: object) -> ConsoleSnapshot:
    """The full house; session 12 is an attempt of task 12, which waits for the operator too."""
    snapshot = full()
    sessions = tuple(
        replace(one, task=TaskId(12), attempt=2, attempts=3) if one.run == 12 else one for one in snapshot.sessions
    )
    told = AttentionView(
        id=9,
        run=None,
        kind=AttentionKind.TASK,
        task=TaskId(12),
        text="task 12 (fix flaky checkout): it was cut off at work",
        since=ago(12 * MINUTE),
        to_see=False,
    )
    return replace(snapshot, sessions=sessions, attention=(told,), queue=SUMMARY, **changes)


def make_series(task: int = 16, **changes: object) -> SeriesTerms:
    base = SeriesTerms(
        task=TaskId(task),
        revision=2,
        instruction=INSTRUCTION,
        preamble=True,
        agent="claude",
        driver="claude",
        billing=Billing.KEY,
        repository=REPOSITORY,
        paths=("src/checkout",),
        in_place=False,
        model="opus",
        mode="default",
        budget=MicroUsd(5_000_000),
        attempts=3,
        max_turns=40,
        working_seconds=3600,
        run_seconds=8 * 3600,
        expires_at=Millis(NOW + 24 * HOUR),
        attendance_seconds=1800,
        at_budget="ask",
        machine="m1",
        uid=1000,
        rules=("allow command pytest",),
        checks=("pytest -q", "mypy"),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


OTHER_TERMS = SeriesProposal(
    terms=make_series(12),
    title="fix flaky checkout",
    before=make_series(12, instruction="Fix the flaky test.", budget=MicroUsd(2_000_000), model="sonnet", checks=()),
    moved=("instruction", "budget", "model", "checks", "expires_at"),
    own_rules=("Bash(git status:*)",),
    caution="it works in a repository that has changes which are not committed: it works without them",
)
FRESH_TERMS = SeriesProposal(terms=make_series(16), title="翻訳を直す 🧪 [bold]x")


def proposing(backend: FakeBackend, *proposals: SeriesProposal, refused: bool = False) -> None:
    why = Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": "/home/mara/gone"})

    def reply(command: OperatorCommand) -> SeriesProposals:
        assert isinstance(command, ProposeSeries)
        return SeriesProposals(proposals=proposals, refused=((TaskId(22), why),) if refused else ())

    backend.replies[ProposeSeries] = reply


def panel(app: FootplateApp) -> TasksSheet:
    return next(one for one in app.screen_stack if isinstance(one, TasksSheet))


async def shown(app: FootplateApp) -> None:
    """Until the panel shows what it asked for."""
    await eventually(lambda: isinstance(app.screen, TasksSheet) and app.screen.settled)


def opened_tasks(*keys: str, queue: QueueView = ALL, proposals: tuple[SeriesProposal, ...] = ()) -> Act:
    """``Q``, then keys."""

    async def act(app: FootplateApp, pilot: "Pilot[int]", backend: FakeBackend) -> None:
        backend.tasks = queue
        proposing(backend, *proposals, refused=len(proposals) > 1)
        for key in ("escape", "Q"):
            await alone(app, pilot, key)
        await shown(app)
        for key in keys:
            await alone(app, pilot, key)
        if proposals:
            await eventually(lambda: isinstance(app.screen, TaskTerms))
        await settled(pilot)

    return act


def no_tasks() -> ConsoleSnapshot:
    return make_snapshot(make_session(12))


TASK_SCENES: dict[str, Scene] = {
    "tasks": Scene(with_tasks, opened_tasks()),
    "tasks-working": Scene(with_tasks, opened_tasks("j")),
    "tasks-held": Scene(with_tasks, opened_tasks("G", "k", queue=HELD)),
    "tasks-marked": Scene(with_tasks, opened_tasks("j", "j", "space", "space")),
    "tasks-none": Scene(no_tasks, opened_tasks(queue=make_queue())),
    "tasks-filter": Scene(with_tasks, opened_tasks("slash", *"changelog")),
    "tasks-add": Scene(with_tasks, opened_tasks("a", *"Port it.")),
    "tasks-edit": Scene(with_tasks, opened_tasks("e")),
    "tasks-terms": Scene(with_tasks, opened_tasks("s", proposals=(OTHER_TERMS,))),
    "tasks-terms-of-two": Scene(with_tasks, opened_tasks("s", proposals=(FRESH_TERMS, OTHER_TERMS))),
    "tasks-on-the-screen": Scene(with_tasks),
}
