"""The rules of the console, driven by keys: what answers, what does not, what is kept, what works under everything."""

import asyncio
import re

import pytest
from msgspec.structs import replace

from app.console.keys import Where
from app.console.options import ConsoleOptions
from app.console.screens.choose import Choose
from app.console.views.actions import hints
from app.console.views.ink import plain
from app.console.widgets.card import FOR_THE_ONE_BEFORE, NOT_ALONE, TOO_SOON
from coordinator.api import (
    AnswerDecision,
    Group,
    Seen,
    SetModel,
)
from coordinator.drivers.base import Allow, Deny, QuestionReply
from store.refusal import Refusal
from store.vocab import DecisionState, RefusalReason, RunId
from tests.console.driving import alone, burst, quiet, ripe_card, settled, typed
from tests.console.opened import answers, console, on_card
from tests.console.scenes import LONG, QUESTION, QUESTIONS, checkout, full, permission
from tests.console.states import STATES
from tests.fakes.backend import NOW, make_decision, make_session, make_snapshot
from tests.waiting import eventually

# ------------------------------------------------------------------------------------------------------------ the card


async def test_an_answer_names_the_very_request_that_was_shown_and_the_focus_goes_back() -> None:
    async with console(full()) as (app, pilot, backend):
        await typed(app, pilot, "a draft")
        await on_card(app, pilot)
        await alone(app, pilot, "1")
        await eventually(lambda: answers(backend))
        given = answers(backend)[0]
        assert (given.run, given.decision, given.revision, given.payload_hash) == (12, 1, 1, "hash-1")
        assert given.answer == Allow()
        await eventually(lambda: app.focused is app.drive.composer)
        assert app.drive.composer.text == "a draft"
        assert app.drive.run_in_view == 12


async def test_a_key_that_comes_too_soon_is_said_and_not_taken() -> None:
    async with console(full()) as (app, pilot, backend):
        await pilot.press("ctrl+o")
        await eventually(lambda: app.drive.focus_place is Where.CARD)
        assert not app.drive.card.ripe
        await pilot.press("1")
        await eventually(lambda: app.drive.card.said == TOO_SOON)
        await quiet(app)
        assert answers(backend) == []


async def test_keys_that_come_together_never_answer() -> None:
    """An escape sequence cut by a slow line arrives as just such keys."""
    async with console(full()) as (app, pilot, backend):
        await on_card(app, pilot)
        for keys in ("[1;5D", "12", "2~", "[1"):
            await quiet(app)
            burst(app, *keys)
            await settled(pilot)
            await quiet(app)
            await settled(pilot)
        assert answers(backend) == []
        assert app.drive.card.said == NOT_ALONE


async def test_a_request_that_leaves_takes_its_digit_with_it() -> None:
    first, second = make_decision(1), make_decision(2, subject="rm -rf /", input={"command": "rm -rf /"})
    async with console(make_snapshot(checkout(decisions=(first, second)))) as (app, pilot, backend):
        await on_card(app, pilot)
        await quiet(app)
        await pilot.press("1")
        gone = replace(first, state=DecisionState.WITHDRAWN)
        backend.change_session(12, decisions=(second, gone))  # as a view has them: those that live first
        await eventually(lambda: app.drive.card.decision is not None and app.drive.card.decision.id == 2)
        await quiet(app)
        await settled(pilot)
        assert answers(backend) == []
        assert app.drive.card.said == FOR_THE_ONE_BEFORE


async def test_a_newer_request_queues_behind() -> None:
    async with console(make_snapshot(checkout(decisions=(make_decision(5),)))) as (app, pilot, backend):
        await on_card(app, pilot)
        older = make_decision(4, asked_at=NOW - 999_000)
        backend.change_session(12, decisions=(older, make_decision(5), make_decision(6)))
        await eventually(lambda: len(app.drive.session.decisions) == 3)  # type: ignore[union-attr]
        assert app.drive.card.decision is not None and app.drive.card.decision.id == 5


async def test_a_card_that_comes_while_one_writes_takes_neither_focus_nor_text() -> None:
    async with console(make_snapshot(checkout(decisions=(), group=Group.WORKING))) as (app, pilot, backend):
        await typed(app, pilot, "yes 1")
        backend.change_session(12, decisions=(permission(),), group=Group.NEEDS_YOU)
        await eventually(lambda: app.drive.card.shown)
        await ripe_card(app)
        for key in ("1", "2", "y", "space", "1"):
            await alone(app, pilot, key)
        assert answers(backend) == []
        assert app.drive.composer.text == "yes 112y 1"


