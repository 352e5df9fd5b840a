"""A run's spool against the ledger, damaged and torn; spools that go; a backup while somebody writes."""

import asyncio
import os
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator import housekeeping, ledgermark
from coordinator.api import Finish
from coordinator.custody import spoolfile
from coordinator.housekeeping import Places, Plan
from coordinator.review import checking
from coordinator.review.checking import Beside, Checked
from store import attention, entries, evidence, pruning, runs, settings
from store.backup import BackedUp, back_up
from store.bulk import BulkLedger
from store.db import read_ledger
from store.events import NewEvent, append
from store.open import Opening, connect
from store.pruning import Kept
from store.tx import Tx
from store.verify import Difference, Noted, verify
from store.vocab import AttentionKind, EvidenceKind, Millis, RunId, TurnState
from tests.coordinator.held import holding, script
from tests.store.scenes import Ticks

FAR = Millis(1 << 50)
RUN = RunId(1)


def quiet(_done: int, _of: int) -> None:
    pass


@pytest.fixture(scope="module")
async def finished(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Path]:
    """A home with one run of the practice agent, finished."""
    home = tmp_path_factory.mktemp("finished")
    async with holding(home) as held:
        run = await held.start("go " + script({"text": "hello"}, {"text": "and more"}))
        await held.until(run, lambda view: view.turns and view.turns[0].state is TurnState.SETTLED)
        await held.do(Finish(run=run))
        await held.until(run, lambda view: view.outcome is not None)
        await held.coordinator.sessions[run].ended.wait()
        await held.coordinator.house.ledger.transaction(
            lambda tx: evidence.add(tx, run=run, kind=EvidenceKind.HANDOFF, content=b"all is done") and None
        )
    yield home


