"""What the agent prints, into the spool: read as it comes, kept while there is room, counted when there is none.

The agent is read to the end whatever happens: one that is blocked on a full pipe could not obey a fence. Of a terminal
its silence is recorded too: only that tells when such an agent is done, and whoever reads the spool again must come to
the same.
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

    def __init__(
        self,
        loop: Loop,
        spool: Spool,
        *,
        chunk: int,
        line_limit: int,
        full: Callable[[str], None],
        terminal_shut: Callable[[], None],
        now: Callable[[], float],
    ) -> None:
        """``terminal_shut``: is called before a terminal is closed, which has one descriptor for both directions."""
        self._loop = loop
        self._spool = spool
        self._chunk = chunk
        self._line_limit = line_limit
        self._full = full
        self._terminal_shut = terminal_shut
        self._streams: dict[int, str] = {}
        self._lines: dict[int, int] = {}
        self._discarding = False
        self._terminal = False
        self._now = now
        self._quiet = 0.0
        self.quiet_at: float | None = None
        """When its silence will have been long enough to be recorded; None: it was, or nobody asked for it."""
        self.lost = 0
        """Bytes read and thrown away."""
        self.said_at = 0.0
        """When it last printed."""

    def open(self, stdout: int, stderr: int, *, quiet: float) -> None:
        """Begin to read. Without ``stderr`` it is a terminal, whose screen has no lines to measure."""
        self._terminal = stderr < 0
        self._quiet = quiet
        for fd, kind in ((stdout, "stdout"), (stderr, "stderr")):
            if fd >= 0:
                self._streams[fd] = kind
                self._lines[fd] = 0
                self._loop.reader(fd, partial(self._take, fd))
        self.stir()

    def stir(self) -> None:
        """Something was printed, or sent to it: from now on its silence counts."""
        if self._quiet and self._streams:
            self.quiet_at = self._now() + self._quiet

    def look(self, now: float) -> None:
        """Record a silence that has lasted long enough, once."""
        if self.quiet_at is None or now < self.quiet_at:
            return
        for fd in list(self._streams):
            # What was printed while this process did not run is no silence of the agent's.
            if self._take(fd):
                return
        if self.quiet_at is not None:
            self.quiet_at = None
            self._spool.append_facts("quiet", {"ms": round(self._quiet * 1000)})

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
        self.said_at = self._now()
        if self._discarding:
            self.lost += len(data)
            return True
        self.stir()
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
        self.quiet_at = None
        if self._terminal:
            self._terminal_shut()
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
