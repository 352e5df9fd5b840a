"""Full-text search over turns, the agents' finished texts and tool titles: filled when a turn ends, off the hot path.

Filling at ingest halves it (measured). Newest first by row id, by pages: ranking everything takes a second on a large
ledger (measured).
"""

from dataclasses import dataclass
from typing import Final

from store import events
from store.tx import Tx
from store.vocab import RunId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    id: int
    """To ask for what is older: ``before``."""
    run: RunId
    turn: TurnId | None
    event: int | None
    """Row id of the event; None where the operator's own turn was found."""
    kind: str
    """``turn``, or the event's kind."""
    text: str
    snippet: str


# One searchable text.
FILL: Final = "INSERT INTO search (text, run, turn, event, kind) VALUES (:text, :run, :turn, :event, :kind)"
# A very long one, taken out of its body by SQLite: in Python that would stop every other thread.
FILL_LONG: Final = """
INSERT INTO search (text, run, turn, event, kind)
SELECT json_extract(body, :path), run, turn, id, kind FROM events WHERE id = :id
"""
LONG: Final = 1_000_000
# Newest first, by keyset.
FIND: Final = """
SELECT rowid, run, turn, event, kind, text, snippet(search, 0, '', '', '…', 12) FROM search
WHERE search MATCH :query AND rowid < :before ORDER BY rowid DESC LIMIT :limit
"""


def fill(tx: Tx, *, run: RunId, turn: TurnId, text: str) -> None:
    """Make a turn that has ended findable."""
    rows: list[dict[str, object]] = []
    if text:
        rows.append({"text": text, "run": run, "turn": turn, "event": None, "kind": "turn"})
    for event in events.of_turn(tx, turn):
        if len(event.body) > LONG and event.kind in events.SEARCHABLE:
            tx.conn.execute(FILL_LONG, {"id": event.id, "path": f"$.{events.SEARCHABLE[event.kind]}"})
            continue
        found = events.searchable(event)
        if found:
            rows.append({"text": found, "run": run, "turn": turn, "event": event.id, "kind": event.kind})
    tx.conn.executemany(FILL, rows)


def expression(query: str) -> str:
    """The operator's words as FTS5 takes them: each one literally, all of them, the last one as a beginning.

    Quoted, because FTS5 has a language of its own, in which ``-``, ``:`` and ``AND`` are operators.
    """
    words = [word.replace('"', '""').replace("\x00", "") for word in query.split()]
    words = [word for word in words if any(letter.isalnum() for letter in word)]
    return " ".join(f'"{word}"' for word in words) + "*" if words else ""


def find(tx: Tx, query: str, *, limit: int = 50, before: int | None = None) -> list[Hit]:
    wanted = expression(query)
    if not wanted:
        return []
    parameters = {"query": wanted, "before": events.NEWEST_ID if before is None else before, "limit": limit}
    return [
        Hit(id=id, run=run, turn=turn, event=event, kind=kind, text=text, snippet=snippet)
        for id, run, turn, event, kind, text, snippet in tx.conn.execute(FIND, parameters).fetchall()
    ]
