"""The attention queue on the screen: one row for each thing, what Enter and ``x`` do, and where ``^O`` goes."""

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from app.console.keys import Where
from app.console.screens.queue import PARK_AGAIN, Queue
from app.console.views.actions import Situation, why_dead
from app.console.views.attention import kind_words, queue, queue_rows, why_not_put_away
from app.console.views.bars import console_title
from app.console.views.glyphs import ASCII, UNICODE
from app.console.views.ink import cells, plain
from app.console.views.standing import ended
from app.wording import forbidden_in
from coordinator.api import Acknowledge, AttentionView, DismissDecision, Group
from store.refusal import Refusal
from store.vocab import AttentionKind, DecisionId, DecisionKind, Millis, RefusalReason, RunId, RunOutcome
from tests.console.driving import alone, settled, typed
from tests.console.opened import answers, console
from tests.console.scenes import crowd_of_waits, full, stopped
from tests.fakes.backend import MINUTE, NOW, SECOND, ago, make_decision, make_session, make_snapshot
from tests.waiting import eventually


def item(number: int, kind: AttentionKind, run: int | None = 12, **changes: object) -> AttentionView:
    base = AttentionView(
        id=number, run=None if run is None else RunId(run), kind=kind, text="told", since=ago(number * MINUTE)
    )
    return replace(base, **changes)  # type: ignore[arg-type]


# ----------------------------------------------------------------------------------------------------------- what waits


def test_every_thing_has_a_row_of_its_own_and_the_oldest_is_the_first() -> None:
    two = make_session(
        3,
        group=Group.NEEDS_YOU,
        decisions=(make_decision(1, 3, asked_at=ago(9 * MINUTE)), make_decision(2, 3, asked_at=ago(MINUTE))),
    )
    snapshot = make_snapshot(two, attention=(item(5, AttentionKind.STALLED, 4), item(6, AttentionKind.PAGE, None)))
    assert [(one.kind.value, one.run) for one in queue(snapshot)] == [
        ("decision", 3),
        ("page", None),
        ("stalled", 4),
        ("decision", 3),
    ]


def test_a_request_that_the_ledger_and_the_session_both_tell_of_is_one_row() -> None:
    session = make_session(3, group=Group.NEEDS_YOU, decisions=(make_decision(7, 3, subject="make"),))
    told = item(1, AttentionKind.DECISION, 3, decision=DecisionId(7), to_see=False, text="Run a command?")
    rows = queue(make_snapshot(session, attention=(told,)))
    assert len(rows) == 1 and rows[0].text == "Run a command? make" and kind_words(rows[0]) == "permission"


def test_one_that_needs_somebody_is_never_missing_for_want_of_an_item() -> None:
    held = make_session(3, group=Group.NEEDS_YOU, decisions=(), at_budget=True)
    rows = queue(make_snapshot(held))
    assert [one.kind for one in rows] == [AttentionKind.BUDGET]
    assert why_not_put_away(rows[0]) is not None


@given(st.permutations(range(5)), st.integers(0, 4))
def test_it_is_first_come_first_served_whatever_the_order_of_the_snapshot(order: list[int], more: int) -> None:
    items = tuple(item(n + 1, AttentionKind.STALLED, n, since=ago((n + 1) * SECOND)) for n in order)
    sessions = tuple(
        make_session(40 + n, group=Group.NEEDS_YOU, decisions=(make_decision(40 + n, 40 + n, asked_at=ago(n * 1500)),))
        for n in range(more)
    )
    rows = queue(make_snapshot(*sessions, attention=items))
    assert len(rows) == 5 + more and len({one.key for one in rows}) == len(rows)
    assert [one.since for one in rows] == sorted(one.since for one in rows)


def test_the_title_counts_what_the_list_lists() -> None:
    snapshot = crowd_of_waits()
    title = plain(console_title(snapshot, NOW, 120, "/home/mara", UNICODE))
    assert f"{len(queue(snapshot))} need you, oldest" in title


