"""The longest that one turn may work: the stopwatch alone, and what a held run does when it comes."""

import asyncio
import os
import signal
from pathlib import Path

from hypothesis import given, strategies as st
from msgspec.structs import replace

from coordinator.api import AnswerDecision, Done, LeaveAll, Say
from coordinator.custody.processes import carriers
from coordinator.drivers.base import Allow
from coordinator.session import HeldSession
from coordinator.steps import Step
from coordinator.turntimeout import TurnWatch
from store import attention
from store.vocab import AttentionKind, DecisionState, EndReason, RunId, RunOutcome, TurnId, TurnResultKind, TurnState
from tests.coordinator.held import Holding, bash, holding, script
from tests.coordinator.test_adopt import Killed
from tests.coordinator.test_worklimit import PATIENT, Moved
from tests.coordinator.weather import at, working
from tests.waiting import eventually

A, B = TurnId("a"), TurnId("b")
TEN_MINUTES = replace(PATIENT, turn_timeout=600.0)


def test_it_stands_still_while_the_operator_is_awaited() -> None:
    watch = TurnWatch().at(A, awaited=False, now=100)
    assert watch.left(60, 110) == 50
    watch = watch.at(A, awaited=True, now=110)
    assert watch.left(60, 5000) is None, "no deadline while a question is open"
    watch = watch.at(A, awaited=False, now=5000)
    assert watch.left(60, 5000) == 50
    assert watch.left(60, 5100) == 0
    assert watch.at(B, awaited=False, now=5100).left(60, 5100) == 60, "each turn has its own"
    assert watch.at(None, awaited=False, now=5100).left(60, 5100) is None
    assert watch.left(None, 5000) is None
    assert replace(watch, over=True).left(60, 9000) is None


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=30))
def test_only_time_that_was_worked_counts(steps: list[tuple[float, bool]]) -> None:
    watch, now, worked, awaited = TurnWatch().at(A, awaited=False, now=0.0), 0.0, 0.0, False
    for seconds, asks in steps:
        worked += 0 if awaited else seconds
        now += seconds
        awaited = asks
        watch = watch.at(A, awaited=awaited, now=now)
    left = watch.at(A, awaited=False, now=now).left(10_000, now)
    assert left is not None
    assert abs(left - (10_000 - worked)) < 1e-3


async def test_it_interrupts_then_asks_and_a_new_turn_answers_it(tmp_path: Path) -> None:
    clock = Moved()
    async with holding(tmp_path, timing=TEN_MINUTES, clock=clock) as held:
        run = await working(held)
        clock.minutes(11)
        view = await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert view.turns[0].result is TurnResultKind.INTERRUPTED and view.outcome is None
        ledger = held.coordinator.house.ledger

        async def said() -> list[str]:
            items = await ledger.read(attention.open_items)
            return [one.text for one in items if one.kind is AttentionKind.STALLED and one.key == "turn-timeout"]

        assert len(await said()) == 1 and "say how to go on" in (await said())[0]
        await held.do(Say(run=run, text="on " + script({"text": "two"})))
        await held.until(run, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED)
        assert await said() == []
        view = held.view(run)
        assert view is not None and view.turns[1].result is TurnResultKind.SUCCESS


async def test_where_it_was_chosen_it_ends_the_run(tmp_path: Path) -> None:
    clock = Moved()
    async with holding(tmp_path, timing=TEN_MINUTES, clock=clock, at_timeout="fence") as held:
        run = await working(held)
        clock.minutes(11)
        view = await held.until(run, lambda v: v.outcome is not None)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.TURN_TIMEOUT)
        assert carriers(held.coordinator.sessions[run].nonce) == []


async def test_an_agent_that_is_slow_to_start_is_no_long_turn(tmp_path: Path) -> None:
    clock, stopped = Moved(), list[int]()
    patient = replace(TEN_MINUTES, start_timeout=86_400.0)
    async with holding(tmp_path, timing=patient, clock=clock, at_timeout="fence") as held:

        def stop() -> None:
            """In the middle of its start it hears nothing more."""
            stopped.extend(carriers(only(held).nonce))
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)

        with at(Step.AGENT_STAMPED, stop):
            starting = asyncio.create_task(held.start("go " + script({"text": "done"})))
            await eventually(lambda: stopped and only(held).turn_watch.turn)
        clock.minutes(11)
        run = only(held).run_id
        await held.do(Say(run=run, text="later " + script({"text": "two"})))
        view = await held.until(run, lambda v: v.queued or v.outcome)
        assert view.outcome is None and view.ending is None
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        assert await starting == run
        view = await held.until(run, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED)
        assert [turn.result for turn in view.turns] == [TurnResultKind.SUCCESS] * 2


