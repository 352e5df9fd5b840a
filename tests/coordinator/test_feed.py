"""What waits for a front end: nothing of runs that nobody follows, and of all others together one bound's worth."""

import pytest
from hypothesis import given, strategies as st

from coordinator import feed as module
from coordinator.api import FeedEvent
from coordinator.drivers import base
from coordinator.feed import WAITING, Feed
from store.vocab import Millis, RunId

ONE, OTHER, THIRD = RunId(1), RunId(2), RunId(3)


def said(run: RunId, *texts: str, block: str = "b") -> list[FeedEvent]:
    return [FeedEvent(run=run, turn=None, at=Millis(1), event=base.TextDelta(block=block, text=text)) for text in texts]


def texts(events: tuple[FeedEvent, ...]) -> list[str]:
    return [one.event.text for one in events if isinstance(one.event, base.TextDelta)]


def kept(feed: Feed) -> int:
    return sum(len(lane.events) for lane in feed._lanes.values())


def test_of_a_run_that_nobody_follows_nothing_is_kept_and_who_comes_is_told_what_is_missing() -> None:
    feed = Feed()
    for _ in range(1_000):
        feed.put(ONE, said(ONE, "a", "b"))
    assert kept(feed) == 0
    assert feed.drain(ONE) == ((), 2_000)
    feed.put(ONE, said(ONE, "c"))
    events, dropped = feed.drain(ONE)
    assert (texts(events), dropped) == (["c"], 0)


def test_nothing_is_kept_of_a_run_that_is_left_until_somebody_comes_again() -> None:
    feed = Feed()
    feed.leave(ONE)  # that nobody followed
    feed.drain(ONE)
    feed.put(ONE, said(ONE, "a"))
    feed.leave(ONE)
    feed.put(ONE, said(ONE, "b"))
    assert kept(feed) == 0
    assert feed.drain(ONE) == ((), 2)
    feed.put(ONE, said(ONE, "c"))
    assert texts(feed.drain(ONE)[0]) == ["c"]


def test_a_run_that_is_no_longer_looked_at_gives_way_to_the_one_that_is() -> None:
    feed = Feed()
    feed.drain(ONE)
    feed.drain(OTHER)
    for number in range(WAITING):
        feed.put(ONE, said(ONE, "hidden"))
        feed.put(OTHER, said(OTHER, f"{number}"))
        events, dropped = feed.drain(OTHER)
        assert (texts(events), dropped) == ([f"{number}"], 0)
    feed.put(ONE, said(ONE, "one too many"))
    assert kept(feed) == 0  # and from here on nothing of it, until somebody comes
    feed.put(ONE, said(ONE, "hidden"))
    assert kept(feed) == 0
    assert feed.drain(ONE) == ((), WAITING + 2)
    feed.put(ONE, said(ONE, "looked at again"))
    assert texts(feed.drain(ONE)[0]) == ["looked at again"]


def test_many_runs_together_cost_no_more_than_one() -> None:
    feed = Feed()
    runs = [RunId(number) for number in range(1, 51)]
    for run in runs:
        feed.drain(run)
    for _ in range(50):
        for run in runs:
            feed.put(run, said(run, *["x"] * 40))
            assert kept(feed) <= WAITING


def test_one_that_is_looked_at_and_not_drained_is_emptied_whole() -> None:
    # A terminal that is not read: what is left would be no use without what is missing before it.
    feed = Feed()
    feed.drain(ONE)
    feed.put(ONE, said(ONE, *["x"] * WAITING))
    assert kept(feed) == WAITING
    feed.put(ONE, said(ONE, "x"))
    assert feed.drain(ONE) == ((), WAITING + 1)
    feed.put(ONE, said(ONE, "y"))
    assert texts(feed.drain(ONE)[0]) == ["y"]


def test_large_texts_count_by_their_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING_CHARS", 1_000)
    feed = Feed()
    feed.drain(ONE)
    feed.drain(OTHER)
    feed.put(ONE, said(ONE, "x" * 600))
    feed.put(OTHER, said(OTHER, "x" * 400))
    assert kept(feed) == 2
    feed.put(OTHER, said(OTHER, "x"))
    assert feed.drain(ONE) == ((), 1)
    assert [len(text) for text in texts(feed.drain(OTHER)[0])] == [400, 1]


Step = tuple[str, RunId, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "drain", "page", "leave"]), st.sampled_from([ONE, OTHER, THIRD]), st.integers(0, 9)
    )
)


@given(STEPS)
def test_every_event_is_told_once_in_order_or_counted_as_missing(steps: list[Step]) -> None:
    """Whatever is put and drained in whatever order: what comes and what is missing is all that there was."""
    most = module.WAITING
    module.WAITING = 20  # type: ignore[misc]
    try:
        feed, put = Feed(), dict.fromkeys((ONE, OTHER, THIRD), 0)
        got: dict[RunId, int] = dict.fromkeys(put, 0)
        for what, run, count in steps:
            if what == "put":
                feed.put(run, said(run, *(str(put[run] + n) for n in range(count))))
                put[run] += count
            elif what == "page":
                feed.without_pieces(run, {"another block"})
            elif what == "leave":
                feed.leave(run)
                assert run not in feed._lanes
            else:
                events, dropped = feed.drain(run)
                assert texts(events) == [str(got[run] + dropped + n) for n in range(len(events))]
                got[run] += dropped + len(events)
                assert got[run] == put[run]
            assert kept(feed) == feed._waiting <= 20
            assert feed._chars == sum(len(t) for lane in feed._lanes.values() for t in texts(tuple(lane.events)))
    finally:
        module.WAITING = most  # type: ignore[misc]


def test_pieces_that_a_page_has_are_taken_out_and_no_longer_counted() -> None:
    feed = Feed()
    feed.drain(ONE)
    feed.put(ONE, [*said(ONE, "in the page", block="b1"), *said(ONE, "not in it", block="b2")])
    feed.without_pieces(ONE, {"b1"})
    assert (kept(feed), feed._waiting, feed._chars) == (1, 1, len("not in it"))
    assert texts(feed.drain(ONE)[0]) == ["not in it"]
