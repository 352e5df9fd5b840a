"""What a pass over the queue costs while 10,000 tasks wait, for each of the things that tasks wait for.

A pass asks the ledger on disk whether there is anything to claim. In each mix nothing is claimable, and then one task
more is, behind all the others: that claim is measured as it is made, with what it writes to the task, its operation
and the entries. Told against the least that looking at 10,000 keys of an index
takes in SQLite, because the machine is never twice the same.
"""

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from store import agentwaits, claims, operations, series, tasks
from store.canonical import dumps
from store.db import read_ledger
from store.identity import create
from store.migrate import migrate
from store.open import connect
from store.refusal import Refusal
from store.tasks import Task
from store.tx import Tx
from store.vocab import MicroUsd, Millis, OperationId, SeriesId, TaskId
from tests.bench.figures import Figure, median, middle, percentile, scaled
from tests.store.scenes import INCARNATION, NOON, Ticks, register

TASKS: Final = 10_000
PASSES: Final = 40
CLAIMS: Final = 15
GOAL_MS: Final = 5.0
HOUR: Final = 3_600_000


def put(
    tx: Tx,
    n: int,
    *,
    repository: str = "/src/roof",
    paths: tuple[str, ...] = ("slates",),
    agent: str = "claude",
    priority: int = 5,
    needs: tuple[TaskId, ...] = (),
    signed: bool = True,
    lasts: int = HOUR,
) -> TaskId:
    """One task in line, agreed to."""
    task = tasks.add(
        tx, title=f"slate {n}", instruction="Mend it. " * 40, repository=repository, paths=dumps(paths),
        wishes=dumps({"agent": agent}), priority=priority, needs=needs, operator="ada",
    )  # fmt: skip
    assert not isinstance(task, Refusal)
    if signed:
        sign(tx, task, lasts=lasts)
    return task.id


def sign(tx: Tx, task: Task, *, lasts: int) -> None:
    id = SeriesId(f"series-{task.id}")
    series.sign(
        tx, id=id, task=task.id, revision=task.revision, terms="{}", digest="d", attempts=3, budget=MicroUsd(5_000_000),
        operator="ada", expires_at=Millis(NOON + lasts),
    )  # fmt: skip
    assert tasks.attach_series(tx, id=task.id, revision=task.revision, series=id) is not None


def claim(tx: Tx, name: str) -> Task | None:
    operations.begin(tx, id=OperationId(name), incarnation=INCARNATION)
    return claims.take(
        tx, operation=OperationId(name), token=f"token-{name}", incarnation=INCARNATION, machine="machine-1", uid=1000
    )


def at_work(tx: Tx, repository: str, *paths: str) -> None:
    """A task that is worked at, and reserves these."""
    task = put(tx, 0, repository=repository, paths=paths, priority=1_000)
    claimed = claim(tx, f"at-work-{task}")
    assert claimed is not None and claimed.id == task


def dependent(tx: Tx) -> None:
    first = put(tx, 0, signed=False)
    for n in range(TASKS):
        put(tx, n, needs=(first,))


def reserved_whole(tx: Tx) -> None:
    at_work(tx, "/src/roof", ".")
    for n in range(TASKS):
        put(tx, n, paths=(f"slates/{n}",))


def reserved_part(tx: Tx) -> None:
    """Each reserves a place of its own, below one that is worked at; work goes on in eight places."""
    at_work(tx, "/src/roof", "slates")
    for n in range(7):
        at_work(tx, "/src/roof", f"gutter/{n}")
    for n in range(TASKS):
        put(tx, n, paths=(f"slates/{n}",))


def reserved_several(tx: Tx) -> None:
    """As before, and each reserves two places more in which nothing goes on."""
    at_work(tx, "/src/roof", "slates")
    for n in range(TASKS):
        put(tx, n, paths=(f"slates/{n}", f"walls/{n}", f"windows/{n}"))


def reserved_last(tx: Tx) -> None:
    """The worst for it: of three places each only the last is reserved."""
    at_work(tx, "/src/roof", "walls")
    for n in range(TASKS):
        put(tx, n, paths=(f"slates/{n}", f"tiles/{n}", f"walls/{n}"))


def unsigned(tx: Tx) -> None:
    for n in range(TASKS):
        put(tx, n, signed=False)


def run_out(tx: Tx) -> None:
    for n in range(TASKS):
        put(tx, n, lasts=1)


def agent_waits(tx: Tx) -> None:
    for n in range(TASKS):
        put(tx, n, agent="codex")
    agentwaits.wait(tx, agent="codex", reason="rate-limited", until=Millis(NOON + HOUR), run=None)


def not_before(tx: Tx) -> None:
    for n in range(TASKS):
        put(tx, n)
    # As releases leave them, without ten thousand claims: what is measured is the line.
    tx.conn.execute("UPDATE tasks SET not_before = :at", {"at": NOON + HOUR})


def kept_back(tx: Tx) -> None:
    for n in range(TASKS):
        tasks.hold(tx, id=put(tx, n), held=True)


