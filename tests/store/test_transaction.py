"""``Ledger.transaction``: whole or not at all, whoever asks, whoever is cancelled, whoever else writes."""

import asyncio
import gc
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from store import settings
from store.db import Ledger, LedgerBusy, StorageFault, read_ledger, write_ledger
from store.refusal import Refusal
from store.tx import Tx
from store.verify import verify
from store.vocab import RefusalReason
from tests.store.scenes import Ticks, open_ledger
from tests.waiting import eventually


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    opened = await open_ledger(tmp_path / "data" / "ledger.db", busy_timeout_ms=150)
    yield opened
    await opened.close()


@contextmanager
def held_from_outside(path: Path) -> Iterator[sqlite3.Connection]:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield other
    finally:
        other.close()


async def value(ledger: Ledger, name: str) -> str | None:
    return await ledger.read(lambda tx: settings.get(tx, name))


async def test_commits_what_the_body_did_and_returns_what_it_gave(ledger: Ledger) -> None:
    row = await ledger.transaction(lambda tx: settings.put(tx, "admission", "open"))
    assert not isinstance(row, Refusal)
    assert row.value == "open"
    assert await value(ledger, "admission") == "open"


async def test_a_refusal_after_a_write_rolls_back(ledger: Ledger) -> None:
    def body(tx: Tx) -> Refusal | None:
        settings.put(tx, "admission", "shut")
        return Refusal(RefusalReason.STOPPED, {"run": 3})

    before = await ledger.read(lambda tx: tx.conn.execute("SELECT count(*) FROM entries").fetchone())
    assert await ledger.transaction(body) == Refusal(RefusalReason.STOPPED, {"run": 3})
    assert await value(ledger, "admission") is None
    assert await ledger.read(lambda tx: tx.conn.execute("SELECT count(*) FROM entries").fetchone()) == before


async def test_an_exception_rolls_back_and_leaves_the_writer_usable(ledger: Ledger) -> None:
    def body(tx: Tx) -> None:
        settings.put(tx, "admission", "shut")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await ledger.transaction(body)
    assert await value(ledger, "admission") is None
    await ledger.transaction(lambda tx: settings.put(tx, "admission", "open"))
    assert await value(ledger, "admission") == "open"


async def test_what_may_not_wait_comes_before_all_that_waits(ledger: Ledger) -> None:
    begun, free, order = threading.Event(), threading.Event(), list[str]()

    def slow(tx: Tx) -> None:
        begun.set()
        free.wait(10)
        order.append("slow")

    at_work = asyncio.ensure_future(ledger.transaction(slow))
    await eventually(begun.is_set)
    waiting = [
        asyncio.ensure_future(ledger.transaction(lambda tx, name=name: order.append(name)))  # type: ignore[misc]
        for name in ("one", "two")
    ]
    await asyncio.sleep(0)
    stop = asyncio.ensure_future(ledger.transaction(lambda tx: order.append("stop"), first=True))
    await asyncio.sleep(0)
    free.set()
    await asyncio.gather(at_work, stop, *waiting)
    assert order == ["slow", "stop", "one", "two"]


async def test_a_constraint_is_a_bug_and_not_a_fault_of_the_disk(ledger: Ledger) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        await ledger.transaction(lambda tx: tx.conn.execute("INSERT INTO drafts VALUES (NULL, 'x', 1)").fetchall())


async def test_a_reader_cannot_write_and_sees_one_state(ledger: Ledger) -> None:
    with pytest.raises((sqlite3.OperationalError, StorageFault)):
        await ledger.read(lambda tx: settings.put(tx, "admission", "open"))
    inside = threading.Event()
    written = threading.Event()

    def look(tx: Tx) -> tuple[str | None, str | None]:
        first = settings.get(tx, "a")
        inside.set()
        assert written.wait(10)
        return first, settings.get(tx, "a")

    reading = asyncio.create_task(ledger.read(look))
    await eventually(inside.is_set)
    await ledger.transaction(lambda tx: settings.put(tx, "a", "1"))
    written.set()
    assert await reading == (None, None)
    assert await value(ledger, "a") == "1"


