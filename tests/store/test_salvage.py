"""Of a damaged ledger everything that can be reached is shown, and nothing is invented."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from store import lookup
from store.open import connect
from store.reviewing import Narrowed
from store.salvage import TABLES, salvage
from store.tx import Tx
from store.verify import NOUNS
from store.vocab import Millis
from tests.bench.bigledger import make

PAGE = 4096


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("whole") / "ledger.db", 4_000)


CHANGING = ("state", "step", "events")
"""Of a row that is laid out again, what later entries would have said."""


KEYS = {kind.TABLE: kind.KEY for kind in NOUNS.values()}


def rows(path: Path, table: str) -> dict[object, dict[str, object]]:
    """By key, as the entries tell of them: one that is laid out again may lie elsewhere."""
    with closing(connect(path, mode="ro", how="&immutable=1")) as conn:
        names = [name for (name,) in conn.execute("SELECT name FROM pragma_table_info(:t)", {"t": table})]
        found = conn.execute(f"SELECT rowid, {', '.join(names)} FROM {table}").fetchall()
        told = {id: dict(zip(names, row, strict=True)) for id, *row in found}
        if table not in KEYS:
            return dict(told)
        return {tuple(row[name] for name in KEYS[table]): row for row in told.values()}


def is_part_of(made: Path, whole: Path) -> None:
    """Every row is one that was there, but for what a lost one's entries only have the digest of, or had yet to say."""
    for table in TABLES:
        was = rows(whole, table)
        for id, row in rows(made, table).items():
            assert id in was, (table, id)
            for name, value in row.items():
                known = value not in ("", b"", 0, None) and name not in CHANGING
                assert value == was[id][name] or not (known or table in ("events", "entries")), (table, id, name)


@pytest.mark.parametrize("part", [0.98, 0.75, 0.5, 0.3])
def test_of_one_cut_off_what_is_left_is_shown(whole: Path, tmp_path: Path, part: float) -> None:
    path, folder = tmp_path / "ledger.db", tmp_path / "private"
    folder.mkdir()
    content = whole.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    before = path.read_bytes()
    found = salvage(path, folder)
    assert path.read_bytes() == before
    assert found is not None
    made, counts = found
    is_part_of(made, whole)
    kept = len(rows(made, "events"))
    assert counts.events == kept
    assert counts.runs == len(rows(whole, "runs")) or part < 0.9
    assert counts.runs > 0 and kept >= len(rows(whole, "events")) * part * 0.4
    with closing(connect(made, mode="ro")) as conn:
        hits, _ = lookup.find(Tx(conn, Millis(0)), ("the",), Narrowed())
        assert hits, "and can be searched"


@pytest.mark.parametrize("seed", range(4))
def test_of_one_with_pages_lost_all_others_are_shown(whole: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray(whole.read_bytes())
    pages = len(content) // PAGE
    for _ in range(max(1, pages // 50)):
        lost = chance.randrange(pages // 4, pages) * PAGE
        content[lost : lost + PAGE] = bytes(PAGE) if chance.random() < 0.5 else chance.randbytes(PAGE)
    path, folder = tmp_path / "ledger.db", tmp_path / "private"
    folder.mkdir()
    path.write_bytes(content)
    found = salvage(path, folder)
    assert found is not None
    is_part_of(found[0], whole)
    assert found[1].events >= len(rows(whole, "events")) * 0.5


def test_of_one_without_its_first_pages_there_is_nothing(whole: Path, tmp_path: Path) -> None:
    content = bytearray(whole.read_bytes())
    content[100 : 40 * PAGE] = bytes(40 * PAGE - 100)
    path, folder = tmp_path / "ledger.db", tmp_path / "private"
    folder.mkdir()
    path.write_bytes(content)
    assert salvage(path, folder) is None


def test_every_table_with_facts_is_taken_over(whole: Path) -> None:
    with closing(sqlite3.connect(whole)) as conn:
        listed = conn.execute("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
        there = {name for (name,) in listed}
    made_anew = {"schema_version", "searched", "run_tools", "sqlite_schema", "sqlite_sequence"}
    import_bookkeeping = {"import_keys", "import_reading"}
    assert there - made_anew - import_bookkeeping == set(TABLES)
