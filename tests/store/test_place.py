"""Opening: new, old, newer, foreign, broken and unwritable files, and disks that fail under an open ledger."""

import os
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from store import identity, migrate, open, settings
from store.db import Ledger, LedgerUnreadable, StorageFault, read_ledger, write_ledger
from store.migrate import Migration
from store.place import file_system_of
from store.refusal import Refusal
from store.verify import verify
from store.vocab import RefusalReason
from tests.store.scenes import Ticks, counted, open_ledger

NEXT = Migration(
    number=migrate.newest(migrate.released()) + 1,
    name="next.sql",
    script=f"""
    BEGIN IMMEDIATE;
    INSERT INTO schema_version (number) VALUES ({migrate.newest(migrate.released()) + 1});
    ALTER TABLE drafts ADD COLUMN kind TEXT NOT NULL DEFAULT '';
    CREATE TABLE shelves (id INTEGER PRIMARY KEY) STRICT;
    COMMIT;
    """,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


async def tried(path: Path, **more: object) -> Refusal:
    found = await Ledger.open(path, now=Ticks(), machine="machine-1", ledger_id=counted("s"), **more)  # type: ignore[arg-type]
    if not isinstance(found, Refusal):
        await found.close()
        raise AssertionError("it was opened")
    return found


async def made(path: Path, **values: str) -> None:
    ledger = await open_ledger(path)
    for name, value in values.items():
        await ledger.transaction(lambda tx, name=name, value=value: settings.put(tx, name, value))  # type: ignore[misc]
    await ledger.close()


def schema(conn: sqlite3.Connection) -> list[tuple[str, ...]]:
    return conn.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name").fetchall()


# ------------------------------------------------------------------------------------------------------------- files


async def test_a_new_ledger_says_what_it_is_and_keeps_saying_it(path: Path) -> None:
    first = await open_ledger(path)
    told = (first.id, first.digest_key, first.machine)
    assert told == ("secret-1", "secret-2", "machine-1")
    await first.close()
    second = await open_ledger(path)
    assert (second.id, second.digest_key, second.machine) == told
    assert await second.read(verify) is None
    await second.close()


@pytest.mark.parametrize(
    "content",
    [b"", b"dear diary\n" * 400, b"SQLite format 3\x00", b"\x00" * 4096],
    ids=["empty", "text", "head", "zeros"],
)
async def test_what_is_no_ledger_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refusal = await tried(path)
    assert refusal.reason is RefusalReason.LEDGER_UNREADABLE
    assert refusal.facts["path"] == str(path)
    with pytest.raises(LedgerUnreadable), read_ledger(path, now=Ticks()):
        pass
    with pytest.raises(LedgerUnreadable), write_ledger(path, now=Ticks()):
        pass
    assert path.read_bytes() == content


async def test_another_programs_database_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    assert (await tried(path)).facts["problem"] == "it is not a Footplate ledger"
    with closing(sqlite3.connect(path)) as other:
        assert [row[1] for row in schema(other)] == ["bookmarks"]


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9, 0.999])
async def test_a_truncated_ledger_is_refused(path: Path, kept: float) -> None:
    await made(path, a="x" * 100_000)
    size = path.stat().st_size
    os.truncate(path, int(size * kept))
    assert (await tried(path)).reason is RefusalReason.LEDGER_UNREADABLE
    with pytest.raises(LedgerUnreadable), read_ledger(path, now=Ticks()):
        pass


async def test_a_folder_in_its_place_is_refused(path: Path) -> None:
    path.mkdir()
    assert (await tried(path)).reason is RefusalReason.LEDGER_UNREADABLE


def test_reading_what_is_not_there_makes_nothing(path: Path) -> None:
    with pytest.raises(LedgerUnreadable) as caught, read_ledger(path, now=Ticks()):
        pass
    assert caught.value.refusal.facts["absent"] is True
    assert not path.exists()


async def test_a_crash_leaves_a_wal_that_is_recovered(path: Path, tmp_path: Path) -> None:
    ledger = await open_ledger(path)
    await ledger.transaction(lambda tx: settings.put(tx, "a", "kept"))
    after = tmp_path / "after-the-crash"
    after.mkdir()
    for suffix in ("", "-wal"):  # as the disk stands at this moment
        shutil.copyfile(f"{path}{suffix}", after / f"ledger.db{suffix}")
    await ledger.close()
    again = await open_ledger(after / "ledger.db")
    assert await again.read(lambda tx: settings.get(tx, "a")) == "kept"
    assert await again.read(verify) is None
    await again.close()


