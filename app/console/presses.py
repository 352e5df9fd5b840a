"""When a press counts: pure, over times of key events. Apart from the widgets, so that the rules are tested as such.

Three rules of console.md live here and nowhere else: an answer must have come alone, a second stop must be a second
press, and an Enter inside a burst is a line of pasted text.
"""

from collections import deque
from enum import StrEnum

from msgspec import Struct, field

ALONE = 0.060
"""Measured: 54 cut escape sequences gave 98 answers without this, none with it."""
PAINTED = 0.5
BURST = 0.030
AGAIN = 0.7
"""From when a second press counts."""
REPEAT = 0.3
"""Presses closer than this to the one before come from a key held down."""


class KeyGate(Struct):
    """Remembers when input arrived, whatever it was."""

    _times: deque[float] = field(default_factory=lambda: deque(maxlen=256))

    def heard(self, at: float) -> None:
        self._times.append(at)

    def last(self) -> float | None:
        return max(self._times, default=None)

    def came_alone(self, at: float, within: float = ALONE) -> bool:
        """Whether the one event at ``at`` has no neighbour on either side; ask no sooner than ``within`` after it."""
        return sum(1 for other in self._times if abs(other - at) < within) <= 1

    def quiet_before(self, at: float, within: float = BURST) -> bool:
        """Whether nothing came within ``within`` before ``at``."""
        return sum(1 for other in self._times if 0 <= at - other < within) <= 1


class Press(StrEnum):
    FIRST = "first"
    SECOND = "second"
    HELD = "held"


class TwicePressed(Struct):
    """Tells a second press from the repeats of a key held down."""

    _first: float | None = None
    _previous: float = float("-inf")
    _about: object = None

    @property
    def about(self) -> object:
        """What the presses so far were meant for; None: there was none."""
        return self._about

    def press(self, at: float, about: object) -> Press:
        """``about``: what the press is meant for; another thing begins anew."""
        gap, self._previous = at - self._previous, at
        if self._first is None or about != self._about:
            self._first, self._about = at, about
            return Press.FIRST
        if at - self._first >= AGAIN and gap >= REPEAT:
            return Press.SECOND
        return Press.HELD

    def forget(self) -> None:
        self._first = None
        self._about = None
