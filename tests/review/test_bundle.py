"""A bundle: the same bytes each time, and no byte of it can change without being found and named."""

import gzip
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from app.exporting.formats import Export, Format
from coordinator.review.export import bundle
from coordinator.review.export.bundle import Manifest, NotABundle, Whole
from coordinator.review.export.redacting import Redactor
from store.db import read_ledger
from store.verify import Difference
from store.vocab import Millis, RunId
from tests.cli.running import footplate
from tests.review.played import SECRET


def made(ledger: Path, out: Path, *patterns: str) -> Path:
    with (
        read_ledger(ledger, now=lambda: Millis(0)) as tx,
        Redactor(patterns) as redactor,
        out.open("wb") as written,
    ):
        Export(tx, (RunId(1),), redactor).write(Format.BUNDLE, written, out.parent)
    return out


@pytest.fixture(scope="module")
def whole(ledger: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(ledger, tmp_path_factory.mktemp("whole") / "whole.tar")


def test_it_is_whole_and_its_bytes_are_always_the_same(ledger: Path, whole: Path, tmp_path: Path) -> None:
    found = bundle.check(whole)
    assert isinstance(found, Whole) and found.unproven == 0 and found.entries > 20
    assert made(ledger, tmp_path / "again").read_bytes() == whole.read_bytes()
    assert footplate(tmp_path, "verify", str(whole), "--json", cwd=tmp_path).code == 0


def test_any_tar_opens_it_and_the_key_is_not_in_it(ledger: Path, whole: Path, tmp_path: Path) -> None:
    with tarfile.open(whole) as archive:
        names = [bundle.DIGEST, bundle.MANIFEST, bundle.README, bundle.PAGE, bundle.LEDGER]
        assert archive.getnames() == names
        archive.extractall(tmp_path, filter="data")
    with closing(sqlite3.connect(ledger)) as conn:
        [(key,)] = conn.execute("SELECT digest_key FROM ledger").fetchall()
        [(events,)] = conn.execute("SELECT count(*) FROM events").fetchall()
    inside = gzip.decompress((tmp_path / bundle.LEDGER).read_bytes())
    assert key.encode() not in inside
    assert "<!doctype html>" in (tmp_path / bundle.PAGE).read_text()
    plain = tmp_path / "plain.db"
    plain.write_bytes(inside)
    with read_ledger(plain, now=lambda: Millis(0)) as tx:
        assert tx.conn.execute("SELECT count(*) FROM events").fetchone() == (events,)
        assert tx.conn.execute("SELECT count(*) FROM search WHERE search MATCH 'today'").fetchone()[0] > 0


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_changed_byte_is_found_and_named(whole: Path, data: st.DataObject) -> None:
    raw = bytearray(whole.read_bytes())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= data.draw(st.integers(1, 255))
    changed = whole.with_name("changed.tar")
    changed.write_bytes(raw)
    found = bundle.check(changed)
    assert isinstance(found, Difference)
    assert names_it(whole, at, found), (at, found)


def names_it(whole: Path, at: int, found: Difference) -> bool:
    """Whether what is said leads to the byte: the very one outside of the members, the piece within."""
    with tarfile.open(whole) as archive:
        members = archive.getmembers()
    for member in members:
        if member.offset <= at < member.offset_data + -(-member.size // 512) * 512:
            if member.name in (bundle.DIGEST, bundle.MANIFEST):
                return found.where.startswith((bundle.DIGEST, bundle.MANIFEST))
            if member.offset_data <= at < member.offset_data + member.size:
                first = (at - member.offset_data) // bundle.PIECE * bundle.PIECE
                last = min(first + bundle.PIECE, member.size) - 1
                return found.where == f"{member.name}, bytes {first} to {last} of it"
            return found.where == f"{member.name}, byte {at} of the file"
    return found.where == f"the end, byte {at} of the file"


def test_one_byte_of_every_member_its_head_and_its_padding(whole: Path) -> None:
    raw = whole.read_bytes()
    with tarfile.open(whole) as archive:
        places = {0, len(raw) - 1}
        for member in archive.getmembers():
            end = member.offset_data + member.size
            places |= {member.offset, member.offset + 511, member.offset_data, end - 1, end}
    for at in sorted(places):
        changed = whole.with_name("changed-here.tar")
        changed.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        found = bundle.check(changed)
        assert isinstance(found, Difference) and names_it(whole, at, found), (at, found)


@pytest.mark.parametrize("kept", [1.0, 0.999, 0.5, 0.03])
def test_one_that_is_cut_or_longer_is_told(whole: Path, tmp_path: Path, kept: float) -> None:
    raw = whole.read_bytes()
    other = tmp_path / "other.tar"
    other.write_bytes(raw + b"x" if kept == 1.0 else raw[: int(len(raw) * kept)])
    assert isinstance(bundle.check(other), Difference)
    told = footplate(tmp_path, "verify", str(other), cwd=tmp_path)
    assert told.code == 1 and "not as it was made; the first difference:" in told.out and not told.err


@pytest.mark.parametrize("content", [b"", b"text", b"\x00" * 4096, b"SQLite format 3\x00" * 100])
def test_what_is_no_bundle_is_told_so(tmp_path: Path, content: bytes) -> None:
    other = tmp_path / "other"
    other.write_bytes(content)
    with pytest.raises(NotABundle):
        bundle.check(other)
    told = footplate(tmp_path, "verify", str(other), cwd=tmp_path)
    assert (told.code, told.out) == (1, "")
    # What begins as a ledger does is looked at as one.
    assert ("cannot be read" if content.startswith(b"SQLite") else "is no bundle") in told.err
    assert "No file" in footplate(tmp_path, "verify", "nowhere", cwd=tmp_path).err


def test_a_row_that_was_changed_by_who_made_it_is_found(ledger: Path, whole: Path, tmp_path: Path) -> None:
    """Every hash of the file is right again, but not those of the facts."""
    for statement, what in (
        ("UPDATE turns SET cost = 1 WHERE n = 1", "cost"),
        ("UPDATE events SET body = '{}' WHERE kind = 'text'", "events"),
        ("UPDATE evidence SET content = x'00'", "sha256"),
        ("DELETE FROM decisions WHERE id = 1", "row"),
    ):
        found = bundle.check(rebuilt(whole, tmp_path, statement))
        assert isinstance(found, Difference) and found.what.endswith(what), (statement, found)


def rebuilt(whole: Path, folder: Path, statement: str) -> Path:
    with tarfile.open(whole) as archive:
        contents = {one.name: archive.extractfile(one).read() for one in archive.getmembers()}  # type: ignore[union-attr]
    plain, packed, out = folder / "plain.db", folder / "packed", folder / "rebuilt.tar"
    plain.write_bytes(gzip.decompress(contents[bundle.LEDGER]))
    with closing(sqlite3.connect(plain)) as conn, conn:
        conn.execute("DROP TRIGGER entries_no_update")
        conn.execute(statement)
    size = bundle.packed(plain, packed)
    was = msgspec.json.decode(contents[bundle.MANIFEST], type=Manifest)
    files = []
    for member in was.members:
        file = folder / member.name
        file.write_bytes(packed.read_bytes() if member.name == bundle.LEDGER else contents[member.name])
        files.append(file)
    members = tuple(bundle.member_of(file.name, file) for file in files)
    with out.open("wb") as written:
        bundle.write(written, msgspec.structs.replace(was, members=members, ledger_size=size), files)
    return out


def test_a_redacted_one_says_what_it_cannot_prove(ledger: Path, tmp_path: Path) -> None:
    out = made(ledger, tmp_path / "less.tar", SECRET)
    found = bundle.check(out)
    assert isinstance(found, Whole) and found.manifest.redacted and 0 < found.unproven < found.entries
    assert found.manifest.taken_out[0] > 10
    heads = bundle.check(made(ledger, tmp_path / "all.tar"))
    assert isinstance(heads, Whole) and heads.manifest.heads == found.manifest.heads, "the heads stay comparable"
    broken = rebuilt(out, tmp_path, "UPDATE entries SET prev = 'x' WHERE run = 1 AND n = 5")
    assert isinstance(bundle.check(broken), Difference)


def test_a_small_file_cannot_fill_a_disk(whole: Path, tmp_path: Path) -> None:
    """What is inside is unpacked to the size that the manifest tells, and no further."""
    with tarfile.open(whole) as archive:
        inside = archive.extractfile(bundle.LEDGER)
        assert inside is not None
        bundle._unpack(inside, tmp_path / "out", 5_000)
    assert (tmp_path / "out").stat().st_size == 5_000
