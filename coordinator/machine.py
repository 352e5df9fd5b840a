"""The session machine: what a held session does next, decided without I/O.

``step(state, input)`` gives the next state and the effects. Effects are of two kinds: *book* effects go into the
ledger, all those of one batch of the agent's output in one transaction with the batch's events; *act* effects touch
the world and are carried out after that transaction. Nothing else decides what a session does; the shell
(``session.py``) only carries out.
"""

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from coordinator.constants import REPAIRS_IN_A_ROW
from coordinator.drivers import base
from coordinator.effects import (
    BOOKS as BOOKS,
    Act as Act,
    Book as Book,
    BookAccepted as BookAccepted,
    BookAgentTurn as BookAgentTurn,
    BookAttention as BookAttention,
    BookDecision as BookDecision,
    BookLearned as BookLearned,
    BookReady as BookReady,
    BookResolved as BookResolved,
    BookRuled as BookRuled,
    BookSettled as BookSettled,
    BookWithdrawn as BookWithdrawn,
    Conclude as Conclude,
    Effect as Effect,
    FailStart as FailStart,
    Fence as Fence,
    ParkAsText as ParkAsText,
    ReadMailbox as ReadMailbox,
    SendBrief as SendBrief,
    SendInterrupt as SendInterrupt,
    SendParkAnswers as SendParkAnswers,
    SendQueued as SendQueued,
    SendRepair as SendRepair,
    SendReply as SendReply,
    SendRuled as SendRuled,
    Settled as Settled,
)
from coordinator.inputs import (
    AgentExited as AgentExited,
    AgentSaid as AgentSaid,
    AttendanceChanged as AttendanceChanged,
    BaselineTold as BaselineTold,
    Extended as Extended,
    FenceAsked as FenceAsked,
    FinishAsked as FinishAsked,
    GraceOver as GraceOver,
    Input as Input,
    InterruptAsked as InterruptAsked,
    InterruptHeard as InterruptHeard,
    InterruptLate as InterruptLate,
    MailboxRead as MailboxRead,
    ParkAnswered as ParkAnswered,
    QueueChanged as QueueChanged,
    RepairRefused as RepairRefused,
    RestartBegun as RestartBegun,
    Restarted as Restarted,
    TurnNotSent as TurnNotSent,
    TurnRecorded as TurnRecorded,
    Worked as Worked,
)
from coordinator.sessionstate import InFlight as InFlight, Limits as Limits, SessionState as SessionState
from store.vocab import (
    AttentionKind,
    CostKnowledge,
    EndReason,
    FailureKind,
    MicroUsd,
    TurnId,
    TurnResultKind,
    TurnSource,
)

UNASKED = f"{EndReason.PROTOCOL_ERROR}:unasked-turn"
"""It went on working by itself while its own question waited for the operator, and was interrupted for it before."""


class _Step(Struct):
    """One step in the making: the state so far and the effects so far."""

    state: SessionState
    effects: list[Effect] = field(default_factory=list)

    def to(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)

    def out(self, *effects: Effect) -> None:
        self.effects.extend(effects)
        if any(isinstance(effect, SendInterrupt) for effect in effects):
            self.to(unheard=True)


def step(state: SessionState, given: Input) -> tuple[SessionState, Sequence[Effect]]:
    """The next state, and what is to be done, in order."""
    s = _Step(state)
    match given:
        case TurnRecorded():
            s.to(turns=(*state.turns, InFlight(id=given.id, source=given.source)), turns_used=state.turns_used + 1)
            # A handoff from before it no longer says that the work is done; and nothing stands in the way of turns now.
            s.to(handoff=False, unwanted=0)
        case TurnNotSent():
            _not_sent(s, given.id)
        case AgentSaid():
            _agent_said(s, given)
        case AgentExited():
            _agent_exited(s, given.how)
        case MailboxRead():
            _mailbox_read(s, given)
        case RepairRefused():
            s.to(parked=True, repairs=0)
            s.out(ParkAsText())
        case QueueChanged():
            s.to(queued=given.waiting, queue_held=state.queue_held and not given.released and given.waiting > 0)
            _next(s)
        case ParkAnswered():
            s.to(park_answers=given.waiting, parked=given.open)
            _next(s)
        case InterruptAsked():
            _interrupt(s, given)
        case InterruptHeard():
            if state.unheard:
                s.to(unheard=False)
                if state.mailbox_due and s.state.at_rest and s.state.live:
                    s.out(ReadMailbox())
                else:
                    _next(s)
        case InterruptLate():
            if state.interrupting is not None and state.live:
                text = "did not stop its turn within 10 s; stop it, or wait"
                s.out(BookAttention(kind=AttentionKind.STALLED, key="interrupt", text=text))
        case FinishAsked():
            _finish(s)
        case FenceAsked():
            _fence(s, given.reason)
        case AttendanceChanged():
            s.to(paused=given.paused)
            if not given.paused:
                s.to(unwanted=0)
                _next(s)
        case GraceOver():
            if state.paused and state.turns and state.ready and state.live and state.interrupting is None:
                s.to(interrupting=state.turns[0].id, queue_held=state.queued > 0)
                s.out(SendInterrupt(background_too=True))
        case RestartBegun():
            s.to(restarting=True)
        case Restarted():
            s.to(restarting=False, ready=False, agent_gone=None, cumulative=MicroUsd(0), turns=(), unheard=False)
            s.to(interrupting=None, spent=MicroUsd(state.spent + given.lost))
            _no_longer_past_work(s)
        case BaselineTold():
            s.to(cumulative=given.cumulative or MicroUsd(0), uncounted=given.cumulative is None)
        case Extended():
            _extended(s, given)
        case Worked():
            _worked(s, given.ms)
    return s.state, s.effects