async def test_options_of_a_folded_card_are_dead_until_its_end_was_seen() -> None:
    async with console(make_snapshot(checkout(decisions=(LONG,)))) as (app, pilot, backend):
        await on_card(app, pilot)
        await alone(app, pilot, "1")
        assert answers(backend) == []
        for _ in range(12):
            await pilot.press("pagedown")
        await alone(app, pilot, "1")
        await eventually(lambda: answers(backend))


async def test_what_lets_nothing_happen_need_not_be_read_to_its_end() -> None:
    async with console(make_snapshot(checkout(decisions=(LONG,)))) as (app, pilot, backend):
        await on_card(app, pilot)
        await alone(app, pilot, "2")
        await eventually(lambda: answers(backend))
        assert answers(backend)[0].answer == Deny()


async def test_a_digit_that_went_into_an_empty_draft_is_told_where_it_went() -> None:
    async with console(full()) as (app, pilot, backend):
        await eventually(lambda: app.drive.card.shown)
        await alone(app, pilot, "2")
        assert app.drive.composer.text == "2"
        assert "^O, then 2" in app.drive.said.text
        await typed(app, pilot, "0 times")
        assert "^O, then" not in app.drive.said.text
        assert answers(backend) == []


async def test_deny_with_a_reason() -> None:
    async with console(full()) as (app, pilot, backend):
        await on_card(app, pilot)
        await alone(app, pilot, "3")
        assert app.drive.card.note.placeholder == "why not"
        assert any("Enter denies and says it   Esc back" in plain(row) for row in app.drive.card.face_widget.rows)
        assert not {"answer", "open all"} & set(dict(hints(app.drive.situation())).values())
        await typed(app, pilot, "use the cache 1")
        assert answers(backend) == []
        await alone(app, pilot, "enter")
        await eventually(lambda: answers(backend))
        assert answers(backend)[0].answer == Deny(message="use the cache 1")


async def test_an_edited_command_is_shown_before_it_can_run() -> None:
    async with console(make_snapshot(checkout(decisions=(make_decision(1),)))) as (app, pilot, backend):
        await on_card(app, pilot)
        await alone(app, pilot, "e")
        assert app.drive.card.note.text == "pytest -q tests/checkout"
        await typed(app, pilot, " -x")
        await alone(app, pilot, "enter")
        assert answers(backend) == []
        await ripe_card(app)
        await alone(app, pilot, "1")
        await eventually(lambda: answers(backend))
        assert answers(backend)[0].answer == Allow(edited_input={"command": "pytest -q tests/checkout -x"})


async def test_a_form_says_what_is_unanswered_before_it_goes() -> None:
    async with console(make_snapshot(checkout(decisions=(QUESTION,))), size=(120, 50)) as (app, pilot, backend):
        await on_card(app, pilot)
        await alone(app, pilot, "1")
        await alone(app, pilot, "3")
        await alone(app, pilot, "enter")
        assert answers(backend) == []
        assert "Target" in app.drive.card.said
        await alone(app, pilot, "enter")
        await eventually(lambda: answers(backend))
        assert answers(backend)[0].answer == QuestionReply(answers={QUESTIONS[0].text: ("unit tests", "browser tests")})


async def test_a_refused_answer_is_said_on_the_card() -> None:
    async with console(full()) as (app, pilot, backend):
        backend.replies[AnswerDecision] = Refusal(RefusalReason.STALE, {})
        await on_card(app, pilot)
        await alone(app, pilot, "1")
        await eventually(lambda: app.drive.card.said)
        assert app.drive.focus_place is Where.CARD


async def test_the_session_in_view_stays_whatever_others_do() -> None:
    async with console(full()) as (app, pilot, backend):
        await typed(app, pilot, "x")
        backend.change_session(12, decisions=(), group=Group.IDLE, in_flight=None)
        backend.change_session(9, group=Group.NEEDS_YOU, decisions=(make_decision(50, 9),))
        await eventually(lambda: app.drive.snapshot is backend.snapshot())
        assert app.drive.run_in_view == 12
        assert app.focused is app.drive.composer


# --------------------------------------------------------------------------------------------------------- small things


