"""Opening the ledger's file, synchronously: making a new one, migrating an old one, and the pragmas of each connection.

All of it runs on whatever thread will own the connection. Refusals leave as exceptions of ``faults`` because SQLite is
often three frames below; ``db`` turns them back into values.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from store import identity, migrate
from store.faults import LedgerBusy, LedgerUnreadable, StorageFault, primary_code, translated
from store.place import check_file, check_place
from store.refusal import Fact, Refusal
from store.tx import Tx
from store.vocab import Millis, RefusalReason

BUSY_TIMEOUT_MS: Final = 5_000
CACHED_STATEMENTS: Final = 256
"""More than there are statements: the default of 128 would compile some of them again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What is needed to open a ledger for writing."""

    path: Path
    now: Callable[[], Millis]
    machine: str
    ledger_id: Callable[[], str]
    live_elsewhere: Callable[[], bool]
    """Whether another console lives on this ledger; asked only when an old ledger would have to be migrated."""
    busy_timeout_ms: int = BUSY_TIMEOUT_MS


def connect(path: Path, *, mode: str = "rw", busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> sqlite3.Connection:
    """A connection that never creates the file. ``isolation_level=None``: every BEGIN is ours, none deferred."""
    conn = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=busy_timeout_ms / 1000,
        cached_statements=CACHED_STATEMENTS,
    )
    try:
        conn.execute(f"PRAGMA busy_timeout = {int(busy_timeout_ms)}")
        conn.execute("PRAGMA foreign_keys = ON")
        # Without it INSERT OR REPLACE deletes past the append-only triggers (measured).
        conn.execute("PRAGMA recursive_triggers = ON")
        if mode == "ro":
            conn.execute("PRAGMA query_only = ON")
        else:
            conn.execute("PRAGMA journal_mode = WAL")
            # Per connection, and cannot change inside a transaction: set here or never.
            conn.execute("PRAGMA synchronous = FULL")
            # A checkpoint in the committing thread is the 99th percentile of a commit: ``db`` does it when idle.
            conn.execute("PRAGMA wal_autocheckpoint = 0")
            conn.execute("PRAGMA journal_size_limit = 67108864")
    except BaseException:
        conn.close()
        raise
    return conn


def open_for_writing(opening: Opening) -> sqlite3.Connection:
    """The connection of a ledger that is there, is ours and has this version's form.

    Raises:
        LedgerUnreadable, LedgerBusy, StorageFault: with the refusal to show.
    """
    path = opening.path
    with _storage_errors(path):
        _make_folder(path.parent)
        _raise_if(check_place(path.parent))
        if not path.exists():
            _create(opening)
        _raise_if(check_file(path))
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        conn = connect(path, busy_timeout_ms=opening.busy_timeout_ms)
        try:
            _bring_up_to_date(conn, opening)
        except BaseException:
            conn.close()
            raise
        return conn


@contextmanager
def open_for_reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection, wherever the ledger lies: beside a live console, in a read-only folder, of an older form.

    Raises:
        LedgerUnreadable, LedgerBusy, StorageFault: with the refusal to show.
    """
    with ExitStack() as stack:
        with _storage_errors(path):  # around the opening only: what the caller's block raises is the caller's
            conn = _readable(path, stack)
        yield conn


def _readable(path: Path, stack: ExitStack) -> sqlite3.Connection:
    if not path.exists():
        facts: dict[str, Fact] = {"path": str(path), "problem": "there is none", "absent": True}
        raise LedgerUnreadable(Refusal(RefusalReason.LEDGER_UNREADABLE, facts))
    _raise_if(check_file(path))
    try:
        conn = stack.enter_context(closing(connect(path, mode="ro")))
        found = migrate.check(conn, path)
        if isinstance(found, Refusal):
            raise LedgerUnreadable(found)
        if found == migrate.newest(migrate.released()):
            return conn
    except sqlite3.OperationalError as error:
        # A read-only folder: SQLite can make no shared memory for the WAL there.
        if primary_code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    return _copied(path, stack)


def _copied(path: Path, stack: ExitStack) -> sqlite3.Connection:
    """A private copy, brought to this version's form; the ledger itself is not touched by reading it."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="footplate-review-"))
    copy = Path(folder) / path.name
    shutil.copyfile(path, copy)
    with suppress(FileNotFoundError):
        shutil.copyfile(f"{path}-wal", f"{copy}-wal")
    with closing(connect(copy)) as conn:
        found = migrate.check(conn, path)
        if isinstance(found, Refusal):
            raise LedgerUnreadable(found)
        migrate.migrate(conn)
    return stack.enter_context(closing(connect(copy, mode="ro")))


def _make_folder(folder: Path) -> None:
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)


def _create(opening: Opening) -> None:
    """Make a whole ledger beside its place, then link it there.

    A crash on the way leaves no half of a ledger under the real name, and of two consoles that start at once the second
    finds the first one's.
    """
    path = opening.path
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)  # 0600 by itself
    os.close(handle)
    draft = Path(name)
    try:
        with closing(connect(draft)) as conn:
            migrate.migrate(conn)
            conn.execute("BEGIN IMMEDIATE")
            identity.create(
                Tx(conn, opening.now()),
                id=opening.ledger_id(),
                machine=opening.machine,
                digest_key=opening.ledger_id(),
            )
            conn.execute("COMMIT")
        with suppress(FileExistsError):
            os.link(draft, path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        for leftover in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm")):
            leftover.unlink(missing_ok=True)


def _bring_up_to_date(conn: sqlite3.Connection, opening: Opening) -> None:
    found = migrate.check(conn, opening.path)
    if isinstance(found, Refusal):
        raise LedgerUnreadable(found)
    if found < migrate.newest(migrate.released()):
        if opening.live_elsewhere():
            problem = "another console is running on it, and it must be brought to a newer form"
            raise LedgerBusy(Refusal(RefusalReason.LEDGER_BUSY, {"path": str(opening.path), "problem": problem}))
        migrate.back_up(conn, opening.path, found)
        migrate.migrate(conn)


def _raise_if(refusal: Refusal | None) -> None:
    if refusal is not None:
        raise LedgerUnreadable(refusal)


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    try:
        with translated(str(path)):
            yield
    except StorageFault as fault:
        code = str(fault.refusal.facts.get("code", ""))
        if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            facts = {"path": str(path), "problem": str(fault.refusal.facts.get("problem", ""))}
            raise LedgerUnreadable(Refusal(RefusalReason.LEDGER_UNREADABLE, facts)) from fault
        raise
    except OSError as error:
        facts = {"path": str(path), "problem": error.strerror or str(error)}
        raise StorageFault(Refusal(RefusalReason.STORAGE, facts)) from error
