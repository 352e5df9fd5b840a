"""Who looks at a session in the middle of a sentence sees its beginning too, and each word once."""

from pathlib import Path

from coordinator.api import ReadTranscript, TranscriptPage
from coordinator.drivers.base import TextDelta
from tests.coordinator.held import Holding, holding, script
from tests.waiting import eventually


def pieces(events: object) -> str:
    return "".join(one.event.text for one in events if isinstance(one.event, TextDelta))  # type: ignore[attr-defined]


async def page(held: Holding, run: int) -> TranscriptPage:
    reply = await held.do(ReadTranscript(run=run))  # type: ignore[arg-type]
    assert isinstance(reply, TranscriptPage)
    return reply


async def test_the_page_has_the_unfinished_words_and_the_feed_those_after_them(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"text": "abcdefghij" * 4, "chunks": 40, "slow": 0.02}))
        feed = held.coordinator.house.feed
        # A console that came late, and one that looked elsewhere meanwhile: what they drained is gone from the feed.
        await eventually(lambda: pieces(feed.drain(run)[0]))
        read = await page(held, run)
        begun = pieces(read.events)
        assert begun and "abcdefghij".startswith(begun[:10])
        seen = begun
        while len(seen) < 40:
            drained = await eventually(lambda: feed.drain(run)[0])
            seen += pieces(drained)
        assert seen == "abcdefghij" * 4
        await held.until(run, lambda v: v.turns[0].result is not None)
        assert pieces((await page(held, run)).events) == ""
