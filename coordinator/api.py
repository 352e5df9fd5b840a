"""What ``app`` may call, and the frozen values it is given. Nothing here acts.

The screen never sees a session's own objects: it reads the newest ``ConsoleSnapshot`` and sends commands. Both front
ends, the console and ``--plain``, use exactly this.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from coordinator.difftypes import (
    Changes as Changes,
    ChangesFrom as ChangesFrom,
    ChangesNote as ChangesNote,
    Diff as Diff,
    FileChange as FileChange,
    ReadChanges as ReadChanges,
    ReadDiff as ReadDiff,
    Remark as Remark,
    TurnSpan as TurnSpan,
)
from coordinator.drivers.base import Answer, Image as Image
from coordinator.imagetypes import (
    AttachedView as AttachedView,
    ImageProblem as ImageProblem,
    ImageSeen as ImageSeen,
    ImagesSeen as ImagesSeen,
    LookAtImages as LookAtImages,
)
from coordinator.starttypes import (
    Continued as Continued,
    NewConversation as NewConversation,
    Proposal as Proposal,
    Propose as Propose,
    Started as Started,
    StartRun as StartRun,
)
from coordinator.tasks.tasktypes import (
    AcceptTask as AcceptTask,
    AddTasks as AddTasks,
    AgentWait as AgentWait,
    EditTask as EditTask,
    HoldLine as HoldLine,
    HoldTask as HoldTask,
    NewTask as NewTask,
    ProposeSeries as ProposeSeries,
    QueueCommand as QueueCommand,
    QueueSummary as QueueSummary,
    QueueView as QueueView,
    ReadQueue as ReadQueue,
    ReleaseAgent as ReleaseAgent,
    RemoveTask as RemoveTask,
    RetryTask as RetryTask,
    SeriesProposal as SeriesProposal,
    SeriesProposals as SeriesProposals,
    SeriesTerms as SeriesTerms,
    SignSeries as SignSeries,
    TaskReason as TaskReason,
    TasksAdded as TasksAdded,
    TaskView as TaskView,
    Waits as Waits,
    Wishes as Wishes,
)
from coordinator.terminals import (
    ResizeTerminal as ResizeTerminal,
    SendKeys as SendKeys,
    Terminal as Terminal,
)
from coordinator.transcripttypes import (
    FeedEvent as FeedEvent,
    Hit as Hit,
    ReadTranscript as ReadTranscript,
    ReadWhole as ReadWhole,
    SearchTranscript as SearchTranscript,
    TranscriptHits as TranscriptHits,
    TranscriptPage as TranscriptPage,
)
from coordinator.treetypes import (
    CheckAgain as CheckAgain,
    Disposal as Disposal,
    Disposed as Disposed,
    DisposeOfTree as DisposeOfTree,
    LookAtTree as LookAtTree,
    TreeView as TreeView,
)
from coordinator.viewtypes import (
    GONE as GONE,
    AttentionView as AttentionView,
    BudgetView as BudgetView,
    ChangedFile as ChangedFile,
    ConsoleSnapshot as ConsoleSnapshot,
    DecisionView as DecisionView,
    EndingView as EndingView,
    Group as Group,
    ProcessView as ProcessView,
    QueuedView as QueuedView,
    RepositoryView as RepositoryView,
    RunningTool as RunningTool,
    SessionView as SessionView,
    TurnView as TurnView,
)
from store.refusal import Refusal
from store.vocab import (
    DecisionId,
    MicroUsd,
    Millis,
    RunId,
    TurnId,
)

# ------------------------------------------------------------------------------------------------------------ commands


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A turn, or a place in the line while one runs. Answer: ``Said`` or ``Refusal``."""

    run: RunId
    text: str
    literal: bool = False
    """A leading slash is text, whatever the agent knows."""
    images: tuple[Image, ...] = ()
    """In the order in which the text names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    turn: TurnId | None = None
    queued: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditQueued:
    run: RunId
    queued: int
    text: str
    """'' withdraws it."""
    images: tuple[Image, ...] = ()
    """To be added to those that it has."""
    keep: tuple[str, ...] | None = None
    """Names of images that it has and that the text still names; None: all stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseQueue:
    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerDecision:
    run: RunId
    decision: DecisionId
    revision: int
    payload_hash: str
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class DismissDecision:
    run: RunId
    decision: DecisionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupt:
    run: RunId
    turn: TurnId | None
    """The one in flight when the key was pressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    run: RunId
    kill: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAll:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """End well: waits for the turn in flight; a second one interrupts it."""

    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMode:
    run: RunId
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetModel:
    run: RunId
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename:
    run: RunId
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    run: RunId
    pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The operator has had it in view for a second."""

    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledge:
    """The operator has seen an item of the attention queue for which that is enough. Answer: ``Done`` or
    ``Refusal``."""

    item: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveDraft:
    key: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadDraft:
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSaidBefore:
    """What the operator has said in a repository, over all its runs. Answer: ``SaidBefore``."""

    repository: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidOnce:
    turn: TurnId
    at: Millis
    text: str
    whole: bool
    """False: ``text`` is its beginning; ``ReadSaid`` gives all of it."""
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidBefore:
    texts: tuple[SaidOnce, ...]
    """Each text once, newest last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSaid:
    """The whole text of one turn. Answer: a string."""

    turn: TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFiles:
    """Files that git tracks in the tree of a run, or in a repository. Answer: ``TrackedFiles`` or ``Refusal``."""

    run: RunId | None
    repository: str
    """Looked at where no run is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedFiles:
    tree: str
    paths: tuple[str, ...]
    """Relative to the tree; only names that can be written in a text."""
    more: bool = False
    """There are more than were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAtProcesses:
    """Ask a hold's keeper for its processes; they appear in the next snapshot."""

    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAtRepository:
    """Look again at the repository that the console was opened in: a first commit may be there, or more changes. The
    next snapshot has it too. Answer: ``RepositoryView``, or ``Done`` where the console was opened in none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveAll:
    """Go and leave every hold to its keeper: nothing is delivered, requests wait, the next console picks them up.
    Answer: ``Left``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    until: tuple[tuple[RunId, Millis], ...]
    """Until when each stays held if nobody comes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """The operator is back: paused runs go on. None: all of them."""

    run: RunId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extend:
    """A signed amendment: more money, turns or working time, a later end. Answer: ``Done`` or ``Refusal``."""

    run: RunId
    money: MicroUsd | None = None
    turns: int | None = None
    working_seconds: int | None = None
    seconds: int | None = None
    """Added to the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revoke:
    """Take the terms back: the run ends as *revoked*."""

    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Look again for holds whose console is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseAll:
    """End every hold and shut down, under one deadline. Answer: ``Closed``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    unsettled: tuple[RunId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    note: str = ""


OperatorCommand = (
    Propose
    | StartRun
    | Say
    | EditQueued
    | ReleaseQueue
    | AnswerDecision
    | DismissDecision
    | Interrupt
    | Stop
    | StopAll
    | Finish
    | SetMode
    | SetModel
    | Rename
    | Pin
    | Seen
    | Acknowledge
    | SaveDraft
    | LoadDraft
    | ReadSaidBefore
    | ReadSaid
    | ListFiles
    | LookAtImages
    | ReadChanges
    | ReadDiff
    | ReadTranscript
    | SearchTranscript
    | ReadWhole
    | LookAtProcesses
    | LookAtRepository
    | LookAtTree
    | DisposeOfTree
    | CheckAgain
    | SendKeys
    | ResizeTerminal
    | LeaveAll
    | Resume
    | Extend
    | Revoke
    | Sweep
    | CloseAll
    | QueueCommand
)

Reply = (
    Done
    | Proposal
    | Started
    | Said
    | SaidBefore
    | TrackedFiles
    | ImagesSeen
    | Changes
    | Diff
    | TranscriptPage
    | TranscriptHits
    | TreeView
    | Disposed
    | RepositoryView
    | Closed
    | Left
    | QueueView
    | TasksAdded
    | SeriesProposals
    | str
    | Refusal
)
"""What a command gives back: ``LoadDraft`` and ``ReadWhole`` a string, most ``Done``; any of them a ``Refusal``."""


class Backend(Protocol):
    """The coordinator as a front end sees it. Every method may be called from any thread and returns at once."""

    def snapshot(self) -> ConsoleSnapshot:
        """The newest one; frozen."""
        ...

    def submit(self, command: OperatorCommand) -> "Future[Reply]":
        """The future is completed on the coordinator's thread; look at it from your own loop
        (``asyncio.wrap_future``)."""
        ...

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` (on the coordinator's thread, at most 60 times a second) when there is something new. Returns
        *unsubscribe*."""
        ...

    def drain(self, run: RunId) -> tuple[tuple[FeedEvent, ...], int]:
        """Live events of a run since the last call, and how many were dropped before them (then read the page
        again)."""
        ...

    def leave(self, run: RunId) -> None:
        """The run is not looked at any more: no events are kept for it until it is drained again."""
        ...

    def terminal(self, run: RunId) -> Terminal | None:
        """What the agent's own terminal shows; None: it has none, or this console does not hold it."""
        ...

    def beat(self) -> None:
        """The operator did something."""
        ...
