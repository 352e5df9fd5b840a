"""Dropping whole runs: which may go, and one transaction that leaves a tombstone in the place of each.

A tombstone is an entry of the ledger's own chain. It names the head that the run's chain had, so that ``verify`` can
tell what was pruned from what was lost, and a copy from before can still be held against it. The triggers of the schema
let go of no entry without one. Files (spools, evidence that is kept) are not known here.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from store import entries, imports
from store.canonical import loads
from store.custody import Custody
from store.refusal import Refusal
from store.rows import columns, many, number
from store.runs import GET, Run
from store.tx import Tx
from store.vocab import (
    Billing,
    CommandState,
    CustodyState,
    DecisionState,
    EndReason,
    Millis,
    OutcomeState,
    RefusalReason,
    RunId,
    SeriesState,
    TaskState,
)


class Kept(StrEnum):
    """Why a run that is old enough stays."""

    HELD = "held"
    ATTENTION = "attention"
    DECISION = "decision"
    COMMAND = "command"
    PINNED = "pinned"
    IMPORTING = "importing"
    """Not all of its file was read in."""
    MONTH = "month"
    """What it cost counts in the money of this month."""
    TASK = "task"
    """An attempt at a task that is not over, or that counts against terms under which another may be begun."""
    CONTINUED = "continued"
    """A run that stays goes on from it."""


class KeptFile(Struct, frozen=True, kw_only=True):
    """Evidence that was written to a file before its run went."""

    name: str
    sha256: str
    size: int


class Tombstone(Struct, frozen=True, kw_only=True):
    seq: int
    at: Millis
    run: RunId
    n: int
    """How long its chain was."""
    hash: str
    """The head of that chain."""
    first: int
    last: int
    """From which entry to which it went."""
    operator: str
    ended_at: Millis
    outcome: str
    authorization: str
    custody: tuple[str, ...]
    turns: int
    events: int
    evidence: int
    kept: tuple[KeptFile, ...]


class Weight(Struct, frozen=True, kw_only=True):
    """What goes with a run."""

    entries: int
    turns: int
    events: int
    evidence: int
    bytes: int
    """Of texts and files, without indexes."""


_LIVE: Final = ", ".join(
    f"'{state}'"
    for state in (
        DecisionState.OPEN,
        DecisionState.ANSWERED,
        DecisionState.DELIVERING,
        DecisionState.UNDELIVERED,
        DecisionState.UNCERTAIN,
    )
)
# Ended runs that are old enough, by pages.
OLD: Final = f"""
SELECT {columns(Run)} FROM runs WHERE outcome IS NOT NULL AND ended_at < :before AND id > :after
ORDER BY id LIMIT :limit
"""
WHY_KEPT: Final = f"""
SELECT '{Kept.HELD}' WHERE EXISTS (SELECT 1 FROM runs WHERE id = :run AND outcome IS NULL)
  OR EXISTS (SELECT 1 FROM custody WHERE run = :run AND state <> '{CustodyState.CLOSED}')
  OR EXISTS (SELECT 1 FROM stops WHERE run = :run AND state <> 'settled')
UNION ALL SELECT '{Kept.ATTENTION}' WHERE EXISTS (
  SELECT 1 FROM attention WHERE coalesce(run, 0) = :run AND cleared_at IS NULL)
UNION ALL SELECT '{Kept.DECISION}' WHERE EXISTS (SELECT 1 FROM decisions WHERE run = :run AND state IN ({_LIVE}))
UNION ALL SELECT '{Kept.COMMAND}' WHERE EXISTS (
  SELECT 1 FROM commands WHERE run = :run AND state IN ('{CommandState.ASKED}', '{CommandState.TAKEN}'))
UNION ALL SELECT '{Kept.PINNED}' WHERE EXISTS (SELECT 1 FROM runs WHERE id = :run AND pinned)
UNION ALL SELECT '{Kept.IMPORTING}' WHERE EXISTS (
  SELECT 1 FROM import_reading JOIN imports ON imports.id = import_reading.import WHERE imports.run = :run)
UNION ALL SELECT '{Kept.MONTH}' WHERE EXISTS (
  SELECT 1 FROM runs JOIN turns ON turns.run = runs.id
  WHERE runs.id = :run AND runs.billing = '{Billing.KEY}' AND runs.reason IS NOT '{EndReason.IMPORTED}'
    AND turns.cost > 0 AND turns.ended_at >= :month)
