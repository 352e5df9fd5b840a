"""Receipts: what an ending did, process by process. One for each start of the agent under a hold, never changed."""

from typing import ClassVar, Final

from store import entries
from store.canonical import storable
from store.rows import Record, columns, many, one, sure, values
from store.tx import Tx
from store.vocab import CustodyId, Millis, RunId


class StoredReceipt(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "receipts"
    KEY: ClassVar[tuple[str, ...]] = ("custody", "generation")
    DIGESTED: ClassVar[tuple[str, ...]] = ("body",)

    custody: CustodyId
    generation: int
    run: RunId
    at: Millis
    body: str
    """Canonical JSON."""
    remaining: int
    """Processes that were not seen gone."""


# The first one stands: an ending that is looked at twice has still happened once.
ADD: Final = f"INSERT INTO receipts {values(StoredReceipt)} ON CONFLICT DO NOTHING RETURNING {columns(StoredReceipt)}"
# Later sweeps help: processes that remained and are gone now.
IMPROVE: Final = f"""
UPDATE receipts SET body = :body, remaining = :remaining, at = :at
WHERE custody = :custody AND generation = :generation AND remaining > :remaining RETURNING {columns(StoredReceipt)}
"""
GET: Final = f"SELECT {columns(StoredReceipt)} FROM receipts WHERE custody = :custody AND generation = :generation"
OF_RUN: Final = f"SELECT {columns(StoredReceipt)} FROM receipts WHERE run = :run ORDER BY at, generation"


def add(tx: Tx, *, custody: CustodyId, generation: int, run: RunId, body: str, remaining: int) -> StoredReceipt:
    """Keep a receipt. A later one for the same start replaces it only when fewer processes remain."""
    parameters: dict[str, object] = {
        "custody": custody,
        "generation": generation,
        "run": run,
        "at": tx.now,
        "body": storable(body),
        "remaining": remaining,
    }
    row = one(tx, StoredReceipt, ADD, parameters)
    kind = "receipt.added"
    if row is None:
        row = one(tx, StoredReceipt, IMPROVE, parameters)
        kind = "receipt.improved"
    if row is None:
        return sure(tx, StoredReceipt, GET, parameters)
    entries.note(tx, run, kind, row)
    return row


def of_run(tx: Tx, run: RunId) -> list[StoredReceipt]:
    return many(tx, StoredReceipt, OF_RUN, {"run": run})
