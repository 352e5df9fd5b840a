"""Stops: asked for, ordered, and settled with what was found. One open stop for a run, whoever asks."""

from typing import ClassVar, Final

from store import entries, moves
from store.rows import Record, columns, many, one, sure
from store.tx import Tx
from store.vocab import Millis, RunId, StopResult, StopState


class Stop(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "stops"

    id: int
    run: RunId
    state: StopState
    reason: str
    operator: str
    asked_at: Millis
    ordered_at: Millis | None
    settled_at: Millis | None
    result: StopResult | None


# Somebody asks; a second one finds the first.
ASK: Final = f"""
INSERT INTO stops (run, state, reason, operator, asked_at) VALUES (:run, '{StopState.ASKED}', :reason, :operator, :now)
ON CONFLICT DO NOTHING RETURNING {columns(Stop)}
"""
OPEN_OF: Final = f"SELECT {columns(Stop)} FROM stops WHERE run = :run AND state <> '{StopState.SETTLED}'"
# The supervisor has the order.
ORDER: Final = f"""
UPDATE stops SET state = '{StopState.ORDERED}', ordered_at = :now
WHERE run = :run AND state IN ({moves.sources(moves.STOP, StopState.ORDERED)}) RETURNING {columns(Stop)}
"""
# The end was seen.
SETTLE: Final = f"""
UPDATE stops SET state = '{StopState.SETTLED}', settled_at = :now, result = :result
WHERE run = :run AND state IN ({moves.sources(moves.STOP, StopState.SETTLED)}) RETURNING {columns(Stop)}
"""
OF_RUN: Final = f"SELECT {columns(Stop)} FROM stops WHERE run = :run ORDER BY id"


def ask(tx: Tx, *, run: RunId, reason: str, operator: str) -> Stop:
    row = one(tx, Stop, ASK, {"run": run, "reason": reason, "operator": operator, "now": tx.now})
    if row is None:
        return sure(tx, Stop, OPEN_OF, {"run": run})
    entries.note(tx, run, "stop.asked", row)
    return row


def order(tx: Tx, *, run: RunId) -> Stop | None:
    row = one(tx, Stop, ORDER, {"run": run, "now": tx.now})
    if row is not None:
        entries.note(tx, run, "stop.ordered", row, "state", "ordered_at")
    return row


def settle(tx: Tx, *, run: RunId, result: StopResult) -> Stop | None:
    """End the open stop. One that was never ordered (nothing had started) passes through *ordered* here."""
    order(tx, run=run)
    row = one(tx, Stop, SETTLE, {"run": run, "result": result, "now": tx.now})
    if row is not None:
        entries.note(tx, run, "stop.settled", row, "state", "settled_at", "result")
    return row


def open_of(tx: Tx, run: RunId) -> Stop | None:
    return one(tx, Stop, OPEN_OF, {"run": run})


def of_run(tx: Tx, run: RunId) -> list[Stop]:
    return many(tx, Stop, OF_RUN, {"run": run})
