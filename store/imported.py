"""Runs that Footplate did not hold, as they are read in: ended before they are filled, and paid for by nobody here.

Such a run has its outcome from its first row on, so that no sweep takes it for one that a console lost, and its turns
are written when they are over: no state of it is ever anything but final. The times are those of the transcript; the
entries say when they were written.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from store import authorizations, entries, events, runs, search, turns
from store.authorizations import Authorization
from store.canonical import digest, dumps, storable
from store.events import EventsDigest, Key, NewEvent
from store.rows import columns, one, sure
from store.runs import Run
from store.turns import Turn
from store.tx import Tx
from store.vocab import (
    AuthorizationId,
    AuthorizationState,
    Billing,
    CostKnowledge,
    EndReason,
    FailureKind,
    IncarnationId,
    MicroUsd,
    Millis,
    RunId,
    RunOutcome,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)

# The terms that nobody signed are those of this run and no other.
BOUND: Final = f"UPDATE authorizations SET run = :run WHERE id = :id RETURNING {columns(Authorization)}"
# Which of these lines are known, and from where.
KNOWN: Final = "SELECT key, run, place FROM import_keys WHERE key IN (SELECT value FROM json_each(:keys))"
# Lines that were read in; run as executemany. Two lines of one key are the same line.
KEEP: Final = "INSERT OR IGNORE INTO import_keys (key, run, place) VALUES (:key, :run, :place)"
# How far an import came that may be cut off.
READING: Final = "SELECT offset, n FROM import_reading WHERE import = :import"
REACHED: Final = """
INSERT INTO import_reading (import, offset, n) VALUES (:import, :offset, :n)
ON CONFLICT (import) DO UPDATE SET offset = excluded.offset, n = excluded.n
"""
THROUGH: Final = "DELETE FROM import_reading WHERE import = :import"
# Row id of the last event of a batch.
LAST_ROW: Final = "SELECT last_insert_rowid()"


class Imported(Struct, frozen=True, kw_only=True):
    """A session that was, as its run is begun."""

    title: str
    agent: str
    driver: str
    repository: str
    branch: str
    authorization: AuthorizationId
    terms: str
    incarnation: IncarnationId
    operator: str
    began: Millis
    ended: Millis
    outcome: RunOutcome
    detail: str
    native_id: str
    model: str | None
    mode: str | None
    continues: RunId | None


class ImportedTurn(Struct, frozen=True, kw_only=True):
    id: TurnId
    source: TurnSource
    text: str
    keyed: str
    operator: str
    began: Millis
    ended: Millis
    result: TurnResultKind | None
    """None: nobody knows how it ended."""
    subtype: str
    failure: FailureKind | None
    failure_text: str
    cost: MicroUsd | None
    cost_known: CostKnowledge
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    duration_ms: int


class TurnDigest:
    """The hash over a turn's events, made as they come: what a large import has written is not read once more."""

    def __init__(self) -> None:
        self._total = hashlib.sha256()
        self._count = 0

    def add(self, event: NewEvent) -> None:
        self._total.update(events.hashed(event.offset, event.n, event.at, event.kind, event.body))
        self._count += 1

    def over(self, through: int) -> EventsDigest:
        """``through``: row id of the last of them."""
        return EventsDigest(
            events_hash=self._total.hexdigest(), events_count=self._count, events_through=through if self._count else 0
        )


def begin(tx: Tx, given: Imported) -> Run:
    """The run, its outcome and its closed authorization, in one go."""
    row = {
        "id": given.authorization,
        "state": AuthorizationState.CLOSED,
        "run": None,
        "terms": storable(given.terms),
        "digest": digest(given.terms),
        "operator": given.operator,
        "signed_at": given.began,
        "expires_at": given.ended,
        "closed_at": tx.now,
        "close_reason": EndReason.IMPORTED,
    }
    sure(tx, Authorization, authorizations.SIGN, row)
    run = sure(
        tx,
        Run,
        runs.ADMIT,
        {
            "title": storable(given.title),
            "agent": given.agent,
            "driver": given.driver,
            "billing": Billing.SUBSCRIPTION,
            "repository": storable(given.repository),
            "tree": storable(given.repository),
            "head": "",
            "branch": storable(given.branch),
            "authorization_id": given.authorization,
            "incarnation": given.incarnation,
            "operator": given.operator,
            "step": EndReason.IMPORTED,
            "created_at": given.began,
            "ended_at": given.ended,
            "outcome": given.outcome,
            "reason": EndReason.IMPORTED,
            "detail": storable(given.detail),
            "native_id": storable(given.native_id),
            "model": None if given.model is None else storable(given.model),
            "mode": None if given.mode is None else storable(given.mode),
            "pinned": False,
            "seen_at": tx.now,
            "continues": given.continues,
            "events": 0,
        },
    )
    signed = sure(tx, Authorization, BOUND, {"id": given.authorization, "run": run.id})
    entries.note(tx, run.id, "authorization.imported", signed)
    entries.note(tx, run.id, "run.imported", run)
    return run


