"""All that the session machine knows of a session: a working copy of what the ledger holds. Only ``machine.step``
makes new ones."""

from msgspec import Struct

from store.vocab import MicroUsd, TurnId, TurnResultKind, TurnSource


class InFlight(Struct, frozen=True, kw_only=True):
    id: TurnId
    source: TurnSource
    accepted: bool = False


class Limits(Struct, frozen=True, kw_only=True):
    budget: MicroUsd | None
    max_turns: int
    working_ms: int | None = None
    """For how long turns may run in all."""
    fence_at_budget: bool = False
    reports_cost: bool = True


class SessionState(Struct, frozen=True, kw_only=True):
    """All that the machine needs to decide. The ledger holds the same facts; this is their working copy."""

    limits: Limits
    ready: bool = False
    turns: tuple[InFlight, ...] = ()
    """Those in flight: at most one delivered turn, and perhaps one that the agent began."""
    cumulative: MicroUsd = MicroUsd(0)
    """The agent's own total at the last settlement of this generation."""
    uncounted: bool = False
    """A resumed process that has not told what it counts from: its first total says nothing of its first turn."""
    spent: MicroUsd = MicroUsd(0)
    largest: MicroUsd = MicroUsd(0)
    turns_used: int = 0
    queued: int = 0
    queue_held: bool = False
    parked: bool = False
    park_answers: int = 0
    """Answers to parks that wait for their turn."""
    repairs: int = 0
    finishing: bool = False
    interrupting: TurnId | None = None
    unwanted: int = 0
    """Turns that the agent began when it should not have."""
    concluding: bool = False
    fencing: str | None = None
    agent_gone: str | None = None
    last_result: TurnResultKind | None = None
    handoff: bool = False
    mailbox_due: bool = False
    """A turn ended well and its mailbox was not read yet: it is read when nothing is in flight any more."""
    unheard: bool = False
    """An interrupt was sent and not acknowledged yet: a turn written now might be the one that it hits."""
    paused: bool = False
    restarting: bool = False
    """The agent is being ended and started again under the same hold."""
    warned: bool = False
    worked_ms: int = 0
    """Working time, as last counted from the ledger."""
    warned_of_work: bool = False
    past_work: bool = False
    """Its working time was used up while a turn flew, and the operator was asked about it."""

    @property
    def at_budget(self) -> bool:
        return self._spent_up or self.turns_used >= self.limits.max_turns

    @property
    def _spent_up(self) -> bool:
        over_money = self.limits.budget is not None and self.spent >= self.limits.budget
        over_work = self.limits.working_ms is not None and self.worked_ms >= self.limits.working_ms
        return over_money or over_work

    @property
    def rules_answer(self) -> bool:
        """Whether a request of its turn may be answered without the operator: they are there, and nothing is over."""
        going = self.live and self.ready and bool(self.turns) and self.interrupting is None and not self.unheard
        return going and not self.paused and not self.parked and not self._spent_up

    @property
    def at_rest(self) -> bool:
        return not self.turns and not self.unheard

    @property
    def live(self) -> bool:
        going = self.fencing is None and not self.concluding and self.agent_gone is None
        return going and not self.restarting