def _extended(s: _Step, given: Extended) -> None:
    limits = replace(s.state.limits, budget=given.budget, max_turns=given.max_turns, working_ms=given.working_ms)
    s.to(limits=limits, warned=False, warned_of_work=False, past_work=False, unwanted=0)
    for key in ("budget", "warning", "working", "work-warning"):
        s.out(BookAttention(kind=AttentionKind.BUDGET, key=key, text="", raised=False))
    _next(s)


def _worked(s: _Step, ms: int) -> None:
    """Working time went on, and nothing else did. Where a hard end was asked for, it comes in the middle of a turn."""
    held_before = s.state.at_budget
    s.to(worked_ms=ms)
    limit = s.state.limits.working_ms
    if limit is None or not s.state.live:
        return
    if ms < limit:
        if ms * 10 >= limit * 8 and not s.state.warned_of_work:
            s.to(warned_of_work=True)
            text = "has used 80 % of its working time"
            s.out(BookAttention(kind=AttentionKind.BUDGET, key="work-warning", text=text))
    elif s.state.limits.fence_at_budget:
        _fence(s, EndReason.BUDGET_EXHAUSTED)
    elif s.state.turns:
        if not s.state.past_work:
            s.to(past_work=True)
            text = "has used its working time: interrupt it, extend it, or let its turn end"
            s.out(BookAttention(kind=AttentionKind.BUDGET, key="working", text=text))
    elif not held_before:
        _next(s)


def _no_longer_past_work(s: _Step) -> None:
    """With its turn over it holds like any other."""
    if s.state.past_work and not s.state.turns:
        s.to(past_work=False)
        s.out(BookAttention(kind=AttentionKind.BUDGET, key="working", text="", raised=False))


def _fence(s: _Step, reason: str) -> None:
    if s.state.fencing is None:
        s.to(fencing=reason)
        s.out(Fence(reason=reason))


def _not_sent(s: _Step, turn: TurnId) -> None:
    left = tuple(t for t in s.state.turns if t.id != turn)
    if len(left) == len(s.state.turns):
        return
    s.to(turns=left, turns_used=max(0, s.state.turns_used - 1))
    if s.state.interrupting == turn:
        s.to(interrupting=None)
    _no_longer_past_work(s)
    _next(s)


def _delivered_in_flight(state: SessionState) -> InFlight | None:
    return next((turn for turn in state.turns if turn.source is not TurnSource.AGENT), None)


def _agent_said(s: _Step, given: AgentSaid) -> None:
    event = given.event
    match event:
        case base.SessionReady():
            first = not s.state.ready
            s.to(ready=True)
            s.out(BookReady(event=event))
            if first and s.state.live:
                # Not again when a later process of the same run is ready.
                if any(t.source is TurnSource.BRIEF and not t.accepted for t in s.state.turns):
                    s.out(SendBrief())
                _next(s)
        case base.ConversationChanged():
            s.out(BookLearned(native_id=event.native_id))
        case base.ModeChanged():
            s.out(BookLearned(mode=event.mode))
        case base.ModelChanged():
            s.out(BookLearned(model=event.model))
        case base.TurnAccepted():
            _accepted(s, event.turn)
        case base.TurnBegunByAgent():
            _begun_by_agent(s, given.new_turn, event.why)
        case base.TurnResult():
            _result(s, event, given.new_turn)
        case base.DecisionAsked():
            turn = _delivered_in_flight(s.state) or (s.state.turns[0] if s.state.turns else None)
            ruling = given.ruling if s.state.rules_answer else None
            s.out(BookDecision(event=event, turn=turn.id if turn else None, ruling=ruling))
        case base.DecisionWithdrawn():
            s.out(BookWithdrawn(request=event.request, why=event.why))
        case base.DecisionResolved():
            s.out(BookResolved(event=event))
        case base.Reply():
            if s.state.live:
                s.out(SendReply(id=event.id, data=event.data))
        case base.ScreenWaits():
            text = f"may ask on its own screen (T shows it): {event.line}"
            s.out(BookAttention(kind=AttentionKind.STALLED, key="screen", text=text, raised=bool(event.line)))
        case base.ProtocolFault():
            _fence(s, EndReason.PROTOCOL_ERROR)
        case base.CannotStart():
            if not s.state.ready:
                s.out(FailStart(failure=event.failure, text=event.text))
                _fence(s, f"{EndReason.SPAWN_FAILED}:{event.failure}")
        case _:
            pass


