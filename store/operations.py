"""The journal of claims: what a console set out to claim, and what came of it, so that a crash between is seen.

An operation is committed before its claim is made (``begin``), and the claim writes its result to it in its own
transaction (``claims.take``). What a console left open is looked at by the next one.
"""

from collections.abc import Collection
from typing import ClassVar, Final

from store import entries, moves
from store.canonical import dumps
from store.rows import Record, columns, many, one, sure, values
from store.tx import Tx
from store.vocab import IncarnationId, Millis, OperationId, OperationState, TaskId


class Operation(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "operations"

    id: OperationId
    state: OperationState
    incarnation: IncarnationId
    task: TaskId | None
    """Set with the claim, as the token is."""
    token: str | None
    begun_at: Millis
    ended_at: Millis | None


BEGIN: Final = f"INSERT INTO operations {values(Operation)} RETURNING {columns(Operation)}"
GET: Final = f"SELECT {columns(Operation)} FROM operations WHERE id = :id"
MOVE: Final = f"""
UPDATE operations SET state = :to, ended_at = :now
WHERE id = :id AND state IN (SELECT value FROM json_each(:expect)) RETURNING {columns(Operation)}
"""
# With what was claimed, in the transaction of the claim.
CLAIMED: Final = f"""
UPDATE operations SET state = '{OperationState.CLAIMED}', task = :task, token = :token
WHERE id = :id AND incarnation = :incarnation
  AND state IN ({moves.sources(moves.OPERATION, OperationState.CLAIMED)}) RETURNING {columns(Operation)}
"""
# The claim has a new owner and token; what is to be done about it stays to be done.
SEIZED: Final = f"""
UPDATE operations SET incarnation = :incarnation, token = :token
WHERE task = :task AND token = :expect_token AND state = '{OperationState.CLAIMED}' RETURNING {columns(Operation)}
"""
OPEN: Final = f"""
SELECT {columns(Operation)} FROM operations WHERE state IN ('{OperationState.BEGUN}', '{OperationState.CLAIMED}')
  AND (:incarnations IS NULL OR incarnation IN (SELECT value FROM json_each(:incarnations)))
ORDER BY id
"""
_ENDS: Final = frozenset(state for state, further in moves.OPERATION.items() if not further)


def begin(tx: Tx, *, id: OperationId, incarnation: IncarnationId) -> Operation:
    """Before anything is claimed, in a transaction of its own.

    Raises:
        sqlite3.IntegrityError: this id is there already.
    """
    given = {"id": id, "state": OperationState.BEGUN, "incarnation": incarnation, "task": None, "token": None}
    row = sure(tx, Operation, BEGIN, given | {"begun_at": tx.now, "ended_at": None})
    entries.note(tx, entries.LEDGER_CHAIN, "operation.begun", row)
    return row


def get(tx: Tx, id: OperationId) -> Operation | None:
    return one(tx, Operation, GET, {"id": id})


def move(tx: Tx, *, id: OperationId, expect: Collection[OperationState], to: OperationState) -> Operation | None:
    """End it: ``nothing``, ``cancelled``, ``retired``, ``admitted``. None: it is in none of the expected states.

    Raises:
        ForbiddenMove: there is no such move, or it is a claim, which only ``claims`` makes.
    """
    moves.check(moves.OPERATION, expect, to)
    if to not in _ENDS:
        raise moves.ForbiddenMove("a claim writes its own operation")
    row = one(tx, Operation, MOVE, {"id": id, "expect": dumps(sorted(expect)), "to": to, "now": tx.now})
    if row is not None:
        entries.note(tx, entries.LEDGER_CHAIN, f"operation.{to}", row, "state", "ended_at")
    return row


def claimed(tx: Tx, *, id: OperationId, incarnation: IncarnationId, task: TaskId, token: str) -> Operation | None:
    """For ``claims``: what it claimed. None: it is not begun, or not by this console."""
    given = {"id": id, "incarnation": incarnation, "task": task, "token": token}
    row = one(tx, Operation, CLAIMED, given)
    if row is not None:
        entries.note(tx, entries.LEDGER_CHAIN, "operation.claimed", row, "state", "task", "token")
    return row


def seized(tx: Tx, *, task: TaskId, expect_token: str, token: str, incarnation: IncarnationId) -> None:
    """For ``claims``: the task has a new owner, and so has what was claimed and not begun."""
    given = {"task": task, "expect_token": expect_token, "token": token, "incarnation": incarnation}
    for row in many(tx, Operation, SEIZED, given):
        entries.note(tx, entries.LEDGER_CHAIN, "operation.seized", row, "incarnation", "token")


def open_of(tx: Tx, incarnations: Collection[IncarnationId] | None = None) -> list[Operation]:
    """What is neither carried out nor given up; of these consoles, or (None) of all."""
    which = None if incarnations is None else dumps(sorted(incarnations))
    return many(tx, Operation, OPEN, {"incarnations": which})