UNION ALL SELECT '{Kept.TASK}' WHERE EXISTS (
  SELECT 1 FROM attempts JOIN tasks ON tasks.id = attempts.task WHERE run = :run
    AND (tasks.state IN ('{TaskState.QUEUED}', '{TaskState.WORKING}', '{TaskState.NEEDS_OPERATOR}')
      OR EXISTS (SELECT 1 FROM series WHERE series.id = attempts.series AND series.state = '{SeriesState.OPEN}'
        AND expires_at > :now)))
  OR EXISTS (SELECT 1 FROM outcomes WHERE run = :run AND state <> '{OutcomeState.ACKNOWLEDGED}')
"""
GOES_ON_FROM: Final = "SELECT id, continues FROM runs WHERE continues IS NOT NULL"
FOLLOWERS: Final = "SELECT count(*) FROM runs WHERE continues = :run"
# What a run takes, noun by noun.
WEIGHTS: Final[dict[str, str]] = {
    "entries": "SELECT count(*), sum(length(body)) FROM entries WHERE run = :run",
    "turns": "SELECT count(*), sum(length(text) + length(preamble)) FROM turns WHERE run = :run",
    "events": "SELECT count(*), sum(length(body)) FROM events WHERE run = :run",
    "evidence": "SELECT count(*), sum(length(content)) FROM evidence WHERE run = :run",
    "attachments": "SELECT count(*), sum(length(content)) FROM attachments WHERE run = :run",
    "decisions": "SELECT count(*), sum(length(payload)) FROM decisions WHERE run = :run",
}
TOMBSTONES: Final = (
    f"SELECT {columns(entries.Entry)} FROM entries WHERE run = 0 AND kind = '{entries.PRUNED}' ORDER BY n"
)
HOLDS: Final = f"SELECT {columns(Custody)} FROM custody WHERE run = :run ORDER BY created_at, id"
ENDS: Final = "SELECT min(seq), max(seq) FROM entries WHERE run = :run"
# Row ids of what can be searched.
FOUND: Final = "DELETE FROM search WHERE rowid BETWEEN :first AND :last"
SEARCHED: Final = "SELECT first, last FROM searched WHERE run = :run"
FORGET: Final[tuple[str, ...]] = (
    "DELETE FROM searched WHERE run = :run",
    "DELETE FROM run_tools WHERE run = :run",
    "DELETE FROM attachments WHERE run = :run",
    "DELETE FROM evidence WHERE run = :run",
    "DELETE FROM receipts WHERE run = :run",
    "DELETE FROM stops WHERE run = :run",
    "DELETE FROM control_writes WHERE run = :run",
    "DELETE FROM decisions WHERE run = :run",
    "DELETE FROM attention WHERE run = :run",
    "DELETE FROM commands WHERE run = :run",
    "DELETE FROM queued_turns WHERE run = :run",
    "DELETE FROM events WHERE run = :run",
    "DELETE FROM turns WHERE run = :run",
    "DELETE FROM outcomes WHERE run = :run",
    "DELETE FROM attempts WHERE run = :run",
    "DELETE FROM drafts WHERE key = 'run:' || :run",
    "DELETE FROM entries WHERE run = :run",
    "DELETE FROM custody WHERE run = :run",
    "DELETE FROM runs WHERE id = :run",
    "DELETE FROM amendments WHERE authorization_id = :authorization",
    "DELETE FROM authorizations WHERE id = :authorization",
)
"""In the order in which nothing names what is gone. Imports stay, so that what was dropped is not read in again, and
tasks, of which runs are only the attempts."""
# The index of the texts, made anew bit by bit: what was deleted only leaves it then.
MERGE: Final = "INSERT INTO search (search, rank) VALUES ('merge', :pages)"


def tombstones(tx: Tx) -> Iterator[Tombstone]:
    """What was pruned, the first first. One that cannot be read is left out: its entry is not as it was."""
    for entry in many(tx, entries.Entry, TOMBSTONES, {}):
        try:
            stone = _read(entry)
            span = (stone.run, stone.n, stone.first, stone.last)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        if all(isinstance(one, int) and one > 0 for one in span):
            yield stone


def _read(entry: entries.Entry) -> Tombstone:
    body: dict[str, Any] = loads(entry.body)
    kept = tuple(KeptFile(**one) for one in body.pop("kept"))
    return Tombstone(seq=entry.seq, at=entry.at, kept=kept, custody=tuple(body.pop("custody")), **body)


def covering(tx: Tx, seq: int) -> Tombstone | None:
    """The pruned run of which an entry that is gone was; None: there is such an entry, or no prune explains it."""
    if entries.at_seq(tx, seq) is not None:
        return None
    return next((one for one in tombstones(tx) if one.first <= seq <= one.last), None)


def old(tx: Tx, before: Millis) -> Iterator[Run]:
    """Ended runs that ended before then."""
    after = 0
    while page := many(tx, Run, OLD, {"before": before, "after": after, "limit": 500}):
        yield from page
        after = page[-1].id


def plan(tx: Tx, before: Millis, *, month_began: Millis) -> tuple[list[Run], list[tuple[Run, Kept]]]:
    """Those that would go, in an order in which they can, and those that stay with the reason."""
    going: dict[RunId, Run] = {}
    kept: list[tuple[Run, Kept]] = []
    for run in old(tx, before):
        reason = why_kept(tx, run.id, month_began=month_began)
        if reason is None:
            going[run.id] = run
        else:
            kept.append((run, reason))
    followers: dict[RunId, set[RunId]] = {}
    for id, before_it in tx.conn.execute(GOES_ON_FROM):
        followers.setdefault(before_it, set()).add(id)
    # What stays holds what it goes on from, and that what it goes on from itself.
    while held := [run for run in going.values() if not followers.get(run.id, set()) <= going.keys()]:
        for run in held:
            kept.append((going.pop(run.id), Kept.CONTINUED))
    ordered: list[Run] = []
    gone: set[RunId] = set()
    while going:
        ready = [run for run in going.values() if followers.get(run.id, set()) <= gone]
        if not ready:
            # They go on from each other: no program of ours writes that, and nothing of it is taken apart.
            kept += [(run, Kept.CONTINUED) for run in going.values()]
            break
        for run in ready:
            gone.add(run.id)
            ordered.append(going.pop(run.id))
    return ordered, sorted(kept, key=lambda one: one[0].id)


def why_kept(tx: Tx, run: RunId, *, month_began: Millis) -> Kept | None:
    row = tx.conn.execute(WHY_KEPT, {"run": run, "month": month_began, "now": tx.now}).fetchone()
    return None if row is None else Kept(row[0])


def weigh(tx: Tx, run: RunId) -> Weight:
    found = {name: tx.conn.execute(text, {"run": run}).fetchone() for name, text in WEIGHTS.items()}
    return Weight(
        entries=found["entries"][0],
        turns=found["turns"][0],
        events=found["events"][0],
        evidence=found["evidence"][0],
        bytes=sum(int(size or 0) for _, size in found.values()),
    )


def holds_of(tx: Tx, run: RunId) -> list[Custody]:
    return many(tx, Custody, HOLDS, {"run": run})


def prune(
    tx: Tx, id: RunId, *, operator: str, month_began: Millis, kept: Sequence[KeptFile] = ()
) -> Tombstone | Refusal:
    """Drop one run, after all has been looked at once more in this transaction. ``kept``: files with its evidence."""
    found = many(tx, Run, GET, {"id": id})
    if not found:
        return Refusal(RefusalReason.NO_SUCH_RUN, {"run": id})
    run = found[0]
    reason = why_kept(tx, id, month_began=month_began)
    if reason is None and number(tx, FOLLOWERS, {"run": id}):
        reason = Kept.CONTINUED
    if reason is not None:
        return Refusal(RefusalReason.IN_FLIGHT, {"run": id, "kept": reason.value})
    weight = weigh(tx, id)
    n, hash = entries.head(tx, id)
    first, last = tx.conn.execute(ENDS, {"run": id}).fetchone()
    body = {
        "run": id,
        "n": n,
        "hash": hash,
        "first": first,
        "last": last,
        "operator": operator,
        "ended_at": run.ended_at,
        "outcome": run.outcome,
        "authorization": run.authorization_id,
        "custody": [one.id for one in holds_of(tx, id)],
        "turns": weight.turns,
        "events": weight.events,
        "evidence": weight.evidence,
        "kept": [asdict(one) for one in kept],
    }
    for row in imports.of_run(tx, id):
        # Its entries are of the run's chain; the row stays, so its facts are told anew.
        entries.note(tx, entries.LEDGER_CHAIN, "import.kept", row)
    stone = entries.append(tx, entries.LEDGER_CHAIN, entries.PRUNED, body)
    ranges = tx.conn.execute(SEARCHED, {"run": id}).fetchall()
    tx.conn.executemany(FOUND, [{"first": first, "last": last} for first, last in ranges])
    for statement in FORGET:
        tx.conn.execute(statement, {"run": id, "authorization": run.authorization_id})
    return _read(stone)


def forget_texts(tx: Tx, *, first: bool) -> bool:
    """A part of the work that takes pruned texts out of the search index; whether more is to be done."""
    before = tx.conn.total_changes
    tx.conn.execute(MERGE, {"pages": -500 if first else 500})
    return tx.conn.total_changes - before >= 2
