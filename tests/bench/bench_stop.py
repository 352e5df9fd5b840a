"""How long from the order to the whole tree reaped, for the keeper process alone, without a screen or a ledger.

From the stop key on is in ``bench_hold``.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from coordinator.custody.types import RecordKind
from tests.bench.figures import Figure, middle, python_pass, scaled, upper
from tests.supervisor.holding import QUICK, Hold, Holds

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
"""Milliseconds, of a kill, for p95; of an agent that ends at TERM, beyond the time it is given to end by itself."""
GRACE = (QUICK.farewell + QUICK.eof) * 1000


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
        figures.append(middle(f"{name}, p50", took))
        small = order is kill and name != "kill: 150 wide" and name != "kill: 40 deep"
        figures.append(upper("   p95", took, 0.95, goal=GOAL if small else None))
    beyond = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            _, gone = await once(Path(folder), ["wide", "3"], fence)
            beyond.append(gone * 1000 - GRACE)
    figures.append(middle(f"ending: four that hear only TERM, beyond the {GRACE:.0f} ms of grace, p50", beyond))
    figures.append(upper("   p95", beyond, 0.95, goal=GOAL))
    figures.append(middle("launch: spawn to attached, p50", launches))
    figures.append(middle("   in starts of Python", scaled(launches, 1 / 1000 / python_pass()), unit="P"))
    return figures


def measure() -> list[Figure]:
    return asyncio.run(measured())
