"""What agents' terminals show, for whoever looks at one: the newest bytes of each, and the commands of a person there.

Raw bytes for a screen that is looked at now, never kept: the ledger has their text as events. Written on the
coordinator's thread and read on the screen's, so the one lock is in here, and nothing waits under it.
"""

import threading
from collections import deque

from msgspec import Struct

from store.vocab import RunId

KEPT = 256 * 1024
"""Bytes; a screen that begins to look needs what draws the page, not what scrolled away."""
MOST_PIECES = 8 * 1024
"""What is printed a character at a time costs a hundred times its length to keep."""
MOST_KEYS = 64 * 1024
"""Bytes of one ``SendKeys``: a large paste is a turn."""


class Resized(Struct, frozen=True, kw_only=True):
    rows: int
    columns: int


class Shown(Struct, frozen=True, kw_only=True):
    """What a terminal printed since somebody looked last."""

    pieces: tuple[bytes | Resized, ...]
    upto: int
    """Where to go on the next time."""
    skipped: bool
    """Something before these is not kept any more: draw from nothing."""


class Terminal:
    """The newest output of one agent's terminal."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pieces: deque[tuple[int, bytes | Resized]] = deque()
        """Each with the position behind it; a change of size has a place of its own."""
        self._upto = 0
        self._size = 0

    def put(self, piece: bytes | Resized) -> None:
        with self._lock:
            length = len(piece) if isinstance(piece, bytes) else 1
            self._upto += length
            self._size += length
            self._pieces.append((self._upto, piece))
            while (self._size > KEPT or len(self._pieces) > MOST_PIECES) and len(self._pieces) > 1:
                _, dropped = self._pieces.popleft()
                self._size -= len(dropped) if isinstance(dropped, bytes) else 1

    def since(self, position: int) -> Shown:
        """All that came after that position (0: all that is kept)."""
        with self._lock:
            new: list[bytes | Resized] = []
            for upto, piece in reversed(self._pieces):
                if upto <= position:
                    break
                new.append(piece)
            return Shown(pieces=tuple(reversed(new)), upto=self._upto, skipped=position < self._upto - self._size)


class SendKeys(Struct, frozen=True, kw_only=True):
    """A person types into the agent's own terminal; the bytes are a control write, and no turn."""

    run: RunId
    data: bytes


class ResizeTerminal(Struct, frozen=True, kw_only=True):
    """Somebody looks at it on a screen of this size."""

    run: RunId
    rows: int
    columns: int
