"""The note beside the ledger, and yesterday's copy put back: nothing that was agreed in it is in force again."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from coordinator import ledgermark
from coordinator.api import Finish, Stop
from coordinator.custody.processes import carriers
from coordinator.ids import RealIds
from coordinator.ledgermark import Mark, Why
from store import attention, authorizations, custody, entries, runs
from store.db import Ledger, read_ledger
from store.refusal import Refusal
from store.verify import verify
from store.vocab import (
    AttentionKind,
    AuthorizationId,
    AuthorizationState,
    EndReason,
    Millis,
    RefusalReason,
    RunId,
    RunOutcome,
    TurnState,
)
from tests.coordinator.held import Holding, holding, script
from tests.waiting import eventually


def newest(folder: Path) -> tuple[int, str]:
    with read_ledger(folder / "ledger.db", now=lambda: Millis(0)) as tx:
        entry = entries.newest(tx)
    assert entry is not None
    return entry.seq, entry.hash


def put_back(folder: Path, copy: Path) -> None:
    for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        (folder / name).unlink(missing_ok=True)
    shutil.copyfile(copy, folder / "ledger.db")


def copied(folder: Path, to: Path) -> None:
    """A whole copy of a ledger that is in use, as a backup takes it."""
    with closing(sqlite3.connect(folder / "ledger.db")) as live, closing(sqlite3.connect(to)) as copy:
        live.backup(copy)


async def pages(held: Holding) -> list[str]:
    items = await held.coordinator.house.ledger.read(attention.open_items)
    return [one.text for one in items if one.kind is AttentionKind.PAGE and one.key == "restored"]


async def test_the_mark_follows_each_closing_and_the_end(tmp_path: Path) -> None:
    mark = tmp_path / "ledger.mark"
    async with holding(tmp_path, mark=mark) as held:
        opened = ledgermark.read(mark)
        assert opened is not None and opened.ledger == held.coordinator.house.ledger.id
        run = await held.start("go " + script({"text": "one"}))
        await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        await held.do(Finish(run=run))
        await held.until(run, lambda v: v.outcome is not None)

        def further() -> bool:
            now = ledgermark.read(mark)
            assert now is not None
            with read_ledger(tmp_path / "ledger.db", now=lambda: Millis(0)) as tx:
                ended = [one.seq for one in entries.entries_of(tx, run) if one.kind == "run.ended"]
            return bool(ended) and now.seq >= ended[0]

        await eventually(further)
        assert await pages(held) == []
    last = ledgermark.read(mark)
    assert last is not None and (last.seq, last.hash) == newest(tmp_path)
    assert mark.stat().st_mode & 0o077 == 0
    async with holding(tmp_path, mark=mark) as held:
        assert await pages(held) == [], "its own ledger is not taken for a copy"


async def test_yesterdays_copy_put_back(tmp_path: Path) -> None:
    """In the copy a run is live. It has ended since, and another came after it."""
    mark, copy = tmp_path / "ledger.mark", tmp_path / "copy.db"
    async with holding(tmp_path, mark=mark) as held:
        first = await held.start("go " + script({"do": "silence"}))
        await held.until(first, lambda v: v.turns[0].state is TurnState.ACCEPTED)
        copied(tmp_path, copy)
        await held.do(Stop(run=first))
        second = await held.start("go " + script({"text": "one"}))
        await held.until(second, lambda v: v.turns[0].state is TurnState.SETTLED)
        used = await held.coordinator.house.ledger.read(lambda tx: runs.get(tx, second))
        await held.do(Stop(run=second))
    assert used is not None
    put_back(tmp_path, copy)

    class Again(RealIds):
        def authorization(self) -> AuthorizationId:
            return AuthorizationId(used.authorization_id)

    async with holding(tmp_path, mark=mark, ids=Again()) as held:
        said = await pages(held)
        assert len(said) == 1 and "an older copy that was put back" in said[0]
        view = await held.until(first, lambda v: v.outcome is not None)
        assert view.outcome is RunOutcome.INTERRUPTED and view.reason == EndReason.STOPPED, "as its spool tells"
        ledger = held.coordinator.house.ledger
        assert await ledger.read(authorizations.not_closed) == []
        row = await ledger.read(lambda tx: runs.get(tx, first))
        assert row is not None
        signed = await ledger.read(lambda tx: authorizations.get(tx, AuthorizationId(row.authorization_id)))
        assert signed is not None
        assert (signed.state, signed.close_reason) == (AuthorizationState.CLOSED, EndReason.RESTORED)
        # Only the spool of the second run knows that its authorization was used; that is enough.
        assert held.coordinator.house.used_elsewhere == {used.authorization_id}
        refused = await held.try_start("go " + script({"text": "again"}))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.AUTHORIZATION_SPENT
        assert await ledger.read(verify) is None
    async with holding(tmp_path, mark=mark) as held:
        assert len(await pages(held)) == 1, "said once"
        assert isinstance(await held.start("go " + script({"text": "new"})), int)


async def test_a_run_that_lives_is_ended_when_an_older_ledger_comes_back(tmp_path: Path) -> None:
    from coordinator.api import LeaveAll

    mark, copy = tmp_path / "ledger.mark", tmp_path / "copy.db"
    async with holding(tmp_path, mark=mark) as held:
        run = await held.start("go " + script({"do": "silence"}))
        await held.until(run, lambda v: v.turns[0].state is TurnState.ACCEPTED)
        nonce = held.coordinator.sessions[run].nonce
        copied(tmp_path, copy)
        await held.do(LeaveAll())
    assert carriers(nonce)
    put_back(tmp_path, copy)
    async with holding(tmp_path, mark=mark) as held:
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.reason == EndReason.RESTORED
        assert carriers(nonce) == []


@pytest.fixture
async def ledger(tmp_path: Path) -> Ledger:
    ids = RealIds()
    opened = await Ledger.open(tmp_path / "l.db", now=lambda: Millis(7), machine="here", ledger_id=ids.secret)
    assert isinstance(opened, Ledger)
    return opened


async def test_what_is_a_restored_ledger(ledger: Ledger) -> None:
    try:
        mine = await ledger.read(lambda tx: ledgermark.of(tx, "here"))

        def why(mark: Mark | None, machine: str = "here") -> Why | None:
            with read_ledger(ledger.path, now=lambda: Millis(7)) as tx:
                return ledgermark.why_restored(tx, mark, machine)

        def at(seq: int, hash: str, ledger: str = mine.ledger) -> Mark:
            return Mark(ledger=ledger, machine="here", seq=seq, hash=hash)

        assert why(None) is None and why(mine) is None
        assert why(at(mine.seq + 1, "later")) is Why.BEHIND
        assert why(at(mine.seq, "another")) is Why.CHANGED
        assert why(at(mine.seq, mine.hash, ledger="another")) is Why.OTHER
        assert why(mine, machine="there") is Why.MACHINE
        await ledger.transaction(lambda tx: ledgermark.close_as_restored(tx, Why.MACHINE, "there"))
        assert why(None, machine="there") is None, "it has moved, and is at home there now"
        assert why(None, machine="here") is Why.MACHINE
    finally:
        await ledger.close()


def test_a_mark_is_whole_or_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.mark"
    old = Mark(ledger="l", machine="m", seq=1, hash="h")
    ledgermark.write(path, old)

    def fail(_: int) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space"):
        ledgermark.write(path, Mark(ledger="l", machine="m", seq=2, hash="i"))
    assert ledgermark.read(path) == old
    assert [one.name for one in tmp_path.iterdir()] == ["ledger.mark"]
    path.write_text('{"ledger":')
    assert ledgermark.read(path) is None
    assert ledgermark.read(tmp_path / "none") is None


async def test_a_spool_that_the_ledger_knows_uses_nothing_up(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"text": "one"}))
        await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        spool = held.coordinator.house.settings.spool
        read = held.coordinator.house.ledger.read
        assert await read(lambda tx: ledgermark.used_elsewhere(tx, spool)) == frozenset()
        row = await read(lambda tx: custody.of_run(tx, RunId(run)))
        assert row is not None
        (spool / row.id).rename(spool / "another")
        signed = await read(lambda tx: runs.get(tx, run))
        assert signed is not None
        assert await read(lambda tx: ledgermark.used_elsewhere(tx, spool)) == {signed.authorization_id}
        (spool / "another").rename(spool / row.id)