@pytest.fixture
def home(finished: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "home"
    shutil.copytree(finished, copy, ignore=lambda _folder, names: [one for one in names if one == "s"])
    return copy


def ledger_of(home: Path) -> Path:
    return home / "ledger.db"


def spool_of(home: Path) -> Path:
    [folder] = (home / "spool").iterdir()
    return folder / spoolfile.SPOOL


def places(home: Path) -> Places:
    return Places(
        ledger=ledger_of(home),
        spool=home / "spool",
        evidence=home / "evidence",
        worktrees=home / "worktrees",
        mark=home / "ledger.mark",
    )


def looked(home: Path, noted: Noted | None = None) -> Checked:
    beside = Beside(spool=home / "spool", evidence=home / "evidence")
    with read_ledger(ledger_of(home), now=Ticks()) as tx:
        return checking.check(tx, beside, mark=ledgermark.read(home / "ledger.mark"), noted=noted, progress=quiet)


def against(home: Path, change: Callable[[Tx], object]) -> tuple[Difference | None, list[str]]:
    """The spool alone against a ledger that was changed."""
    notes: list[str] = []
    with closing(connect(ledger_of(home))) as conn:
        tx = Tx(conn, FAR)
        change(tx)
        held = pruning.holds_of(tx, RUN)[0]
        return next(checking.against_spool(tx, held, spool_of(home), notes), None), notes


def test_what_a_run_left_agrees_with_its_spool(home: Path) -> None:
    found = looked(home)
    assert (found.difference, found.notes, found.spools) == (None, (), 1)


def test_an_event_that_is_not_there_and_one_too_many_are_named_by_their_byte(home: Path) -> None:
    with read_ledger(ledger_of(home), now=Ticks()) as tx:
        keys = tx.conn.execute("SELECT offset, n, kind FROM events WHERE run = 1 ORDER BY offset, n").fetchall()
    offset, n, kind = keys[len(keys) // 2]

    def lose(tx: Tx) -> None:
        tx.conn.execute("DELETE FROM events WHERE offset = :offset AND n = :n", {"offset": offset, "n": n})

    found, _ = against(home, lose)
    assert found is not None and (found.where, found.found) == (f"raw output of run 1, byte {offset}", "none")
    assert found.expected == f"{kind} in the ledger"

    def invent(tx: Tx) -> None:
        body = '{"text":"never said"}'
        row = NewEvent(offset=offset, n=n, turn=None, at=FAR, kind=kind, body=body)
        append(tx, run=RUN, rows=[row, replace(row, offset=offset + 1)])

    found, _ = against(home, invent)
    assert found is not None and found.where == f"raw output of run 1, byte {offset + 1}"
    assert found.expected == "one that the agent's bytes give"


@pytest.mark.parametrize("cut", [1, 10, 600])
def test_a_torn_tail_is_said_and_is_no_difference(home: Path, cut: int) -> None:
    spool = spool_of(home)
    os.truncate(spool, spool.stat().st_size - cut)
    found = looked(home)
    assert found.difference is None
    assert len(found.notes) == 1 and "torn at byte" in found.notes[0]


def test_any_damaged_byte_of_a_spool_that_the_ledger_had_read_is_found(home: Path) -> None:
    spool, good = spool_of(home), spool_of(home).read_bytes()
    for place in range(0, len(good), max(1, len(good) // 60)):
        spool.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
        found = looked(home)
        assert found.difference is not None or found.notes, place
        if found.difference is not None:
            assert found.difference.where.startswith("raw output of run 1"), found.difference


# --------------------------------------------------------------------------------------------------------------- prune


def planned(home: Path, **more: object) -> Plan:
    given = {"before": FAR, "spools_before": FAR, "month_began": FAR} | more
    with read_ledger(ledger_of(home), now=Ticks()) as tx:
        return housekeeping.plan(tx, places(home), **given)  # type: ignore[arg-type]


def carried_out(home: Path, plan: Plan, **more: bool) -> housekeeping.Pruned:
    opening = Opening(
        path=ledger_of(home), now=lambda: FAR, machine="m", ledger_id=lambda: "id", live_elsewhere=lambda: False
    )
    with BulkLedger.opened(opening) as ledger:
        return housekeeping.carry_out(
            ledger,
            places(home),
            plan,
            operator="ada",
            month_began=FAR,
            keep_evidence=more.get("keep_evidence", False),
            tell=quiet,
        )


def test_a_spool_goes_alone_when_its_days_are_over_and_the_ledger_stays_as_it_is(home: Path) -> None:
    before = looked(home)
    assert planned(home, before=None, spools_before=Millis(0)).nothing
    plan = planned(home, before=None)
    assert [one.run for one in plan.spools] == [RUN] and plan.runs == ()
    done = carried_out(home, plan)
    assert len(done.spools) == 1 and not list((home / "spool").iterdir())
    after = looked(home)
    assert (after.difference, after.spools, after.pruned) == (None, 0, before.pruned)


def test_a_run_goes_with_its_spool_and_its_evidence_stays_where_it_is_wanted(home: Path) -> None:
    plan = planned(home)
    assert [one.run.id for one in plan.runs] == [RUN] and plan.spools == () and plan.runs[0].spools[0].bytes > 1000
    done = carried_out(home, plan, keep_evidence=True)
    assert [stone.run for stone in done.runs] == [RUN] and done.shrunk and done.problems == ()
    assert not list((home / "spool").iterdir())
    kept = {one.name: (home / "evidence" / one.name).read_bytes() for one in done.runs[0].kept}
    assert b"all is done" in kept.values()
    assert looked(home).difference is None
    path = home / "evidence" / next(name for name, content in kept.items() if content == b"all is done")
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"all is dOne")
    changed = looked(home).difference
    assert changed is not None and str(path) in changed.where
    path.unlink()
    assert looked(home).difference is not None


def test_what_became_needed_meanwhile_stays(home: Path) -> None:
    plan = planned(home)
    with closing(connect(ledger_of(home))) as conn:
        tx = Tx(conn, FAR)
        attention.raise_(tx, run=RUN, kind=AttentionKind.PAGE, key="k", text="look")
    done = carried_out(home, plan)
    assert done.refused == ((RUN, Kept.ATTENTION.value),) and done.runs == ()
    assert spool_of(home).exists() and looked(home).difference is None


def test_a_folder_that_a_prune_left_behind_goes_with_the_next(home: Path) -> None:
    spare = home / "spare"
    shutil.copytree(home / "spool", spare)
    carried_out(home, planned(home))
    shutil.rmtree(home / "spool")
    spare.rename(home / "spool")
    (home / "spool" / "of-another-ledger").mkdir()
    plan = planned(home, before=None)
    assert [one.run for one in plan.spools] == [RUN]
    carried_out(home, plan)
    assert [one.name for one in (home / "spool").iterdir()] == ["of-another-ledger"], "nobody here knows what that is"


def test_a_note_of_an_entry_that_was_pruned_makes_no_restored_ledger(home: Path) -> None:
    with read_ledger(ledger_of(home), now=Ticks()) as tx:
        inside = entries.entries_of(tx, RUN)[-1]
        here = ledgermark.of(tx, "machine-of-this")
    mark = replace(here, seq=inside.seq, hash=inside.hash)
    ledgermark.write(home / "ledger.mark", mark)
    carried_out(home, planned(home))
    written = ledgermark.read(home / "ledger.mark")
    assert written is not None and written.seq > inside.seq and written.machine == mark.machine
    with read_ledger(ledger_of(home), now=Ticks()) as tx:
        machine = settings.get(tx, ledgermark.MACHINE) or tx.conn.execute("SELECT machine FROM ledger").fetchone()[0]
        assert ledgermark.why_restored(tx, mark, machine) is None, "it may have died before it wrote the note"
        assert ledgermark.why_restored(tx, replace(mark, seq=mark.seq + 1000), machine) is ledgermark.Why.BEHIND
    assert looked(home, Noted(seq=inside.seq, hash=inside.hash)).notes != ()


def test_sizes(home: Path) -> None:
    (home / "worktrees" / "one").mkdir(parents=True, exist_ok=True)
    (home / "worktrees" / "one" / "file").write_bytes(b"x" * 1234)
    found = housekeeping.sizes(places(home))
    assert found.ledger.bytes >= ledger_of(home).stat().st_size and found.spool.parts == 1
    assert found.worktrees.bytes >= 1234 and found.evidence.parts == 0


# -------------------------------------------------------------------------------------------------------------- backup


async def test_a_backup_is_of_one_moment_while_others_write(home: Path) -> None:
    stop, wrote = threading.Event(), threading.Semaphore(0)

    def write() -> None:
        with closing(connect(ledger_of(home))) as conn:
            number = 0
            while not stop.is_set():
                conn.execute("BEGIN IMMEDIATE")
                settings.put(Tx(conn, FAR), "beat", str(number := number + 1) * 2000)
                conn.execute("COMMIT")
                wrote.release()

    writer = asyncio.get_running_loop().run_in_executor(None, write)
    try:
        for _ in range(5):
            await asyncio.to_thread(wrote.acquire)
        target = home / "copy.db"
        made = await asyncio.to_thread(back_up, ledger_of(home), target, now=Ticks(), replace=False, progress=quiet)
        await asyncio.to_thread(wrote.acquire)
    finally:
        stop.set()
        await writer
    assert isinstance(made, BackedUp)
    assert target.stat().st_mode & 0o777 == 0o600 and made.bytes == target.stat().st_size
    assert sorted(one.name for one in home.iterdir() if one.name.startswith((".", "copy"))) == ["copy.db"]
    target.chmod(0o400)
    with read_ledger(target, now=Ticks()) as tx:
        assert verify(tx, Noted(seq=made.seq, hash=made.hash)) is None
        assert runs.get(tx, RUN) is not None
    with read_ledger(ledger_of(home), now=Ticks()) as tx:
        assert entries.newest_seq(tx) > made.seq


def test_a_ledger_that_is_not_whole_makes_no_copy(home: Path) -> None:
    with closing(sqlite3.connect(ledger_of(home))) as conn:
        conn.execute("UPDATE runs SET title = 'another'")
        conn.commit()
    target = home / "copy.db"
    made = back_up(ledger_of(home), target, now=Ticks(), replace=False, progress=quiet)
    assert isinstance(made, Difference) and made.where == "run 1"
    assert not list(home.glob("*copy*")) and not list(home.glob(".copy*"))
    target.write_bytes(b"mine")
    with closing(sqlite3.connect(ledger_of(home))) as conn:
        told = "SELECT json_extract(body, '$.title') FROM entries WHERE kind = 'run.admitted'"
        conn.execute(f"UPDATE runs SET title = ({told})")
        conn.commit()
    with pytest.raises(FileExistsError):
        back_up(ledger_of(home), target, now=Ticks(), replace=False, progress=quiet)
    assert target.read_bytes() == b"mine" and not list(home.glob(".copy*"))
    assert isinstance(back_up(ledger_of(home), target, now=Ticks(), replace=True, progress=quiet), BackedUp)