def all_of_it(tx: Tx) -> None:
    """A bit of each, in eight repositories, work going on in each of them."""
    for n in range(8):
        at_work(tx, f"/src/{n}", f"slates/{n}")
    first = put(tx, 0, signed=False)
    agentwaits.wait(tx, agent="codex", reason="authentication", until=None, run=None)
    for n in range(TASKS):
        repository = f"/src/{n % 8}"
        match n // 8 % 6:
            case 0:
                put(tx, n, repository=repository, needs=(first,))
            case 1:
                put(tx, n, repository=repository, paths=("slates",))
            case 2:
                put(tx, n, repository=repository, paths=(f"slates/{n % 8}/{n}",))
            case 3:
                put(tx, n, repository=repository, paths=(f"walls/{n}",), agent="codex")
            case 4:
                put(tx, n, repository=f"{repository}/other", agent="codex")
            case _:
                put(tx, n, repository=repository, signed=False)


def nothing(_tx: Tx) -> None:
    pass


MIXES: Final[dict[str, Callable[[Tx], None]]] = {
    "none at all": nothing,
    "what it needs": dependent,
    "the whole repository is worked at": reserved_whole,
    "its place is worked at": reserved_part,
    "the first of its places is worked at": reserved_several,
    "the last of its places is worked at": reserved_last,
    "being agreed to": unsigned,
    "its terms have run out": run_out,
    "its agent": agent_waits,
    "its time": not_before,
    "the operator keeps it back": kept_back,
    "a bit of each": all_of_it,
}


WORST: Final = "the last of its places is worked at"
"""Told without a goal: each of ten thousand tasks has to reserve several places, and the first has to be free."""


def ledger(path: Path, mix: Callable[[Tx], None]) -> None:
    path.touch(mode=0o600)
    conn = connect(path)
    try:
        migrate(conn)
        conn.execute("PRAGMA synchronous = OFF")
        conn.execute("BEGIN IMMEDIATE")
        tx = Tx(conn, NOON)
        create(tx, id="ledger-1", machine="machine-1", digest_key="key")
        register(tx)
        mix(tx)
        conn.execute("COMMIT")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        conn.close()


def looked(path: Path) -> list[float]:
    """Passes that find nothing. Milliseconds each."""
    times = []
    with read_ledger(path, now=lambda: Millis(NOON + 10)) as tx:
        for _ in range(PASSES):
            begun = time.perf_counter()
            found = claims.claimable(tx)
            times.append(time.perf_counter() - begun)
            assert found is None, found
    return scaled(times, 1_000)


def claimed(path: Path) -> list[float]:
    """Claims of the one that is behind all the others, on a connection that is open as a console's is. Milliseconds
    each, without the sync that makes it durable (``bench_store``)."""
    ticks = Ticks()
    times = []
    with closing(connect(path)) as conn:
        for n in range(CLAIMS):
            operation, token = OperationId(f"claim-{n}"), f"token-{n}"
            with transaction(conn, ticks) as tx:
                last = put(tx, TASKS + n, repository="/src/last", paths=("last",), priority=0)
                operations.begin(tx, id=operation, incarnation=INCARNATION)
            with transaction(conn, ticks) as tx:
                begun = time.perf_counter()
                found = claims.take(
                    tx, operation=operation, token=token, incarnation=INCARNATION, machine="machine-1", uid=1000
                )
                times.append(time.perf_counter() - begun)
            assert found is not None and found.id == last
            with transaction(conn, ticks) as tx:
                assert claims.release(tx, task=last, token=token, counted=True) is not None
                assert not isinstance(tasks.remove(tx, id=last), Refusal)
    return scaled(times, 1_000)


@contextmanager
def transaction(conn: sqlite3.Connection, ticks: Ticks) -> Iterator[Tx]:
    conn.execute("BEGIN IMMEDIATE")
    yield Tx(conn, ticks())
    conn.execute("COMMIT")


def keys(folder: Path) -> float:
    """Milliseconds in which SQLite looks at so many keys of an index and compares one number of each."""
    conn = sqlite3.connect(folder / "keys.db")
    try:
        conn.execute("CREATE TABLE keys (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER)")
        conn.execute("CREATE INDEX by_a ON keys (a, b)")
        conn.executemany("INSERT INTO keys (a, b) VALUES (5, ?)", [(n,) for n in range(TASKS)])
        conn.commit()
        times = []
        for _ in range(PASSES):
            begun = time.perf_counter()
            assert conn.execute("SELECT b FROM keys WHERE a = 5 AND b < 0 OR a = 5 AND b < -1").fetchone() is None
            conn.execute("SELECT count(*) FROM keys INDEXED BY by_a WHERE b <> 7").fetchone()
            times.append(time.perf_counter() - begun)
        return median(times) * 1_000
    finally:
        conn.close()


def measure() -> list[Figure]:
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        least = keys(folder)
        figures.append(Figure(name=f"{TASKS:,} keys of an index, looked at by SQLite", value=least))
        for what, mix in MIXES.items():
            path = folder / "ledger.db"
            ledger(path, mix)
            found, taken, goal = looked(path), claimed(path), None if what == WORST else GOAL_MS
            figures.append(middle(f"a pass, all wait for: {what}", found, goal=goal))
            figures.append(Figure(name="   p95", value=percentile(found, 0.95)))
            figures.append(Figure(name="   in looks at so many keys", value=median(found) / least, unit="×"))
            figures.append(middle("   one claimed from behind them", taken, goal=goal))
            for file in folder.glob("ledger.db*"):
                file.unlink()
    return figures
