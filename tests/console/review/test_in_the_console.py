"""``v`` in the console: the review over its own ledger, and back; what is done to a session is never hidden by it."""

from pathlib import Path

from app.console.keys import Where
from app.console.options import ConsoleOptions
from app.console.review.screen import Review
from coordinator.api import Interrupt, Stop
from tests.console.driving import settled
from tests.console.opened import console
from tests.console.scenes import full
from tests.waiting import eventually


async def test_v_opens_it_and_esc_goes_back(practiced: Path) -> None:
    options = ConsoleOptions(home="/home/mara", ledger=practiced)
    async with console(full(), options=options) as (app, pilot, _backend):
        app.drive.focus_keys()
        await pilot.press("v")
        await eventually(lambda: isinstance(app.screen, Review))
        review = app.screen
        assert isinstance(review, Review)
        await eventually(lambda: review.pane.run == 1)
        await pilot.press("enter", "tab", "g", "escape", "escape")
        await eventually(lambda: app.screen is app.drive)
        assert app.drive.focus_place is Where.KEYS


async def test_a_stop_is_seen_and_an_interrupt_asks_to_be_seen_first(practiced: Path) -> None:
    options = ConsoleOptions(home="/home/mara", ledger=practiced)
    async with console(full(), options=options) as (app, pilot, backend):
        app.drive.focus_keys()
        for key, given in (("ctrl+c", Interrupt), ("ctrl+backslash", Stop)):
            await pilot.press("v")
            await eventually(lambda: isinstance(app.screen, Review))
            await pilot.press("question_mark")
            await pilot.press(key)
            await eventually(lambda: app.screen is app.drive)
            await settled(pilot)
            assert bool(backend.given(given)) is (given is Stop)


async def test_what_the_lists_say_lands_on_the_review_and_all_commands_close_it(practiced: Path) -> None:
    options = ConsoleOptions(home="/home/mara", ledger=practiced)
    async with console(full(), options=options) as (app, pilot, _backend):
        app.drive.focus_keys()
        await pilot.press("v")
        await eventually(lambda: isinstance(app.screen, Review))
        await pilot.press("ctrl+o")
        await eventually(lambda: app.screen is app.drive)


async def test_a_console_without_a_ledger_says_so() -> None:
    async with console(full()) as (app, pilot, _backend):
        app.drive.focus_keys()
        await pilot.press("v")
        await settled(pilot)
        assert app.screen is app.drive and "footplate review" in app.drive.said.text
