"""A bundle: some runs as one file that can be looked through, checked, and reviewed where there is no Footplate ledger.

A plain tar of five members in a fixed order, made so that the same ledger gives the same bytes: what names every other
member with its hash, a word to the reader, the runs as a page, and the runs as a ledger of their own, compressed. It is
no ``.tar.gz`` because a gzip stream has bits that no checksum covers; here every byte of the file is either hashed or
known beforehand, so a changed one is always found, and named.
"""

import gzip
import hashlib
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, cast

import msgspec
from msgspec import Struct

from store import entries
from store.canonical import dumps
from store.db import read_ledger
from store.entries import Entry
from store.faults import LedgerFault
from store.identity import Identity
from store.tx import Tx
from store.verify import Difference, verify
from store.vocab import Millis, RunId

FORMAT: Final = "footplate.bundle/1"
DIGEST, MANIFEST, README, PAGE, LEDGER = "manifest.sha256", "manifest.json", "README.txt", "runs.html", "ledger.db.gz"
BLOCK: Final = 512
PIECE: Final = 64 * 1024
"""Hashed by itself in the manifest, so that a changed byte is found to within so many."""
LARGEST_MANIFEST: Final = 64 * 1024 * 1024


class Member(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    size: int
    sha256: str
    pieces: tuple[str, ...]
    """The first sixteen letters of the hash of each 64 KiB."""


class Head(msgspec.Struct, frozen=True, kw_only=True):
    run: RunId
    n: int
    hash: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: str
    ledger: str
    """The id of the ledger that the runs are of."""
    seq: int
    head: str
    """Its newest entry when the bundle was made."""
    heads: tuple[Head, ...]
    ledger_size: int
    """Of the ledger inside, unpacked."""
    taken_out: tuple[int, ...]
    """Redacted: how many places of each pattern; empty: nothing was taken out."""
    patterns: int
    members: tuple[Member, ...]

    @property
    def redacted(self) -> bool:
        return self.patterns > 0


class Whole(Struct, frozen=True, kw_only=True):
    """What a check of a bundle found where nothing is wrong."""

    manifest: Manifest
    entries: int
    unproven: int
    """Entries whose hash no longer comes out, because text was taken out of them."""


class NotABundle(Exception):
    """The file is something else."""


# ---------------------------------------------------------------------------------------------------------- making it


def heads_of(tx: Tx, runs: Sequence[RunId]) -> tuple[Head, ...]:
    return tuple(Head(run=run, n=n, hash=hash) for run in runs for n, hash in [entries.head(tx, run)])


def packed(source: Path, target: Path) -> int:
    """Compress the ledger of a bundle; gives its size before. No name and no time go into the stream."""
    size = 0
    with (
        source.open("rb") as read,
        target.open("wb") as write,
        gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=write, mtime=0) as out,
    ):
        while piece := read.read(PIECE):
            size += len(piece)
            out.write(piece)
    return size


def member_of(name: str, path: Path) -> Member:
    whole, parts, size = hashlib.sha256(), [], 0
    with path.open("rb") as read:
        while piece := read.read(PIECE):
            size += len(piece)
            whole.update(piece)
            parts.append(_short(piece))
    return Member(name=name, size=size, sha256=whole.hexdigest(), pieces=tuple(parts))


def write(out: IO[bytes], manifest: Manifest, files: Sequence[Path]) -> None:
    """``files``: one for each member that the manifest names, in that order."""
    told = (dumps(manifest) + "\n").encode()
    for name, data in ((DIGEST, _digest_line(told)), (MANIFEST, told)):
        out.write(_header(name, len(data)) + data + _padding(len(data)))
    for member, path in zip(manifest.members, files, strict=True):
        out.write(_header(member.name, member.size))
        with path.open("rb") as read:
            while piece := read.read(PIECE):
                out.write(piece)
        out.write(_padding(member.size))
    out.write(bytes(2 * BLOCK))


def _header(name: str, size: int) -> bytes:
    told = tarfile.TarInfo(name)
    told.size, told.mode, told.mtime = size, 0o644, 0
    return told.tobuf(format=tarfile.USTAR_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % BLOCK)


