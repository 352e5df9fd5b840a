"""A ledger opened for a review: on a thread of its own, of one state at a time, and given up when nobody waits."""

import asyncio
import threading
from contextlib import closing
from pathlib import Path

import pytest

from coordinator.review import filters, reading
from coordinator.review.source import ReviewSource, reading_for_review
from coordinator.review.types import RunFilter
from store import events
from store.db import LedgerBusy, LedgerFault, LedgerUnreadable
from store.open import connect
from store.refusal import Refusal
from store.salvage import Salvaged
from store.tx import Tx
from store.vocab import RefusalReason, RunId
from tests.bench.bigledger import make
from tests.store.scenes import Ticks, event, held, open_ledger, register
from tests.store.test_as_it_lies import picture
from tests.waiting import eventually


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("whole") / "ledger.db", 3_000)


async def opened(path: Path) -> ReviewSource:
    source = await ReviewSource.open(path, now=Ticks())
    assert isinstance(source, ReviewSource), source
    return source


def count(tx: Tx) -> int:
    found: int = tx.conn.execute("SELECT count(*) FROM events").fetchone()[0]
    return found


async def test_it_is_asked_on_another_thread_and_changes_nothing(whole: Path) -> None:
    before = picture(whole.parent)
    async with await opened(whole) as source:
        assert source.salvaged is None and source.path == whole
        assert await source.ask(lambda _tx: threading.current_thread()) is not threading.main_thread()
        page = await source.ask(reading.runs)
        assert len(page.rows) > 5
        with pytest.raises(Exception, match="readonly"):
            await source.ask(lambda tx: tx.conn.execute("UPDATE runs SET pinned = 1"))
        assert await source.ask(count) >= 3_000, "and goes on after a fault"
    assert picture(whole.parent) == before
    assert not [one for one in threading.enumerate() if one.name.startswith("review")] or await eventually(
        lambda: not [one for one in threading.enumerate() if one.name.startswith("review")]
    )


async def test_what_a_console_writes_meanwhile_is_seen(tmp_path: Path) -> None:
    def scene(tx: Tx) -> None:
        register(tx)
        held(tx)

    def say(n: int) -> object:
        return lambda tx: events.append(tx, run=RunId(1), rows=[event(n, turn=None)])

    ledger = await open_ledger(tmp_path / "ledger.db")
    await ledger.transaction(scene)
    await ledger.close()
    async with await opened(tmp_path / "ledger.db") as source:
        assert await source.ask(count) == 0
        ledger = await open_ledger(tmp_path / "ledger.db")
        await ledger.transaction(say(1))  # type: ignore[arg-type]
        assert await source.ask(count) == 1
        await ledger.transaction(say(2))  # type: ignore[arg-type]
        assert await source.ask(count) == 2
        await ledger.close()
        assert await source.ask(count) == 2


async def test_what_a_console_overtakes_is_read_again(tmp_path: Path, whole: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(whole.read_bytes())
    tried = []

    def look(tx: Tx) -> int:
        found = count(tx)
        tried.append(found)
        if len(tried) == 1:
            with closing(connect(path)) as conn:
                conn.execute("DELETE FROM events WHERE id = (SELECT max(id) FROM events)")
                conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return found

    async with await opened(path) as source:
        assert await source.ask(look) == tried[0] - 1 == tried[1]
    with pytest.raises(LedgerBusy), reading_for_review(path, now=Ticks()) as (tx, salvaged):
        tried.clear()
        assert salvaged is None and look(tx)


async def test_nobody_waits_for_what_is_given_up(whole: Path) -> None:
    began = threading.Event()

    def for_ever(tx: Tx) -> object:
        began.set()
        return tx.conn.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        ).fetchone()

    async with await opened(whole) as source:
        asking = asyncio.create_task(source.ask(for_ever))
        await eventually(began.is_set)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asyncio.wait_for(source.ask(count), 10) >= 3_000
        began.clear()
        left = asyncio.create_task(source.ask(for_ever))
        await eventually(began.is_set)
    with pytest.raises(Exception, match="interrupted"):
        await left


@pytest.mark.parametrize("part", [0.5, 0.9])
async def test_a_ledger_cut_in_half_is_shown_as_far_as_it_goes(tmp_path: Path, whole: Path, part: float) -> None:
    path = tmp_path / "ledger.db"
    content = whole.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    before = picture(tmp_path)
    async with await opened(path) as source:
        assert source.salvaged is not None and source.salvaged.events > 0
        page = await source.ask(reading.runs)
        assert len(page.rows) == min(source.salvaged.runs, reading.PAGE) > 0
        for row in page.rows:
            shown = await source.ask(lambda tx, run=row.run: reading.run_page(tx, run))  # type: ignore[misc]
            assert not isinstance(shown, Refusal) or shown.reason is RefusalReason.NO_SUCH_RUN
        wanted = filters.parse("the")
        assert isinstance(wanted, RunFilter)
        assert (await source.ask(lambda tx: reading.search(tx, wanted))).hits
    with reading_for_review(path, now=Ticks()) as (tx, salvaged):
        assert salvaged is not None and count(tx) == salvaged.events
    assert picture(tmp_path) == before


async def test_damage_that_is_met_later_is_gone_round(tmp_path: Path, whole: Path) -> None:
    path = tmp_path / "ledger.db"
    content = bytearray(whole.read_bytes())
    with closing(connect(whole, mode="ro", how="&immutable=1")) as conn:
        [(page,)] = conn.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events_by_run'").fetchall()
    content[(page - 1) * 4096 : page * 4096] = bytes(4096)
    path.write_bytes(content)
    async with await opened(path) as source:
        assert not source.salvaged
        through = "SELECT count(*) FROM events INDEXED BY events_by_run WHERE run = 3"
        found = await source.ask(lambda tx: tx.conn.execute(through).fetchone()[0])
        salvaged: Salvaged | None = source.salvaged
        assert salvaged is not None
        assert 0 < found <= salvaged.events


@pytest.mark.parametrize("content", [b"", b"no ledger at all", b"SQLite format 3\x00" + bytes(8192)])
async def test_what_is_no_ledger_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    found = await ReviewSource.open(path, now=Ticks())
    assert isinstance(found, Refusal) and found.reason is RefusalReason.LEDGER_UNREADABLE
    with pytest.raises(LedgerUnreadable), reading_for_review(path, now=Ticks()):
        pass
    assert path.read_bytes() == content
    absent = await ReviewSource.open(tmp_path / "absent.db", now=Ticks())
    assert isinstance(absent, Refusal) and not (tmp_path / "absent.db").exists()
    assert issubclass(LedgerUnreadable, LedgerFault)
