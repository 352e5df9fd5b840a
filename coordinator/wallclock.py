"""When terms end, by a clock that people set: a step back never lengthens them, a step forward warns before it ends
anything.

A machine that slept looks like a step forward, because monotonic time stood still meanwhile. Pure; both times come in.
"""

from msgspec import Struct
from msgspec.structs import replace

FORWARD_STEP = 60.0
"""Seconds by which the wall clock may run ahead of the monotonic one before it counts as a step."""
GRACE = 60.0
"""Seconds between the warning and the end, when a step put the end behind us."""


class WallClock(Struct, frozen=True, kw_only=True):
    """Both clocks at one moment. ``at`` compares them again later."""

    wall_ms: int
    monotonic: float
    grace_until: float | None = None
    """Monotonic time until which nothing ends by itself after a step forward."""

    def at(self, wall_ms: int, monotonic: float) -> "tuple[WallClock, bool]":
        """The clock as it is now, and whether a step forward was just seen."""
        expected = self.wall_ms + (monotonic - self.monotonic) * 1000
        if wall_ms > expected + FORWARD_STEP * 1000:
            return WallClock(wall_ms=wall_ms, monotonic=monotonic, grace_until=monotonic + GRACE), True
        if self.grace_until is not None and monotonic >= self.grace_until:
            return replace(self, grace_until=None).at(wall_ms, monotonic)
        if wall_ms < expected:
            # Stepped back: what has passed has passed.
            return replace(self, wall_ms=round(expected), monotonic=monotonic), False
        return replace(self, wall_ms=wall_ms, monotonic=monotonic), False

    def left(self, expires_at_ms: int) -> float:
        """Seconds until an end, at the moment of this clock; never past within the grace of a step."""
        left = (expires_at_ms - self.wall_ms) / 1000
        if self.grace_until is not None and self.grace_until > self.monotonic:
            return max(left, self.grace_until - self.monotonic)
        return left
