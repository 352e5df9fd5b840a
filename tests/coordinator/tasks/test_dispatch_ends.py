"""What becomes of tasks when their runs have ended, at a console: real ledger, real processes of the practice agent."""

from pathlib import Path

import pytest

from coordinator.api import (
    Done,
    Finish,
    HoldLine,
    ReleaseAgent,
    RetryTask,
    Say,
    Stop,
    StopAll,
    TaskReason,
)
from coordinator.checktypes import CheckState, RepositoryChecks
from coordinator.constants import RETRY_FIRST
from coordinator.tasks import trace
from store import agentwaits, attempts, attention, decisions, entries, runs, turns
from store.db import Tx
from store.refusal import Refusal
from store.vocab import (
    AttentionKind,
    DecisionState,
    MicroUsd,
    RefusalReason,
    RunOutcome,
    TaskState,
    TurnSource,
)
from tests.coordinator.held import holding, repository, script
from tests.coordinator.tasks import lining
from tests.coordinator.tasks.lining import (
    ASKS,
    SetClock,
    at_rest,
    get,
    let_go,
    put,
    runs_of,
    seen,
    until,
    working,
    writes,
)
from tests.waiting import eventually


async def test_an_agent_that_goes_is_tried_again_later_and_not_for_ever(tmp_path: Path) -> None:
    clock = SetClock()
    async with holding(tmp_path, clock=clock) as held:
        id = await put(held, script({"do": "exit", "code": 3}), attempts=2)
        await working(held, id)
        task = await until(held, id, TaskState.QUEUED)
        assert task.counted == 1 and 0 < task.not_before - clock.now() <= RETRY_FIRST * 1000
        await at_rest(held)
        due = await held.coordinator.dispatcher.look()
        assert due is not None and 0 < due <= RETRY_FIRST
        clock.ahead += int(RETRY_FIRST * 1000)
        held.coordinator.dispatcher.poke()
        task = await until(held, id, TaskState.NEEDS_OPERATOR)
        assert task.reason == TaskReason.ATTEMPTS
        one, two = await runs_of(held, id)
        assert [run.reason for run in (one, two)] == ["exited:3"] * 2 and two.continues == one.id
        brief = (await held.coordinator.house.ledger.read(lambda tx: turns.of_run(tx, two.id)))[0]
        assert "attempt 2 of 2" in brief.preamble and f"run {one.id}" in brief.preamble
        items = await held.coordinator.house.ledger.read(attention.open_items)
        assert [item.key for item in items if item.kind is AttentionKind.TASK] == [f"{id}:"]


