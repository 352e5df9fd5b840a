"""What ``app`` may call, and the frozen values it is given. Nothing here acts.

The screen never sees a session's own objects: it reads the newest ``ConsoleSnapshot`` and sends commands. Both front
ends, the console and ``--plain``, use exactly this.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from coordinator.custody.types import EndedProcess, Receipt
from coordinator.drivers.base import AgentEvent, Answer, BackgroundTask, Json, Question
from coordinator.terms import Terms
from store.refusal import Refusal
from store.vocab import (
    AttentionKind,
    Billing,
    CostKnowledge,
    CustodyState,
    DecisionId,
    DecisionKind,
    DecisionState,
    FailureKind,
    MicroUsd,
    Millis,
    RunId,
    RunOutcome,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)

# ---------------------------------------------------------------------------------------------------------- snapshots


class Group(StrEnum):
    """Where a session stands in the list. The order is the order shown."""

    NEEDS_YOU = "needs you"
    YOUR_MOVE = "your move"
    WORKING = "working"
    IDLE = "idle"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    id: TurnId
    n: int
    source: TurnSource
    state: TurnState
    text: str
    operator: str
    recorded_at: Millis
    ended_at: Millis | None = None
    result: TurnResultKind | None = None
    subtype: str = ""
    cost: MicroUsd | None = None
    cost_known: CostKnowledge | None = None
    failure: FailureKind | None = None
    failure_text: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    duration_ms: int | None = None
    preamble: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedView:
    id: int
    place: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionView:
    id: DecisionId
    run: RunId
    turn: TurnId | None
    kind: DecisionKind
    state: DecisionState
    revision: int
    payload_hash: str
    """An answer names id, revision and this; anything else is ``stale``."""
    title: str
    subject: str
    """The command, path, diff or plan, uncut."""
    asked_at: Millis
    tool: str | None = None
    input: Json = field(default_factory=dict)
    why: str = ""
    questions: tuple[Question, ...] = ()
    editable: bool = False
    rule: str | None = None
    rule_uses: int = 0
    blocked_path: str | None = None
    agent: str | None = None
    answer: str = ""
    """In words, once answered."""
    answered_by: str | None = None
    answered_at: Millis | None = None
    delivered_at: Millis | None = None
    note: str = ""
    request: str = ""
    """The agent's id for it, as in ``DecisionAsked``; by it a transcript finds the outcome of what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTool:
    call: str
    name: str
    title: str
    since: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    path: str
    status: str
    """One letter as git's: M, A, D, R, ?"""
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetView:
    spent: MicroUsd
    limit: MicroUsd | None
    guessed: bool
    """Some of ``spent`` is an upper guess."""
    unknown_turns: int
    turns: int
    max_turns: int
    working_ms: int
    working_limit_ms: int | None
    expires_at: Millis
    turn_so_far: MicroUsd | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingView:
    """A hold that is ending, step by step; the picture in *Stopping*."""

    reason: str
    since: Millis
    steps: tuple[tuple[str, int], ...]
    """(step, ms since the order) that were reached, in order: ``no-new-turns``, ``asked``, ``eof``, ``term``,
    ``kill``, ``gone``."""
    agent_exit: str | None = None
    left: tuple[EndedProcess, ...] = ()
    killing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessView:
    pid: int
    name: str
    age_s: float
    rss_kb: int
    own_session: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    run: RunId
    title: str
    group: Group
    agent: str
    driver: str
    billing: Billing
    repository: str
    tree: str
    in_place: bool
    branch: str
    head: str
    created_at: Millis
    operator: str
    budget: BudgetView
    model: str | None = None
    models: tuple[tuple[str, str], ...] = ()
    mode: str | None = None
    modes: tuple[str, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()
    native_id: str | None = None
    custody: CustodyState | None = None
    outcome: RunOutcome | None = None
    reason: str = ""
    detail: str = ""
    ended_at: Millis | None = None
    last_event_at: Millis | None = None
    turn_ended_at: Millis | None = None
    turns: tuple[TurnView, ...] = ()
    in_flight: TurnId | None = None
    queued: tuple[QueuedView, ...] = ()
    paused: bool = False
    """Nothing is delivered: the operator was away."""
    queue_held: bool = False
    """After an interrupt, what waits goes only when the operator says so."""
    decisions: tuple[DecisionView, ...] = ()
    """Live ones, oldest first; then those answered in this run, for the history."""
    plan: tuple[tuple[str, str], ...] = ()
    background: tuple[BackgroundTask, ...] = ()
    changed: tuple[ChangedFile, ...] = ()
    context_used: int | None = None
    context_size: int | None = None
    tools: tuple[RunningTool, ...] = ()
    at_budget: bool = False
    finishing: bool = False
    interrupting: bool = False
    ending: EndingView | None = None
    receipt: Receipt | None = None
    processes: tuple[ProcessView, ...] = ()
    owner: str = ""
    """'' when this console holds it, else who does."""
    pinned: bool = False
    seen_at: Millis = Millis(0)
    status: str = ""
    """Newest notice of the agent (retry, limit), one line, '' for none."""
    terms: Terms | None = None
    handoff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionView:
    id: int
    run: RunId | None
    kind: AttentionKind
    text: str
    since: Millis
    decision: DecisionId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryView:
    path: str
    branch: str
    head: str
    dirty_files: int
    problem: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSnapshot:
    now: Millis
    operator: str
    sessions: tuple[SessionView, ...] = ()
    attention: tuple[AttentionView, ...] = ()
    today: MicroUsd = MicroUsd(0)
    today_limit: MicroUsd | None = None
    repository: RepositoryView | None = None
    admission_open: bool = True
    away_in: float | None = None
    """Seconds until held runs pause for want of attendance, from 80 % of the window on; None: not near."""
    recovered: tuple[int, int] = (0, 0)
    """At start: picked up, ended."""
    storage_trouble: str = ""
    """In words, while the ledger cannot be written; custody goes on."""


# ---------------------------------------------------------------------------------------------------------------- feed


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEvent:
    """One thing for a transcript, the same live and from the ledger. Deltas are live only and have no ``key``."""

    run: RunId
    turn: TurnId | None
    at: Millis
    event: AgentEvent
    key: tuple[int, int] | None = None
    """(spool offset, n): unique in its run, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptPage:
    events: tuple[FeedEvent, ...]
    """In order."""
    first: int
    """Row id of the first, to ask for what is before it; 0: nothing is."""
    live_from: int
    """Feed position at which the page was read: live events up to it are in the page."""


# ------------------------------------------------------------------------------------------------------------ commands


@dataclass(frozen=True, slots=True, kw_only=True)
class Propose:
    """Ask for terms to show before signing. Answer: ``Proposal`` or ``Refusal``."""

    instruction: str
    repository: str
    agent: str | None = None
    preset: str | None = None
    budget: MicroUsd | None = None
    max_turns: int | None = None
    expires_seconds: int | None = None
    model: str | None = None
    mode: str | None = None
    worktree: bool | None = None
    preamble: bool = True
    script: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    terms: Terms
    preset: str | None
    moved: tuple[str, ...] = ()
    """Names of fields that differ from the last run in this repository."""
    own_rules: tuple[str, ...] = ()
    """The agent's own permission rules in force: what they let through without asking."""
    preamble_text: str = ""
    agents: tuple[str, ...] = ()
    """Profiles that could be chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRun:
    """The operator signed these terms. Answer: ``Started`` or ``Refusal``."""

    terms: Terms
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A turn, or a place in the line while one runs. Answer: ``Said`` or ``Refusal``."""

    run: RunId
    text: str
    literal: bool = False
    """A leading slash is text, whatever the agent knows."""


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
class SaveDraft:
    key: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadDraft:
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTranscript:
    """Answer: ``TranscriptPage``."""

    run: RunId
    before: int | None = None
    limit: int = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAtProcesses:
    """Ask a hold's keeper for its processes; they appear in the next snapshot."""

    run: RunId


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
    """A signed amendment: more money, more turns, a later end. Answer: ``Done`` or ``Refusal``."""

    run: RunId
    money: MicroUsd | None = None
    turns: int | None = None
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
    | SaveDraft
    | LoadDraft
    | ReadTranscript
    | LookAtProcesses
    | LeaveAll
    | Resume
    | Extend
    | Revoke
    | Sweep
    | CloseAll
)

Reply = Done | Proposal | Started | Said | TranscriptPage | Closed | Left | str | Refusal
"""What a command gives back: ``LoadDraft`` a string, most ``Done``; any of them a ``Refusal``."""


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

    def beat(self) -> None:
        """The operator did something."""
        ...
