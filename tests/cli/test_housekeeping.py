"""``verify``, ``prune`` and ``backup`` as a person types them."""

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pexpect
import pytest

from app.wording import forbidden_in
from store import open
from store.db import read_ledger
from store.runs import Run, get
from store.tx import Tx
from store.verify import verify
from store.vocab import Millis, RunId
from tests.cli.running import ROOT, environment, footplate
from tests.review.importing.made import DATA
from tests.store.scenes import new_ledger
from tests.store.whole import a_whole_life

FIRST = RunId(1)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two runs that ended in 2023, one of which waits for somebody."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    (folder / "ledger.db").write_bytes(new_ledger())
    with closing(open.connect(folder / "ledger.db")) as conn:
        from store import attention
        from store.vocab import AttentionKind

        tx = Tx(conn, Millis(1_700_000_000_000))
        conn.execute("BEGIN IMMEDIATE")
        a_whole_life(tx)
        second = a_whole_life(tx, tree="/work/other")
        attention.raise_(tx, run=second, kind=AttentionKind.PAGE, key="k", text="look")
        conn.execute("COMMIT")
    return folder


def run_of(home: Path, id: RunId = FIRST) -> Run | None:
    with read_ledger(home / "ledger.db", now=lambda: Millis(0)) as tx:
        assert verify(tx) is None
        return get(tx, id)


def test_a_dry_run_lists_what_would_go_and_changes_nothing(home: Path) -> None:
    before = (home / "ledger.db").read_bytes()
    told = footplate(home, "prune", "--older-than", "90d", "--dry-run")
    assert (told.code, told.err) == (0, "")
    assert "1  2023-11-14  interrupted  2 turns  3 events  about " in told.out and "mend the roof" in told.out
    assert "Kept: run 2 (something of it waits for you)." in told.out
    assert "Would go: 1 run (about " in told.out and "On the disk: ledger " in told.out
    assert (home / "ledger.db").read_bytes() == before and not forbidden_in(told.out)
    data = json.loads(footplate(home, "prune", "--older-than", "90d", "--dry-run", "--json").out)
    assert [one["run"] for one in data["runs"]] == [1] and data["kept"] == [{"run": 2, "why": "attention"}]


def test_nobody_is_asked_where_nobody_is(home: Path) -> None:
    told = footplate(home, "prune", "--older-than", "90d")
    assert told.code == 1 and "--yes" in told.err and run_of(home) is not None


def test_it_asks_once_on_a_terminal_and_only_a_bare_enter_agrees(home: Path) -> None:
    def asked(answer: str) -> str:
        child = pexpect.spawn(
            sys.executable, ["-m", "app.main", "prune", "--older-than", "12w"], cwd=str(ROOT), encoding="utf-8",
            env=environment(home), timeout=40, dimensions=(40, 160),
        )  # fmt: skip
        child.expect("Enter drops 1 run .* for good")
        child.send(answer)
        child.expect(pexpect.EOF)
        child.close()
        return f"{child.exitstatus} {child.before}"

    assert "Nothing was dropped" in asked("no\r") and run_of(home) is not None
    assert "Pruned: 1 run." in asked("\r") and run_of(home) is None
    told = footplate(home, "verify")
    assert told.code == 0
    assert told.out.startswith("The ledger is whole.\nPruned by ")
    assert "run 1 (interrupted, ended 2023-11-14, 2 turns, 3 events) on " in told.out
    assert footplate(home, "show", "1").code == 1


def test_evidence_that_is_kept_is_checked_ever_after(home: Path) -> None:
    told = footplate(home, "prune", "--older-than", "90d", "--yes", "--keep-evidence", "--json")
    [stone] = json.loads(told.out)["done"]["runs"]
    [kept] = stone["kept"]
    file = home / "evidence" / kept["name"]
    assert file.read_bytes() == b"+ slate 1" and footplate(home, "verify").code == 0
    file.write_bytes(b"+ slate 2")
    changed = footplate(home, "verify")
    assert changed.code == 1 and str(file) in changed.out


