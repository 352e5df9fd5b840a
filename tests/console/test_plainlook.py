"""Without colours (NO_COLOR), and with ASCII signs: what a sign, a weight or a reversed row has to tell alone."""

import pytest
from rich.segment import Segment
from rich.style import Style

from app.console.app import FootplateApp
from app.console.clusters import split_at
from app.console.options import ConsoleOptions
from app.console.views.text import cells
from coordinator.api import FeedEvent, Group, TranscriptPage
from coordinator.drivers import base
from store.vocab import RunId
from tests.console.driving import alone, burst, settled
from tests.console.opened import console, on_card
from tests.console.scenes import checkout, full
from tests.console.states import STATES
from tests.fakes.backend import NOW, make_snapshot
from tests.sampling import sampled

PLAIN = ConsoleOptions(home="/home/mara", no_color=True)
PLAINEST = ConsoleOptions(home="/home/mara", no_color=True, ascii=True)
SIGNS = {Group.NEEDS_YOU: "!", Group.YOUR_MOVE: ">", Group.WORKING: "*", Group.IDLE: "o"}


def segments(app: FootplateApp, row: int) -> list[Segment]:
    return [one for one in app.screen._compositor.render_strips()[row] if one.text]


def row_with(app: FootplateApp, text: str) -> int:
    rows = ["".join(one.text for one in strip) for strip in app.screen._compositor.render_strips()]
    found = [at for at, row in enumerate(rows) if text in row]
    assert found, "\n".join(rows)
    return found[0]


def look_of(app: FootplateApp, text: str) -> Style:
    """Of the piece of the screen that begins with this text."""
    for strip in app.screen._compositor.render_strips():
        for one in strip:
            if one.text.strip().startswith(text) and one.style is not None:
                return one.style
    raise AssertionError(f"{text!r} is not on the screen")


@pytest.mark.parametrize("name", sampled(STATES, every=3))
async def test_there_is_no_colour_anywhere(name: str) -> None:
    async with console(STATES[name].snapshot(), (80, 24), PLAINEST) as (app, pilot, backend):
        act = STATES[name].act
        if act is not None:
            await act(app, pilot, backend)
        await settled(pilot)
        for strip in app.screen._compositor.render_strips():
            for text, style, _ in strip:
                assert style is None or (style.color is None and style.bgcolor is None), text
                # What is not ASCII is somebody's text, here a title in Japanese.
                assert text.isascii() or not set(text) & set("…·–“”↑↓✓●○◆◇■━╌▏›─│▌"), text


async def test_each_group_of_eight_sessions_has_a_sign_and_the_one_in_view_is_reversed() -> None:
    async with console(full(), (80, 24), PLAINEST) as (app, _, _):
        strip = "".join(one.text for one in segments(app, 1))
        for session in full().sessions:
            if session.group in SIGNS and str(session.run) in strip:
                assert f"{SIGNS[session.group]}{session.run} " in strip
        assert len({*SIGNS.values()}) == 4
        lit = "".join(one.text for one in segments(app, 1) if one.style is not None and one.style.reverse)
        assert lit.startswith("!12 ") and "14" not in lit
    async with console(full(), (120, 34), PLAINEST) as (app, _, _):
        for word in ("NEEDS YOU", "YOUR MOVE", "WORKING", "IDLE", "ENDED"):
            assert look_of(app, word).bold


async def test_a_gauge_a_diff_and_an_option_tell_themselves() -> None:
    async with console(full(), (120, 34), PLAINEST) as (app, pilot, _):
        gauge = "".join(one.text for one in segments(app, row_with(app, "CONTEXT") + 1))
        assert "==-" in gauge or "==." in gauge
        changed = "".join(one.text for one in segments(app, row_with(app, "tests/conftest.py")))
        assert "+6 -2" in changed
        await on_card(app, pilot)
        options = segments(app, row_with(app, "allow once"))
        bold = [one.text.strip() for one in options if one.style is not None and one.style.bold]
        assert {"1", "2", "3"} <= set(bold) and "allow once" not in bold
        edge = segments(app, row_with(app, "RUN A COMMAND?"))
        assert any("|" in one.text and one.style is not None and one.style.bold for one in edge)
        await alone(app, pilot, "escape")
        edge = segments(app, row_with(app, "RUN A COMMAND?"))
        assert not any("|" in one.text for one in edge), "the edge tells where the keys go"


async def test_a_match_is_underlined_and_the_one_gone_to_is_reversed_or_stands_out_of_what_is() -> None:
    said = base.TextBlock(block="b", text="needle one\n\nand another needle\n\nlast")
    session = checkout(decisions=())
    async with console(make_snapshot(session), (100, 30), PLAIN) as (app, pilot, _):
        page = TranscriptPage(events=(FeedEvent(run=RunId(12), turn=None, at=NOW, event=said, key=(1, 0)),))
        app.drive.transcript.show(session, page)
        await alone(app, pilot, "escape")
        await alone(app, pilot, "slash")
        burst(app, *"needle")
        await settled(pilot)
        found = [
            one.style
            for strip in app.screen._compositor.render_strips()
            for one in strip
            if one.text == "needle" and one.style is not None and (one.style.underline or one.style.reverse)
        ]
        assert len(found) >= 2 and all(style.underline or style.reverse for style in found)


async def test_a_sheet_has_an_edge() -> None:
    async with console(full(), (120, 34), PLAINEST) as (app, pilot, _):
        await alone(app, pilot, "ctrl+p")
        row = "".join(one.text for one in segments(app, row_with(app, "Commands")))
        assert row.count("|") == 2


def test_a_letter_of_several_parts_is_never_cut_in_two() -> None:
    for text in ("a👍🏽b", "x👩\u200d👩\u200d👧\u200d👦y", "❤\ufe0fz", "🇺🇦🇫", "e\u0301x", "1\ufe0f\u20e3z", "漢字"):
        for cut in range(cells(text) + 1):
            left, right = split_at(Segment(text), cut)
            assert cells(left.text) == cut and cells(left.text) + cells(right.text) == cells(text)
            assert not right.text.startswith(("\u200d", "\ufe0f", "\u0301", "🏽")), (text, cut)
