"""Agents for which nothing is claimed: at their limit until a time that was told, or signed out until somebody acts.

The agent waits, not the tasks: ten thousand of them cost one row.
"""

from typing import ClassVar, Final

from store import entries
from store.rows import Record, columns, many, one, sure
from store.tx import Tx
from store.vocab import Millis, RunId


class StoredWait(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "agent_waits"
    KEY: ClassVar[tuple[str, ...]] = ("agent",)

    agent: str
    """Profile."""
    reason: str
    """A ``FailureKind``."""
    until: Millis | None
    """None: until the operator says so."""
    run: RunId | None
    """That told it; it may be pruned."""
    at: Millis


# The longer of two stands: who is signed out is so also after a limit is over.
WAIT: Final = f"""
INSERT INTO agent_waits (agent, reason, until, run, at) VALUES (:agent, :reason, :until, :run, :now)
ON CONFLICT (agent) DO UPDATE SET reason = excluded.reason, until = excluded.until, run = excluded.run, at = excluded.at
WHERE agent_waits.until <= :now OR (agent_waits.until IS NOT NULL
  AND (excluded.until IS NULL OR excluded.until >= agent_waits.until))
RETURNING {columns(StoredWait)}
"""
GET: Final = f"SELECT {columns(StoredWait)} FROM agent_waits WHERE agent = :agent"
OVER: Final = f"DELETE FROM agent_waits WHERE agent = :agent RETURNING {columns(StoredWait)}"
# Past ones are no waits; nobody has to end them.
LISTING: Final = f"""
SELECT {columns(StoredWait)} FROM agent_waits WHERE until IS NULL OR until > :now ORDER BY agent
"""


def wait(tx: Tx, *, agent: str, reason: str, until: Millis | None, run: RunId | None) -> StoredWait:
    """Nothing of this agent is claimed until then; gives what stands, which may be a longer wait from before."""
    row = one(tx, StoredWait, WAIT, {"agent": agent, "reason": reason, "until": until, "run": run, "now": tx.now})
    if row is None:
        return sure(tx, StoredWait, GET, {"agent": agent})
    entries.note(tx, entries.LEDGER_CHAIN, "agent-wait.put", row)
    return row


def over(tx: Tx, *, agent: str) -> StoredWait | None:
    """Somebody has seen to it. None: it did not wait."""
    row = one(tx, StoredWait, OVER, {"agent": agent})
    if row is not None:
        entries.note(tx, entries.LEDGER_CHAIN, "agent-wait.over", row, "agent")
    return row


def listing(tx: Tx) -> list[StoredWait]:
    """Those that wait now."""
    return many(tx, StoredWait, LISTING, {"now": tx.now})
