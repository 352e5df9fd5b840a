"""A copy of the ledger in one file, of one moment, made while consoles go on writing.

Through SQLite's own backup and inside one read transaction: what is committed meanwhile is not in the copy, makes it
begin nowhere anew, and waits for nothing. The copy is checked before it gets its name.
"""

import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec import Struct

from store import entries
from store.db import read_ledger
from store.open import storage_errors
from store.verify import Difference, Noted, Progress, verify
from store.vocab import Millis

PAGES: Final = 256
"""A megabyte at a time, so that it can be given up in between."""


class BackedUp(Struct, frozen=True, kw_only=True):
    seq: int
    hash: str
    """The newest entry that is in it: who writes it down can hold the copy against it later."""
    bytes: int


def back_up(
    source: Path, target: Path, *, now: Callable[[], Millis], replace: bool, progress: Progress
) -> BackedUp | Difference:
    """Copy, check, and only then give it its name. A difference: the ledger itself is not whole; no copy is left.

    Raises:
        LedgerUnreadable, LedgerBusy, StorageFault: with the refusal to show.
        FileExistsError: something has that name, and it is not to be replaced.
    """
    with storage_errors(target.parent):
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)  # 0600 by itself
        os.close(handle)
    draft = Path(name)
    try:
        head = _copy(source, draft, now, progress)
        with read_ledger(draft, now=now) as tx:
            difference = verify(tx, head, progress=progress)
        if difference is not None:
            return difference
        _name(draft, target, replace=replace)
        return BackedUp(seq=head.seq, hash=head.hash, bytes=target.stat().st_size)
    finally:
        for leftover in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm"), Path(f"{draft}-journal")):
            leftover.unlink(missing_ok=True)


def _copy(source: Path, draft: Path, now: Callable[[], Millis], progress: Progress) -> Noted:
    with (
        read_ledger(source, now=now) as tx,
        storage_errors(draft),
        closing(sqlite3.connect(draft, isolation_level=None)) as copy,
    ):
        newest = entries.newest(tx)  # with this the state that is copied is chosen
        assert newest is not None, "a ledger begins with an entry"
        tx.conn.backup(copy, pages=PAGES, progress=lambda _status, left, total: progress(total - left, total))
        # One file, that opens on a disk that cannot be written to.
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
    with storage_errors(draft):
        _sync(draft)
    return Noted(seq=newest.seq, hash=newest.hash)


def _name(draft: Path, target: Path, *, replace: bool) -> None:
    if replace:
        with storage_errors(target):
            draft.replace(target)
    else:
        try:
            os.link(draft, target)
        except FileExistsError:
            raise
        except OSError as problem:
            with storage_errors(target):
                raise problem
    with storage_errors(target):
        _sync(target.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
