"""The list of sessions: what gives way when there is no room, the filter, and that the one in view is never lost."""

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from app.console.keys import Where
from app.console.views.glyphs import ASCII, UNICODE, Glyphs
from app.console.views.ink import cells, plain
from app.console.views.lists import DAY, LEAST_ENDED, ListPicture, list_picture, matches, ordered, strip_line
from coordinator.api import ConsoleSnapshot, Group, Interrupt, Say, SessionView
from store.vocab import Millis, RunId, RunOutcome
from tests.console.driving import alone, burst, settled, typed
from tests.console.opened import console
from tests.console.scenes import full, many
from tests.fakes.backend import MINUTE, NOW, ago, make_decision, make_session, make_snapshot
from tests.waiting import eventually


def over(run: int, minutes: int, **changes: object) -> SessionView:
    values: dict[str, object] = {
        "group": Group.ENDED,
        "in_flight": None,
        "outcome": RunOutcome.FINISHED,
        "reason": "finished",
        "ended_at": ago(minutes * MINUTE),
    }
    return replace(make_session(run, f"over {run}"), **(values | changes))  # type: ignore[arg-type]


def pictured(snapshot: ConsoleSnapshot, room: int | None = None, **more: object) -> ListPicture:
    return list_picture(snapshot, RunId(12), NOW, 30, UNICODE, room=room, **more)  # type: ignore[arg-type]


def rows(picture: ListPicture) -> list[str]:
    return [plain(row) for row in picture.lines]


def second_rows(picture: ListPicture) -> set[RunId]:
    return {run for run in picture.runs if run is not None and picture.runs.count(run) == 2}


# ------------------------------------------------------------------------------------------------------- what gives way


def test_first_the_ended_ones_fold_and_nothing_else_is_any_shorter() -> None:
    whole, tight = pictured(many()), pictured(many(), room=32)
    assert second_rows(tight) >= second_rows(pictured(full()))
    assert len(tight.lines) <= 32 < len(whole.lines)
    assert rows(tight)[-1].strip().startswith("+") and "F finds them" in rows(tight)[-1]


def test_then_second_rows_go_and_those_that_need_somebody_keep_theirs_longest() -> None:
    snapshot = make_snapshot(*full().sessions, *(make_session(60 + n) for n in range(8)), over(90, 5), over(91, 6))
    tight = pictured(snapshot, room=34)
    assert len(tight.lines) <= 34
    assert second_rows(tight) == {12, 14}
    least = pictured(snapshot, room=20)
    assert second_rows(least) == set()
    assert sum("over" in row or "rename" in row for row in rows(least)) >= LEAST_ENDED - 1


def test_a_row_alone_still_says_since_when_somebody_is_waited_for() -> None:
    session = make_session(3, group=Group.NEEDS_YOU, decisions=(make_decision(1, 3, asked_at=ago(9 * MINUTE)),))
    assert any(" 9m " in row for row in rows(pictured(make_snapshot(session), room=2)))


def test_what_ended_on_another_day_is_folded_and_counted() -> None:
    snapshot = make_snapshot(over(1, 60), over(2, 25 * 60), over(3, 30 * 60, pinned=True), over(4, 40 * 60))
    assert [one.run for one in ordered(snapshot)] == [3, 1]
    assert [one.run for one in ordered(snapshot, RunId(4))] == [3, 1, 4], "the one in view stays"
    assert "+2 more" in rows(list_picture(snapshot, None, NOW, 30, UNICODE))[-1]


sessions = st.lists(
    st.tuples(st.sampled_from(list(Group)), st.booleans(), st.integers(0, 3_000), st.text(max_size=30)), max_size=30
)


@given(sessions, st.integers(8, 60), st.integers(20, 40), st.integers(0, 29))
def test_whatever_there_is_it_fits_in_width_and_shows_the_one_in_view(
    made: list[tuple[Group, bool, int, str]], room: int, width: int, at: int
) -> None:
    snapshot = make_snapshot(
        *(
            over(n, minutes, title=title, pinned=pinned)
            if group is Group.ENDED
            else make_session(n, title, group=group, pinned=pinned)
            for n, (group, pinned, minutes, title) in enumerate(made, 1)
        )
    )
    run = RunId(min(at, len(made)))
    picture = list_picture(snapshot, run, NOW, width, UNICODE, room=room)
    assert all(cells(row) <= width for row in picture.lines)
    shown = [one for one in dict.fromkeys(picture.runs) if one is not None]
    assert shown == [one.run for one in ordered(snapshot, run) if one.run in shown], "in the order that J and K go"
    assert {one.run for one in snapshot.sessions if one.group is not Group.ENDED} <= set(shown), "only ended ones fold"
    assert not made or run in (0, *shown)
    told = next((row for row in rows(picture) if row.strip().startswith("+")), "")
    assert len(snapshot.sessions) - len(shown) == (int(told.split()[0][1:]) if told else 0), "what is folded is counted"


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_without_colours_each_group_is_told_apart(glyphs: Glyphs) -> None:
    """On a narrow screen there is no heading: the sign before the number is all."""
    signs = {glyphs.of(group) for group in Group}
    assert len(signs) == len(Group)
    row = plain(strip_line(full(), RunId(12), 400, glyphs))
    for session in full().sessions:
        if session.group is not Group.ENDED:
            assert f"{glyphs.of(session.group)}{session.run} " in row
    for heading in ("NEEDS YOU", "YOUR MOVE", "WORKING", "IDLE", "ENDED"):
        assert heading in rows(list_picture(full(), RunId(12), NOW, 30, glyphs))


