"""What was found in a run's tree and kept: notes, handoffs, diffs, the files' hashes, what checks said. Content and
digest are written together, once; that the same is found again adds nothing.
"""

from typing import ClassVar, Final

from store import entries
from store.canonical import digest, storable
from store.rows import Record, columns, many, one, sure, values
from store.tx import Tx
from store.vocab import EvidenceKind, Millis, RunId


class Evidence(Record, frozen=True, kw_only=True):
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


# Without the content, which may be large and is only wanted where it is the same.
NEWEST: Final = "SELECT id, sha256, note FROM evidence WHERE run = :run AND kind = :kind ORDER BY id DESC LIMIT 1"
ADD: Final = f"INSERT INTO evidence {values(Evidence, 'id')} RETURNING {columns(Evidence)}"
GET: Final = f"SELECT {columns(Evidence)} FROM evidence WHERE id = :id"
# Without the content, which may be large.
LISTING: Final = "SELECT id, kind, sha256, size, note, at FROM evidence WHERE run = :run ORDER BY id"
WEIGHT: Final = "SELECT coalesce(sum(size), 0) FROM evidence WHERE run = :run AND kind = :kind"
CHECKS: Final = "SELECT id, note, at FROM evidence WHERE run = :run AND kind = 'check' ORDER BY id"
OF_RUN: Final = f"SELECT {columns(Evidence)} FROM evidence WHERE run = :run ORDER BY id"


def add(tx: Tx, *, run: RunId, kind: EvidenceKind, content: bytes, note: str = "", again: bool = False) -> Evidence:
    """A row more, where the newest of this kind says something else: A, B, A are three, and the last is A.

    ``again``: also where it says the same. That a check was run once more is a fact by itself.
    """
    parameters: dict[str, object] = {
        "run": run,
        "kind": kind,
        "sha256": digest(content),
        "size": len(content),
        "note": storable(note),
        "content": content,
        "at": tx.now,
    }
    newest = None if again else tx.conn.execute(NEWEST, parameters).fetchone()
    if newest is not None and newest[1:] == (parameters["sha256"], parameters["note"]):
        return sure(tx, Evidence, GET, {"id": newest[0]})
    row = sure(tx, Evidence, ADD, parameters)
    entries.note(tx, run, "evidence.added", row)
    return row


def get(tx: Tx, id: int) -> Evidence | None:
    return one(tx, Evidence, GET, {"id": id})


def of_run(tx: Tx, run: RunId) -> list[Evidence]:
    return many(tx, Evidence, OF_RUN, {"run": run})


def weight(tx: Tx, run: RunId, kind: EvidenceKind) -> int:
    """Bytes of all that is kept of this kind."""
    found: int = tx.conn.execute(WEIGHT, {"run": run, "kind": kind}).fetchone()[0]
    return found


def checks(tx: Tx, run: RunId) -> list[tuple[int, str, Millis]]:
    """What checks came to, oldest first, without what they printed."""
    found: list[tuple[int, str, Millis]] = tx.conn.execute(CHECKS, {"run": run}).fetchall()
    return found


def listing(tx: Tx, run: RunId) -> list[tuple[int, EvidenceKind, str, int, str, Millis]]:
    """What there is of a run, without the content."""
    return [
        (id, EvidenceKind(kind), sha256, size, note, at)
        for id, kind, sha256, size, note, at in tx.conn.execute(LISTING, {"run": run})
    ]