async def test_an_agent_that_goes_after_it_did_something_is_the_operators(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        id = await put(held, script({"write": "half", "content": "x"}, {"do": "exit", "code": 3}))
        task = await until(held, id, TaskState.NEEDS_OPERATOR)
        assert task.reason == TaskReason.ENDED_EARLY and len(await runs_of(held, id)) == 1
        assert isinstance(await held.do(RetryTask(task=id)), Done)
        await until(held, id, TaskState.NEEDS_OPERATOR)
        one, two = await runs_of(held, id)
        assert two.tree == one.tree, "the next attempt works where that one worked"


@pytest.mark.parametrize("kind", ["limit", "no_key"])
async def test_what_is_amiss_with_an_agent_costs_no_attempt_and_no_other_task(tmp_path: Path, kind: str) -> None:
    clock = SetClock()
    async with holding(tmp_path, clock=clock) as held:
        resets = clock.now() // 1000 + 3600
        first = await put(held, script({"fail": {"kind": kind, "resets_at": resets}}))
        ledger = held.coordinator.house.ledger
        waits = await seen(held, _wait)
        other = await put(held, writes("b"), priority=1)
        assert waits.agent == "practice" and waits.until == (resets * 1000 if kind == "limit" else None)
        task = await until(held, first, TaskState.QUEUED)
        made = await ledger.read(lambda tx: attempts.of_task(tx, first))
        assert task.counted == 0 and [one.counted for one in made] == [False]
        await at_rest(held)
        assert (await get(held, other)).begun == 0
        told = [one.text for one in await ledger.read(attention.open_items) if one.kind is AttentionKind.TASK]
        assert told == (["practice is signed out; its tasks wait until you let them go on"] if kind == "no_key" else [])
        run = await ledger.read(lambda tx: runs.get(tx, made[0].run))
        assert run is not None and run.reason == f"at-rest:{'authentication' if kind == 'no_key' else 'rate-limited'}"
        clock.ahead += 3600 * 1000
        if kind == "no_key":
            await held.coordinator.dispatcher.look()
            assert (await get(held, other)).begun == 0, "only the operator knows when that is over"
            assert isinstance(await held.do(ReleaseAgent(agent="practice")), Done)
            assert not await ledger.read(attention.open_items)
        held.coordinator.dispatcher.poke()
        await until(held, other, TaskState.DONE)
        await working(held, first, nth=2)


def _wait(tx: Tx) -> agentwaits.StoredWait | None:
    return next(iter(agentwaits.listing(tx)), None)


async def test_an_attempt_without_a_trace_is_not_done(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        id = await put(held, script({"text": "I am done, believe me"}), attempts=1)
        task = await until(held, id, TaskState.NEEDS_OPERATOR)
        assert task.reason == TaskReason.NOTHING_RECORDED
        (run,) = await runs_of(held, id)
        assert run.outcome is RunOutcome.FINISHED


PARK = {"question": "Which one?", "options": [{"label": "left"}, {"label": "right"}], "recommendation": "left"}


async def test_a_question_that_outlives_its_run_leads_to_an_attempt_with_the_answer(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        id = await put(held, "choose " + script({"do": "mailbox", "decision": PARK}, {"text": "I wait"}))
        run = await working(held, id)
        view = await held.until(run, lambda v: any(one.state is DecisionState.OPEN for one in v.decisions))
        assert view.outcome is None, "what asks something stays held"
        await held.do(Finish(run=run))
        await held.do(Finish(run=run))
        task = await until(held, id, TaskState.NEEDS_OPERATOR)
        assert task.reason == TaskReason.QUESTION and task.token is not None
        await at_rest(held)
        await let_go(held, run)
        second = await working(held, id, nth=2)
        brief = await seen(held, lambda tx: next(iter(turns.of_run(tx, second)), None))
        assert "Which one?" in brief.preamble and "left" in brief.preamble
        (asked,) = await held.coordinator.house.ledger.read(lambda tx: decisions.of_run(tx, run))
        assert asked.write_id == brief.id
        await held.do(Stop(run=second))
        await until(held, id, TaskState.STOPPED)


async def test_a_stop_stops_the_task_and_a_stop_of_all_holds_the_line(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        first, second = [await put(held, script(ASKS)) for _ in range(2)]
        run = await working(held, first)
        await held.do(Stop(run=run))
        task = await until(held, first, TaskState.STOPPED)
        assert task.reason == TaskReason.STOPPED
        await working(held, second)
        third = await put(held, writes("c"), signed=False)
        await held.do(StopAll())
        await until(held, second, TaskState.STOPPED)
        await lining.sign(held, third)
        await at_rest(held)
        await eventually(lambda: held.coordinator.snapshot().queue.held == "stop-all")
        assert (await get(held, third)).state is TaskState.QUEUED
        assert isinstance(await held.do(HoldLine(held=False)), Done)
        await until(held, third, TaskState.DONE)


async def test_what_is_used_up_is_agreed_to_again(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        spends = script({"write": "a", "content": "x", "cost": 0.5}, {"do": "exit", "code": 3})
        id = await put(held, spends, budget=MicroUsd(400_000))
        await until(held, id, TaskState.NEEDS_OPERATOR)
        await held.do(RetryTask(task=id))
        await held.coordinator.dispatcher.look()
        task = await get(held, id)
        assert task.state is TaskState.QUEUED and task.spent, "nothing is begun without money"
        assert len(await runs_of(held, id)) == 1


async def test_one_to_which_the_operator_speaks_is_theirs_to_finish(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        id = await put(held, script(ASKS, {"write": "a", "content": "x"}, {"text": "so"}))
        run = await working(held, id)
        await held.until(run, lambda v: v.decisions)
        await held.do(Say(run=run, text="and " + script({"text": "more"})))
        await let_go(held, run)
        await held.settled(run, 2)
        view = await held.until(run, lambda v: not v.queued)
        assert view.outcome is None and not view.finishing
        await held.do(Finish(run=run))
        await until(held, id, TaskState.DONE)


@pytest.mark.parametrize("passes", [True, False])
async def test_checks_say_whether_it_is_done(tmp_path: Path, passes: bool) -> None:
    tree = repository(tmp_path / "tree")
    checks = {str(tree): RepositoryChecks(commands=("test -e a.txt", "true" if passes else "false"))}
    async with holding(tmp_path, checks=checks) as held:
        id = await put(held, writes("a.txt"))
        task = await until(held, id, TaskState.DONE if passes else TaskState.NEEDS_OPERATOR)
        assert task.reason == ("" if passes else TaskReason.CHECKS)
        if not passes:
            assert "false" in task.detail


async def test_what_waits_for_a_stopped_task_is_told(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        first = await put(held, script(ASKS))
        second = await put(held, writes("b"), needs=[first])
        await held.do(Stop(run=await working(held, first)))
        await until(held, first, TaskState.STOPPED)
        items = await held.coordinator.house.ledger.read(attention.open_items)
        (said,) = [item.text for item in items if item.kind is AttentionKind.TASK]
        assert f"task {second} waits for it" in said
        await at_rest(held)
        await held.do(RetryTask(task=first))
        await held.do(Stop(run=await working(held, first, nth=2)))


async def test_checks_that_a_console_did_not_come_to_are_run_by_the_next(tmp_path: Path) -> None:
    tree = repository(tmp_path / "tree")
    checks = {str(tree): RepositoryChecks(commands=(f"until [ -e {tmp_path}/gate ]; do sleep 0.05; done",))}
    async with holding(tmp_path, checks=checks) as held:
        id = await put(held, writes("a"))
        run = await working(held, id)
        await eventually(lambda: any(one.state is CheckState.RUNNING for one in held.coordinator.house.checks.of(run)))
    (tmp_path / "gate").touch()
    async with holding(tmp_path, checks=checks) as held:
        assert (await until(held, id, TaskState.DONE)).begun == 1, "the agent is not run again for it"


async def test_a_fact_that_cannot_be_read_leaves_everything_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unread(_place: object) -> Refusal:
        return Refusal(RefusalReason.GIT_FAILED)

    async with holding(tmp_path) as held:
        with monkeypatch.context() as patched:
            patched.setattr(trace, "changed", unread)
            id = await put(held, script({"text": "nothing"}), attempts=1)
            run = await working(held, id)
            (item,) = await seen(held, lambda tx: [one for one in attention.open_items(tx) if one.run == run] or None)
            assert f"task {id} waits" in item.text
            before = await held.coordinator.house.ledger.read(entries.newest_seq)
            await held.coordinator.dispatcher.look()
            assert await held.coordinator.house.ledger.read(entries.newest_seq) == before
            task = await get(held, id)
            assert (task.state, task.begun) == (TaskState.WORKING, 1)
        await held.coordinator.dispatcher.look()
        assert (await get(held, id)).reason == TaskReason.NOTHING_RECORDED
        items = await held.coordinator.house.ledger.read(attention.open_items)
        assert [one.kind for one in items] == [AttentionKind.TASK]


async def test_what_works_on_in_the_background_is_waited_for(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        begun = script({"run": "sleep 1", "background": True}, {"text": "it runs"})
        id = await put(held, begun, rules=("allow command sleep",))
        await until(held, id, TaskState.DONE)
        (run,) = await runs_of(held, id)
        said = await held.coordinator.house.ledger.read(lambda tx: turns.of_run(tx, run.id))
        assert [turn.source for turn in said] == [TurnSource.BRIEF, TurnSource.AGENT]
