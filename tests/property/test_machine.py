"""Any interleaving of operator, agent, mailbox and clock against the session machine, with a shell that only obeys.

The rules below know the design and not the machine: what may be sent when, what a cost is, what ends a hold. The shell
here does what the real one does with an effect (it records a turn, or the ledger refuses it) and nothing of its own.
"""

from collections.abc import Sequence

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from coordinator import machine
from coordinator.drivers import base
from coordinator.machine import InFlight, Limits, SessionState, step
from store.vocab import (
    AttentionKind,
    CostKnowledge,
    DecisionKind,
    EndReason,
    FailureKind,
    MicroUsd,
    TurnId,
    TurnResultKind,
    TurnSource,
)

SENDS = (machine.SendQueued, machine.SendParkAnswers, machine.SendRepair)
BYTES = (*SENDS, machine.SendBrief, machine.SendInterrupt, machine.SendReply)
GOOD, BAD, CUT = TurnResultKind.SUCCESS, TurnResultKind.ERROR, TurnResultKind.INTERRUPTED

often = st.sampled_from
seldom = st.integers(0, 19).map(lambda n: n == 7)


class Sessions(RuleBasedStateMachine):
    @initialize(
        budget=often([None, MicroUsd(0), MicroUsd(50), MicroUsd(10_000)]),
        max_turns=often([1, 2, 5, 40]),
        fences=st.booleans(),
        reports=often([True, True, True, False]),
    )
    def begin(self, budget: MicroUsd | None, max_turns: int, fences: bool, reports: bool) -> None:
        limits = Limits(budget=budget, max_turns=max_turns, fence_at_budget=fences, reports_cost=reports)
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

    @rule(more=often([0, 100, 100_000]), turns=often([0, 1, 10]))
    def extends(self, more: int, turns: int) -> None:
        limits = self.state.limits
        budget = None if limits.budget is None else MicroUsd(limits.budget + more)
        self.give(machine.Extended(budget=budget, max_turns=limits.max_turns + turns))

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


TestSessions = Sessions.TestCase
TestSessions.settings = hypothesis_settings(max_examples=300, stateful_step_count=40, deadline=None)


# ------------------------------------------------------------------------------------------ the design's order, as told

BRIEF, SAID = TurnId("brief"), TurnId("said")
OWN = TurnId("own")


def state(**more: object) -> SessionState:
    """Ready, one turn of the operator in flight, limits far away."""
    limits = Limits(budget=MicroUsd(1_000), max_turns=40)
    flying = (InFlight(id=SAID, source=TurnSource.OPERATOR, accepted=True),)
    return SessionState(**{"limits": limits, "ready": True, "turns": flying, "turns_used": 1, **more})  # type: ignore[arg-type]


def result(kind: TurnResultKind = GOOD, *, cumulative: int | None = 100, **more: object) -> machine.AgentSaid:
    told = None if cumulative is None else MicroUsd(cumulative)
    facts: dict[str, object] = {"turns": (SAID,), "kind": kind, "subtype": "", "cumulative": told, **more}
    return machine.AgentSaid(event=base.TurnResult(**facts), new_turn=OWN)  # type: ignore[arg-type]


def acts(effects: Sequence[machine.Effect]) -> list[str]:
    return [type(effect).__name__ for effect in effects if not isinstance(effect, machine.BOOKS)]


def play(begin: SessionState, *given: machine.Input) -> tuple[SessionState, list[list[str]]]:
    """What is done after each input."""
    told = []
    for one in given:
        begin, effects = step(begin, one)
        told.append(acts(effects))
    return begin, told


def test_a_good_result_looks_into_the_mailbox_before_anything_is_sent() -> None:
    _, told = play(state(queued=1, park_answers=1), result(), machine.MailboxRead())
    assert told == [["Settled", "ReadMailbox"], ["SendParkAnswers"]]


def test_a_park_beside_a_handoff_waits() -> None:
    end, told = play(state(queued=1), result(), machine.MailboxRead(park=True, handoff=True))
    assert told == [["Settled", "ReadMailbox"], []] and end.parked and not end.concluding


def test_a_handoff_from_before_the_answer_ends_nothing_after_it() -> None:
    answer = TurnId("answer")
    end, told = play(
        state(),
        result(),
        machine.MailboxRead(park=True, handoff=True),
        machine.ParkAnswered(waiting=1, open=False),
        machine.TurnRecorded(id=answer, source=TurnSource.ANSWER),
        machine.ParkAnswered(waiting=0, open=False),
        result(turns=(answer,)),
        machine.MailboxRead(),
    )
    assert told[2] == ["SendParkAnswers"] and told[-1] == [] and not end.concluding


