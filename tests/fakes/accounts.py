"""What a run's books must come to, read from the outside: the ledger's file, the spool's file, and ``/proc``.

Nothing here asks the console that held the run: it may be dead, and it must not be its own witness.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordinator import eventcodec
from coordinator.custody import spoolfile
from coordinator.custody.processes import carriers, name_of
from coordinator.custody.types import RecordKind, SpoolRecord
from coordinator.drivers import registry
from coordinator.drivers.base import TRANSIENT
from store import custody, events
from store.db import read_ledger
from store.verify import verify
from store.vocab import Millis, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    nonce: str
    folder: Path
    keeper: int | None
    worker: int | None
    agent: int | None

    def spool(self) -> list[SpoolRecord]:
        return list(spoolfile.read_spool(self.folder / "spool"))

    def living(self) -> dict[int, str]:
        """Processes that carry the run's nonce now, with their command lines."""
        return {pid: name_of(pid) for pid in carriers(self.nonce)}

    def ended_whole(self) -> bool:
        """Keeper and worker are gone, and the last that they wrote is that nothing was left."""
        return not spoolfile.spool_is_locked(self.folder)


def hold_of(home: Path, run: int = 1) -> Hold:
    with read_ledger(home / "ledger.db", now=lambda: Millis(0)) as tx:
        row = custody.of_run(tx, RunId(run))
    assert row is not None
    return Hold(
        nonce=row.nonce,
        folder=home / "spool" / row.id,
        keeper=row.keeper_pid,
        worker=row.supervisor_pid,
        agent=row.agent_pid,
    )


def agents_total(hold: Hold) -> float:
    """What the agent itself said last of all that it had cost: read from its bytes, by no driver of ours."""
    printed = b"".join(record.data for record in hold.spool() if record.kind is RecordKind.STDOUT)
    said: list[dict[str, Any]] = [json.loads(line) for line in printed.splitlines() if b'"total_cost_usd"' in line]
    totals = [float(one["total_cost_usd"]) for one in said if one.get("type") == "result"]
    assert totals, "the agent told no cost"
    return totals[-1]


def everything_once(home: Path, driver: str, run: int = 1) -> None:
    """The ledger's events are those that a fresh driver finds in the whole spool, each once; and the books verify."""
    again = registry.create(driver, "again")
    assert again is not None
    expected = []
    for record in hold_of(home, run).spool():
        if record.kind is RecordKind.STDOUT:
            found = again.feed(record.data)
            expected += [
                (record.offset, n, eventcodec.encode(event, str)[0])
                for n, event in enumerate(found)
                if not isinstance(event, TRANSIENT)
            ]
    with read_ledger(home / "ledger.db", now=lambda: Millis(0)) as tx:
        rows = events.page(tx, RunId(run), limit=1_000_000)
        difference = verify(tx)
    kept = [(row.offset, row.n, row.kind) for row in rows if row.kind != "stderr"]
    assert sorted(kept) == sorted(expected)
    assert len(set(kept)) == len(kept)
    assert difference is None, difference
