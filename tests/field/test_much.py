"""Very much of something, as it stood in the way elsewhere: a session of a hundred megabytes in the list, eight in one
line while others read and write."""

import asyncio
import os
import signal
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.api import Said, Say, Stop
from store import entries, events, runs, settings
from store.db import read_ledger, write_ledger
from store.events import NewEvent
from store.open import BUSY_TIMEOUT_MS, connect
from store.tx import Tx
from store.vocab import RunId, TurnResultKind, TurnState
from tests.coordinator.held import holding, script
from tests.coordinator.weather import settled
from tests.store.scenes import NOON, Ticks, held, new_ledger, said

MEGABYTE = 1024 * 1024


@pytest.fixture
def a_hundred_megabytes(tmp_path: Path) -> Iterator[tuple[Path, RunId]]:
    """One session of that size, whose console was killed as it wrote: all of it is still in the WAL."""
    path = tmp_path / "ledger.db"
    path.write_bytes(new_ledger())
    pid = os.fork()
    if pid == 0:
        conn = connect(path)
        tx = Tx(conn, NOON)
        conn.execute("BEGIN IMMEDIATE")
        run, _ = held(tx)
        said(tx, run.id)
        body = '{"text":"' + "x" * (MEGABYTE // 16) + '"}'
        rows = [NewEvent(offset=n, n=0, turn=None, at=NOON, kind="text", body=body) for n in range(1600)]
        events.append(tx, run=run.id, rows=rows)
        conn.execute("COMMIT")
        conn.execute("BEGIN IMMEDIATE")
        settings.put(tx, "half", "done")
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert Path(f"{path}-wal").stat().st_size > 100 * MEGABYTE
    yield path, RunId(1)
    path.unlink()
    Path(f"{path}-wal").unlink(missing_ok=True)


def test_a_session_of_a_hundred_megabytes_that_was_killed_is_listed_at_once(
    a_hundred_megabytes: tuple[Path, RunId],
) -> None:
    """By what it costs the process, which no busy machine changes: well under a second, and none of its text."""
    path, run = a_hundred_megabytes
    began = time.process_time()
    tracemalloc.start()
    try:
        with read_ledger(path, now=Ticks()) as tx:
            (listed,) = runs.listing(tx)
            newest = events.page(tx, run, newest=True, limit=20)
            assert settings.get(tx, "half") is None and entries.newest(tx) is not None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert listed.id == run and listed.outcome is None, "how it ended is no reason not to be there"
    assert [one.offset for one in newest] == list(range(1580, 1600))
    assert time.process_time() - began < 1.0
    assert peak < 16 * MEGABYTE


async def test_eight_megabytes_in_one_line_keep_no_reader_and_no_other_writer_waiting(tmp_path: Path) -> None:
    """Four that read again and again, and another program that writes, while the console takes it all in: a ledger that
    was kept for half of the time that they have would be an error to them."""
    over = threading.Event()
    reads, writes = [0] * 4, [0]

    def reading(place: int) -> None:
        while not over.is_set():
            with read_ledger(tmp_path / "ledger.db", now=Ticks()) as tx:
                assert runs.listing(tx)
                events.has_kind(tx, RunId(1), "text")
            reads[place] += 1
            over.wait(0.1)

    def writing() -> None:
        while not over.is_set():
            with write_ledger(tmp_path / "ledger.db", now=Ticks(), busy_timeout_ms=BUSY_TIMEOUT_MS // 2) as tx:
                settings.put(tx, "n", str(writes[0]))
            writes[0] += 1
            over.wait(0.1)

    async with holding(tmp_path) as house:
        run = await house.start("go " + script({"text": "ready"}))
        await house.until(run, lambda v: v.turns and v.turns[0].state is TurnState.SETTLED)
        others = [asyncio.to_thread(reading, place) for place in range(4)] + [asyncio.to_thread(writing)]
        at_it = asyncio.gather(*others)
        try:
            much = "go " + script({"text": "x" * 8, "mul": MEGABYTE})
            assert isinstance(await house.do(Say(run=run, text=much)), Said)
            view = await house.until(run, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED, 30)
        finally:
            over.set()
            await at_it
        assert view.turns[1].result is TurnResultKind.SUCCESS
        kept = await house.coordinator.house.ledger.read(lambda tx: events.page(tx, run, newest=True, limit=50))
        assert max(len(one.body) for one in kept) > 8 * MEGABYTE
        assert all(reads) and writes[0], "they were at it"
        await house.do(Stop(run=run, kill=True))
        await settled(house, run)