@pytest.mark.parametrize("width", [40, 76, 108])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_rows_fit_say_their_kind_in_words_and_no_word_of_the_code(width: int, glyphs) -> None:  # type: ignore[no-untyped-def]
    snapshot = crowd_of_waits()
    rows = queue_rows(queue(snapshot), snapshot, NOW, width, glyphs, 0)
    assert max(cells(row) for row in rows) <= width
    for row, one in zip(rows, queue(snapshot), strict=True):
        assert kind_words(one) in plain(row)
        assert forbidden_in(plain(row)) == []


def test_only_the_oldest_counts_seconds() -> None:
    snapshot = crowd_of_waits()
    first = queue_rows(queue(snapshot), snapshot, NOW, 108, UNICODE, 0)
    later = queue_rows(queue(snapshot), snapshot, Millis(NOW + SECOND), 108, UNICODE, 0)
    assert [at for at, (one, two) in enumerate(zip(first, later, strict=True)) if one != two] in ([], [0])


def test_one_that_broke_off_needs_you_and_has_ended_all_the_same() -> None:
    """Among those that need the operator, it must not look as if something of it still ran."""
    broke = replace(stopped(), group=Group.NEEDS_YOU, outcome=RunOutcome.FAILED, reason="exited:1")
    snapshot = make_snapshot(broke, attention=(item(1, AttentionKind.CRASHED, 7),))
    assert ended(broke)
    assert "has ended" in str(why_dead("stop", Situation(snapshot=snapshot, run=RunId(7), focus=Where.KEYS)))
    assert "ended by itself" in queue(snapshot)[0].text


# ------------------------------------------------------------------------------------------------------------ the sheet


async def opened(app, pilot) -> Queue:  # type: ignore[no-untyped-def]
    await alone(app, pilot, "escape")
    await alone(app, pilot, "a")
    assert isinstance(app.screen, Queue)
    return app.screen


async def test_enter_goes_there_and_the_draft_stays() -> None:
    async with console(full()) as (app, pilot, _):
        await typed(app, pilot, "a draft")
        await opened(app, pilot)
        await alone(app, pilot, "down")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.run_in_view == 14 and app.drive.focus_place is Where.CARD)
        await alone(app, pilot, "escape")
        await app.deeds.viewing.view(RunId(12))
        assert app.drive.composer.text == "a draft"


async def test_what_is_only_to_be_seen_is_put_away_and_the_lit_row_stays_lit() -> None:
    async with console(crowd_of_waits()) as (app, pilot, backend):
        sheet = await opened(app, pilot)
        at = next(at for at, one in enumerate(sheet.rows) if one.kind is AttentionKind.STALLED)
        for _ in range(at):
            await alone(app, pilot, "j")
        chosen = sheet.chosen
        assert chosen is not None and chosen.kind is AttentionKind.STALLED
        backend.change(attention=(*backend.snapshot().attention, item(90, AttentionKind.PAGE, None)))
        await eventually(lambda: len(sheet.rows) == len(queue(backend.snapshot())))
        assert sheet.chosen is not None and sheet.chosen.key == chosen.key
        await alone(app, pilot, "x")
        await eventually(lambda: backend.given(Acknowledge))
        assert backend.given(Acknowledge) == [Acknowledge(item=chosen.item or 0)]
        assert isinstance(app.screen, Queue), "it stays open for the next one"


async def test_a_request_cannot_be_put_away_and_the_sheet_says_why() -> None:
    async with console(full()) as (app, pilot, backend):
        sheet = await opened(app, pilot)
        await alone(app, pilot, "x")
        assert "waits for an answer" in plain(sheet.foot_lines.rows[0])
        assert backend.given(Acknowledge) == backend.given(DismissDecision) == answers(backend) == []


