"""The moments of which pictures are taken: a snapshot, options, and what the operator did before the picture.

Shared by the pictures' tests and by the test of words, so that what is looked at is what is tested.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from msgspec.structs import replace
from textual.pilot import Pilot

from app.console.app import FootplateApp
from app.console.options import ConsoleOptions
from coordinator.api import (
    AttentionView,
    ChangedFile,
    ConsoleSnapshot,
    EndingView,
    Group,
    ProcessView,
    RepositoryView,
    RunningTool,
)
from coordinator.custody.types import EndedProcess, Receipt
from coordinator.drivers.base import BackgroundTask, Choice, Question
from store.refusal import Refusal
from store.vocab import (
    AttentionKind,
    Billing,
    CustodyState,
    DecisionId,
    DecisionKind,
    DecisionState,
    MicroUsd,
    Millis,
    RefusalReason,
    RunId,
    RunOutcome,
    TurnId,
)
from tests.console.changed import NONE_KEPT, opened_changes
from tests.console.driving import alone, ripe_card, typed
from tests.fakes.backend import (
    MINUTE,
    NOW,
    SECOND,
    FakeBackend,
    ago,
    make_budget,
    make_decision,
    make_session,
    make_snapshot,
    make_turn,
    queued,
    running_turn,
)
from tests.waiting import eventually

Act = Callable[[FootplateApp, "Pilot[int]", FakeBackend], Awaitable[None]]


@dataclass(frozen=True)
class Scene:
    snapshot: Callable[[], ConsoleSnapshot]
    act: Act | None = None
    options: ConsoleOptions = field(default_factory=lambda: ConsoleOptions(home="/home/mara"))


PLAN = (
    ("done", "find the race"),
    ("done", "fix the fixture"),
    ("active", "add a test for it"),
    ("pending", "run the whole suite"),
    ("pending", "changelog"),
)
CHANGED = (
    ChangedFile(path="tests/conftest.py", status="M", added=6, removed=2),
    ChangedFile(path="tests/test_race.py", status="A", added=31, removed=0),
    ChangedFile(path="src/worker.py", status="M", added=4, removed=1),
)
COMMAND = "rm -rf .pytest_cache && pytest -q tests/checkout"


def permission(number: int = 1, run: int = 12, **changes: object):  # type: ignore[no-untyped-def]
    values: dict[str, object] = {"subject": COMMAND, "input": {"command": COMMAND}, "why": "deletes files"}
    return make_decision(number, run, **(values | changes))


def checkout(**changes: object):  # type: ignore[no-untyped-def]
    values: dict[str, object] = {
        "group": Group.NEEDS_YOU,
        "decisions": (permission(),),
        "plan": PLAN,
        "background": (BackgroundTask(id="b1", kind="shell", title="pytest --watch", state="running"),),
        "changed": CHANGED,
        "context_used": 82_000,
        "context_size": 200_000,
        "budget": make_budget(turn_so_far=MicroUsd(290_000)),
        "queued": (queued(1, "then run the linter"),),
    }
    return make_session(12, **(values | changes))


def others():  # type: ignore[no-untyped-def]
    """Every group, long names and wide letters among them."""
    return (
        make_session(
            14,
            "bump deps",
            group=Group.NEEDS_YOU,
            decisions=(make_decision(2, 14, kind=DecisionKind.QUESTION, asked_at=ago(20 * SECOND)),),
            budget=make_budget(spent=MicroUsd(100_000)),
        ),
        make_session(
            9,
            "docs pass",
            group=Group.YOUR_MOVE,
            turns=(make_turn(4, "docs"),),
            in_flight=None,
            turn_ended_at=ago(6 * MINUTE),
            budget=make_budget(spent=MicroUsd(330_000)),
        ),
        make_session(
            11,
            "migrate to v3 with a title that is far too long to fit",
            turns=(running_turn(5),),
            in_flight=TurnId("turn-5"),
            tools=(RunningTool(call="c", name="Bash", title="make", since=ago(184 * SECOND)),),
            budget=make_budget(spent=MicroUsd(2_910_000)),
        ),
        make_session(
            15,
            "翻訳を直す 🧪 [bold]x",
            turns=(running_turn(1),),
            in_flight=TurnId("turn-1"),
            last_event_at=ago(110 * SECOND),
            budget=make_budget(spent=MicroUsd(70_000), guessed=True),
        ),
        make_session(
            10,
            "triage issues",
            group=Group.IDLE,
            turns=(make_turn(2),),
            in_flight=None,
            billing=Billing.PRACTICE,
            budget=make_budget(spent=MicroUsd(0), unknown_turns=2),
        ),
        make_session(
            8,
            "rename module",
            group=Group.ENDED,
            in_flight=None,
            custody=CustodyState.CLOSED,
            outcome=RunOutcome.FINISHED,
            reason="finished",
            ended_at=ago(30 * MINUTE),
            budget=make_budget(spent=MicroUsd(520_000)),
        ),
        stopped(),
    )


def receipt(**changes: object) -> Receipt:
    base = Receipt(
        reason="stopped",
        already_ended=False,
        agent_exit="1",
        steps=(("no-new-turns", 0), ("asked", 20), ("term", 190), ("kill", 2_200), ("gone", 2_400)),
        ended=(
            EndedProcess(pid=41180, name="claude", step="farewell", gone_after_ms=190),
            EndedProcess(pid=41190, name="pytest -q tests/checkout", step="term", gone_after_ms=900, own_session=True),
            EndedProcess(pid=41204, name="sleep 300", step="kill", gone_after_ms=2_300, daemonised=True),
            EndedProcess(pid=41205, name="sh -c sleep", step="term", gone_after_ms=950),
        ),
        remaining=(),
        spared=(),
        total_ms=2_400,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def stopped(**changes: object):  # type: ignore[no-untyped-def]
    values: dict[str, object] = {
        "group": Group.ENDED,
        "in_flight": None,
        "custody": CustodyState.CLOSED,
        "outcome": RunOutcome.INTERRUPTED,
        "reason": "stopped",
        "ended_at": ago(40 * MINUTE),
        "receipt": receipt(),
        "changed": CHANGED,
        "budget": make_budget(spent=MicroUsd(50_000)),
        "turns": (make_turn(1, "Try the new linter."),),
    }
    return make_session(7, "try new linter", **(values | changes))


def full() -> ConsoleSnapshot:
    return make_snapshot(checkout(), *others())


def crowd_of_waits() -> ConsoleSnapshot:
    """Every kind of thing that can wait, over eight sessions."""

    def told(number: int, run: int | None, kind: AttentionKind, text: str, minutes: float) -> AttentionView:
        since = ago(int(minutes * MINUTE))
        return AttentionView(id=number, run=None if run is None else RunId(run), kind=kind, text=text, since=since)

    return replace(
        full(),
        attention=(
            replace(told(6, 8, AttentionKind.DECISION, "Which database?", 120), decision=DecisionId(77), to_see=False),
            told(2, 7, AttentionKind.CRASHED, "ended by itself (1)", 60),
            told(1, 11, AttentionKind.STALLED, "silent for 3 minutes", 3),
            told(3, None, AttentionKind.PAGE, "this ledger is older than its mark: it was restored", 1),
            told(5, 15, AttentionKind.ENDS_SOON, "its time is up in 9 minutes", 0.8),
            told(4, 9, AttentionKind.BUDGET, "has used 80 % of its money", 0.5),
        ),
    )


def many() -> ConsoleSnapshot:
    """More than there is room for: thirty ended ones, some of another day."""
    over = (
        make_session(
            20 + n,
            f"finished thing {n}",
            group=Group.ENDED,
            in_flight=None,
            custody=CustodyState.CLOSED,
            outcome=RunOutcome.FINISHED,
            reason="finished",
            ended_at=ago((40 + n * 60) * MINUTE),
        )
        for n in range(30)
    )
    return make_snapshot(checkout(), *others(), *over)


def only(session) -> Callable[[], ConsoleSnapshot]:  # type: ignore[no-untyped-def]
    return lambda: make_snapshot(session)


def asking(decision, **changes: object) -> Callable[[], ConsoleSnapshot]:  # type: ignore[no-untyped-def]
    return only(checkout(decisions=(decision,), **changes))


QUESTIONS = (
    Question(
        text="Which checks should the pipeline run before a merge?",
        header="Checks",
        choices=(
            Choice(label="unit tests", description="fast, on every push"),
            Choice(label="type check", description="mypy --strict, about a minute"),
            Choice(label="browser tests", description="slow; needs a display"),
        ),
        multiple=True,
    ),
    Question(
        text="Where may it be deployed?", header="Target", choices=(Choice(label="staging"), Choice(label="nowhere"))
    ),
)
QUESTION = make_decision(
    3, kind=DecisionKind.QUESTION, title="Checks", subject="", questions=QUESTIONS, tool=None, input={}
)
PLAN_CARD = make_decision(
    4,
    kind=DecisionKind.PLAN,
    title="Approve this plan?",
    subject="1. Subscribe in the fixture, before the worker starts.\n2. Add a test that runs the race twenty times.\n"
    "3. Leave `expire()` as it is: others call it.",
    input={},
    tool=None,
)
EDIT = make_decision(
    5,
    title="Edit a file?",
    tool="Edit",
    subject="tests/conftest.py",
    input={
        "file_path": "tests/conftest.py",
        "old_string": "def worker():\n    clock = FakeClock()\n    w = Worker(clock)\n    w.start()\n    return w",
        "new_string": "def worker():\n    clock = FakeClock()\n    w = Worker(clock)\n    w.ready.clear()\n"
        "    w.start()\n    w.ready.wait(5)\n    return w",
    },
    rule="edits in tests/",
    rule_uses=2,
)
LONG = make_decision(
    6,
    subject="\n".join(f"echo step {n}: a line of a script that is longer than the card" for n in range(30)),
    input={"command": "\n".join(f"echo step {n}: a line of a script that is longer than the card" for n in range(30))},
)
EVIL = make_decision(
    7,
    title="Run [bold]this[/bold]?\x1b[2J",
    subject="echo \x1b]0;owned\x07 [red]x[/red] \u202egnp.exe [/a0/tests/x]",
    input={"command": "echo \x1b]0;owned\x07"},
    why="[link=x]see[/link]",
)

ENDING = EndingView(
    reason="stopped",
    since=ago(2_100),
    steps=(("no-new-turns", 0), ("asked", 20), ("term", 190)),
    agent_exit="1",
    left=(
        EndedProcess(pid=41190, name="pytest -q tests/checkout", step="", gone_after_ms=0, own_session=True),
        EndedProcess(pid=41204, name="sleep 300", step="", gone_after_ms=0, daemonised=True),
    ),
)
PROCESSES = (
    ProcessView(pid=41180, name="claude", age_s=1500.0, rss_kb=310_000, own_session=False),
    ProcessView(pid=41190, name="pytest -q tests/checkout", age_s=8.0, rss_kb=143_000, own_session=True),
)


# ------------------------------------------------------------------------------------------------- what is done before


def presses(*keys: str) -> Act:
    async def act(app: FootplateApp, pilot: "Pilot[int]", backend: FakeBackend) -> None:
        for key in keys:
            await alone(app, pilot, key)

    return act


async def to_the_card(app: FootplateApp, pilot: "Pilot[int]", backend: FakeBackend) -> None:
    await alone(app, pilot, "ctrl+o")
    await ripe_card(app)


async def toggled(app: FootplateApp, pilot: "Pilot[int]", backend: FakeBackend) -> None:
    await to_the_card(app, pilot, backend)
    await alone(app, pilot, "2")


async def terms(app: FootplateApp, pilot: "Pilot[int]", backend: FakeBackend) -> None:
    await typed(app, pilot, "Fix the flaky test in tests/checkout.")
    await alone(app, pilot, "enter")


async def draft(app: FootplateApp, pilot: "Pilot[int]", backend: FakeBackend) -> None:
    await typed(app, pilot, "and while you are there, check the sess")


SCENES: dict[str, Scene] = {
    "start": Scene(make_snapshot),
    "start-no-repository": Scene(
        lambda: make_snapshot(
            repository=RepositoryView(
                path="/home/mara",
                branch="",
                head="",
                dirty_files=0,
                problem=Refusal(RefusalReason.NOT_A_REPOSITORY, {"path": "/home/mara"}),
            )
        )
    ),
    "terms": Scene(make_snapshot, terms),
    "driving": Scene(full, draft),
    "working": Scene(
        only(
            checkout(
                group=Group.WORKING,
                decisions=(),
                tools=(RunningTool(call="c", name="Bash", title="", since=ago(8_000)),),
            )
        )
    ),
    "permission": Scene(full, to_the_card),
    "permission-rule": Scene(
        asking(make_decision(1, rule="Bash commands that begin with pytest", rule_uses=3)), to_the_card
    ),
    "question": Scene(asking(QUESTION), toggled),
    "plan": Scene(asking(PLAN_CARD), to_the_card),
    "edit": Scene(asking(EDIT), to_the_card),
    "folded": Scene(asking(LONG), to_the_card),
    "literal": Scene(asking(EVIL, title="[/a0/x] \x1b[31mred", handoff="\x1b[2J"), to_the_card),
    "budget": Scene(
        only(
            checkout(
                decisions=(),
                at_budget=True,
                in_flight=None,
                turns=(make_turn(1), make_turn(2)),
                queued=(),
                budget=make_budget(spent=MicroUsd(5_020_000)),
            )
        )
    ),
    "working-time": Scene(
        lambda: make_snapshot(
            checkout(
                decisions=(),
                queued=(),
                group=Group.NEEDS_YOU,
                past_work=True,
                budget=make_budget(working_ms=61 * MINUTE),
            ),
            attention=(
                AttentionView(
                    id=1, run=RunId(12), kind=AttentionKind.BUDGET, text="has used its working time", since=ago(MINUTE)
                ),
            ),
        ),
        to_the_card,
    ),
    "ends-soon": Scene(
        lambda: make_snapshot(
            checkout(decisions=(), queued=(), budget=make_budget(expires_at=Millis(NOW + 9 * MINUTE))),
            attention=(
                AttentionView(
                    id=1, run=RunId(12), kind=AttentionKind.ENDS_SOON, text="ends at 08:09", since=ago(MINUTE)
                ),
            ),
        ),
        to_the_card,
    ),
    "paused": Scene(
        lambda: make_snapshot(
            *(replace(one, paused=one.group is not Group.ENDED) for one in (checkout(decisions=()), *others()))
        )
    ),
    "ending": Scene(only(checkout(decisions=(), group=Group.WORKING, ending=ENDING, custody=CustodyState.FENCING))),
    "ended": Scene(lambda: make_snapshot(stopped(), today_limit=None), presses("escape", "J")),
    "ended-left": Scene(
        lambda: make_snapshot(
            stopped(
                receipt=receipt(
                    remaining=(EndedProcess(pid=777, name="stuck in the kernel", step="kill", gone_after_ms=0),)
                ),
                reason="exited:1",
                outcome=RunOutcome.FAILED,
            )
        ),
        presses("escape", "J"),
    ),
    "stop-all": Scene(full, presses("ctrl+right_square_bracket")),
    "quit": Scene(full, presses("ctrl+q")),
    "details": Scene(only(checkout(processes=PROCESSES)), presses("escape", "l")),
    "help": Scene(full, presses("escape", "question_mark")),
    "commands": Scene(full, presses("ctrl+p")),
    "models": Scene(full, presses("escape", "M")),
    "form": Scene(make_snapshot, None),
    "queue": Scene(crowd_of_waits, presses("escape", "a")),
    "filter": Scene(many, presses("escape", "F", *"finished 1")),
    "filter-empty": Scene(many, presses("escape", "F", *"zzz", "enter")),
    "many": Scene(many),
    "away": Scene(lambda: replace(full(), last_here=ago(47 * MINUTE))),
    "away-paused": Scene(
        lambda: replace(
            make_snapshot(
                *(replace(one, paused=one.group is not Group.ENDED) for one in (checkout(decisions=()), *others()))
            ),
            last_here=ago(47 * MINUTE),
        )
    ),
    "beside": Scene(full, presses("escape", "vertical_line")),
    "keys": Scene(full, presses("escape")),
    "foreign": Scene(only(make_session(5, "held elsewhere", owner="mara's other console (pid 812)"))),
    "storage": Scene(
        lambda: replace(
            full(),
            storage_trouble=Refusal(RefusalReason.STORAGE, {"path": "/home/mara/ledger.db", "problem": "disk is full"}),
        )
    ),
    "attention": Scene(
        lambda: make_snapshot(
            make_session(3, "old run", group=Group.NEEDS_YOU),
            attention=(
                AttentionView(
                    id=1,
                    run=RunId(3),
                    kind=AttentionKind.PAGE,
                    text="its keeper process does not answer",
                    since=ago(9 * MINUTE),
                ),
            ),
        )
    ),
}


async def open_form(app: FootplateApp, pilot: "Pilot[int]", backend: FakeBackend) -> None:
    await terms(app, pilot, backend)
    await ripe_terms(app)
    await alone(app, pilot, "e")


async def ripe_terms(app: FootplateApp) -> None:
    await eventually(lambda: app.drive.terms.ripe)


SCENES["form"] = Scene(make_snapshot, open_form)
SCENES["changes"] = Scene(full, opened_changes("J", "J", "J", "J"))
SCENES["changes-of-a-turn"] = Scene(full, opened_changes("left_square_bracket", "left_square_bracket"))
SCENES["changes-none"] = Scene(only(stopped()), opened_changes(first="J", **NONE_KEPT))
__all__ = ["NOW", "SCENES", "DecisionState", "Millis", "Scene"]
