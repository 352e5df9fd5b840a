"""A scripted ``Backend``: tests push snapshots and feed events, and read which commands were given.

It decides nothing: a reply is what the test said it should be, or the plainest one for that command.
"""

import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from msgspec.structs import replace

from coordinator.api import (
    AddTasks,
    BudgetView,
    Changes,
    ChangesFrom,
    CloseAll,
    Closed,
    ConsoleSnapshot,
    Continued,
    DecisionView,
    Diff,
    Done,
    FeedEvent,
    Group,
    Image,
    ImageProblem,
    ImageSeen,
    ImagesSeen,
    LeaveAll,
    Left,
    ListFiles,
    LoadDraft,
    LookAtImages,
    NewConversation,
    OperatorCommand,
    Proposal,
    Propose,
    ProposeSeries,
    QueuedView,
    QueueView,
    ReadChanges,
    ReadDiff,
    ReadQueue,
    ReadSaid,
    ReadSaidBefore,
    ReadTranscript,
    Reply,
    RepositoryView,
    Said,
    SaidBefore,
    SaidOnce,
    SaveDraft,
    Say,
    SeriesProposals,
    SessionView,
    Started,
    StartRun,
    TasksAdded,
    Terminal,
    TrackedFiles,
    TranscriptPage,
    TurnView,
)
from coordinator.terms import PRESETS, Terms, TreeKind
from store.vocab import (
    Billing,
    CostKnowledge,
    CustodyState,
    DecisionId,
    DecisionKind,
    DecisionState,
    MicroUsd,
    Millis,
    RunId,
    TaskId,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)

C = TypeVar("C", bound=OperatorCommand)

NOW = Millis(1_800_000_000_000)
"""15 January 2027, 08:00 UTC: the moment at which every picture is taken."""
SECOND = 1_000
MINUTE = 60_000
HOUR = 3_600_000


def ago(ms: int) -> Millis:
    return Millis(NOW - ms)