async def test_digits_and_dead_keys_in_the_keys_focus() -> None:
    async with console(full()) as (app, pilot, backend):
        await alone(app, pilot, "escape")
        assert app.drive.focus_place is Where.KEYS
        before = list(backend.commands)
        for key in ("1", "2", "9"):
            await alone(app, pilot, key)
        assert [one for one in backend.commands if one not in before and not isinstance(one, Seen)] == []
        await alone(app, pilot, "c")
        assert app.drive.said.text == "12 has not ended: just write to it"


async def test_a_second_in_view_is_seen() -> None:
    options = ConsoleOptions(seen_after=0.05)
    async with console(full(), options=options) as (_app, _pilot, backend):
        await eventually(lambda: backend.given(Seen))
        assert backend.given(Seen)[0] == Seen(run=RunId(12))


async def test_the_command_list_narrows_and_a_dead_row_says_why() -> None:
    async with console(full()) as (app, pilot, _backend):
        await alone(app, pilot, "ctrl+p")
        sheet = app.screen
        assert isinstance(sheet, Choose)
        await typed(app, pilot, "continue")
        await alone(app, pilot, "enter")
        assert app.screen is sheet
        assert "has not ended" in "".join(span.text for row in sheet.foot_lines.rows for span in row)
        await alone(app, pilot, "escape")
        assert app.screen is app.drive


async def test_the_model_is_chosen_from_the_agents_own() -> None:
    async with console(full()) as (app, pilot, backend):
        await alone(app, pilot, "escape")
        await alone(app, pilot, "M")
        await alone(app, pilot, "down")
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(SetModel))
        assert backend.given(SetModel) == [SetModel(run=RunId(12), model="sonnet")]


async def test_waiting_ones_are_gone_through_in_the_order_they_asked() -> None:
    async with console(full()) as (app, pilot, _backend):
        await on_card(app, pilot)
        await alone(app, pilot, "right_square_bracket")
        await eventually(lambda: app.drive.run_in_view == 14)
        await eventually(lambda: app.drive.focus_place is Where.CARD)
        await ripe_card(app)
        await alone(app, pilot, "left_square_bracket")
        await eventually(lambda: app.drive.run_in_view == 12)


async def test_nothing_is_painted_when_nothing_moves() -> None:
    """The same snapshot again, and a second's tick, change no row."""
    async with console(make_snapshot(make_session(group=Group.IDLE, in_flight=None))) as (app, pilot, _backend):
        await alone(app, pilot, "escape")
        painted: list[object] = []
        for widget in app.drive.query("Lines"):
            widget.refresh = lambda *regions, _w=widget, **kw: painted.append(_w) or _w  # type: ignore[method-assign,assignment]
        app.take()
        app.drive.paint()
        await settled(pilot)
        assert painted == []
        assert app.drive._tick is not None and not app.drive._tick._active.is_set()


async def test_a_window_of_any_size_holds() -> None:
    async with console(full()) as (app, pilot, _backend):
        for size in ((80, 24), (200, 50), (60, 20), (40, 12), (120, 34), (99, 30), (100, 30)):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            assert app.drive.title_bar.size.width == size[0]
            if size[1] >= 24:
                assert app.drive.transcript.size.height >= 5
                assert app.drive.composer.region.bottom <= size[1] - 2
                assert app.drive.hints.region.y == size[1] - 1


async def test_many_wakes_become_few_paintings() -> None:
    async with console(full()) as (app, _pilot, backend):
        taken: list[object] = []
        original = app.deeds.viewing.take
        app.deeds.viewing.take = lambda snapshot: (taken.append(snapshot), original(snapshot))[1]  # type: ignore[method-assign]
        for n in range(200):
            backend.change(today=n)
            if n % 20 == 0:
                await asyncio.sleep(0)
        await eventually(lambda: app.drive.snapshot.today == 199)
        assert len(taken) < 20


@pytest.mark.parametrize("scene", ["permission", "offers", "question", "plan", "budget"])
async def test_the_hints_name_the_keys_that_the_card_has(scene: str) -> None:
    async with console(STATES[scene].snapshot()) as (app, pilot, _backend):
        await on_card(app, pilot)
        told = dict(hints(app.drive.situation()))
        # As they stand on the card: "1 allow once    2 deny", and a question's choices one a row.
        rows = "\n".join(plain(row) for row in app.drive.card.face_widget.rows)
        digits = [int(digit) for digit in re.findall(r"(?:^|  )\s*(\d)(?= )", rows, re.MULTILINE)]
        assert (f"1–{max(digits)}" if max(digits) > 1 else "1") in told
        assert ("open all" in told.values()) is app.drive.card.folded
