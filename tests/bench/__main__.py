"""Every bench, one after the other: ``python -m tests.bench [NAME…] [--json PATH] [--strict]``, or ``make bench``.

Each bench is a module ``bench_NAME`` with ``measure()``, loaded only when its turn comes: what one of them imports must
not slow down another.
"""

import argparse
import importlib
import json
import os
import platform
import sqlite3
import sys
import time
from pathlib import Path

from tests.bench.figures import Figure, as_data, show

BENCHES = {
    "start": "From the shell prompt to the screen",
    "store": "The ledger",
    "hold": "Through the real coordinator and the real console",
    "poke": "Commands from another process",
    "stop": "The keeper process alone",
    "stop_keys": "The stop key while everything is busy",
    "driver": "Reading what an agent prints",
    "review": "Reviewing a ledger of a million events",
    "transcript": "The conversation on the screen",
    "import": "Reading in transcripts",
    "console": "The console in a terminal, with a million lines behind it",
}


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.bench", description=(__doc__ or "").splitlines()[0])
    options.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}; all when none is given")
    options.add_argument("--json", type=Path, metavar="PATH", help="write the figures there too")
    options.add_argument("--strict", action="store_true", help="exit with 1 when a goal is missed")
    given = options.parse_args()
    unknown = [name for name in given.names if name not in BENCHES]
    if unknown:
        options.error(f"no bench {unknown[0]!r}; there are {', '.join(BENCHES)}")
    begun = time.perf_counter()
    found: dict[str, list[Figure]] = {}
    for name in given.names or BENCHES:
        found[name] = importlib.import_module(f"tests.bench.bench_{name}").measure()
        show(BENCHES[name], found[name])
    every = [figure for figures in found.values() for figure in figures]
    held = [figure for figure in every if figure.met is not None]
    missed = [figure for figure in held if not figure.met]
    took = time.perf_counter() - begun
    print(f"\n{len(held) - len(missed)} of {len(held)} goals met, in {took:.0f} s; load {os.getloadavg()[0]:.1f}")
    if given.json:
        machine = {
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            "system": platform.system(),
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
        }
        data = {"machine": machine, "seconds": took, "benches": {n: as_data(f) for n, f in found.items()}}
        given.json.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 1 if missed and given.strict else 0


if __name__ == "__main__":
    sys.exit(main())
