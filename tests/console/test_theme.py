"""The colours: every theme can be read, each is chosen by its name, and with NO_COLOR there are none."""

from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from app import themes
from app.config import Config, parse_file
from app.console.options import ConsoleOptions
from app.console.screens.choose import Choose
from app.console.theme import BACKGROUNDS, INKS, PALETTES, contrast, name_of, palette, textual_theme
from store.refusal import Refusal
from store.vocab import RefusalReason
from tests.console.driving import alone, typed
from tests.console.opened import console
from tests.console.scenes import full

CSS_PAIRS = (("bright", "base"), ("bright", "sel"), ("grey", "base"), ("text", "base"), ("base", "text"))
"""What the style sheets put on one another: text being written, its selection, its placeholder, its cursor."""


@pytest.mark.parametrize("theme", themes.NAMES)
def test_every_ink_can_be_read_on_every_background(theme: str) -> None:
    colours = {name: Color.parse(value) for name, value in palette(theme).items()}
    least = 7.0 if theme == "high-contrast" else 4.5
    for ink in INKS:
        for ground in BACKGROUNDS:
            assert contrast(colours[ink], colours[ground]) >= least, (ink, ground)
    for ink, ground in CSS_PAIRS:
        assert contrast(colours[ink], colours[ground]) >= least, (ink, ground)


@pytest.mark.parametrize("theme", themes.NAMES)
def test_what_is_lit_or_faint_is_seen_to_be_so(theme: str) -> None:
    colours = {name: Color.parse(value) for name, value in palette(theme).items()}
    assert contrast(colours["sel"], colours["base"]) >= 1.15
    assert contrast(colours["sel"], colours["card"]) >= 1.1
    assert contrast(colours["faint"], colours["base"]) >= 1.3
    assert contrast(colours["text"], colours["base"]) > contrast(colours["grey"], colours["base"])


def test_all_of_textuals_with_colours_of_their_own_are_there() -> None:
    assert set(themes.OF_TEXTUAL) == {name for name, one in BUILTIN_THEMES.items() if not name.startswith("ansi-")}
    assert tuple(PALETTES) == themes.OWN


@pytest.mark.parametrize("theme", themes.NAMES)
def test_it_is_told_to_textual_as_dark_or_light_as_it_is(theme: str) -> None:
    made = textual_theme(theme)
    assert made.dark is (BUILTIN_THEMES[theme].dark if theme in BUILTIN_THEMES else theme != "light")
    assert name_of(made.name) == theme


@pytest.mark.parametrize("theme", themes.NAMES)
def test_the_configuration_takes_it_by_its_name(theme: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'theme = "{theme}"\n')
    config = parse_file(file)
    assert isinstance(config, Config) and config.theme == theme


@pytest.mark.parametrize("theme", ["", "solarised", "ansi-dark", "mono", "Dark"])
def test_a_name_that_is_none_is_refused_with_those_that_are(theme: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'theme = "{theme}"\n')
    refused = parse_file(file)
    assert isinstance(refused, Refusal) and refused.reason is RefusalReason.CONFIG_INVALID
    assert refused.facts["key"] == "theme" and "high-contrast" in str(refused.facts["problem"])


def colours_on(app) -> set[str]:  # type: ignore[no-untyped-def]
    """Of every cell of the screen, as Textual gives it to the terminal."""
    found: set[str] = set()
    for strip in app.screen._compositor.render_strips():
        for _, style, _ in strip:
            for colour in (style.color, style.bgcolor) if style is not None else ():
                if colour is not None and colour.triplet is not None:
                    found.add(colour.triplet.hex)
    return found


@pytest.mark.parametrize("theme", ["high-contrast", "nord", "solarized-light"])
async def test_the_whole_screen_wears_it(theme: str) -> None:
    async with console(full(), options=ConsoleOptions(home="/home/mara", theme=theme)) as (app, _, _):
        assert colours_on(app) <= set(palette(theme).values())


async def test_each_is_seen_when_it_is_lit_and_esc_brings_back_the_one_before() -> None:
    async with console(full()) as (app, pilot, _):
        await alone(app, pilot, "escape")
        await alone(app, pilot, "C")
        assert isinstance(app.screen, Choose)
        await alone(app, pilot, "down")
        assert name_of(app.theme) == "light"
        # A sheet dims what lies under it, so there are colours in between; the list itself is in the theme's own.
        assert palette("light")["card"] in colours_on(app) and palette("dark")["card"] not in colours_on(app)
        await alone(app, pilot, "escape")
        assert name_of(app.theme) == "dark"
        assert colours_on(app) <= set(palette("dark").values())


async def test_the_one_chosen_stays_and_what_keeps_it_is_said() -> None:
    async with console(full()) as (app, pilot, _):
        await alone(app, pilot, "ctrl+p")
        await typed(app, pilot, "colours")
        await alone(app, pilot, "enter")
        for _ in range(3):
            await alone(app, pilot, "down")
        await alone(app, pilot, "enter")
        assert name_of(app.theme) == themes.OF_TEXTUAL[0]
        assert themes.OF_TEXTUAL[0] in app.drive.said.text and "config.toml" in app.drive.said.text
        assert colours_on(app) <= set(palette(themes.OF_TEXTUAL[0]).values())


async def test_without_colours_there_are_none_to_choose() -> None:
    async with console(full(), options=ConsoleOptions(home="/home/mara", no_color=True)) as (app, pilot, _):
        await alone(app, pilot, "escape")
        await alone(app, pilot, "C")
        assert app.screen is app.drive and "NO_COLOR" in app.drive.said.text
