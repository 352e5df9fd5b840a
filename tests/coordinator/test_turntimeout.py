"""The longest that one turn may work: the stopwatch alone, and what a held run does when it comes."""

from dataclasses import replace
from pathlib import Path

from hypothesis import given, strategies as st

from coordinator.api import Done, Say
from coordinator.custody.processes import carriers
from coordinator.turntimeout import TurnWatch
from store import attention
from store.vocab import AttentionKind, DecisionState, EndReason, RunOutcome, TurnId, TurnResultKind, TurnState
from tests.coordinator.held import QUICK, bash, holding, script
from tests.waiting import eventually

A, B = TurnId("a"), TurnId("b")
SHORT = replace(QUICK, turn_timeout=0.5)


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
    async with holding(tmp_path, timing=SHORT) as held:
        run = await held.start("go " + script({"do": "silence"}))
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
    async with holding(tmp_path, timing=SHORT, at_timeout="fence") as held:
        run = await held.start("go " + script({"do": "silence"}))
        view = await held.until(run, lambda v: v.outcome is not None)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.TURN_TIMEOUT)
        assert carriers(held.coordinator.sessions[run].nonce) == []


async def test_a_question_that_waits_for_hours_is_no_long_turn(tmp_path: Path) -> None:
    from coordinator.api import AnswerDecision
    from coordinator.drivers.base import Allow

    async with holding(tmp_path, timing=SHORT, at_timeout="fence") as held:
        run = await held.start("go " + script(bash("true"), {"text": "done"}))
        view = await held.until(run, lambda v: v.decisions and v.decisions[0].state is DecisionState.OPEN)
        began = held.coordinator.house.clock.monotonic()
        clock = held.coordinator.house.clock
        await eventually(lambda: clock.monotonic() - began > 3 * 0.5)
        view = held.view(run)
        assert view is not None and view.outcome is None and view.ending is None
        asked = view.decisions[0]
        answer = AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        assert isinstance(await held.do(answer), Done)
        view = await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert view.turns[0].result is TurnResultKind.SUCCESS
