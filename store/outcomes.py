"""How the end of a task's run is dealt with: known, decided on, carried out; each is on disk before the next begins.

A crash between any two finds here what was known. What the verdict says is the coordinator's (``tasks.verdict``).
"""

from typing import ClassVar, Final

from store import attempts, entries, moves, tasks
from store.canonical import storable
from store.rows import Record, columns, many, one, values
from store.tx import Tx
from store.vocab import Millis, OutcomeState, RunId, TaskId


class Outcome(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "outcomes"
    KEY: ClassVar[tuple[str, ...]] = ("run",)

    run: RunId
    task: TaskId
    state: OutcomeState
    verdict: str | None
    """Canonical JSON of what becomes of the task; set before it is carried out."""
    at: Millis
    decided_at: Millis | None
    acknowledged_at: Millis | None


PENDING: Final = f"INSERT INTO outcomes {values(Outcome)} ON CONFLICT DO NOTHING RETURNING {columns(Outcome)}"
GET: Final = f"SELECT {columns(Outcome)} FROM outcomes WHERE run = :run"
DECIDE: Final = f"""
UPDATE outcomes SET state = '{OutcomeState.DECIDED}', verdict = :verdict, decided_at = :now
WHERE run = :run AND state IN ({moves.sources(moves.OUTCOME, OutcomeState.DECIDED)}) RETURNING {columns(Outcome)}
"""
ACKNOWLEDGE: Final = f"""
UPDATE outcomes SET state = '{OutcomeState.ACKNOWLEDGED}', acknowledged_at = :now
WHERE run = :run AND state IN ({moves.sources(moves.OUTCOME, OutcomeState.ACKNOWLEDGED)}) RETURNING {columns(Outcome)}
"""
OPEN: Final = f"""
SELECT {columns(Outcome)} FROM outcomes WHERE state <> '{OutcomeState.ACKNOWLEDGED}' ORDER BY run
"""


def pending(tx: Tx, *, run: RunId) -> Outcome | None:
    """In the very transaction that gives the run its outcome. None: the run is no attempt, or this was written."""
    attempt = attempts.of_run(tx, run)
    if attempt is None:
        return None
    given: dict[str, object] = {"run": run, "task": attempt.task, "state": OutcomeState.PENDING, "verdict": None}
    row = one(tx, Outcome, PENDING, given | {"at": tx.now, "decided_at": None, "acknowledged_at": None})
    if row is not None:
        entries.note(tx, run, "outcome.pending", row)
    return row


def get(tx: Tx, run: RunId) -> Outcome | None:
    return one(tx, Outcome, GET, {"run": run})


def decide(tx: Tx, *, run: RunId, verdict: str) -> Outcome | None:
    """What is to become of the task; nothing of it is done yet. None: it was decided before."""
    row = one(tx, Outcome, DECIDE, {"run": run, "verdict": storable(verdict), "now": tx.now})
    if row is not None:
        entries.note(tx, run, "outcome.decided", row, "state", "verdict", "decided_at")
    return row


def acknowledge(tx: Tx, *, run: RunId, counted: bool) -> Outcome | None:
    """It was carried out, or somebody else holds the task. Not ``counted``: the attempt does not use up its series.

    None: it was acknowledged before, or not decided yet.
    """
    row = one(tx, Outcome, ACKNOWLEDGE, {"run": run, "now": tx.now})
    if row is None:
        return None
    entries.note(tx, run, "outcome.acknowledged", row, "state", "acknowledged_at")
    if not counted:
        attempts.uncount(tx, run=run)
        tasks.reckon(tx, row.task)
    return row


def open_ones(tx: Tx) -> list[Outcome]:
    """Those that are not dealt with to the end, the oldest run first."""
    return many(tx, Outcome, OPEN, {})
