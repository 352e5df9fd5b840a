"""An agent that nobody here has heard of, speaking the Agent Client Protocol: a few lines of configuration hold it."""

import asyncio
import sys
from pathlib import Path

from coordinator.api import AnswerDecision, DecisionView, Done, Finish, Interrupt, LeaveAll, Say, Stop
from coordinator.custody.processes import carriers
from coordinator.drivers.asks import Allow, Answer, Deny, QuestionReply
from store.refusal import Refusal
from store.vocab import (
    CostKnowledge,
    DecisionState,
    EndReason,
    FailureKind,
    RefusalReason,
    RunId,
    RunOutcome,
    TurnResultKind,
    TurnState,
)
from tests.coordinator.held import Holding, holding
from tests.coordinator.test_adopt import Killed
from tests.fakes import acp_agent
from tests.fakes.accounts import everything_once
from tests.waiting import eventually

AGENT = "mine"


def configured(folder: Path) -> None:
    kept = folder / "conversations"
    kept.mkdir()
    told = f'''[{AGENT}]
driver = "acp"
program = "{sys.executable}"
args = ["{acp_agent.__file__}", "{kept}"]
'''
    (folder / "agents.toml").write_text(told)


async def asked(held: Holding, run: RunId) -> DecisionView:
    view = await held.until(run, lambda v: any(one.state is DecisionState.OPEN for one in v.decisions))
    return next(one for one in view.decisions if one.state is DecisionState.OPEN)


async def answered(held: Holding, run: RunId, answer: Answer) -> DecisionView:
    one = await asked(held, run)
    told = AnswerDecision(run=run, decision=one.id, revision=one.revision, payload_hash=one.payload_hash, answer=answer)
    assert isinstance(await held.do(told), Done)
    return one


async def test_it_is_asked_interrupted_and_stopped_like_any_other(tmp_path: Path) -> None:
    configured(tmp_path)
    async with holding(tmp_path) as held:
        run = await held.start("hello", agent=AGENT)
        view = await held.settled(run, 1)
        assert view.turns[0].result is TurnResultKind.SUCCESS and view.mode == "ask"
        assert (view.turns[0].cost, view.turns[0].cost_known) == (100_000, CostKnowledge.REPORTED)

        await held.do(Say(run=run, text="run: touch never"))
        one = await answered(held, run, Deny())
        assert one.subject == "touch never"
        # What it would remember for good is not offered.
        assert [offer.label for offer in one.offers] == ["Go ahead", "Leave it"]
        await held.settled(run, 2)
        await held.do(Say(run=run, text="run: touch made"))
        await answered(held, run, Allow())
        await held.settled(run, 3)
        assert (held.tree / "made").exists() and not (held.tree / "never").exists()

        await held.do(Say(run=run, text="ask"))
        await answered(held, run, QuestionReply(answers={"Colour": ("Blue",), "Why": ("the sea",)}))
        view = await held.settled(run, 4)
        assert {one.state for one in view.decisions} == {DecisionState.DELIVERED}

        await held.do(Say(run=run, text="sleep"))
        await held.until(run, lambda v: v.turns[-1].state is TurnState.ACCEPTED)
        assert isinstance(await held.do(Interrupt(run=run, turn=None)), Done)
        assert (await held.settled(run, 5)).turns[4].result is TurnResultKind.INTERRUPTED
        await held.do(Say(run=run, text="fail"))
        failed = (await held.settled(run, 6)).turns[5]
        assert (failed.result, failed.failure) == (TurnResultKind.ERROR, FailureKind.RATE_LIMITED)

        nonce = held.coordinator.sessions[run].nonce
        await held.do(Say(run=run, text="run: (setsid sleep 1000 >/dev/null &) ; sleep 1001"))
        await answered(held, run, Allow())
        await eventually(lambda: len(carriers(nonce)) >= 3, 15.0, "both run")
        assert isinstance(await held.do(Stop(run=run)), Done)
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.reason == EndReason.STOPPED and not carriers(nonce)
        # Its farewell is a cancel, and the end of its input comes after the answer to that.
        assert (view.turns[6].state, view.turns[6].result) == (TurnState.SETTLED, TurnResultKind.INTERRUPTED)
    everything_once(tmp_path, "acp")


