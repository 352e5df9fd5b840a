"""A ledger of a million events, opened for a review: how long until there is something to see, a page, a search.

Cold is as after a start of the machine, as far as that can be had without privileges: the file's pages are dropped from
the system's cache, and the process is a new one.
"""

import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from coordinator.api import ReadTranscript
from coordinator.review import filters, reading
from coordinator.review.source import reading_for_review
from coordinator.review.types import RunFilter, Sort, SpendBy
from store.open import connect
from store.tx import Tx
from store.vocab import Millis, RunId
from tests.bench.bench_start import CONSOLE, on_a_terminal
from tests.bench.bigledger import BEGAN, MILLION, RARE, made
from tests.bench.figures import PYTHON, Figure, middle, python_pass, scaled, upper

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


def painted(path: Path) -> float:
    """From the prompt to the newest run's title on the terminal, by ``footplate review``; seconds."""
    with closing(connect(path, mode="ro")) as conn:
        (title,) = conn.execute("SELECT title FROM runs ORDER BY id DESC LIMIT 1").fetchone()
    words = str(title).split()[0].encode()
    _, frame = on_a_terminal(path.parent / "home", path.parent, *CONSOLE, "review", str(path), words=words)
    assert frame is not None, f"{words!r} was never seen"
    return frame


def measured(path: Path) -> list[Figure]:
    p = python_pass()
    start = [opened(path) for _ in range(7)]
    seen = [painted(path) for _ in range(7)]
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

    return [
        Figure(name="python -c pass, P", value=p * 1000),
        Figure(name="the ledger", value=path.stat().st_size / MILLION, unit="MB"),
        middle("a new process, to its first page of runs", scaled(start, 1 / p), unit="P", goal=26.0),
        middle("   painted: `footplate review` on a terminal", scaled(seen, 1 / p), unit="P", goal=26.0),
        middle("open it and read the first page of runs, warm", scaled(opening, 1000)),
        middle("first page of runs, warm", scaled(warm["first_page"], 1000), goal=5.0),
        middle("   cold", scaled(unread["first_page"], 1000), goal=40.0),
        middle(f"newest {PAGE} events of {MILLION // 10:,}, warm", scaled(warm["newest_events"], 1000), goal=5.0),
        upper("   p95", scaled(warm["newest_events"], 1000), 0.95),
        middle("   cold", scaled(unread["newest_events"], 1000), goal=40.0),
        middle(f"{PAGE} events in the middle, warm", scaled(warm["middle_events"], 1000), goal=5.0),
        middle("   cold", scaled(unread["middle_events"], 1000), goal=40.0),
        middle("search, newest 50 with bodies, warm", scaled(warm["newest_hits"], 1000), goal=5.0),
        middle("   cold", scaled(unread["newest_hits"], 1000), goal=40.0),
        middle("   of a rare word", scaled(warm["rare_hits"], 1000), goal=5.0),
        middle("   of a phrase", scaled(warm["phrase_hits"], 1000), goal=5.0),
        middle("   with fields", scaled(warm["hits_with_fields"], 1000)),
        middle("runs by cost", scaled(warm["by_cost"], 1000)),
        middle("runs with fields and a word", scaled(warm["with_fields_and_words"], 1000)),
        middle("a run's page", scaled(warm["one_run"], 1000)),
        middle("spend by day, all of it", scaled(warm["days"], 1000)),
    ]


def measure() -> list[Figure]:
    begun = time.perf_counter()
    path = made()
    took = Figure(name=f"make a ledger of {MILLION:,} events", value=time.perf_counter() - begun, unit="s")
    return [took, *measured(path)]


if __name__ == "__main__":
    with reading_for_review(Path(sys.argv[1]), now=now) as (opened_tx, _):
        print(json.dumps(timed(LOOKS[sys.argv[2]], opened_tx)))