async def test_a_half_made_ledger_is_never_under_the_real_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("the power went")

    monkeypatch.setattr(identity, "create", fail)
    with pytest.raises(sqlite3.OperationalError):
        await Ledger.open(path, now=Ticks(), machine="m", ledger_id=counted("s"))
    assert list(path.parent.iterdir()) == []


async def test_an_open_file_mode_is_narrowed(path: Path) -> None:
    await made(path)
    path.chmod(0o644)
    await made(path)
    assert path.stat().st_mode & 0o777 == 0o600


# -------------------------------------------------------------------------------------------------------- migrations


def test_every_script_holds_its_own_transaction_and_number() -> None:
    for place, migration in enumerate(migrate.released(), 1):
        assert migration.number == place
        code = [line for line in migration.script.splitlines() if line and not line.startswith("--")]
        assert code[0] == "BEGIN IMMEDIATE;"
        assert code[1] == f"INSERT INTO schema_version (number) VALUES ({place});"
        assert code[-1] == "COMMIT;"


@pytest.mark.parametrize("start", range(len(migrate.released()) + 1))
def test_fresh_equals_upgraded(start: int) -> None:
    every = (*migrate.released(), NEXT)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        assert migrate.migrate(fresh, every) == NEXT.number
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as upgraded:
            if start:
                migrate.migrate(upgraded, every[:start])
            migrate.migrate(upgraded, every)
            assert schema(upgraded) == schema(fresh)
            assert migrate.migrate(upgraded, every) == NEXT.number, "a second time changes nothing"


def test_a_script_that_fails_changes_nothing() -> None:
    broken = Migration(NEXT.number, "broken.sql", NEXT.script.replace("CREATE TABLE shelves", "CREATE TABLE drafts"))
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        migrate.migrate(conn)
        before = schema(conn)
        with pytest.raises(sqlite3.OperationalError):
            migrate.migrate(conn, (*migrate.released(), broken))
        assert not conn.in_transaction
        assert schema(conn) == before
        assert migrate.version_of(conn) == NEXT.number - 1


