"""What the session machine is told: each input a small frozen value. What follows from one is ``machine.py``'s to
say."""

from dataclasses import dataclass

from coordinator.drivers import base
from coordinator.ruling import Ruling
from store.vocab import MicroUsd, TurnId, TurnSource


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecorded:
    id: TurnId
    source: TurnSource


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNotSent:
    """A recorded turn was cancelled with proof that no byte of it went."""

    id: TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSaid:
    event: base.AgentEvent
    new_turn: TurnId
    """An id for a turn of the agent's own, should this event begin one (ids come from outside)."""
    ruling: Ruling | None = None
    """What the standing rules say of a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentExited:
    how: str
    """Code or signal name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailboxRead:
    park: bool = False
    malformed: str = ""
    """The problems, in words; '' when there are none."""
    handoff: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairRefused:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChanged:
    waiting: int
    released: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkAnswered:
    waiting: int
    """Park answers that wait for a turn now."""
    open: bool
    """Another park is still open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptAsked:
    turn: TurnId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptHeard:
    """Acknowledged, or three seconds are over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptLate:
    """No result came in time after an interrupt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishAsked:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceAsked:
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttendanceChanged:
    """The operator has been away for too long, or is back."""

    paused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GraceOver:
    """Away, and the turn in flight has had its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartBegun:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """The next generation of the agent was started; it says later that it is ready, and what it counts from.

    What the old one had in flight (it can only have begun it by itself) ended with it."""

    lost: MicroUsd = MicroUsd(0)
    """What that is guessed to have cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineTold:
    cumulative: MicroUsd | None
    """What a resumed process counts as spent before its first turn; None: it does not say, or not yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    budget: MicroUsd | None
    max_turns: int
    working_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """The working time of the run, counted again from the ledger."""

    ms: int


Input = (
    TurnRecorded
    | TurnNotSent
    | AgentSaid
    | AgentExited
    | MailboxRead
    | RepairRefused
    | QueueChanged
    | ParkAnswered
    | InterruptAsked
    | InterruptHeard
    | InterruptLate
    | FinishAsked
    | FenceAsked
    | AttendanceChanged
    | GraceOver
    | RestartBegun
    | Restarted
    | BaselineTold
    | Extended
    | Worked
)
