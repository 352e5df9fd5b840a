"""Two hundred consoles killed at random moments of runs that stream, and what was found afterwards.

Counted by three who know nothing of each other: the ledger, the keeper process's spool, and the agent's own diary.
"""

import asyncio
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.figures import Figure, show
from tests.faults import streaming
from tests.faults.consoles import Consoles

RUNS = int(os.environ.get("FOOTPLATE_SOAK_RUNS", "10"))
KILLS = 20
"""Consoles that one run outlives."""


async def _soak() -> streaming.Count:
    consoles, total = Consoles(), streaming.Count()
    try:
        for seed in range(RUNS):
            with tempfile.TemporaryDirectory() as folder:
                total.add(await streaming.killed(consoles, Path(folder), kills=KILLS, chance=random.Random(seed)))
    finally:
        consoles.close()
    return total


def measure() -> list[Figure]:
    """All figures. An invariant that does not hold ends it with what was seen."""
    begun = time.perf_counter()
    count = asyncio.run(_soak())
    return [
        Figure(name="kill -9 of the console", value=count.kills, unit="", note=f"{RUNS} runs"),
        Figure(name="turns that streamed meanwhile", value=count.turns, unit=""),
        Figure(name="events in the ledger", value=count.events, unit=""),
        Figure(name="of these doubled or missing", value=count.doubled_or_missing, unit="", goal=0),
        Figure(name="answers that the agent heard", value=count.answers, unit=""),
        Figure(name="of these heard twice", value=count.answered_twice, unit="", goal=0),
        Figure(name="turns and answers left uncertain", value=count.uncertain, unit="", goal=0),
        Figure(name="processes alive after settlement", value=count.alive, unit="", goal=0),
        Figure(name="seconds in all", value=time.perf_counter() - begun, unit="s"),
    ]


if __name__ == "__main__":
    show("Consoles killed at random", measure())
    sys.exit(0)