def test_a_ledger_that_is_not_whole_is_not_pruned(home: Path) -> None:
    with closing(sqlite3.connect(home / "ledger.db")) as conn:
        conn.execute("UPDATE turns SET cost = 31 WHERE id = 'turn-1-1'")
        conn.commit()
    told = footplate(home, "prune", "--older-than", "90d", "--yes")
    assert told.code == 1 and "turn turn-1-1: cost is 31, and should be 30" in told.err
    assert footplate(home, "backup", "copy.db", cwd=home).code == 1 and not (home / "copy.db").exists()
    data = json.loads(footplate(home, "verify", "--json").out)
    assert not data["ok"] and data["difference"]["where"] == "turn turn-1-1"


def test_a_row_that_agrees_and_makes_no_sense_is_found_too(home: Path) -> None:
    from store import queued

    with closing(open.connect(home / "ledger.db")) as conn:
        queued.add(Tx(conn, Millis(1)), run=FIRST, text="too late", operator="ada")
    told = footplate(home, "verify")
    assert told.code == 1 and "not waiting any more once its run has an outcome" in told.out


def test_what_was_imported_and_pruned_does_not_come_again_and_what_is_new_does(tmp_path: Path) -> None:
    home, files = tmp_path / "home", tmp_path / "files"
    shutil.copytree(DATA, files)
    for one in files.rglob("*.jsonl"):
        one.write_bytes(one.read_bytes().replace(b'"timestamp":"2026', b'"timestamp":"2024'))
    assert footplate(home, "import", str(files)).code == 0
    gone = json.loads(footplate(home, "prune", "--older-than", "1d", "--yes", "--json").out)["done"]["runs"]
    assert len(gone) == 6, "they ended when their transcripts say"
    again = footplate(home, "import", str(files))
    assert (again.code, again.out) == (0, "There is nothing new to import.\nNothing new in 6 files.\n")
    assert footplate(home, "verify").code == 0


def test_a_backup_is_whole_ours_alone_and_replaces_nothing_unasked(home: Path) -> None:
    made = footplate(home, "backup", "copy.db", cwd=home)
    assert made.code == 0 and "whole" in made.out
    noted = made.out.strip().rpartition(" ")[2]
    copy = home / "copy.db"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert footplate(home, "verify", "copy.db", "--noted", noted, cwd=home).out == "The ledger is whole.\n"
    assert footplate(home, "verify", "--noted", noted).code == 0
    seq, _, hash = noted.partition(":")
    assert footplate(home, "verify", "--noted", f"{int(seq) + 1}:{hash}").code == 1
    assert footplate(home, "verify", "--noted", "nonsense").code == 2
    before = copy.read_bytes()
    assert "--force" in footplate(home, "backup", "copy.db", cwd=home).err and copy.read_bytes() == before
    assert footplate(home, "backup", "copy.db", "--force", cwd=home).code == 0
    for name in ("ledger.db", ".", "no/folder/x.db"):
        told = footplate(home, "backup", name, "--force", cwd=home)
        assert told.code == 1 and len(told.err.splitlines()) == 1, name


def test_where_there_is_nothing_and_what_is_typed_wrongly(tmp_path: Path) -> None:
    home = tmp_path / "h"
    assert (
        footplate(home, "prune", "--older-than", "90d").out == "There is no ledger yet, so there is nothing to prune.\n"
    )
    assert footplate(home, "backup", str(tmp_path / "b.db")).code == 1
    for age in ("90", "1y", "0d", "-3d"):
        assert footplate(home, "prune", f"--older-than={age}").code == 2
    (tmp_path / "x.db").write_text("no ledger")
    told = footplate(home, "verify", str(tmp_path / "x.db"))
    assert told.code == 1 and len(told.err.splitlines()) == 1
