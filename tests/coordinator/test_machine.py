"""The session machine, read as transcripts: what is done after each input, in the design's order of settlement."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from coordinator import machine
from coordinator.drivers import base
from coordinator.machine import InFlight, Limits, SessionState, step
from store.vocab import (
    AttentionKind,
    CostKnowledge,
    EndReason,
    MicroUsd,
    TurnId,
    TurnResultKind,
    TurnSource,
)

SENDS = (machine.SendQueued, machine.SendParkAnswers, machine.SendRepair)
BYTES = (*SENDS, machine.SendBrief, machine.SendInterrupt, machine.SendReply)
GOOD, BAD, CUT = TurnResultKind.SUCCESS, TurnResultKind.ERROR, TurnResultKind.INTERRUPTED


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
    for begin, reason in (
        (state(turns=(), paused=True), EndReason.LAPSED),
        (state(turns=(), parked=True), "protocol-error:unasked-turn"),
        (state(turns=(), parked=True, paused=True), EndReason.LAPSED),
        (state(turns=(), spent=MicroUsd(1_000)), EndReason.BUDGET_EXHAUSTED),
        (state(turns=(), turns_used=40), EndReason.BUDGET_EXHAUSTED),
        (state(turns=(), turns_used=40, parked=True, paused=True), EndReason.BUDGET_EXHAUSTED),
    ):
        begun = machine.AgentSaid(event=base.TurnBegunByAgent(why="woken"), new_turn=OWN)
        end, told = play(begin, begun, result(CUT, turns=(), by_agent=True), begun)
        assert told == [["SendInterrupt"], ["Settled"], ["Fence"]]
        assert end.fencing == reason
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


def test_until_a_resumed_process_tells_its_baseline_its_first_total_is_nobodys_cost() -> None:
    more = machine.TurnRecorded(id=SAID, source=TurnSource.OPERATOR)
    untold = machine.BaselineTold(cumulative=None)

    def costs(*given: machine.Input) -> list[tuple[int | None, CostKnowledge]]:
        now, out = state(turns=()), []
        for one in given:
            now, effects = step(now, one)
            out += [(book.cost, book.known) for book in effects if isinstance(book, machine.BookSettled)]
        assert now.fencing is None
        return out

    known, unknown = CostKnowledge.REPORTED, CostKnowledge.UNKNOWN
    rest = (more, result(cumulative=950))
    assert costs(untold, more, result(cumulative=900), *rest) == [(None, unknown), (50, known)]
    assert costs(untold, more, result(cumulative=900, marginal=MicroUsd(7)), *rest) == [(7, known), (50, known)]
    told = machine.BaselineTold(cumulative=MicroUsd(890))
    assert costs(untold, more, told, result(cumulative=900), *rest) == [(10, known), (50, known)]


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


# -------------------------------------------------------------------------------------------------------- working time


def working(**more: object) -> SessionState:
    limits = Limits(budget=MicroUsd(1_000), max_turns=40, working_ms=100_000, **more)  # type: ignore[arg-type]
    return state(limits=limits)


def said(effects: Sequence[machine.Effect]) -> list[tuple[str, bool]]:
    return [(one.key, one.raised) for one in effects if isinstance(one, machine.BookAttention)]


def test_working_time_is_told_at_four_fifths_once_and_holds_nothing() -> None:
    begin, effects = step(working(), machine.Worked(ms=79_999))
    assert said(effects) == []
    begin, effects = step(begin, machine.Worked(ms=80_000))
    assert said(effects) == [("work-warning", True)] and not begin.at_budget
    begin, effects = step(begin, machine.Worked(ms=99_999))
    assert effects == [] and begin.live


def test_past_its_working_time_a_turn_goes_on_and_the_operator_is_asked_once() -> None:
    begin, effects = step(working(), machine.Worked(ms=100_000))
    assert said(effects) == [("working", True)] and acts(effects) == [], "nothing is killed"
    assert begin.past_work and begin.at_budget
    begin, effects = step(begin, machine.Worked(ms=101_000))
    assert effects == []
    begin, effects = step(begin, result(CUT))
    assert ("working", False) in said(effects) and ("budget", True) in said(effects) and not begin.past_work
    assert acts(effects) == ["Settled"], "then it holds"


def test_where_a_hard_end_was_asked_for_working_time_ends_the_turn_too() -> None:
    begin, effects = step(working(fence_at_budget=True), machine.Worked(ms=100_000))
    assert acts(effects) == ["Fence"] and begin.fencing == EndReason.BUDGET_EXHAUSTED


def test_nothing_goes_out_when_working_time_is_used_up_at_rest() -> None:
    begin, _ = step(working(), machine.QueueChanged(waiting=1))
    begin, _ = step(begin, machine.Worked(ms=100_000))
    begin, effects = step(begin, result())
    begin, effects = step(begin, machine.MailboxRead())
    assert acts(effects) == [] and said(effects) == [("budget", True)]
    more = machine.Extended(budget=MicroUsd(1_000), max_turns=40, working_ms=200_000)
    begin, effects = step(begin, more)
    assert acts(effects) == ["SendQueued"], "and more of it lets the line go on"
    assert {key for key, raised in said(effects) if not raised} == {"budget", "warning", "working", "work-warning"}


def test_more_working_time_in_the_middle_of_a_turn_takes_the_question_back() -> None:
    begin, _ = step(working(), machine.Worked(ms=100_000))
    begin, effects = step(begin, machine.Extended(budget=MicroUsd(1_000), max_turns=40, working_ms=110_000))
    assert ("working", False) in said(effects) and not begin.past_work and not begin.at_budget
    begin, effects = step(begin, machine.Worked(ms=100_001))
    assert said(effects) == [("work-warning", True)], "four fifths of the new limit are over"
    begin, effects = step(begin, machine.Worked(ms=110_000))
    assert said(effects) == [("working", True)]


def test_a_turn_that_the_agent_begins_past_its_working_time_is_interrupted() -> None:
    begin, _ = step(replace(working(), turns=()), machine.Worked(ms=100_000))
    begun = machine.AgentSaid(event=base.TurnBegunByAgent(why="woken"), new_turn=OWN)
    begin, effects = step(begin, begun)
    assert acts(effects) == ["SendInterrupt"]
