"""Runs: from admission to exactly one outcome."""

from typing import ClassVar, Final

from store import entries, events
from store.canonical import storable
from store.rows import Record, columns, many, number, one, sure, values
from store.tx import Tx
from store.vocab import AuthorizationId, Billing, IncarnationId, Millis, RunId, RunOutcome


class Run(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "runs"
    UNTRACKED: ClassVar[tuple[str, ...]] = ("events", "seen_at", "pinned")

    id: RunId
    title: str
    agent: str
    driver: str
    billing: Billing
    repository: str
    tree: str
    """Where the agent works; equal to ``repository`` when in place."""
    head: str
    """Commit at the start; '' until the tree is prepared."""
    branch: str
    authorization_id: AuthorizationId
    incarnation: IncarnationId
    operator: str
    step: str
    """How far the launch came: admitted, prepared, proven, spawned, live."""
    created_at: Millis
    ended_at: Millis | None
    outcome: RunOutcome | None
    reason: str | None
    detail: str
    native_id: str | None
    model: str | None
    mode: str | None
    pinned: bool
    seen_at: Millis
    continues: RunId | None
    events: int


# Admission.
ADMIT: Final = f"INSERT INTO runs {values(Run, 'id')} RETURNING {columns(Run)}"
GET: Final = f"SELECT {columns(Run)} FROM runs WHERE id = :id"
# Newest first, by keyset.
LISTING: Final = f"SELECT {columns(Run)} FROM runs WHERE id < :before ORDER BY id DESC LIMIT :limit"
LISTING_LIVE: Final = (
    f"SELECT {columns(Run)} FROM runs WHERE outcome IS NULL AND id < :before ORDER BY id DESC LIMIT :limit"
)
LISTING_OF_REPOSITORY: Final = f"""
SELECT {columns(Run)} FROM runs WHERE repository = :repository AND id < :before AND (outcome IS NULL OR NOT :live_only)
ORDER BY id DESC LIMIT :limit
"""
# The launch goes on. An ended run takes no step.
SET_STEP: Final = f"""
UPDATE runs SET step = :step, tree = coalesce(:tree, tree), head = coalesce(:head, head),
  branch = coalesce(:branch, branch)
WHERE id = :id AND outcome IS NULL RETURNING {columns(Run)}
"""
# Exactly one outcome.
END: Final = f"""
UPDATE runs SET outcome = :outcome, reason = :reason, detail = :detail, ended_at = :now
WHERE id = :id AND outcome IS NULL RETURNING {columns(Run)}
"""
# What the agent told about itself.
LEARN: Final = f"""
UPDATE runs SET native_id = coalesce(:native_id, native_id), model = coalesce(:model, model),
  mode = coalesce(:mode, mode)
WHERE id = :id RETURNING {columns(Run)}
"""
RENAME: Final = f"UPDATE runs SET title = :title WHERE id = :id RETURNING {columns(Run)}"
# What the screen keeps of a run: no facts of it, so no entries.
PIN: Final = f"UPDATE runs SET pinned = :pinned WHERE id = :id RETURNING {columns(Run)}"
SEEN: Final = f"UPDATE runs SET seen_at = max(seen_at, :at) WHERE id = :id RETURNING {columns(Run)}"
LIVE_COUNT: Final = "SELECT count(*) FROM runs WHERE outcome IS NULL"
LINE: Final = """WITH RECURSIVE line(id) AS (
  VALUES (:run) UNION SELECT continues FROM runs JOIN line ON runs.id = line.id WHERE continues IS NOT NULL
) SELECT id FROM line"""
"""A run and all that it goes on from, one after the other. Also as a part of other statements."""


def admit(
    tx: Tx,
    *,
    title: str,
    agent: str,
    driver: str,
    billing: Billing,
    repository: str,
    tree: str,
    branch: str,
    authorization_id: AuthorizationId,
    incarnation: IncarnationId,
    operator: str,
    continues: RunId | None = None,
) -> Run:
    row = sure(
        tx,
        Run,
        ADMIT,
        {
            "title": storable(title),
            "agent": agent,
            "driver": driver,
            "billing": billing,
            "repository": repository,
            "tree": tree,
            "head": "",
            "branch": branch,
            "authorization_id": authorization_id,
            "incarnation": incarnation,
            "operator": operator,
            "step": "admitted",
            "created_at": tx.now,
            "ended_at": None,
            "outcome": None,
            "reason": None,
            "detail": "",
            "native_id": None,
            "model": None,
            "mode": None,
            "pinned": False,
            "seen_at": 0,
            "continues": continues,
            "events": 0,
        },
    )
    entries.note(tx, row.id, "run.admitted", row)
    return row


def get(tx: Tx, id: RunId) -> Run | None:
    return one(tx, Run, GET, {"id": id})


def listing(
    tx: Tx, *, repository: str | None = None, live_only: bool = False, limit: int = 200, before: RunId | None = None
) -> list[Run]:
    parameters: dict[str, object] = {"limit": limit, "before": events.NEWEST_ID if before is None else before}
    if repository is not None:
        return many(tx, Run, LISTING_OF_REPOSITORY, parameters | {"repository": repository, "live_only": live_only})
    return many(tx, Run, LISTING_LIVE if live_only else LISTING, parameters)


def set_step(
    tx: Tx, *, id: RunId, step: str, tree: str | None = None, head: str | None = None, branch: str | None = None
) -> Run | None:
    row = one(tx, Run, SET_STEP, {"id": id, "step": step, "tree": tree, "head": head, "branch": branch})
    if row is not None:
        entries.note(tx, id, f"run.{step}", row, "step", "tree", "head", "branch")
    return row


def end(tx: Tx, *, id: RunId, outcome: RunOutcome, reason: str, detail: str = "") -> Run | None:
    """Give the run its one outcome. The head of its chain goes into the ledger's own, which ties all together."""
    parameters = {"id": id, "outcome": outcome, "reason": reason, "detail": storable(detail), "now": tx.now}
    row = one(tx, Run, END, parameters)
    if row is None:
        return None
    loose = events.digest_of_loose(tx, id)
    entries.note(
        tx,
        id,
        "run.ended",
        row,
        "outcome",
        "reason",
        "detail",
        "ended_at",
        loose_hash=loose.events_hash,
        loose_count=loose.events_count,
        loose_through=loose.events_through,
    )
    n, hash = entries.head(tx, id)
    entries.append(tx, entries.LEDGER_CHAIN, "run-head", {"run": id, "n": n, "hash": hash})
    return row


def learn(
    tx: Tx, *, id: RunId, native_id: str | None = None, model: str | None = None, mode: str | None = None
) -> Run | None:
    row = one(tx, Run, LEARN, {"id": id, "native_id": native_id, "model": model, "mode": mode})
    if row is not None:
        entries.note(tx, id, "run.learned", row, "native_id", "model", "mode")
    return row


def rename(tx: Tx, *, id: RunId, title: str) -> Run | None:
    row = one(tx, Run, RENAME, {"id": id, "title": storable(title)})
    if row is not None:
        entries.note(tx, id, "run.renamed", row, "title")
    return row


def pin(tx: Tx, *, id: RunId, pinned: bool) -> Run | None:
    return one(tx, Run, PIN, {"id": id, "pinned": pinned})


def seen(tx: Tx, *, id: RunId, at: Millis) -> Run | None:
    return one(tx, Run, SEEN, {"id": id, "at": at})


def line(tx: Tx, run: RunId) -> list[RunId]:
    """The run itself, then the one that it goes on from, then the one before that."""
    return [RunId(id) for (id,) in tx.conn.execute(LINE, {"run": run})]


def live_count(tx: Tx) -> int:
    return number(tx, LIVE_COUNT, {})
