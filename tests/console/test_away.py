"""What an operator who was away is told: when, in which words, and that it never costs a key or a letter."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from app.console.options import ConsoleOptions
from app.console.views.away import Away, away_lines, happened
from app.console.views.glyphs import UNICODE
from app.console.views.ink import cells, plain
from app.wording import forbidden_in
from coordinator.api import ConsoleSnapshot, Group, Resume, Say, Seen
from store.vocab import MicroUsd, RunId, RunOutcome
from tests.console.driving import alone, burst, settled, typed
from tests.console.opened import console
from tests.console.scenes import full
from tests.fakes.backend import MINUTE, NOW, ago, make_decision, make_session, make_snapshot, make_turn
from tests.waiting import eventually

SINCE = ago(47 * MINUTE)
BACK = Away(since=SINCE, back=NOW)


def worked(**changes: object) -> ConsoleSnapshot:
    """Three turns since then, and one from before it."""
    turns = (
        make_turn(1, ended_at=ago(60 * MINUTE), cost=MicroUsd(5_000_000)),
        *(make_turn(n, ended_at=ago((40 - n) * MINUTE), cost=MicroUsd(306_667)) for n in (2, 3, 4)),
    )
    decisions = (make_decision(1, 12, asked_at=ago(10 * MINUTE)),)
    session = make_session(12, group=Group.NEEDS_YOU, turns=turns, in_flight=None, decisions=decisions)
    return make_snapshot(replace(session, **changes))  # type: ignore[arg-type]


def told(snapshot: ConsoleSnapshot, away: Away | None = BACK, **more: object) -> list[str]:
    values: dict[str, object] = {"width": 100, "most": 9, "resume": "Enter"} | more
    return [plain(row) for row in away_lines(snapshot, away, glyphs=UNICODE, **values)]  # type: ignore[arg-type]


def test_one_line_for_each_session_with_what_ended_what_it_asks_and_what_it_cost() -> None:
    rows = told(worked())
    assert rows[0].startswith("You were away 47m.")
    assert rows[1].endswith("3 turns ended, 1 asks, 0.92 spent")


def test_what_happened_before_is_not_told() -> None:
    assert happened(worked(), ago(1 * MINUTE)) == ()
    assert told(worked(), Away(since=ago(MINUTE), back=NOW)) == []
    assert told(make_snapshot(make_session(3, turns=()))) == []


def test_what_paused_is_counted_and_enter_is_offered_only_where_nothing_is_written() -> None:
    snapshot = worked(paused=True)
    assert "1 paused. Enter resumes all." in told(snapshot)[0]
    assert "Esc, then A resumes all." in told(snapshot, resume="Esc, then A")[0]
    ended = worked(paused=True, group=Group.ENDED, outcome=RunOutcome.INTERRUPTED, reason="stopped", ended_at=NOW)
    assert "paused" not in told(ended)[0] and "stopped by you" in told(ended)[1]


def test_while_nobody_looks_no_time_runs_on_it() -> None:
    away = Away(since=SINCE)
    assert told(worked(), away) == told(replace(worked(), now=NOW + 3_600_000), away)


@pytest.mark.parametrize("width", [30, 54, 76, 110])
@pytest.mark.parametrize("most", [2, 3, 6, 20])
def test_it_fits_and_counts_what_it_leaves_out(width: int, most: int) -> None:
    rows = told(full(), Away(since=ago(60 * MINUTE), back=NOW), width=width, most=most)
    assert all(cells(row) <= width and forbidden_in(row) == [] for row in rows)
    assert len(rows) <= max(most, 2)
    count = len(happened(full(), ago(60 * MINUTE)))
    shown = sum(not row.strip().startswith("and ") for row in rows) - 1
    more = next((int(row.split()[1]) for row in rows if row.strip().startswith("and ")), 0)
    assert shown + more == count


# ------------------------------------------------------------------------------------------------------------- by keys


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def options(clock: Callable[[], float], **more: object) -> ConsoleOptions:
    return replace(ConsoleOptions(home="/home/mara", monotonic=clock, seen_after=0.01), **more)  # type: ignore[arg-type]


async def test_a_console_that_is_opened_again_tells_what_happened_and_steals_no_letter() -> None:
    clock = Clock()
    async with console(replace(worked(), last_here=SINCE), options=options(clock)) as (app, pilot, backend):
        assert "away 47m" in plain(app.drive.away_block.rows[0])
        burst(app, *"hello")
        await settled(pilot)
        assert app.drive.composer.text == "hello"
        assert app.drive.away_block.rows, "it can be read for a second at least"
        clock.now += 1.5
        burst(app, "!")
        await settled(pilot)
        assert app.drive.composer.text == "hello!" and app.drive.away_block.rows == ()
        assert backend.given(Say) == []
        await alone(app, pilot, "escape")
        await alone(app, pilot, "W")
        assert "away 47m" in plain(app.drive.away_block.rows[0])


async def test_a_first_console_and_a_quiet_night_tell_nothing() -> None:
    just_ended = make_turn(2, ended_at=ago(2_000), cost=MicroUsd(0))
    soon = make_session(12, group=Group.YOUR_MOVE, turns=(just_ended,), in_flight=None)
    soon_back = make_snapshot(soon, last_here=ago(5_000))
    for snapshot in (worked(), replace(worked(), last_here=ago(MINUTE)), soon_back):
        async with console(snapshot) as (app, pilot, _):
            assert app.drive.away_block.rows == ()
            await alone(app, pilot, "escape")
            await alone(app, pilot, "W")
            assert "you were not away" in app.drive.said.text


async def test_ten_minutes_without_a_key_and_what_ends_meanwhile_stands_there_for_who_comes_back() -> None:
    clock = Clock()
    idle = make_session(12, turns=(make_turn(1),), in_flight=None, group=Group.IDLE)
    given = options(clock, away_after=0.05)
    async with console(make_snapshot(idle), options=given) as (app, pilot, backend):
        await typed(app, pilot, "half a tho")
        clock.now += 700
        await eventually(lambda: app.deeds.returning.away)
        assert app.drive.away_block.rows == (), "nothing happened yet"
        backend.given(Seen).clear()
        seen = len(backend.given(Seen))
        later = make_turn(2, "next", ended_at=NOW + 60_000)
        backend.change_session(12, turns=(make_turn(1), later), turn_ended_at=NOW + 60_000, group=Group.YOUR_MOVE)
        await eventually(lambda: app.drive.away_block.rows)
        assert "Away since" in plain(app.drive.away_block.rows[0])
        await settled(pilot)
        assert len(backend.given(Seen)) == seen, "it stands on a screen that nobody looks at"
        burst(app, "u")
        await eventually(lambda: app.drive.composer.text == "half a thou")
        assert "You were away" in plain(app.drive.away_block.rows[0])
        await eventually(lambda: len(backend.given(Seen)) > seen, what="and now it is seen")


async def test_what_pauses_stands_there_and_enter_resumes_it() -> None:
    session = make_session(12, turns=(make_turn(1),), in_flight=None, group=Group.IDLE)
    clock = Clock()
    async with console(make_snapshot(session), options=options(clock)) as (app, pilot, backend):
        backend.change_session(12, paused=True)
        await eventually(lambda: app.drive.away_block.rows)
        assert "1 paused. Enter resumes all." in plain(app.drive.away_block.rows[0])
        for key, words in (("escape", "A resumes all."), ("i", "Enter resumes all.")):
            await alone(app, pilot, key)
            assert words in plain(app.drive.away_block.rows[0])
        await typed(app, pilot, "x")
        backend.change(today=1)
        await eventually(lambda: "Esc, then A resumes all." in plain(app.drive.away_block.rows[0]))
        await alone(app, pilot, "backspace")
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(Resume))
        backend.change_session(12, paused=False)
        await eventually(lambda: app.drive.away_block.rows == ())


async def test_the_block_never_has_the_focus_and_moves_it_nowhere() -> None:
    async with console(replace(full(), last_here=SINCE)) as (app, pilot, _):
        assert app.focused is app.drive.composer
        assert not app.drive.away_block.can_focus and app.drive.run_in_view == RunId(12)
        await settled(pilot)
        assert app.drive.transcript.size.height >= 5


async def test_on_a_small_screen_it_leaves_the_conversation_its_rows() -> None:
    async with console(replace(full(), last_here=SINCE), size=(80, 24)) as (app, pilot, _):
        await settled(pilot)
        assert 0 < len(app.drive.away_block.rows) <= 3
        assert app.drive.transcript.size.height >= 5
        assert app.drive.hints.region.bottom == 24
