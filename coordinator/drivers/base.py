"""What every driver is: bytes in, events out; commands in, bytes out. No I/O, no clock, no task.

The session machine knows only what stands here, so that one set of rules holds every kind of agent. A driver never
raises for what an agent prints: what it cannot read is an ``Unknown`` (kept whole), and broken framing is a
``ProtocolFault``.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct, field

from coordinator.drivers.asks import (
    Act as Act,
    ActKind as ActKind,
    Allow as Allow,
    Answer as Answer,
    Choice as Choice,
    Chosen as Chosen,
    DecisionAsked as DecisionAsked,
    DecisionResolved as DecisionResolved,
    DecisionWithdrawn as DecisionWithdrawn,
    Deny as Deny,
    Json as Json,
    Offer as Offer,
    OfferKind as OfferKind,
    Question as Question,
    QuestionReply as QuestionReply,
)
from coordinator.drivers.capabilities import Capabilities as Capabilities, CostBasis as CostBasis
from coordinator.prices import Prices, built_in
from store.vocab import FailureKind, ImageType, MicroUsd, TurnId, TurnResultKind

# ------------------------------------------------------------------------------------------------------------- events


class SessionReady(Struct, frozen=True, kw_only=True):
    """The agent answered its handshake. Comes once per process, again with what is learned later (``native_id``)."""

    native_id: str | None = None
    model: str | None = None
    mode: str | None = None
    version: str | None = None
    commands: tuple[tuple[str, str], ...] = ()
    """The agent's own slash commands: name without slash, description."""
    models: tuple[tuple[str, str], ...] = ()
    """Value to pass to set-model, name to show."""
    agent_pid: int | None = None
    signed_in: bool | None = None


class CannotStart(Struct, frozen=True, kw_only=True):
    """The agent answered its handshake with a no: signed out, no such model. The hold ends, with this as the reason."""

    failure: FailureKind
    text: str
    """What the agent said, in its own words."""


class ConversationChanged(Struct, frozen=True, kw_only=True):
    native_id: str


class ModeChanged(Struct, frozen=True, kw_only=True):
    mode: str


class ModelChanged(Struct, frozen=True, kw_only=True):
    model: str


class TurnAccepted(Struct, frozen=True, kw_only=True):
    turn: TurnId


class TurnBegunByAgent(Struct, frozen=True, kw_only=True):
    """The agent works though nobody's turn is in flight."""

    why: str
    """In a few words, e.g. ``background task ended``."""


class TextDelta(Struct, frozen=True, kw_only=True):
    block: str
    """Key of the block it belongs to: the same for all deltas and for the ``TextBlock`` that ends it."""
    text: str
    parent: str | None = None
    """Tool call id of the sub-agent that speaks, where one does."""


class TextBlock(Struct, frozen=True, kw_only=True):
    """A finished block of text; the only form in which text is kept in the ledger."""

    block: str
    text: str
    parent: str | None = None
    aborted: bool = False


class ThoughtDelta(Struct, frozen=True, kw_only=True):
    block: str
    text: str
    parent: str | None = None


class ThoughtBlock(Struct, frozen=True, kw_only=True):
    block: str
    text: str
    parent: str | None = None


class ToolStarted(Struct, frozen=True, kw_only=True):
    call: str
    name: str
    input: Json
    title: str
    """One line for a person: the command, the path."""
    parent: str | None = None


class ToolFinished(Struct, frozen=True, kw_only=True):
    call: str
    ok: bool
    output: str
    """What the tool gave back, as text; may be long."""
    detail: Json = field(default_factory=dict)
    """The agent's structured result where it gives one (patches, exit code), else empty."""
    parent: str | None = None


class PlanUpdated(Struct, frozen=True, kw_only=True):
    items: tuple[tuple[str, str], ...]
    """(state, text); state is ``pending``, ``active`` or ``done``."""


