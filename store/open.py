"""Opening the ledger's file, synchronously: making a new one, migrating an old one, and the pragmas of each connection.

All of it runs on whatever thread will own the connection. Refusals leave as exceptions of ``faults`` because SQLite is
often three frames below; ``db`` turns them back into values.
"""

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from store import identity, migrate
from store.faults import LedgerBusy, LedgerUnreadable, StorageFault, primary_code, translated
from store.place import check_file, check_place
from store.refusal import Fact, Refusal
from store.tx import Tx
from store.vocab import Millis, RefusalReason

BUSY_TIMEOUT_MS: Final = 5_000
TRIES: Final = 5
"""How often a ledger is copied that changes meanwhile."""
CACHED_STATEMENTS: Final = 256
"""More than there are statements: the default of 128 would compile some of them again and again."""


class Opening(Struct, frozen=True, kw_only=True):
    """What is needed to open a ledger for writing."""

    path: Path
    now: Callable[[], Millis]
    machine: str
    ledger_id: Callable[[], str]
    live_elsewhere: Callable[[], bool]
    """Whether another console lives on this ledger; asked only when an old ledger would have to be migrated."""
    busy_timeout_ms: int = BUSY_TIMEOUT_MS


def connect(
    path: Path, *, mode: str = "rw", busy_timeout_ms: int = BUSY_TIMEOUT_MS, how: str = ""
) -> sqlite3.Connection:
    """A connection that never creates the file. ``isolation_level=None``: every BEGIN is ours, none deferred."""
    conn = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}{how}",
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
            if sys.platform == "darwin":  # elsewhere a sync is one; there it stops at the drive's own memory
                conn.execute("PRAGMA fullfsync = ON")
                conn.execute("PRAGMA checkpoint_fullfsync = ON")
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
    with storage_errors(path):
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


class Readable(Struct, frozen=True, kw_only=True):
    """A ledger that is read where it lies, or from a copy; not a byte of it or of what lies beside it is written."""

    conn: sqlite3.Connection
    path: Path
    stamp: tuple[int, ...] | None = None
    """How the file was, where nobody was writing and no lock says when somebody begins. None: a lock does, or this is
    a copy."""

    def overtaken(self) -> bool:
        """Whether the file was written to since, so that what was read of it may be of two times."""
        return self.stamp is not None and _stamp(self.path) != self.stamp

    def outdated(self) -> bool:
        """Whether there may be something newer than what is read here: it is worth opening again."""
        return self.stamp is not None and (self.overtaken() or _size(_wal(self.path)) > 0)


