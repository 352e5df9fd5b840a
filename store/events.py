"""What agents said and did, as it was ingested: appended in order, read by pages, hashed by turn.

Bodies are opaque here but for the two things that can be searched. An event that comes twice is an error to be seen:
the spool offset committed with the events is what keeps them from coming twice.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from store.canonical import dumps, storable
from store.rows import Record, columns, from_row, many
from store.tx import Tx
from store.vocab import Millis, RunId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    offset: int
    n: int
    turn: TurnId | None
    at: Millis
    kind: str
    body: str
    """Canonical JSON, redacted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(Record):
    TABLE: ClassVar[str] = "events"

    id: int
    run: RunId
    offset: int
    n: int
    turn: TurnId | None
    at: Millis
    kind: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsDigest:
    """Over the events of one turn (or those of a run that belong to none), in order, up to ``through``."""

    events_hash: str
    events_count: int
    events_through: int
    """Row id of the last one covered: what comes late for an ended turn does not make the ledger look forged."""


# One event; run as executemany.
APPEND: Final = (
    "INSERT INTO events (run, offset, n, turn, at, kind, body) VALUES (:run, :offset, :n, :turn, :at, :kind, :body)"
)
# The count that is kept.
COUNTED: Final = "UPDATE runs SET events = events + :count WHERE id = :run"
COUNT: Final = "SELECT events FROM runs WHERE id = :run"
# A page towards the newer; one towards the older.
AFTER: Final = f"SELECT {columns(Event)} FROM events WHERE run = :run AND id > :after ORDER BY id LIMIT :limit"
BEFORE: Final = f"""
SELECT {columns(Event)} FROM events WHERE run = :run AND id > :after AND id < :before ORDER BY id DESC LIMIT :limit
"""
# All of one turn.
OF_TURN: Final = f"SELECT {columns(Event)} FROM events WHERE turn = :turn AND id <= :through ORDER BY id"
# Those of a run that belong to no turn.
LOOSE: Final = f"SELECT {columns(Event)} FROM events WHERE run = :run AND turn IS NULL AND id <= :through ORDER BY id"

NEWEST_ID: Final = (1 << 63) - 1
SEARCHABLE: Final = {"text": "text", "tool-started": "title"}
"""Kind of event, and the field of its body that can be found. A test holds the kinds to the coordinator's codec."""


def append(tx: Tx, *, run: RunId, rows: Sequence[NewEvent]) -> int:
    """Add events in the order given; returns how many.

    Raises:
        sqlite3.IntegrityError: one of them is there already. The transaction must not be committed.
    """
    if not rows:
        return 0
    tx.conn.executemany(
        APPEND,
        [
            {
                "run": run,
                "offset": row.offset,
                "n": row.n,
                "turn": row.turn,
                "at": row.at,
                "kind": row.kind,
                "body": storable(row.body),
            }
            for row in rows
        ],
    )
    tx.conn.execute(COUNTED, {"run": run, "count": len(rows)})
    return len(rows)


# Whether an event of a kind came at all, or since a place in the spool.
HAS_KIND: Final = "SELECT 1 FROM events WHERE run = :run AND kind = :kind AND offset >= :offset LIMIT 1"


def has_kind(tx: Tx, run: RunId, kind: str, *, offset: int = 0) -> bool:
    return tx.conn.execute(HAS_KIND, {"run": run, "kind": kind, "offset": offset}).fetchone() is not None


def page(
    tx: Tx, run: RunId, *, after: int = 0, limit: int = 500, newest: bool = False, before: int | None = None
) -> list[Event]:
    """Events in order: from ``after`` on, or with ``newest`` (or ``before``) the last ones (before that row id)."""
    if newest or before is not None:
        below = NEWEST_ID if before is None else before
        found = many(tx, Event, BEFORE, {"run": run, "after": after, "before": below, "limit": limit})
        return found[::-1]
    return many(tx, Event, AFTER, {"run": run, "after": after, "limit": limit})


def count(tx: Tx, run: RunId) -> int:
    row = tx.conn.execute(COUNT, {"run": run}).fetchone()
    return 0 if row is None else int(row[0])


def of_turn(tx: Tx, turn: TurnId, *, through: int = NEWEST_ID) -> Iterator[Event]:
    for row in tx.conn.execute(OF_TURN, {"turn": turn, "through": through}).fetchall():
        yield from_row(Event, row)


def digest_of_turn(tx: Tx, turn: TurnId, *, through: int = NEWEST_ID) -> EventsDigest:
    return _digest(tx.conn.execute(OF_TURN, {"turn": turn, "through": through}).fetchall())


def digest_of_loose(tx: Tx, run: RunId, *, through: int = NEWEST_ID) -> EventsDigest:
    return _digest(tx.conn.execute(LOOSE, {"run": run, "through": through}).fetchall())


def hash_of(tx: Tx, turn: TurnId) -> str:
    return digest_of_turn(tx, turn).events_hash


def _digest(rows: Sequence[tuple[int, int, int, int, str | None, int, str, str]]) -> EventsDigest:
    """Not over row ids: the same events in an export have the same hash."""
    total = hashlib.sha256()
    for _id, _run, offset, n, _turn, at, kind, body in rows:
        total.update(dumps([offset, n, at, kind, body]).encode())
        total.update(b"\n")
    return EventsDigest(
        events_hash=total.hexdigest(), events_count=len(rows), events_through=rows[-1][0] if rows else 0
    )


def searchable(event: Event) -> str | None:
    """What the full-text search finds of an event: the agent's finished text, and one line for each tool call."""
    field = SEARCHABLE.get(event.kind)
    if field is None:
        return None
    try:
        body = json.loads(event.body)
    except ValueError:
        return None
    text = body.get(field) if isinstance(body, dict) else None
    return text if isinstance(text, str) and text else None