def make_turn(n: int = 1, text: str = "Fix the flaky test in tests/checkout.", **changes: object) -> TurnView:
    base = TurnView(
        id=TurnId(f"turn-{n}"),
        n=n,
        source=TurnSource.BRIEF if n == 1 else TurnSource.OPERATOR,
        state=TurnState.SETTLED,
        text=text,
        operator="mara",
        recorded_at=ago(20 * MINUTE),
        ended_at=ago(15 * MINUTE),
        result=TurnResultKind.SUCCESS,
        cost=MicroUsd(210_000),
        cost_known=CostKnowledge.REPORTED,
        input_tokens=12_400,
        output_tokens=1_830,
        duration_ms=184_000,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def running_turn(n: int, text: str = "Run it twenty times to be sure.", **changes: object) -> TurnView:
    return make_turn(
        n,
        text,
        **(
            {
                "state": TurnState.ACCEPTED,
                "ended_at": None,
                "result": None,
                "cost": None,
                "cost_known": None,
                "recorded_at": ago(3 * MINUTE),
                "duration_ms": None,
            }
            | changes
        ),
    )


def make_budget(**changes: object) -> BudgetView:
    base = BudgetView(
        spent=MicroUsd(840_000),
        limit=MicroUsd(5_000_000),
        guessed=False,
        unknown_turns=0,
        turns=3,
        max_turns=40,
        working_ms=6 * MINUTE,
        working_limit_ms=HOUR,
        expires_at=Millis(NOW + 101 * MINUTE),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def make_terms(**changes: object) -> Terms:
    base = Terms(
        instruction="Fix the flaky test in tests/checkout.",
        preamble=True,
        agent="claude",
        driver="claude",
        program="/usr/local/bin/claude",
        agent_version="2.0.1",
        billing=Billing.KEY,
        repository="/home/mara/src/orders",
        head="a1b2c3d4e5f6a7b8c9d0",
        branch="main",
        tree_kind=TreeKind.WORKTREE,
        model="opus",
        mode="default",
        budget=MicroUsd(5_000_000),
        max_turns=40,
        working_seconds=3600,
        expires_at=Millis(NOW + 2 * HOUR),
        attendance_seconds=1800,
        machine="m1",
        uid=1000,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def make_session(run: int = 12, title: str = "fix flaky checkout", **changes: object) -> SessionView:
    base = SessionView(
        run=RunId(run),
        title=title,
        group=Group.WORKING,
        agent="claude",
        driver="claude",
        billing=Billing.KEY,
        repository="/home/mara/src/orders",
        tree=f"/home/mara/src/orders-{run}",
        in_place=False,
        branch=f"footplate/{run}",
        head="a1b2c3d4",
        created_at=ago(25 * MINUTE),
        operator="mara",
        budget=make_budget(),
        model="opus",
        models=(("opus", "Opus"), ("sonnet", "Sonnet"), ("haiku", "Haiku")),
        mode="default",
        modes=("default", "acceptEdits", "plan"),
        commands=(("compact", "Shorten the conversation"), ("review", "Review a change")),
        native_id="0b8e2a52-1111-4222-8333-444455556666",
        custody=CustodyState.OPEN,
        last_event_at=ago(4 * SECOND),
        turns=(make_turn(1), make_turn(2, "The second, and add a test for the first."), running_turn(3)),
        in_flight=TurnId("turn-3"),
        terms=make_terms(),
        seen_at=ago(5 * SECOND),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def make_decision(number: int = 1, run: int = 12, **changes: object) -> DecisionView:
    base = DecisionView(
        id=DecisionId(number),
        run=RunId(run),
        turn=TurnId("turn-3"),
        kind=DecisionKind.PERMISSION,
        state=DecisionState.OPEN,
        revision=1,
        payload_hash=f"hash-{number}",
        title="Run a command?",
        subject="pytest -q tests/checkout",
        asked_at=ago(72 * SECOND),
        tool="Bash",
        input={"command": "pytest -q tests/checkout"},
        editable=True,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def make_snapshot(*sessions: SessionView, **changes: object) -> ConsoleSnapshot:
    base = ConsoleSnapshot(
        now=NOW,
        operator="mara",
        sessions=sessions,
        today=MicroUsd(4_180_000),
        today_limit=MicroUsd(20_000_000),
        repository=RepositoryView(path="/home/mara/src/orders", branch="main", head="a1b2c3d4e5f6", dirty_files=2),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


class FakeBackend:
    """Everything may be called from any thread, as with the real one."""

    def __init__(self, snapshot: ConsoleSnapshot | None = None) -> None:
        self._lock = threading.Lock()
        self._snapshot = snapshot or make_snapshot()
        self._wakes: list[Callable[[], None]] = []
        self._feeds: dict[RunId, list[FeedEvent]] = defaultdict(list)
        self.commands: list[OperatorCommand] = []
        self.replies: dict[type, Reply | Callable[[OperatorCommand], Reply]] = {}
        """What to answer to a kind of command, instead of the plain reply."""
        self.held_back: set[type] = set()
        """Kinds of command whose future is left open; ``complete`` ends it."""
        self.open: list[tuple[OperatorCommand, Future[Reply]]] = []
        self.pages: dict[RunId, TranscriptPage] = {}
        self.terminals: dict[RunId, Terminal] = {}
        self.drafts: dict[str, str] = {}
        self.said: tuple[SaidOnce, ...] = ()
        self.said_whole: dict[TurnId, str] = {}
        self.files: tuple[str, ...] = ()
        self.images: dict[str, Image] = {}
        """Files that are images, by name; a name that is not here is no file."""
        self.tasks = QueueView(tasks=(), counts={})
        self.beats = 0
        self.left: list[RunId] = []

    # ------------------------------------------------------------------------------------------ the Backend protocol

    def snapshot(self) -> ConsoleSnapshot:
        with self._lock:
            return self._snapshot

    def submit(self, command: OperatorCommand) -> "Future[Reply]":
        future: Future[Reply] = Future()
        with self._lock:
            self.commands.append(command)
            if type(command) in self.held_back:
                self.open.append((command, future))
                return future
        future.set_result(self._reply(command))
        return future

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        self._wakes.append(wake)
        return lambda: self._wakes.remove(wake)

    def drain(self, run: RunId) -> tuple[tuple[FeedEvent, ...], int]:
        with self._lock:
            return tuple(self._feeds.pop(run, ())), 0

    def leave(self, run: RunId) -> None:
        self.left.append(run)

    def terminal(self, run: RunId) -> Terminal | None:
        return self.terminals.get(run)

    def beat(self) -> None:
        self.beats += 1

    # ---------------------------------------------------------------------------------------------- the test's side

    def push(self, snapshot: ConsoleSnapshot) -> None:
        with self._lock:
            self._snapshot = snapshot
        self._wake()

    def change(self, **changes: object) -> None:
        self.push(replace(self.snapshot(), **changes))  # type: ignore[arg-type]

    def change_session(self, run: int, **changes: object) -> None:
        sessions = tuple(
            replace(session, **changes) if session.run == run else session  # type: ignore[arg-type]
            for session in self.snapshot().sessions
        )
        self.change(sessions=sessions)

    def feed(self, *events: FeedEvent) -> None:
        with self._lock:
            for event in events:
                self._feeds[event.run].append(event)
        self._wake()

    def complete(self, reply: Reply) -> None:
        _, future = self.open.pop(0)
        future.set_result(reply)

    def given(self, kind: type[C]) -> list[C]:
        """Commands of one kind, in order."""
        with self._lock:
            return [command for command in self.commands if isinstance(command, kind)]

    def _wake(self) -> None:
        for wake in tuple(self._wakes):
            wake()

    def _reply(self, command: OperatorCommand) -> Reply:
        scripted = self.replies.get(type(command))
        if scripted is not None:
            return scripted(command) if callable(scripted) else scripted
        match command:
            case Propose():
                return self._propose(command)
            case StartRun():
                return Started(run=RunId(99))
            case Say(run=run):
                session = next((s for s in self.snapshot().sessions if s.run == run), None)
                busy = session is not None and session.in_flight is not None
                return Said(queued=1) if busy else Said(turn=TurnId("turn-new"))
            case SaveDraft(key=key, text=text):
                self.drafts[key] = text
                return Done()
            case LoadDraft(key=key):
                return self.drafts.get(key, "")
            case ReadSaidBefore():
                return SaidBefore(texts=self.said)
            case ReadSaid(turn=turn):
                return self.said_whole.get(turn, "")
            case ListFiles():
                return TrackedFiles(tree="/home/mara/src/orders", paths=self.files)
            case LookAtImages(names=names, whole=whole):
                return ImagesSeen(images=tuple(self._image(name, whole=whole) for name in names))
            case ReadTranscript(run=run):
                return self.pages.get(run, TranscriptPage(events=(), more_before=False))
            case ReadChanges(run=run, turn=turn):
                return Changes(run=run, source=ChangesFrom.TREE, tree="/home/mara", base="", turn=turn, files=())
            case ReadDiff():
                return Diff(patch=b"")
            case ReadQueue():
                return self.tasks
            case AddTasks(tasks=tasks):
                return TasksAdded(tasks=tuple(TaskId(99 + n) for n in range(len(tasks))))
            case ProposeSeries():
                return SeriesProposals(proposals=())
            case LeaveAll():
                return Left(until=())
            case CloseAll():
                return Closed(unsettled=())
            case _:
                return Done()

    def _image(self, name: str, *, whole: bool) -> ImageSeen:
        image = self.images.get(name)
        if image is None:
            return ImageSeen(name=name, problem=ImageProblem.MISSING)
        return ImageSeen(name=name, size=len(image.data), image=image if whole else None)

    def _propose(self, command: Propose) -> Proposal:
        terms = make_terms(instruction=command.instruction, preamble=command.preamble)
        preset = next((one for one in PRESETS if one.name == command.preset), None)
        if preset is not None:
            terms = replace(
                terms,
                budget=preset.budget,
                max_turns=preset.max_turns,
                working_seconds=preset.working_seconds,
                expires_at=Millis(NOW + int(preset.hours * 3_600_000)),
            )
        if command.budget is not None:
            terms = replace(terms, budget=command.budget)
        if command.max_turns is not None:
            terms = replace(terms, max_turns=command.max_turns)
        if command.working_seconds is not None:
            terms = replace(terms, working_seconds=command.working_seconds)
        if command.agent:
            terms = replace(terms, agent=command.agent)
        continued = None
        if command.continues is not None:
            instruction = command.instruction or "Go on from where you stopped."
            terms = replace(terms, instruction=instruction, continues=command.continues, carried="It goes on.")
            new = NewConversation.ASKED if command.fresh else None
            continued = Continued(run=command.continues, title="fix it", new=new, turns=3, answers=1)
        return Proposal(
            terms=terms,
            preset=command.preset or "normal",
            moved=("budget",) if command.preset else (),
            own_rules=("Bash(git status:*)",),
            preamble_text="When you are done, leave a note in .footplate/handoff.md.",
            agents=("claude", "practice"),
            takes_images=True,
            continued=continued,
        )


def queued(number: int, text: str) -> QueuedView:
    return QueuedView(id=number, place=number, text=text)
