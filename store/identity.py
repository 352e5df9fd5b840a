"""Which ledger this is: one row, written when the file is made and never again."""

from typing import ClassVar, Final

from store import entries
from store.rows import Record, columns, sure, values
from store.tx import Tx
from store.vocab import Millis


class Identity(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "ledger"
    DIGESTED: ClassVar[tuple[str, ...]] = ("digest_key",)

    id: str
    machine: str
    """Where it was made. A ledger that finds itself elsewhere was restored or copied."""
    created_at: Millis
    digest_key: str


# The row.
CREATE: Final = f"INSERT INTO ledger {values(Identity)} RETURNING {columns(Identity)}"
GET: Final = f"SELECT {columns(Identity)} FROM ledger"


def create(tx: Tx, *, id: str, machine: str, digest_key: str) -> Identity:
    made = sure(tx, Identity, CREATE, {"id": id, "machine": machine, "created_at": tx.now, "digest_key": digest_key})
    entries.note(tx, entries.LEDGER_CHAIN, "ledger.created", made)
    return made


def of(tx: Tx) -> Identity:
    return sure(tx, Identity, GET, {})