def _digest_line(manifest: bytes) -> bytes:
    return f"{hashlib.sha256(manifest).hexdigest()}  {MANIFEST}\n".encode()


def _short(piece: bytes) -> str:
    return hashlib.sha256(piece).hexdigest()[:16]


# --------------------------------------------------------------------------------------------------------- checking it


def is_bundle(path: Path) -> bool:
    """By its first bytes; a damaged one still is one, a ledger never."""
    try:
        with path.open("rb") as read:
            head = read.read(BLOCK)
    except OSError:
        return False
    wanted = _header(DIGEST, 0)
    return len(head) == BLOCK and sum(a == b for a, b in zip(head, wanted, strict=True)) > BLOCK - 32 and any(head)


def check(path: Path) -> Whole | Difference:
    """The first byte that is not as it was made, or what the ledger inside says of itself that is not so.

    Raises:
        NotABundle: it is something else.
        OSError: it cannot be read.
    """
    if not is_bundle(path):
        raise NotABundle(str(path))
    with path.open("rb") as read:
        manifest = _structure(read)
    if isinstance(manifest, Difference):
        return manifest
    try:
        with opened(path) as ledger, read_ledger(ledger, now=lambda: Millis(0)) as tx:
            return _contents(tx, manifest)
    except LedgerFault as fault:
        problem = str(fault.refusal.facts.get("problem", fault.refusal.reason.value))
        return Difference(where=LEDGER, what="ledger", expected="one that can be read", found=problem)


def _structure(read: IO[bytes]) -> Manifest | Difference:
    """Everything outside of the ledger: each byte against what it must be, or against its hash."""
    length = len(_digest_line(b""))
    try:
        _expect(read, DIGEST, _header(DIGEST, length))
        digest = _read(read, DIGEST, length)
        _expect(read, DIGEST, _padding(length))
        size = _size_of_manifest(read)
        told = _read(read, MANIFEST, size)
        if digest != _digest_line(told):
            raise _Wrong(MANIFEST, "sha256", digest.decode("ascii", "replace").strip(), _digest_line(told).decode())
        _expect(read, MANIFEST, _padding(size))
        try:
            manifest = msgspec.json.decode(told, type=Manifest)
        except msgspec.MsgspecError as error:
            raise _Wrong(MANIFEST, "form", FORMAT, str(error)) from error
        if manifest.format != FORMAT:
            raise _Wrong(MANIFEST, "form", FORMAT, manifest.format)
        for member in manifest.members:
            _expect(read, member.name, _header(member.name, member.size))
            _member(read, member)
            _expect(read, member.name, _padding(member.size))
        _expect(read, "the end", bytes(2 * BLOCK))
        if read.read(1):
            raise _Wrong("the end", "size", f"{read.tell() - 1} bytes", "more")
    except _Wrong as wrong:
        return wrong.difference
    return manifest


class _Wrong(Exception):
    def __init__(self, where: str, what: str, expected: str, found: str) -> None:
        super().__init__(where)
        self.difference = Difference(where=where, what=what, expected=expected, found=found)


def _expect(read: IO[bytes], name: str, wanted: bytes) -> None:
    at = read.tell()
    found = read.read(len(wanted))
    for place, byte in enumerate(wanted):
        if place >= len(found):
            raise _Wrong(f"{name}, byte {at + place} of the file", "size", "more", "the file ends here")
        if found[place] != byte:
            raise _Wrong(f"{name}, byte {at + place} of the file", "byte", f"{byte:02x}", f"{found[place]:02x}")


def _read(read: IO[bytes], name: str, size: int) -> bytes:
    found = read.read(size)
    if len(found) < size:
        raise _Wrong(f"{name}, byte {read.tell()} of the file", "size", "more", "the file ends here")
    return found


def _size_of_manifest(read: IO[bytes]) -> int:
    at = read.tell()
    header = _read(read, MANIFEST, BLOCK)
    try:
        size = tarfile.TarInfo.frombuf(header, "ascii", "strict").size
    except (tarfile.HeaderError, ValueError) as error:
        raise _Wrong(f"{MANIFEST}, bytes {at} to {at + BLOCK - 1} of the file", "header", "one", str(error)) from error
    if size > LARGEST_MANIFEST:
        raise _Wrong(MANIFEST, "size", f"at most {LARGEST_MANIFEST}", str(size))
    read.seek(at)
    _expect(read, MANIFEST, _header(MANIFEST, size))
    return size


