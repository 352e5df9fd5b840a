"""A small scripted ``Backend`` for ``--plain``: each command has the effect that the test wrote for it, at once."""

import threading
from collections.abc import Callable
from concurrent.futures import Future

from msgspec.structs import replace

from coordinator.api import (
    AttentionView,
    BudgetView,
    ConsoleSnapshot,
    DecisionView,
    Done,
    FeedEvent,
    Group,
    OperatorCommand,
    ReadTranscript,
    Reply,
    SessionView,
    TranscriptPage,
    TurnView,
)
from coordinator.drivers.base import AgentEvent
from store.vocab import (
    Billing,
    CostKnowledge,
    DecisionId,
    DecisionKind,
    DecisionState,
    MicroUsd,
    Millis,
    RunId,
    RunOutcome,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)
from tests.cli.made import NOW

RUN = RunId(12)


def session(**changes: object) -> SessionView:
    budget = BudgetView(
        spent=MicroUsd(210_000),
        limit=MicroUsd(5_000_000),
        guessed=False,
        unknown_turns=0,
        turns=1,
        max_turns=40,
        working_ms=0,
        working_limit_ms=None,
        expires_at=Millis(NOW + 1),
    )
    made = SessionView(
        run=RUN,
        title="fix it",
        group=Group.WORKING,
        agent="claude",
        driver="claude",
        billing=Billing.KEY,
        repository="/r",
        tree="/r",
        in_place=True,
        branch="main",
        head="a1",
        created_at=NOW,
        operator="Mara",
        budget=budget,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def turn(n: int, state: TurnState = TurnState.ACCEPTED, result: TurnResultKind | None = None) -> TurnView:
    return TurnView(
        id=TurnId(f"t{n}"),
        n=n,
        source=TurnSource.BRIEF if n == 1 else TurnSource.OPERATOR,
        state=state,
        text="Fix it.",
        operator="Mara",
        recorded_at=NOW,
        result=result,
        cost=MicroUsd(210_000) if result else None,
        cost_known=CostKnowledge.REPORTED if result else None,
    )


def done(n: int = 1) -> TurnView:
    return turn(n, TurnState.SETTLED, TurnResultKind.SUCCESS)


def decision(**changes: object) -> DecisionView:
    made = DecisionView(
        id=DecisionId(7),
        run=RUN,
        turn=TurnId("t1"),
        kind=DecisionKind.PERMISSION,
        state=DecisionState.OPEN,
        revision=3,
        payload_hash="hash",
        title="Run a command?",
        subject="rm -rf build",
        asked_at=NOW,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


class FakeBackend:
    """Give it the session as it stands at the start, and what each kind of command does."""

    def __init__(self, first: SessionView) -> None:
        self._session = first
        self._lock = threading.Lock()
        self._wakes: list[Callable[[], None]] = []
        self._feed: list[FeedEvent] = []
        self.page: tuple[FeedEvent, ...] = ()
        self.dropped = 0
        self.attention: tuple[AttentionView, ...] = ()
        self.commands: list[OperatorCommand] = []
        self.effects: dict[type, Callable[[FakeBackend, OperatorCommand], Reply | None]] = {}
        self.beats = 0

    def on(self, kind: type, effect: Callable[["FakeBackend", OperatorCommand], Reply | None]) -> None:
        self.effects[kind] = effect

    def change(self, **changes: object) -> None:
        with self._lock:
            self._session = replace(self._session, **changes)  # type: ignore[arg-type]
        self.wake()

    def end(self, outcome: RunOutcome = RunOutcome.FINISHED, reason: str = "finished", **changes: object) -> None:
        self.change(outcome=outcome, reason=reason, in_flight=None, **changes)

    def tell(self, event: AgentEvent, key: tuple[int, int] | None) -> None:
        with self._lock:
            self._feed.append(feed(event, key))
        self.wake()

    def wake(self) -> None:
        for wake in list(self._wakes):
            wake()

    # ------------------------------------------------------------------------------------------------------- Backend

    def snapshot(self) -> ConsoleSnapshot:
        with self._lock:
            return ConsoleSnapshot(now=NOW, operator="Mara", sessions=(self._session,), attention=self.attention)

    def submit(self, command: OperatorCommand) -> "Future[Reply]":
        self.commands.append(command)
        reply: Reply | None = None
        if type(command) in self.effects:
            reply = self.effects[type(command)](self, command)
        elif isinstance(command, ReadTranscript):
            reply = TranscriptPage(events=self.page, more_before=False)
        future: Future[Reply] = Future()
        future.set_result(reply if reply is not None else Done())
        return future

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        self._wakes.append(wake)
        return lambda: self._wakes.remove(wake)

    def drain(self, run: RunId) -> tuple[tuple[FeedEvent, ...], int]:
        with self._lock:
            events, self._feed = tuple(self._feed), []
            dropped, self.dropped = self.dropped, 0
        return events, dropped

    def leave(self, run: RunId) -> None:
        raise NotImplementedError

    def terminal(self, run: RunId) -> None:
        return None

    def beat(self) -> None:
        self.beats += 1


def feed(event: AgentEvent, key: tuple[int, int] | None) -> FeedEvent:
    return FeedEvent(run=RUN, turn=TurnId("t1"), at=NOW, event=event, key=key)
