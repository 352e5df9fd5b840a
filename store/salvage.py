"""What can still be read of a ledger that is cut off or damaged: every row that SQLite can reach, in a private copy.

Such a copy is for looking at. Its chains have holes where the file has them, so ``verify`` says what is missing, and
nothing is ever written back. A row that is lost while entries still tell of it is laid out again from them, without
what they have only the digest of.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from store import entries, migrate, search
from store.canonical import loads
from store.open import connect
from store.tx import Tx
from store.verify import GONE, NOUNS
from store.vocab import Millis, RunId, TurnId

_FARTHEST: Final = 1 << 44
"""No ledger has row ids beyond this; where nothing below it can be reached, nothing can."""
_AT_ONCE: Final = 500
TABLES: Final = (
    *dict.fromkeys(row.TABLE for row in NOUNS.values()),
    *("task_dependencies", "entries", "events", "drafts"),
)
# A turn that has ended is made findable anew: the index itself cannot be taken over in parts.
ENDED: Final = "SELECT run, id, text FROM turns WHERE ended_at NOTNULL ORDER BY ended_at, run, n"
TOLD: Final = "SELECT kind, body FROM entries ORDER BY seq"
COUNTED: Final = "UPDATE runs SET events = (SELECT count(*) FROM events WHERE events.run = runs.id)"
# A column and its type, '' where it may be without a value.
COLUMNS: Final = """
SELECT name, CASE WHEN "notnull" OR pk THEN type ELSE '' END FROM pragma_table_info(:table) ORDER BY cid
"""
_UNKNOWN: Final[dict[str, object]] = {"TEXT": "", "INTEGER": 0, "BLOB": b""}
HAS: Final = "SELECT name FROM pragma_table_info(:table)"
KEPT: Final = "SELECT count(*) FROM runs UNION ALL SELECT count(*) FROM turns UNION ALL SELECT count(*) FROM events"


class Salvaged(Struct, frozen=True, kw_only=True):
    """What was found. Nobody can tell how much there was."""

    runs: int
    turns: int
    events: int


def salvage(path: Path, folder: Path) -> tuple[Path, Salvaged] | None:
    """A ledger in ``folder`` with the rows of a damaged one that can be read; None where there are none of a run.

    Raises:
        OSError, sqlite3.Error: the folder cannot be written to.
    """
    copy, made = folder / f"{path.name}.damaged", folder / path.name
    shutil.copyfile(path, copy)
    with suppress(FileNotFoundError):
        shutil.copyfile(f"{path}-wal", f"{copy}-wal")
    _lengthen(copy)
    made.touch(mode=0o600)
    with closing(connect(made)) as target:
        target.execute("PRAGMA synchronous = OFF")
        migrate.migrate(target)
        target.execute("PRAGMA foreign_keys = OFF")
        target.execute("BEGIN IMMEDIATE")
        with suppress(sqlite3.DatabaseError), closing(connect(copy)) as damaged:
            for table in TABLES:
                _take_over(damaged, target, table)
        _tell_again(target)
        for run, turn, text in target.execute(ENDED).fetchall():
            search.fill(Tx(target, Millis(0)), run=RunId(run), turn=TurnId(turn), text=text)
        runs, turns, events = (count for (count,) in target.execute(KEPT))
        target.execute("COMMIT")
    return (made, Salvaged(runs=runs, turns=turns, events=events)) if runs else None


def _lengthen(copy: Path) -> None:
    """To the length that its first page tells. SQLite refuses a file that is too short, and reads one with empty pages
    up to the first of them. Of a page that is cut itself nothing is kept: its rows would end in zeros."""
    with copy.open("r+b") as file:
        head = file.read(100)
        size = int.from_bytes(head[16:18], "big")
        size = 65_536 if size == 1 else size
        pages = int.from_bytes(head[28:32], "big")
        have = file.seek(0, 2)
        if size >= 512 and have < pages * size < _FARTHEST:
            file.truncate(have // size * size)
            file.truncate(pages * size)


def _take_over(damaged: sqlite3.Connection, target: sqlite3.Connection, table: str) -> None:
    try:
        there = [name for (name,) in damaged.execute(HAS, {"table": table})]
    except sqlite3.DatabaseError:
        return
    known = {name for (name,) in target.execute(HAS, {"table": table})}
    kept = [name for name in there if name in known]
    if not kept:
        return
    insert = f"INSERT OR IGNORE INTO {table} (rowid, {', '.join(kept)}) VALUES ({', '.join('?' * (len(kept) + 1))})"
    rows = []
    for row in _rows(damaged, table, kept):
        rows.append(row)
        if len(rows) == _AT_ONCE:
            _insert(target, insert, rows)
            rows = []
    _insert(target, insert, rows)


def _tell_again(target: sqlite3.Connection) -> None:
    """What the entries that are left make of each row, where there is none: as ``verify`` lays one over the other."""
    told: dict[tuple[str, tuple[object, ...]], dict[str, object]] = {}
    for kind, text in target.execute(TOLD):
        noun = kind.partition(".")[0]
        with suppress(ValueError, KeyError):
            if kind == entries.PRUNED:
                told.pop(("authorization", (loads(text)["authorization"],)), None)
            elif noun in NOUNS:
                facts = loads(text)
                key = (noun, tuple(facts[name] for name in NOUNS[noun].KEY))
                told.setdefault(key, {}).update(facts)
                if kind in GONE:
                    del told[key]
    for (noun, _), facts in told.items():
        row = NOUNS[noun]
        given = {
            name: facts[name] if name in facts else _UNKNOWN.get(column)
            for name, column in target.execute(COLUMNS, {"table": row.TABLE})
        }
        names = ", ".join(given)
        insert = f"INSERT OR IGNORE INTO {row.TABLE} ({names}) VALUES ({', '.join('?' * len(given))})"
        _insert(target, insert, [tuple(given.values())])
    target.execute(COUNTED)


def _insert(target: sqlite3.Connection, insert: str, rows: list[tuple[object, ...]]) -> None:
    try:
        target.executemany(insert, rows)
    except sqlite3.IntegrityError:
        # One of them is not what its table wants; the others are.
        for row in rows:
            with suppress(sqlite3.IntegrityError):
                target.execute(insert, row)


def _rows(damaged: sqlite3.Connection, table: str, kept: list[str]) -> Iterator[tuple[object, ...]]:
    """Rows by their ids. Where one cannot be reached, the next that can is looked for: by doubled steps, then back."""
    reading = f"SELECT rowid, {', '.join(kept)} FROM {table} NOT INDEXED WHERE rowid >= ? ORDER BY rowid"
    at = 0
    while at < _FARTHEST:
        try:
            for row in damaged.execute(reading, (at,)):
                yield row
                at = row[0] + 1
            return
        except sqlite3.DatabaseError:
            at = _next_reachable(damaged, f"{reading} LIMIT 1", at)


def _next_reachable(damaged: sqlite3.Connection, one: str, bad: int) -> int:
    def reached(at: int) -> bool:
        try:
            damaged.execute(one, (at,)).fetchall()
        except sqlite3.DatabaseError:
            return False
        return True

    step = 1
    while not reached(bad + step):
        step *= 2
        if bad + step >= _FARTHEST:
            return _FARTHEST
    low, high = bad + step // 2, bad + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
