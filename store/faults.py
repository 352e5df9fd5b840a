"""What the ledger raises when the file, the disk or another writer is at fault, and how SQLite's errors become that.

These are exceptions and not refusals because a caller in the middle of a transaction cannot go on; each carries the
``Refusal`` that a front end shows. A busy ledger is told apart from a broken one: the first is tried again with the
agent kept alive, the second is a reason to stop admitting.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from store.refusal import Refusal
from store.vocab import RefusalReason


class LedgerFault(Exception):
    """Base of the three below."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"{refusal.reason.value}: {dict(refusal.facts)}")
        self.refusal = refusal


class LedgerBusy(LedgerFault):
    """Somebody else writes and did not end in time. Nothing was written; keep the agent and try again."""


class StorageFault(LedgerFault):
    """The disk is full, read-only or broken. Nothing of the transaction stands."""


class LedgerUnreadable(LedgerFault):
    """The file is not a ledger that this version can read."""


BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
STORAGE: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_NOLFS,
        sqlite3.SQLITE_AUTH,
    }
)


def primary_code(error: sqlite3.Error) -> int:
    """The low byte: extended codes (IOERR_FSYNC …) are kinds of it. 0 where Python made the error."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return 0 if code is None else code & 0xFF


def typed(error: sqlite3.Error, path: str) -> LedgerFault | None:
    """The fault that an error of SQLite means, or None where it is a bug of ours."""
    code = primary_code(error)
    name = str(getattr(error, "sqlite_errorname", ""))
    if code in BUSY:
        return LedgerBusy(Refusal(RefusalReason.LEDGER_BUSY, {"path": path, "problem": str(error)}))
    if code in STORAGE:
        return StorageFault(Refusal(RefusalReason.STORAGE, {"path": path, "problem": str(error), "code": name}))
    return None


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Around statements: SQLite's errors leave as ours, bugs as they are."""
    try:
        yield
    except sqlite3.Error as error:
        fault = typed(error, path)
        if fault is None:
            raise
        raise fault from error
