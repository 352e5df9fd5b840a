"""Lives of consoles. Whether one is *gone* is a question to its lock and to the boot id, not to this table."""

from typing import ClassVar, Final

from store import entries
from store.rows import Record, columns, many, one, sure, values
from store.tx import Tx
from store.vocab import IncarnationId, Millis


class Incarnation(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "incarnations"

    id: IncarnationId
    boot_id: str
    pid: int
    start_ticks: int
    machine: str
    uid: int
    lock_path: str
    """Held by ``flock`` while it lives."""
    socket_path: str
    """Poked when a command waits."""
    operator: str
    started_at: Millis
    ended_at: Millis | None


# A console starts.
REGISTER: Final = f"INSERT INTO incarnations {values(Incarnation)} RETURNING {columns(Incarnation)}"
# It ends by itself, once.
END: Final = (
    f"UPDATE incarnations SET ended_at = :now WHERE id = :id AND ended_at IS NULL RETURNING {columns(Incarnation)}"
)
GET: Final = f"SELECT {columns(Incarnation)} FROM incarnations WHERE id = :id"
# Those that live, or died without a word.
NOT_ENDED: Final = f"SELECT {columns(Incarnation)} FROM incarnations WHERE ended_at IS NULL ORDER BY started_at, id"

# When a person was last known to be at a console: the newest end of one, or what was in view for a second since. One
# that died says nothing of its end; it was begun, and looked at.
LAST_HERE: Final = """
SELECT max(at) FROM (
  SELECT max(coalesce(ended_at, started_at)) AS at FROM incarnations WHERE id <> :but
  UNION ALL SELECT max(seen_at) FROM runs WHERE EXISTS (SELECT 1 FROM incarnations WHERE id <> :but)
)
"""


def register(
    tx: Tx,
    *,
    id: IncarnationId,
    boot_id: str,
    pid: int,
    start_ticks: int,
    machine: str,
    uid: int,
    lock_path: str,
    socket_path: str,
    operator: str,
) -> Incarnation:
    row = sure(
        tx,
        Incarnation,
        REGISTER,
        {
            "id": id,
            "boot_id": boot_id,
            "pid": pid,
            "start_ticks": start_ticks,
            "machine": machine,
            "uid": uid,
            "lock_path": lock_path,
            "socket_path": socket_path,
            "operator": operator,
            "started_at": tx.now,
            "ended_at": None,
        },
    )
    entries.note(tx, entries.LEDGER_CHAIN, "incarnation.registered", row)
    return row


def end(tx: Tx, id: IncarnationId) -> Incarnation | None:
    row = one(tx, Incarnation, END, {"id": id, "now": tx.now})
    if row is not None:
        entries.note(tx, entries.LEDGER_CHAIN, "incarnation.ended", row, "ended_at")
    return row


def get(tx: Tx, id: IncarnationId) -> Incarnation | None:
    return one(tx, Incarnation, GET, {"id": id})


def last_here(tx: Tx, *, but: IncarnationId) -> Millis | None:
    """When somebody was last at a console, this one not counted; None: there was no other."""
    row = tx.conn.execute(LAST_HERE, {"but": but}).fetchone()
    return None if row is None or not row[0] else Millis(int(row[0]))


def not_ended(tx: Tx) -> list[Incarnation]:
    return many(tx, Incarnation, NOT_ENDED, {})
