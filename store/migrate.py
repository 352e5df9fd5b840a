"""Bringing a ledger to the form that this version writes, by numbered scripts that are never edited once released.

Each script holds its own BEGIN and COMMIT and inserts its number first: ``executescript`` would commit a
transaction that we had opened around it (measured), and the number makes a second migrator fail before it has
changed anything.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from msgspec import Struct

from store.refusal import Refusal
from store.vocab import RefusalReason

APPLICATION_ID: Final = 1179602025
"""Stamped by the first migration; another program's database is not taken for a ledger."""


class Migration(Struct, frozen=True):
    number: int
    name: str
    script: str


# Bookkeeping that must be there before the first script can note its number.
CREATE_VERSIONS: Final = "CREATE TABLE IF NOT EXISTS schema_version (number INTEGER PRIMARY KEY) STRICT"
# Which form a ledger has.
VERSION: Final = "SELECT max(number) FROM schema_version"
HAS_VERSIONS: Final = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"


@cache
def released() -> tuple[Migration, ...]:
    """The scripts of this version, in order."""
    folder = resources.files("store.migrations")
    found = [
        Migration(int(item.name.partition("_")[0]), item.name, item.read_text(encoding="utf-8"))
        for item in folder.iterdir()
        if item.name.endswith(".sql")
    ]
    return tuple(sorted(found, key=lambda migration: migration.number))


def version_of(conn: sqlite3.Connection) -> int:
    """0 for a file that no migration has touched."""
    if not conn.execute(HAS_VERSIONS).fetchone()[0]:
        return 0
    row = conn.execute(VERSION).fetchone()
    return int(row[0] or 0)


def newest(migrations: Sequence[Migration]) -> int:
    return migrations[-1].number


def check(conn: sqlite3.Connection, path: Path, migrations: Sequence[Migration] | None = None) -> int | Refusal:
    """The version of a ledger, or why this program cannot use it."""
    known = released() if migrations is None else migrations
    mark = int(conn.execute("PRAGMA application_id").fetchone()[0])
    found = version_of(conn)
    if found > newest(known):
        return Refusal(RefusalReason.LEDGER_NEWER, {"path": str(path), "is": found, "known": newest(known)})
    if mark != APPLICATION_ID or found == 0:
        return Refusal(RefusalReason.LEDGER_UNREADABLE, {"path": str(path), "problem": "it is not a Footplate ledger"})
    return found


def migrate(conn: sqlite3.Connection, migrations: Sequence[Migration] | None = None) -> int:
    """Run what is missing; returns the version reached. A script that fails leaves the ledger as it was before it."""
    known = released() if migrations is None else migrations
    conn.execute(CREATE_VERSIONS)
    for migration in known:
        if migration.number <= version_of(conn):
            continue
        try:
            conn.executescript(migration.script)
        except sqlite3.Error:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            if version_of(conn) >= migration.number:
                continue  # another console did it between our look and our insert
            raise
    return version_of(conn)


def back_up(conn: sqlite3.Connection, path: Path, version: int) -> Path:
    """A copy of the file as it was, made through SQLite so that what is still in the WAL is in it."""
    copy = path.with_name(f"{path.name}.before-{version + 1:04d}")
    copy.unlink(missing_ok=True)
    copy.touch(mode=0o600)
    with closing(sqlite3.connect(copy, isolation_level=None)) as target:
        conn.backup(target)
    return copy
