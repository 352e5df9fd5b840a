"""The one real clock. Everything else is given a ``Clock``, so that tests drive time."""

import time
from typing import Protocol

from store.vocab import Millis


class Clock(Protocol):
    def now(self) -> Millis:
        """Wall clock, for what is written down."""
        ...

    def monotonic(self) -> float:
        """Seconds, for durations."""
        ...


class RealClock:
    def now(self) -> Millis:
        return Millis(time.time_ns() // 1_000_000)

    def monotonic(self) -> float:
        return time.monotonic()
