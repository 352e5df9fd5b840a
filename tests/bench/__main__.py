"""Every bench, one after the other: ``python -m tests.bench [NAME…] [--json PATH] [--strict]``, or ``make bench``.

Each bench is a module ``bench_NAME`` with ``measure()``, loaded only when its turn comes: what one of them imports must
not slow down another. What was measured is written as JSON in any case (``record``), for ``compare``.
"""

import argparse
import importlib
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import record
from tests.bench.figures import Figure, show

BENCHES = {
    "start": "From the shell prompt to the screen",
    "store": "The ledger",
    "queue": "Ten thousand tasks that wait",
    "hold": "Through the real coordinator and the real console",
    "holds": "Sessions at rest",
    "poke": "Commands from another process",
    "stop": "The keeper process alone",
    "stop_keys": "The stop key while everything is busy",
    "driver": "Reading what an agent prints",
    "review": "Reviewing a ledger of a million events",
    "growth": "The same work as the ledger grows",
    "transcript": "The conversation on the screen",
    "import": "Reading in transcripts",
    "console": "The console in a terminal, with a million lines behind it",
}


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.bench", description=(__doc__ or "").splitlines()[0])
    options.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}; all when none is given")
    options.add_argument(
        "--json",
        type=Path,
        metavar="PATH",
        help=f"where the figures go; else ${record.VARIABLE}, else a file in .bench/",
    )
    options.add_argument("--strict", action="store_true", help="exit with 1 when a goal is missed")
    given = options.parse_args()
    unknown = [name for name in given.names if name not in BENCHES]
    if unknown:
        options.error(f"no bench {unknown[0]!r}; there are {', '.join(BENCHES)}")
    at, begun, load = datetime.now(UTC), time.perf_counter(), os.getloadavg()[0]
    sticks = record.yardsticks()
    found: dict[str, list[Figure]] = {}
    for name in given.names or BENCHES:
        found[name] = importlib.import_module(f"tests.bench.bench_{name}").measure()
        show(BENCHES[name], found[name])
    every = [figure for figures in found.values() for figure in figures]
    held = [figure for figure in every if figure.met is not None]
    missed = [figure for figure in held if not figure.met]
    took, loads = time.perf_counter() - begun, (load, os.getloadavg()[0])
    path = given.json or record.default_path(at)
    record.write(path, found, begun=at, seconds=took, loads=loads, sticks=sticks)
    print(
        f"\n{len(held) - len(missed)} of {len(held)} goals met, in {took:.0f} s; load {loads[0]:.1f} to {loads[1]:.1f}"
    )
    print(f"written to {path}")
    return 1 if missed and given.strict else 0


if __name__ == "__main__":
    sys.exit(main())
