"""The agent's stdin: one ordered queue of writes, each sent at most once, each provable.

A write is in the spool, synced, before its first byte goes, and again after its last. Whatever happened, an id is never
written twice: what was begun and not ended stays *begun* for ever. The queue knows no verbs and no ladder.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable

from .loop import Loop
from .spool import Spool

try:  # hashlib would map all of OpenSSL: 3 MB for one function
    from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    try:  # its name from Python 3.12 on
        from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore, no-redef]
    except ImportError:
        from hashlib import sha256

Answer = Callable[[str], None]
_SLICE = 1 << 20


class Write:
    """One id's bytes on their way."""

    __slots__ = ("answers", "begun", "data", "id", "lengthy", "written")

    def __init__(self, id: str, data: bytes, answer: Answer | None) -> None:
        self.id = id
        self.data = memoryview(data)
        self.lengthy = len(data)
        self.written = 0
        self.begun = False
        self.answers: list[Answer] = [answer] if answer is not None else []

    def settle(self, outcome: str) -> None:
        """Tell all who asked."""
        for answer in self.answers:
            answer(outcome)
        self.answers.clear()


class Stdin:
    """The queue before one agent's stdin; what is known of ids outlives the agent."""

    def __init__(
        self, loop: Loop, spool: Spool, *, timeout: float, now: Callable[[], float], sent: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._spool = spool
        self._timeout = timeout
        self._now = now
        self._sent = sent
        self._fd = -1
        self._terminal = False
        self._queue: deque[Write] = deque()
        self._known: dict[str, tuple[str, int, int]] = {}
        self._progress = 0.0
        self.broken = False
        """The agent closed its end."""

    def open(self, fd: int, *, terminal: bool) -> None:
        """A new agent's stdin."""
        self._fd = fd
        self._terminal = terminal
        self.broken = False

    @property
    def is_open(self) -> bool:
        """Bytes can be sent."""
        return self._fd >= 0 and not self.broken

    @property
    def half_line(self) -> bool:
        """The agent has the beginning of a write and not its end: whatever is sent next would be glued to it."""
        return bool(self._queue) and 0 < self._queue[0].written < self._queue[0].lengthy

    # ----------------------------------------------------------------------------------------------------------- asked

    def proof(self, id: str) -> tuple[str, int, int]:
        """``never``, ``begun``, ``whole`` or ``cancelled``, bytes written, bytes in all."""
        for write in self._queue:
            if write.id == id:
                return ("begun" if write.written else "never"), write.written, write.lengthy
        return self._known.get(id, ("never", 0, 0))

    def write(self, id: str, data: bytes, answer: Answer) -> None:
        """Send once. The answer comes when known: ``wrote``, ``already``, ``cancelled``, ``begun`` or ``failed``."""
        for queued in self._queue:
            if queued.id == id:
                queued.answers.append(answer)
                return
        state = self._known.get(id)
        if state is not None and state[0] != "never":
            answer("already" if state[0] == "whole" else state[0])
            return
        if not self.is_open:
            answer("failed")
            return
        self._queue.append(Write(id, data, answer))
        self._arm()

    def cancel(self, id: str) -> bool:
        """Only if nothing of it was sent; then it never will be."""
        state = self.proof(id)[0]
        if state == "cancelled":
            return True
        if state != "never":
            return False
        for write in list(self._queue):
            if write.id == id:
                if write.begun:  # recorded as begun: no longer provably unsent for whoever reads only the spool
                    return False
                self._queue.remove(write)
                write.settle("cancelled")
        self._known[id] = ("cancelled", 0, 0)
        self._spool.append_facts("cancelled", {"id": id})
        self._spool.sync()
        self._arm()
        return True

    def drop_unbegun(self, outcome: str) -> None:
        """While nobody is attached nothing is delivered: what was not begun is forgotten, and stays *never*."""
        for write in list(self._queue):
            if not write.begun:
                self._queue.remove(write)
                write.settle(outcome)
        self._arm()

    def last_word(self, id: str, data: bytes) -> bool:
        """The farewell: after a fence nothing else is queued any more. False: it cannot be said."""
        if not self.is_open or self._queue or not data:
            return False
        self._queue.append(Write(id, data, None))
        self._arm()
        return True

    def fail_all(self, why: str, outcome: str = "failed") -> None:
        """The agent is gone or is being ended: nothing more is sent."""
        for write in self._queue:
            if write.begun:
                self._failed(write, why)
            else:
                write.settle(outcome)
        self._queue.clear()
        self._arm()

    def close(self, why: str) -> None:
        """Close the pipe: end of file for the agent. A terminal has none but its own sign for it."""
        self.fail_all(why)
        if self._fd >= 0:
            self._loop.writer(self._fd, None)
            if self._terminal:
                try:
                    os.write(self._fd, b"\x04")
                except OSError:
                    pass
            else:
                self._loop.forget(self._fd)
                os.close(self._fd)
        self._fd = -1

    # ------------------------------------------------------------------------------------------------------ carried out

    def stuck_at(self) -> float | None:
        """When the write in front will count as not progressing; None: there is none."""
        return self._progress + self._timeout if self._queue and self._queue[0].begun else None

    def give_up(self) -> None:
        """No progress for too long."""
        self.fail_all("timeout")

    def _arm(self) -> None:
        if self._fd >= 0:
            self._loop.writer(self._fd, self._ready if self._queue else None)

    def _failed(self, write: Write, why: str) -> None:
        proof = "begun" if write.written else "never"
        self._known[write.id] = (proof, write.written, write.lengthy)
        facts: dict[str, object] = {"id": write.id, "written": write.written, "length": write.lengthy, "why": why}
        self._spool.append_facts("write-failed", facts)
        write.settle("begun" if write.written else "failed")

    def _ready(self) -> None:
        write = self._queue[0]
        if not write.begun:
            facts: dict[str, object] = {
                "id": write.id,
                "sha256": sha256(write.data).hexdigest(),
                "length": write.lengthy,
            }
            write.begun = True
            self._progress = self._now()
            if not (self._spool.append_facts("writing", facts) and self._spool.sync()):
                self._queue.popleft()
                self._failed(write, "storage")
                self._arm()
                return
        try:
            while write.written < write.lengthy:
                write.written += os.write(self._fd, write.data[write.written : write.written + _SLICE])
                self._progress = self._now()
        except BlockingIOError:
            return
        except OSError as error:
            self.broken = True
            self.fail_all(f"pipe: {os.strerror(error.errno or 0)}")
            return
        self._queue.popleft()
        self._known[write.id] = ("whole", write.lengthy, write.lengthy)
        self._spool.append_facts("wrote", {"id": write.id})
        self._sent()
        write.settle("wrote")
        self._arm()