async def test_pragmas_of_the_writer(ledger: Ledger) -> None:
    asked = ("journal_mode", "synchronous", "foreign_keys", "recursive_triggers", "wal_autocheckpoint")

    def look(tx: Tx) -> list[object]:
        return [tx.conn.execute(f"PRAGMA {name}").fetchone()[0] for name in asked]

    assert await ledger.transaction(look) == ["wal", 2, 1, 1, 0]


async def test_files_are_private(ledger: Ledger) -> None:
    await ledger.transaction(lambda tx: settings.put(tx, "a", "1"))
    folder = ledger.path.parent
    assert folder.stat().st_mode & 0o777 == 0o700
    modes = {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}
    assert modes == dict.fromkeys(("ledger.db", "ledger.db-wal", "ledger.db-shm"), 0o600)


@pytest.mark.parametrize("seed", range(8))
async def test_cancelled_callers_tear_nothing_and_lose_no_ack(tmp_path: Path, seed: int) -> None:
    ledger = await open_ledger(tmp_path / "ledger.db")
    await ledger.transaction(
        lambda tx: tx.conn.execute("CREATE TABLE legs (op INTEGER, leg INTEGER) STRICT").fetchall()
    )
    chance = random.Random(seed)
    acked: set[int] = set()
    refused: set[int] = set()

    async def operation(op: int) -> None:
        def body(tx: Tx) -> Refusal | None:
            for leg in range(3):
                tx.conn.execute("INSERT INTO legs VALUES (:op, :leg)", {"op": op, "leg": leg})
            return Refusal(RefusalReason.PAUSED) if op % 7 == 0 else None

        answer = await ledger.transaction(body)
        (refused if isinstance(answer, Refusal) else acked).add(op)

    tasks = [asyncio.create_task(operation(op)) for op in range(60)]
    for task in chance.sample(tasks, 30):
        for _ in range(chance.randrange(12)):
            await asyncio.sleep(0)
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    bystanders = [
        one for one in ended if isinstance(one, BaseException) and not isinstance(one, asyncio.CancelledError)
    ]
    assert bystanders == []

    def found(tx: Tx) -> dict[int, int]:
        return dict(tx.conn.execute("SELECT op, count(*) FROM legs GROUP BY op").fetchall())

    legs = await ledger.read(found)
    assert set(legs.values()) <= {3}, "a torn transaction"
    assert acked <= set(legs), "acknowledged and lost"
    assert not any(op % 7 == 0 for op in legs), "refused and kept"
    assert await ledger.transaction(lambda tx: tx.conn.in_transaction) is True
    await ledger.close()


async def test_cancel_reaches_the_caller_only_after_the_commit(ledger: Ledger) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def body(tx: Tx) -> None:
        settings.put(tx, "a", "1")
        entered.set()
        assert go_on.wait(10)

    task = asyncio.create_task(ledger.transaction(body))
    await eventually(entered.is_set)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done(), "cancelled in the middle of a transaction"
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await value(ledger, "a") == "1"


async def test_a_ledger_held_by_another_writer_is_busy_and_then_free_again(ledger: Ledger) -> None:
    ran: list[int] = []

    def body(tx: Tx) -> None:
        ran.append(1)
        settings.put(tx, "a", "1")

    with held_from_outside(ledger.path):
        with pytest.raises(LedgerBusy) as caught:
            await ledger.transaction(body)
        assert caught.value.refusal.reason is RefusalReason.LEDGER_BUSY
        assert ran == [], "a body must not run before the transaction is ours"
        assert await value(ledger, "a") is None, "reading goes on"
    await ledger.transaction(body)
    assert ran == [1]
    assert await value(ledger, "a") == "1"


