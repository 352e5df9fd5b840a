"""Stop, interrupt, stop all, quit, budgets and the way back: what each press does, and what it does not."""

from msgspec.structs import replace

from app.console.options import ConsoleOptions
from app.console.screens.asking import Quit, StopAllSheet
from app.console.screens.reading import Help
from app.console.views.ink import plain
from coordinator.api import (
    CloseAll,
    Extend,
    Finish,
    Interrupt,
    LeaveAll,
    QueueSummary,
    Resume,
    Say,
    Stop,
    StopAll,
)
from store.vocab import MicroUsd, RunId
from tests.console.driving import alone, burst, quiet, ripe_card, settled, typed
from tests.console.opened import answers, console, on_card
from tests.console.scenes import SCENES, full
from tests.fakes.backend import make_snapshot
from tests.waiting import eventually

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
        backend.change(queue=QueueSummary(waiting=3))
        await alone(app, pilot, "ctrl+p")
        await pilot.press("ctrl+right_square_bracket")
        await eventually(lambda: isinstance(app.screen, StopAllSheet) and app.screen.list.rows)
        assert isinstance(app.screen, StopAllSheet)
        assert "also keeps back the line: 3 tasks" in " ".join(map(plain, app.screen.list.rows))
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


async def test_past_its_working_time_one_key_extends_it_and_another_interrupts() -> None:
    async with console(SCENES["working-time"].snapshot()) as (app, pilot, backend):
        await alone(app, pilot, "tab")
        await ripe_card(app)
        await alone(app, pilot, "1")
        await eventually(lambda: backend.given(Extend))
        assert backend.given(Extend) == [Extend(run=RunId(12), working_seconds=3600)]
        await alone(app, pilot, "tab")
        await ripe_card(app)
        await alone(app, pilot, "2")
        await typed(app, pilot, "30")
        await alone(app, pilot, "enter")
        await eventually(lambda: len(backend.given(Extend)) == 2)
        assert backend.given(Extend)[1] == Extend(run=RunId(12), working_seconds=1800)
        await alone(app, pilot, "tab")
        await ripe_card(app)
        await alone(app, pilot, "3")
        await eventually(lambda: backend.given(Interrupt))
        assert not backend.given(Stop)


async def test_a_key_for_the_turn_that_went_on_is_none_for_the_run_that_holds() -> None:
    scene = SCENES["working-time"].snapshot()
    async with console(scene) as (app, pilot, backend):
        await alone(app, pilot, "tab")
        await ripe_card(app)
        over = replace(scene.sessions[0], past_work=False, at_budget=True, in_flight=None)
        backend.push(replace(scene, sessions=(over, *scene.sessions[1:])))
        await eventually(lambda: "HOLDS AT ITS BUDGET" in plain(app.drive.card.face_widget.rows[0]))
        await alone(app, pilot, "3")
        assert not backend.given(Finish) and not backend.given(Interrupt)


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
