"""How far something long is, on one line of a terminal that is written over; nowhere else is it of use."""

import sys
from collections.abc import Callable

EVERY = 0.1
"""Seconds."""


class ProgressLine:
    def __init__(self, monotonic: Callable[[], float], *, after: float = 0.0) -> None:
        """``after``: seconds in which nothing is shown yet, for what is mostly done by then."""
        self._terminal = sys.stderr.isatty()
        self._monotonic = monotonic
        self._next = monotonic() + after
        self._width = 0

    def paint(self, said: Callable[[], str]) -> None:
        at = self._monotonic()
        if not self._terminal or at < self._next:
            return
        self._next = at + EVERY
        words = said()
        self._write(f"\r{words.ljust(self._width)}")
        self._width = max(self._width, len(words))

    def wipe(self) -> None:
        if self._width:
            self._write(f"\r{' ' * self._width}\r")
            self._width = 0

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