def only(held: Holding) -> HeldSession:
    (session,) = held.coordinator.sessions.values()
    return session


async def test_a_question_that_waits_for_hours_is_no_long_turn(tmp_path: Path) -> None:
    clock = Moved()
    async with holding(tmp_path, timing=TEN_MINUTES, clock=clock, at_timeout="fence") as held:
        run = await held.start("go " + script(bash("true"), {"text": "done"}))
        await held.until(run, lambda v: v.decisions and v.decisions[0].state is DecisionState.OPEN)
        await eventually(lambda: held.coordinator.sessions[run].turn_watch.since is None)
        clock.minutes(90)
        await held.do(Say(run=run, text="later"))
        view = await held.until(run, lambda v: v.queued)
        assert view.outcome is None and view.ending is None
        assert held.coordinator.sessions[run].turn_watch.left(600, clock.monotonic()) is None
        asked = view.decisions[0]
        answer = AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        assert isinstance(await held.do(answer), Done)
        view = await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert view.turns[0].result is TurnResultKind.SUCCESS


async def test_a_killed_console_gives_a_turn_no_time_of_its_own(tmp_path: Path) -> None:
    first = Killed(tmp_path, "go " + script({"do": "silence"}))
    seen = await asyncio.to_thread(first.until, lambda said: said["turns"] == ["accepted"])
    first.kill()
    clock, run = Moved(), RunId(seen["run"])
    clock.minutes(9)
    async with holding(tmp_path, timing=TEN_MINUTES, clock=clock) as held:
        assert held.coordinator.swept.picked_up == (run,)
        await held.until(run, lambda v: v.turns[0].state is TurnState.ACCEPTED)
        session = held.coordinator.sessions[run]
        await eventually(lambda: "catch-up" not in session.deadlines)
        left = session.turn_watch.left(600, clock.monotonic())
        assert left is not None and 0 < left <= 60, "nine of its ten minutes are gone"
        clock.minutes(1)
        view = await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert view.turns[0].result is TurnResultKind.INTERRUPTED and view.outcome is None
        items = await held.coordinator.house.ledger.read(attention.open_items)
        assert [one.key for one in items if one.kind is AttentionKind.STALLED] == ["turn-timeout"]


async def test_over_many_consoles_it_is_one_turn(tmp_path: Path) -> None:
    clock, told, run = Moved(), [], RunId(1)
    for _ in range(3):
        async with holding(tmp_path, timing=TEN_MINUTES, clock=clock, at_timeout="fence") as held:
            if not told:
                run = await held.start("go " + script({"do": "silence"}))
            await held.until(run, lambda v: v.turns and (v.turns[0].state is TurnState.ACCEPTED or v.outcome))
            session = held.coordinator.sessions[run]
            await eventually(lambda s=session: "catch-up" not in s.deadlines)  # type: ignore[misc]
            clock.minutes(4)
            told.append(session.turn_watch.left(600, clock.monotonic()))
            if len(told) < 3:
                await held.do(LeaveAll())
                continue
            view = await held.until(run, lambda v: v.outcome is not None)
            assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.TURN_TIMEOUT)
    assert [None if one is None else round(one, -2) for one in told] == [400, 100, 0], told


async def test_the_time_in_which_a_killed_consoles_question_waited_does_not_count(tmp_path: Path) -> None:
    first = Killed(tmp_path, "go " + script(bash("true"), {"text": "done"}))
    seen = await asyncio.to_thread(first.until, lambda said: said["decisions"] == ["open"])
    first.kill()
    clock, run = Moved(), RunId(seen["run"])
    clock.minutes(119)
    async with holding(tmp_path, timing=TEN_MINUTES, clock=clock, at_timeout="fence") as held:
        view = await held.until(run, lambda v: v.decisions and v.decisions[0].state is DecisionState.OPEN)
        asked = view.decisions[0]
        answer = AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        assert isinstance(await held.do(answer), Done)
        view = await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED or v.outcome)
        assert view.turns[0].result is TurnResultKind.SUCCESS and view.outcome is None
