"""From SQLite's tuples to frozen records, and the few ways in which the nouns run a statement.

A record's fields are its table's columns, in order, so that a statement can name its columns without spelling them and
``SELECT *`` is never needed. No statement stands here, and nothing that knows what a record means.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import UnionType
from typing import Any, ClassVar, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from store.tx import Tx

Parameters = Mapping[str, object]


class Record(Struct, frozen=True, kw_only=True):
    """Base of every row. The class variables say what ``entries.note`` writes of it and ``verify`` compares."""

    TABLE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]] = ("id",)
    DIGESTED: ClassVar[tuple[str, ...]] = ()
    """Columns that may be large: an entry carries their digest as ``<column>_sha256``."""
    UNTRACKED: ClassVar[tuple[str, ...]] = ()
    """Columns that change without an entry, because they are bookkeeping of the ingest or of the screen."""


R = TypeVar("R", bound=Record)
Reader = Callable[[Any], object]

_READERS: Final[dict[type[Record], tuple[tuple[int, Reader], ...]]] = {}


def names(kind: type[Record]) -> tuple[str, ...]:
    return kind.__struct_fields__


def columns(kind: type[Record]) -> str:
    """The record's columns, for a SELECT or RETURNING."""
    return ", ".join(names(kind))


def values(kind: type[Record], *left_out: str) -> str:
    """``(a, b) VALUES (:a, :b)`` for an INSERT of a whole record, without the columns that the database fills."""
    kept = [name for name in names(kind) if name not in left_out]
    return f"({', '.join(kept)}) VALUES ({', '.join(':' + name for name in kept)})"


def _readers(kind: type[Record]) -> tuple[tuple[int, Reader], ...]:
    """Which cells are more than SQLite's own types: enums and booleans."""
    known = _READERS.get(kind)
    if known is not None:
        return known
    hints = get_type_hints(kind)
    found: list[tuple[int, Reader]] = []
    for place, name in enumerate(names(kind)):
        hint = hints[name]
        alternatives = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        for one_type in alternatives:
            if one_type is bool:
                found.append((place, _truth))
            elif isinstance(one_type, type) and issubclass(one_type, StrEnum):
                found.append((place, one_type))
    return _READERS.setdefault(kind, tuple(found))


def _truth(cell: int) -> bool | int:
    """What is neither 0 nor 1 was not written by us: it stays as it is, so that ``verify`` sees the difference."""
    return bool(cell) if cell in (0, 1) else cell


def from_row(kind: type[R], row: Sequence[Any]) -> R:
    cells = list(row)
    for place, reader in _readers(kind):
        if cells[place] is not None:
            cells[place] = reader(cells[place])
    return kind(**dict(zip(names(kind), cells, strict=True)))


def one(tx: Tx, kind: type[R], statement: str, parameters: Parameters) -> R | None:
    """The single row of a statement, or None. Stepped to its end: a RETURNING half read would block the commit."""
    found = tx.conn.execute(statement, parameters).fetchall()
    return from_row(kind, found[0]) if found else None


def sure(tx: Tx, kind: type[R], statement: str, parameters: Parameters) -> R:
    """As ``one`` where a row must come."""
    found = one(tx, kind, statement, parameters)
    if found is None:
        raise LookupError(f"no row of {kind.__name__} for {dict(parameters)!r}")
    return found


def many(tx: Tx, kind: type[R], statement: str, parameters: Parameters) -> list[R]:
    return [from_row(kind, row) for row in tx.conn.execute(statement, parameters).fetchall()]


def number(tx: Tx, statement: str, parameters: Parameters) -> int:
    """The single integer of an aggregate; NULL counts as 0."""
    row: tuple[int | None, ...] = tx.conn.execute(statement, parameters).fetchone()
    return row[0] or 0


def is_unique_conflict(error: sqlite3.IntegrityError) -> bool:
    return error.sqlite_errorcode in (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