def _accepted(s: _Step, turn: TurnId) -> None:
    if any(t.id == turn and not t.accepted for t in s.state.turns):
        s.to(turns=tuple(replace(t, accepted=True) if t.id == turn else t for t in s.state.turns))
        s.out(BookAccepted(turn=turn))


def _begun_by_agent(s: _Step, turn: TurnId, why: str) -> None:
    if any(t.source is TurnSource.AGENT for t in s.state.turns):
        return
    past_limit = s.state.at_budget
    s.to(
        turns=(*s.state.turns, InFlight(id=turn, source=TurnSource.AGENT, accepted=True)),
        turns_used=s.state.turns_used + 1,
    )
    s.out(BookAgentTurn(turn=turn, why=why))
    # It spends, and nobody asked: where no turn would be delivered, it is not let run either.
    if s.state.live and (s.state.paused or s.state.parked or past_limit):
        s.to(unwanted=s.state.unwanted + 1)
        if s.state.unwanted > 1:
            # An open question is no lapse: the operator may well be there, and the agent was told to wait.
            away = EndReason.LAPSED if s.state.paused else UNASKED
            _fence(s, EndReason.BUDGET_EXHAUSTED if past_limit else away)
        else:
            s.out(SendInterrupt(background_too=True))


def _result(s: _Step, result: base.TurnResult, new_turn: TurnId) -> None:
    in_flight = s.state.turns
    named = [t for t in in_flight if t.id in result.turns]
    if not named:
        own = [t for t in in_flight if t.source is TurnSource.AGENT]
        # One that names turns which are over (told twice, or late) is no result of another turn that flies meanwhile.
        named = own if result.turns or (result.by_agent and own) else list(in_flight)
    if not named or (result.by_agent and all(t.source is not TurnSource.AGENT for t in named) and not result.turns):
        s.out(BookAgentTurn(turn=new_turn, why="by itself"))
        s.to(turns_used=s.state.turns_used + 1)
        named = [InFlight(id=new_turn, source=TurnSource.AGENT, accepted=True)]
    cost, known, fault = _cost(s.state, result)
    if result.cumulative is not None and not fault:
        s.to(cumulative=result.cumulative, uncounted=False)
    if cost is not None:
        s.to(spent=MicroUsd(s.state.spent + cost), largest=MicroUsd(max(s.state.largest, cost)))
    for place, turn in enumerate(named):
        if place == 0:
            s.out(BookSettled(turn=turn.id, result=result, cost=cost, known=known))
        else:
            s.out(BookSettled(turn=turn.id, result=result, cost=MicroUsd(0), known=CostKnowledge.MERGED))
    ids = {turn.id for turn in named}
    was_interrupting = s.state.interrupting is not None
    s.to(
        turns=tuple(t for t in in_flight if t.id not in ids),
        last_result=result.kind,
        interrupting=None if s.state.interrupting in ids else s.state.interrupting,
        queue_held=s.state.queue_held or (was_interrupting and s.state.queued > 0),
    )
    if was_interrupting and s.state.interrupting is None:
        s.out(BookAttention(kind=AttentionKind.STALLED, key="interrupt", text="", raised=False))
    _no_longer_past_work(s)
    s.out(Settled())
    if fault:
        _fence(s, EndReason.TELEMETRY)
        return
    _warn(s)
    if result.kind is TurnResultKind.SUCCESS:
        s.to(mailbox_due=True)
    elif result.kind is TurnResultKind.ERROR and s.state.queued:
        # A failure of the service holds the line until the operator looks.
        s.to(queue_held=True)
    if not s.state.live:
        return
    if s.state.mailbox_due and s.state.at_rest:
        s.out(ReadMailbox())
    elif s.state.finishing and s.state.at_rest:
        _conclude(s, EndReason.FINISHED)
    else:
        # An error or an interrupt concludes nothing.
        if result.failure is FailureKind.BUDGET:
            _hold_at_budget(s)
        else:
            _next(s)


