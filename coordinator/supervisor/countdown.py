"""How long a hold may go on without a word from its console, and when its terms end it by the clock.

Only time is counted here; the end itself is ordered by whoever asks.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_WALL_LOOK_SECONDS = 10.0


class Countdown:
    """What is left, by both clocks: a wall clock set back does not give the agent more time."""

    def __init__(self, now: Callable[[], float], *, seconds: float, reason: str, expires_at_ms: int | None) -> None:
        self._now = now
        self._until = 0.0
        self._reason = ""
        self._expires_at_ms: int | None = None
        self._expires_until = 0.0
        self.renew(seconds, reason, expires_at_ms)

    def renew(self, seconds: float, reason: str, expires_at_ms: int | None) -> None:
        """The console is there. ``reason``: why it ends if nothing more is heard; empty: the one from before."""
        self._until = self._now() + seconds
        self._reason = reason or self._reason
        self._expires_at_ms = expires_at_ms
        if expires_at_ms is not None:
            self._expires_until = self._now() + expires_at_ms / 1000 - time.time()

    @property
    def remaining(self) -> float:
        """Seconds."""
        return max(0.0, self._until - self._now())

    def over(self, now: float) -> str | None:
        """Why it ends now; None: it does not."""
        if now >= self._until:
            return self._reason
        at = self._expires_at_ms
        return "expired" if at is not None and (time.time() * 1000 >= at or self._expires_until <= now) else None

    def look_at(self, now: float) -> float:
        """When to look again at the latest."""
        if self._expires_at_ms is None:
            return self._until
        wall = self._expires_at_ms / 1000 - time.time()
        return min(self._until, now + min(max(wall, 0.0), _WALL_LOOK_SECONDS))
