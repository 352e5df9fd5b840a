"""A run of more lines than are kept here: read from end to end in a bounded window, with nothing missing and nothing
twice, whatever comes live meanwhile; what came below is told, and the end is one key away."""

import re
from pathlib import Path

import pytest

from app.console.views import transcript as model_module
from app.console.widgets import transcript as widget_module
from app.console.widgets.line_view import LineView
from coordinator import transcripts
from tests.console.driving import alone
from tests.console.test_search import RUN, TURN, block, conversation, many, shown
from tests.fakes.backend import running_turn
from tests.waiting import eventually

LEFT, RIGHT = "left_curly_bracket", "right_curly_bracket"
NUMBER = re.compile(r"message (\d+)")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "PAGE_CHARS", 4_000)
    monkeypatch.setattr(model_module, "_SLACK", 60)
    monkeypatch.setitem(model_module.TranscriptModel.__init__.__kwdefaults__, "window", 200)


def numbers(view: LineView) -> list[int]:
    return [int(found[1]) for line in view.lines if (found := NUMBER.search(line.text))]


async def test_the_whole_run_can_be_read_upwards_and_down_again_in_a_bounded_window(tmp_path: Path) -> None:
    async with conversation(tmp_path, *many(600)) as (app, pilot, _):
        view = app.drive.transcript
        seen: set[int] = set()
        for way, last in (("pageup", 0), ("pagedown", 599)):
            for _ in range(400):
                held = numbers(view)
                assert held == list(range(held[0], held[-1] + 1)), "in order, none twice"
                assert len(view.lines) < 700
                seen.update(int(n) for n in NUMBER.findall(shown(app)))
                if last in (int(n) for n in NUMBER.findall(shown(app))):
                    break
                await eventually(lambda: view._asked is None)
                getattr(view, f"action_{'page_up' if way == 'pageup' else 'page_down'}")()
                await pilot.pause()
            assert last in seen
            assert len(seen) == 600, "every message was in view on the way"
            seen.clear()


async def test_what_comes_while_the_reader_is_far_up_is_counted_and_is_all_there_at_the_end(tmp_path: Path) -> None:
    async with conversation(tmp_path, *many(600)) as (app, pilot, backend):
        view = app.drive.transcript
        await alone(app, pilot, "g")
        await eventually(lambda: "message 0 " in shown(app))
        assert view.goes_on
        for n in range(600, 640):
            backend.say(RUN, [block(n)], TURN)
        await eventually(lambda: view.unread >= 40, what=str(view.unread))
        assert view.unread == 40
        await eventually(lambda: "40 new below: G" in "".join(span.text for span in app.drive.rule.rows[0]))
        assert "message 0 " in shown(app) and len(view.lines) < 700
        await alone(app, pilot, "G")
        await eventually(lambda: view.following and "message 639" in shown(app))
        assert view.unread == 0
        await eventually(lambda: "below" not in "".join(span.text for span in app.drive.rule.rows[0]))
        for n in range(640, 650):
            backend.say(RUN, [block(n)], TURN)
        await eventually(lambda: "message 649" in shown(app))
        held = numbers(view)
        assert held == list(range(held[0], 650))


async def test_coming_down_page_by_page_joins_the_stream_without_a_gap(tmp_path: Path) -> None:
    async with conversation(tmp_path, *many(200)) as (app, pilot, backend):
        view = app.drive.transcript
        await alone(app, pilot, "g")
        await eventually(lambda: "message 0 " in shown(app))
        said = 200
        for _ in range(300):
            if not view.goes_on and view.following:
                break
            view.action_page_down()
            if said < 260:
                backend.say(RUN, [block(said)], TURN)
                said += 1
            await pilot.pause()
            await eventually(lambda: view._asked is None)
        await eventually(lambda: f"message {said - 1} " in shown(app))
        held = numbers(view)
        assert held == list(range(held[0], said))


async def test_a_jump_goes_to_where_a_turn_begins_wherever_that_is(tmp_path: Path) -> None:
    async with conversation(tmp_path, *many(600)) as (app, pilot, backend):
        view = app.drive.transcript
        second = running_turn(4, "And the second.")
        backend.change_session(1, turns=(running_turn(3, "Go on."), second), in_flight=second.id)
        backend.turn_in_ledger(RUN, str(second.id), "And the second.")
        backend.say(RUN, [*many(600), block(999, "the very end")], second.id)
        await eventually(lambda: view.following and "the very end" in shown(app))
        for key, row in ((LEFT, "And the second."), (LEFT, "Go on."), (RIGHT, "And the second.")):
            await alone(app, pilot, key)
            await eventually(lambda row=row: f"▏{row}" in "\n".join(shown(app).splitlines()[:3]), what=key)  # type: ignore[misc]
            assert len(view.lines) < 1_200
        await alone(app, pilot, "G")
        await eventually(lambda: view.following and "the very end" in shown(app))


async def test_memory_stays_bounded_by_the_limit_of_the_view() -> None:
    assert widget_module._HARD_LIMIT > 2 * model_module.WINDOW