# ----------------------------------------------------------------------------------------------------------- the filter


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("CHECKOUT", {12}),
        ("fix flaky", {12}),
        ("needs", {12, 14}),
        ("working v3", {11}),
        ("翻訳", {15}),
        ("footplate/9", {9}),
        ("ended linter", {7}),
        ("nothing of the kind", set()),
    ],
)
def test_every_word_is_looked_for_in_what_a_session_is_known_by(words: str, found: set[int]) -> None:
    assert {one.run for one in full().sessions if matches(one, words)} == found


def test_the_list_says_that_it_is_narrowed_and_what_waits_outside() -> None:
    shown = rows(pictured(full(), words="docs"))
    assert shown[0].startswith("FILTER docs") and "1 of 8" in shown[0]
    assert "2 outside it" in shown[1]
    assert not any("checkout" in row for row in shown)
    assert not any("outside" in row for row in rows(pictured(full(), words="needs")))


def test_a_filter_finds_what_is_folded() -> None:
    old = over(5, 3 * 24 * 60, title="long ago")
    assert old.ended_at is not None and NOW - old.ended_at > DAY
    assert ordered(make_snapshot(old)) == () and ordered(make_snapshot(old), None, "long") == (old,)


def test_an_empty_filter_says_how_to_get_out_of_it() -> None:
    assert any("Esc shows all" in row for row in rows(pictured(full(), words="zzz")))
    assert "Esc shows all" in plain(strip_line(full(), RunId(12), 78, UNICODE, words="zzz"))


async def test_words_are_typed_kept_and_taken_away_and_none_of_them_is_a_key() -> None:
    async with console(full()) as (app, pilot, backend):
        await typed(app, pilot, "a draft")
        await alone(app, pilot, "escape")
        await alone(app, pilot, "F")
        assert app.drive.focus_place is Where.FILTER
        # Each of these is a key of the keys focus.
        await typed(app, pilot, "XqJ docs")
        assert app.drive.filter_words == "XqJ docs" and app.is_running and app.drive.run_in_view == 12
        for _ in range(4):
            await alone(app, pilot, "backspace")
        await alone(app, pilot, "ctrl+u")
        await typed(app, pilot, "docs")
        await alone(app, pilot, "enter")
        assert app.drive.focus_place is Where.KEYS and app.drive.filter_words == "docs"
        await alone(app, pilot, "J")
        assert app.drive.run_in_view == 9, "J and K go through what is shown"
        await alone(app, pilot, "J")
        assert app.drive.run_in_view == 9
        await alone(app, pilot, "escape")
        assert app.drive.filter_words == ""
        assert backend.given(Say) == backend.given(Interrupt) == []
        await app.deeds.viewing.view(RunId(12))
        assert app.drive.composer.text == "a draft"


async def test_what_waits_longest_is_reached_out_of_the_filter() -> None:
    async with console(full()) as (app, pilot, _):
        await alone(app, pilot, "escape")
        await alone(app, pilot, "F")
        await typed(app, pilot, "docs")
        await alone(app, pilot, "ctrl+o")
        await eventually(lambda: app.drive.focus_place is Where.CARD)
        assert app.drive.run_in_view == 12
        assert not app.drive.has_class("-filtering") and app.drive.filter_words == "docs"


async def test_a_filter_that_nothing_matches_moves_nowhere() -> None:
    async with console(full()) as (app, pilot, _):
        await alone(app, pilot, "escape")
        await alone(app, pilot, "F")
        await typed(app, pilot, "zzz")
        await alone(app, pilot, "enter")
        await alone(app, pilot, "J")
        assert app.drive.run_in_view == 12 and "Esc shows all" in app.drive.said.text


# ----------------------------------------------------------------------------------------------------------- the window


def crowd() -> ConsoleSnapshot:
    return make_snapshot(*(make_session(n, f"session {n}") for n in range(1, 60)))


async def test_the_session_in_view_stays_on_the_screen_and_the_wheel_is_not_undone() -> None:
    async with console(crowd(), size=(120, 30)) as (app, pilot, backend):
        await alone(app, pilot, "escape")
        for _ in range(40):
            burst(app, "J")
        await eventually(lambda: app.drive.run_in_view == 41)
        await settled(pilot)
        shown = [plain(row) for row in app.drive.session_list.rows]
        assert any("session 41" in row for row in shown)
        assert "more above" in shown[0] and "more below" in shown[-1]
        app.drive.session_list._first = 0
        app.drive.session_list._cut()
        backend.change(today=5)
        await eventually(lambda: app.drive.snapshot.today == 5)
        assert any("session 1 " in plain(row) for row in app.drive.session_list.rows), "a new snapshot moves it not"
        await alone(app, pilot, "J")
        assert any("session 42" in plain(row) for row in app.drive.session_list.rows), "the next one in view does"


def test_ages_do_not_tick_in_a_list_of_one_row_each() -> None:
    before = pictured(crowd(), room=20)
    after = list_picture(crowd(), RunId(12), Millis(NOW + 1_000), 30, UNICODE, room=20)
    assert replace(before) == after
