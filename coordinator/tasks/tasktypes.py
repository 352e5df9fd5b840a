"""What a front end may ask of the queue, and the frozen values it is given. Nothing here acts.

A task waits in line for the operator's attention; its attempts are runs. Apart from ``api``, which passes these on.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from store.refusal import Fact, Refusal
from store.vocab import Billing, MicroUsd, Millis, RunId, TaskId, TaskState

MOST_ATTEMPTS = 3
"""Under one agreement, where nothing else is said."""


class Waits(StrEnum):
    """Why a task in line is not begun, in the order in which they are looked at."""

    HELD = "held"
    """The operator keeps it back."""
    NEED_FAILED = "need-failed"
    """What it needs failed or was stopped; facts: ``task``."""
    NEED = "need"
    """What it needs is not done; facts: ``task``, ``more``."""
    RESERVED = "reserved"
    """Its paths overlap with those of a task at work; facts: ``task``, ``run``, ``path``."""
    SIGNING = "signing"
    """Nobody has agreed to its terms yet."""
    EDITED = "edited"
    """It was changed after its terms were agreed to."""
    SPENT = "spent"
    """Attempts, money or time that were agreed to are used up; facts: ``what``."""
    AGENT = "agent"
    """Its agent cannot be run just now; facts: ``agent``, ``why``, perhaps ``until``."""
    LATER = "later"
    """It is tried again; facts: ``at``. After the agent's own wait: what that waits for may be the operator."""
    REPOSITORY = "repository"
    """Its repository is not there; facts: ``path``."""
    ENDING = "ending"
    """Something of its last attempt is still being ended; facts: ``run``."""
    QUEUE_HELD = "queue-held"
    """The whole line is kept back."""
    AWAY = "away"
    """Nobody is there to be asked."""
    SLOT = "slot"
    """As many sessions are held as may be; facts: ``held``, ``limit``."""
    CONSOLE = "console"
    """No console is open that would begin it."""
    NEXT = "next"


class TaskReason(StrEnum):
    """Why a task needs the operator, failed or was stopped."""

    SIGN_AGAIN = "sign-again"
    """Nothing is left of what was agreed to, or what would run is another thing; facts: ``field``, ``was``, ``is``."""
    QUESTION = "question"
    """Its run ended with a question open."""
    CUT_OFF = "cut-off"
    """The console or the keeper went while the agent worked: what it did is not known to be whole."""
    UNCERTAIN = "uncertain"
    LAPSED = "lapsed"
    EXPIRED = "expired"
    REVOKED = "revoked"
    BUDGET = "budget"
    TURN_TIMEOUT = "turn-timeout"
    RESTORED = "restored"
    ENDED_EARLY = "ended-early"
    """The agent ended after it had begun to work; facts: ``reason``."""
    CHECKS = "checks"
    """It says that it is finished, and a check says otherwise."""
    NOTHING_RECORDED = "nothing-recorded"
    """The last attempt that was agreed to left no trace of work."""
    ATTEMPTS = "attempts"
    """Each attempt that was agreed to ended before the work did; facts: ``reason``."""
    REFUSED = "refused"
    """It could not be begun; facts: ``reason`` and those of the refusal."""
    FAILED = "failed"
    """facts: ``reason``, ``failure``."""
    STOPPED = "stopped"
    """By the operator."""
    GIVEN_UP = "given-up"
    """The operator took it out of the line."""


class Wishes(Struct, frozen=True, kw_only=True):
    """What is asked for beyond the defaults. Stored with the task; its agreed terms say what it came to."""

    agent: str | None = None
    """Profile; None: the one that would be chosen for a run here. Filled in when the terms are agreed to."""
    model: str | None = None
    mode: str | None = None
    preset: str | None = None
    budget: MicroUsd | None = None
    """For all attempts together."""
    max_turns: int | None = None
    working_seconds: int | None = None
    expires_seconds: int | None = None
    """How long the agreement stands."""
    attempts: int = MOST_ATTEMPTS
    in_place: bool = False
    """In the repository itself; else on a tree of its own."""
    preamble: bool = True
    rules: tuple[str, ...] = ()
    """Standing rules beside those that are kept."""
    script: str = ""
    """Practice agent only."""


class SeriesTerms(Struct, frozen=True, kw_only=True):
    """What the operator agrees to for all attempts of a task. Each attempt's ``Terms`` are cut from it."""

    task: TaskId
    revision: int
    instruction: str
    preamble: bool
    agent: str
    driver: str
    billing: Billing
    repository: str
    paths: tuple[str, ...]
    in_place: bool
    model: str | None
    mode: str
    budget: MicroUsd | None
    attempts: int
    max_turns: int
    working_seconds: int | None
    run_seconds: int
    """For how long one attempt may stand."""
    expires_at: Millis
    """Until when an attempt may begin."""
    attendance_seconds: int
    at_budget: str
    machine: str
    uid: int
    rules: tuple[str, ...] = ()
    setup: str = ""
    checks: tuple[str, ...] = ()
    script: str = ""