def test_a_handoff_concludes_though_money_is_over_and_turns_wait() -> None:
    _, told = play(state(queued=1), result(cumulative=5_000), machine.MailboxRead(handoff=True))
    assert told == [["Settled", "ReadMailbox"], ["Conclude"]]


def test_the_budget_holds_and_asks_before_answers_and_the_line() -> None:
    begin = state(queued=1, park_answers=1)
    for final in (result(cumulative=1_000), result(BAD, cumulative=1_000), result(CUT, cumulative=1_000)):
        end, effects = step(begin, final)
        if machine.ReadMailbox() in effects:
            end, effects = step(end, machine.MailboxRead())
        asked = [one for one in effects if isinstance(one, machine.BookAttention)]
        assert [one.kind for one in asked] == [AttentionKind.BUDGET]
        assert not [one for one in effects if isinstance(one, BYTES)] and end.live


def test_a_budget_that_fences_fences() -> None:
    limits = Limits(budget=MicroUsd(50), max_turns=40, fence_at_budget=True)
    end, told = play(state(limits=limits), result(), machine.MailboxRead())
    assert told[-1] == ["Fence"] and end.fencing == EndReason.BUDGET_EXHAUSTED


def test_answers_go_before_the_line_and_one_at_a_time() -> None:
    answer = TurnId("answer")
    _, told = play(
        state(queued=1, park_answers=2),
        result(),
        machine.MailboxRead(),
        machine.TurnRecorded(id=answer, source=TurnSource.ANSWER),
        machine.ParkAnswered(waiting=0, open=False),
        result(turns=(answer,), cumulative=200),
        machine.MailboxRead(),
    )
    assert told == [["Settled", "ReadMailbox"], ["SendParkAnswers"], [], [], ["Settled", "ReadMailbox"], ["SendQueued"]]


@pytest.mark.parametrize("kind", [BAD, CUT])
def test_an_error_or_an_interrupt_concludes_nothing_and_reads_no_mailbox(kind: TurnResultKind) -> None:
    end, told = play(state(handoff=True), result(kind))
    assert told == [["Settled"]] and not end.concluding and end.fencing is None


def test_an_error_holds_the_line() -> None:
    end, told = play(state(queued=2), result(BAD), machine.QueueChanged(waiting=2, released=True))
    assert told == [["Settled"], ["SendQueued"]] and not end.queue_held


def test_an_interrupt_holds_the_line_until_it_is_released() -> None:
    begin = state(queued=1)
    end, told = play(begin, machine.InterruptAsked(turn=SAID), result(CUT), machine.InterruptHeard())
    assert told == [["SendInterrupt"], ["Settled"], []] and end.queue_held
    assert play(end, machine.QueueChanged(waiting=1, released=True))[1] == [["SendQueued"]]


def test_finish_waits_for_the_turn_and_a_second_one_interrupts_it() -> None:
    finish = machine.FinishAsked()
    end, told = play(state(), finish, finish, finish, result(CUT), machine.InterruptHeard())
    assert told == [[], ["SendInterrupt"], [], ["Settled"], ["Conclude"]]
    _, told = play(state(), machine.FinishAsked(), result(), machine.MailboxRead())
    assert told == [[], ["Settled", "ReadMailbox"], ["Conclude"]]
    assert play(end, machine.FenceAsked(reason="stopped"), machine.FenceAsked(reason="killed"))[1] == [["Fence"], []]


def test_a_cost_that_falls_or_is_missing_settles_the_turn_and_then_fences() -> None:
    for told in (None, 99):
        end, effects = step(state(cumulative=MicroUsd(100)), result(cumulative=told))
        settled = next(one for one in effects if isinstance(one, machine.BookSettled))
        assert settled.result.kind is GOOD and settled.cost is None and settled.known is CostKnowledge.UNKNOWN
        assert acts(effects) == ["Settled", "Fence"] and end.fencing == EndReason.TELEMETRY
        assert end.cumulative == 100


def test_one_result_for_two_puts_the_cost_on_the_first() -> None:
    two = (*state().turns, InFlight(id=OWN, source=TurnSource.AGENT, accepted=True))
    _, effects = step(state(turns=two), result(turns=()))
    settled = [(one.turn, one.cost, one.known) for one in effects if isinstance(one, machine.BookSettled)]
    assert settled == [(SAID, 100, CostKnowledge.REPORTED), (OWN, 0, CostKnowledge.MERGED)]


def test_a_result_that_comes_again_settles_no_other_turn() -> None:
    late, effects = step(state(), result(turns=(BRIEF,)))
    assert [turn.id for turn in late.turns] == [SAID]
    settled = [one.turn for one in effects if isinstance(one, machine.BookSettled)]
    assert settled == [OWN], "its money is counted, in a turn of the agent's own"
    assert "ReadMailbox" not in acts(effects)
    _, told = play(late, result(CUT))
    assert told == [["Settled", "ReadMailbox"]], "the mailbox of the one that ended well is read when all is at rest"


