"""What the operator has typed and not sent. No fact of any run, so no entries; lost when sent or emptied."""

from typing import Final

from store.canonical import storable
from store.tx import Tx

PUT: Final = """
INSERT INTO drafts (key, text, at) VALUES (:key, :text, :now)
ON CONFLICT (key) DO UPDATE SET text = excluded.text, at = excluded.at
"""
GET: Final = "SELECT text FROM drafts WHERE key = :key"
DROP: Final = "DELETE FROM drafts WHERE key = :key"


def put(tx: Tx, key: str, text: str) -> None:
    tx.conn.execute(PUT, {"key": key, "text": storable(text), "now": tx.now})


def get(tx: Tx, key: str) -> str | None:
    row = tx.conn.execute(GET, {"key": key}).fetchone()
    return None if row is None else str(row[0])


def drop(tx: Tx, key: str) -> None:
    tx.conn.execute(DROP, {"key": key})
