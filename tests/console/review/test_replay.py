"""A run played again: at every step what is seen is what the ledger says of that step, forwards and backwards."""

from pathlib import Path

from app.console.options import ConsoleOptions
from store.vocab import Millis
from tests.console.review.opened import NOW, Reviewed, reviewing
from tests.waiting import eventually


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def stopped_clock() -> tuple[Clock, ConsoleOptions]:
    clock = Clock()
    return clock, ConsoleOptions(home="/home/mara", now=lambda: Millis(NOW), monotonic=clock)


async def lines(on: Reviewed) -> list[str]:
    on.review.pane.transcript.flush()
    await on.pilot.pause()
    return on.conversation


async def played_to_the_end(on: Reviewed) -> list[list[str]]:
    """By ``.``, all that is seen after each event."""
    replay, seen = on.review.replay, [await lines(on)]
    while "at its end" not in replay.words():
        await on.press("full_stop")
        seen.append(await lines(on))
        assert len(seen) < 100
    return seen


async def test_at_its_end_the_replay_shows_what_reading_shows(practiced: Path) -> None:
    _, options = stopped_clock()
    async with reviewing(practiced, options=options) as on:
        await on.press("enter", "tab")
        whole = on.conversation
        await on.press("r")
        assert on.review.replay.active
        seen = await played_to_the_end(on)
        assert seen[-1] == whole
        assert len(seen[0]) < len(whole)


async def test_a_step_back_shows_what_was_shown_then(practiced: Path) -> None:
    _, options = stopped_clock()
    async with reviewing(practiced, options=options) as on:
        await on.press("r")
        replay = on.review.replay
        forwards: dict[int, list[str]] = {}
        while replay.playing is not None and "at its end" not in replay.words():
            await on.press("full_stop")
            forwards[replay.playing.shown] = await lines(on)
        assert len(forwards) > 15
        while replay.playing is not None and replay.playing.shown > min(forwards):
            await on.press("comma")
            assert await lines(on) == forwards[replay.playing.shown], replay.words()


async def test_what_was_answered_later_waits_in_a_replay(practiced: Path) -> None:
    _, options = stopped_clock()
    async with reviewing(practiced, options=options) as on:
        await on.press("r")
        seen = await played_to_the_end(on)
        asked = next(rows for rows in seen if any("touch denied.txt" in row for row in rows))
        assert not any("denied: rather not" in row or "rather not" in row for row in asked)
        assert any("rather not" in row or "denied" in row for row in seen[-1])


async def test_it_goes_by_the_clock_stands_and_goes_faster(practiced: Path) -> None:
    clock, options = stopped_clock()
    async with reviewing(practiced, options=options) as on:
        await on.press("r")
        replay = on.review.replay
        assert replay.words().startswith("replay 1×")
        await on.press("r")
        assert replay.words().startswith("replay 4×")
        await on.press("space")
        clock.now += 1_000
        await on.press("space")
        before = replay.playing
        assert before is not None and not before.paused, "the time in which it stood is not played"
        clock.now += 1_000
        await on.press("r")
        assert replay.words().startswith("replay at its end")


async def test_it_plays_by_itself(practiced: Path) -> None:
    async with reviewing(practiced) as on:
        await on.press("enter", "tab")
        whole = on.conversation
        await on.pilot.press("r", "r", "r")
        await eventually(lambda: "at its end" in on.review.replay.words(), 30.0)
        await lines(on)
        await eventually(lambda: on.conversation == whole, 10.0)


async def test_it_begins_at_the_chosen_turn_and_ends_where_it_was(practiced: Path) -> None:
    _, options = stopped_clock()
    async with reviewing(practiced, options=options) as on:
        await on.press("enter", "shift+tab", "j", "r")
        assert "turn 2" in on.review.replay.words()
        assert any("never closed" in row for row in await lines(on)), "what came before is there"
        # The clock stands: what has the time of the turn's beginning is shown, and nothing that came later.
        assert "at its end" not in on.review.replay.words()
        await on.press("escape")
        assert not on.review.replay.active and on.review.alone
        assert on.review.pane.transcript.has_focus
        assert any("done for today" in row for row in on.conversation)


async def test_leaving_it_by_other_ways_ends_it(practiced: Path) -> None:
    _, options = stopped_clock()
    for keys in (("tab",), ("f",), ("t",), ("dollar_sign",)):
        async with reviewing(practiced, options=options) as on:
            await on.press("r", *keys)
            await on.press("escape", "escape", "escape")
            assert not on.review.replay.active, keys
