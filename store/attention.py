"""The one queue of what waits for the operator, over all sessions: durable until acted on, first come first served."""

from typing import ClassVar, Final, Literal

from store import entries
from store.canonical import storable
from store.rows import Record, columns, many, one, sure
from store.tx import Tx
from store.vocab import AttentionKind, Millis, RunId


class AttentionItem(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "attention"

    id: int
    run: RunId | None
    """None: about the console itself."""
    kind: AttentionKind
    key: str
    """One open item for each (run, kind, key)."""
    text: str
    since: Millis
    cleared_at: Millis | None
    cleared_by: str | None


# Said once while it is open.
RAISE: Final = f"""
INSERT INTO attention (run, kind, key, text, since) VALUES (:run, :kind, :key, :text, :now)
ON CONFLICT DO NOTHING RETURNING {columns(AttentionItem)}
"""
OPEN_ONE: Final = f"""
SELECT {columns(AttentionItem)} FROM attention
WHERE coalesce(run, 0) = coalesce(:run, 0) AND kind = :kind AND key = :key AND cleared_at IS NULL
"""
# Somebody acted, or it is over by itself; all keys of the kind when none is named.
CLEAR: Final = f"""
UPDATE attention SET cleared_at = :now, cleared_by = :by
WHERE coalesce(run, 0) = coalesce(:run, 0) AND kind = :kind AND (:key IS NULL OR key = :key) AND cleared_at IS NULL
RETURNING {columns(AttentionItem)}
"""
# Told before, open or not: what a person has put away does not come up again by itself.
TOLD: Final = f"""
SELECT {columns(AttentionItem)} FROM attention
WHERE coalesce(run, 0) = coalesce(:run, 0) AND kind = :kind AND key = :key ORDER BY id DESC LIMIT 1
"""
GET: Final = f"SELECT {columns(AttentionItem)} FROM attention WHERE id = :id"
# One item, by the person who looked at it.
PUT_AWAY: Final = f"""
UPDATE attention SET cleared_at = :now, cleared_by = :by WHERE id = :id AND cleared_at IS NULL
RETURNING {columns(AttentionItem)}
"""
OPEN_ITEMS: Final = f"SELECT {columns(AttentionItem)} FROM attention WHERE cleared_at IS NULL ORDER BY since, id"


TO_SEE = frozenset({AttentionKind.STALLED, AttentionKind.CRASHED, AttentionKind.PAGE, AttentionKind.ENDS_SOON})
"""Kinds of which it is enough that a person has seen them. A decision wants an answer, a budget an extension."""
WARNING = "warning"
"""How the keys of budget items end that warn only: at four fifths nothing is held yet."""


def to_see(item: AttentionItem) -> bool:
    """Whether a person may put it away without doing anything else."""
    return item.kind in TO_SEE or (item.kind is AttentionKind.BUDGET and item.key.endswith(WARNING))


def _chain(run: RunId | None) -> RunId | Literal[0]:
    return entries.LEDGER_CHAIN if run is None else run


def raise_(tx: Tx, *, run: RunId | None, kind: AttentionKind, key: str, text: str) -> AttentionItem:
    parameters = {"run": run, "kind": kind, "key": key, "text": storable(text), "now": tx.now}
    row = one(tx, AttentionItem, RAISE, parameters)
    if row is None:
        return sure(tx, AttentionItem, OPEN_ONE, parameters)
    entries.note(tx, _chain(run), "attention.raised", row)
    return row


def raise_once(tx: Tx, *, run: RunId | None, kind: AttentionKind, key: str, text: str) -> AttentionItem:
    """As ``raise_``, for what stays as it is and is found again and again: told once, whatever became of it."""
    told_before = told(tx, run=run, kind=kind, key=key)
    return raise_(tx, run=run, kind=kind, key=key, text=text) if told_before is None else told_before


def told(tx: Tx, *, run: RunId | None, kind: AttentionKind, key: str) -> AttentionItem | None:
    """The newest item of this key, open or not."""
    return one(tx, AttentionItem, TOLD, {"run": run, "kind": kind, "key": key})


def get(tx: Tx, id: int) -> AttentionItem | None:
    return one(tx, AttentionItem, GET, {"id": id})


def put_away(tx: Tx, *, id: int, by: str) -> AttentionItem | None:
    """A person has seen it. None: it was put away, or over, before."""
    row = one(tx, AttentionItem, PUT_AWAY, {"id": id, "by": by, "now": tx.now})
    if row is not None:
        entries.note(tx, _chain(row.run), "attention.cleared", row, "cleared_at", "cleared_by")
    return row


def clear(tx: Tx, *, run: RunId | None, kind: AttentionKind, key: str | None = None, by: str) -> list[AttentionItem]:
    rows = many(tx, AttentionItem, CLEAR, {"run": run, "kind": kind, "key": key, "by": by, "now": tx.now})
    for row in rows:
        entries.note(tx, _chain(run), "attention.cleared", row, "cleared_at", "cleared_by")
    return rows


def open_items(tx: Tx) -> list[AttentionItem]:
    return many(tx, AttentionItem, OPEN_ITEMS, {})
