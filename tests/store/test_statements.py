"""Every statement compiles against the schema, every CHECK list is its enum, every record is its table."""

import importlib
import pkgutil
import re
import sqlite3
from collections.abc import Iterator
from enum import StrEnum
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

import pytest

import store
from store import verify, vocab
from store.rows import Record, names
from store.tx import Tx
from tests.store.scenes import in_memory

MODULES = [importlib.import_module(f"store.{found.name}") for found in pkgutil.iter_modules(store.__path__)]
STATEMENT = re.compile(r"^\s*(SELECT|INSERT|UPDATE|DELETE)\s", re.DOTALL)
PARAMETER = re.compile(r"(?<![:\w]):([a-z_0-9]+)")


def statements() -> list[tuple[str, str]]:
    found = []
    for module in MODULES:
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, str) and STATEMENT.match(value):
                found.append((f"{module.__name__}.{name}", value))
    found += [(f"store.verify.ALL_ROWS[{noun}]", text) for noun, text in verify.ALL_ROWS.items()]
    return found


def records() -> list[type[Record]]:
    found = {
        value
        for module in MODULES
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Record) and value is not Record
    }
    return sorted(found, key=lambda kind: kind.__name__)


@pytest.fixture(scope="module")
def tx() -> Iterator[Tx]:
    with in_memory() as opened:
        yield opened


def test_there_are_statements_to_look_at() -> None:
    assert len(statements()) > 100
    assert len(records()) == 26


@pytest.mark.parametrize(("name", "text"), statements(), ids=lambda value: value if value.startswith("store.") else "")
def test_statement_compiles(tx: Tx, name: str, text: str) -> None:
    tx.conn.execute(f"EXPLAIN {text}", dict.fromkeys(PARAMETER.findall(text)))


@pytest.mark.parametrize(("name", "text"), statements(), ids=lambda value: value if value.startswith("store.") else "")
def test_statement_names_its_columns_and_parameters(name: str, text: str) -> None:
    assert "SELECT *" not in text
    assert "?" not in text
    assert "OFFSET " not in text, "pages go by key"


@pytest.mark.parametrize("kind", records(), ids=lambda kind: kind.__name__)
def test_record_is_its_table(tx: Tx, kind: type[Record]) -> None:
    table = tx.conn.execute(f"PRAGMA table_info({kind.TABLE})").fetchall()
    assert tuple(column[1] for column in table) == names(kind)
    hints = get_type_hints(kind)
    for _, name, _, not_null, _, key in table:
        may_be_none = type(None) in get_args(hints[name])
        assert may_be_none == (not not_null and not key), f"{kind.TABLE}.{name}"
    assert set(kind.KEY) | set(kind.DIGESTED) | set(kind.UNTRACKED) <= set(names(kind))


def checks(conn: sqlite3.Connection) -> dict[tuple[str, str], set[str]]:
    found = {}
    for table, text in conn.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
        for column, listed in re.findall(r"CHECK \((\w+) IN \(([^)]*)\)\)", text or ""):
            found[(table, column)] = {word.strip().strip("'") for word in listed.split(",")}
    return found


def enum_of(kind: type[Record], column: str) -> type[StrEnum] | None:
    hint = get_type_hints(kind)[column]
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return next((one for one in options if isinstance(one, type) and issubclass(one, StrEnum)), None)


def test_every_check_list_is_its_enum(tx: Tx) -> None:
    by_table = {kind.TABLE: kind for kind in records()}
    listed = checks(tx.conn)
    assert len(listed) >= 20
    for (table, column), words in listed.items():
        enum = enum_of(by_table[table], column)
        assert enum is not None, f"{table}.{column} has a list and no enum"
        assert words == {member.value for member in enum}, f"{table}.{column}"


def test_every_state_column_has_a_check_list(tx: Tx) -> None:
    listed = checks(tx.conn)
    for kind in records():
        for column in names(kind):
            enum = enum_of(kind, column)
            if enum is not None and enum is not vocab.FailureKind:  # its list may grow without a migration
                assert (kind.TABLE, column) in listed


def test_all_tables_are_strict(tx: Tx) -> None:
    rows = tx.conn.execute("SELECT name, strict, type FROM pragma_table_list WHERE schema = 'main'").fetchall()
    loose = [name for name, strict, kind in rows if kind == "table" and not strict and not name.startswith("sqlite_")]
    assert loose == []


SCANS_ALLOWED = {
    "store.entries.LAST_SEQ", "store.entries.NEWEST",  # one row from the end
    "store.runs.LISTING", "store.lookup.ANY",  # a page from the end
    "store.salvage.ENDED", "store.salvage.TOLD",  # all that could be saved, once
}  # fmt: skip
LARGE = ("events", "entries", "turns", "search")


@pytest.mark.parametrize(
    ("name", "text"),
    [pair for pair in statements() if not pair[0].startswith("store.verify") and pair[0] not in SCANS_ALLOWED],
    ids=lambda value: value if value.startswith("store.") else "",
)
def test_no_statement_reads_a_large_table_from_end_to_end(tx: Tx, name: str, text: str) -> None:
    plan = tx.conn.execute(f"EXPLAIN QUERY PLAN {text}", dict.fromkeys(PARAMETER.findall(text))).fetchall()
    for _, _, _, step in plan:
        assert not any(step == f"SCAN {table}" for table in LARGE), step
