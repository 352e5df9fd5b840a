"""What a run's books must come to, read from the outside: the ledger's file, the spool's file, and ``/proc``.

Nothing here asks the console that held the run: it may be dead, and it must not be its own witness.
"""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordinator import eventcodec
from coordinator.custody import spoolfile
from coordinator.custody.client import kill_by_socket, read_cookie
from coordinator.custody.processes import carriers, name_of
from coordinator.custody.types import RecordKind, SpoolRecord
from coordinator.drivers import registry
from coordinator.drivers.base import TRANSIENT, Start
from coordinator.review import checking
from coordinator.terms import Terms, parse
from store import authorizations, bookcheck, custody, events, runs, turns
from store.db import Tx, read_ledger
from store.verify import verify
from store.vocab import Millis, RunId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    house: Path
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
        house=home,
        nonce=row.nonce,
        folder=home / "spool" / row.id,
        keeper=row.keeper_pid,
        worker=row.supervisor_pid,
        agent=row.agent_pid,
    )


def leave_nothing(home: Path) -> None:
    """Kill what a failed test, or one whose console left its runs held, would leave running behind it."""
    for folder in (home / "spool").glob("*"):
        if spoolfile.spool_is_locked(folder) and (cookie := read_cookie(folder)) is not None:
            asyncio.run(kill_by_socket(folder, cookie))


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
    with read_ledger(home / "ledger.db", now=lambda: Millis(0)) as tx:
        rows = events.page(tx, RunId(run), limit=1_000_000)
        said = {turn.id: turn.text for turn in turns.of_run(tx, RunId(run))}
        difference = next((one for one in (verify(tx), *bookcheck.unsound(tx)) if one is not None), None)
        held, row = custody.of_run(tx, RunId(run)), runs.get(tx, RunId(run))
        assert held is not None and row is not None
        # What it was started with tells what its first lines answer.
        again.argv(_started(tx, row, held))
        read_again = list(checking.against_spool(tx, held, home / "spool" / held.id / "spool", []))
    assert read_again == [], f"what the product itself finds: {read_again}"
    expected: list[tuple[int, int, str]] = []
    for record in hold_of(home, run).spool():
        match record.kind:
            case RecordKind.WRITING if (id := TurnId(str(record.facts["id"]))) in said:
                # An agent that names no turn is understood only by one who knows what was sent.
                again.turn(id, said[id])
                continue
            case RecordKind.STDOUT:
                found = again.feed(record.data)
            case RecordKind.EXIT:
                found = again.feed_end()
            case _:
                continue
        expected += [
            (record.offset, n, eventcodec.encode(event, str)[0])
            for n, event in enumerate(found)
            if not isinstance(event, TRANSIENT)
        ]
    kept = [(row.offset, row.n, row.kind) for row in rows if row.kind != "stderr"]
    missing, invented = set(expected) - set(kept), set(kept) - set(expected)
    assert not missing and not invented, f"missing: {missing}, invented: {invented}"
    assert len(set(kept)) == len(kept)
    assert difference is None, difference


def _started(tx: Tx, run: runs.Run, held: custody.Custody) -> Start:
    signed = authorizations.get(tx, run.authorization_id)
    terms = parse(signed.terms) if signed is not None else None
    assert isinstance(terms, Terms), terms
    return Start(
        program="",
        session=held.native_id or "",
        agent=run.agent,
        resume=bool(terms.conversation),
        model=terms.model,
        mode=terms.mode,
    )
