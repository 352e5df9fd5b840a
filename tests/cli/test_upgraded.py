"""A house that an earlier version left, opened by this one: by its commands, as its operator would.

What the store itself does with such a file is in ``tests/store/test_upgrade.py``.
"""

import gzip
import json
from contextlib import closing
from pathlib import Path

import pytest

from app.cli import program
from store import census, migrate, open
from tests.store.test_upgrade import LEDGERS

NEWEST = migrate.newest(migrate.released())


@pytest.mark.parametrize("schema", range(1, NEWEST))
def test_it_is_looked_at_as_it_lies_brought_up_to_date_by_what_writes_and_goes_on(
    schema: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "house"
    home.mkdir(mode=0o700)
    ledger = home / "ledger.db"
    ledger.write_bytes(gzip.decompress((LEDGERS / f"schema-{schema}.db.gz").read_bytes()))
    before = ledger.read_bytes()
    monkeypatch.setenv("FOOTPLATE_HOME", str(home))

    def said(*arguments: str) -> str:
        assert program.run(arguments) == 0, capsys.readouterr()
        return capsys.readouterr().out

    for looking in (("ls",), ("show", "1"), ("attention",), ("budget",), ("spend",), ("verify",)):
        said(*looking)
    [line] = json.loads(said("ls", "--json"))["runs"]
    assert line["run"] == 1 and line["outcome"] is None and ledger.read_bytes() == before, "reading left it as it was"
    # The run was held by a console and a keeper that are long gone: a new console settles it, and with that it writes.
    said("sweep")
    assert census.take(ledger).schema == NEWEST
    [copy] = home.glob("ledger.db.before-*")
    assert census.take(copy).schema == schema and copy.stat().st_mode & 0o777 == 0o600
    [line] = json.loads(said("ls", "--json"))["runs"]
    assert line["outcome"] is not None and line["title"] == "roof"
    assert "mend the roof" in said("show", "1")
    assert said("verify") == "The ledger is whole.\n"
    said("sweep")
    assert [one.name for one in home.glob("ledger.db.before-*")] == [copy.name], "once"


def test_one_of_a_later_version_is_refused_and_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from app.cli.exits import outcome_of

    home = tmp_path / "house"
    home.mkdir(mode=0o700)
    ledger = home / "ledger.db"
    ledger.write_bytes(gzip.decompress((LEDGERS / f"schema-{NEWEST - 1}.db.gz").read_bytes()))
    with closing(open.connect(ledger)) as conn:
        conn.execute("INSERT INTO schema_version (number) VALUES (?)", (NEWEST + 1,))
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = ledger.read_bytes()
    monkeypatch.setenv("FOOTPLATE_HOME", str(home))
    for asked in (["ls"], ["sweep"], ["verify"]):
        assert outcome_of(lambda asked=asked: program.run(asked)) == 1  # type: ignore[misc]
        assert "newer" in capsys.readouterr().err
    assert ledger.read_bytes() == before and not list(home.glob("ledger.db.before-*"))
