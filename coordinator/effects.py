"""What the session machine wants done: *book* effects for the ledger, *act* effects for the world.

``books.py`` and ``deeds.py`` carry them out; nothing here decides when.
"""

from msgspec import Struct

from coordinator.drivers import base
from coordinator.ruling import Ruling
from store.vocab import AttentionKind, CostKnowledge, EndReason, FailureKind, MicroUsd, TurnId


class BookReady(Struct, frozen=True, kw_only=True):
    event: base.SessionReady


class BookLearned(Struct, frozen=True, kw_only=True):
    native_id: str | None = None
    model: str | None = None
    mode: str | None = None


class BookAccepted(Struct, frozen=True, kw_only=True):
    turn: TurnId


class BookAgentTurn(Struct, frozen=True, kw_only=True):
    turn: TurnId
    why: str


class BookSettled(Struct, frozen=True, kw_only=True):
    turn: TurnId
    result: base.TurnResult
    cost: MicroUsd | None
    known: CostKnowledge


class BookDecision(Struct, frozen=True, kw_only=True):
    event: base.DecisionAsked
    turn: TurnId | None
    ruling: Ruling | None = None
    """It is answered with it, in the same transaction; the operator is not asked."""


class BookRuled(Struct, frozen=True, kw_only=True):
    """The answer of a standing rule, and the write that carries it: always behind its ``BookDecision``."""

    request: str
    by: str
    answer: str
    """As it is stored."""
    length: int
    digest: str
    """Of the bytes, keyed."""


class BookWithdrawn(Struct, frozen=True, kw_only=True):
    request: str
    why: str


class BookResolved(Struct, frozen=True, kw_only=True):
    event: base.DecisionResolved


class BookAttention(Struct, frozen=True, kw_only=True):
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


class SendBrief(Struct, frozen=True, kw_only=True):
    """The agent is ready: write turn 1, which the ledger has had since the proof."""


class ReadMailbox(Struct, frozen=True, kw_only=True):
    pass


class SendRepair(Struct, frozen=True, kw_only=True):
    problems: str


class ParkAsText(Struct, frozen=True, kw_only=True):
    """The mailbox stayed malformed: put its raw text to the operator as a free question."""


class SendParkAnswers(Struct, frozen=True, kw_only=True):
    pass


class SendQueued(Struct, frozen=True, kw_only=True):
    pass


class SendInterrupt(Struct, frozen=True, kw_only=True):
    background_too: bool = True


class SendReply(Struct, frozen=True, kw_only=True):
    id: str
    data: bytes


class SendRuled(Struct, frozen=True, kw_only=True):
    """The bytes of a standing rule's answer, which the ledger has."""

    request: str
    data: bytes


class FailStart(Struct, frozen=True, kw_only=True):
    """Whoever waits for the launch is told why there is none."""

    failure: FailureKind
    text: str


class Conclude(Struct, frozen=True, kw_only=True):
    reason: EndReason


class Fence(Struct, frozen=True, kw_only=True):
    reason: str


class Settled(Struct, frozen=True, kw_only=True):
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
