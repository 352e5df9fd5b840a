"""A ledger as another process writes much into it: many short transactions, with the lock free between them.

A live console waits for its turn at the lock; what is written in one go is bounded by whoever calls. Synchronous: it is
for a command that does nothing else.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Self, TypeVar

from store.faults import LedgerBusy, translated
from store.open import Opening, open_for_writing
from store.tx import Tx

T = TypeVar("T")

TRIES: Final = 12
"""Each waits for as long as the busy timeout: a minute in all, then somebody must look."""


class BulkLedger:
    def __init__(self, conn: sqlite3.Connection, opening: Opening) -> None:
        self._conn = conn
        self._opening = opening
        self.path = str(opening.path)

    @classmethod
    @contextmanager
    def opened(cls, opening: Opening) -> Iterator[Self]:
        """Made or migrated where that is needed.

        Raises:
            LedgerUnreadable, LedgerBusy, StorageFault: with the refusal to show.
        """
        with contextlib.closing(open_for_writing(opening)) as conn:
            yield cls(conn, opening)

    def write(self, body: Callable[[Tx], T]) -> T:
        """One transaction, whole or not at all. The body may be run again after it was rolled back.

        Raises:
            LedgerBusy, StorageFault: with the refusal to show.
        """
        for attempt in range(TRIES):
            try:
                return self._once(body)
            except LedgerBusy:
                if attempt == TRIES - 1:
                    raise
        raise AssertionError("unreachable")

    def _once(self, body: Callable[[Tx], T]) -> T:
        with translated(self.path):
            self._conn.execute("BEGIN IMMEDIATE")
            try:
                result = body(Tx(self._conn, self._opening.now()))
                self._conn.execute("COMMIT")
            except BaseException:
                if self._conn.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        self._conn.execute("ROLLBACK")
                raise
            return result

    def read(self) -> Tx:
        """For single look-ups between two transactions; each sees the newest state."""
        return Tx(self._conn, self._opening.now())

    def checkpoint(self) -> None:
        """Bring the WAL into the file, as far as nobody is in the way: it would grow with all that is written."""
        with translated(self.path):
            self._conn.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def shrink(self) -> None:
        """Give back the room that nothing is in. Only where nobody else has it open: it writes all of it anew.

        Raises:
            LedgerBusy, StorageFault: with the refusal to show. It is as it was.
        """
        with translated(self.path):
            self._conn.execute("VACUUM")
            self._conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
