"""The chains: append-only, one after the other, and what ``verify`` says when somebody has been at them."""

import sqlite3
from collections.abc import Iterator

import pytest

from store import canonical, decisions, entries, events, evidence, queued, runs, settings, turns
from store.tx import Tx
from store.verify import Noted, verify
from store.vocab import DecisionKind, EvidenceKind, RunOutcome, TurnResultKind
from tests.store.scenes import event, held, in_memory, said


@pytest.fixture
def tx() -> Iterator[Tx]:
    with in_memory() as opened:
        yield opened


def a_life(tx: Tx) -> None:
    """A run with one of most things in it, ended."""
    run, _ = held(tx)
    turn = said(tx, run.id)
    turns.written(tx, id=turn)
    turns.accepted(tx, id=turn)
    events.append(tx, run=run.id, rows=[event(1), event(2), event(3, turn=None)])
    asked = decisions.ask(
        tx,
        run=run.id,
        turn=turn,
        kind=DecisionKind.QUESTION,
        request="r1",
        generation=1,
        payload='{"q":"why"}',
        title="Why?",
        subject="",
    )
    decisions.answer(
        tx, id=asked.id, revision=1, payload_hash=asked.payload_hash, answer='{"a":"because"}', operator="ada"
    )
    turns.settle(tx, id=turn, result=TurnResultKind.SUCCESS)
    evidence.add(tx, run=run.id, kind=EvidenceKind.HANDOFF, content=b"all done")
    queued.add(tx, run=run.id, text="and then", operator="ada")
    settings.put(tx, "admission", "open")
    runs.end(tx, id=run.id, outcome=RunOutcome.FINISHED, reason="handoff")


def test_each_entry_carries_the_hash_of_the_one_before(tx: Tx) -> None:
    a_life(tx)
    chain = entries.entries_of(tx, runs.listing(tx)[0].id)
    assert [entry.n for entry in chain] == list(range(1, len(chain) + 1))
    assert [entry.prev for entry in chain] == ["", *(entry.hash for entry in chain[:-1])]
    assert entries.head(tx, runs.listing(tx)[0].id) == (chain[-1].n, chain[-1].hash)


def test_the_end_of_a_run_ties_its_chain_to_the_ledgers_own(tx: Tx) -> None:
    a_life(tx)
    run = runs.listing(tx)[0].id
    last = entries.entries_of(tx, 0)[-1]
    assert last.kind == "run-head"
    n, hash = entries.head(tx, run)
    assert canonical.loads(last.body) == {"run": run, "n": n, "hash": hash}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = '{}' WHERE seq = 1",
        "DELETE FROM entries WHERE seq = 1",
        "INSERT OR REPLACE INTO entries (seq, run, n, at, kind, body, prev, hash) "
        "VALUES (1, 0, 1, 1, 'x.y', '{}', '', 'h')",
        "REPLACE INTO entries (seq, run, n, at, kind, body, prev, hash) VALUES (99, 0, 1, 1, 'x.y', '{}', '', 'h')",
    ],
)
def test_entries_are_append_only(tx: Tx, statement: str) -> None:
    before = entries.entries_of(tx, 0)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        tx.conn.execute(statement)
    assert entries.entries_of(tx, 0) == before


def test_an_untouched_ledger_verifies(tx: Tx) -> None:
    a_life(tx)
    assert verify(tx) is None


@pytest.mark.parametrize(
    ("statement", "where", "what"),
    [
        ("UPDATE turns SET state = 'uncertain'", "turn turn-1", "state"),
        ("UPDATE turns SET text = 'something else'", "turn turn-1", "text_sha256"),
        ("UPDATE turns SET cost = 1", "turn turn-1", "cost"),
        ("UPDATE runs SET outcome = 'failed'", "run 1", "outcome"),
        ("UPDATE custody SET state = 'closed'", "custody hold-1", "state"),
        ("UPDATE decisions SET answered_by = 'eve'", "decision 1", "answered_by"),
        ("UPDATE decisions SET payload = '{}'", "decision 1", "payload_sha256"),
        ("UPDATE authorizations SET terms = '{}'", "authorization terms-0-0", "terms_sha256"),
        ("UPDATE evidence SET content = x'00'", "evidence 1", "content_sha256"),
        ("UPDATE settings SET value = 'shut'", "setting admission", "value"),
        ("UPDATE events SET body = '{}' WHERE offset = 1", "turn turn-1", "events"),
        ("DELETE FROM events WHERE offset = 2", "turn turn-1", "events"),
        ("UPDATE events SET at = at + 1 WHERE offset = 3", "run 1", "events"),
        ("DELETE FROM queued_turns", "queued 1", "row"),
        ("INSERT INTO settings VALUES ('extra', 'x', 1)", "setting extra", "row"),
    ],
)
def test_a_changed_projection_is_named(tx: Tx, statement: str, where: str, what: str) -> None:
    a_life(tx)
    tx.conn.execute(statement)
    found = verify(tx)
    assert found is not None
    assert (found.where, found.what) == (where, what)


def test_one_entry_rewritten_with_its_own_hash_does_not_fit_the_next(tx: Tx) -> None:
    a_life(tx)
    run = runs.listing(tx)[0].id
    was, after = entries.entries_of(tx, run)[1:3]
    body = was.body.replace("1", "2")
    hash = entries.hash_of(prev=was.prev, seq=was.seq, run=was.run, n=was.n, at=was.at, kind=was.kind, body=body)
    tx.conn.execute("DROP TRIGGER entries_no_update")
    tx.conn.execute(
        "UPDATE entries SET body = :body, hash = :hash WHERE seq = :seq", {"body": body, "hash": hash, "seq": was.seq}
    )
    found = verify(tx)
    assert found is not None
    assert (found.where, found.what) == (f"entry {after.seq} (run {run}, n {after.n})", "prev")


def test_what_the_screen_keeps_is_no_difference(tx: Tx) -> None:
    a_life(tx)
    run = runs.listing(tx)[0].id
    runs.pin(tx, id=run, pinned=True)
    runs.seen(tx, id=run, at=tx.now)
    events.append(tx, run=run, rows=[event(9)])  # late, for a turn that has ended
    assert verify(tx) is None


def test_a_lost_tail_shows_against_a_noted_head(tx: Tx) -> None:
    a_life(tx)
    newest = entries.newest(tx)
    assert newest is not None
    assert verify(tx, Noted(seq=newest.seq, hash=newest.hash)) is None
    settings.put(tx, "later", "x")
    assert verify(tx, Noted(seq=newest.seq, hash=newest.hash)) is None, "a ledger may go on"
    found = verify(tx, Noted(seq=newest.seq + 7, hash="f" * 64))
    assert found is not None
    assert found.what == "noted head"
    assert entries.at_seq(tx, newest.seq) == newest


def test_a_refusing_transaction_leaves_no_entry_behind(tx: Tx) -> None:
    before = entries.newest(tx)
    tx.conn.execute("SAVEPOINT s")
    settings.put(tx, "a", "1")
    tx.conn.execute("ROLLBACK TO s")
    assert entries.newest(tx) == before
