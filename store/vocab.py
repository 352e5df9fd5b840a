"""The words that are on disk: every enum whose values the ledger keeps, and the typed ids.

They live here, below everything, because the store's guarded updates, the state tables, the drivers and both front ends
must spell a state the same way. Nothing that decides belongs in this file; a value, once released, is never renamed.
"""

from enum import StrEnum
from typing import NewType

RunId = NewType("RunId", int)
"""A run's number in its ledger: small, shown to the operator, never reused."""
AuthorizationId = NewType("AuthorizationId", str)
CustodyId = NewType("CustodyId", str)
"""Random text; also the name of the run's spool folder, so that a restored ledger never meets another run's spool."""
TurnId = NewType("TurnId", str)
"""A uuid4 in text; agents that take an id for a message get this one."""
DecisionId = NewType("DecisionId", int)
IncarnationId = NewType("IncarnationId", str)
MicroUsd = NewType("MicroUsd", int)
"""Money in whole millionths of a US dollar."""
Millis = NewType("Millis", int)
"""Milliseconds since the Unix epoch, UTC."""


TaskId = NewType("TaskId", int)
"""A task's number in its ledger: small, shown to the operator, never reused."""
SeriesId = NewType("SeriesId", str)
OperationId = NewType("OperationId", str)


class TaskState(StrEnum):
    QUEUED = "queued"
    WORKING = "working"
    NEEDS_OPERATOR = "needs-operator"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


class SeriesState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


class OperationState(StrEnum):
    """One try to claim a task, from before the claim to the run that it led to."""

    BEGUN = "begun"
    CLAIMED = "claimed"
    NOTHING = "nothing"
    """There was nothing to claim."""
    ADMITTED = "admitted"
    """Its run is in the ledger."""
    RETIRED = "retired"
    """The claim was given up, or the task was no longer this claim's."""
    CANCELLED = "cancelled"
    """Its console went before it claimed anything."""


class OutcomeState(StrEnum):
    """How the end of a task's run is dealt with: known, decided on, carried out."""

    PENDING = "pending"
    DECIDED = "decided"
    ACKNOWLEDGED = "acknowledged"


class RunOutcome(StrEnum):
    FINISHED = "finished"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    REFUSED = "refused"


class CustodyState(StrEnum):
    PROPOSED = "proposed"
    OPEN = "open"
    RESTARTING = "restarting"
    CONCLUDING = "concluding"
    FENCING = "fencing"
    CLOSED = "closed"


class AuthorizationState(StrEnum):
    OPEN = "open"
    BOUND = "bound"
    CLOSED = "closed"


class TurnState(StrEnum):
    RECORDED = "recorded"
    WRITTEN = "written"
    ACCEPTED = "accepted"
    SETTLED = "settled"
    CANCELLED = "cancelled"
    UNCERTAIN = "uncertain"


class TurnSource(StrEnum):
    BRIEF = "brief"
    OPERATOR = "operator"
    ANSWER = "answer"
    REPAIR = "repair"
    AGENT = "agent"


class TurnResultKind(StrEnum):
    SUCCESS = "success"
    ERROR = "error"
    INTERRUPTED = "interrupted"


class CostKnowledge(StrEnum):
    """How a turn's cost is known: told by the agent, guessed at a kill, merged into another turn, or not at all."""

    REPORTED = "reported"
    GUESS = "guess"
    MERGED = "merged"
    UNKNOWN = "unknown"


class QueuedTurnState(StrEnum):
    WAITING = "waiting"
    RECORDED = "recorded"
    WITHDRAWN = "withdrawn"
    UNSENT = "unsent"


class DecisionState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    DELIVERING = "delivering"
    DELIVERED = "delivered"
    UNCERTAIN = "uncertain"
    UNDELIVERED = "undelivered"
    WITHDRAWN = "withdrawn"
    REFUSED_BY_AGENT = "refused-by-agent"
    DISMISSED = "dismissed"


class DecisionKind(StrEnum):
    PERMISSION = "permission"
    QUESTION = "question"
    PLAN = "plan"
    PARK = "park"


class ControlWriteState(StrEnum):
    ASKED = "asked"
    WRITING = "writing"
    WROTE = "wrote"
    CANCELLED = "cancelled"
    FAILED = "failed"


class StopState(StrEnum):
    ASKED = "asked"
    ORDERED = "ordered"
    SETTLED = "settled"


class StopResult(StrEnum):
    HELD = "held"
    ALREADY_ENDED = "already-ended"
    FORCED = "forced"
    NEVER_STARTED = "never-started"
    UNREACHABLE = "unreachable"


