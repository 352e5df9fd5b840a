"""What agents said and did, as it was ingested: appended in order, read by pages, hashed by turn.

Bodies are opaque here but for the two things that can be searched. An event that comes twice is an error to be seen:
the spool offset committed with the events is what keeps them from coming twice.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import ClassVar, Final

from msgspec import Struct

from store.canonical import SLICE, dumps, long_string, storable
from store.rows import Record, columns, from_row, many
from store.tx import Tx
from store.vocab import Millis, RunId, TurnId


class NewEvent(Struct, frozen=True, kw_only=True):
    offset: int
    n: int
    turn: TurnId | None
    at: Millis
    kind: str
    body: str
    """Canonical JSON, redacted."""


class Event(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "events"

    id: int
    run: RunId
    offset: int
    n: int
    turn: TurnId | None
    at: Millis
    kind: str
    body: str


class EventsDigest(Struct, frozen=True, kw_only=True):
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
# Pages of one run by the events' own keys, which are what a screen has of them. A very long body is not read here.
_BRIEF: Final = "id, run, offset, n, turn, at, kind, CASE WHEN length(body) > :longest THEN '' ELSE body END"
OLDER: Final = f"""
SELECT {_BRIEF} FROM events WHERE run = :run AND (offset, n) < (:offset, :n)
ORDER BY offset DESC, n DESC LIMIT :limit
"""
NEWER: Final = f"""
SELECT {_BRIEF} FROM events WHERE run = :run AND (offset, n) > (:offset, :n) ORDER BY offset, n LIMIT :limit
"""
# What of a run has some characters in its body, the newest first; those that have not are only counted.
SIEVE: Final = f"""
SELECT {_BRIEF}, length(body), instr(CASE WHEN :folds THEN lower(body) ELSE body END, :text) FROM events
WHERE run = :run AND (offset, n) < (:offset, :n) AND (offset, n) > (:end, :end_n)
ORDER BY offset DESC, n DESC LIMIT :limit
"""
# One event, whole.
ONE: Final = f"SELECT {columns(Event)} FROM events WHERE run = :run AND offset = :offset AND n = :n"
# Both ends of a very long text, and the rest of its event. In SQLite, because reading 64 MB of JSON in Python stops
# every other thread for as long as it takes (measured: 300 ms).
ENDS: Final = """
WITH whole AS MATERIALIZED (
  SELECT json_extract(body, :path) AS text, json_replace(body, :path, '', :second, json('{}')) AS rest
  FROM events WHERE id = :id
) SELECT length(text), substr(text, 1, :part), substr(text, -:part), rest FROM whole
"""
# What there is of a run, without what it says.
KEYS: Final = "SELECT offset, n, kind FROM events WHERE run = :run ORDER BY offset, n"
# With which event a turn begins.
FIRST_OF_TURN: Final = "SELECT offset, n FROM events WHERE turn = :turn ORDER BY id LIMIT 1"
# All of one turn.
OF_TURN: Final = f"SELECT {columns(Event)} FROM events WHERE turn = :turn AND id <= :through ORDER BY id"
# Those of a run that belong to no turn.
LOOSE: Final = f"SELECT {columns(Event)} FROM events WHERE run = :run AND turn IS NULL AND id <= :through ORDER BY id"

NEWEST_ID: Final = (1 << 63) - 1
Key = tuple[int, int]
"""(spool offset, n): unique in its run, in the order in which things were said."""
BEFORE_ALL: Final[Key] = (-1, -1)
AFTER_ALL: Final[Key] = (NEWEST_ID, NEWEST_ID)
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


def near(tx: Tx, run: RunId, key: Key, *, newer: bool, limit: int, most: int) -> tuple[list[Event], bool]:
    """Events next to a key, itself left out: the older ones, or the newer ones; and whether there are more of them.

    In order. Stops after so many events, or once their bodies are so large together (``most`` characters): a page of a
    talkative agent must not cost more than one of a quiet agent. A body larger than that alone is '' (``ends``).
    """
    found: list[Event] = []
    size = 0
    more = False
    where = {"run": run, "offset": key[0], "n": key[1], "limit": limit + 1, "longest": most}
    with closing(tx.conn.execute(NEWER if newer else OLDER, where)) as rows:
        for row in rows:
            event = from_row(Event, row)
            size += len(event.body)
            if len(found) == limit or (found and size > most):
                more = True
                break
            found.append(event)
    return (found if newer else found[::-1]), more


def sieve(
    tx: Tx, run: RunId, text: str, *, folds: bool, before: Key, after: Key, limit: int, most: int
) -> tuple[list[Event], Key | None, Key]:
    """Events between two keys whose bodies have this text: of so many that were looked at, or of so many characters.

    Also from which key to go on (None: all was looked at), and the newest one that was looked at.
    """
    found: list[Event] = []
    where = {
        "run": run,
        "text": text,
        "folds": folds,
        "offset": before[0],
        "n": before[1],
        "end": after[0],
        "end_n": after[1],
        "limit": limit,
        "longest": most,
    }
    newest, last, seen, size = after, after, 0, 0
    with closing(tx.conn.execute(SIEVE, where)) as rows:
        for *columns_of_it, length, at in rows:
            event = from_row(Event, columns_of_it)
            last = (event.offset, event.n)
            newest = max(newest, last)
            seen, size = seen + 1, size + length
            if at:
                found.append(event)
            if size > most:
                seen = limit
                break
    return found, last if seen == limit else None, newest


def ends(tx: Tx, id: int, *, field: str, part: int) -> tuple[int, str, str, str]:
    """Of a very long body: the length of the text in that field, its beginning, its end, and the body without it."""
    given = {"id": id, "path": f"$.{field}", "second": "$.detail" if field == "output" else "$.none", "part": part}
    length, head, tail, rest = tx.conn.execute(ENDS, given).fetchone()
    return int(length or 0), str(head or ""), str(tail or ""), str(rest)


def get(tx: Tx, run: RunId, key: Key) -> Event | None:
    row = tx.conn.execute(ONE, {"run": run, "offset": key[0], "n": key[1]}).fetchone()
    return None if row is None else from_row(Event, row)


def first_of_turn(tx: Tx, turn: TurnId) -> Key | None:
    row = tx.conn.execute(FIRST_OF_TURN, {"turn": turn}).fetchone()
    return None if row is None else (int(row[0]), int(row[1]))


def count(tx: Tx, run: RunId) -> int:
    row = tx.conn.execute(COUNT, {"run": run}).fetchone()
    return 0 if row is None else int(row[0])


def of_turn(tx: Tx, turn: TurnId, *, through: int = NEWEST_ID) -> Iterator[Event]:
    for row in tx.conn.execute(OF_TURN, {"turn": turn, "through": through}).fetchall():
        yield from_row(Event, row)


def digest_of_turn(tx: Tx, turn: TurnId, *, through: int = NEWEST_ID) -> EventsDigest:
    return _digest(tx, OF_TURN, {"turn": turn, "through": through})


def digest_of_loose(tx: Tx, run: RunId, *, through: int = NEWEST_ID) -> EventsDigest:
    return _digest(tx, LOOSE, {"run": run, "through": through})


def hash_of(tx: Tx, turn: TurnId) -> str:
    return digest_of_turn(tx, turn).events_hash


def _digest(tx: Tx, statement: str, parameters: Mapping[str, object]) -> EventsDigest:
    """Not over row ids: the same events in an export have the same hash. Row by row: a turn may have a million."""
    total, count, last = hashlib.sha256(), 0, 0
    with closing(tx.conn.execute(statement, parameters)) as rows:
        for id, _run, offset, n, _turn, at, kind, body in rows:
            total.update(hashed(offset, n, at, kind, body))
            count, last = count + 1, id
    return EventsDigest(events_hash=total.hexdigest(), events_count=count, events_through=last)


def hashed(offset: int, n: int, at: int, kind: str, body: str) -> bytes:
    """What of one event goes into the hash of its turn."""
    if len(body) > SLICE:
        # By slices: written in one go a very long body holds the interpreter's lock, and a screen's keys with it.
        pieces = (piece.encode() for piece in long_string(body))
        return b"".join([dumps([offset, n, at, kind])[:-1].encode(), b",", *pieces, b"]\n"])
    return dumps([offset, n, at, kind, body]).encode() + b"\n"


def searchable(event: Event) -> tuple[str, str]:
    """What the full-text search finds of an event: the agent's finished text, and one line for each tool call; and the
    name of the tool."""
    field = SEARCHABLE.get(event.kind)
    if field is None:
        return "", ""
    try:
        body = json.loads(event.body)
    except ValueError:
        return "", ""
    text, tool = (body.get(field), body.get("name")) if isinstance(body, dict) else ("", "")
    return text if isinstance(text, str) else "", tool if isinstance(tool, str) else ""
