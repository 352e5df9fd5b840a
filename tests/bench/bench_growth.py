"""What the same work costs as the ledger grows: from a thousand events to a million, or to ten million when
``FOOTPLATE_BENCH_EVENTS=10000000`` asks for it (some minutes and 7 GB).

A cost that grows with what is already there would be met only by who has used it for a year. So each is told as a ratio
to what the smallest ledger needs, in one run; a step of a B-tree more is nobody's concern, a scan is.
"""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from coordinator.api import ReadTranscript
from coordinator.review import reading
from coordinator.review.source import reading_for_review
from store import custody, events, turns
from store.db import Ledger
from store.events import NewEvent
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import CustodyId, Millis, RunId, TurnId, TurnSource
from tests.bench.bench_review import LARGEST, PAGE, line, now
from tests.bench.bigledger import MILLION, made
from tests.bench.figures import Figure, median, raw_fdatasync
from tests.store.scenes import held, open_ledger

MOST = int(os.environ.get("FOOTPLATE_BENCH_EVENTS", str(MILLION)))
SIZES = tuple(size for size in (1_000, 10_000, 100_000, 1_000_000, 10_000_000) if size <= max(MOST, 1_000))
CHANGES, BATCHES, BATCH, LOOKS = 300, 40, 500, 25
GOAL = 3.0
"""Times what the smallest needs, at the largest. Reads of the smallest find fewer rows than they ask for: they are
compared with the next."""
CHANGE = "a durable state change, in raw fdatasyncs"
BODY = '{"block":"b12","text":"' + "reads the file and says what it found there, " * 4 + '"}'


async def written(path: Path) -> dict[str, float]:
    """Milliseconds of the opening and of a batch of events, and writes of the disk that a durable change takes the time
    of, in a copy of that ledger."""
    begun = time.perf_counter()
    ledger = await open_ledger(path)
    opened = (time.perf_counter() - begun) * 1000
    try:
        found = await ledger.transaction(_scene)
        assert not isinstance(found, Refusal)
        run, hold = found
        raw = raw_fdatasync(path.parent, CHANGES)
        changes = await _changes(ledger, run)
        raw += raw_fdatasync(path.parent, CHANGES)
        batches = await _batches(ledger, run, hold)
        return {
            "opened to be written to": opened,
            CHANGE: changes / (median(raw) * 1000),
            f"{BATCH} events, durable": batches,
        }
    finally:
        await ledger.close()


def _scene(tx: Tx) -> tuple[RunId, CustodyId]:
    run, hold = held(tx)  # by the console that wrote all the rest
    return run.id, hold


async def _changes(ledger: Ledger, run: RunId) -> float:
    times = []
    for number in range(CHANGES):
        id = TurnId(f"turn-of-growth-{number}")
        begun = time.perf_counter()
        await ledger.transaction(
            lambda tx, id=id: turns.record(  # type: ignore[misc]
                tx, id=id, run=run, source=TurnSource.OPERATOR, generation=1, text="go on", preamble="", bytes=5,
                digest="d", operator="ada",
            )
        )  # fmt: skip
        await ledger.transaction(lambda tx, id=id: turns.written(tx, id=id))  # type: ignore[misc]
        times.append((time.perf_counter() - begun) * 500)
        await ledger.transaction(lambda tx, id=id: turns.uncertain(tx, id=id))  # type: ignore[misc]
    return median(times)


async def _batches(ledger: Ledger, run: RunId, hold: CustodyId) -> float:
    times = []
    for first in range(1, BATCHES * BATCH, BATCH):
        rows = [
            NewEvent(offset=first + n, n=0, turn=TurnId("turn-of-growth-0"), at=Millis(n), kind="text", body=BODY)
            for n in range(BATCH)
        ]

        def body(tx: Tx, rows: list[NewEvent] = rows) -> object:
            events.append(tx, run=run, rows=rows)
            return custody.ingested(tx, id=hold, offset=rows[-1].offset)

        begun = time.perf_counter()
        await ledger.transaction(body)
        times.append((time.perf_counter() - begun) * 1000)
    return median(times)


def _first_page(tx: Tx) -> object:
    return reading.runs(tx).rows


def _newest_events(tx: Tx) -> object:
    return reading.feed(tx, ReadTranscript(run=LARGEST, limit=PAGE)).events


def _search(tx: Tx) -> object:
    return reading.search(tx, line("the")).hits


READS: dict[str, Callable[[Tx], object]] = {
    "the first page of runs": _first_page,
    f"the newest {PAGE} events of a run": _newest_events,
    "a search, newest 50": _search,
}


def looked_at(path: Path) -> dict[str, float]:
    with reading_for_review(path, now=now) as (tx, _):
        return {name: _timed(look, tx) for name, look in READS.items()}


def _timed(look: Callable[[Tx], object], tx: Tx) -> float:
    times = []
    for _ in range(LOOKS):
        begun = time.perf_counter()
        look(tx)
        times.append((time.perf_counter() - begun) * 1000)
    return median(times)


def at_size(size: int) -> dict[str, float]:
    ledger = made(size)
    found = looked_at(ledger)
    with tempfile.TemporaryDirectory(prefix="footplate-bench-") as folder:
        copy = Path(folder) / "ledger.db"
        shutil.copy(ledger, copy)
        os.sync()  # else the disk is busy with the copy while changes wait for it, and the more the larger it is
        return asyncio.run(written(copy)) | found


def measure() -> list[Figure]:
    costs = {size: at_size(size) for size in SIZES}
    figures = []
    for name in costs[SIZES[0]]:
        told = [costs[size][name] for size in SIZES]
        # The smallest has fewer rows than one page or one search asks for.
        base = told[1] if name in READS and len(told) > 2 else told[0]
        sizes = ", ".join(f"{value:.2f}" for value in told)
        unit = "×" if name == CHANGE else "ms"
        note = f"from {SIZES[0]:,} on: {sizes}"
        figures.append(Figure(name=f"{name}: at {SIZES[-1]:,} events", value=told[-1], unit=unit, note=note))
        figures.append(Figure(name="   times the smallest", value=told[-1] / base, unit="×", goal=GOAL))
    return figures


if __name__ == "__main__":
    from tests.bench.figures import show

    show("As the ledger grows", measure())
