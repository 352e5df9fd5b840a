"""A ledger is read where it lies and as it lies: whatever became of it, not a byte of it or beside it is changed, and
there is one sentence where it cannot be read."""

import hashlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.wording import forbidden_in, sentence
from store import events, migrate
from store.db import LedgerBusy, LedgerFault, LedgerUnreadable, read_ledger, write_ledger
from store.open import connect
from store.tx import Tx
from store.verify import verify
from store.vocab import RefusalReason
from tests.store.scenes import Ticks, event, held, open_ledger, register, said

NOBODY = 65534


def picture(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Every file of a folder: its bytes, its time, its mode."""
    return {
        one.name: (hashlib.sha256(one.read_bytes()).hexdigest(), one.stat().st_mtime_ns, one.stat().st_mode)
        for one in sorted(folder.iterdir())
        if one.is_file()
    }


def scene(tx: Tx) -> None:
    register(tx)
    run, _ = held(tx)
    said(tx, run.id, text="mend the roof")
    events.append(tx, run=run.id, rows=[event(n) for n in range(1, 200)])


def more(tx: Tx) -> None:
    last, run = tx.conn.execute("SELECT max(offset), max(run) FROM events").fetchone()
    events.append(tx, run=run, rows=[event(last + 1)])


def seen(path: Path) -> int:
    """How many events there are, of a ledger that verifies."""
    with read_ledger(path, now=Ticks()) as tx:
        assert verify(tx) is None
        count: int = tx.conn.execute("SELECT count(*) FROM events").fetchone()[0]
        return count


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that another user may look into."""
    made = Path(tempfile.mkdtemp(prefix="as-it-lies-"))
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


async def closed(folder: Path) -> Path:
    """A ledger that nobody has open."""
    ledger = await open_ledger(folder / "ledger.db")
    await ledger.transaction(scene)
    await ledger.transaction(more)
    await ledger.close()
    assert [one.name for one in folder.iterdir()] == ["ledger.db"]
    return ledger.path


async def crashed(folder: Path, *, shared: bool = True) -> Path:
    """The last commit is in the WAL alone, and nobody has it open: as a power cut, or a copied folder, leaves it."""
    there = folder / "there"
    ledger = await open_ledger(there / "ledger.db")
    await ledger.transaction(scene)
    with closing(connect(ledger.path)) as conn:
        assert conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0, (
            "the next commit is all there is in it"
        )
    await ledger.transaction(more)
    for end in ("", "-wal", *(["-shm"] if shared else [])):
        shutil.copyfile(f"{ledger.path}{end}", folder / f"ledger.db{end}")
    await ledger.close()
    shutil.rmtree(there)
    return folder / "ledger.db"


def as_nobody(look: Callable[[], object]) -> None:
    """In a process that may write nowhere: root may write into a folder that is read-only."""
    migrate.released()  # read while it may be
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            look()
        except BaseException:
            os.write(writing, traceback.format_exc().encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said_so:
        problem = said_so.read().decode()
    os.waitpid(child, 0)
    assert problem == ""


def locked(folder: Path) -> None:
    for one in folder.iterdir():
        one.chmod(0o444)
    folder.chmod(0o555)


async def test_one_that_nobody_has_open(folder: Path) -> None:
    path = await closed(folder)
    before = picture(folder)
    assert seen(path) == 200
    assert picture(folder) == before


async def test_one_in_a_read_only_folder(folder: Path) -> None:
    path = await closed(folder)
    locked(folder)
    before = picture(folder)
    as_nobody(lambda: check_seen(path, 200))
    assert picture(folder) == before


def check_seen(path: Path, count: int) -> None:
    assert seen(path) == count


@pytest.mark.parametrize("shared", [True, False], ids=["with its index", "without"])
@pytest.mark.parametrize("read_only", [True, False])
async def test_one_that_a_crash_left_with_its_wal(folder: Path, shared: bool, read_only: bool) -> None:
    path = await crashed(folder, shared=shared)
    if read_only:
        locked(folder)
    before = picture(folder)
    as_nobody(lambda: check_seen(path, 200)) if read_only else check_seen(path, 200)
    assert picture(folder) == before and f"{path.name}-wal" in before


@pytest.mark.parametrize("shared", [True, False], ids=["with its index", "without"])
@pytest.mark.parametrize("tear", ["cut", "garbage", "flipped", "all of it"])
async def test_one_with_a_torn_wal_shows_the_last_whole_commit(folder: Path, shared: bool, tear: str) -> None:
    path = await crashed(folder, shared=shared)
    wal = folder / "ledger.db-wal"
    whole = wal.read_bytes()
    match tear:
        case "cut":
            wal.write_bytes(whole[:-100])
        case "garbage":
            wal.write_bytes(whole + b"\x07" * 3_000)
        case "flipped":
            wal.write_bytes(whole[:-50] + bytes([whole[-50] ^ 1]) + whole[-49:])
        case "all of it":
            wal.write_bytes(b"\x00" * len(whole))
    before = picture(folder)
    assert seen(path) == (200 if tear == "garbage" else 199)
    assert picture(folder) == before


CONSOLE = """
import asyncio, sys
from pathlib import Path
from tests.store.scenes import open_ledger
from tests.store.test_as_it_lies import more, scene
async def hold(path):
    ledger = await open_ledger(path)
    await ledger.transaction(scene)
    ledger._checkpointer.cancel()
    for body in (more, more):
        print("ready", flush=True)
        sys.stdin.readline()
        await ledger.transaction(body)
    print("ready", flush=True)
    sys.stdin.readline()
    await ledger.close()
asyncio.run(hold(Path(sys.argv[1])))
"""


def test_one_that_a_console_has_open(folder: Path) -> None:
    path = folder / "ledger.db"
    console = subprocess.Popen(
        [sys.executable, "-c", CONSOLE, str(path)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert console.stdin is not None and console.stdout is not None

    def told() -> None:
        assert console.stdin is not None
        console.stdin.write("go on\n")
        console.stdin.flush()

    try:
        assert console.stdout.readline() == "ready\n"
        before = picture(folder)
        assert sorted(before) == ["ledger.db", "ledger.db-shm", "ledger.db-wal"]
        assert seen(path) == 199
        with read_ledger(path, now=Ticks()) as tx:
            assert tx.conn.execute("SELECT count(*) FROM events").fetchone()[0] == 199
            assert picture(folder) == before, "while it is read, too"
            told()
            assert console.stdout.readline() == "ready\n", "a reader is in no writer's way"
            assert tx.conn.execute("SELECT count(*) FROM events").fetchone()[0] == 199, "one state of it"
        before = picture(folder)
        assert seen(path) == 200, "what is only in the WAL is seen"
        assert picture(folder) == before
        told()
        assert console.stdout.readline() == "ready\n"
        told()
        assert console.wait(20) == 0
    finally:
        console.kill()
        console.wait()
    assert seen(path) == 201 and [one.name for one in folder.iterdir()] == ["ledger.db"]


WRITER = """
import asyncio, sys
from pathlib import Path
from store import events
from store.vocab import RunId
from tests.store.scenes import event, open_ledger
async def write(path):
    ledger = await open_ledger(path)
    with open(path.parent / "count", "w") as told:
        for n in range(2_000, 1_000_000):
            await ledger.transaction(lambda tx: events.append(tx, run=RunId(1), rows=[event(n, turn=None)]))
            if n % 50 == 0:
                await asyncio.sleep(0)
                told.write("x"); told.flush()
asyncio.run(write(Path(sys.argv[1])))
"""


async def test_one_that_is_being_written_is_of_one_moment_each_time(folder: Path) -> None:
    path = await closed(folder)
    writer = subprocess.Popen(  # noqa: ASYNC220  # nothing else goes on in this loop
        [sys.executable, "-c", WRITER, str(path)], cwd=Path(__file__).parents[2]
    )
    try:
        counts = [seen_while_written(path)]
        while len(counts) < 15 or counts[-1] < counts[0] + 300:
            assert writer.poll() is None
            counts.append(seen_while_written(path))
        assert counts == sorted(counts)
    finally:
        writer.kill()
        writer.wait()
    assert seen(path) >= counts[-1], "and after the writer was killed in the middle of it"


def seen_while_written(path: Path) -> int:
    """A reader that came before the writer is told so, once."""
    try:
        return seen(path)
    except LedgerBusy:
        return seen(path)


async def test_one_that_a_console_overtakes_is_not_taken_for_one_state(folder: Path) -> None:
    path = await closed(folder)
    with pytest.raises(LedgerBusy) as busy, read_ledger(path, now=Ticks()), write_ledger(path, now=Ticks()) as tx:
        tx.conn.execute("UPDATE runs SET pinned = 1")
    assert "again" in sentence(busy.value.refusal) or "repeat" in sentence(busy.value.refusal)


async def test_what_is_not_written_into_the_file_yet_overtakes_nobody(folder: Path) -> None:
    path = await closed(folder)
    with read_ledger(path, now=Ticks()) as tx:
        ledger = await open_ledger(path)
        await ledger.transaction(more)
        assert tx.conn.execute("SELECT count(*) FROM events").fetchone()[0] == 200
    assert seen(path) == 201
    await ledger.close()


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 // 4096 * 4096])


def odd(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-777])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def no_database(path: Path) -> None:
    path.write_bytes(b"#!/bin/sh\necho no ledger\n" * 400)


def only_a_header(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100] + os.urandom(4096 * 3 - 100))


def another_programs(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("CREATE TABLE t (a)")
        conn.commit()


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("INSERT INTO schema_version (number) VALUES (99)")
        conn.commit()


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def gone(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize(
    "spoil",
    [half, odd, empty, no_database, only_a_header, another_programs, newer, a_folder, gone],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("read_only", [True, False])
async def test_what_cannot_be_read_is_one_sentence(
    folder: Path, spoil: Callable[[Path], None], read_only: bool
) -> None:
    path = await closed(folder)
    spoil(path)
    if read_only:
        locked(folder)
        if path.is_dir():
            path.chmod(0o555)
    before = picture(folder)

    def look() -> None:
        with pytest.raises(LedgerFault) as fault, read_ledger(path, now=Ticks()):
            pass
        assert isinstance(fault.value, LedgerUnreadable)
        expected = RefusalReason.LEDGER_NEWER if spoil is newer else RefusalReason.LEDGER_UNREADABLE
        assert fault.value.refusal.reason is expected
        words = sentence(fault.value.refusal)
        assert words.endswith(".") and forbidden_in(words) == [] and str(path) in words

    as_nobody(look) if read_only else look()
    assert picture(folder) == before


@pytest.mark.skipif(os.getuid() != 0, reason="somebody else's file needs somebody else")
async def test_one_that_may_not_be_read(folder: Path) -> None:
    path = await closed(folder)
    path.chmod(stat.S_IRUSR)

    def look() -> None:
        with pytest.raises(LedgerFault) as fault, read_ledger(path, now=Ticks()):
            pass
        assert "Permission denied" in sentence(fault.value.refusal)

    as_nobody(look)