@contextmanager
def open_for_reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection, wherever the ledger lies: beside a live console, in a read-only folder, of an older form.

    Raises:
        LedgerUnreadable, LedgerBusy, StorageFault: with the refusal to show. LedgerBusy also at the end, where a
            console began to write while this read without a lock: then what was read may not fit together.
    """
    with ExitStack() as stack:
        opened = readable(path, stack)
        yield opened.conn
        if opened.overtaken():
            raise _being_written(path)


def readable(path: Path, stack: ExitStack) -> Readable:
    """As ``open_for_reading``, for a reader that stays and looks itself whether it was overtaken.

    Raises:
        LedgerUnreadable, LedgerBusy, StorageFault: with the refusal to show.
    """
    with storage_errors(path):
        if not path.exists():
            facts: dict[str, Fact] = {"path": str(path), "problem": "there is none", "absent": True}
            raise LedgerUnreadable(Refusal(RefusalReason.LEDGER_UNREADABLE, facts))
        _raise_if(check_file(path))
        for _ in range(TRIES):
            found = _as_it_lies(path, stack) or _copied(path, stack)
            if found is not None:
                return found
        raise _being_written(path)


def _as_it_lies(path: Path, stack: ExitStack) -> Readable | None:
    """Read in its place; None where that could not be done without writing there, or where it is of an older form.

    SQLite's ``mode=ro`` alone is not enough: of a ledger in WAL mode it makes and writes the shared memory beside it.
    With ``readonly_shm`` it takes its locks there and writes nothing; a WAL that a crash has left it reads by an index
    of its own. Where no WAL lies beside the file, nobody has it open and all is in it: ``immutable`` then needs no
    lock, and works in a folder that cannot be written to.
    """
    stamp = _stamp(path)
    shared = Path(f"{path}-shm").exists()
    if _size(_wal(path)) > 0 or (shared and _wal(path).exists()):
        how, stamp = "&readonly_shm=1", ()
        if not shared:
            return None
    else:
        how = "&immutable=1"
    with ExitStack() as trying:
        try:
            conn = trying.enter_context(closing(connect(path, mode="ro", how=how)))
            found = migrate.check(conn, path)
        except sqlite3.OperationalError as error:
            # The last console left meanwhile and took the shared memory with it; or its owner lets nobody see it.
            if primary_code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            return None
        if isinstance(found, Refusal):
            raise LedgerUnreadable(found)
        if found != migrate.newest(migrate.released()):
            return _brought_up(conn, path, stack)
        stack.push(trying.pop_all())
    return Readable(conn=conn, path=path, stamp=stamp or None)


def _brought_up(conn: sqlite3.Connection, path: Path, stack: ExitStack) -> Readable:
    """A private copy of an older ledger, in this version's form. Through SQLite, so that it is of one moment."""
    copy = _private(stack) / path.name
    copy.touch(mode=0o600)
    with closing(connect(copy)) as target:
        target.execute("PRAGMA synchronous = OFF")
        conn.backup(target)
        migrate.migrate(target)
    return Readable(conn=stack.enter_context(closing(connect(copy, mode="ro"))), path=path)


def _copied(path: Path, stack: ExitStack) -> Readable | None:
    """A private copy of the file and its WAL; None where they changed while they were copied."""
    wal = _wal(path)
    copy = _private(stack) / path.name
    before = _stamp(path), _stamp(wal)
    shutil.copyfile(path, copy)
    with suppress(FileNotFoundError):
        shutil.copyfile(wal, _wal(copy))
    if (_stamp(path), _stamp(wal)) != before:
        return None
    with closing(connect(copy)) as conn:
        found = migrate.check(conn, path)
        if isinstance(found, Refusal):
            raise LedgerUnreadable(found)
        migrate.migrate(conn)
    return Readable(conn=stack.enter_context(closing(connect(copy, mode="ro"))), path=path)


def _private(stack: ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="footplate-review-")))


def _wal(path: Path) -> Path:
    return Path(f"{path}-wal")


def _stamp(path: Path) -> tuple[int, ...]:
    """Differs once anybody has written to the file or put another in its place; () where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _size(path: Path) -> int:
    found = _stamp(path)
    return found[2] if found else 0


def _being_written(path: Path) -> LedgerBusy:
    problem = "a console began to write to it while it was read"
    return LedgerBusy(Refusal(RefusalReason.LEDGER_BUSY, {"path": str(path), "problem": problem}))


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
def storage_errors(path: Path) -> Iterator[None]:
    """Around statements and files: what SQLite and the system say leaves as ours, a damaged file as one."""
    try:
        with translated(str(path)):
            yield
    except StorageFault as fault:
        code = str(fault.refusal.facts.get("code", ""))
        if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            problem = str(fault.refusal.facts.get("problem", ""))
            facts: dict[str, Fact] = {"path": str(path), "problem": problem, "damaged": not code.endswith("NOTADB")}
            raise LedgerUnreadable(Refusal(RefusalReason.LEDGER_UNREADABLE, facts)) from fault
        raise
    except OSError as error:
        facts = {"path": str(path), "problem": error.strerror or str(error)}
        raise StorageFault(Refusal(RefusalReason.STORAGE, facts)) from error