@pytest.fixture
def with_a_newer_version(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = (*migrate.released(), NEXT)
    monkeypatch.setattr(migrate, "released", lambda: newer)


async def test_an_older_ledger_is_copied_and_then_migrated(path: Path, request: pytest.FixtureRequest) -> None:
    await made(path, a="from before")
    request.getfixturevalue("with_a_newer_version")
    with read_ledger(path, now=Ticks()) as tx:
        assert settings.get(tx, "a") == "from before", "reading works on a migrated copy"
    with closing(open.connect(path, mode="ro")) as conn:
        assert migrate.version_of(conn) == NEXT.number - 1, "and leaves the ledger as it is"

    refusal = await tried(path, live_elsewhere=lambda: True)
    assert refusal.reason is RefusalReason.LEDGER_BUSY

    ledger = await open_ledger(path)
    assert await ledger.read(lambda tx: migrate.version_of(tx.conn)) == NEXT.number
    assert await ledger.read(lambda tx: settings.get(tx, "a")) == "from before"
    await ledger.close()
    copy = path.with_name(f"ledger.db.before-{NEXT.number:04d}")
    assert copy.stat().st_mode & 0o777 == 0o600
    with closing(open.connect(copy, mode="ro")) as conn:
        assert migrate.version_of(conn) == NEXT.number - 1
        assert conn.execute("SELECT value FROM settings").fetchone() == ("from before",)


async def test_a_newer_ledger_is_refused_and_left_alone(path: Path) -> None:
    await made(path)
    with closing(open.connect(path)) as conn:
        conn.execute("INSERT INTO schema_version (number) VALUES (99)")
    before = path.read_bytes()
    refusal = await tried(path)
    assert refusal == Refusal(
        RefusalReason.LEDGER_NEWER, {"path": str(path), "is": 99, "known": migrate.newest(migrate.released())}
    )
    for opener in (read_ledger, write_ledger):
        with pytest.raises(LedgerUnreadable) as caught, opener(path, now=Ticks()):
            pass
        assert caught.value.refusal.reason is RefusalReason.LEDGER_NEWER
    assert path.read_bytes() == before


# ------------------------------------------------------------------------------------------------------------- disks


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write everywhere; nobody may not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A folder that can be read and not written, outside pytest's own, which nobody but its owner may enter."""
    folder = Path(tempfile.mkdtemp(prefix="footplate-test-"))
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


async def test_a_read_only_folder_is_a_refusal_and_can_still_be_reviewed(read_only: Path) -> None:
    path = read_only / "ledger.db"
    await made(path, a="1")
    path.chmod(0o444)
    read_only.chmod(0o555)
    with as_nobody():
        refusal = await tried(path)
        with read_ledger(path, now=Ticks()) as tx:
            assert settings.get(tx, "a") == "1"
    assert refusal.reason is RefusalReason.STORAGE
    assert [file.name for file in read_only.iterdir()] == ["ledger.db"]


async def test_a_new_ledger_in_a_read_only_folder_is_a_refusal(read_only: Path) -> None:
    read_only.chmod(0o555)
    with as_nobody():
        refusal = await tried(read_only / "deeper" / "ledger.db")
    assert refusal.reason is RefusalReason.STORAGE
    assert list(read_only.iterdir()) == []


@pytest.fixture
async def ledger(path: Path) -> AsyncIterator[Ledger]:
    opened = await open_ledger(path)
    yield opened
    await opened.close()


@contextmanager
def pages_limited(ledger: Ledger, more: int) -> Iterator[None]:
    conn = ledger._writer._conn
    count = conn.execute("PRAGMA page_count").fetchone()[0]
    conn.execute(f"PRAGMA max_page_count = {count + more}")
    yield
    conn.execute("PRAGMA max_page_count = 1000000")


@contextmanager
def file_size_limited(ledger: Ledger, more: int) -> Iterator[None]:
    """The kernel itself refuses to make the WAL longer."""
    limit = Path(f"{ledger.path}-wal").stat().st_size + more
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("limited", "more"), [(pages_limited, 4), (file_size_limited, 40_000)], ids=["pages", "kernel"]
)
async def test_a_full_disk_loses_nothing_that_was_acknowledged(ledger: Ledger, limited: object, more: int) -> None:
    acked = 0
    with limited(ledger, more):  # type: ignore[operator]
        with pytest.raises(StorageFault) as caught:
            for number in range(1, 200):
                await ledger.transaction(
                    lambda tx, number=number: settings.put(tx, "n", f"{number}:" + "x" * 3000)  # type: ignore[misc]
                )
                acked = number
        with pytest.raises(StorageFault):
            await ledger.transaction(lambda tx: settings.put(tx, "large", "x" * 200_000))
        found = await ledger.read(lambda tx: settings.get(tx, "n"))
        assert found is not None
        assert found.startswith(f"{acked}:"), "what was acknowledged stands, what failed does not"
    assert acked > 0
    assert caught.value.refusal.reason is RefusalReason.STORAGE
    await ledger.transaction(lambda tx: settings.put(tx, "n", "room again"))
    assert await ledger.read(lambda tx: settings.get(tx, "n")) == "room again"
    assert await ledger.read(verify) is None


async def test_a_deleted_or_replaced_ledger_takes_no_write(path: Path) -> None:
    ledger = await open_ledger(path)
    path.unlink()
    with pytest.raises(StorageFault):
        await ledger.transaction(lambda tx: settings.put(tx, "a", "1"))
    path.write_bytes(b"")
    with pytest.raises(StorageFault) as caught:
        await ledger.transaction(lambda tx: settings.put(tx, "a", "1"))
    assert caught.value.refusal.facts["problem"] == "the file was replaced"
    await ledger.close()


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /home rw - nfs4 server:/home rw
31 30 8:2 / /home/ada/fast\\040disk rw - xfs /dev/sdb1 rw
32 22 0:30 / /mnt/far rw - fuse.sshfs ada@far: rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/var/lib", "ext4"),
        ("/home/ada/.local/share", "nfs4"),
        ("/homestead", "ext4"),
        ("/home/ada/fast disk/x", "xfs"),
        ("/mnt/far", "fuse.sshfs"),
    ],
)
def test_the_nearest_mount_tells_the_file_system(folder: str, kind: str) -> None:
    assert file_system_of(Path(folder), MOUNTS) == kind


async def test_a_network_file_system_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.place.file_system_of", lambda *_: "nfs4")
    refusal = await tried(path)
    assert refusal.reason is RefusalReason.NETWORK_FILE_SYSTEM
    assert refusal.facts["kind"] == "nfs4"
    assert not path.exists()