def _member(read: IO[bytes], member: Member) -> None:
    whole, at = hashlib.sha256(), 0
    for expected in member.pieces:
        piece = _read(read, member.name, min(PIECE, member.size - at))
        whole.update(piece)
        if _short(piece) != expected:
            where = f"{member.name}, bytes {at} to {at + len(piece) - 1} of it"
            raise _Wrong(where, "sha256", expected, _short(piece))
        at += len(piece)
    if at != member.size or whole.hexdigest() != member.sha256:
        raise _Wrong(member.name, "sha256", member.sha256, whole.hexdigest())


@contextmanager
def opened(path: Path) -> Iterator[Path]:
    """The ledger inside, as a file of its own for as long as the block runs: what opens a ledger opens it.

    Raises:
        NotABundle: there is none inside.
    """
    with tempfile.TemporaryDirectory(prefix="footplate-bundle-") as folder, path.open("rb") as read:
        try:
            with tarfile.open(fileobj=read, mode="r:") as archive:
                told = archive.extractfile(MANIFEST)
                inside = archive.extractfile(LEDGER)
                assert told is not None and inside is not None
                limit = msgspec.json.decode(told.read(LARGEST_MANIFEST), type=Manifest).ledger_size
                target = Path(folder) / "ledger.db"
                _unpack(inside, target, limit)
        except (KeyError, AssertionError, tarfile.TarError, msgspec.MsgspecError, gzip.BadGzipFile, EOFError) as error:
            raise NotABundle(str(path)) from error
        yield target


def _unpack(inside: IO[bytes], target: Path, limit: int) -> None:
    """No more than the manifest says: a small file must not fill a disk."""
    with gzip.GzipFile(fileobj=inside) as read, target.open("wb") as write:
        target.chmod(0o600)
        while limit > 0 and (piece := read.read(min(PIECE, limit))):
            write.write(piece)
            limit -= len(piece)


# -------------------------------------------------------------------------------------------------- the ledger inside


def _contents(tx: Tx, manifest: Manifest) -> Whole | Difference:
    for head in manifest.heads:
        n, hash = entries.head(tx, head.run)
        if (n, hash) != (head.n, head.hash):
            where = f"run {head.run}"
            return Difference(where=where, what="head", expected=f"{head.n} {head.hash}", found=f"{n} {hash}")
    if not manifest.redacted:
        difference = verify(tx, excerpt=True)
        if difference is not None:
            return difference
    return _proven(tx, manifest)


def _proven(tx: Tx, manifest: Manifest) -> Whole | Difference:
    """How many entries still say what was hashed. With text taken out the chain still holds, link by link."""
    total, unproven = 0, 0
    for run in (*(head.run for head in manifest.heads), entries.LEDGER_CHAIN):
        prev = ""
        for entry in entries.entries_of(tx, cast(Any, run)):
            if run != entries.LEDGER_CHAIN and entry.prev != prev:
                where = f"entry {entry.seq} (run {entry.run}, n {entry.n})"
                return Difference(where=where, what="prev", expected=prev, found=entry.prev)
            prev = entry.hash
            total += 1
            unproven += _hash(entry) != entry.hash
    return Whole(manifest=manifest, entries=total, unproven=unproven)


def _hash(entry: Entry) -> str:
    return entries.hash_of(
        prev=entry.prev, seq=entry.seq, run=entry.run, n=entry.n, at=entry.at, kind=entry.kind, body=entry.body
    )


def manifest_of(
    tx: Tx,
    identity: Identity,
    runs: Sequence[RunId],
    members: Sequence[Member],
    *,
    ledger_size: int,
    taken_out: Sequence[int],
) -> Manifest:
    newest = entries.newest(tx)
    return Manifest(
        format=FORMAT,
        ledger=identity.id,
        seq=0 if newest is None else newest.seq,
        head="" if newest is None else newest.hash,
        heads=heads_of(tx, runs),
        ledger_size=ledger_size,
        taken_out=tuple(taken_out),
        patterns=len(taken_out),
        members=tuple(members),
    )