class BackgroundTask(Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    """``shell`` or ``agent``."""
    title: str
    state: str
    """``running``, ``done``, ``failed`` or ``stopped``."""


class BackgroundChanged(Struct, frozen=True, kw_only=True):
    """All background tasks known to be running, and those that ended since the last such event."""

    tasks: tuple[BackgroundTask, ...]


class ContextUsage(Struct, frozen=True, kw_only=True):
    used: int
    size: int | None
    """Tokens."""


class Compacted(Struct, frozen=True, kw_only=True):
    before: int | None = None
    after: int | None = None


class Usage(Struct, frozen=True, kw_only=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None


class LimitNotice(Struct, frozen=True, kw_only=True):
    status: str
    """``allowed``, ``warning`` or ``rejected``."""
    kind: str
    resets_at: int | None = None
    """Unix seconds."""
    used_fraction: float | None = None


class RetryNotice(Struct, frozen=True, kw_only=True):
    attempt: int
    of: int | None
    wait_seconds: float | None
    why: str


class Notice(Struct, frozen=True, kw_only=True):
    """Something the agent says that is no part of the conversation (a fallback model, a local command's output)."""

    text: str


class TurnResult(Struct, frozen=True, kw_only=True):
    turns: tuple[TurnId, ...]
    """The turns that it names; empty: it names none."""
    kind: TurnResultKind
    subtype: str
    """The agent's own word for how it ended."""
    cumulative: MicroUsd | None
    """Cost of this process so far; None where the agent did not tell. The machine takes the difference."""
    marginal: MicroUsd | None = None
    """The turn's own cost where the agent tells it itself; checked against the difference. Of an agent that does not
    report costs as a rule (``reports_cost`` is false) this is the cost that counts."""
    estimated: bool = False
    """``marginal`` is reckoned from tokens and a price table."""
    usage: Usage = Usage()
    duration_ms: int | None = None
    api_duration_ms: int | None = None
    text: str = ""
    failure: FailureKind | None = None
    failure_text: str = ""
    resets_at: int | None = None
    by_agent: bool = False
    """The agent says that it began this turn by itself."""
    context: ContextUsage | None = None


class ControlAcked(Struct, frozen=True, kw_only=True):
    """The agent answered a control write."""

    id: str
    ok: bool
    detail: Json = field(default_factory=dict)


class Idle(Struct, frozen=True, kw_only=True):
    """The agent says that it is at rest (only agents that say so)."""


class ScreenWaits(Struct, frozen=True, kw_only=True):
    """On a terminal: in the middle of a turn it is silent behind a line that looks like a question."""

    line: str
    """What stands there; empty: no longer."""


class Reply(Struct, frozen=True, kw_only=True):
    """Bytes that the driver must send by itself: the next step of the handshake, an error for an unknown request."""

    id: str
    """Made from what was read alone, never counted or drawn: when a console that takes over reads the same bytes again,
    it comes out the same, and the keeper sends nothing twice."""
    data: bytes
    why: str


class Stderr(Struct, frozen=True, kw_only=True):
    """What the agent printed on its error stream; made by the shell, kept like any other event."""

    text: str


class Unknown(Struct, frozen=True, kw_only=True):
    """A line that did not parse, or of no known type: kept whole."""

    raw: str


class ProtocolFault(Struct, frozen=True, kw_only=True):
    what: str


AgentEvent = (
    SessionReady
    | CannotStart
    | ConversationChanged
    | ModeChanged
    | ModelChanged
    | TurnAccepted
    | TurnBegunByAgent
    | TextDelta
    | TextBlock
    | ThoughtDelta
    | ThoughtBlock
    | ToolStarted
    | ToolFinished
    | PlanUpdated
    | BackgroundChanged
    | ContextUsage
    | Compacted
    | DecisionAsked
    | DecisionWithdrawn
    | DecisionResolved
    | LimitNotice
    | RetryNotice
    | Notice
    | TurnResult
    | ControlAcked
    | Idle
    | ScreenWaits
    | Reply
    | Stderr
    | Unknown
    | ProtocolFault
)

TERMINAL_SIZE: Final = (40, 120)
"""Rows and columns of an agent's terminal while nobody looks at it."""
TERMINAL_QUIET_MS: Final = 400
"""So long without output, and a terminal counts as silent."""

TRANSIENT: tuple[type, ...] = (TextDelta, ThoughtDelta, Idle, ScreenWaits, Reply)
"""Events that are shown or acted on and not kept: their content comes again in a finished form."""


class Start(Struct, frozen=True, kw_only=True):
    """What a driver needs to say how its agent is started."""

    program: str
    """Absolute path of the native binary."""
    session: str
    """uuid4 for a new conversation, the native id for one that is resumed."""
    cwd: str = ""
    """Absolute path of the tree it works in; some protocols name it."""
    agent: str = ""
    """The profile's name: one driver may know more of some agents than of others."""
    resume: bool = False
    fork: bool = False
    model: str | None = None
    mode: str | None = None
    cap: MicroUsd | None = None
    """The least remaining money, for agents with a cap of their own."""
    extra_args: tuple[str, ...] = ()
    prices: Prices = field(default_factory=built_in)
    """For an agent that tells tokens and no money."""
    prompt: str = ""
    """On a terminal: pattern of what stands before the cursor when it waits for input; empty: silence alone tells."""
    quit: str = ""
    """On a terminal: what ends it well; empty: the end of its input."""


class ControlWrite(Struct, frozen=True, kw_only=True):
    """Bytes that are neither turn nor answer, with the id under which the supervisor writes them at most once."""

    id: str
    data: bytes
    heard_as: str = ""
    """Id of the ``ControlAcked`` that shows it was heard, where that is another: what a driver says must come from the
    agent's bytes alone, and some protocols answer no such write by its own name."""


class Image(Struct, frozen=True, kw_only=True):
    """What goes with a turn's text. The same images under the same id make the same bytes."""

    name: str
    """As the operator wrote it; no part of what is sent."""
    media_type: ImageType
    data: bytes


class Driver(Protocol):
    """One agent's protocol. An instance follows one process (one generation) from its first byte to its last."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do, as far as that is known: a driver of many agents knows more once it is told which."""
        ...

    def argv(self, start: Start) -> Sequence[str]:
        """The command line. Always called first, also for a process that runs already (a console that takes it over):
        whatever of ``start`` is needed later, the driver remembers."""
        ...

    def environment(self) -> tuple[Mapping[str, str], frozenset[str]]:
        """Variables to set, and names never to inherit, beyond what every hold filters."""
        ...

    def opening(self) -> Sequence[ControlWrite]:
        """The handshake: what must go before the first turn, the mode in which a person is asked included.

        What can be said only after an answer comes out of ``feed`` as a ``Reply``; ``SessionReady`` comes when all of
        it is done."""
        ...

    def feed(self, data: bytes) -> Sequence[AgentEvent]:
        """Take the next bytes of the agent's stdout, cut anywhere."""
        ...

    def quiet(self) -> Sequence[AgentEvent]:
        """Its terminal has been silent for the time that was asked for. Nothing for agents that speak a protocol."""
        ...

    def feed_end(self) -> Sequence[AgentEvent]:
        """The stream ended: what is left of a half line comes out as ``Unknown``."""
        ...

    def turn(self, turn: TurnId, text: str, images: Sequence[Image] = ()) -> bytes:
        """The message, the same bytes whenever it is asked for: the brief's are in the ledger before the agent is."""
        ...

    def addressed(self, data: bytes) -> bytes:
        """A turn's bytes as they go out: with what only the agent could say put in, its own name for the conversation.

        Called once the agent is ready, for that turn alone."""
        ...

    def answer(self, request: str, answer: Answer) -> bytes: ...

    def never_went(self, name: str) -> None:
        """The turn of this id, or the answer to this request, was made and did not go, nor ever will: it is as if it
        had not been made. Else what the agent says next would be taken for its effect."""
        ...

    def interrupt(self) -> ControlWrite: ...

    def stop_background(self) -> Sequence[ControlWrite]:
        """End the tasks that the agent leaves running, by its own call."""
        ...

    def set_mode(self, mode: str) -> ControlWrite: ...

    def set_model(self, model: str) -> ControlWrite: ...

    def farewell(self) -> bytes:
        """What ends this agent well just now: open requests answered as cancelled, then its own end."""
        ...

    def ask_cost(self) -> ControlWrite:
        """Ask a resumed process what it counts from; the ``ControlAcked`` of this id has it (``cost_told``)."""
        ...

    def cost_told(self, acked: ControlAcked) -> MicroUsd | None:
        """The baseline in that answer; None where it is not told."""
        ...

    def slash(self, text: str) -> str | None:
        """The agent's own command that this text would run, or None. Pure look-up in what ``SessionReady`` told."""
        ...

    def snapshot(self) -> bytes:
        """State enough to go on from here after a restart of the console."""
        ...

    def restore(self, state: bytes) -> None: ...


@runtime_checkable
class TerminalDriver(Driver, Protocol):
    """Of an agent on a pseudo-terminal. Its stream says nothing of what was sent when, so the keeper's records do."""

    def sending(self, write: str) -> None:
        """The first byte of that write (a turn, an interrupt, keys) goes now: what was read before is older than it."""
        ...

    def resized(self, rows: int, columns: int) -> None:
        """What is read from here on is laid out for these."""
        ...

    def screen(self) -> bytes:
        """What draws the text that stands on its terminal: for a screen that begins to look in the middle."""
        ...
