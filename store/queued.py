"""Turns that wait in line while one is in flight: accepted from the operator, ordered, editable until recorded."""

from typing import ClassVar, Final

from store import entries, moves
from store.canonical import storable
from store.rows import Record, columns, many, one, sure
from store.tx import Tx
from store.vocab import Millis, QueuedTurnState, RunId, TurnId


class QueuedTurn(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "queued_turns"
    DIGESTED: ClassVar[tuple[str, ...]] = ("text",)

    id: int
    run: RunId
    place: int
    state: QueuedTurnState
    text: str
    operator: str
    at: Millis
    turn: TurnId | None


_W: Final = QueuedTurnState.WAITING

# At the end of the run's line.
ADD: Final = f"""
INSERT INTO queued_turns (run, place, state, text, operator, at)
SELECT :run, coalesce(max(place), 0) + 1, '{_W}', :text, :operator, :now FROM queued_turns WHERE run = :run
RETURNING {columns(QueuedTurn)}
"""
GET: Final = f"SELECT {columns(QueuedTurn)} FROM queued_turns WHERE id = :id"
# Only what still waits can change.
EDIT: Final = f"UPDATE queued_turns SET text = :text WHERE id = :id AND state = '{_W}' RETURNING {columns(QueuedTurn)}"
WITHDRAW: Final = f"""
UPDATE queued_turns SET state = '{QueuedTurnState.WITHDRAWN}'
WHERE id = :id AND state IN ({moves.sources(moves.QUEUED, QueuedTurnState.WITHDRAWN)}) RETURNING {columns(QueuedTurn)}
"""
# It became a turn, in the transaction that records that.
RECORDED: Final = f"""
UPDATE queued_turns SET state = '{QueuedTurnState.RECORDED}', turn = :turn
WHERE id = :id AND state IN ({moves.sources(moves.QUEUED, QueuedTurnState.RECORDED)}) RETURNING {columns(QueuedTurn)}
"""
# The hold ended first.
UNSENT_ALL: Final = f"""
UPDATE queued_turns SET state = '{QueuedTurnState.UNSENT}'
WHERE run = :run AND state IN ({moves.sources(moves.QUEUED, QueuedTurnState.UNSENT)}) RETURNING {columns(QueuedTurn)}
"""
WAITING: Final = f"SELECT {columns(QueuedTurn)} FROM queued_turns WHERE run = :run AND state = '{_W}' ORDER BY place"
OF_RUN: Final = f"SELECT {columns(QueuedTurn)} FROM queued_turns WHERE run = :run ORDER BY place"


def add(tx: Tx, *, run: RunId, text: str, operator: str) -> QueuedTurn:
    row = sure(tx, QueuedTurn, ADD, {"run": run, "text": storable(text), "operator": operator, "now": tx.now})
    entries.note(tx, run, "queued.waiting", row)
    return row


def get(tx: Tx, id: int) -> QueuedTurn | None:
    return one(tx, QueuedTurn, GET, {"id": id})


def edit(tx: Tx, *, id: int, text: str) -> QueuedTurn | None:
    row = one(tx, QueuedTurn, EDIT, {"id": id, "text": storable(text)})
    if row is not None:
        entries.note(tx, row.run, "queued.edited", row, "text")
    return row


def withdraw(tx: Tx, *, id: int) -> QueuedTurn | None:
    row = one(tx, QueuedTurn, WITHDRAW, {"id": id})
    if row is not None:
        entries.note(tx, row.run, "queued.withdrawn", row, "state")
    return row


def recorded(tx: Tx, *, id: int, turn: TurnId) -> QueuedTurn | None:
    row = one(tx, QueuedTurn, RECORDED, {"id": id, "turn": turn})
    if row is not None:
        entries.note(tx, row.run, "queued.recorded", row, "state", "turn")
    return row


def unsent_all(tx: Tx, run: RunId) -> int:
    rows = many(tx, QueuedTurn, UNSENT_ALL, {"run": run})
    for row in rows:
        entries.note(tx, run, "queued.unsent", row, "state")
    return len(rows)


def waiting(tx: Tx, run: RunId) -> list[QueuedTurn]:
    return many(tx, QueuedTurn, WAITING, {"run": run})


def of_run(tx: Tx, run: RunId) -> list[QueuedTurn]:
    return many(tx, QueuedTurn, OF_RUN, {"run": run})
