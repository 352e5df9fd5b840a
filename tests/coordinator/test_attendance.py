"""Attendance: the pure window, and what a held run does when the operator is away, comes back, or does not."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from coordinator.api import Done, LeaveAll, Left, Resume, Say, Stop
from coordinator.attendance import Attendance, Presence
from coordinator.custody.processes import carriers
from store.vocab import EndReason, TurnResultKind, TurnState
from tests.coordinator.held import holding, script

ORDER = [Presence.THERE, Presence.NEARLY_AWAY, Presence.AWAY, Presence.GRACE_OVER, Presence.LAPSED]


@pytest.mark.parametrize(
    ("away", "presence"),
    [(0, ORDER[0]), (79, ORDER[0]), (80, ORDER[1]), (99, ORDER[1]), (100, ORDER[2]), (130, ORDER[3]), (200, ORDER[4])],
)
def test_the_window(away: float, presence: Presence) -> None:
    there = Attendance(window=100, grace=30, last_beat=1000)
    assert there.at(1000 + away) is presence


@given(st.floats(1, 1e5), st.floats(0, 1e5), st.floats(0, 1e6))
def test_it_only_moves_on_until_a_beat_and_says_when(window: float, grace: float, away: float) -> None:
    there = Attendance(window=window, grace=grace, last_beat=0)
    later = there.next_change(away)
    assert later > 0
    assert ORDER.index(there.at(away)) <= ORDER.index(there.at(away + later + 1e-6))
    # Nothing changes before it says so.
    assert there.at(away) is there.at(away + later * 0.5)
    assert there.beat(away).at(away) is Presence.THERE


async def test_away_pauses_and_a_resume_lets_it_go_on(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"text": "one"}))
        await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        now = held.coordinator.house.clock.monotonic()
        held.coordinator.house.attendance = Attendance(window=60, grace=60, last_beat=now - 61)
        held.coordinator.attending.beaten.set()
        await held.until(run, lambda v: v.paused)
        assert isinstance(await held.do(Resume()), Done)
        await held.until(run, lambda v: not v.paused)
        await held.do(Say(run=run, text="on " + script({"text": "two"})))
        await held.until(run, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED)


async def test_after_the_grace_a_turn_is_interrupted_and_after_a_second_window_the_run_ends(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"do": "silence"}))
        await held.until(run, lambda v: v.turns[0].state is TurnState.ACCEPTED)
        now = held.coordinator.house.clock.monotonic()
        held.coordinator.house.attendance = Attendance(window=60, grace=0, last_beat=now - 61)
        held.coordinator.attending.beaten.set()
        view = await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert view.turns[0].result is TurnResultKind.INTERRUPTED
        held.coordinator.house.attendance = Attendance(window=60, grace=0, last_beat=now - 121)
        held.coordinator.attending.beaten.set()
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.reason == EndReason.LAPSED


async def test_left_held_and_picked_up_by_the_next_console(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"do": "silence"}))
        await held.until(run, lambda v: v.turns[0].state is TurnState.ACCEPTED)
        nonce = held.coordinator.sessions[run].nonce
        left = await held.do(LeaveAll())
        assert isinstance(left, Left) and [one for one, _ in left.until] == [run]
    assert carriers(nonce), "leaving is no end"
    async with holding(tmp_path) as held:
        assert held.coordinator.swept.picked_up == (run,)
        view = await held.until(run, lambda v: v.turns and v.turns[0].state is TurnState.ACCEPTED)
        assert view.outcome is None and not view.owner
        await held.do(Stop(run=run))
        await held.until(run, lambda v: v.outcome is not None)
        assert carriers(nonce) == []