async def test_waits_for_another_writer_that_ends_in_time(tmp_path: Path) -> None:
    ledger = await open_ledger(tmp_path / "ledger.db", busy_timeout_ms=10_000)
    with held_from_outside(ledger.path) as other:
        task = asyncio.create_task(ledger.transaction(lambda tx: settings.put(tx, "a", "1")))
        await eventually(lambda: ledger._writer._tx.empty())  # type: ignore[attr-defined]
        other.execute("ROLLBACK")
        assert not isinstance(await task, Refusal)
    await ledger.close()


async def test_two_ledgers_and_a_command_on_one_file(tmp_path: Path) -> None:
    first, second = await asyncio.gather(*(open_ledger(tmp_path / "ledger.db") for _ in range(2)))
    assert first.id == second.id, "two consoles that start at once make one ledger"

    async def count_up(ledger: Ledger, times: int) -> None:
        for _ in range(times):
            await ledger.transaction(
                lambda tx: settings.put(tx, "n", str(int(settings.get(tx, "n") or 0) + 1)),
            )

    await asyncio.gather(count_up(first, 20), count_up(second, 20))
    with write_ledger(first.path, now=Ticks()) as tx:
        settings.put(tx, "n", str(int(settings.get(tx, "n") or 0) + 1))
    assert await value(first, "n") == "41"
    with read_ledger(first.path, now=Ticks()) as tx:
        assert settings.get(tx, "n") == "41"
    await first.close()
    await second.close()


def test_write_ledger_rolls_back_when_its_block_raises(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    asyncio.run(_made(path))
    with pytest.raises(ZeroDivisionError), write_ledger(path, now=Ticks()) as tx:
        settings.put(tx, "a", "1")
        raise ZeroDivisionError
    with read_ledger(path, now=Ticks()) as tx:
        assert settings.get(tx, "a") is None


async def _made(path: Path) -> None:
    await (await open_ledger(path)).close()


async def test_the_wal_is_brought_into_the_file_when_idle(ledger: Ledger) -> None:
    before = ledger.path.stat().st_size
    await ledger.transaction(lambda tx: settings.put(tx, "long", "x" * 200_000))
    assert ledger.path.stat().st_size == before, "not in the committing thread"
    await eventually(lambda: ledger.path.stat().st_size > before, what="a checkpoint")


async def test_close_ends_every_thread_and_is_harmless_twice(tmp_path: Path) -> None:
    before = threading.active_count()
    ledger = await open_ledger(tmp_path / "ledger.db")
    await ledger.transaction(lambda tx: settings.put(tx, "a", "1"))
    await ledger.close()
    await ledger.close()
    await eventually(lambda: threading.active_count() <= before)
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.db"], "the WAL is in the file"
    gc.collect()


FORGETFUL = """
import asyncio, sys
from pathlib import Path
from tests.store.scenes import open_ledger

async def main():
    global ledger
    ledger = await open_ledger(Path(sys.argv[1]))
    raise ZeroDivisionError

asyncio.run(main())
"""


def test_a_console_that_dies_without_closing_does_not_hang(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", FORGETFUL, str(tmp_path / "ledger.db")]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=30)
    assert ended.returncode == 1
    assert "ZeroDivisionError" in ended.stderr


WRITER = """
import asyncio, sys
from pathlib import Path
from store import settings
from tests.store.scenes import open_ledger

async def main():
    ledger = await open_ledger(Path(sys.argv[1]))
    for number in range(1, 1_000_000):
        await ledger.transaction(lambda tx: settings.put(tx, "n", str(number)))
        print(number, flush=True)

asyncio.run(main())
"""


def killed_while_it_writes(path: Path) -> int:
    """The last number that a writer acknowledged before it was killed."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        acked = 0
        for line in process.stdout:
            acked = int(line)
            if acked == 25:
                process.kill()  # what it acknowledged until then is still in the pipe, and read
    return acked


async def test_a_console_killed_while_it_writes_has_lost_no_ack(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    acked = await asyncio.to_thread(killed_while_it_writes, path)
    ledger = await open_ledger(path)
    kept = int(await value(ledger, "n") or 0)
    assert acked >= 25
    assert acked <= kept <= acked + 1
    assert await ledger.read(verify) is None
    await ledger.close()
