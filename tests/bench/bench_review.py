"""A ledger of a million events, opened for a review: how long until there is something to see, a page, a search.

Cold is as after a start of the machine, as far as that can be had without privileges: the file's pages are dropped from
the system's cache, and the process is a new one.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from coordinator.api import ReadTranscript
from coordinator.review import filters, reading
from coordinator.review.source import reading_for_review
from coordinator.review.types import RunFilter, Sort, SpendBy
from store.tx import Tx
from store.vocab import Millis, RunId
from tests.bench.bigledger import BEGAN, MILLION, RARE, make
from tests.bench.figures import PYTHON, Figure, median, percentile, python_pass

ROOT = Path(__file__).parents[2]
LARGEST = RunId(3)
PAGE = 200
"""Events of a page: more than any screen has rows."""
ROUNDS = 25
COLD_ROUNDS = 5


def line(text: str) -> RunFilter:
    found = filters.parse(text)
    assert isinstance(found, RunFilter)
    return found


def newest_events(tx: Tx) -> None:
    assert len(reading.feed(tx, ReadTranscript(run=LARGEST, limit=PAGE)).events) > 50


def middle_events(tx: Tx) -> None:
    """Somewhere in a tenth of a million, as a jump from a search goes."""
    around = (300 * 50_000, 0)
    assert len(reading.feed(tx, ReadTranscript(run=LARGEST, around=around, limit=PAGE)).events) > 50


def newest_hits(tx: Tx) -> None:
    assert len(reading.search(tx, line("the")).hits) == 50


def rare_hits(tx: Tx) -> None:
    assert reading.search(tx, line(RARE)).hits


def phrase_hits(tx: Tx) -> None:
    assert len(reading.search(tx, line('"the test"')).hits) == 50


def hits_with_fields(tx: Tx) -> None:
    assert len(reading.search(tx, line("the repo:ledger tool:Bash")).hits) == 50


def first_page(tx: Tx) -> None:
    assert len(reading.runs(tx).rows) == 50


def by_cost(tx: Tx) -> None:
    assert len(reading.runs(tx, sort=Sort.COST).rows) == 50


def with_fields_and_words(tx: Tx) -> None:
    assert reading.runs(tx, line("repo:orders outcome:interrupted cost:>1 expires")).rows


def one_run(tx: Tx) -> None:
    reading.run_page(tx, RunId(1_000))


def days(tx: Tx) -> None:
    assert reading.spend(tx, SpendBy.DAY)


LOOKS: dict[str, Callable[[Tx], None]] = {
    look.__name__: look
    for look in (
        first_page, newest_events, middle_events, newest_hits, rare_hits, phrase_hits, hits_with_fields, by_cost,
        with_fields_and_words, one_run, days,
    )
}  # fmt: skip


def now() -> Millis:
    return Millis(BEGAN + 10**11)


def forget(path: Path) -> None:
    """Drop what the system keeps of the file."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


def timed(look: Callable[[Tx], None], tx: Tx) -> float:
    begun = time.perf_counter()
    look(tx)
    return time.perf_counter() - begun


def child(path: Path, name: str) -> float:
    """In a new process: the look alone, in seconds."""
    told = subprocess.run(
        [PYTHON, "-m", "tests.bench.bench_review", str(path), name],
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{sysconfig.get_path('purelib')}"},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    return float(json.loads(told.stdout))


def cold(path: Path, name: str) -> float:
    forget(path)
    return child(path, name)


def opened(path: Path) -> float:
    """From the prompt to the first page of runs, a process and its imports included; seconds."""
    begun = time.perf_counter()
    child(path, "first_page")
    return time.perf_counter() - begun


def measured(path: Path) -> list[Figure]:
    p = python_pass()
    start = [opened(path) for _ in range(7)]
    unread = {
        name: [cold(path, name) for _ in range(COLD_ROUNDS)]
        for name in ("first_page", "newest_events", "middle_events", "newest_hits")
    }
    opening = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        with reading_for_review(path, now=now) as (tx, _):
            first_page(tx)
        opening.append(time.perf_counter() - begun)
    with reading_for_review(path, now=now) as (tx, _):
        warm = {name: [timed(look, tx) for _ in range(ROUNDS if name != "days" else 3)] for name, look in LOOKS.items()}

    def ms(times: list[float]) -> float:
        return median(times) * 1000

    return [
        Figure(name="python -c pass, P", value=p * 1000),
        Figure(name="the ledger", value=path.stat().st_size / MILLION, unit="MB"),
        Figure(name="a new process, to its first page of runs", value=median(start) / p, unit="P", goal=26.0),
        Figure(name="open it and read the first page of runs, warm", value=ms(opening)),
        Figure(name="first page of runs, warm", value=ms(warm["first_page"]), goal=5.0),
        Figure(name="   cold", value=ms(unread["first_page"]), goal=40.0),
        Figure(name=f"newest {PAGE} events of {MILLION // 10:,}, warm", value=ms(warm["newest_events"]), goal=5.0),
        Figure(name="   p95", value=percentile(warm["newest_events"], 0.95) * 1000),
        Figure(name="   cold", value=ms(unread["newest_events"]), goal=40.0),
        Figure(name=f"{PAGE} events in the middle, warm", value=ms(warm["middle_events"]), goal=5.0),
        Figure(name="   cold", value=ms(unread["middle_events"]), goal=40.0),
        Figure(name="search, newest 50 with bodies, warm", value=ms(warm["newest_hits"]), goal=5.0),
        Figure(name="   cold", value=ms(unread["newest_hits"]), goal=40.0),
        Figure(name="   of a rare word", value=ms(warm["rare_hits"]), goal=5.0),
        Figure(name="   of a phrase", value=ms(warm["phrase_hits"]), goal=5.0),
        Figure(name="   with fields", value=ms(warm["hits_with_fields"])),
        Figure(name="runs by cost", value=ms(warm["by_cost"])),
        Figure(name="runs with fields and a word", value=ms(warm["with_fields_and_words"])),
        Figure(name="a run's page", value=ms(warm["one_run"])),
        Figure(name="spend by day, all of it", value=ms(warm["days"])),
    ]


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        path = make(Path(folder) / "ledger.db")
        made = Figure(name=f"make a ledger of {MILLION:,} events", value=time.perf_counter() - begun, unit="s")
        return [made, *measured(path)]


if __name__ == "__main__":
    with reading_for_review(Path(sys.argv[1]), now=now) as (opened_tx, _):
        print(json.dumps(timed(LOOKS[sys.argv[2]], opened_tx)))
