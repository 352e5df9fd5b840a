"""What the session machine wants done: *book* effects for the ledger, *act* effects for the world.

``books.py`` and ``deeds.py`` carry them out; nothing here decides when.
"""

from dataclasses import dataclass

from coordinator.drivers import base
from coordinator.ruling import Ruling
from store.vocab import AttentionKind, CostKnowledge, EndReason, FailureKind, MicroUsd, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class BookReady:
    event: base.SessionReady


@dataclass(frozen=True, slots=True, kw_only=True)
class BookLearned:
    native_id: str | None = None
    model: str | None = None
    mode: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BookAccepted:
    turn: TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class BookAgentTurn:
    turn: TurnId
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BookSettled:
    turn: TurnId
    result: base.TurnResult
    cost: MicroUsd | None
    known: CostKnowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class BookDecision:
    event: base.DecisionAsked
    turn: TurnId | None
    ruling: Ruling | None = None
    """It is answered with it, in the same transaction; the operator is not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BookRuled:
    """The answer of a standing rule, and the write that carries it: always behind its ``BookDecision``."""

    request: str
    by: str
    answer: str
    """As it is stored."""
    length: int
    digest: str
    """Of the bytes, keyed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BookWithdrawn:
    request: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BookResolved:
    event: base.DecisionResolved


@dataclass(frozen=True, slots=True, kw_only=True)
class BookAttention:
    kind: AttentionKind
    key: str
    text: str
    raised: bool = True


Book = (
    BookReady
    | BookLearned
    | BookAccepted
    | BookAgentTurn
    | BookSettled
    | BookDecision
    | BookRuled
    | BookWithdrawn
    | BookResolved
    | BookAttention
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendBrief:
    """The agent is ready: write turn 1, which the ledger has had since the proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMailbox:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRepair:
    problems: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkAsText:
    """The mailbox stayed malformed: put its raw text to the operator as a free question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendParkAnswers:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class SendQueued:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class SendInterrupt:
    background_too: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SendReply:
    id: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRuled:
    """The bytes of a standing rule's answer, which the ledger has."""

    request: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FailStart:
    """Whoever waits for the launch is told why there is none."""

    failure: FailureKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclude:
    reason: EndReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A settlement is in the books: take the driver's snapshot, renew the farewell, look at changed files."""


Act = (
    SendBrief
    | ReadMailbox
    | SendRepair
    | ParkAsText
    | SendParkAnswers
    | SendQueued
    | SendInterrupt
    | SendReply
    | SendRuled
    | FailStart
    | Conclude
    | Fence
    | Settled
)
Effect = Book | Act
BOOKS: tuple[type, ...] = (
    BookReady,
    BookLearned,
    BookAccepted,
    BookAgentTurn,
    BookSettled,
    BookDecision,
    BookRuled,
    BookWithdrawn,
    BookResolved,
    BookAttention,
)
