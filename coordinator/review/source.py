"""One ledger, opened once for a review and read on a thread of its own: the screen's, or a command's for its run.

A review never stands in anybody's way: it takes no lock that delays a console, writes nothing, and what it asks for can
be given up. What is damaged is shown as far as it can be read.
"""

import asyncio
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from store.faults import LedgerBusy, LedgerFault, LedgerUnreadable
from store.open import Readable, connect, readable, storage_errors
from store.refusal import Refusal
from store.salvage import Salvaged, salvage
from store.tx import Tx
from store.vocab import Millis, RefusalReason

T = TypeVar("T")

TRIES: Final = 3
"""How often something is read again that a console wrote to meanwhile."""


class _Opened:
    """The connection of one thread, and what must be done when it is closed or opened anew."""

    def __init__(self, path: Path, now: Callable[[], Millis]) -> None:
        self.path = path
        self.salvaged: Salvaged | None = None
        self._now = now
        self._stack = ExitStack()
        self._lock = threading.Lock()
        self._asked = 0
        self._readable = self._open()

    def _open(self) -> Readable:
        try:
            return readable(self.path, self._stack)
        except LedgerUnreadable as fault:
            return self._damaged(fault)

    def _damaged(self, fault: LedgerUnreadable) -> Readable:
        if not fault.refusal.facts.get("damaged"):
            raise fault
        with storage_errors(self.path):
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="footplate-review-"))
            found = salvage(self.path, Path(folder))
            if found is None:
                raise fault
            made, self.salvaged = found
            conn = self._stack.enter_context(closing(connect(made, mode="ro")))
        return Readable(conn=conn, path=made)

    def _again(self, fault: LedgerUnreadable | None = None) -> None:
        with self._lock:  # nobody interrupts a connection that is being closed
            self._stack.close()
            self._readable = self._open() if fault is None else self._damaged(fault)

    def read(self, fn: Callable[[Tx], T]) -> T:
        if self._readable.outdated():
            self._again()
        for _ in range(TRIES):
            try:
                with self.snapshot() as tx:
                    found = fn(tx)
            except LedgerUnreadable as fault:
                if self.salvaged is not None:
                    raise
                self._again(fault)
                continue
            if not self._readable.overtaken():
                return found
            self._again()
        raise self.overtaken()

    @contextmanager
    def snapshot(self) -> Iterator[Tx]:
        """One unchanging state, unless a console overtakes it (``check``)."""
        conn = self._readable.conn
        with storage_errors(self.path):
            conn.execute("BEGIN")
            try:
                yield Tx(conn, self._now())
            finally:
                with suppress(sqlite3.Error):
                    conn.execute("ROLLBACK")

    def check(self) -> None:
        if self._readable.overtaken():
            raise self.overtaken()

    def overtaken(self) -> LedgerBusy:
        return LedgerBusy(
            Refusal(RefusalReason.LEDGER_BUSY, {"path": str(self.path), "problem": "it is being written"})
        )

    def begin(self, number: int) -> None:
        with self._lock:
            self._asked = number

    def give_up(self, number: int | None = None) -> None:
        """Stop what is being read, if it is still this; None: whatever it is. From any thread."""
        with self._lock:
            if self._asked and number in (None, self._asked):
                self._readable.conn.interrupt()

    def close(self) -> None:
        with self._lock:
            self._stack.close()


class ReviewSource:
    """Belongs to the event loop that opened it; whoever opened it closes it."""

    def __init__(self, opened: _Opened, thread: ThreadPoolExecutor) -> None:
        self._opened = opened
        self._thread = thread
        self._number = 0

    @classmethod
    async def open(cls, path: Path, *, now: Callable[[], Millis]) -> Self | Refusal:
        """Open a ledger, as it lies or as much of it as can be read."""
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="review")
        try:
            opened = await asyncio.get_running_loop().run_in_executor(thread, lambda: _Opened(path, now))
        except LedgerFault as fault:
            thread.shutdown(wait=False)
            return fault.refusal
        except BaseException:
            thread.shutdown(wait=False)
            raise
        return cls(opened, thread)

    @property
    def path(self) -> Path:
        return self._opened.path

    @property
    def salvaged(self) -> Salvaged | None:
        """What could be read of a damaged ledger; None: it is whole, as far as it was read."""
        return self._opened.salvaged

    async def ask(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` over one unchanging state of the ledger. It may be run again where a console began to write.

        A caller that is cancelled ends the reading too: who types on does not wait for the answer to half a word.

        Raises:
            LedgerUnreadable, LedgerBusy, StorageFault: with the refusal to show.
        """
        self._number += 1
        number = self._number

        def read() -> T:
            self._opened.begin(number)
            try:
                return self._opened.read(fn)
            finally:
                self._opened.begin(0)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, read)
        except asyncio.CancelledError:
            self._opened.give_up(number)
            raise

    async def close(self) -> None:
        self._opened.give_up()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._opened.close)
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.close()


@contextmanager
def reading_for_review(path: Path, *, now: Callable[[], Millis]) -> Iterator[tuple[Tx, Salvaged | None]]:
    """One unchanging state of a ledger for a command, as it lies or as much of it as can be read.

    Raises:
        LedgerUnreadable, LedgerBusy, StorageFault: with the refusal to show.
    """
    opened = _Opened(path, now)
    with closing(opened):
        with opened.snapshot() as tx:
            yield tx, opened.salvaged
        opened.check()
