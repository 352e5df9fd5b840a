"""A session and events for transcripts, made in few words. Times are seconds after nine o'clock of one day, UTC."""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from app.console.views.transcript import TranscriptModel
from app.console.views.transcript_lines import plain
from coordinator.api import BudgetView, DecisionView, FeedEvent, Group, SessionView, TranscriptPage, TurnView
from coordinator.drivers import base
from store.vocab import (
    Billing,
    CostKnowledge,
    DecisionId,
    DecisionKind,
    DecisionState,
    FailureKind,
    MicroUsd,
    Millis,
    RunId,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)

RUN = RunId(12)
NINE = 1_793_264_400_000
TREE = "/home/ada/src/orders-12"


def at(seconds: float) -> Millis:
    return Millis(NINE + int(seconds * 1000))


def turn(n: int, text: str = "", **changes: Any) -> TurnView:
    view = TurnView(
        id=TurnId(f"t{n}"),
        n=n,
        source=TurnSource.BRIEF if n == 1 else TurnSource.OPERATOR,
        state=TurnState.SETTLED,
        text=text or f"turn {n}",
        operator="Ada",
        recorded_at=at(60 * n),
        result=TurnResultKind.SUCCESS,
        cost=MicroUsd(210_000),
        cost_known=CostKnowledge.REPORTED,
    )
    return replace(view, **changes)


def working(n: int, text: str = "") -> TurnView:
    return turn(n, text, state=TurnState.ACCEPTED, result=None, cost=None, cost_known=None)


def session(*turns: TurnView, so_far: int | None = None, **changes: Any) -> SessionView:
    view = SessionView(
        run=RUN,
        title="fix flaky checkout",
        group=Group.WORKING,
        agent="claude",
        driver="claude",
        billing=Billing.KEY,
        repository="/home/ada/src/orders",
        tree=TREE,
        in_place=False,
        branch="orders-12",
        head="a1b2c3d",
        created_at=at(0),
        operator="Ada",
        budget=BudgetView(
            spent=MicroUsd(840_000),
            limit=MicroUsd(5_000_000),
            guessed=False,
            unknown_turns=0,
            turns=3,
            max_turns=40,
            working_ms=0,
            working_limit_ms=None,
            expires_at=at(9_000),
            turn_so_far=None if so_far is None else MicroUsd(so_far),
        ),
        turns=turns or (turn(1),),
        in_flight=next((view.id for view in turns if view.state is TurnState.ACCEPTED), None),
    )
    return replace(view, **changes)


class Script:
    """Numbers events as they are said, as the ledger would."""

    def __init__(self, run: RunId = RUN) -> None:
        self.run = run
        self.events: list[FeedEvent] = []
        self.turn: TurnId | None = TurnId("t1")
        self.seconds = 60.0
        self._offset = 0

    def say(self, *events: base.AgentEvent, after: float = 0.0) -> "Script":
        for event in events:
            self.seconds += after
            key: tuple[int, int] | None = None
            if not isinstance(event, base.TRANSIENT):
                self._offset += 100
                key = (self._offset, 0)
            self.events.append(FeedEvent(run=self.run, turn=self.turn, at=at(self.seconds), event=event, key=key))
        return self

    def in_turn(self, n: int | None) -> "Script":
        self.turn = None if n is None else TurnId(f"t{n}")
        return self

    @property
    def kept(self) -> tuple[FeedEvent, ...]:
        """As the ledger gives them: without deltas."""
        return tuple(event for event in self.events if event.key is not None)

    def page(self, *, start: int = 0, stop: int | None = None) -> TranscriptPage:
        """As the ledger gives it: whether there is more at either end is told by where it was cut."""
        kept = self.kept
        events = kept[start:stop]
        return TranscriptPage(
            events=events, more_before=start > 0, more_after=stop is not None and start + len(events) < len(kept)
        )


def text(words: str, block: str = "", **more: Any) -> base.TextBlock:
    return base.TextBlock(block=block or f"b{abs(hash(words))}", text=words, **more)


def started(call: str, name: str, title: str = "", parent: str | None = None, **given: Any) -> base.ToolStarted:
    return base.ToolStarted(call=call, name=name, input=given, title=title or name, parent=parent)


def finished(call: str, output: str = "", ok: bool = True, **detail: Any) -> base.ToolFinished:
    return base.ToolFinished(call=call, ok=ok, output=output, detail=detail)


def used(
    call: str, name: str, title: str = "", output: str = "", ok: bool = True, **given: Any
) -> list[base.AgentEvent]:
    return [started(call, name, title, **given), finished(call, output, ok)]


def result(kind: TurnResultKind = TurnResultKind.SUCCESS, **more: Any) -> base.TurnResult:
    return base.TurnResult(turns=(), kind=kind, subtype=kind.value, cumulative=None, **more)


def asked(request: str = "r1", subject: str = "rm -rf build", **more: Any) -> base.DecisionAsked:
    told: dict[str, Any] = {"kind": DecisionKind.PERMISSION, "title": "Run a command?", "tool": "Bash"}
    return base.DecisionAsked(request=request, subject=subject, **(told | more))


