"""Two sessions side by side: which there is room for, which of them keys go to, and that each has its own feed."""

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from app.console.keys import Where
from app.console.views.ink import plain
from app.console.views.layout import BOTH, CENTRE, NARROW, PANEL, RICH, columns
from coordinator.api import FeedEvent, Interrupt, ReadTranscript, Say, Stop, TranscriptPage
from coordinator.drivers import base
from store.vocab import RunId, TurnId
from tests.console.driving import alone, settled, typed
from tests.console.opened import console
from tests.console.scenes import full
from tests.fakes.backend import NOW
from tests.waiting import eventually

WIDE = (170, 45)


@given(st.integers(20, 400), st.integers(0, 60), st.booleans(), st.booleans(), st.booleans())
def test_the_parts_fill_the_screen_exactly(width: int, listed: int, panel: bool, beside: bool, zoomed: bool) -> None:
    parts = columns(width, listed=listed, panel=panel, beside=beside, zoomed=zoomed)
    assert parts.sessions + parts.centre + parts.beside + parts.panel == width
    assert (parts.sessions > 0) == (listed > 0 and not zoomed and width >= NARROW)
    if not zoomed and width >= NARROW:
        # The panel gives way before the conversation does, and comes back as soon as both have room.
        assert parts.centre >= CENTRE
        if not beside:
            assert (parts.panel > 0) == (panel and width - parts.sessions - PANEL >= CENTRE)
    assert (parts.beside > 0) == (beside and not zoomed and width >= RICH)
    if parts.beside and parts.panel:
        assert width >= BOTH


def words(transcript) -> str:  # type: ignore[no-untyped-def]
    return "\n".join(line.text for line in transcript.lines)


def text(run: int, said: str, key: int) -> FeedEvent:
    event = base.TextBlock(block=f"b{key}", text=said)
    return FeedEvent(run=RunId(run), turn=TurnId("turn-3"), at=NOW, event=event, key=(key, 0))


async def put_beside(app, pilot, backend) -> None:  # type: ignore[no-untyped-def]
    backend.pages[RunId(14)] = TranscriptPage(events=(text(14, "of the other one", 1),))
    backend.pages[RunId(12)] = TranscriptPage(events=(text(12, "of the first one", 1),))
    await alone(app, pilot, "escape")
    await alone(app, pilot, "vertical_line")
    await eventually(lambda: "of the other one" in words(app.drive.beside.transcript))


async def test_the_second_one_is_read_along_and_each_hears_its_own_feed() -> None:
    async with console(full(), size=WIDE) as (app, pilot, backend):
        await put_beside(app, pilot, backend)
        assert app.drive.run_in_view == 12 and app.drive.run_beside == 14
        backend.feed(text(14, "news of 14", 9), text(12, "news of 12", 9))
        await eventually(lambda: "news of 14" in words(app.drive.beside.transcript))
        await eventually(lambda: "news of 12" in words(app.drive.transcript))
        assert "news of 12" not in words(app.drive.beside.transcript)
        assert "news of 14" not in words(app.drive.transcript)
        await alone(app, pilot, "vertical_line")
        assert app.drive.run_beside is None and not app.drive.has_class("-beside")
        assert backend.left == [14], "of one that nobody sees nothing is kept"
        await app.deeds.viewing.view(RunId(9))
        await eventually(lambda: 12 in backend.left)
        assert 9 not in backend.left


async def test_keys_text_and_stop_belong_to_the_one_whose_title_is_lit() -> None:
    async with console(full(), size=WIDE) as (app, pilot, backend):
        await put_beside(app, pilot, backend)
        assert all("on-sel" in span.ink for span in app.drive.session_title.rows[0])
        assert not any("on-sel" in span.ink for span in app.drive.beside.title_line.rows[0])
        assert "b swaps" in plain(app.drive.beside.title_line.rows[0])
        await alone(app, pilot, "i")
        await typed(app, pilot, "for the first one")
        await alone(app, pilot, "ctrl+backslash")
        await alone(app, pilot, "ctrl+c")
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(Say))
        assert {one.run for kind in (Stop, Interrupt, Say) for one in backend.given(kind)} == {12}  # type: ignore[type-var]


