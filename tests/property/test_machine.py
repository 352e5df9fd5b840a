"""Any interleaving of operator, agent, mailbox and clock against the session machine, with a shell that only obeys.

The rules below know the design and not the machine: what may be sent when, what a cost is, what ends a hold. The shell
here does what the real one does with an effect (it records a turn, or the ledger refuses it) and nothing of its own.
"""

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from coordinator import machine
from coordinator.drivers import base
from coordinator.machine import InFlight, Limits, SessionState, step
from store.vocab import (
    CostKnowledge,
    DecisionKind,
    EndReason,
    FailureKind,
    MicroUsd,
    TurnId,
    TurnResultKind,
    TurnSource,
)
from tests.property.parts import parts

SENDS = (machine.SendQueued, machine.SendParkAnswers, machine.SendRepair)
BYTES = (*SENDS, machine.SendBrief, machine.SendInterrupt, machine.SendReply)
GOOD, BAD, CUT = TurnResultKind.SUCCESS, TurnResultKind.ERROR, TurnResultKind.INTERRUPTED

often = st.sampled_from
seldom = st.integers(0, 19).map(lambda n: n == 7)


class Sessions(RuleBasedStateMachine):
    @initialize(
        budget=often([None, MicroUsd(0), MicroUsd(50), MicroUsd(10_000)]),
        max_turns=often([1, 2, 5, 40]),
        working=often([None, 100, 10_000]),
        fences=st.booleans(),
        reports=often([True, True, True, False]),
    )
    def begin(self, budget: MicroUsd | None, max_turns: int, working: int | None, fences: bool, reports: bool) -> None:
        limits = Limits(
            budget=budget, max_turns=max_turns, working_ms=working, fence_at_budget=fences, reports_cost=reports
        )
        self.state = SessionState(limits=limits)
        self.made = 0
        self.settled: set[TurnId] = set()
        self.known: list[TurnId] = []
        self.fences = self.concludes = self.briefs = 0
        self.waiting = 0
        self.parks = self.answers = 0
        self.baseline = self.told = 0
        self.counted = 0
        """Marginal costs of this generation."""
        self.broken = False
        self.record(TurnSource.BRIEF)

    # ------------------------------------------------------------------------------------------------- the shell

    def fresh(self) -> TurnId:
        self.made += 1
        self.known.append(TurnId(f"t{self.made}"))
        return self.known[-1]

    def record(self, source: TurnSource) -> None:
        """As the ledger: never a second delivered turn in flight."""
        assert not self.delivered(), "the machine let a second one through"
        self.give(machine.TurnRecorded(id=self.fresh(), source=source))

    def delivered(self) -> list[InFlight]:
        return [turn for turn in self.state.turns if turn.source is not TurnSource.AGENT]

    def give(self, given: machine.Input, refuse: bool = False) -> None:
        before = self.state
        self.state, effects = step(before, given)
        self.judge(before, given, effects)
        for effect in effects:
            match effect:
                case machine.SendQueued() if not refuse and self.waiting:
                    self.waiting -= 1
                    self.record(TurnSource.OPERATOR)
                    self.give(machine.QueueChanged(waiting=self.waiting))
                case machine.SendParkAnswers() if not refuse and self.answers:
                    self.answers = 0
                    self.record(TurnSource.ANSWER)
                    self.give(machine.ParkAnswered(waiting=0, open=self.parks > 0))
                case machine.SendRepair() if refuse:
                    self.give(machine.RepairRefused())
                case machine.SendRepair():
                    self.record(TurnSource.REPAIR)
                case machine.ParkAsText():
                    self.parks += 1
                case _:
                    pass

    def judge(self, before: SessionState, given: machine.Input, effects: Sequence[machine.Effect]) -> None:
        after = self.state
        fencing_before = before.fencing is not None
        for effect in effects:
            if isinstance(effect, SENDS):
                assert not [t for t in after.turns if t.source is not TurnSource.AGENT], "single flight"
                assert not after.unheard, "an interrupt on its way might hit it"
                assert not after.paused and not after.at_budget and after.ready and after.live
                assert not (after.parked and isinstance(effect, machine.SendQueued))
            if isinstance(effect, BYTES):
                assert not fencing_before and after.fencing is None, f"{effect} though it is fencing"
                assert not before.concluding and after.agent_gone is None
            if isinstance(effect, machine.Conclude):
                self.concludes += 1
                assert not after.turns, "concluded over a turn in flight"
                if isinstance(given, machine.AgentSaid) and isinstance(given.event, base.TurnResult):
                    assert given.event.kind is GOOD or before.finishing
            if isinstance(effect, machine.Fence):
                self.fences += 1
                assert effect.reason
                if isinstance(given, machine.AgentSaid) and isinstance(given.event, base.TurnBegunByAgent):
                    # A turn that nobody wanted, for the second time: what stood in its way is the reason.
                    wanted = EndReason.LAPSED if before.paused else "protocol-error:unasked-turn"
                    assert before.paused or before.parked or before.at_budget
                    assert effect.reason == (EndReason.BUDGET_EXHAUSTED if before.at_budget else wanted)
            if isinstance(effect, machine.SendBrief):
                self.briefs += 1
            if isinstance(effect, machine.BookSettled):
                self.judge_settled(before, effect, effects)
        assert self.fences <= 1 and self.concludes <= 1 and self.briefs <= 1
        assert after.fencing is None or self.fences == 1
        assert before.fencing is None or after.fencing == before.fencing, "the first reason stays"
        assert not before.concluding or after.concluding

    def judge_settled(
        self, before: SessionState, effect: machine.BookSettled, effects: Sequence[machine.Effect]
    ) -> None:
        own = {one.turn for one in effects if isinstance(one, machine.BookAgentTurn)}
        assert effect.turn in {turn.id for turn in before.turns} | own
        assert effect.turn not in self.settled, "settled twice"
        self.settled.add(effect.turn)
        assert effect.turn not in {turn.id for turn in self.state.turns}
        match effect.known:
            case CostKnowledge.MERGED:
                assert effect.cost == 0
            case CostKnowledge.REPORTED:
                assert effect.cost is not None and effect.cost >= 0
                self.counted += effect.cost
            case _:
                assert effect.cost is None
        named = [t.id for t in before.turns if t.id in effect.result.turns]
        if effect.result.turns:
            assert effect.turn in named or effect.turn in own or self.is_own(before, effect.turn)

    def is_own(self, state: SessionState, turn: TurnId) -> bool:
        return any(t.id == turn and t.source is TurnSource.AGENT for t in state.turns)

    # --------------------------------------------------------------------------------------------------- the agent

    @rule()
    def ready(self) -> None:
        self.give(machine.AgentSaid(event=base.SessionReady(native_id="n"), new_turn=TurnId("")))

    @rule(data=st.data())
    def accepts(self, data: st.DataObject) -> None:
        turn = data.draw(often([*self.known, TurnId("nobody's")]))
        self.give(machine.AgentSaid(event=base.TurnAccepted(turn=turn), new_turn=TurnId("")))

    @rule()
    def begins_by_itself(self) -> None:
        self.give(machine.AgentSaid(event=base.TurnBegunByAgent(why="woken"), new_turn=self.fresh()))

    @rule(
        data=st.data(),
        kind=often([GOOD, GOOD, BAD, CUT]),
        names=often(["flying", "flying", "none", "any", "two"]),
        by_agent=st.booleans(),
        cost=st.integers(0, 30),
        failure=often([None, None, FailureKind.BUDGET]),
        broken=seldom,
        refuse=seldom,
    )
    def ends_a_turn(
        self,
        data: st.DataObject,
        kind: TurnResultKind,
        names: str,
        by_agent: bool,
        cost: int,
        failure: FailureKind | None,
        broken: bool,
        refuse: bool,
    ) -> None:
        turns: tuple[TurnId, ...] = ()
        if names == "flying":
            turns = tuple(turn.id for turn in self.state.turns[:1])
        elif names != "none":
            turns = tuple(data.draw(st.lists(often(self.known), min_size=1, max_size=2 if names == "two" else 1)))
        cumulative: MicroUsd | None = MicroUsd(self.told + cost)
        if broken:
            cumulative = data.draw(often([None, MicroUsd(self.told - 1)]))
        result = base.TurnResult(
            turns=turns,
            kind=kind,
            subtype="",
            cumulative=cumulative,
            failure=failure if kind is BAD else None,
            by_agent=by_agent,
        )
        reports = self.state.limits.reports_cost
        if not broken and reports:
            self.told += cost
        self.broken = self.broken or (broken and reports)
        self.give(machine.AgentSaid(event=result, new_turn=self.fresh()), refuse)
        if broken and reports:
            assert self.state.fencing is not None, "a cost that is missing or falls is telemetry"

    @rule(
        event=often(
            [
                base.DecisionAsked(request="r", kind=DecisionKind.PERMISSION, title="Run a command?"),
                base.DecisionWithdrawn(request="r"),
                base.DecisionResolved(request="r", accepted=True),
                base.Reply(id="reply", data=b"no", why="unknown"),
                base.ConversationChanged(native_id="m"),
                base.Unknown(raw="?"),
            ]
        )
    )
    def says(self, event: base.AgentEvent) -> None:
        self.give(machine.AgentSaid(event=event, new_turn=TurnId("")))

    @precondition(lambda self: self.made > 6)
    @rule(how=often(["0", "1", "SIGKILL"]))
    def exits(self, how: str) -> None:
        gone = self.state.agent_gone is not None
        self.give(machine.AgentExited(how=how))
        if not self.state.restarting:
            assert gone or self.state.fencing is not None or self.state.concluding

    @precondition(lambda self: self.made > 6)
    @rule()
    def breaks_its_framing(self) -> None:
        self.give(machine.AgentSaid(event=base.ProtocolFault(what="?"), new_turn=TurnId("")))
        assert self.state.fencing is not None

    # ------------------------------------------------------------------------------------------ mailbox and operator

    @rule(what=often(["", "", "park", "malformed", "handoff", "both"]), refuse=st.booleans())
    def mailbox(self, what: str, refuse: bool) -> None:
        if what in ("park", "both") and self.state.live:
            self.parks += 1
        self.give(
            machine.MailboxRead(
                park=what in ("park", "both"),
                malformed="no JSON" if what == "malformed" else "",
                handoff=what in ("handoff", "both"),
            ),
            refuse,
        )
        if what == "both":
            assert not self.state.concluding or self.concludes == 1

    @rule(refuse=seldom)
    def says_something(self, refuse: bool) -> None:
        state = self.state
        if state.live and state.at_rest and state.ready and not self.waiting and not state.parked and not state.paused:
            if not state.at_budget:
                self.record(TurnSource.OPERATOR)
        elif state.live:
            self.waiting += 1
            self.give(machine.QueueChanged(waiting=self.waiting), refuse)

    @rule()
    def releases(self) -> None:
        self.give(machine.QueueChanged(waiting=self.waiting, released=True))

    @precondition(lambda self: self.waiting)
    @rule()
    def withdraws(self) -> None:
        self.waiting -= 1
        self.give(machine.QueueChanged(waiting=self.waiting))

    @precondition(lambda self: self.parks)
    @rule(dismissed=st.booleans(), refuse=seldom)
    def answers_a_park(self, dismissed: bool, refuse: bool) -> None:
        self.parks -= 1
        self.answers += not dismissed
        self.give(machine.ParkAnswered(waiting=self.answers, open=self.parks > 0), refuse)

    @rule(data=st.data())
    def interrupts(self, data: st.DataObject) -> None:
        turn = data.draw(often([None, *self.known]))
        before = self.state
        self.give(machine.InterruptAsked(turn=turn))
        if turn is not None and turn not in {flying.id for flying in before.turns}:
            assert self.state == before, "one that has settled is nothing to interrupt"

    @rule()
    def waits_in_vain(self) -> None:
        self.give(machine.InterruptLate())

    @rule()
    def interrupt_heard(self) -> None:
        self.give(machine.InterruptHeard())

    @rule(paused=st.booleans())
    def goes_or_comes(self, paused: bool) -> None:
        self.give(machine.AttendanceChanged(paused=paused))

    @rule()
    def grace_is_over(self) -> None:
        self.give(machine.GraceOver())

    @rule(more=often([0, 100, 100_000]), turns=often([0, 1, 10]), work=often([0, 50, 10_000]))
    def extends(self, more: int, turns: int, work: int) -> None:
        limits = self.state.limits
        budget = None if limits.budget is None else MicroUsd(limits.budget + more)
        working = None if limits.working_ms is None else limits.working_ms + work
        self.give(machine.Extended(budget=budget, max_turns=limits.max_turns + turns, working_ms=working))
        assert not self.state.past_work, "asked about anew, if it is still so"

    @rule(more=often([1, 40, 100, 9_000]))
    def works(self, more: int) -> None:
        before = self.state
        self.give(machine.Worked(ms=before.worked_ms + more))
        limit = before.limits.working_ms
        over = limit is not None and self.state.worked_ms >= limit
        if not over:
            assert self.state.fencing == before.fencing, "there is working time left"
        elif before.live and before.limits.fence_at_budget:
            assert self.state.fencing == EndReason.BUDGET_EXHAUSTED, "a hard end was asked for"
        elif before.live and before.turns:
            assert self.state.past_work and self.state.fencing is None, "nothing is killed, and the operator is asked"

    @precondition(lambda self: self.delivered() and not self.delivered()[0].accepted)
    @rule()
    def a_turn_was_never_sent(self) -> None:
        turn = self.delivered()[0].id
        self.give(machine.TurnNotSent(id=turn))
        assert self.state.interrupting != turn

    @precondition(lambda self: self.made > 4)
    @rule()
    def finishes(self) -> None:
        self.give(machine.FinishAsked())

    @precondition(lambda self: self.made > 8)
    @rule(reason=often([EndReason.STOPPED, EndReason.LAPSED, EndReason.EXPIRED]))
    def fence(self, reason: EndReason) -> None:
        self.give(machine.FenceAsked(reason=reason))
        assert self.fences == 1

    @precondition(lambda self: self.state.live and self.state.ready and not self.state.turns)
    @rule(baseline=often([0, 7, None]), woken=st.booleans())
    def restarts(self, baseline: int | None, woken: bool) -> None:
        self.give(machine.RestartBegun())
        if woken:
            self.give(machine.AgentSaid(event=base.TurnBegunByAgent(why="woken"), new_turn=self.fresh()))
        for given in (machine.AgentExited(how="0"), machine.Restarted()):
            self.give(given)
        assert not self.state.turns, "what the old process had begun ended with it"
        assert self.state.live and not self.state.ready
        self.told = self.baseline = self.counted = 0
        if baseline is not None:
            self.give(machine.BaselineTold(cumulative=MicroUsd(baseline)))
            self.told = self.baseline = baseline

    # ----------------------------------------------------------------------------------------------------- always

    @invariant()
    def the_books_agree(self) -> None:
        if not hasattr(self, "state"):
            return
        assert len(self.delivered()) <= 1
        assert len([t for t in self.state.turns if t.source is TurnSource.AGENT]) <= 1
        assert not self.settled & {turn.id for turn in self.state.turns}
        assert self.state.turns_used >= 0
        assert self.state.turns or not self.state.past_work, "asked about a turn that is over"
        if self.state.interrupting is not None:
            assert self.state.interrupting in {turn.id for turn in self.state.turns}, "waits for what is over"
        if self.state.limits.reports_cost and not self.broken:
            assert self.baseline + self.counted == self.state.cumulative == self.told

    def teardown(self) -> None:
        """Every state has an exit that the operator can force."""
        if hasattr(self, "state"):
            self.give(machine.FenceAsked(reason=EndReason.STOPPED))
            assert self.fences == 1 and self.state.fencing is not None and not self.state.live
            self.give(machine.FenceAsked(reason=EndReason.KILLED))
            assert self.fences == 1


globals().update(parts(Sessions, "machine", into=4, steps=40))
