"""Looking for a text: what is lit, what is counted, where n and N go, and how Esc brings the reader back; over a real
ledger file, most of whose lines are in no window."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from app.console.app import FootplateApp
from app.console.keys import Where
from app.console.options import ConsoleOptions
from coordinator import transcripts
from coordinator.api import ReadTranscript, SearchTranscript
from coordinator.drivers import base
from store.vocab import RunId, TurnId
from tests.console.driving import alone, settled, typed
from tests.fakes.backend import make_session, make_snapshot, running_turn
from tests.fakes.ledger_backend import LedgerBackend
from tests.waiting import eventually

RUN = RunId(1)
TURN = TurnId("turn-3")


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "PAGE_CHARS", 8_000)
    monkeypatch.setattr(transcripts, "SEARCHED", 50)


def block(number: int, words: str = "") -> base.TextBlock:
    return base.TextBlock(block=f"b{number}", text=words or f"message {number} has nothing in it\nbut a second line")


@asynccontextmanager
async def conversation(
    folder: Path, *said: base.AgentEvent, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[tuple[FootplateApp, "Pilot[int]", LedgerBackend]]:
    session = make_session(1, "long one", turns=(running_turn(3, "Go on."),))
    backend = LedgerBackend(folder / "ledger.db", make_snapshot(session))
    backend.turn_in_ledger(RUN, str(TURN), "Go on.")
    backend.keep(RUN, said, TURN)
    app = FootplateApp(backend, ConsoleOptions(home="/home/mara", run=RUN))
    try:
        async with app.run_test(size=size) as pilot:
            await eventually(lambda: app.drive.transcript.model.lines and backend.given(ReadTranscript))
            await alone(app, pilot, "escape")
            await eventually(lambda: app.drive.focus_place is Where.KEYS)
            yield app, pilot, backend
    finally:
        backend.close()


def shown(app: FootplateApp) -> str:
    view = app.drive.transcript
    return "\n".join(view.render_line(y).text.rstrip() for y in range(view.size.height))


def lit(app: FootplateApp) -> list[tuple[str, bool]]:
    """Pieces of the view that are marked: their text, and whether it is the one that the reader is at."""
    view = app.drive.transcript
    out: list[tuple[str, bool]] = []
    for y in range(view.size.height):
        for text, style, _ in view.render_line(y)._segments:
            if style is not None and (style.reverse or style.underline):
                out.append((text, bool(style.reverse)))
    return out


def told(app: FootplateApp) -> str:
    row = app.drive.search_line.rows if app.drive.searching else app.drive.status.rows
    return "".join(span.text for span in row[0])


async def look_for(app: FootplateApp, pilot: "Pilot[int]", text: str) -> None:
    await alone(app, pilot, "/")
    assert app.drive.focus_place is Where.SEARCH
    await typed(app, pilot, text)


def many(count: int, *marked: int) -> list[base.TextBlock]:
    return [block(n, f"here is the Heron, number {n}\nanother line" if n in marked else "") for n in range(count)]


async def test_matches_in_view_are_lit_at_once_and_those_of_the_whole_run_are_counted(tmp_path: Path) -> None:
    async with conversation(tmp_path, *many(1_500, 3, 700, 701, 1_498)) as (app, pilot, backend):
        await look_for(app, pilot, "heron")
        assert ("Heron", True) in lit(app)
        await eventually(lambda: "4 of 4" in told(app))
        assert len(backend.given(SearchTranscript)) > 20, "page by page"
        await alone(app, pilot, "enter")
        assert not app.drive.searching and app.drive.focus_place is Where.KEYS
        assert "4 of 4" in told(app)


async def test_n_and_capital_n_go_through_all_of_them_whatever_window_they_are_in(tmp_path: Path) -> None:
    marked = (3, 700, 701, 1_498)
    async with conversation(tmp_path, *many(1_500, *marked)) as (app, pilot, _):
        await look_for(app, pilot, "heron")
        await eventually(lambda: "4 of 4" in told(app))
        await alone(app, pilot, "enter")
        for key, place in (("N", 3), ("N", 2), ("N", 1), ("N", 4), ("n", 1), ("n", 2), ("n", 3), ("n", 4), ("n", 1)):
            await alone(app, pilot, key)
            await eventually(lambda place=place: f" {place} of 4" in told(app))  # type: ignore[misc]
            await eventually(lambda place=place: f"number {marked[place - 1]}" in shown(app))  # type: ignore[misc]
            assert [text for text, here in lit(app) if here] == ["Heron"]
            assert len(app.drive.transcript.lines) < 11_500


async def test_esc_brings_the_reader_back_to_where_the_search_began(tmp_path: Path) -> None:
    async with conversation(tmp_path, *many(1_500, 3)) as (app, pilot, _):
        for _ in range(8):
            await alone(app, pilot, "pageup")
        before = shown(app)
        await look_for(app, pilot, "heron")
        await eventually(lambda: "1 found" in told(app) or "1 of 1" in told(app))
        await alone(app, pilot, "escape")
        await eventually(lambda: shown(app) == before)
        assert lit(app) == [] and app.drive.focus_place is Where.KEYS
        # And from where a match led: the place is the same, though its lines had to be read again.
        await look_for(app, pilot, "heron")
        await eventually(lambda: "of 1" in told(app) or "1 found" in told(app))
        await alone(app, pilot, "enter")
        await eventually(lambda: "number 3" in shown(app))
        await alone(app, pilot, "escape")
        assert lit(app) == []
        await alone(app, pilot, "G")
        await eventually(lambda: app.drive.transcript.following and "message 1499" in shown(app))


async def test_at_the_end_esc_goes_back_to_following(tmp_path: Path) -> None:
    async with conversation(tmp_path, *many(1_500, 3)) as (app, pilot, backend):
        await look_for(app, pilot, "message 1400")
        await alone(app, pilot, "escape")
        await eventually(lambda: app.drive.transcript.following)
        backend.say(RUN, [block(1_500, "this is new")], TURN)
        await eventually(lambda: "this is new" in shown(app))


async def test_folds_that_hold_the_match_open_and_others_stay_shut(tmp_path: Path) -> None:
    calls: list[base.AgentEvent] = []
    for n in range(6):
        calls += [
            base.ToolStarted(call=f"c{n}", name="Bash", input={"command": f"make {n}"}, title=f"make {n}"),
            base.ToolFinished(call=f"c{n}", ok=True, output=f"first\nthe egret {n}\nlast" if n in (1, 4) else "plain"),
        ]
    calls.insert(0, base.ThoughtBlock(block="k", text="an Egret is a heron"))
    async with conversation(tmp_path, *calls) as (app, pilot, _):
        assert "egret" not in shown(app)
        await look_for(app, pilot, "egret")
        await eventually(lambda: "3 found" in told(app))
        await alone(app, pilot, "enter")
        await eventually(lambda: "3 of 3" in told(app) and "the egret 4" in shown(app))
        assert "the egret 1" not in shown(app)
        await alone(app, pilot, "N")
        await eventually(lambda: "2 of 3" in told(app) and "the egret 1" in shown(app))
        await alone(app, pilot, "N")
        await eventually(lambda: "1 of 3" in told(app) and "an Egret is" in shown(app))


async def test_several_in_one_message_are_gone_through_one_by_one(tmp_path: Path) -> None:
    text = "\n".join(f"line {n}" + (" stork" if n % 40 == 7 else "") for n in range(200))
    async with conversation(tmp_path, block(0, text), *many(30)) as (app, pilot, _):
        await look_for(app, pilot, "stork")
        await eventually(lambda: "5 of 5" in told(app))
        await alone(app, pilot, "enter")
        for place in (4, 3, 2, 1, 5):
            await alone(app, pilot, "N")
            await eventually(lambda place=place: f" {place} of 5" in told(app))  # type: ignore[misc]
            assert f"line {7 + 40 * (place - 1)} stork" in shown(app)


async def test_what_came_since_is_found_too(tmp_path: Path) -> None:
    async with conversation(tmp_path, *many(40, 38)) as (app, pilot, backend):
        await look_for(app, pilot, "heron")
        await eventually(lambda: "1 of 1" in told(app))
        await alone(app, pilot, "enter")
        backend.say(RUN, [block(40, "one more heron, new")], TURN)
        await eventually(lambda: "new" in shown(app))
        await alone(app, pilot, "n")
        await eventually(lambda: "2 of 2" in told(app))


async def test_what_the_operator_said_is_found(tmp_path: Path) -> None:
    async with conversation(tmp_path, *many(300)) as (app, pilot, _):
        await look_for(app, pilot, "Go on")
        await eventually(lambda: "1 found" in told(app) or "1 of 1" in told(app))
        await alone(app, pilot, "enter")
        await eventually(lambda: "▏Go on." in shown(app) and ("Go on", True) in lit(app))


async def test_nothing_found_is_said_and_a_key_without_a_search_says_how_to_begin(tmp_path: Path) -> None:
    async with conversation(tmp_path, *many(10)) as (app, pilot, _):
        await alone(app, pilot, "n")
        assert "/ begins a search" in told(app)
        await look_for(app, pilot, "no such thing")
        await eventually(lambda: "not in this conversation" in told(app))
        await alone(app, pilot, "backspace")


async def test_keys_are_text_while_the_field_is_open(tmp_path: Path) -> None:
    async with conversation(tmp_path, *many(10)) as (app, pilot, backend):
        await look_for(app, pilot, "Xqs.jk")
        assert app.drive.search_line.text == "Xqs.jk" and app.screen is app.drive
        assert not [c for c in backend.commands if type(c).__name__ in ("Stop", "Interrupt", "CloseAll")]


async def test_a_search_that_is_typed_over_is_not_counted(tmp_path: Path) -> None:
    async with conversation(tmp_path, *many(1_500, 3, 9)) as (app, pilot, _):
        await look_for(app, pilot, "message 1")
        await asyncio.sleep(0)
        await alone(app, pilot, "ctrl+u")
        await typed(app, pilot, "heron")
        await eventually(lambda: "2 found" in told(app))
        await settled(pilot)
