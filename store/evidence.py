"""What was found in a run's tree and kept: notes, handoffs, diffs. Content and digest are written together, once."""

from dataclasses import dataclass
from typing import ClassVar, Final

from store import entries
from store.canonical import digest, storable
from store.rows import Record, columns, many, one, sure, values
from store.tx import Tx
from store.vocab import EvidenceKind, Millis, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Record):
    TABLE: ClassVar[str] = "evidence"
    DIGESTED: ClassVar[tuple[str, ...]] = ("content",)

    id: int
    run: RunId
    kind: EvidenceKind
    sha256: str
    size: int
    note: str
    content: bytes
    at: Millis


# The same file found again is the same evidence.
FOUND_BEFORE: Final = f"""
SELECT {columns(Evidence)} FROM evidence WHERE run = :run AND kind = :kind AND sha256 = :sha256 ORDER BY id LIMIT 1
"""
ADD: Final = f"INSERT INTO evidence {values(Evidence, 'id')} RETURNING {columns(Evidence)}"
GET: Final = f"SELECT {columns(Evidence)} FROM evidence WHERE id = :id"
# Without the content, which may be large.
LISTING: Final = "SELECT id, kind, sha256, size, note, at FROM evidence WHERE run = :run ORDER BY id"
OF_RUN: Final = f"SELECT {columns(Evidence)} FROM evidence WHERE run = :run ORDER BY id"


def add(tx: Tx, *, run: RunId, kind: EvidenceKind, content: bytes, note: str = "") -> Evidence:
    parameters: dict[str, object] = {
        "run": run,
        "kind": kind,
        "sha256": digest(content),
        "size": len(content),
        "note": storable(note),
        "content": content,
        "at": tx.now,
    }
    before = one(tx, Evidence, FOUND_BEFORE, parameters)
    if before is not None:
        return before
    row = sure(tx, Evidence, ADD, parameters)
    entries.note(tx, run, "evidence.added", row)
    return row


def get(tx: Tx, id: int) -> Evidence | None:
    return one(tx, Evidence, GET, {"id": id})


def of_run(tx: Tx, run: RunId) -> list[Evidence]:
    return many(tx, Evidence, OF_RUN, {"run": run})


def listing(tx: Tx, run: RunId) -> list[tuple[int, EvidenceKind, str, int, str, Millis]]:
    """What there is of a run, without the content."""
    return [
        (id, EvidenceKind(kind), sha256, size, note, at)
        for id, kind, sha256, size, note, at in tx.conn.execute(LISTING, {"run": run})
    ]
