"""The widget in a running app: what stays in view, what is asked for, what a selection gives."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from app.console.widgets import transcript as module
from coordinator.api import FeedEvent, TranscriptPage
from coordinator.drivers import base
from tests.console.transcript.conversation import Script, session, text, turn, used, working
from tests.console.transcript.stage import Stage
from tests.waiting import eventually


@asynccontextmanager
async def stage(size: tuple[int, int] = (60, 12)) -> AsyncIterator[tuple[Stage, Pilot[None]]]:
    app = Stage()
    async with app.run_test(size=size) as pilot:
        yield app, pilot


def long_script(count: int = 60) -> Script:
    script = Script()
    for n in range(count):
        script.say(text(f"message {n} " + "and some words " * (n % 9), f"m{n}"))
    return script


def live(script: Script, *events: base.AgentEvent) -> tuple[FeedEvent, ...]:
    before = len(script.events)
    script.say(*events)
    return tuple(script.events[before:])


async def test_it_stays_at_the_end_while_it_is_there() -> None:
    async with stage() as (app, pilot):
        view, script = app.transcript, long_script()
        view.show(session(working(1)), script.page())
        await pilot.pause()
        assert view.following and "message 59" in "\n".join(app.rows())
        for n in range(20):
            view.feed(live(script, base.TextDelta(block="x", text=f"streamed {n}\n")))
        await eventually(lambda: app.rows()[-1] == "  streamed 19")
        assert view.unread == 0
        assert view.vertical_scrollbar.window_virtual_size == view.virtual_size.height == view._index.total


async def test_further_up_it_stays_and_counts_what_came() -> None:
    async with stage() as (app, pilot):
        view, script = app.transcript, long_script()
        view.show(session(working(1)), script.page())
        await pilot.pause()
        view.action_page_up()
        await pilot.pause()
        assert not view.following
        rows = app.rows()
        view.feed(live(script, base.TextDelta(block="x", text="one\ntwo\nthree")))
        await eventually(lambda: view.unread == 4)  # an empty line sets it apart
        assert app.rows() == rows
        view.feed(live(script, text("one", "x")))
        await eventually(lambda: view.unread == 2)
        view.action_scroll_end()
        await pilot.pause()
        assert view.following and view.unread == 0 and app.rows()[-1] == "  one"


async def test_the_wheel_and_textuals_own_scrolling_count_too() -> None:
    async with stage() as (app, pilot):
        view = app.transcript
        view.show(session(working(1)), long_script().page())
        await pilot.pause()
        view.scroll_up(animate=False)
        await eventually(lambda: not view.following)
        view.scroll_end(animate=False)
        await eventually(lambda: view.following)


async def test_an_older_page_keeps_the_place() -> None:
    async with stage() as (app, pilot):
        view, script = app.transcript, long_script()
        view.show(session(working(1)), TranscriptPage(events=script.kept[30:], more_before=True))
        await pilot.pause()
        assert app.asked == []
        view.go_to(0)
        await eventually(lambda: bool(app.asked))
        assert [(m.run, m.before) for m in app.asked] == [(12, script.kept[30].key)]
        view.go_to(3)
        await pilot.pause()
        rows = app.rows()
        view.take_page(app.asked[-1], TranscriptPage(events=script.kept[:30], more_before=False))
        await pilot.pause()
        assert app.rows() == rows
        assert view.scroll_offset.y > 3 and not view.following
        view.action_scroll_home()
        await pilot.pause()
        assert app.rows()[3].startswith("  message 0") and len(app.asked) == 1


async def test_a_page_too_short_for_the_screen_asks_for_more_and_again_where_nothing_came() -> None:
    async with stage() as (app, pilot):
        view, script = app.transcript, long_script(30)
        view.show(session(working(1)), TranscriptPage(events=script.kept[-2:], more_before=True))
        await eventually(lambda: len(app.asked) == 1)
        view.take_page(app.asked[-1], TranscriptPage(events=script.kept[-2:], more_before=True))
        await eventually(lambda: len(app.asked) == 2)
        view.take_page(app.asked[-1], TranscriptPage(events=script.kept[:-2], more_before=False))
        await pilot.pause()
        assert (
            len(app.asked) == 2 and view.following and "message 29" in app.rows()[-1] + app.rows()[-2] + app.rows()[-3]
        )


async def test_the_same_text_is_at_the_top_in_every_width() -> None:
    async with stage((100, 12)) as (app, pilot):
        view, script = app.transcript, long_script()
        view.show(session(working(1)), script.page())
        await pilot.pause()
        line = next(n for n, line in enumerate(view.model.lines) if line.text.startswith("message 26"))
        view.go_to(view._index.row_of(line))
        await pilot.pause()
        assert app.rows()[0].startswith("  message 26")
        for width in (40, 120, 60, 24, 100):
            await pilot.resize_terminal(width, 12)
            await eventually(lambda width=width: view._row_width == width - 3)
            assert app.rows()[0].startswith("  message 26"), width
            assert max(len(row) for row in app.rows()) <= width - 3
            assert not view.following


async def test_a_resize_at_the_end_stays_there() -> None:
    async with stage((100, 20)) as (app, pilot):
        view = app.transcript
        view.show(session(working(1)), long_script().page())
        for size in ((40, 10), (90, 30), (60, 5)):
            await pilot.resize_terminal(*size)
            await eventually(lambda size=size: view.size.height == size[1])
            assert view.following and view.scroll_offset.y == view._end_row()


async def test_growing_asks_for_no_layout(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    async with stage() as (app, pilot):
        view, script = app.transcript, long_script()
        view.show(session(working(1)), script.page())
        await pilot.pause()
        laid_out: list[object] = []
        monkeypatch.setattr(app.screen, "_refresh_layout", lambda *a, **k: laid_out.append(a))
        for n in range(5):
            view.feed(live(script, base.TextDelta(block="x", text=f"more {n}\n")))
            await eventually(lambda n=n: app.rows()[-1] == f"  more {n}")
        await pilot.pause()
        assert laid_out == []


async def test_what_is_below_the_view_paints_nothing(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    async with stage() as (app, pilot):
        view, script = app.transcript, long_script()
        view.show(session(working(1)), script.page())
        view.go_to(5)
        await pilot.pause()
        painted: list[object] = []
        monkeypatch.setattr(view, "refresh", lambda *a, **k: painted.append(a))
        view.feed(live(script, base.TextDelta(block="x", text="far below\n")))
        await eventually(lambda: view.unread > 0)
        assert painted == []


async def test_folds_by_key_and_by_mouse_keep_their_line_in_place() -> None:
    async with stage() as (app, pilot):
        view, script = app.transcript, long_script(20)
        script.say(*used("e", "Edit", "a.py", old_string="\n".join("abcdefgh"), new_string="x"), text("after " * 60))
        view.show(session(working(1)), script.page())
        await pilot.pause()
        place = next(y for y, row in enumerate(app.rows()) if "Edit a.py" in row)
        await pilot.click("#transcript", offset=(5, place))
        await eventually(lambda: any("-a" in row for row in app.rows()))
        assert "Edit a.py" in app.rows()[place]
        assert view.toggle_fold()
        await pilot.pause()
        assert not any("-a" in row for row in app.rows())
        view.move_cursor(0)
        assert view.show_cursor


async def test_turn_by_turn() -> None:
    async with stage() as (app, pilot):
        script = Script()
        for n in range(1, 6):
            script.in_turn(n).say(text("\n".join(f"turn {n} line {k}" for k in range(20)), f"b{n}"))
        view = app.transcript
        view.show(session(*(turn(n) for n in range(1, 6))), script.page())
        await pilot.pause()
        view.previous_turn()
        assert app.rows()[0].startswith("5 you")
        view.previous_turn()
        view.previous_turn()
        assert app.rows()[0].startswith("3 you")
        view.next_turn()
        assert app.rows()[0].startswith("4 you")
        view.next_turn()
        view.next_turn()
        assert view.following


async def test_a_selection_gives_what_was_written() -> None:
    async with stage((40, 20)) as (app, pilot):
        said = "a long line that goes on to the next row here\n```make\nall:\n\tcc x.c\n```\nlast"
        view = app.transcript
        view.show(session(turn(1, "Do it.")), Script().say(text(said, "b")).page())
        await pilot.pause()
        rows = app.rows()
        first = next(y for y, row in enumerate(rows) if "a long line" in row)
        last = next(y for y, row in enumerate(rows) if row.strip() == "last")

        def select(start: tuple[int, int], end: tuple[int, int]) -> str:
            app.screen.selections = {view: Selection(Offset(*start), Offset(*end))}
            return app.screen.get_selected_text() or ""

        assert select((0, first), (40, last)) == said.removesuffix("\n```\nlast") + "\nlast"
        assert select((4, first), (2, first + 1)) == "long line that goes on to the "
        assert select((2, 0), (40, 1)) == "Do it."
        assert select((3, last), (5, last)) == "as"
        lit = view.render_line(last - view.scroll_offset.y)
        assert [s.text for s in lit if s.style and s.style.bgcolor != lit._segments[0].style.bgcolor] == ["as"]  # type: ignore[union-attr]


async def test_dragging_selects() -> None:
    async with stage((40, 12)) as (app, pilot):
        view = app.transcript
        view.show(session(turn(1)), Script().say(text("first words\nsecond words", "b")).page())
        await pilot.pause()
        place = next(y for y, row in enumerate(app.rows()) if "first words" in row)
        await pilot.mouse_down("#transcript", offset=(9, place))
        await pilot.hover("#transcript", offset=(9, place + 1))
        await pilot.mouse_up("#transcript", offset=(9, place + 1))
        await eventually(lambda: bool(app.screen.get_selected_text()))
        assert (app.screen.get_selected_text() or "").replace("\n", "|").startswith("words|second")


async def test_a_selection_moves_with_its_text() -> None:
    async with stage() as (app, pilot):
        view, script = app.transcript, long_script()
        view.show(session(working(1)), TranscriptPage(events=script.kept[30:], more_before=True))
        view.go_to(4)
        await pilot.pause()
        app.screen.selections = {view: Selection(Offset(2, 6), Offset(20, 8))}
        told = app.screen.get_selected_text()
        view.take_page(app.asked[-1], TranscriptPage(events=script.kept[:30], more_before=False))
        await pilot.pause()
        assert told and app.screen.get_selected_text() == told


async def test_another_session_begins_at_its_end_and_the_same_keeps_the_place() -> None:
    async with stage() as (app, pilot):
        view, script = app.transcript, long_script()
        view.show(session(working(1)), script.page())
        view.go_to(10)
        await pilot.pause()
        rows = app.rows()
        view.show(session(working(1)), script.page())
        await pilot.pause()
        assert app.rows() == rows and not view.following
        view.show(session(working(1), run=13), Script().say(text("hello")).page())
        await pilot.pause()
        assert view.following and "  hello" in app.rows()


async def test_memory_is_bounded_though_the_reader_is_far_up(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(module, "_HARD_LIMIT", 7_000)
    async with stage() as (app, pilot):
        view, script = app.transcript, long_script()
        view.show(session(working(1)), script.page())
        view.go_to(0)
        await pilot.pause()
        for n in range(12):
            view.feed(live(script, text("row\n" * 900, f"big{n}")))
            view.flush()
        assert len(view.model.lines) <= 7_000
        assert view.model.more_before
