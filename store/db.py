"""The ledger as the coordinator holds it: one writer, one reader, each on its own thread, and ``transaction()``.

All writing goes through ``transaction``: two tasks that share a connection roll back each other's work (measured).
No statement of any noun stands here, and nothing here knows what a transaction is about.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import aiosqlite

from store import identity
from store.faults import (
    LedgerBusy as LedgerBusy,
    LedgerFault as LedgerFault,
    LedgerUnreadable as LedgerUnreadable,
    StorageFault as StorageFault,
    translated,
)
from store.open import BUSY_TIMEOUT_MS, Opening, connect, open_for_reading, open_for_writing
from store.refusal import Refusal
from store.tx import Tx as Tx
from store.vocab import Millis, RefusalReason

T = TypeVar("T")

log = logging.getLogger(__name__)

IDLE_SECONDS: Final = 0.5
"""Quiet time after which the WAL is brought into the file."""
BUSY_CHECKPOINT_SECONDS: Final = 10.0
"""A ledger that is never quiet is checkpointed this often all the same, or its WAL would grow without end."""


def _never() -> bool:
    return False


class Ledger:
    """An open ledger. Belongs to the event loop that opened it; whoever opened it closes it."""

    def __init__(
        self,
        path: Path,
        writer: aiosqlite.Connection,
        reader: aiosqlite.Connection,
        now: Callable[[], Millis],
        who: identity.Identity,
        inode: tuple[int, int],
    ) -> None:
        self.path = path
        self.id = who.id
        self.machine = who.machine
        self.digest_key = who.digest_key
        self._writer = writer
        self._reader = reader
        self._now = now
        self._inode = inode
        self._line: deque[tuple[Callable[[sqlite3.Connection], Any], asyncio.Future[Any]]] = deque()
        """Transactions that wait for the writer's thread; the oldest first, but for what may not wait for others."""
        self._written = asyncio.Event()
        self._writes = 0
        self._checkpointer = asyncio.create_task(self._checkpoint_when_idle(), name="ledger-checkpoint")

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        now: Callable[[], Millis],
        machine: str,
        ledger_id: Callable[[], str],
        live_elsewhere: Callable[[], bool] = _never,
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    ) -> Self | Refusal:
        """Open, after making or migrating it where that is needed."""
        opening = Opening(
            path=path,
            now=now,
            machine=machine,
            ledger_id=ledger_id,
            live_elsewhere=live_elsewhere,
            busy_timeout_ms=busy_timeout_ms,
        )
        writer = aiosqlite.Connection(lambda: open_for_writing(opening), iter_chunk_size=64)
        try:
            await _begun(writer)
        except LedgerFault as fault:
            return fault.refusal
        reader = aiosqlite.Connection(lambda: connect(path, mode="ro"), iter_chunk_size=64)
        try:
            with translated(str(path)):
                await _begun(reader)
                who = await _hop(reader, lambda conn: identity.of(Tx(conn, now())))
                inode = await _hop(reader, lambda _conn: _inode(path))
        except LedgerFault as fault:
            await _close(reader, writer)
            return fault.refusal
        except BaseException:
            await _close(reader, writer)
            raise
        return cls(path, writer, reader, now, who, inode)

    async def transaction(
        self, body: Callable[[Tx], T | Refusal], *, name: str = "", first: bool = False
    ) -> T | Refusal:
        """Run ``body`` between BEGIN IMMEDIATE and COMMIT; a ``Refusal`` or an exception rolls all of it back.

        ``first``: before all that waits for the writer (a stop, while eight agents stream).

        The whole of it is one hop to the writer's thread: four awaits cost twice the time, and between them another
        task's statements could come into this transaction. IMMEDIATE, because one that reads first and then writes
        fails at once, whatever the busy timeout, when another process has written in between. A cancelled caller is
        cancelled after COMMIT or ROLLBACK has ended: what was asked for may stand, so read back by id.

        Raises:
            LedgerBusy: another process kept the ledger for longer than the busy timeout. Keep the agent and try again.
            StorageFault: disk full, read-only or broken. Nothing of this transaction stands.
        """

        def carry_out(conn: sqlite3.Connection) -> T | Refusal:
            with translated(str(self.path)):
                self._still_there()
                conn.execute("BEGIN IMMEDIATE")
                try:
                    result = body(Tx(conn, self._now()))
                    conn.execute("ROLLBACK" if isinstance(result, Refusal) else "COMMIT")
                except BaseException:
                    _roll_back(conn)
                    raise
            return result

        try:
            return await _to_its_end(self._in_line(carry_out, first=first))
        except LedgerFault as fault:
            log.warning("transaction %s: %s", name or "unnamed", fault)
            raise
        finally:
            self._writes += 1
            self._written.set()

    def _in_line(self, work: Callable[[sqlite3.Connection], T], *, first: bool) -> "asyncio.Future[T]":
        """Give the writer's thread something to do.

        It is given at once, not by a task that begins in the loop's next round; and what the thread takes is the head
        of our line, not its own oldest, so that something can come first. Hence aiosqlite's queue, which has no public
        side either.
        """
        if not self._writer._running:
            raise ValueError("the ledger is closed")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        (self._line.appendleft if first else self._line.append)((work, done))
        self._writer._tx.put_nowait((None, self._next_in_line))
        return done

    def _next_in_line(self) -> None:
        """On the writer's thread."""
        work, done = self._line.popleft()
        try:
            result = work(self._writer._conn)
        except BaseException as problem:
            done.get_loop().call_soon_threadsafe(_settle, done, None, problem)
        else:
            done.get_loop().call_soon_threadsafe(_settle, done, result, None)

    async def read(self, body: Callable[[Tx], T]) -> T:
        """Run ``body`` on the read-only connection, over one unchanging state of the ledger."""

        def look(conn: sqlite3.Connection) -> T:
            with translated(str(self.path)):
                conn.execute("BEGIN")
                try:
                    return body(Tx(conn, self._now()))
                finally:
                    _roll_back(conn)

        return await _hop(self._reader, look)

    async def close(self) -> None:
        """Ends when both threads have. The last connection to leave brings the WAL into the file."""
        self._checkpointer.cancel()
        await asyncio.wait({self._checkpointer})
        await _close(self._reader, self._writer)

    def _still_there(self) -> None:
        """A deleted or replaced file would take every write and lose it: SQLite does not look in WAL mode."""
        try:
            if _inode(self.path) == self._inode:
                return
            problem = "the file was replaced"
        except OSError as error:
            problem = error.strerror or str(error)
        raise StorageFault(Refusal(RefusalReason.STORAGE, {"path": str(self.path), "problem": problem}))

    async def _checkpoint_when_idle(self) -> None:
        """PASSIVE, on a connection and thread of its own: it waits for nobody and nobody waits for it."""
        loop = asyncio.get_running_loop()
        async with contextlib.AsyncExitStack() as stack:
            conn: aiosqlite.Connection | None = None
            while True:
                await self._written.wait()
                self._written.clear()
                latest = loop.time() + BUSY_CHECKPOINT_SECONDS
                while True:
                    before = self._writes
                    await asyncio.sleep(IDLE_SECONDS)
                    if self._writes == before or loop.time() >= latest:
                        break
                self._written.clear()
                try:
                    if conn is None:
                        opening = aiosqlite.Connection(lambda: connect(self.path), iter_chunk_size=64)
                        await _begun(opening)
                        stack.push_async_callback(opening.close)
                        conn = opening
                    await _hop(conn, lambda made: made.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall())
                except sqlite3.Error as error:
                    # The commits themselves stand in the WAL; the next one tries again.
                    log.warning("checkpoint of %s: %s", self.path, error)


