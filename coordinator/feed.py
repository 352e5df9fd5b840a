"""Live events on their way to a front end: lossy for progress, never for endings, and it counts what it dropped.

One bounded lane a run. A screen that does not drain (a stopped terminal, an editor in front) costs at most ``LANE``
events of memory; it is then told how many are missing and reads the page from the ledger again. Endings travel in the
snapshot, which always holds the newest state, so nothing that must arrive is ever here alone.
"""

import threading
from collections import deque
from collections.abc import Container

from coordinator.api import FeedEvent
from coordinator.drivers.base import TextDelta, ThoughtDelta
from coordinator.longtexts import weight
from store.vocab import RunId

LANE = 20_000
LANE_CHARS = 40_000_000
"""Text in one lane: events may be few and large."""
PIECES = (TextDelta, ThoughtDelta)


class Feed:
    """Written on the coordinator's thread, drained on any other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lanes: dict[RunId, deque[FeedEvent]] = {}
        self._dropped: dict[RunId, int] = {}
        self._chars: dict[RunId, int] = {}

    def put(self, run: RunId, events: list[FeedEvent]) -> None:
        with self._lock:
            lane = self._lanes.setdefault(run, deque(maxlen=LANE))
            over = len(lane) + len(events) - LANE
            if over > 0:
                self._dropped[run] = self._dropped.get(run, 0) + over
            lane.extend(events)
            chars = self._chars.get(run, 0) + sum(weight(event.event) for event in events)
            if chars > LANE_CHARS:
                self._dropped[run] = self._dropped.get(run, 0) + len(lane)
                lane.clear()
                chars = 0
            self._chars[run] = chars

    def drain(self, run: RunId) -> tuple[tuple[FeedEvent, ...], int]:
        with self._lock:
            lane = self._lanes.get(run)
            if lane is None:
                return (), 0
            events = tuple(lane)
            lane.clear()
            self._chars[run] = 0
            return events, self._dropped.pop(run, 0)

    def without_pieces(self, run: RunId, blocks: Container[str]) -> None:
        """Leave out the pieces of these blocks: who reads the page has them from there."""
        with self._lock:
            lane = self._lanes.get(run, deque())
            kept = [event for event in lane if not (isinstance(event.event, PIECES) and event.event.block in blocks)]
            lane.clear()
            lane.extend(kept)

    def forget(self, run: RunId) -> None:
        with self._lock:
            self._lanes.pop(run, None)
            self._dropped.pop(run, None)
            self._chars.pop(run, None)