def _cost(state: SessionState, result: base.TurnResult) -> tuple[MicroUsd | None, CostKnowledge, bool]:
    """(own cost, how it is known, whether the report is broken)."""
    if not state.limits.reports_cost:
        if result.marginal is None:
            return None, CostKnowledge.UNKNOWN, False
        return result.marginal, CostKnowledge.GUESS if result.estimated else CostKnowledge.REPORTED, False
    if result.cumulative is None or result.cumulative < state.cumulative:
        return None, CostKnowledge.UNKNOWN, True
    if state.uncounted:
        known = CostKnowledge.UNKNOWN if result.marginal is None else CostKnowledge.REPORTED
        return result.marginal, known, False
    return MicroUsd(result.cumulative - state.cumulative), CostKnowledge.REPORTED, False


def _warn(s: _Step) -> None:
    budget = s.state.limits.budget
    if budget is None or s.state.warned or s.state.spent * 10 < budget * 8 or s.state.spent >= budget:
        return
    s.to(warned=True)
    s.out(BookAttention(kind=AttentionKind.BUDGET, key="warning", text="has used 80 % of its money"))


def _mailbox_read(s: _Step, read: MailboxRead) -> None:
    if not s.state.live:
        return
    s.to(handoff=s.state.handoff or read.handoff, mailbox_due=False)
    if read.park:
        s.to(parked=True, repairs=0)
        return
    if read.malformed:
        may_ask = s.state.ready and s.state.at_rest and not s.state.paused and not s.state.at_budget
        if s.state.repairs >= REPAIRS_IN_A_ROW or not may_ask:
            s.to(parked=True, repairs=0)
            s.out(ParkAsText())
        else:
            s.to(repairs=s.state.repairs + 1)
            s.out(SendRepair(problems=read.malformed))
        return
    if (s.state.handoff or s.state.finishing) and s.state.at_rest:
        _conclude(s, EndReason.FINISHED if s.state.finishing else EndReason.HANDOFF)
        return
    _next(s)


def _conclude(s: _Step, reason: EndReason) -> None:
    s.to(concluding=True)
    s.out(Conclude(reason=reason))


def _hold_at_budget(s: _Step) -> None:
    if s.state.limits.fence_at_budget:
        _fence(s, EndReason.BUDGET_EXHAUSTED)
    else:
        s.out(BookAttention(kind=AttentionKind.BUDGET, key="budget", text="holds at its budget"))


def _next(s: _Step) -> None:
    """At rest: budget, then waiting answers, then the line, else idle."""
    if not s.state.live or not s.state.ready or not s.state.at_rest or s.state.paused:
        return
    if s.state.finishing:
        if not s.state.parked:
            _conclude(s, EndReason.FINISHED)
        return
    if s.state.at_budget:
        _hold_at_budget(s)
        return
    if s.state.park_answers and not s.state.parked:
        s.out(SendParkAnswers())
        return
    if s.state.queued and not s.state.queue_held and not s.state.parked:
        s.out(SendQueued())


def _interrupt(s: _Step, asked: InterruptAsked) -> None:
    target = next((t for t in s.state.turns if asked.turn is None or t.id == asked.turn), None)
    if target is None or not s.state.live or not s.state.ready:
        return
    s.to(interrupting=target.id)
    s.out(SendInterrupt(background_too=True))


def _finish(s: _Step) -> None:
    if not s.state.live:
        return
    again = s.state.finishing
    s.to(finishing=True)
    if s.state.at_rest:
        if s.state.ready:
            _conclude(s, EndReason.FINISHED)
    elif again and s.state.ready and s.state.turns and s.state.interrupting is None:
        s.to(interrupting=s.state.turns[0].id)
        s.out(SendInterrupt(background_too=True))


def _agent_exited(s: _Step, how: str) -> None:
    if s.state.restarting:
        return
    s.to(agent_gone=how)
    if s.state.fencing is not None or s.state.concluding:
        return
    success = s.state.last_result is TurnResultKind.SUCCESS
    if s.state.ready and not s.state.turns and success and s.state.handoff:
        _conclude(s, EndReason.HANDOFF)
        return
    reason = f"{EndReason.EXITED}:{how}" if s.state.ready else EndReason.SPAWN_FAILED
    _fence(s, reason)