async def test_they_change_places_with_their_drafts_and_none_is_shown_twice() -> None:
    async with console(full(), size=WIDE) as (app, pilot, backend):
        await typed(app, pilot, "draft of 12")
        await put_beside(app, pilot, backend)
        await alone(app, pilot, "b")
        assert (app.drive.run_in_view, app.drive.run_beside) == (14, 12)
        await eventually(lambda: "of the first one" in words(app.drive.beside.transcript))
        await eventually(lambda: "of the other one" in words(app.drive.transcript))
        assert app.drive.composer.text == "" and app.drive.focus_place is Where.KEYS
        await alone(app, pilot, "K")
        assert (app.drive.run_in_view, app.drive.run_beside) == (12, 14), "J and K come to it just the same"
        assert app.drive.composer.text == "draft of 12"


async def test_the_one_that_was_in_view_before_is_put_beside() -> None:
    async with console(full(), size=WIDE) as (app, pilot, _):
        await app.deeds.viewing.view(RunId(9))
        await app.deeds.viewing.view(RunId(11))
        await alone(app, pilot, "escape")
        await alone(app, pilot, "vertical_line")
        assert (app.drive.run_in_view, app.drive.run_beside) == (11, 9)


@pytest.mark.parametrize(("width", "panel"), [(170, False), (200, True)])
async def test_it_takes_the_place_of_the_panel_until_there_is_room_for_both(width: int, panel: bool) -> None:
    async with console(full(), size=(width, 45)) as (app, pilot, backend):
        await put_beside(app, pilot, backend)
        await settled(pilot)
        assert app.drive.beside.display and app.drive.panel.display is panel
        regions = [app.drive.session_list.region, app.drive.query_one("#centre").region, app.drive.beside.region]
        regions += [app.drive.panel.region] if panel else []
        assert all(one.right == two.x for one, two in pairwise(regions))
        assert regions[-1].right == width


async def test_a_smaller_screen_hides_it_and_a_larger_one_brings_it_back() -> None:
    async with console(full(), size=WIDE) as (app, pilot, backend):
        await put_beside(app, pilot, backend)
        for size, shown in (((120, 34), False), ((80, 24), False), (WIDE, True)):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            assert app.drive.beside.display is shown, size
            assert app.drive.panel.display is (size == (120, 34))
        assert app.drive.run_beside == 14


async def test_where_there_is_no_room_or_no_other_one_it_is_said() -> None:
    async with console(full(), size=(120, 34)) as (app, pilot, _):
        await alone(app, pilot, "escape")
        await alone(app, pilot, "vertical_line")
        assert "160 columns" in app.drive.said.text and app.drive.run_beside is None
        await alone(app, pilot, "b")
        assert "no second session" in app.drive.said.text


async def test_one_that_is_gone_from_the_list_leaves_its_place() -> None:
    async with console(full(), size=WIDE) as (app, pilot, backend):
        await put_beside(app, pilot, backend)
        backend.change(sessions=tuple(one for one in full().sessions if one.run != 14))
        await eventually(lambda: app.drive.run_beside is None)
        assert not app.drive.has_class("-beside")


async def test_older_pages_of_it_are_read_for_it_alone() -> None:
    async with console(full(), size=WIDE) as (app, pilot, backend):
        await put_beside(app, pilot, backend)
        more = tuple(text(14, f"line {n}", 100 + n) for n in range(200))
        backend.pages[RunId(14)] = TranscriptPage(events=more, more_before=True)
        app.drive.run_beside = None
        await alone(app, pilot, "vertical_line")
        await eventually(lambda: "line 199" in words(app.drive.beside.transcript))
        before = words(app.drive.transcript)
        app.drive.beside.transcript.go_to(0)
        await eventually(lambda: [one for one in backend.given(ReadTranscript) if one.before is not None])
        assert {one.run for one in backend.given(ReadTranscript) if one.before is not None} == {14}
        assert words(app.drive.transcript) == before
