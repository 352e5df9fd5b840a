"""The rules of the console, driven by keys: what answers, what does not, what is kept, what works under everything."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from textual import events
from textual.pilot import Pilot

from app.console.app import FootplateApp
from app.console.keys import Where
from app.console.options import ConsoleOptions
from app.console.screens.asking import Quit, StopAllSheet
from app.console.screens.choose import Choose
from app.console.screens.reading import Help
from app.console.widgets.card import FOR_THE_ONE_BEFORE, NOT_ALONE, TOO_SOON
from coordinator.api import (
    AnswerDecision,
    CloseAll,
    ConsoleSnapshot,
    Extend,
    Group,
    Interrupt,
    LeaveAll,
    Propose,
    Resume,
    SaveDraft,
    Say,
    Seen,
    SetModel,
    StartRun,
    Stop,
    StopAll,
)
from coordinator.drivers.base import Allow, Deny, QuestionReply
from store.refusal import Refusal
from store.vocab import DecisionState, MicroUsd, RefusalReason, RunId
from tests.console.driving import alone, burst, quiet, ripe_card, settled, typed
from tests.console.scenes import LONG, QUESTION, QUESTIONS, SCENES, checkout, full, permission
from tests.fakes.backend import NOW, FakeBackend, make_decision, make_session, make_snapshot
from tests.waiting import eventually


@asynccontextmanager
async def console(
    snapshot: ConsoleSnapshot, size: tuple[int, int] = (120, 34), options: ConsoleOptions | None = None
) -> AsyncIterator[tuple[FootplateApp, "Pilot[int]", FakeBackend]]:
    backend = FakeBackend(snapshot)
    app = FootplateApp(backend, options or ConsoleOptions(home="/home/mara"))
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        yield app, pilot, backend


async def on_card(app: FootplateApp, pilot: "Pilot[int]") -> None:
    await alone(app, pilot, "ctrl+o")
    await eventually(lambda: app.drive.focus_place is Where.CARD)
    await ripe_card(app)


def answers(backend: FakeBackend) -> list[AnswerDecision]:
    return backend.given(AnswerDecision)


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
        backend.change_session(12, decisions=(gone, second))
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


async def test_deny_with_a_reason() -> None:
    async with console(full()) as (app, pilot, backend):
        await on_card(app, pilot)
        await alone(app, pilot, "3")
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


# -------------------------------------------------------------------------------------------------------- the composer


async def test_enter_sends_and_the_text_goes_only_when_it_was_taken() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        backend.replies[Say] = Refusal(RefusalReason.TURN_CAP, {})
        await typed(app, pilot, "go on")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.said.text)
        assert app.drive.composer.text == "go on"
        del backend.replies[Say]
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.composer.text == "")
        assert [say.text for say in backend.given(Say)] == ["go on", "go on"]


async def test_pasted_lines_without_brackets_are_one_draft() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        burst(app, "a", "enter", "b", "enter", "enter", "c", "enter")
        await settled(pilot)
        await quiet(app)
        await settled(pilot)
        assert backend.given(Say) == []
        assert app.drive.composer.text == "a\nb\n\nc\n"


async def test_an_enter_that_begins_a_burst_is_a_line_too() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        await typed(app, pilot, "a")
        burst(app, "enter", "b")
        await settled(pilot)
        await quiet(app)
        await settled(pilot)
        assert backend.given(Say) == []
        assert app.drive.composer.text == "a\nb"


async def test_a_paste_is_literal() -> None:
    async with console(make_snapshot(make_session())) as (app, _pilot, _backend):
        app.drive.composer.post_message(events.Paste("one\r\ntwo\x1b[2J\tend"))
        await eventually(lambda: app.drive.composer.text)
        assert app.drive.composer.text == "one\ntwo␛[2J end"


async def test_drafts_are_kept_for_each_session() -> None:
    async with console(full()) as (app, pilot, backend):
        await typed(app, pilot, "for twelve")
        await alone(app, pilot, "escape")
        await alone(app, pilot, "J")
        await eventually(lambda: app.drive.run_in_view == 14)
        assert app.drive.composer.text == ""
        await alone(app, pilot, "i")
        await typed(app, pilot, "for fourteen")
        await alone(app, pilot, "escape")
        await alone(app, pilot, "K")
        await eventually(lambda: app.drive.composer.text == "for twelve")
        await eventually(lambda: backend.drafts.get("run:14") == "for fourteen")
        assert backend.drafts["run:12"] == "for twelve"


async def test_a_draft_of_an_earlier_console_comes_back() -> None:
    backend = FakeBackend(make_snapshot(make_session()))
    backend.drafts["run:12"] = "half a thou"
    app = FootplateApp(backend)
    async with app.run_test():
        await eventually(lambda: app.drive.composer.text == "half a thou")
        assert backend.given(SaveDraft) == []


async def test_a_command_that_is_not_the_agents_is_sent_as_text() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        await typed(app, pilot, "/comp")
        await alone(app, pilot, "tab")
        assert app.drive.composer.text == "/compact "
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.composer.text == "")
        await typed(app, pilot, "/etc/hosts")
        await alone(app, pilot, "enter")
        await eventually(lambda: len(backend.given(Say)) == 2)
        assert [say.literal for say in backend.given(Say)] == [False, True]


async def test_history_is_at_the_edge_and_the_draft_comes_back() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, _backend):
        await typed(app, pilot, "draft")
        await alone(app, pilot, "up")
        assert app.drive.composer.text == "Run it twenty times to be sure."
        await alone(app, pilot, "up")
        assert app.drive.composer.text == "The second, and add a test for the first."
        await alone(app, pilot, "down")
        await alone(app, pilot, "down")
        assert app.drive.composer.text == "draft"


# ------------------------------------------------------------------------------------------------------------ starting


async def test_starting_takes_two_enters_with_the_terms_between() -> None:
    async with console(make_snapshot()) as (app, pilot, backend):
        await typed(app, pilot, "Fix it.")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.focused is app.drive.terms)
        assert backend.given(StartRun) == []
        await pilot.press("enter")
        await quiet(app)
        assert backend.given(StartRun) == [], "an Enter on terms just painted starts nothing"
        await eventually(lambda: app.drive.terms.ripe)
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(StartRun))
        assert backend.given(StartRun)[0].terms.instruction == "Fix it."
        await eventually(lambda: app.drive.composer.text == "")
        assert app.drive.run_in_view == 99


async def test_tab_takes_other_terms_and_another_brief_drops_them() -> None:
    async with console(make_snapshot()) as (app, pilot, backend):
        await typed(app, pilot, "Fix it.")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.terms.ripe)
        await alone(app, pilot, "tab")
        await eventually(lambda: len(backend.given(Propose)) == 2)
        assert backend.given(Propose)[1].preset == "overnight"
        await alone(app, pilot, "escape")
        assert app.drive.proposal is None
        assert app.drive.composer.text == "Fix it."


async def test_a_refused_proposal_keeps_the_brief() -> None:
    async with console(make_snapshot()) as (app, pilot, backend):
        backend.replies[Propose] = Refusal(RefusalReason.AGENT_NOT_FOUND, {"agent": "claude"})
        await typed(app, pilot, "Fix it.")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.said.text)
        assert app.drive.composer.text == "Fix it."


# ------------------------------------------------------------------------------------------------- stop and interrupt


async def test_stop_twice_kills_from_its_time_on() -> None:
    async with console(full()) as (app, pilot, backend):
        await pilot.press("ctrl+backslash")
        burst(app, *["ctrl+backslash"] * 5, at=app.pressed_at + 0.1)
        await eventually(lambda: backend.given(Stop))
        assert backend.given(Stop) == [Stop(run=RunId(12))]
        first = app.gate.last() or 0.0
        await eventually(lambda: app.options.monotonic() - first > 0.75)
        await pilot.press("ctrl+backslash")
        await eventually(lambda: len(backend.given(Stop)) == 2)
        assert backend.given(Stop)[1] == Stop(run=RunId(12), kill=True)


async def test_interrupt_names_the_turn_that_ran_when_the_key_was_pressed() -> None:
    async with console(full()) as (app, pilot, backend):
        await typed(app, pilot, "kept")
        await alone(app, pilot, "ctrl+c")
        await eventually(lambda: backend.given(Interrupt))
        assert backend.given(Interrupt) == [Interrupt(run=RunId(12), turn=app.drive.session.in_flight)]  # type: ignore[union-attr]
        assert app.drive.composer.text == "kept"
        assert app.is_running


async def test_interrupt_copies_a_selection_instead(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("SSH_TTY", "/dev/pts/9")
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    async with console(full()) as (app, pilot, backend):
        await typed(app, pilot, "select me")
        app.drive.composer.select_all()
        await alone(app, pilot, "ctrl+c")
        await eventually(lambda: app.drive.said.text)
        assert app.drive.said.text == "copied 1 line (terminal)"
        assert app.clipboard == "select me"
        assert backend.given(Interrupt) == []


async def test_stop_works_under_a_sheet() -> None:
    async with console(full()) as (app, pilot, backend):
        await alone(app, pilot, "escape")
        await alone(app, pilot, "question_mark")
        assert isinstance(app.screen, Help)
        await alone(app, pilot, "ctrl+backslash")
        await eventually(lambda: backend.given(Stop))
        await alone(app, pilot, "ctrl+c")
        await eventually(lambda: backend.given(Interrupt))
        assert isinstance(app.screen, Help)


async def test_stop_all_lists_first() -> None:
    async with console(full()) as (app, pilot, backend):
        await alone(app, pilot, "ctrl+p")
        await pilot.press("ctrl+right_square_bracket")
        await eventually(lambda: isinstance(app.screen, StopAllSheet))
        # The repeats of a held key, whatever the machine took to show the list.
        burst(app, *["ctrl+right_square_bracket"] * 3, at=app.pressed_at + 0.1)
        await settled(pilot)
        assert backend.given(StopAll) == []
        first = app.gate.last() or 0.0
        await eventually(lambda: app.options.monotonic() - first > 0.75)
        await pilot.press("ctrl+right_square_bracket")
        await eventually(lambda: backend.given(StopAll))
        assert app.screen is app.drive


async def test_quit_asks_and_ends_everything_under_one_deadline() -> None:
    async with console(full()) as (app, pilot, backend):
        await alone(app, pilot, "ctrl+q")
        assert isinstance(app.screen, Quit)
        await pilot.press("2")
        await settled(pilot)
        assert backend.given(CloseAll) == []
        sheet = app.screen
        await eventually(lambda: sheet.ripe)
        await alone(app, pilot, "3")
        assert app.screen is app.drive and app.is_running
        await alone(app, pilot, "ctrl+q")
        again = app.screen
        assert isinstance(again, Quit)
        await eventually(lambda: again.ripe)
        await quiet(app)
        await pilot.press("2")
        await eventually(lambda: backend.given(CloseAll))
        await eventually(lambda: app.return_value == 0)


async def test_quit_with_nothing_held_does_not_ask() -> None:
    async with console(make_snapshot()) as (app, pilot, _backend):
        await pilot.press("ctrl+q")
        await eventually(lambda: app.return_value == 0)


async def test_leaving_leaves_everything_to_its_keepers() -> None:
    async with console(full()) as (app, pilot, backend):
        await alone(app, pilot, "ctrl+q")
        sheet = app.screen
        assert isinstance(sheet, Quit)
        await eventually(lambda: sheet.ripe)
        await quiet(app)
        await pilot.press("1")
        await eventually(lambda: app.return_value == 0)
        assert backend.given(LeaveAll) and not backend.given(CloseAll)


async def test_at_a_budget_one_key_extends_and_another_takes_an_amount() -> None:
    async with console(SCENES["budget"].snapshot()) as (app, pilot, backend):
        await alone(app, pilot, "tab")
        await ripe_card(app)
        await alone(app, pilot, "1")
        await eventually(lambda: backend.given(Extend))
        assert backend.given(Extend) == [Extend(run=RunId(12), money=MicroUsd(5_000_000))]
        await alone(app, pilot, "tab")
        await ripe_card(app)
        await alone(app, pilot, "2")
        await typed(app, pilot, "lots")
        await alone(app, pilot, "enter")
        assert "no amount" in app.drive.card.said
        await ripe_card(app)
        await alone(app, pilot, "2")
        await typed(app, pilot, "2.50")
        await alone(app, pilot, "enter")
        await eventually(lambda: len(backend.given(Extend)) == 2)
        assert backend.given(Extend)[1].money == 2_500_000


async def test_enter_with_nothing_written_resumes_what_paused() -> None:
    async with console(SCENES["paused"].snapshot()) as (app, pilot, backend):
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(Resume))
        assert backend.given(Say) == []


async def test_escape_twice_interrupts_only_where_it_is_allowed() -> None:
    for allowed in (True, False):
        async with console(full(), options=ConsoleOptions(escape_twice=allowed)) as (app, pilot, backend):
            await alone(app, pilot, "escape")
            assert ("Esc again" in app.drive.said.text) is allowed
            await alone(app, pilot, "escape")
            await settled(pilot)
            assert bool(backend.given(Interrupt)) is allowed


async def test_a_card_that_is_not_wholly_on_the_screen_is_not_answered() -> None:
    async with console(full(), size=(80, 10)) as (app, pilot, backend):
        await on_card(app, pilot)
        await alone(app, pilot, "1")
        assert answers(backend) == []
        assert "too low" in app.drive.card.said


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
