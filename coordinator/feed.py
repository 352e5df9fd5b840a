"""Live events on their way to a front end: lossy for progress, never for endings, and it counts what it dropped.

A lane for each run that a front end follows, and one bound for all of them together. A run is followed from its first
draining until it is left; what others print is in the ledger, and whoever comes to them begins with a page of that. A
front end that does not drain (a stopped terminal, an editor in front) costs at most ``WAITING`` events of memory; it is
then told how many are missing and reads the page again. The lane that was left alone for longest goes first. Endings
travel in the snapshot, which always holds the newest state, so nothing that must arrive is ever here alone.
"""

import threading
from collections import OrderedDict
from collections.abc import Container

from msgspec import Struct, field

from coordinator.api import FeedEvent
from coordinator.drivers.base import TextDelta, ThoughtDelta
from coordinator.longtexts import weight
from store.vocab import RunId

WAITING = 20_000
WAITING_CHARS = 40_000_000
"""Text in all lanes: events may be few and large."""
PIECES = (TextDelta, ThoughtDelta)


class _Lane(Struct):
    events: list[FeedEvent] = field(default_factory=list)
    chars: int = 0


class Feed:
    """Written on the coordinator's thread, drained on any other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lanes: OrderedDict[RunId, _Lane] = OrderedDict()
        """Of the runs that are followed, the one first that was not drained for longest."""
        self._dropped: dict[RunId, int] = {}
        self._waiting = self._chars = 0
        """Of all lanes."""

    def put(self, run: RunId, events: list[FeedEvent]) -> None:
        with self._lock:
            lane = self._lanes.get(run)
            if lane is None:
                self._dropped[run] = self._dropped.get(run, 0) + len(events)
                return
            self._count(lane, events)
            lane.events.extend(events)
            while self._waiting > WAITING or self._chars > WAITING_CHARS:
                left_alone, lane = self._lanes.popitem(last=False)
                self._dropped[left_alone] = self._dropped.get(left_alone, 0) + len(lane.events)
                self._empty(lane)

    def drain(self, run: RunId) -> tuple[tuple[FeedEvent, ...], int]:
        """What came since the last time, and how many events are missing before it. From here on the run is
        followed."""
        with self._lock:
            lane = self._lanes.setdefault(run, _Lane())
            self._lanes.move_to_end(run)
            events = tuple(lane.events)
            self._empty(lane)
            return events, self._dropped.pop(run, 0)

    def leave(self, run: RunId) -> None:
        """Nobody looks at it any more: nothing is kept for it until somebody does again."""
        with self._lock:
            lane = self._lanes.pop(run, None)
            if lane is not None:
                self._dropped[run] = self._dropped.get(run, 0) + len(lane.events)
                self._empty(lane)

    def without_pieces(self, run: RunId, blocks: Container[str]) -> None:
        """Leave out the pieces of these blocks: who reads the page has them from there."""
        with self._lock:
            lane = self._lanes.get(run)
            if lane is None:
                return
            kept = [one for one in lane.events if not (isinstance(one.event, PIECES) and one.event.block in blocks)]
            self._empty(lane)
            self._count(lane, kept)
            lane.events.extend(kept)

    def _count(self, lane: _Lane, events: list[FeedEvent]) -> None:
        chars = sum(weight(event.event) for event in events)
        lane.chars += chars
        self._chars += chars
        self._waiting += len(events)

    def _empty(self, lane: _Lane) -> None:
        self._waiting -= len(lane.events)
        self._chars -= lane.chars
        lane.events.clear()
        lane.chars = 0
