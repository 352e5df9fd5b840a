"""What the session machine is told: each input a small frozen value. What follows from one is ``machine.py``'s to
say."""

from msgspec import Struct

from coordinator.drivers import base
from coordinator.ruling import Ruling
from store.vocab import MicroUsd, TurnId, TurnSource


class TurnRecorded(Struct, frozen=True, kw_only=True):
    id: TurnId
    source: TurnSource


class TurnNotSent(Struct, frozen=True, kw_only=True):
    """A recorded turn was cancelled with proof that no byte of it went."""

    id: TurnId


class AgentSaid(Struct, frozen=True, kw_only=True):
    event: base.AgentEvent
    new_turn: TurnId
    """An id for a turn of the agent's own, should this event begin one (ids come from outside)."""
    ruling: Ruling | None = None
    """What the standing rules say of a request."""


class AgentExited(Struct, frozen=True, kw_only=True):
    how: str
    """Code or signal name."""


class MailboxRead(Struct, frozen=True, kw_only=True):
    park: bool = False
    malformed: str = ""
    """The problems, in words; '' when there are none."""
    handoff: bool = False


class RepairRefused(Struct, frozen=True, kw_only=True):
    pass


class QueueChanged(Struct, frozen=True, kw_only=True):
    waiting: int
    released: bool = False


class ParkAnswered(Struct, frozen=True, kw_only=True):
    waiting: int
    """Park answers that wait for a turn now."""
    open: bool
    """Another park is still open."""


class InterruptAsked(Struct, frozen=True, kw_only=True):
    turn: TurnId | None


class InterruptHeard(Struct, frozen=True, kw_only=True):
    """Acknowledged, or three seconds are over."""


class InterruptLate(Struct, frozen=True, kw_only=True):
    """No result came in time after an interrupt."""


class FinishAsked(Struct, frozen=True, kw_only=True):
    pass


class FenceAsked(Struct, frozen=True, kw_only=True):
    reason: str


class AttendanceChanged(Struct, frozen=True, kw_only=True):
    """The operator has been away for too long, or is back."""

    paused: bool


class GraceOver(Struct, frozen=True, kw_only=True):
    """Away, and the turn in flight has had its time."""


class RestartBegun(Struct, frozen=True, kw_only=True):
    pass


class Restarted(Struct, frozen=True, kw_only=True):
    """The next generation of the agent was started; it says later that it is ready, and what it counts from.

    What the old one had in flight (it can only have begun it by itself) ended with it."""

    lost: MicroUsd = MicroUsd(0)
    """What that is guessed to have cost."""


class BaselineTold(Struct, frozen=True, kw_only=True):
    cumulative: MicroUsd | None
    """What a resumed process counts as spent before its first turn; None: it does not say, or not yet."""


class Extended(Struct, frozen=True, kw_only=True):
    budget: MicroUsd | None
    max_turns: int
    working_ms: int | None


class Worked(Struct, frozen=True, kw_only=True):
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