async def test_a_question_without_an_agent_is_put_aside_by_a_second_press_only() -> None:
    parked = make_decision(5, 3, kind=DecisionKind.PARK, title="Which database?", subject="")
    snapshot = make_snapshot(make_session(3, group=Group.NEEDS_YOU, decisions=(parked,)))
    async with console(snapshot) as (app, pilot, backend):
        sheet = await opened(app, pilot)
        await alone(app, pilot, "x")
        assert plain(sheet.foot_lines.rows[0]) == PARK_AGAIN
        await alone(app, pilot, "down")
        await alone(app, pilot, "x")
        assert backend.given(DismissDecision) == [], "another key came between"
        await alone(app, pilot, "x")
        await eventually(lambda: backend.given(DismissDecision))
        assert backend.given(DismissDecision) == [DismissDecision(run=RunId(3), decision=DecisionId(5))]


async def test_a_refusal_is_said_on_the_sheet() -> None:
    async with console(crowd_of_waits()) as (app, pilot, backend):
        backend.replies[Acknowledge] = Refusal(RefusalReason.STALE, {"what": "notice"})
        sheet = await opened(app, pilot)
        while sheet.chosen is not None and why_not_put_away(sheet.chosen) is not None:
            await alone(app, pilot, "j")
        before = sheet.foot_lines.rows
        await alone(app, pilot, "x")
        await eventually(lambda: sheet.foot_lines.rows != before)


async def test_nothing_left_is_said_and_enter_does_nothing() -> None:
    async with console(full()) as (app, pilot, backend):
        sheet = await opened(app, pilot)
        backend.push(make_snapshot())
        await eventually(lambda: not sheet.rows)
        assert "Nothing waits" in plain(sheet.list.rows[0])
        await alone(app, pilot, "x")
        await alone(app, pilot, "enter")
        assert app.screen is app.drive


# ------------------------------------------------------------------------------------------------------------------- ^O


async def test_the_oldest_thing_comes_first_whatever_it_is_and_the_next_press_goes_on() -> None:
    snapshot = replace(full(), attention=(item(5, AttentionKind.STALLED, 11), item(6, AttentionKind.PAGE, None)))
    async with console(snapshot) as (app, pilot, _):
        await alone(app, pilot, "ctrl+o")
        assert "told" in app.drive.said.text and app.drive.run_in_view == 12, "about no session: it is said"
        await alone(app, pilot, "ctrl+o")
        assert app.drive.run_in_view == 11 and not app.drive.card.shown
        await alone(app, pilot, "ctrl+o")
        await eventually(lambda: app.drive.run_in_view == 12 and app.drive.focus_place is Where.CARD)
        await alone(app, pilot, "ctrl+o")
        await eventually(lambda: app.drive.run_in_view == 14 and app.drive.focus_place is Where.CARD)
        await alone(app, pilot, "ctrl+o")
        assert "told" in app.drive.said.text, "and round again"


async def test_what_another_console_s_agent_asks_is_said_with_where_to_answer() -> None:
    asked = make_decision(11, title="Write a file?", subject="--- /tmp/a\n+++ /tmp/a\n@@ -0,0 +1 @@\n+a", input={})
    theirs = make_session(4, "theirs", owner="mara's other console", group=Group.NEEDS_YOU, decisions=(asked,))
    async with console(make_snapshot(make_session(1), theirs)) as (app, pilot, _):
        await alone(app, pilot, "ctrl+o")
        said = "4 is held by mara's other console: answer there, or footplate answer 11 1 in a shell"
        assert app.drive.said.text == said and app.drive.run_in_view == 4 and not app.drive.card.shown


async def test_nothing_to_go_to_says_what_else_there_is() -> None:
    async with console(make_snapshot(make_session(1))) as (app, pilot, _):
        await alone(app, pilot, "ctrl+o")
        await settled(pilot)
        assert "nothing waits for you" in app.drive.said.text and "J and K" in app.drive.said.text