@contextmanager
def read_ledger(path: Path, *, now: Callable[[], Millis]) -> Iterator[Tx]:
    """One unchanging state of a ledger, read-only, for the command line and review.

    Raises:
        LedgerUnreadable, LedgerBusy, StorageFault: with the refusal to show.
    """
    with open_for_reading(path) as conn, translated(str(path)):
        conn.execute("BEGIN")
        try:
            yield Tx(conn, now())
        finally:
            _roll_back(conn)


@contextmanager
def write_ledger(path: Path, *, now: Callable[[], Millis], busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> Iterator[Tx]:
    """One short transaction of another process on an existing ledger: committed when the block ends, rolled back when
    it raises.

    Raises:
        LedgerUnreadable, LedgerBusy, StorageFault: with the refusal to show.
    """
    with open_for_reading(path):
        pass  # refuses what is no ledger of ours before a writing connection is let near it
    with translated(str(path)), contextlib.closing(connect(path, busy_timeout_ms=busy_timeout_ms)) as conn:
        conn.execute("BEGIN IMMEDIATE")
        try:
            yield Tx(conn, now())
            conn.execute("COMMIT")
        except BaseException:
            _roll_back(conn)
            raise


def _inode(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _roll_back(conn: sqlite3.Connection) -> None:
    # A full disk ends the transaction by itself; a second ROLLBACK would hide the first error.
    if conn.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            conn.execute("ROLLBACK")


async def _begun(conn: aiosqlite.Connection) -> None:
    """Start the connection's thread and open. After a failure the thread is waited for: aiosqlite lets it answer to a
    loop that may be closed by then."""
    # A console that dies without closing must not hang at exit for this thread (measured); to the ledger it is a crash.
    conn._thread.daemon = True
    try:
        await conn
    except BaseException:
        join: Callable[[], None] = conn._thread.join
        await _to_its_end(asyncio.ensure_future(asyncio.to_thread(join)))
        raise


async def _hop(conn: aiosqlite.Connection, work: Callable[[sqlite3.Connection], T]) -> T:
    """Run ``work`` on the connection's thread, to its end even if the caller is cancelled meanwhile.

    aiosqlite has no public way to run a function on its thread, and only such a function makes a transaction one hop:
    hence ``_execute``.
    """

    def with_connection() -> T:
        return work(conn._conn)

    hop: Coroutine[Any, Any, T] = conn._execute(with_connection)  # type: ignore[no-untyped-call]
    return await _to_its_end(asyncio.ensure_future(hop))


def _settle(done: "asyncio.Future[Any]", result: object, problem: BaseException | None) -> None:
    if not done.done():  # the loop that is being closed cancels what still waits
        if problem is None:
            done.set_result(result)
        else:
            done.set_exception(problem)


async def _to_its_end(task: "asyncio.Future[T]") -> T:
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as cancel:
            cancelled = cancel
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # looked at: a fault of a caller that has gone is not "never retrieved"
        raise cancelled
    return task.result()


async def _close(*connections: aiosqlite.Connection) -> None:
    async def close_all() -> None:
        for conn in connections:
            with contextlib.suppress(sqlite3.Error, ValueError):
                await conn.close()

    await _to_its_end(asyncio.ensure_future(close_all()))
