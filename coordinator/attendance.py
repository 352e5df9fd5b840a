"""Whether the operator is there: beats, the countdown, the pause, the lapse. Pure; ``now`` comes in.

A beat is anything that the operator did: a key, a click, a command from a terminal. Reading is none. One window for
all holds of one operator; what each hold then does is its machine's matter.
"""

from enum import StrEnum

from msgspec import Struct

NOTICE_AT = 0.8
"""Part of the window after which the countdown shows, with one notice."""


class Presence(StrEnum):
    THERE = "there"
    NEARLY_AWAY = "nearly-away"
    AWAY = "away"
    """Paused: no new turn, no automatic answer."""
    GRACE_OVER = "grace-over"
    """A turn in flight is interrupted."""
    LAPSED = "lapsed"
    """A second window has passed."""


class Attendance(Struct, frozen=True, kw_only=True):
    window: float
    """Seconds."""
    grace: float
    last_beat: float
    """Monotonic seconds."""

    def beat(self, now: float) -> "Attendance":
        return Attendance(window=self.window, grace=self.grace, last_beat=max(now, self.last_beat))

    def at(self, now: float) -> Presence:
        away = now - self.last_beat
        if away < self.window * NOTICE_AT:
            return Presence.THERE
        if away < self.window:
            return Presence.NEARLY_AWAY
        if away < self.window + min(self.grace, self.window):
            return Presence.AWAY
        return Presence.GRACE_OVER if away < 2 * self.window else Presence.LAPSED

    def next_change(self, now: float) -> float:
        """Seconds until ``at`` may say something else."""
        away = now - self.last_beat
        edges = (self.window * NOTICE_AT, self.window, self.window + min(self.grace, self.window), 2 * self.window)
        return min([edge - away for edge in edges if edge > away], default=3600.0)

    def lapses_in(self, now: float) -> float:
        """Seconds until a second window has passed."""
        return max(0.0, 2 * self.window - (now - self.last_beat))

    def left(self, now: float) -> float:
        """Seconds until the pause."""
        return max(0.0, self.window - (now - self.last_beat))
