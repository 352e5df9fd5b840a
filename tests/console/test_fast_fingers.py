"""A key that opens a text, and letters right after it, all in one read: every letter comes into that text, and none is
read as a key of the screen."""

import pytest

from app.console.keys import Where
from app.console.screens.asking import Quit
from app.console.screens.reading import Details
from tests.console.driving import alone, burst, settled
from tests.console.opened import console
from tests.console.scenes import full
from tests.waiting import eventually

LETTERS = "owlsfind"
"""Each of them does something in the keys focus."""


@pytest.mark.parametrize("key, place", [("slash", Where.SEARCH), ("F", Where.FILTER), ("i", Where.COMPOSER)])
async def test_letters_typed_at_once_come_into_the_text_that_the_key_opens(key: str, place: Where) -> None:
    async with console(full()) as (app, pilot, _):
        await alone(app, pilot, "escape")
        await eventually(lambda: app.drive.focus_place is Where.KEYS)
        drive = app.drive
        before = drive.run_in_view
        burst(app, key, *LETTERS)
        await settled(pilot)
        texts = {
            Where.SEARCH: lambda: drive.search_line.text,
            Where.FILTER: lambda: drive.filter_line.text,
            Where.COMPOSER: lambda: drive.composer.text,
        }
        await eventually(lambda: texts[place]() == LETTERS)
        assert drive.focus_place is place
        assert drive.run_in_view == before and not drive.covered


async def test_an_esc_that_a_sheet_gets_late_closes_nothing_that_came_after_it() -> None:
    async with console(full()) as (app, pilot, _):
        await alone(app, pilot, "escape")
        await alone(app, pilot, "l")
        await eventually(lambda: isinstance(app.screen, Details))
        burst(app, "escape", "ctrl+q")
        await eventually(lambda: isinstance(app.screen, Quit))
        await settled(pilot)
        await settled(pilot)
        assert isinstance(app.screen, Quit)