def decision(asked: base.DecisionAsked, state: DecisionState = DecisionState.OPEN, **more: Any) -> DecisionView:
    told: dict[str, Any] = {"id": DecisionId(1), "turn": TurnId("t1"), "asked_at": at(70), "request": asked.request}
    return DecisionView(
        run=RUN,
        kind=asked.kind,
        state=state,
        revision=1,
        payload_hash="",
        title=asked.title,
        subject=asked.subject,
        tool=asked.tool,
        **(told | more),
    )


def answered(asked: base.DecisionAsked, answer: str = "allow once", **more: Any) -> DecisionView:
    return decision(
        asked,
        DecisionState.DELIVERED,
        **({"answer": answer, "answered_by": "Ada", "answered_at": at(1862), "delivered_at": at(1863)} | more),
    )


def shown(model: TranscriptModel, width: int = 72) -> list[str]:
    model.flush()
    return plain(model.lines, width)


def transcript(events: Iterable[base.AgentEvent], view: SessionView | None = None, width: int = 72) -> list[str]:
    """What a reader sees of these events, read from the ledger."""
    model = TranscriptModel()
    model.show(view or session(), Script().say(*events).page())
    return shown(model, width)


def rich_conversation() -> tuple[SessionView, Script]:
    """One of everything, in the order of a working day."""
    question = asked("r7", "rm -rf .pytest_cache && pytest -q tests/checkout", why="the cache may be stale")
    plan = asked("r3", "pytest -q tests/checkout")
    script = Script()
    script.say(
        base.ThoughtBlock(block="k1", text="Where does the clock come from?"),
        *used("c1", "Read", f"{TREE}/tests/conftest.py", "1\timport pytest", file_path=f"{TREE}/tests/conftest.py"),
        *used("c2", "Read", f"{TREE}/src/worker.py", "1\tclass Worker:"),
        *used("c3", "Grep", "expire", "src/worker.py:41"),
        *used("c4", "Bash", "git log --oneline -3", "a1b2c3d fix", command="git log --oneline -3"),
    )
    script.say(
        text(
            "The test races the **fake clock**: `expire()` is called before the worker has subscribed.\n"
            "Two ways to fix it:\n\n"
            "1. subscribe in the constructor\n"
            "2. await the *ready* event in the fixture, which costs nothing and tells a reader what is waited for\n\n"
            "```python\n"
            "async def worker(clock):  # as a fixture\n"
            '\tawait clock.ready("worker", 3)\n'
            "```\n\n"
            "| way | cost |\n| --- | --- |\n| constructor | **an import** |\n"
        ),
        result(),
    )
    script.in_turn(2).say(
        started(
            "e1",
            "Edit",
            f"{TREE}/tests/conftest.py",
            old_string="def worker():\n    yield Worker()\n",
            new_string="async def worker(clock):\n    await clock.ready()\n    yield Worker()\n",
        )
    )
    script.say(finished("e1"), started("b1", "Bash", "pytest -q tests/checkout", command="pytest -q tests/checkout"))
    script.say(plan)
    script.say(finished("b1", "F.F\n2 failed, 1 passed in 7.9s\n", ok=False), after=8.1)
    script.say(
        base.RetryNotice(attempt=1, of=10, wait_seconds=4.0, why="overloaded"),
        base.RetryNotice(attempt=2, of=10, wait_seconds=8.0, why="overloaded"),
        base.Unknown(raw="{broken" * 18),
        text(
            "日本語のテキストと絵文字 👩‍👩‍👧 もきちんと折り返される。\n"
            "> a \x1b[31mquoted\x1b[0m line\n---\n- [x] done\n- [ ] open"
        ),
        started("s1", "Task", "look for other races", description="look for other races"),
        started("s2", "Read", f"{TREE}/src/a.py", parent="s1"),
        base.ToolFinished(call="s2", ok=True, output="", parent="s1"),
        base.TextBlock(block="sub1", text="Nothing else `subscribes` late.", parent="s1"),
        finished("s1", "Nothing else."),
        result(TurnResultKind.ERROR, failure=FailureKind.OVERLOADED, failure_text="API Error: 529 overloaded_error"),
    )
    script.in_turn(3).say(
        started("b2", "Bash", "rm -rf .pytest_cache && pytest -q", command="rm -rf .pytest_cache && pytest -q"),
        question,
    )
    script.say(base.TextDelta(block="live", text="While that waits, I read on: **not yet** rendered"))
    view = session(
        turn(1, "Fix the flaky test in tests/checkout. Find the cause, do not just retry."),
        turn(2, "The second, and add a test for the first.", result=TurnResultKind.ERROR, cost=MicroUsd(340_000)),
        working(3, "Run it twenty times to be sure."),
        so_far=290_000,
        decisions=(decision(question, turn=TurnId("t3")), answered(plan, turn=TurnId("t2"))),
    )
    return view, script
