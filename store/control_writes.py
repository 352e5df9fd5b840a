"""Bytes to the agent that are neither turn nor answer: each has a row by its id, so that none goes without a trace."""

from typing import ClassVar, Final

from store import entries
from store.rows import Record, columns, many, one, sure, values
from store.tx import Tx
from store.vocab import ControlWriteState, Millis, RunId


class ControlWrite(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "control_writes"
    KEY: ClassVar[tuple[str, ...]] = ("run", "id")

    run: RunId
    id: str
    generation: int
    at: Millis
    what: str
    state: ControlWriteState
    length: int
    digest: str
    """Keyed."""


# One write.
ASKED: Final = f"INSERT INTO control_writes {values(ControlWrite)} RETURNING {columns(ControlWrite)}"
# How far the supervisor came with it; what it has ended stays ended.
SET_STATE: Final = f"""
UPDATE control_writes SET state = :state
WHERE run = :run AND id = :id AND state <> :state
  AND state IN ('{ControlWriteState.ASKED}', '{ControlWriteState.WRITING}')
RETURNING {columns(ControlWrite)}
"""
GET: Final = f"SELECT {columns(ControlWrite)} FROM control_writes WHERE run = :run AND id = :id"
OF_RUN: Final = f"SELECT {columns(ControlWrite)} FROM control_writes WHERE run = :run ORDER BY at, rowid"


def asked(tx: Tx, *, run: RunId, id: str, generation: int, what: str, length: int, digest: str) -> ControlWrite:
    row = sure(
        tx,
        ControlWrite,
        ASKED,
        {
            "run": run,
            "id": id,
            "generation": generation,
            "at": tx.now,
            "what": what,
            "state": ControlWriteState.ASKED,
            "length": length,
            "digest": digest,
        },
    )
    entries.note(tx, run, "control.asked", row)
    return row


def set_state(tx: Tx, *, run: RunId, id: str, state: ControlWriteState | str) -> ControlWrite | None:
    row = one(tx, ControlWrite, SET_STATE, {"run": run, "id": id, "state": ControlWriteState(state)})
    if row is not None:
        entries.note(tx, run, f"control.{row.state}", row, "state")
    return row


def get(tx: Tx, run: RunId, id: str) -> ControlWrite | None:
    return one(tx, ControlWrite, GET, {"run": run, "id": id})


def of_run(tx: Tx, run: RunId) -> list[ControlWrite]:
    return many(tx, ControlWrite, OF_RUN, {"run": run})
