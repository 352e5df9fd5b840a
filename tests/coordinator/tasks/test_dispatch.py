"""The line, begun and brought to its end by a console: real ledger, real processes of the practice agent."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator import ledgermark
from coordinator.api import (
    HoldLine,
    HoldTask,
    RetryTask,
    SeriesTerms,
    Stop,
    TaskReason,
)
from coordinator.attendance import Attendance
from coordinator.tasks import result, seriesterms
from coordinator.terms import Terms
from store import attempts, operations, runs, series
from store.vocab import (
    EndReason,
    OperationState,
    RunOutcome,
    SeriesState,
    TaskState,
)
from tests.coordinator.held import holding, script
from tests.coordinator.tasks import lining
from tests.coordinator.tasks.lining import (
    ASKS,
    at_rest,
    get,
    let_go,
    put,
    runs_of,
    until,
    working,
    writes,
)
from tests.waiting import eventually


async def test_a_task_is_run_and_done(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        id = await put(held, writes("a.txt", "first"))
        task = await until(held, id, TaskState.DONE)
        (run,) = await runs_of(held, id)
        assert (run.outcome, run.reason, run.operator) == (RunOutcome.FINISHED, EndReason.AT_REST, "Ada")
        assert (Path(run.tree) / "a.txt").read_text() == "first" and run.tree != run.repository
        assert task.token is None and task.series is not None
        agreed = await held.coordinator.house.ledger.read(lambda tx: series.get(tx, task.series))  # type: ignore[arg-type]
        assert agreed is not None and agreed.state is SeriesState.CLOSED
        view = await held.until(run.id, lambda v: v.outcome is not None)
        assert (view.task, view.attempt, view.attempts) == (id, 1, 3)

        def nothing_left() -> bool:
            summary = held.coordinator.snapshot().queue
            return (summary.waiting, summary.working, summary.needs_operator) == (0, 0, 0)

        await eventually(nothing_left)
        await at_rest(held)


async def test_what_needs_another_begins_when_that_is_done_and_where_it_ended(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        first = await put(held, writes("first.txt"))
        last = await put(held, writes("last.txt"), needs=[first], priority=9)
        other = await put(held, writes("other.txt"), needs=[first])
        for id in (first, last, other):
            await until(held, id, TaskState.DONE)
        (one,), (two,), (three,) = [await runs_of(held, id) for id in (first, last, other)]
        assert one.ended_at is not None and max(two.created_at, three.created_at) >= one.ended_at
        assert min(two.created_at, three.created_at) >= one.ended_at
        commit = await result.of(held.tree, one.id)
        assert commit and two.head == three.head == commit
        assert {path.name for path in Path(two.tree).iterdir()} >= {"first.txt", "last.txt"}


async def test_paths_that_overlap_exclude_each_other_while_others_run(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        waits = script(ASKS, {"write": "src/a", "content": "x"}, {"text": "done"})
        first = await put(held, waits, paths=["src"])
        at_work = await working(held, first)
        overlapping = await put(held, writes("src/b"), paths=["src/b"], priority=5)
        beside = await put(held, writes("docs/c"), paths=["docs"])
        await until(held, beside, TaskState.DONE)
        assert (await get(held, overlapping)).state is TaskState.QUEUED, "a higher priority takes no paths away"
        await let_go(held, at_work)
        await until(held, first, TaskState.DONE)
        await until(held, overlapping, TaskState.DONE)
        (one,), (two,) = await runs_of(held, first), await runs_of(held, overlapping)
        assert one.ended_at is not None and two.created_at >= one.ended_at
        await at_rest(held)


async def test_no_more_run_than_there_are_slots(tmp_path: Path) -> None:
    async with holding(tmp_path, max_held_sessions=2) as held:
        own = await held.start("go " + script(ASKS))
        ids = [await put(held, script(ASKS, {"write": f"{n}", "content": "x"})) for n in range(2)]
        first = await working(held, ids[0])
        await held.until(first, lambda v: v.decisions)
        assert (await get(held, ids[1])).state is TaskState.QUEUED
        await at_rest(held)
        await held.do(Stop(run=own))
        await let_go(held, await working(held, ids[1]))
        await let_go(held, first)
        for id in ids:
            await until(held, id, TaskState.DONE)


async def test_what_would_run_is_not_what_was_agreed_to(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        id = await put(held, writes("a"), signed=False)

        def other(terms: SeriesTerms) -> SeriesTerms:
            return replace(terms, setup="make ready")

        await lining.sign(held, id, alter=other)
        task = await until(held, id, TaskState.NEEDS_OPERATOR)
        assert task.reason == TaskReason.SIGN_AGAIN and '"setup"' in task.detail and "make ready" in task.detail
        assert await runs_of(held, id) == []
        (operation,) = await held.coordinator.house.ledger.read(
            lambda tx: [operations.get(tx, id) for (id,) in tx.conn.execute("SELECT id FROM operations")]
        )
        assert operation is not None and operation.state is OperationState.RETIRED
        await lining.sign(held, id)
        await held.do(RetryTask(task=id))
        await until(held, id, TaskState.DONE)


async def test_nothing_begins_while_held_or_away(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        await held.do(HoldLine(held=True))
        id = await put(held, writes("a"))
        await at_rest(held)
        house = held.coordinator.house
        there = house.attendance
        house.attendance = Attendance(window=60, grace=6000, last_beat=house.clock.monotonic() - 61)
        held.coordinator.attending.beaten.set()
        await held.do(HoldLine(held=False))
        await at_rest(held)
        house.attendance = there
        await held.do(HoldTask(task=id, held=True))
        await at_rest(held)
        assert (await get(held, id)).begun == 0
        house.attendance = Attendance(window=60, grace=6000, last_beat=house.clock.monotonic() - 61)
        await held.do(HoldTask(task=id, held=False))
        await at_rest(held)
        held.coordinator.beat()
        await until(held, id, TaskState.DONE)


async def test_two_consoles_share_one_line(tmp_path: Path) -> None:
    async with holding(tmp_path) as one, holding(tmp_path) as other:
        ids = [await put(one, writes(f"{n}.txt"), paths=[f"{n % 3}"]) for n in range(6)]
        other.coordinator.dispatcher.poke()
        for id in ids:
            await until(one, id, TaskState.DONE)
        made = [await runs_of(one, id) for id in ids]
        assert [len(of) for of in made] == [1] * 6
        assert {of[0].incarnation for of in made} == {
            one.coordinator.house.incarnation,
            other.coordinator.house.incarnation,
        }
        await asyncio.gather(at_rest(one), at_rest(other))


async def test_a_console_that_is_closed_gives_its_tasks_back_and_the_next_one_goes_on(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        id = await put(held, script({"write": "a", "content": "x"}, ASKS, {"text": "done"}))
        run = await working(held, id)
        await held.until(run, lambda v: v.decisions)
    async with holding(tmp_path) as held:
        second = await working(held, id, nth=2)
        made = await held.coordinator.house.ledger.read(lambda tx: attempts.of_task(tx, id))
        assert [one.counted for one in made] == [False, True]
        before = await held.coordinator.house.ledger.read(lambda tx: runs.get(tx, run))
        assert before is not None and before.reason == EndReason.SHUTDOWN
        await let_go(held, second)
        await until(held, id, TaskState.DONE)


async def test_a_fault_of_our_own_over_one_task_keeps_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = seriesterms.cut

    def faulty(agreed: SeriesTerms, found: Terms, **more: object) -> object:
        if "broken" in agreed.instruction:
            raise RuntimeError("a fault")
        return cut(agreed, found, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(seriesterms, "cut", faulty)
    async with holding(tmp_path) as held:
        await held.do(HoldLine(held=True))
        broken = await put(held, "broken " + writes("a"))
        whole = await put(held, writes("b"))
        await held.do(HoldLine(held=False))
        task = await until(held, broken, TaskState.NEEDS_OPERATOR)
        assert task.reason == TaskReason.REFUSED
        await until(held, whole, TaskState.DONE)
        await at_rest(held)


async def test_a_ledger_that_was_put_back_begins_nothing(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        await held.do(HoldLine(held=True))
        id = await put(held, writes("a"))
        await held.do(HoldLine(held=False))
        ledger = held.coordinator.house.ledger
        await ledger.transaction(lambda tx: ledgermark.close_as_restored(tx, ledgermark.Why.BEHIND, "test-machine"))
        await eventually(lambda: held.coordinator.snapshot().queue.held == "restored")
        await held.do(HoldLine(held=False))
        await at_rest(held)
        task = await get(held, id)
        assert task.begun == 0 and task.spent, "what was agreed to in it is not any more"


async def test_in_the_repository_itself_one_works_after_the_other(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        own = await held.start("go " + script(ASKS))
        first = await put(held, script(ASKS, {"write": "a", "content": "x"}), in_place=True)
        await at_rest(held)
        assert (await get(held, first)).begun == 0, "the operator's own run works there"
        await held.do(Stop(run=own))
        run = await working(held, first)
        second = await put(held, writes("b"), in_place=True)
        await held.until(run, lambda v: v.decisions)
        await at_rest(held)
        await let_go(held, run)
        for id in (first, second):
            await until(held, id, TaskState.DONE)
        assert {path.name for path in held.tree.iterdir()} >= {"a", "b"}
        states = await held.coordinator.house.ledger.read(
            lambda tx: {state for (state,) in tx.conn.execute("SELECT state FROM operations")}
        )
        assert states == {OperationState.ADMITTED}, "nothing was claimed that could not be begun"
