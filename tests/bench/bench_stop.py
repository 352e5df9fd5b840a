"""How long from the order to the whole tree reaped, for the keeper process alone, without a screen or a ledger.

From the stop key on is in ``bench_hold``.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from coordinator.custody.types import RecordKind
from tests.bench.figures import Figure, median, percentile, python_pass
from tests.supervisor.holding import Hold, Holds

ROUNDS = 20


async def once(folder: Path, mode: list[str], order: Callable[[Hold], Awaitable[None]]) -> tuple[float, float]:
    """Start to ready, and order to gone, in seconds."""
    holds = Holds(folder)
    begin = time.perf_counter()
    hold = await holds.launch()
    launched = time.perf_counter() - begin
    await hold.start(*mode)
    begin = time.perf_counter()
    await order(hold)
    await hold.until(lambda h: RecordKind.GONE in h.kinds())
    took = time.perf_counter() - begin
    await hold.gone()
    await hold.supervisor.end()
    return launched, took


async def kill(hold: Hold) -> None:
    await hold.supervisor.kill()


async def fence(hold: Hold) -> None:
    await hold.supervisor.farewell(b"bye\n")
    await hold.supervisor.fence("stopped")


ROWS: tuple[tuple[str, list[str], Callable[[Hold], Awaitable[None]]], ...] = (
    ("kill: one process that hears nothing", ["deaf"], kill),
    ("kill: a daemon that cleared its environment", ["daemon"], kill),
    ("kill: 150 wide", ["wide", "150"], kill),
    ("kill: 40 deep", ["deep", "40"], kill),
    ("ending: an agent that hears its farewell", ["echo"], fence),
)
GOAL = 30.0
"""Milliseconds, of a kill, for p95."""


async def measured() -> list[Figure]:
    figures: list[Figure] = []
    launches: list[float] = []
    for name, mode, order in ROWS:
        took = []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                launched, gone = await once(Path(folder), mode, order)
                launches.append(launched * 1000)
                took.append(gone * 1000)
        figures.append(Figure(name=f"{name}, p50", value=median(took)))
        small = order is kill and name != "kill: 150 wide" and name != "kill: 40 deep"
        figures.append(Figure(name="   p95", value=percentile(took, 0.95), goal=GOAL if small else None))
    figures.append(Figure(name="launch: spawn to attached, p50", value=median(launches)))
    figures.append(Figure(name="   in starts of Python", value=median(launches) / 1000 / python_pass(), unit="P"))
    return figures


def measure() -> list[Figure]:
    return asyncio.run(measured())
