"""How long from the order to the whole tree reaped, as the console sees it: ``python tests/bench/bench_stop.py``.

Figures are milliseconds, median and p95, and their ratio to ``python -c pass`` measured in the same run.
"""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from coordinator.custody.types import RecordKind
from tests.supervisor.holding import Hold, Holds

ROUNDS = 25


def interpreter() -> float:
    """The yardstick: median of starting Python for nothing."""
    times = []
    for _ in range(15):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


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


def show(what: str, seconds: list[float], yardstick: float) -> None:
    """One line of the table."""
    ordered = sorted(seconds)
    p50, p95 = statistics.median(ordered), ordered[int(len(ordered) * 0.95)]
    ratio = f"{p50 / yardstick:5.2f} / {p95 / yardstick:5.2f} P"
    print(f"{what:44s} p50 {p50 * 1e3:7.2f} ms   p95 {p95 * 1e3:7.2f} ms   {ratio}")


async def main() -> None:
    """All rows."""
    yardstick = interpreter()
    print(f"P = python -c pass = {yardstick * 1e3:.1f} ms")

    async def kill(hold: Hold) -> None:
        await hold.supervisor.kill()

    async def fence(hold: Hold) -> None:
        await hold.supervisor.farewell(b"bye\n")
        await hold.supervisor.fence("stopped")

    rows: list[tuple[str, list[str], Callable[[Hold], Awaitable[None]]]] = [
        ("kill: one deaf process", ["deaf"], kill),
        ("kill: a daemon, environment cleared", ["daemon"], kill),
        ("kill: 150 wide", ["wide", "150"], kill),
        ("kill: 40 deep", ["deep", "40"], kill),
        ("fence: an agent that hears its farewell", ["echo"], fence),
    ]
    launches: list[float] = []
    for name, mode, order in rows:
        took = []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as folder:
                launched, gone = await once(Path(folder), mode, order)
                launches.append(launched)
                took.append(gone)
        show(name, took, yardstick)
    show("launch: spawn to attached", launches, yardstick)


if __name__ == "__main__":
    asyncio.run(main())