async def test_a_console_killed_in_the_first_turn_is_followed_by_one_that_knows_the_handshake(tmp_path: Path) -> None:
    """All that was said is read again from the first byte: nothing goes out a second time."""
    configured(tmp_path)
    first = Killed(tmp_path, "run: touch made; sleep 1000", AGENT)
    seen = await asyncio.to_thread(first.until, lambda said: said["decisions"] == [DecisionState.OPEN])
    first.kill()
    async with holding(tmp_path) as held:
        run = RunId(seen["run"])
        assert held.coordinator.swept.picked_up == (run,)
        await answered(held, run, Allow())
        await eventually((held.tree / "made").exists, 15.0, "it goes on")
        assert isinstance(await held.do(Interrupt(run=run, turn=None)), Done)
        view = await held.settled(run, 1)
        assert view.turns[0].result is TurnResultKind.INTERRUPTED
        assert [one.state for one in view.decisions] == [DecisionState.DELIVERED]
        await held.do(Say(run=run, text="hello"))
        view = await held.settled(run, 2)
        assert view.turns[1].result is TurnResultKind.SUCCESS and view.turns[1].cost == 100_000
        assert isinstance(await held.do(Finish(run=run)), Done)
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.outcome is RunOutcome.FINISHED
    everything_once(tmp_path, "acp")


async def test_what_one_console_answered_the_next_does_not_answer_again(tmp_path: Path) -> None:
    """The agent works on what it was allowed: to say no to that at the end would be a second answer."""
    configured(tmp_path)
    async with holding(tmp_path) as held:
        run = await held.start("run: touch made; sleep 1000", agent=AGENT)
        await answered(held, run, Allow())
        await eventually((held.tree / "made").exists, 15.0, "it goes on")
        assert b'"result"' not in held.coordinator.sessions[run].driver.farewell()
        await held.do(LeaveAll())
    async with holding(tmp_path) as held:
        session = held.coordinator.sessions[run]
        await eventually(lambda: b"session/cancel" in session.driver.farewell(), 15.0, "it is read again")
        await eventually(lambda: b'"result"' not in session.driver.farewell(), 15.0, "and what was answered is known")
        assert session.state.turns and session.rows.decisions[0].state is DecisionState.DELIVERING
        assert isinstance(await held.do(Interrupt(run=run, turn=None)), Done)
        view = await held.settled(run, 1)
        assert [one.state for one in view.decisions] == [DecisionState.DELIVERED]
        await held.do(Stop(run=run))
        await held.until(run, lambda v: v.outcome is not None)
    everything_once(tmp_path, "acp")


async def test_its_conversation_goes_on_in_another_run_and_is_not_told_again(tmp_path: Path) -> None:
    configured(tmp_path)
    async with holding(tmp_path) as held:
        first = await held.start("the first", agent=AGENT)
        native = (await held.settled(first, 1)).native_id
        assert native is not None
        await held.do(Finish(run=first))
        await held.until(first, lambda v: v.outcome is not None)

        second = await held.start("the second", agent=AGENT, conversation=native)
        view = await held.settled(second, 1)
        assert view.native_id == native and view.mode == "ask"
        # Nobody says what it had cost before this process; from its first message on that is known.
        assert view.turns[0].cost_known is CostKnowledge.UNKNOWN
        await held.do(Finish(run=second))
        await held.until(second, lambda v: v.outcome is not None)
        transcript = (tmp_path / "conversations" / native).read_text().splitlines()
        assert transcript == ["the first", "the second"]
    for run in (1, 2):
        everything_once(tmp_path, "acp", run)


async def test_a_start_that_it_refuses_says_why(tmp_path: Path) -> None:
    configured(tmp_path)
    async with holding(tmp_path) as held:
        no = await held.try_start("hello", agent=AGENT, conversation="conversation-of-nobody")
        assert isinstance(no, Refusal) and no.reason is RefusalReason.SPAWN_FAILED
        assert "conversation-of-nobody" in str(no.facts["detail"])
