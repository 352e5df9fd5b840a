"""What the agent prints, into the spool: read as it comes, kept while there is room, counted when there is none.

The agent is read to the end whatever happens: one that is blocked on a full pipe could not obey a fence.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from .loop import Loop
from .spool import Spool

_DRAIN_MOST = 16 * 1024 * 1024
"""An orphan that never stops printing must not hold an ending up."""


class Output:
    """stdout and stderr of one agent."""

    def __init__(self, loop: Loop, spool: Spool, *, chunk: int, line_limit: int, full: Callable[[str], None]) -> None:
        self._loop = loop
        self._spool = spool
        self._chunk = chunk
        self._line_limit = line_limit
        self._full = full
        self._streams: dict[int, str] = {}
        self._lines: dict[int, int] = {}
        self._discarding = False
        self._terminal = False
        self.lost = 0
        """Bytes read and thrown away."""

    def open(self, stdout: int, stderr: int) -> None:
        """Begin to read. Without ``stderr`` it is a terminal, whose screen has no lines to measure."""
        self._terminal = stderr < 0
        for fd, kind in ((stdout, "stdout"), (stderr, "stderr")):
            if fd >= 0:
                self._streams[fd] = kind
                self._lines[fd] = 0
                self._loop.reader(fd, partial(self._take, fd))

    def _take(self, fd: int) -> bool:
        """One read; False when there is nothing more just now."""
        try:
            data = os.read(fd, self._chunk)
        except BlockingIOError:
            return False
        except OSError:  # a terminal whose other side is closed
            data = b""
        if not data:
            self._shut(fd)
            return False
        if self._discarding:
            self.lost += len(data)
            return True
        if not self._terminal and self._too_long(fd, data):
            self._stop(data, "output-flood")
        elif not self._spool.append(self._streams[fd], data):
            self._stop(data, "storage" if self._spool.full else "output-flood")
        return True

    def _too_long(self, fd: int, data: bytes) -> bool:
        # Only the line that a chunk ends and the one that it begins: the limit is far more than a chunk.
        last = data.rfind(b"\n")
        first = self._lines[fd] + (data.find(b"\n") if last >= 0 else len(data))
        self._lines[fd] = len(data) - last - 1 if last >= 0 else first
        return max(first, self._lines[fd]) > self._line_limit

    def _stop(self, data: bytes, why: str) -> None:
        self._discarding = True
        self.lost += len(data)
        self._full(why)

    def _shut(self, fd: int) -> None:
        self._streams.pop(fd, None)
        self._lines.pop(fd, None)
        self._loop.forget(fd)
        os.close(fd)

    def drain(self) -> None:
        """What is in the pipes now, before an exit or a receipt is recorded after it."""
        for fd in list(self._streams):
            left = _DRAIN_MOST
            while left > 0 and fd in self._streams and self._take(fd):
                left -= self._chunk

    def close(self) -> None:
        """No more is read."""
        for fd in list(self._streams):
            self._shut(fd)