def test_a_malformed_note_is_repaired_twice_then_put_as_it_is() -> None:
    now = state(turns=())
    told = []
    for n in range(3):
        now, effects = step(now, machine.MailboxRead(malformed="no JSON"))
        told.append(acts(effects))
        if effects == [machine.SendRepair(problems="no JSON")]:
            repair = TurnId(f"repair{n}")
            now, _ = step(now, machine.TurnRecorded(id=repair, source=TurnSource.REPAIR))
            now, _ = step(now, result(turns=(repair,), cumulative=(n + 1) * 10))
    assert told == [["SendRepair"], ["SendRepair"], ["ParkAsText"]] and now.parked


def test_a_turn_of_the_agents_own_while_nothing_may_run_is_interrupted_and_the_second_fenced() -> None:
    for begin in (
        state(turns=(), paused=True),
        state(turns=(), parked=True),
        state(turns=(), spent=MicroUsd(1_000)),
        state(turns=(), turns_used=40),
    ):
        begun = machine.AgentSaid(event=base.TurnBegunByAgent(why="woken"), new_turn=OWN)
        end, told = play(begin, begun, result(CUT, turns=(), by_agent=True), begun)
        assert told == [["SendInterrupt"], ["Settled"], ["Fence"]]
        assert end.fencing in (EndReason.LAPSED, EndReason.BUDGET_EXHAUSTED)
    quiet = state(turns=(), fencing="stopped", paused=True)
    assert play(quiet, begun)[1] == [[]], "nothing is sent to one that is ending"


def test_an_agent_that_ends_by_itself() -> None:
    done, _ = step(state(handoff=True, turns=(), last_result=GOOD), machine.AgentExited(how="0"))
    assert done.concluding
    for begin, reason in (
        (state(), "exited:7"),
        (state(turns=(), last_result=GOOD), "exited:7"),
        (state(turns=(), handoff=True, last_result=BAD), "exited:7"),
        (state(ready=False), EndReason.SPAWN_FAILED),
    ):
        end, effects = step(begin, machine.AgentExited(how="7"))
        assert acts(effects) == ["Fence"] and end.fencing == reason


def test_the_brief_goes_once_when_the_agent_is_ready_and_not_to_the_next_process() -> None:
    begin = state(ready=False, turns=(InFlight(id=BRIEF, source=TurnSource.BRIEF),))
    ready = machine.AgentSaid(event=base.SessionReady(), new_turn=TurnId(""))
    end, told = play(begin, machine.InterruptAsked(turn=None), ready, ready, result(turns=(BRIEF,)))
    assert told == [[], ["SendBrief"], [], ["Settled", "ReadMailbox"]]
    _, told = play(end, machine.RestartBegun(), machine.AgentExited(how="0"), machine.Restarted(), ready)
    assert told == [[], [], [], []]


def test_a_new_process_counts_from_its_own_baseline() -> None:
    begin = state(turns=(), cumulative=MicroUsd(500), spent=MicroUsd(500))
    more = machine.TurnRecorded(id=SAID, source=TurnSource.OPERATOR)
    ready = machine.AgentSaid(event=base.SessionReady(), new_turn=TurnId(""))
    restart = (machine.RestartBegun(), machine.Restarted(), machine.BaselineTold(cumulative=MicroUsd(20)), ready)
    end, _ = play(begin, *restart, more, result(cumulative=30))
    assert end.spent == 510 and end.cumulative == 30


def test_what_waited_goes_once_the_interrupt_is_heard() -> None:
    heard, asked = machine.InterruptHeard(), machine.InterruptAsked(turn=SAID)
    begin = state(park_answers=1)
    assert play(begin, asked, heard, result(CUT))[1] == [["SendInterrupt"], [], ["Settled", "SendParkAnswers"]]
    assert play(begin, asked, result(CUT), heard)[1] == [["SendInterrupt"], ["Settled"], ["SendParkAnswers"]]
    assert play(state(), asked, result(), heard)[1] == [["SendInterrupt"], ["Settled"], ["ReadMailbox"]]


def test_no_turn_is_written_while_an_interrupt_may_still_hit_it() -> None:
    # The turn ended by itself just as the interrupt went: what waits stays until the agent has heard it.
    begin = state(queued=1)
    crossed, told = play(begin, machine.InterruptAsked(turn=SAID), result(), machine.MailboxRead())
    assert "SendQueued" not in [one for acted in told for one in acted]
    assert not crossed.at_rest and crossed.unheard
