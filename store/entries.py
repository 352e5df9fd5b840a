"""The append-only facts: one hash chain for each run, and chain 0 for the ledger itself.

Every state change of every noun comes through ``note`` in its own transaction. Nothing reads a state from here to
decide with: that is what the other tables are for; ``verify`` holds the two together.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from store.canonical import digest, dumps
from store.rows import Record, columns, many, names, one, values
from store.tx import Tx
from store.vocab import Millis, RunId

LEDGER_CHAIN: Final = 0
"""The ledger's own chain: settings, incarnations, and the head of every run that ended."""
PRUNED: Final = "pruned"
"""Kind of the entry in that chain that stands in the place of a run that was dropped (``store.pruning``)."""


class Entry(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "entries"
    KEY: ClassVar[tuple[str, ...]] = ("seq",)

    seq: int
    run: int
    n: int
    at: Millis
    kind: str
    body: str
    prev: str
    hash: str


# Where the chain and the ledger stand.
HEAD: Final = "SELECT n, hash FROM entries WHERE run = :run ORDER BY n DESC LIMIT 1"
LAST_SEQ: Final = "SELECT seq FROM entries ORDER BY seq DESC LIMIT 1"
# One fact more.
APPEND: Final = f"INSERT INTO entries {values(Entry)}"
# A whole chain, in order.
CHAIN: Final = f"SELECT {columns(Entry)} FROM entries WHERE run = :run ORDER BY n"
# What was added to it since it was so long.
SINCE: Final = f"SELECT {columns(Entry)} FROM entries WHERE run = :run AND n > :n ORDER BY n"
BEGINNING: Final = f"SELECT {columns(Entry)} FROM entries WHERE run = :run AND kind GLOB :kinds ORDER BY n"
# The newest entry of all: what a mark beside the ledger notes.
NEWEST: Final = f"SELECT {columns(Entry)} FROM entries ORDER BY seq DESC LIMIT 1"
# Whether a tombstone stands in a run's place. Spelled as the index is.
IS_PRUNED: Final = f"""
SELECT 1 FROM entries WHERE run = 0 AND kind = '{PRUNED}'
  AND CASE WHEN json_valid(body) THEN json_extract(body, '$.run') END = :run
"""
# The entry at a place that was noted elsewhere.
AT_SEQ: Final = f"SELECT {columns(Entry)} FROM entries WHERE seq = :seq"


def hash_of(*, prev: str, seq: int, run: int, n: int, at: int, kind: str, body: str) -> str:
    """Over everything that the row says, so that no column of it can change unseen."""
    return digest(dumps([prev, seq, run, n, at, kind, body]))


def append(tx: Tx, run: RunId | Literal[0], kind: str, body: Mapping[str, object]) -> Entry:
    """Add a fact to a chain. The caller's transaction is a writing one, so nobody can come between head and insert."""
    n, prev = head(tx, run)
    last = tx.conn.execute(LAST_SEQ).fetchone()
    seq = 1 if last is None else int(last[0]) + 1
    text = dumps(body)
    entry = Entry(
        seq=seq,
        run=run,
        n=n + 1,
        at=tx.now,
        kind=kind,
        body=text,
        prev=prev,
        hash=hash_of(prev=prev, seq=seq, run=run, n=n + 1, at=tx.now, kind=kind, body=text),
    )
    tx.conn.execute(APPEND, {name: getattr(entry, name) for name in names(Entry)})
    return entry


def note(tx: Tx, run: RunId | Literal[0], kind: str, row: Record, *changed: str, **more: object) -> Entry:
    """Append what a row became: its key, and the columns that changed (all tracked ones for a new row)."""
    which = changed or tuple(name for name in names(type(row)) if name not in type(row).UNTRACKED)
    return append(tx, run, kind, facts_of(row, which) | more)


def facts_of(row: Record, which: tuple[str, ...]) -> dict[str, object]:
    """The named columns of a row as an entry spells them; large ones as their digest."""
    kind = type(row)
    facts: dict[str, object] = {}
    for name in dict.fromkeys((*kind.KEY, *which)):
        value = getattr(row, name)
        if name in kind.DIGESTED:
            facts[f"{name}_sha256"] = None if value is None else digest(value)
        else:
            facts[name] = value
    return facts


def head(tx: Tx, run: RunId | Literal[0]) -> tuple[int, str]:
    """Length and last hash of a chain; ``(0, '')`` for one without entries."""
    row = tx.conn.execute(HEAD, {"run": run}).fetchone()
    return (0, "") if row is None else (int(row[0]), str(row[1]))


def entries_of(tx: Tx, run: RunId | Literal[0]) -> list[Entry]:
    return many(tx, Entry, CHAIN, {"run": run})


def since(tx: Tx, run: RunId | Literal[0], n: int) -> list[Entry]:
    """What was added to a chain since it was ``n`` long, in order."""
    return many(tx, Entry, SINCE, {"run": run, "n": n})


def beginning(tx: Tx, run: RunId, kinds: str) -> list[Entry]:
    """Those of a chain whose kind begins so."""
    return many(tx, Entry, BEGINNING, {"run": run, "kinds": f"{kinds}*"})


def newest(tx: Tx) -> Entry | None:
    """For ``ledger.mark``: sequence and hash noted elsewhere show a lost tail or a forged chain."""
    return one(tx, Entry, NEWEST, {})


def newest_seq(tx: Tx) -> int:
    """By which a reader sees that anything at all has happened."""
    row = tx.conn.execute(LAST_SEQ).fetchone()
    return 0 if row is None else int(row[0])


def at_seq(tx: Tx, seq: int) -> Entry | None:
    return one(tx, Entry, AT_SEQ, {"seq": seq})


def is_pruned(tx: Tx, run: RunId) -> bool:
    """Whether it was dropped: nothing more is told of it in a chain of its own."""
    return tx.conn.execute(IS_PRUNED, {"run": run}).fetchone() is not None
