"""The ledger's two costs, as ratios to the disk's own: a durable state change, and ingest of events.

Raw fdatasync is measured in the same run, on the same disk, between the others, because a shared machine's disk is
never twice the same; so is SQLite itself, as durable and with the same rows, but no chain, no search and no guard.
"""

import asyncio
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from store import custody, events, turns
from store.db import Ledger
from store.events import NewEvent
from store.refusal import Refusal
from store.tx import Tx
from store.verify import verify
from store.vocab import CustodyId, Millis, RunId, TurnId, TurnSource
from tests.bench.figures import Figure, median, middle, raw_fdatasync, scaled, upper
from tests.store.scenes import held, open_ledger, register

CHANGES = 1_500
"""State changes timed; each is one whole transaction with its entry."""
EVENTS = 200_000
BATCH = 500
PLAIN = """
CREATE TABLE events (
    run INTEGER, offset INTEGER, n INTEGER, turn TEXT, at INTEGER, kind TEXT, body TEXT, PRIMARY KEY (run, offset, n)
) WITHOUT ROWID
"""
BODY = '{"block":"b12","text":"' + "reads the file and says what it found there, " * 4 + '"}'


def scene(tx: Tx) -> tuple[RunId, CustodyId]:
    register(tx)
    run, hold = held(tx)
    return run.id, hold


async def state_changes(ledger: Ledger, run: RunId) -> list[float]:
    """``recorded`` and ``written`` of turns: what stands between a key and the first byte to an agent."""
    times = []

    async def timed(body: Callable[[Tx], object]) -> None:
        begun = time.perf_counter()
        done = await ledger.transaction(body)
        times.append(time.perf_counter() - begun)
        assert done is not None
        assert not isinstance(done, Refusal)

    for number in range(CHANGES // 2):
        id = TurnId(f"turn-{number}")
        await timed(
            lambda tx, id=id: turns.record(  # type: ignore[misc]
                tx, id=id, run=run, source=TurnSource.OPERATOR, generation=1, text="go on", preamble="", bytes=5,
                digest="d", operator="ada",
            )
        )  # fmt: skip
        await timed(lambda tx, id=id: turns.written(tx, id=id))  # type: ignore[misc]
        await ledger.transaction(lambda tx, id=id: turns.uncertain(tx, id=id))  # type: ignore[misc]
    return times


async def ingest(ledger: Ledger, run: RunId, hold: CustodyId) -> tuple[float, list[float]]:
    """Batches of events, each with its offset in one transaction; meanwhile how late the loop is."""
    late: list[float] = []
    ended = asyncio.Event()

    async def look() -> None:
        while not ended.is_set():
            begun = time.perf_counter()
            await asyncio.sleep(0.002)  # how late this comes back is what is measured
            late.append(time.perf_counter() - begun - 0.002)

    looking = asyncio.create_task(look())
    begun = time.perf_counter()
    for first in range(1, EVENTS, BATCH):
        rows = [
            NewEvent(offset=first + n, n=0, turn=TurnId("turn-0"), at=Millis(n), kind="text", body=BODY)
            for n in range(BATCH)
        ]

        def body(tx: Tx, rows: list[NewEvent] = rows) -> object:
            events.append(tx, run=run, rows=rows)
            return custody.ingested(tx, id=hold, offset=rows[-1].offset)

        await ledger.transaction(body)
    took = time.perf_counter() - begun
    ended.set()
    await looking
    return EVENTS / took, late


def plain(folder: Path) -> tuple[float, list[float]]:
    """SQLite alone, by the standard library: rows a second in the same batches, and seconds of a one-row commit."""
    conn = sqlite3.connect(folder / "plain.db", isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        conn.execute(f"PRAGMA {pragma}")
    conn.execute(PLAIN)
    insert = "INSERT INTO events VALUES (1, ?, ?, 'turn-0', ?, 'text', ?)"
    times = []
    for number in range(CHANGES // 2):
        begun = time.perf_counter()
        conn.execute("BEGIN IMMEDIATE")
        conn.execute(insert, (-number, 0, number, "{}"))
        conn.execute("COMMIT")
        times.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    for first in range(1, EVENTS, BATCH):
        conn.execute("BEGIN IMMEDIATE")
        conn.executemany(insert, [(first + n, n, n, BODY) for n in range(BATCH)])
        conn.execute("COMMIT")
    took = time.perf_counter() - begun
    conn.close()
    return EVENTS / took, times


async def measured(folder: Path) -> list[Figure]:
    ledger = await open_ledger(folder / "ledger.db")
    found = await ledger.transaction(scene)
    assert not isinstance(found, Refusal)
    run, hold = found
    raw = raw_fdatasync(folder, CHANGES // 2)
    changes = await state_changes(ledger, run)
    raw += raw_fdatasync(folder, CHANGES // 2)
    bare_rate, bare_commits = await asyncio.to_thread(plain, folder)
    rate, late = await ingest(ledger, run, hold)

    begun = time.perf_counter()
    page = await ledger.read(lambda tx: events.page(tx, run, newest=True))
    paged = time.perf_counter() - begun
    assert len(page) == 500
    begun = time.perf_counter()
    assert await ledger.read(verify) is None
    verified = time.perf_counter() - begun
    await ledger.close()
    disk = median(raw)
    return [
        middle("raw fdatasync of a page, p50", scaled(raw, 1000)),
        upper("   p99", scaled(raw, 1000), 0.99),
        middle("durable state change, p50", scaled(changes, 1000)),
        Figure(name="   in raw fdatasyncs", value=median(changes) / disk, unit="×", goal=4.0),
        upper("   p99", scaled(changes, 1000), 0.99, goal=5.0),
        Figure(name="durable ingest of events, in batches", value=rate, unit="/s", goal=50_000.0, at_least=True),
        upper("   how late the loop is meanwhile, p99", scaled(late, 1000), 0.99, goal=8.0),
        Figure(name="   plain sqlite3, the same rows and batches", value=bare_rate, unit="/s"),
        middle("plain sqlite3, a commit of one row, p50", scaled(bare_commits, 1000)),
        Figure(name=f"newest page of 500 of {EVENTS:,} events", value=paged * 1000),
        Figure(name=f"verify a ledger of {EVENTS:,} events", value=verified, unit="s"),
    ]


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measured(Path(folder)))
