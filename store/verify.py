"""Recomputing the ledger: every chain, every row that the entries tell of, and the hashes of events and evidence.

Names the first difference and stops there: after one the rest is no evidence of anything. A chain that a forger has
recomputed as a whole, and a tail that is lost, show only against a head noted elsewhere (``noted``).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from store import events
from store.attachments import Attachment
from store.attention import AttentionItem
from store.authorizations import Amendment, Authorization
from store.canonical import digest, loads
from store.commands import Command
from store.control_writes import ControlWrite
from store.custody import Custody
from store.decisions import Decision
from store.entries import LEDGER_CHAIN, Entry, facts_of, hash_of
from store.evidence import Evidence
from store.identity import Identity
from store.imports import Import
from store.incarnations import Incarnation
from store.queued import QueuedTurn
from store.receipts import StoredReceipt
from store.rows import Record, columns, from_row, names
from store.runs import Run
from store.settings import Setting
from store.stops import Stop
from store.turns import Turn
from store.tx import Tx
from store.vocab import RunId, TurnId

NOUNS: Final[dict[str, type[Record]]] = {
    "ledger": Identity,
    "incarnation": Incarnation,
    "setting": Setting,
    "authorization": Authorization,
    "amendment": Amendment,
    "run": Run,
    "custody": Custody,
    "turn": Turn,
    "queued": QueuedTurn,
    "decision": Decision,
    "control": ControlWrite,
    "stop": Stop,
    "receipt": StoredReceipt,
    "evidence": Evidence,
    "attachment": Attachment,
    "attention": AttentionItem,
    "command": Command,
    "import": Import,
}
"""What stands before the dot of an entry's kind, and the table that it tells of."""

# Everything, in the order in which it was written.
ALL_ENTRIES: Final = f"SELECT {columns(Entry)} FROM entries ORDER BY seq"
# All rows of each table that the entries tell of.
ALL_ROWS: Final[dict[str, str]] = {noun: f"SELECT {columns(row)} FROM {row.TABLE}" for noun, row in NOUNS.items()}

Key = tuple[object, ...]
Facts = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    where: str
    """``entry 17 (run 3, n 5)``, ``turn 4f0c…``."""
    what: str
    """What differs, by name: ``hash``, ``state``, ``events`` …"""
    expected: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A head that was written down outside the ledger."""

    seq: int
    hash: str


def verify(tx: Tx, noted: Noted | None = None, *, excerpt: bool = False) -> Difference | None:
    """The first difference between what the ledger says and what can be computed, or None.

    ``excerpt``: the chains of some runs only, whole, and single entries of the ledger's own (``store.excerpt``). Those
    hang together with nothing there, and the key of the digests is not told; all else holds for a part as well.
    """
    every = [from_row(Entry, row) for row in tx.conn.execute(ALL_ENTRIES)]
    if noted is not None:
        found = every[noted.seq - 1].hash if 0 < noted.seq <= len(every) else "no such entry"
        if found != noted.hash:
            return Difference(where=f"entry {noted.seq}", what="noted head", expected=noted.hash, found=found)
    for check in (_chains(every, excerpt), _rows(tx, every, excerpt), _events(tx, every)):
        difference = next(check, None)
        if difference is not None:
            return difference
    return None


def _chains(every: list[Entry], excerpt: bool) -> Iterator[Difference]:
    heads: dict[int, tuple[int, str]] = {}
    for place, entry in enumerate(every, 1):
        n, prev = heads.get(entry.run, (0, ""))
        where = f"entry {entry.seq} (run {entry.run}, n {entry.n})"
        hash = hash_of(
            prev=entry.prev, seq=entry.seq, run=entry.run, n=entry.n, at=entry.at, kind=entry.kind, body=entry.body
        )
        for what, expected, found in (
            ("seq", place, entry.seq),
            ("n", n + 1, entry.n),
            ("prev", prev, entry.prev),
            ("hash", hash, entry.hash),
        ):
            if excerpt and (what == "seq" or (entry.run == LEDGER_CHAIN and what != "hash")):
                continue
            if expected != found:
                yield Difference(where=where, what=what, expected=str(expected), found=str(found))
        heads[entry.run] = (entry.n, entry.hash)
        if entry.kind == "run-head":
            yield from _run_head(entry, where, heads)


def _run_head(entry: Entry, where: str, heads: dict[int, tuple[int, str]]) -> Iterator[Difference]:
    body = loads(entry.body)
    n, hash = heads.get(body["run"], (0, ""))
    if (n, hash) != (body["n"], body["hash"]):
        yield Difference(where=where, what="run head", expected=f"{body['n']} {body['hash']}", found=f"{n} {hash}")


def _rows(tx: Tx, every: list[Entry], excerpt: bool) -> Iterator[Difference]:
    """Every table is what its entries, laid one over the other, make of it."""
    told: dict[str, dict[Key, Facts]] = {noun: {} for noun in NOUNS}
    for entry in every:
        noun = entry.kind.partition(".")[0]
        if noun in NOUNS:
            body = loads(entry.body)
            key = tuple(body[name] for name in NOUNS[noun].KEY)
            told[noun].setdefault(key, {}).update(body)
    for noun, kind in NOUNS.items():
        tracked = tuple(name for name in names(kind) if name not in kind.UNTRACKED)
        unseen = dict(told[noun])
        for cells in tx.conn.execute(ALL_ROWS[noun]):
            row = from_row(kind, cells)
            key = tuple(getattr(row, name) for name in kind.KEY)
            where = " ".join((noun, *map(str, key)))
            expected = unseen.pop(key, None)
            if expected is None:
                yield Difference(where=where, what="row", expected="none", found="one that no entry tells of")
                continue
            for name, value in facts_of(row, tracked).items():
                if excerpt and name == "digest_key_sha256":
                    continue
                if expected.get(name) != value:
                    yield Difference(where=where, what=name, expected=str(expected.get(name)), found=str(value))
        for key in unseen:
            yield Difference(where=" ".join((noun, *map(str, key))), what="row", expected="one", found="none")


def _events(tx: Tx, every: list[Entry]) -> Iterator[Difference]:
    """Events against the hashes that ended turns and runs carry; evidence against its own digest."""
    for entry in every:
        body: Facts = loads(entry.body)
        if "events_through" in body:
            turn, through = TurnId(str(body["id"])), int(str(body["events_through"]))
            seen = events.digest_of_turn(tx, turn, through=through)
            where, expected, count = f"turn {turn}", body["events_hash"], body["events_count"]
        elif "loose_through" in body:
            run, through = RunId(int(str(body["id"]))), int(str(body["loose_through"]))
            seen = events.digest_of_loose(tx, run, through=through)
            where, expected, count = f"run {run}", body["loose_hash"], body["loose_count"]
        else:
            continue
        if seen.events_hash != expected:
            found = f"{seen.events_hash} ({seen.events_count} events)"
            yield Difference(where=where, what="events", expected=f"{expected} ({count} events)", found=found)
    for cells in tx.conn.execute(ALL_ROWS["evidence"]):
        row = from_row(Evidence, cells)
        if digest(row.content) != row.sha256:
            yield Difference(where=f"evidence {row.id}", what="sha256", expected=row.sha256, found=digest(row.content))