class CommandState(StrEnum):
    ASKED = "asked"
    TAKEN = "taken"
    DONE = "done"
    REFUSED = "refused"
    EXPIRED = "expired"


class CommandVerb(StrEnum):
    SAY = "say"
    ANSWER = "answer"
    INTERRUPT = "interrupt"
    STOP = "stop"
    STOP_ALL = "stop-all"
    FINISH = "finish"
    EXTEND = "extend"
    REVOKE = "revoke"


class AttentionKind(StrEnum):
    DECISION = "decision"
    STALLED = "stalled"
    BUDGET = "budget"
    ENDS_SOON = "ends-soon"
    CRASHED = "crashed"
    PAGE = "page"
    TASK = "task"
    """About a task of the queue; the key begins with its number."""


class EndReason(StrEnum):
    """Why a hold ended. ``exited`` carries the code or signal behind a colon: ``exited:1``, ``exited:SIGKILL``.

    ``protocol-error`` may carry what it was: ``protocol-error:unasked-turn``, ``protocol-error:conversation-of-3``.
    ``spawn-failed`` carries a ``FailureKind`` where the agent itself refused to begin: ``spawn-failed:authentication``.
    """

    STOPPED = "stopped"
    KILLED = "killed"
    REVOKED = "revoked"
    EXPIRED = "expired"
    LAPSED = "lapsed"
    TURN_TIMEOUT = "turn-timeout"
    SUPERSEDED = "superseded"
    SPAWN_FAILED = "spawn-failed"
    START_TIMEOUT = "start-timeout"
    WRITE_FAILED = "write-failed"
    TELEMETRY = "telemetry"
    BUDGET_EXHAUSTED = "budget-exhausted"
    MALFORMED_DECISION = "malformed-decision"
    PROTOCOL_ERROR = "protocol-error"
    OUTPUT_FLOOD = "output-flood"
    EXITED = "exited"
    SHUTDOWN = "shutdown"
    CONSOLE_LOST = "console-lost"
    SUPERVISOR_LOST = "supervisor-lost"
    ORPHANED = "orphaned"
    STORAGE = "storage"
    RESTORED = "restored"
    HANDOFF = "handoff"
    FINISHED = "finished"
    AT_REST = "at-rest"
    """An attempt at a task whose agent had ended its turn, with nothing asked and nothing more to be said; carries the
    ``FailureKind`` of a turn that went wrong."""
    IMPORTED = "imported"
    """Never held here: read in from what the agent itself had kept."""


class FailureKind(StrEnum):
    AUTHENTICATION = "authentication"
    BILLING = "billing"
    RATE_LIMITED = "rate-limited"
    OVERLOADED = "overloaded"
    TRANSIENT = "transient"
    BUDGET = "budget"
    MAX_TURNS = "max-turns"
    CONTEXT_FULL = "context-full"
    MODEL_NOT_FOUND = "model-not-found"
    REFUSED = "refused"
    NOT_INSTALLED = "not-installed"
    UNKNOWN = "unknown"


class Billing(StrEnum):
    KEY = "key"
    SUBSCRIPTION = "subscription"
    PRACTICE = "practice"
    """The practice agent: its costs are play money and never count in a day's spend."""


class EvidenceKind(StrEnum):
    MAILBOX = "mailbox"
    HANDOFF = "handoff"
    DIFF = "diff"
    STATUS = "status"
    GIT_CONFIG = "git-config"
    FILES = "files"
    """Changed files, each with the hash of its content."""
    CHECK = "check"
    """What a check printed that ran after the agent had said that it is finished; the note says how it ended."""


class ImageType(StrEnum):
    """Kinds of image that an agent is sent, by the name that they go under."""

    PNG = "image/png"
    JPEG = "image/jpeg"
    GIF = "image/gif"
    WEBP = "image/webp"


