"""What ``app`` may call, and the frozen values it is given. Nothing here acts.

The screen never sees a session's own objects: it reads the newest ``ConsoleSnapshot`` and sends commands. Both front
ends, the console and ``--plain``, use exactly this.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from msgspec import Struct

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


class Say(Struct, frozen=True, kw_only=True):
    """A turn, or a place in the line while one runs. Answer: ``Said`` or ``Refusal``."""

    run: RunId
    text: str
    literal: bool = False
    """A leading slash is text, whatever the agent knows."""
    images: tuple[Image, ...] = ()
    """In the order in which the text names them."""


class Said(Struct, frozen=True, kw_only=True):
    turn: TurnId | None = None
    queued: int | None = None


class EditQueued(Struct, frozen=True, kw_only=True):
    run: RunId
    queued: int
    text: str
    """'' withdraws it."""
    images: tuple[Image, ...] = ()
    """To be added to those that it has."""
    keep: tuple[str, ...] | None = None
    """Names of images that it has and that the text still names; None: all stay."""


class ReleaseQueue(Struct, frozen=True, kw_only=True):
    run: RunId


class AnswerDecision(Struct, frozen=True, kw_only=True):
    run: RunId
    decision: DecisionId
    revision: int
    payload_hash: str
    answer: Answer


class DismissDecision(Struct, frozen=True, kw_only=True):
    run: RunId
    decision: DecisionId


class Interrupt(Struct, frozen=True, kw_only=True):
    run: RunId
    turn: TurnId | None
    """The one in flight when the key was pressed."""


class Stop(Struct, frozen=True, kw_only=True):
    run: RunId
    kill: bool = False


class StopAll(Struct, frozen=True, kw_only=True):
    pass


class Finish(Struct, frozen=True, kw_only=True):
    """End well: waits for the turn in flight; a second one interrupts it."""

    run: RunId


class SetMode(Struct, frozen=True, kw_only=True):
    run: RunId
    mode: str


class SetModel(Struct, frozen=True, kw_only=True):
    run: RunId
    model: str


class Rename(Struct, frozen=True, kw_only=True):
    run: RunId
    title: str


class Pin(Struct, frozen=True, kw_only=True):
    run: RunId
    pinned: bool


class Seen(Struct, frozen=True, kw_only=True):
    """The operator has had it in view for a second."""

    run: RunId


class Acknowledge(Struct, frozen=True, kw_only=True):
    """The operator has seen an item of the attention queue for which that is enough. Answer: ``Done`` or
    ``Refusal``."""

    item: int


class SaveDraft(Struct, frozen=True, kw_only=True):
    key: str
    text: str


class LoadDraft(Struct, frozen=True, kw_only=True):
    key: str


class ReadSaidBefore(Struct, frozen=True, kw_only=True):
    """What the operator has said in a repository, over all its runs. Answer: ``SaidBefore``."""

    repository: str


class SaidOnce(Struct, frozen=True, kw_only=True):
    turn: TurnId
    at: Millis
    text: str
    whole: bool
    """False: ``text`` is its beginning; ``ReadSaid`` gives all of it."""
    bytes: int


class SaidBefore(Struct, frozen=True, kw_only=True):
    texts: tuple[SaidOnce, ...]
    """Each text once, newest last."""


class ReadSaid(Struct, frozen=True, kw_only=True):
    """The whole text of one turn. Answer: a string."""

    turn: TurnId


class ListFiles(Struct, frozen=True, kw_only=True):
    """Files that git tracks in the tree of a run, or in a repository. Answer: ``TrackedFiles`` or ``Refusal``."""

    run: RunId | None
    repository: str
    """Looked at where no run is named."""


class TrackedFiles(Struct, frozen=True, kw_only=True):
    tree: str
    paths: tuple[str, ...]
    """Relative to the tree; only names that can be written in a text."""
    more: bool = False
    """There are more than were read."""


class LookAtProcesses(Struct, frozen=True, kw_only=True):
    """Ask a hold's keeper for its processes; they appear in the next snapshot."""

    run: RunId


class LookAtRepository(Struct, frozen=True, kw_only=True):
    """Look again at the repository that the console was opened in: a first commit may be there, or more changes. The
    next snapshot has it too. Answer: ``RepositoryView``, or ``Done`` where the console was opened in none."""


class LeaveAll(Struct, frozen=True, kw_only=True):
    """Go and leave every hold to its keeper: nothing is delivered, requests wait, the next console picks them up.
    Answer: ``Left``."""


class Left(Struct, frozen=True, kw_only=True):
    until: tuple[tuple[RunId, Millis], ...]
    """Until when each stays held if nobody comes back."""


class Resume(Struct, frozen=True, kw_only=True):
    """The operator is back: paused runs go on. None: all of them."""

    run: RunId | None = None


class Extend(Struct, frozen=True, kw_only=True):
    """A signed amendment: more money, turns or working time, a later end. Answer: ``Done`` or ``Refusal``."""

    run: RunId
    money: MicroUsd | None = None
    turns: int | None = None
    working_seconds: int | None = None
    seconds: int | None = None
    """Added to the end."""


class Revoke(Struct, frozen=True, kw_only=True):
    """Take the terms back: the run ends as *revoked*."""

    run: RunId


class Sweep(Struct, frozen=True, kw_only=True):
    """Look again for holds whose console is gone."""


class CloseAll(Struct, frozen=True, kw_only=True):
    """End every hold and shut down, under one deadline. Answer: ``Closed``."""


class Closed(Struct, frozen=True, kw_only=True):
    unsettled: tuple[RunId, ...]


class Done(Struct, frozen=True, kw_only=True):
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
