"""Files of agents that were read into the ledger: which, how far, and what became of each.

A file is known by what it says it is (``identity``), not by where it lies: a folder that was moved, or read in twice,
makes no second run. How a file is read, and what its identity is made of, is not known here.
"""

from typing import ClassVar, Final, Literal

from store import entries
from store.canonical import storable
from store.rows import Record, columns, many, one, sure, values
from store.tx import Tx
from store.vocab import Millis, RunId


class Import(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "imports"

    id: int
    agent: str
    """Whose files these are: ``claude``, ``codex``."""
    identity: str
    path: str
    """Where it lay when last looked at."""
    run: RunId | None
    """What it was made into; None where nothing in it made a run. The run may have been pruned since."""
    size: int
    mtime: int
    """In nanoseconds. With size and path: nothing to read where none of them changed."""
    digest: str
    """SHA-256 of the bytes read so far, in hexadecimal: a file that was rewritten shows."""
    read_to: int
    """How many bytes were read: where to go on."""
    at: Millis


# A file is seen for the first time.
RECORD: Final = f"INSERT INTO imports {values(Import, 'id')} RETURNING {columns(Import)}"
BY_IDENTITY: Final = f"SELECT {columns(Import)} FROM imports WHERE identity = :identity"
# The newest that lay there.
BY_PATH: Final = f"SELECT {columns(Import)} FROM imports WHERE path = :path ORDER BY id DESC LIMIT 1"
OF_RUN: Final = f"SELECT {columns(Import)} FROM imports WHERE run = :run ORDER BY id"
# More of it was read. It never goes back: what is in the ledger stays there.
PROGRESS: Final = f"""
UPDATE imports SET path = :path, run = coalesce(run, :run), size = :size, mtime = :mtime, digest = :digest,
  read_to = :read_to, at = :now
WHERE id = :id AND read_to <= :read_to RETURNING {columns(Import)}
"""


def _chain(tx: Tx, row: Import) -> RunId | Literal[0]:
    return entries.LEDGER_CHAIN if row.run is None or entries.is_pruned(tx, row.run) else row.run


def record(
    tx: Tx,
    *,
    agent: str,
    identity: str,
    path: str,
    run: RunId | None,
    size: int,
    mtime: int,
    digest: str,
    read_to: int,
) -> Import:
    """Note a file with what was read of it, in the transaction that writes what was read.

    Raises:
        sqlite3.IntegrityError: this identity is known. The transaction must not be committed.
    """
    given = {"agent": agent, "identity": storable(identity), "path": storable(path), "run": run}
    read = {"size": size, "mtime": mtime, "digest": digest, "read_to": read_to, "at": tx.now}
    row = sure(tx, Import, RECORD, given | read)
    entries.note(tx, _chain(tx, row), "import.recorded", row)
    return row


def find(tx: Tx, identity: str) -> Import | None:
    return one(tx, Import, BY_IDENTITY, {"identity": storable(identity)})


def at_path(tx: Tx, path: str) -> Import | None:
    """What lay there when last looked at: it need not be opened again if size and time are the same."""
    return one(tx, Import, BY_PATH, {"path": storable(path)})


def of_run(tx: Tx, run: RunId) -> list[Import]:
    """A run may have been made of several files: the agent's helpers write their own."""
    return many(tx, Import, OF_RUN, {"run": run})


def progress(
    tx: Tx, *, id: int, path: str, size: int, mtime: int, digest: str, read_to: int, run: RunId | None = None
) -> Import | None:
    """More of a file was read, or it was found elsewhere. None: somebody has read further meanwhile."""
    given = {"id": id, "path": storable(path), "run": run, "now": tx.now}
    read = {"size": size, "mtime": mtime, "digest": digest, "read_to": read_to}
    row = one(tx, Import, PROGRESS, given | read)
    if row is not None:
        entries.note(tx, _chain(tx, row), "import.read", row, "path", "run", "size", "mtime", "digest", "read_to", "at")
    return row