class RefusalReason(StrEnum):
    """Every expected *no*, in one list; ``app.wording`` has a sentence for each (a test holds them together)."""

    # admission and final proof, in the order in which they are looked at
    STOPPED = "stopped"
    SHUTTING_DOWN = "shutting-down"
    UNTRIED_PLATFORM = "untried-platform"
    SOCKET_PATH = "socket-path"
    AUTHORIZATION_CLOSED = "authorization-closed"
    AUTHORIZATION_UNBOUND = "authorization-unbound"
    AUTHORIZATION_SPENT = "authorization-spent"
    TERMS_UNREADABLE = "terms-unreadable"
    TERMS_MOVED = "terms-moved"
    WRONG_RUNNER = "wrong-runner"
    SESSION_CAP = "session-cap"
    ALREADY_HELD = "already-held"
    TREE_HELD = "tree-held"
    FENCED = "fenced"
    # a turn
    NO_HELD_SESSION = "no-held-session"
    FENCING = "fencing"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    PAUSED = "paused"
    IN_FLIGHT = "in-flight"
    DECISION_OPEN = "decision-open"
    TURN_CAP = "turn-cap"
    BUDGET_EXHAUSTED = "budget-exhausted"
    POOL_EXHAUSTED = "pool-exhausted"
    ALREADY_DELIVERED = "already-delivered"
    REPAIR_EXHAUSTED = "repair-exhausted"
    EMPTY_TURN = "empty-turn"
    TURN_TOO_LARGE = "turn-too-large"
    IMAGE_UNFIT = "image-unfit"
    TOO_MANY_IMAGES = "too-many-images"
    # a decision
    STALE = "stale"
    NO_SUCH_DECISION = "no-such-decision"
    ALREADY_ANSWERED = "already-answered"
    UNANSWERED_QUESTIONS = "unanswered-questions"
    NOT_AN_OPTION = "not-an-option"
    RULE_INVALID = "rule-invalid"
    # controls
    NOTHING_TO_INTERRUPT = "nothing-to-interrupt"
    NO_SUCH_RUN = "no-such-run"
    ALREADY_ENDED = "already-ended"
    NEVER_STARTED = "never-started"
    NOT_POSSIBLE_FOR_AGENT = "not-possible-for-agent"
    STILL_HELD = "still-held"
    """It has not ended, so nothing goes on from it."""
    OWNED_BY_ANOTHER = "owned-by-another"
    NO_OWNER = "no-owner"
    INSIDE_A_HOLD = "inside-a-hold"
    # starting
    NOT_A_REPOSITORY = "not-a-repository"
    NO_COMMIT = "no-commit"
    MAILBOX_PRESENT = "mailbox-present"
    AGENT_NOT_FOUND = "agent-not-found"
    AGENT_SIGNED_OUT = "agent-signed-out"
    ACCOUNT_SHARED = "account-shared"
    """Its account renews its tokens in one place, and cannot be in a home of the run's own."""
    AGENT_VERSION = "agent-version"
    UNKNOWN_AGENT = "unknown-agent"
    GIT_FAILED = "git-failed"
    SPAWN_FAILED = "spawn-failed"
    START_TIMEOUT = "start-timeout"
    SETUP_FAILED = "setup-failed"
    # a run's tree, once it has ended
    NO_CHECKS = "no-checks"
    """Neither its terms nor the configuration name any for it."""
    NO_TREE_OF_ITS_OWN = "no-tree-of-its-own"
    TREE_GONE = "tree-gone"
    TREE_BUSY = "tree-busy"
    """Something is half made in it, or a lock is left there."""
    TARGET_DIRTY = "target-dirty"
    NO_BRANCH = "no-branch"
    NOTHING_TO_LAND = "nothing-to-land"
    CONFLICTS = "conflicts"
    NOT_OURS_TO_WRITE = "not-ours-to-write"
    """Files that git stores by a program of the repository's choice, or repositories within it."""
    HAS_MERGES = "has-merges"
    IGNORED_FILES = "ignored-files"
    BRANCH_IN_USE = "branch-in-use"
    NOT_DISCARDED = "not-discarded"
    ALREADY_DISCARDED = "already-discarded"
    # the queue
    NO_SUCH_TASK = "no-such-task"
    TASK_WORKING = "task-working"
    """An agent is at it just now."""
    TASK_OVER = "task-over"
    """Done, and what was asked is not possible any more."""
    TASK_NOT_OVER = "task-not-over"
    """To be tried again it must have failed, been stopped, or need the operator."""
    TASK_NEEDED = "task-needed"
    """Other tasks wait for it."""
    DEPENDENCY_CYCLE = "dependency-cycle"
    PATH_OUTSIDE = "path-outside"
    QUEUE_FILE_INVALID = "queue-file-invalid"
    NOTHING_TO_SIGN = "nothing-to-sign"
    SERIES_SPENT = "series-spent"
    """Attempts, money or time of what was agreed to are used up."""
    # reviewing
    FILTER_INVALID = "filter-invalid"
    # files
    CONFIG_INVALID = "config-invalid"
    LEDGER_NEWER = "ledger-newer"
    LEDGER_UNREADABLE = "ledger-unreadable"
    LEDGER_BUSY = "ledger-busy"
    NETWORK_FILE_SYSTEM = "network-file-system"
    STORAGE = "storage"
