"""Files that were read in: known by what they say they are, forward only, and told by the chains."""

import sqlite3

import pytest

from store import imports, runs, turns
from store.imports import Import
from store.tx import Tx
from store.vocab import Billing, MicroUsd, RunId, RunOutcome, TurnResultKind
from tests.store.scenes import admitted, later, said


def record(tx: Tx, identity: str, path: str = "/home/ada/a.jsonl", run: RunId | None = None) -> Import:
    return imports.record(
        tx, agent="claude", identity=identity, path=path, run=run, size=900, mtime=7, digest="d1", read_to=400
    )


def test_a_file_is_known_wherever_it_lies(tx: Tx) -> None:
    run = admitted(tx)
    made = record(tx, "session-1", run=run.id)
    assert imports.find(tx, "session-1") == made == imports.at_path(tx, "/home/ada/a.jsonl")
    assert imports.find(tx, "session-2") is None and imports.at_path(tx, "/elsewhere") is None
    with pytest.raises(sqlite3.IntegrityError):
        record(tx, "session-1", path="/home/ada/copy.jsonl")
    moved = imports.progress(
        later(tx, 5), id=made.id, path="/home/ada/b.jsonl", size=950, mtime=9, digest="d2", read_to=950
    )
    assert moved is not None and (moved.path, moved.read_to, moved.run, moved.at) == (
        "/home/ada/b.jsonl", 950, run.id, tx.now + 5,
    )  # fmt: skip
    assert imports.of_run(tx, run.id) == [moved]


def test_reading_never_goes_back(tx: Tx) -> None:
    made = record(tx, "session-1")
    assert imports.progress(tx, id=made.id, path="/x", size=1, mtime=1, digest="d", read_to=399) is None
    assert imports.find(tx, "session-1") == made


def test_a_run_is_named_once_it_is_made_and_stays(tx: Tx) -> None:
    made = record(tx, "session-1")
    first, second = admitted(tx), admitted(tx, tree="/work/b")
    for run in (first, second):
        imports.progress(tx, id=made.id, path="/x", size=1, mtime=1, digest="d", read_to=400, run=run.id)
    assert [one.run for one in imports.of_run(tx, first.id)] == [first.id] and imports.of_run(tx, second.id) == []


def test_what_was_read_in_counts_in_no_pool(tx: Tx) -> None:
    for n, reason in enumerate(("finished", "imported")):
        run = admitted(tx, tree=f"/work/{n}")
        turn = said(tx, run.id, f"t{n}")
        turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS, cost=MicroUsd(100 + n))
        runs.end(tx, id=run.id, outcome=RunOutcome.FINISHED, reason=reason)
    assert turns.spent_since(tx, since=tx.now, billing=Billing.KEY) == 100
