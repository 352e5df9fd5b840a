"""The spool file while it grows: one writer, a lock that proves it alive, a reserve for the last words.

Keeper and worker share this object over their fork: the same open file (so the lock is held until both are gone) and a
shared page that says how far the file is good. Records go to that offset, never to the end of the file, so what a
killed worker wrote by half is overwritten by the keeper. What the bytes mean is in ``spoolformat``.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import struct
import time

from . import spoolformat
from .kernel import kernel

SPOOL = "spool"
RESERVE = "reserve"
RESERVE_BYTES = 256 * 1024
_PAGE = struct.Struct("<QIB")
_REASON = struct.Struct("<H400s")
_AGENT = struct.Struct("<iQH800s")
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class Spool:
    """Append-only; ``good`` is the length that is whole records."""

    def __init__(self, folder: int, *, limit: int) -> None:
        """Raises:
        FileExistsError: the folder has a spool; a run has one supervisor in its life.
        BlockingIOError: somebody holds its lock.
        """
        self._folder = folder
        self._limit = limit
        self._page = mmap.mmap(-1, mmap.PAGESIZE)
        self.full = False
        self.dirty = False
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        self.fd = os.open(SPOOL, flags, 0o600, dir_fd=folder)
        fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        reserve = os.open(RESERVE, flags, 0o600, dir_fd=folder)
        try:
            kernel.set_aside(reserve, RESERVE_BYTES)
        finally:
            os.close(reserve)
        self._reserved = True

    # ------------------------------------------------------------------------------- what keeper and worker both know

    def _mark(self, good: int, generation: int, ended: bool) -> None:
        _PAGE.pack_into(self._page, 0, good, generation, ended)

    @property
    def good(self) -> int:
        """Bytes of whole records."""
        return int(_PAGE.unpack_from(self._page)[0])

    @property
    def generation(self) -> int:
        """The agent's, of the newest record."""
        return int(_PAGE.unpack_from(self._page)[1])

    def set_generation(self, generation: int) -> None:
        """A new agent: records from here on are its."""
        self._mark(self.good, generation, self.ended)

    def set_agent(self, pid: int, ticks: int, name: str) -> None:
        """For the keeper's receipt: the agent dies with the worker, before the keeper can look."""
        text = name.encode()[:800]
        _AGENT.pack_into(self._page, _PAGE.size + _REASON.size, pid, ticks, len(text), text)

    @property
    def agent(self) -> tuple[int, int, str] | None:
        """pid, start time and name of the newest agent; None while there was none."""
        pid, ticks, length, text = _AGENT.unpack_from(self._page, _PAGE.size + _REASON.size)
        return (pid, ticks, bytes(text[:length]).decode("utf-8", "replace")) if pid else None

    @property
    def ended(self) -> bool:
        """The ``end`` record is written."""
        return bool(_PAGE.unpack_from(self._page)[2])

    @property
    def reason(self) -> str | None:
        """Of the first fence; in the shared page, so that a keeper need not read gigabytes to know it."""
        length, text = _REASON.unpack_from(self._page, _PAGE.size)
        return bytes(text[:length]).decode("utf-8", "replace") if length else None

    def fence(self, reason: str) -> None:
        """Record an order to end; the first reason stands."""
        if self.reason is None:
            text = reason.encode()[:400]
            _REASON.pack_into(self._page, _PAGE.size, len(text), text)
        self.append_facts("fence", {"reason": reason})

    # -------------------------------------------------------------------------------------------------------- writing

    def append(self, kind: str, payload: bytes, *, generation: int | None = None) -> bool:
        """Write one record; False when it did not fit (``full`` then says so for good).

        Agent output is refused at the limit or once the disk was full; all else may use the reserve.
        """
        good = self.good
        output = kind in spoolformat.RAW
        if output and (self.full or good + len(payload) + spoolformat.HEAD.size > self._limit):
            return False
        if generation is None:
            generation = self.generation
        data = spoolformat.encode(kind, payload, at_ms=time.time_ns() // 1_000_000, generation=generation)
        if not self._put(data, good):
            if output or not self._release():
                return False
            if not self._put(data, good):
                return False
        self._mark(good + len(data), generation, kind == "end")
        self.dirty = True
        return True

    def append_facts(self, kind: str, facts: dict[str, object], *, generation: int | None = None) -> bool:
        """As ``append``, for a kind with a JSON object."""
        return self.append(kind, spoolformat.encode_facts(facts), generation=generation)

    def _put(self, data: bytes, at: int) -> bool:
        view = memoryview(data)
        try:
            while view:
                n = os.pwrite(self.fd, view, at)
                view = view[n:]
                at += n
        except OSError as error:
            if error.errno not in _FULL:
                raise
            self.full = True
            os.ftruncate(self.fd, self.good)
            return False
        return True

    def _release(self) -> bool:
        """Give the reserve back to the file system: what follows are the last words of this hold."""
        if not self._reserved:
            return False
        self._reserved = False
        try:
            os.unlink(RESERVE, dir_fd=self._folder)
        except OSError:
            pass  # the worker gave it back before us
        return True

    def sync(self) -> bool:
        """What was appended survives a power cut from here on; False when the disk refuses."""
        try:
            kernel.sync(self.fd)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            self.full = True
            return False
        self.dirty = False
        return True

    def cut(self) -> None:
        """Only the lock's holder may: drop what lies beyond the last whole record."""
        os.ftruncate(self.fd, self.good)

    def drop_reserve(self) -> None:
        """At the end: the folder keeps only what is worth keeping."""
        self._release()

    # -------------------------------------------------------------------------------------------------------- reading

    def read(self, offset: int, most: int) -> bytes:
        """Bytes of whole records from there."""
        return os.pread(self.fd, min(most, max(0, self.good - offset)), offset)
