"""The frozen values that a screen shows: sessions, turns, decisions, budgets, endings. Part of ``api``, which passes
them on."""

from enum import StrEnum
from typing import Final

from msgspec import Struct, field

from coordinator.checktypes import CheckView
from coordinator.custody.types import EndedProcess, Receipt
from coordinator.drivers.base import BackgroundTask, Json, Offer, Question
from coordinator.imagetypes import AttachedView
from coordinator.tasks.tasktypes import QueueSummary
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
    TaskId,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)


class Group(StrEnum):
    """Where a session stands in the list. The order is the order shown."""

    NEEDS_YOU = "needs you"
    YOUR_MOVE = "your move"
    WORKING = "working"
    IDLE = "idle"
    ENDED = "ended"


class TurnView(Struct, frozen=True, kw_only=True):
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
    images: tuple[AttachedView, ...] = ()


class QueuedView(Struct, frozen=True, kw_only=True):
    id: int
    place: int
    text: str
    images: tuple[AttachedView, ...] = ()


class DecisionView(Struct, frozen=True, kw_only=True):
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
    """Of one that a standing rule answered: how many of this run that rule answered so far."""
    blocked_path: str | None = None
    agent: str | None = None
    offers: tuple[Offer, ...] = ()
    """The agent's own options, where it gives some: the only ones then."""
    answer: str = ""
    """In words, once answered."""
    answered_by: str | None = None
    answered_at: Millis | None = None
    delivered_at: Millis | None = None
    note: str = ""
    request: str = ""
    """The agent's id for it, as in ``DecisionAsked``; by it a transcript finds the outcome of what was asked."""


class RunningTool(Struct, frozen=True, kw_only=True):
    call: str
    name: str
    title: str
    since: Millis


class ChangedFile(Struct, frozen=True, kw_only=True):
    path: str
    status: str
    """One letter as git's: M, A, D, R, ?"""
    added: int | None
    removed: int | None


class BudgetView(Struct, frozen=True, kw_only=True):
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


class EndingView(Struct, frozen=True, kw_only=True):
    """A hold that is ending, step by step; the picture in *Stopping*."""

    reason: str
    since: Millis
    steps: tuple[tuple[str, int], ...]
    """(step, ms since the order) that were reached, in order: ``no-new-turns``, ``asked``, ``eof``, ``term``,
    ``kill``, ``gone``."""
    agent_exit: str | None = None
    left: tuple[EndedProcess, ...] = ()
    killing: bool = False


class ProcessView(Struct, frozen=True, kw_only=True):
    pid: int
    name: str
    age_s: float
    rss_kb: int
    own_session: bool


GONE: Final = "a console that is gone"
"""Who holds a session that its console has left behind."""


class SessionView(Struct, frozen=True, kw_only=True):
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
    own_screen: tuple[tuple[str, str], ...] = ()
    """Commands that need the agent's own screen, and what to do instead."""
    takes_images: bool = False
    terminal: bool = False
    """It has a screen of its own, which can be looked at and typed into."""
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
    """Those ``moves.UNFINISHED``, oldest first; then those answered in this run, for the history. Who looks for what
    waits stops at the first that is finished."""
    plan: tuple[tuple[str, str], ...] = ()
    background: tuple[BackgroundTask, ...] = ()
    changed: tuple[ChangedFile, ...] = ()
    changes_known: bool = False
    """The tree was looked at: an empty ``changed`` means that nothing did. A run of an earlier console was not."""
    context_used: int | None = None
    context_size: int | None = None
    tools: tuple[RunningTool, ...] = ()
    at_budget: bool = False
    past_work: bool = False
    """Its turn goes on though its working time is used up."""
    finishing: bool = False
    interrupting: bool = False
    ending: EndingView | None = None
    receipt: Receipt | None = None
    processes: tuple[ProcessView, ...] = ()
    owner: str = ""
    """'' when this console holds it, else who does; ``GONE`` when nobody does any more."""
    pinned: bool = False
    seen_at: Millis = Millis(0)
    status: str = ""
    """Newest notice of the agent (retry, limit), one line, '' for none."""
    terms: Terms | None = None
    handoff: str = ""
    checks: tuple[CheckView, ...] = ()
    """Of one that has ended: what looks, or looked, at its work."""
    task: TaskId | None = None
    """The task in line whose attempt this is."""
    attempt: int = 0
    """Which one, from 1."""
    attempts: int = 0
    """How many were agreed to, this one's predecessors among them."""


class AttentionView(Struct, frozen=True, kw_only=True):
    id: int
    run: RunId | None
    kind: AttentionKind
    text: str
    since: Millis
    decision: DecisionId | None = None
    task: TaskId | None = None
    """The task that it is about."""
    to_see: bool = True
    """A person may put it away without doing anything else."""


class RepositoryView(Struct, frozen=True, kw_only=True):
    path: str
    branch: str
    head: str
    dirty_files: int
    problem: Refusal | None = None


class ConsoleSnapshot(Struct, frozen=True, kw_only=True):
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
    last_here: Millis | None = None
    """At start: when an operator was last seen at a console of this ledger; None: there was none before."""
    storage_trouble: Refusal | None = None
    """While the ledger cannot be written; custody goes on."""
    queue: QueueSummary = field(default_factory=QueueSummary)