class TaskView(Struct, frozen=True, kw_only=True):
    id: TaskId
    state: TaskState
    title: str
    instruction: str
    repository: str
    agent: str
    """'' while nobody has said."""
    priority: int
    paths: tuple[str, ...]
    needs: tuple[TaskId, ...]
    held: bool
    revision: int
    created_at: Millis
    operator: str
    wishes: Wishes
    waits: Waits | None = None
    waits_facts: Mapping[str, Fact] = field(default_factory=dict)
    reason: TaskReason | None = None
    detail: Mapping[str, Fact] = field(default_factory=dict)
    runs: tuple[RunId, ...] = ()
    """Its attempts, the newest last."""
    attempts_left: int | None = None
    """None: its terms are not agreed to."""
    spent: MicroUsd = MicroUsd(0)
    budget: MicroUsd | None = None
    parent: TaskId | None = None
    claimed_at: Millis | None = None
    ended_at: Millis | None = None
    owner: str = ""
    """Of one at work: whose console, where it is not this one."""


class AgentWait(Struct, frozen=True, kw_only=True):
    agent: str
    reason: str
    """A ``FailureKind``."""
    until: Millis | None
    """None: until the operator says so."""


class QueueView(Struct, frozen=True, kw_only=True):
    tasks: tuple[TaskView, ...]
    """Needing the operator, at work, in line (as they would be begun), ended (the newest first); at most ``limit``."""
    counts: Mapping[TaskState, int]
    held: str = ""
    """Why the whole line is kept back; '': it is not."""
    agents: tuple[AgentWait, ...] = ()
    more: bool = False


class QueueSummary(Struct, frozen=True, kw_only=True):
    """In every snapshot: cheap, and ``stamp`` changes whenever a list that is shown should be read again."""

    stamp: int = 0
    waiting: int = 0
    working: int = 0
    needs_operator: int = 0
    held: str = ""


class ReadQueue(Struct, frozen=True, kw_only=True):
    """Answer: ``QueueView``."""

    limit: int = 500
    ended: bool = True
    task: TaskId | None = None
    """This one alone, in whatever state; none in the answer where there is none."""


class NewTask(Struct, frozen=True, kw_only=True):
    instruction: str
    repositories: tuple[str, ...]
    """More than one: a task for each, all or none."""
    title: str = ""
    paths: tuple[str, ...] = ()
    needs: tuple[TaskId | str, ...] = ()
    """A text names another task of the same order."""
    name: str = ""
    """By which others of the same order name it."""
    priority: int = 0
    wishes: Wishes = Wishes()


class AddTasks(Struct, frozen=True, kw_only=True):
    """All or none, in one transaction. Answer: ``TasksAdded`` or ``Refusal``."""

    tasks: tuple[NewTask, ...]


class TasksAdded(Struct, frozen=True, kw_only=True):
    tasks: tuple[TaskId, ...]


class EditTask(Struct, frozen=True, kw_only=True):
    """What is None stays. Answer: ``Done`` or ``Refusal``."""

    task: TaskId
    revision: int
    """Which was seen."""
    title: str | None = None
    instruction: str | None = None
    paths: tuple[str, ...] | None = None
    needs: tuple[TaskId, ...] | None = None
    priority: int | None = None
    wishes: Wishes | None = None


class ProposeSeries(Struct, frozen=True, kw_only=True):
    """Terms to show before they are agreed to. Answer: ``SeriesProposals``."""

    tasks: tuple[TaskId, ...]
    """(): all in line whose terms are not agreed to."""


class SeriesProposal(Struct, frozen=True, kw_only=True):
    terms: SeriesTerms
    title: str
    before: SeriesTerms | None = None
    """What was agreed to last, where that is stale or used up."""
    moved: tuple[str, ...] = ()
    """Names of the fields that differ from ``before``."""
    own_rules: tuple[str, ...] = ()
    caution: str = ""


class SeriesProposals(Struct, frozen=True, kw_only=True):
    proposals: tuple[SeriesProposal, ...]
    refused: tuple[tuple[TaskId, Refusal], ...] = ()


class SignSeries(Struct, frozen=True, kw_only=True):
    """The operator agreed to exactly these. All or none. Answer: ``Done`` or ``Refusal`` (``stale`` names the task)."""

    terms: tuple[SeriesTerms, ...]


class HoldTask(Struct, frozen=True, kw_only=True):
    task: TaskId
    held: bool


class HoldLine(Struct, frozen=True, kw_only=True):
    """The whole line, of every console on this ledger."""

    held: bool


class RetryTask(Struct, frozen=True, kw_only=True):
    """Failed, stopped, or needing the operator: in line again, its waits and counts as new."""

    task: TaskId


class AcceptTask(Struct, frozen=True, kw_only=True):
    """One that needs the operator is done as it stands."""

    task: TaskId


class RemoveTask(Struct, frozen=True, kw_only=True):
    """Out of the line. One of which there were attempts stays in the ledger, as stopped."""

    task: TaskId


class ReleaseAgent(Struct, frozen=True, kw_only=True):
    """The operator has seen to it: tasks of this agent are begun again."""

    agent: str


QueueCommand = (
    ReadQueue
    | AddTasks
    | EditTask
    | ProposeSeries
    | SignSeries
    | HoldTask
    | HoldLine
    | RetryTask
    | AcceptTask
    | RemoveTask
    | ReleaseAgent
)
