"""Clocks that step, and working time that stands still: pure, driven by numbers."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from coordinator.api import Group
from coordinator.clock import RealClock
from coordinator.constants import Timing
from coordinator.timers import renewal_in
from coordinator.wallclock import FORWARD_STEP, GRACE, WallClock
from coordinator.worktime import Work, merged, runs_now, worked_ms, working_ms
from store import decisions, turns
from store.tx import Tx
from store.vocab import DecisionKind, Millis, RunId, TurnId, TurnResultKind, TurnSource
from tests.coordinator.held import QUICK, holding
from tests.store.scenes import NOON, held, in_memory, said
from tests.waiting import eventually

HOUR = 3_600_000


def test_a_step_back_never_lengthens_the_terms() -> None:
    clock = WallClock(wall_ms=0, monotonic=0.0)
    clock, stepped = clock.at(-HOUR, 10.0)
    assert not stepped and clock.left(20_000) == 10.0
    clock, _ = clock.at(-HOUR + 15_000, 25.0)
    assert clock.left(20_000) == -5.0


def test_a_step_forward_warns_and_ends_after_the_grace() -> None:
    clock = WallClock(wall_ms=0, monotonic=0.0)
    clock, stepped = clock.at(HOUR, 1.0)
    assert stepped and clock.left(60_000) == GRACE
    clock, stepped = clock.at(HOUR + 59_000, 60.0)
    assert not stepped and clock.left(60_000) == 1.0
    clock, _ = clock.at(HOUR + 61_000, 62.0)
    assert clock.left(60_000) < 0


def test_small_differences_are_no_step() -> None:
    clock = WallClock(wall_ms=0, monotonic=0.0)
    clock, stepped = clock.at(int(FORWARD_STEP * 1000) + 900, 1.0)
    assert not stepped


@given(st.lists(st.tuples(st.integers(-(10**9), 10**9), st.floats(0, 1e4)), max_size=20))
def test_left_never_grows_but_by_a_warning(steps: list[tuple[int, float]]) -> None:
    clock, monotonic, end = WallClock(wall_ms=0, monotonic=0.0), 0.0, 10**10
    before = clock.left(end)
    for wall, passed in steps:
        monotonic += passed
        clock, stepped = clock.at(wall, monotonic)
        now = clock.left(end)
        assert stepped or now <= before + 1e-3
        before = now


@pytest.mark.parametrize(
    ("remaining", "at_rest", "seconds"),
    [(600, False, 2), (600, True, 60), (86_400, True, 60), (300, True, 30), (60, True, 6), (5, True, 2), (0, True, 2)],
)
def test_a_hold_at_rest_is_renewed_rarely_and_often_enough(remaining: float, at_rest: bool, seconds: float) -> None:
    assert renewal_in(Timing(), remaining, at_rest=at_rest) == seconds


class Stepping(RealClock):
    ahead = 0

    def now(self) -> Millis:
        return Millis(super().now() + self.ahead)


async def test_a_step_of_the_clock_is_told_at_once_of_a_hold_at_rest(tmp_path: Path) -> None:
    clock = Stepping()
    async with holding(tmp_path, clock=clock, timing=replace(QUICK, hold_seconds=600.0)) as held:
        run = await held.start("say something")
        await held.settled(run)
        await held.until(run, lambda view: view.group is not Group.WORKING)
        clock.ahead = 3 * HOUR

        def told() -> bool:
            return any(one.run == run and "clock" in one.text for one in held.coordinator.snapshot().attention)

        await eventually(told, 10.0)
        assert held.view(run).outcome is None  # type: ignore[union-attr]


def test_working_time_stands_still_while_the_operator_is_awaited() -> None:
    assert working_ms([(0, 100)], []) == 100
    assert working_ms([(0, 100)], [(20, 50)]) == 70
    assert working_ms([(0, 100), (200, 300)], [(50, 250)]) == 100
    assert working_ms([(0, 100), (50, 150)], [(140, 400), (145, 150)]) == 140


spans = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=8)


@given(spans, spans)
def test_working_time_is_what_counting_each_moment_gives(
    turns: list[tuple[int, int]], waits: list[tuple[int, int]]
) -> None:
    def covered(them: list[tuple[int, int]]) -> set[int]:
        return {moment for start, end in them for moment in range(start, end)}

    assert working_ms(turns, waits) == len(covered(turns) - covered(waits))
    assert sum(end - start for start, end in merged(turns)) == len(covered(turns))


def at(tx: Tx, second: int) -> Tx:
    return Tx(tx.conn, Millis(NOON + second * 1000))


def worked(tx: Tx, run: RunId, second: int) -> tuple[int, bool]:
    """Seconds up to then, and whether it counts just now."""
    rows = turns.of_run(tx, run), decisions.of_run(tx, run)
    now, work = Millis(NOON + second * 1000), Work.of(*rows)
    assert (work.at(now), work.runs) == (worked_ms(*rows, now), runs_now(*rows))
    return worked_ms(*rows, now) // 1000, runs_now(*rows)


def test_working_time_is_counted_from_the_ledger_s_own_rows() -> None:
    with in_memory() as tx:
        run = held(tx)[0].id
        turn = said(tx, run)
        assert worked(tx, run, 5) == (0, False), "no byte of it has gone"
        turns.written(at(tx, 10), id=turn)
        assert worked(tx, run, 15) == (5, True)
        turns.accepted(at(tx, 20), id=turn)
        assert worked(tx, run, 30) == (20, True), "what was counted stays counted"
        asked = decisions.ask(
            at(tx, 40), run=run, turn=turn, kind=DecisionKind.PERMISSION, request="r", generation=1, payload="{}",
            title="Run a command?", subject="",
        )  # fmt: skip
        assert worked(tx, run, 3_000) == (30, False), "it waits for the operator"
        decisions.answer(
            at(tx, 3_000), id=asked.id, revision=1, payload_hash=asked.payload_hash, answer="{}", operator="ada"
        )
        assert worked(tx, run, 3_010) == (40, True)
        turns.settle(at(tx, 3_020), id=turn, result=TurnResultKind.SUCCESS)
        assert worked(tx, run, 9_000) == (50, False)
        never = said(at(tx, 9_000), run, "turn-2", source=TurnSource.OPERATOR)
        turns.cancel(at(tx, 9_050), id=never)
        assert worked(tx, run, 9_100) == (50, False), "one that never reached the agent was no work"
        late = said(at(tx, 9_100), run, "turn-3", source=TurnSource.OPERATOR)
        turns.settle(at(tx, 9_110), id=TurnId(late), result=TurnResultKind.SUCCESS)
        assert worked(tx, run, 9_200) == (60, False), "a result may come without a sign that it began"
        back = said(at(tx, 9_200), run, "turn-4", source=TurnSource.OPERATOR)
        turns.written(at(tx, 9_200), id=back)
        assert worked(tx, run, 9_000) == (60, True), "a clock that was set back takes nothing away"
