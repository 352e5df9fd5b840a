"""Holds: who owns them, in which state they are, and the identities that prove what is alive.

The partial unique indexes of this table are the last word on who may hold what; ``propose`` turns their conflict into a
refusal that names the other run.
"""

import sqlite3
from collections.abc import Collection
from typing import ClassVar, Final

from store import entries, moves
from store.canonical import dumps
from store.refusal import Refusal
from store.rows import Record, columns, is_unique_conflict, many, one, values
from store.tx import Tx
from store.vocab import CustodyId, CustodyState, IncarnationId, Millis, RefusalReason, RunId


class Custody(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "custody"
    UNTRACKED: ClassVar[tuple[str, ...]] = ("ingested", "driver_state", "driver_offset")

    id: CustodyId
    run: RunId
    state: CustodyState
    incarnation: IncarnationId
    epoch: int
    """Grows with every attach of a console to the supervisor."""
    generation: int
    """Which start of the agent under this hold."""
    tree: str
    in_place: bool
    native_id: str | None
    nonce: str
    boot_id: str
    supervisor_pid: int | None
    supervisor_ticks: int | None
    keeper_pid: int | None
    keeper_ticks: int | None
    agent_pid: int | None
    agent_ticks: int | None
    ingested: int
    """Spool offset up to which all is in the ledger."""
    driver_state: bytes | None
    driver_offset: int
    """Spool offset at which that snapshot was taken."""
    fence_reason: str | None
    created_at: Millis
    closed_at: Millis | None


_CLOSED: Final = CustodyState.CLOSED

# A hold is proposed, unless something that it needs is held.
PROPOSE: Final = f"INSERT INTO custody {values(Custody)} ON CONFLICT DO NOTHING RETURNING {columns(Custody)}"
# Who is in the way.
HOLDER_OF_RUN: Final = f"SELECT run FROM custody WHERE run = :run AND state <> '{_CLOSED}'"
HOLDER_OF_CONVERSATION: Final = (
    f"SELECT run FROM custody WHERE native_id = :native_id AND state <> '{_CLOSED}' AND id <> :id"
)
HOLDER_OF_TREE: Final = f"SELECT run FROM custody WHERE tree = :tree AND in_place = 1 AND state <> '{_CLOSED}'"
GET: Final = f"SELECT {columns(Custody)} FROM custody WHERE id = :id"
# The newest of a run.
OF_RUN: Final = f"SELECT {columns(Custody)} FROM custody WHERE run = :run ORDER BY created_at DESC, rowid DESC LIMIT 1"
# Every hold that it had.
EACH_OF_RUN: Final = f"SELECT {columns(Custody)} FROM custody WHERE run = :run ORDER BY created_at, rowid"
# What the sweep looks at.
NOT_CLOSED: Final = f"SELECT {columns(Custody)} FROM custody WHERE state <> '{_CLOSED}' ORDER BY created_at, id"
# Over, on a machine that has not been started anew since: what of them is alive was left over.
CLOSED_IN_BOOT: Final = f"""
SELECT {columns(Custody)} FROM custody WHERE state = '{_CLOSED}' AND boot_id = :boot_id ORDER BY created_at, id
"""
# One guarded move; the owner is a guard where it is given.
MOVE: Final = f"""
UPDATE custody SET state = :to, closed_at = CASE WHEN :to = '{_CLOSED}' THEN :now ELSE closed_at END
WHERE id = :id AND state IN (SELECT value FROM json_each(:expect))
  AND (:incarnation IS NULL OR incarnation = :incarnation)
RETURNING {columns(Custody)}
"""
# Each conversation that a hold ever drove: an agent may go over into a new one.
CONVERSATIONS: Final = """
SELECT run, native_id FROM custody WHERE native_id IS NOT NULL
UNION SELECT id, native_id FROM runs WHERE native_id IS NOT NULL AND id IN (SELECT run FROM custody)
UNION SELECT e.run, json_extract(e.body, '$.native_id') FROM custody c JOIN entries e ON e.run = c.run
  WHERE e.kind IN ('custody.proposed', 'custody.conversation') AND json_extract(e.body, '$.native_id') IS NOT NULL
ORDER BY 1
"""
# Identity of the supervisor, once it is started.
STAMP: Final = f"""
UPDATE custody SET boot_id = :boot_id, supervisor_pid = :supervisor_pid, supervisor_ticks = :supervisor_ticks,
  keeper_pid = :keeper_pid, keeper_ticks = :keeper_ticks
WHERE id = :id AND state <> '{_CLOSED}' RETURNING {columns(Custody)}
"""
# Identity of the agent, before its first byte; none for a hold that is ending meanwhile.
STAMP_AGENT: Final = f"""
UPDATE custody SET generation = :generation, agent_pid = :agent_pid, agent_ticks = :agent_ticks
WHERE id = :id AND state IN ('{CustodyState.PROPOSED}', '{CustodyState.OPEN}', '{CustodyState.RESTARTING}')
RETURNING {columns(Custody)}
"""
# The offset goes with the events, forward only.
INGESTED: Final = f"""
UPDATE custody SET ingested = :offset, driver_state = coalesce(:driver_state, driver_state),
  driver_offset = coalesce(:driver_offset, driver_offset)
WHERE id = :id AND ingested <= :offset RETURNING {columns(Custody)}
"""
# The agent's own conversation: no two holds drive one.
SET_NATIVE: Final = f"""
UPDATE custody SET native_id = :native_id WHERE id = :id AND state <> '{_CLOSED}' RETURNING {columns(Custody)}
"""
# Against its will. A hold that is fencing already is no source of this move, so the first reason stays.
FENCE: Final = f"""
UPDATE custody SET state = '{CustodyState.FENCING}', fence_reason = :reason
WHERE id = :id AND state IN ({moves.sources(moves.CUSTODY, CustodyState.FENCING)}) RETURNING {columns(Custody)}
"""
# A new owner, by compare-and-set, with a higher epoch.
SEIZE: Final = f"""
UPDATE custody SET incarnation = :incarnation, epoch = epoch + 1
WHERE id = :id AND incarnation = :expect_incarnation AND state <> '{_CLOSED}' RETURNING {columns(Custody)}
"""


def propose(
    tx: Tx,
    *,
    id: CustodyId,
    run: RunId,
    incarnation: IncarnationId,
    tree: str,
    in_place: bool,
    nonce: str,
    native_id: str | None = None,
) -> Custody | Refusal:
    row = one(
        tx,
        Custody,
        PROPOSE,
        {
            "id": id,
            "run": run,
            "state": CustodyState.PROPOSED,
            "incarnation": incarnation,
            "epoch": 1,
            "generation": 1,
            "tree": tree,
            "in_place": in_place,
            "native_id": native_id,
            "nonce": nonce,
            "boot_id": "",
            "supervisor_pid": None,
            "supervisor_ticks": None,
            "keeper_pid": None,
            "keeper_ticks": None,
            "agent_pid": None,
            "agent_ticks": None,
            "ingested": 0,
            "driver_state": None,
            "driver_offset": 0,
            "fence_reason": None,
            "created_at": tx.now,
            "closed_at": None,
        },
    )
    if row is None:
        return _in_the_way(tx, id=id, run=run, tree=tree, in_place=in_place, native_id=native_id)
    entries.note(tx, run, "custody.proposed", row)
    return row


def _in_the_way(tx: Tx, *, id: CustodyId, run: RunId, tree: str, in_place: bool, native_id: str | None) -> Refusal:
    holder = tx.conn.execute(HOLDER_OF_RUN, {"run": run}).fetchone()
    if holder is not None:
        return Refusal(RefusalReason.ALREADY_HELD, {"run": holder[0]})
    holder = tx.conn.execute(HOLDER_OF_CONVERSATION, {"native_id": native_id, "id": id}).fetchone()
    if holder is not None:
        return Refusal(RefusalReason.ALREADY_HELD, {"run": holder[0], "native_id": native_id})
    holder = tx.conn.execute(HOLDER_OF_TREE, {"tree": tree}).fetchone()
    if in_place and holder is not None:
        return Refusal(RefusalReason.TREE_HELD, {"run": holder[0], "tree": tree})
    raise LookupError(f"custody {id} is there already")


def get(tx: Tx, id: CustodyId) -> Custody | None:
    return one(tx, Custody, GET, {"id": id})


def each_of_run(tx: Tx, run: RunId) -> list[Custody]:
    """Oldest first."""
    return many(tx, Custody, EACH_OF_RUN, {"run": run})


def of_run(tx: Tx, run: RunId) -> Custody | None:
    return one(tx, Custody, OF_RUN, {"run": run})


def not_closed(tx: Tx) -> list[Custody]:
    return many(tx, Custody, NOT_CLOSED, {})


def closed_in_boot(tx: Tx, boot_id: str) -> list[Custody]:
    return many(tx, Custody, CLOSED_IN_BOOT, {"boot_id": boot_id})


def move(
    tx: Tx,
    *,
    id: CustodyId,
    expect: Collection[CustodyState],
    to: CustodyState,
    incarnation: IncarnationId | None = None,
) -> Custody | None:
    """Move a hold on, if it is in an expected state (and still this console's, where ``incarnation`` is given)."""
    moves.check(moves.CUSTODY, expect, to)
    if to is CustodyState.FENCING:
        raise moves.ForbiddenMove("a fence has a reason: call fence()")
    parameters = {"id": id, "expect": dumps(sorted(expect)), "to": to, "incarnation": incarnation, "now": tx.now}
    row = one(tx, Custody, MOVE, parameters)
    if row is not None:
        entries.note(tx, row.run, f"custody.{to}", row, "state", "closed_at")
    return row


def stamp(
    tx: Tx,
    *,
    id: CustodyId,
    boot_id: str,
    supervisor_pid: int,
    supervisor_ticks: int,
    keeper_pid: int,
    keeper_ticks: int,
) -> Custody | None:
    row = one(
        tx,
        Custody,
        STAMP,
        {
            "id": id,
            "boot_id": boot_id,
            "supervisor_pid": supervisor_pid,
            "supervisor_ticks": supervisor_ticks,
            "keeper_pid": keeper_pid,
            "keeper_ticks": keeper_ticks,
        },
    )
    if row is not None:
        stamped = ("boot_id", "supervisor_pid", "supervisor_ticks", "keeper_pid", "keeper_ticks")
        entries.note(tx, row.run, "custody.stamped", row, *stamped)
    return row


def stamp_agent(tx: Tx, *, id: CustodyId, generation: int, agent_pid: int, agent_ticks: int) -> Custody | None:
    parameters = {"id": id, "generation": generation, "agent_pid": agent_pid, "agent_ticks": agent_ticks}
    row = one(tx, Custody, STAMP_AGENT, parameters)
    if row is not None:
        entries.note(tx, row.run, "custody.agent-stamped", row, "generation", "agent_pid", "agent_ticks")
    return row


def ingested(
    tx: Tx, *, id: CustodyId, offset: int, driver_state: bytes | None = None, driver_offset: int | None = None
) -> Custody | None:
    """Note how far the spool is in the ledger; None where it stands further already, and then nothing may be added."""
    parameters = {"id": id, "offset": offset, "driver_state": driver_state, "driver_offset": driver_offset}
    return one(tx, Custody, INGESTED, parameters)


def set_native(tx: Tx, *, id: CustodyId, native_id: str) -> Custody | Refusal:
    try:
        row = one(tx, Custody, SET_NATIVE, {"id": id, "native_id": native_id})
    except sqlite3.IntegrityError as conflict:
        if not is_unique_conflict(conflict):
            raise
        holder = tx.conn.execute(HOLDER_OF_CONVERSATION, {"native_id": native_id, "id": id}).fetchone()
        return Refusal(RefusalReason.ALREADY_HELD, {"run": holder[0], "native_id": native_id})
    if row is None:
        return Refusal(RefusalReason.NO_HELD_SESSION, {"custody": id})
    entries.note(tx, row.run, "custody.conversation", row, "native_id")
    return row


def conversations(tx: Tx) -> dict[str, tuple[RunId, ...]]:
    """Every conversation of an agent that was ever held, with the runs that it was held in, oldest first."""
    found: dict[str, tuple[RunId, ...]] = {}
    for run, native_id in tx.conn.execute(CONVERSATIONS):
        found[native_id] = (*found.get(native_id, ()), RunId(run))
    return found


def fence(tx: Tx, *, id: CustodyId, reason: str) -> Custody | None:
    """Begin the end against its will. Idempotent: a hold that is fencing comes back as it is; None for a closed one."""
    row = one(tx, Custody, FENCE, {"id": id, "reason": reason})
    if row is None:
        standing = get(tx, id)
        return standing if standing is not None and standing.state is CustodyState.FENCING else None
    entries.note(tx, row.run, "custody.fencing", row, "state", "fence_reason")
    return row


def seize(tx: Tx, *, id: CustodyId, expect_incarnation: IncarnationId, incarnation: IncarnationId) -> Custody | None:
    parameters = {"id": id, "expect_incarnation": expect_incarnation, "incarnation": incarnation}
    row = one(tx, Custody, SEIZE, parameters)
    if row is not None:
        entries.note(tx, row.run, "custody.seized", row, "incarnation", "epoch")
    return row
