"""The ledger's two costs, as ratios to the disk's own: a durable state change, and ingest of events.

    python -m tests.bench.bench_store [--folder DIR]

Raw fdatasync is measured in the same run, on the same disk, between the others, because a shared machine's disk is
never twice the same. Exits 1 when a goal of the house is missed.
"""

import argparse
import asyncio
import os
import statistics
import sys
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
from tests.store.scenes import held, open_ledger, register

CHANGES = 1_500
"""State changes timed; each is one whole transaction with its entry."""
EVENTS = 200_000
BATCH = 500
BODY = '{"block":"b12","text":"' + "reads the file and says what it found there, " * 4 + '"}'
GOALS = {"p50 / fdatasync": 4.0, "p99 ms": 5.0, "events per second": 50_000.0, "loop lag p99 ms": 8.0}


def percentile(times: list[float], part: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def raw_fdatasync(folder: Path, count: int) -> list[float]:
    """One page appended and synced, over and over: what the disk asks for being durable."""
    times = []
    handle = os.open(folder / "raw", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for _ in range(count):
            begun = time.perf_counter()
            os.write(handle, b"x" * 4096)
            os.fdatasync(handle)
            times.append(time.perf_counter() - begun)
    finally:
        os.close(handle)
    return times


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
            await asyncio.sleep(0.002)
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


async def measure(folder: Path) -> dict[str, float]:
    ledger = await open_ledger(folder / "ledger.db")
    found = await ledger.transaction(scene)
    assert not isinstance(found, Refusal)
    run, hold = found
    raw = raw_fdatasync(folder, CHANGES // 2)
    changes = await state_changes(ledger, run)
    raw += raw_fdatasync(folder, CHANGES // 2)
    rate, late = await ingest(ledger, run, hold)

    begun = time.perf_counter()
    page = await ledger.read(lambda tx: events.page(tx, run, newest=True))
    paged = time.perf_counter() - begun
    assert len(page) == 500
    begun = time.perf_counter()
    assert await ledger.read(verify) is None
    verified = time.perf_counter() - begun
    await ledger.close()
    disk = statistics.median(raw)
    return {
        "fdatasync p50 ms": disk * 1000,
        "fdatasync p99 ms": percentile(raw, 0.99) * 1000,
        "p50 ms": statistics.median(changes) * 1000,
        "p99 ms": percentile(changes, 0.99) * 1000,
        "p50 / fdatasync": statistics.median(changes) / disk,
        "p99 / fdatasync p99": percentile(changes, 0.99) / percentile(raw, 0.99),
        "events per second": rate,
        "loop lag p99 ms": percentile(late, 0.99) * 1000,
        "newest page of 500 ms": paged * 1000,
        "verify s": verified,
    }


def met(name: str, value: float) -> bool:
    goal = GOALS[name]
    return value >= goal if name == "events per second" else value <= goal


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--folder", type=Path, help="on the disk to measure")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        found = asyncio.run(measure(Path(folder)))
    missed = 0
    for name, value in found.items():
        told = ""
        if name in GOALS:
            told = f"goal {GOALS[name]:g}: {'met' if met(name, value) else 'MISSED'}"
            missed += not met(name, value)
        print(f"{name:24} {value:12,.3f}  {told}".rstrip())
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