def append(
    tx: Tx,
    *,
    run: RunId,
    turn: TurnId,
    rows: Sequence[NewEvent],
    found: Iterable[tuple[int, str]],
    calls: Mapping[str, int],
) -> int:
    """Events in order, findable at once. ``found``: place among the rows, and the text. The last one's row id."""
    events.append(tx, run=run, rows=rows)
    # Row ids of one statement that is run many times follow each other: nobody else writes meanwhile.
    last = int(tx.conn.execute(LAST_ROW).fetchone()[0]) if rows else 0
    first = last - len(rows) + 1
    texts = [(text, first + place, rows[place].kind) for place, text in found]
    search.fill_some(tx, run=run, turn=turn, found=texts, calls=calls)
    return last


def settle(tx: Tx, run: RunId, given: ImportedTurn, seen: EventsDigest) -> Turn:
    """A turn that is over, after its events."""
    number = tx.conn.execute(turns.NEXT, {"run": run}).fetchone()[0]
    source = TurnSource.BRIEF if number == 1 and given.source is TurnSource.OPERATOR else given.source
    row = one(
        tx,
        Turn,
        turns.RECORD,
        {
            "id": given.id,
            "run": run,
            "n": number,
            "state": TurnState.UNCERTAIN if given.result is None else TurnState.SETTLED,
            "source": source,
            "generation": 1,
            "text": storable(given.text),
            "preamble": "",
            "bytes": len(given.text.encode("utf-8", "replace")),
            "digest": given.keyed,
            "operator": given.operator,
            "recorded_at": given.began,
            "written_at": given.began,
            "accepted_at": given.began,
            "ended_at": given.ended,
            "result": given.result,
            "subtype": storable(given.subtype),
            "failure": given.failure,
            "failure_text": storable(given.failure_text),
            "cost": given.cost,
            "cost_known": given.cost_known,
            "cumulative": None,
            "input_tokens": given.input_tokens,
            "output_tokens": given.output_tokens,
            "cache_read_tokens": given.cache_read_tokens,
            "cache_write_tokens": given.cache_write_tokens,
            "duration_ms": given.duration_ms,
            "events_hash": seen.events_hash,
        },
    )
    if row is None:
        raise LookupError(f"turn {given.id} is there already")
    entries.note(tx, run, "turn.imported", row, events_count=seen.events_count, events_through=seen.events_through)
    if row.text:
        search.fill_some(tx, run=run, turn=row.id, found=[(row.text, None, search.TURN)], calls={})
    return row


def close(tx: Tx, run: RunId) -> None:
    """The head of its chain goes into the ledger's own, as that of any run that has ended."""
    n, hash = entries.head(tx, run)
    entries.append(tx, entries.LEDGER_CHAIN, "run-head", {"run": run, "n": n, "hash": hash})


# ---------------------------------------------------------------------------------------------------------- bookkeeping


def known(tx: Tx, keys: Sequence[int]) -> Iterator[tuple[int, tuple[RunId, int]]]:
    """Those lines that were read in: into which run, and from which place of its file."""
    for key, run, place in tx.conn.execute(KNOWN, {"keys": dumps(keys)}).fetchall():
        yield key, (RunId(run), place)


def keep(tx: Tx, run: RunId, keys: Iterable[tuple[int, int]]) -> None:
    tx.conn.executemany(KEEP, [{"key": key, "run": run, "place": place} for key, place in keys])


def reading(tx: Tx, id: int) -> Key | None:
    """Up to which event an import came that was cut off; None: it was not."""
    row = tx.conn.execute(READING, {"import": id}).fetchone()
    return None if row is None else (int(row[0]), int(row[1]))


def reached(tx: Tx, id: int, key: Key) -> None:
    tx.conn.execute(REACHED, {"import": id, "offset": key[0], "n": key[1]})


def through(tx: Tx, id: int) -> None:
    tx.conn.execute(THROUGH, {"import": id})
