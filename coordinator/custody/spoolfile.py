"""Spools as files, when no supervisor serves them: reading, the lock that proves one gone, the proof of a write.

Only the holder of the lock may change a spool; ``cut_torn_tail`` takes it first. The format is in ``supervisor/``.
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from coordinator.custody.types import RecordKind, SpoolRecord, WriteProof
from coordinator.supervisor import spoolformat
from coordinator.supervisor.kernel import kernel

SPOOL = "spool"
_SLICE = 1 << 20


def to_record(record: spoolformat.Record) -> SpoolRecord:
    """The typed form, the same for a file and for the wire."""
    raw = record.kind in spoolformat.RAW
    return SpoolRecord(
        kind=RecordKind(record.kind),
        offset=record.offset,
        next_offset=record.next_offset,
        at_ms=record.at_ms,
        generation=record.generation,
        data=record.payload if raw else b"",
        facts={} if raw else record.facts(),
    )


def read_spool(path: Path, offset: int = 0) -> Iterator[SpoolRecord]:
    """Records from a record's beginning on. What follows the last good one comes out as one ``gap`` and ends it."""
    decoder = spoolformat.Decoder(offset)
    last_at = 0
    generation = 0
    size = 0
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(offset)
        while decoder.broken is None and (data := file.read(_SLICE)):
            for record in decoder.feed(data):
                last_at, generation = record.at_ms, record.generation
                yield to_record(record)
    short = offset > size
    if decoder.pending or decoder.broken is not None or short:
        why = "shorter-than-read" if short else decoder.broken or "torn tail"
        yield SpoolRecord(
            kind=RecordKind.GAP,
            offset=decoder.offset,
            next_offset=decoder.offset,
            at_ms=last_at,
            generation=generation,
            facts={"why": why, "bytes": max(0, size - decoder.offset)},
        )


def spool_is_locked(folder: Path) -> bool:
    """False proves that keeper and worker of this folder are both gone (or that there never was a spool)."""
    try:
        fd = os.open(folder / SPOOL, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def last_heard(path: Path) -> int | None:
    """The time of the newest record; None: there is none."""
    newest = None
    try:
        for record in read_spool(path):
            newest = record.at_ms or newest
    except FileNotFoundError:
        pass
    return newest


def read_header(path: Path) -> Mapping[str, object] | None:
    """What the spool says of itself: run, custody, authorization, nonce, identities. None: it has no whole header."""
    try:
        for record in read_spool(path):
            return record.facts if record.kind is RecordKind.HEADER else None
    except FileNotFoundError:
        return None
    return None


def proof_of_write(path: Path, id: str) -> WriteProof:
    """What the spool alone proves of one write."""
    proof = WriteProof.NEVER
    for record in read_spool(path):
        if record.facts.get("id") != id:
            continue
        if record.kind is RecordKind.WRITING:
            proof = WriteProof.BEGUN
        elif record.kind is RecordKind.WROTE:
            return WriteProof.WHOLE
        elif record.kind is RecordKind.CANCELLED:
            proof = WriteProof.CANCELLED
        elif record.kind is RecordKind.WRITE_FAILED and record.facts.get("written") == 0:
            proof = WriteProof.NEVER
    return proof


def cut_torn_tail(folder: Path) -> int:
    """Drop what follows the last good record; returns how many bytes. Only where no supervisor lives.

    Raises:
        BlockingIOError: a supervisor holds the lock.
    """
    fd = os.open(folder / SPOOL, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        size = os.fstat(fd).st_size
        decoder = spoolformat.Decoder()
        at = 0
        while decoder.broken is None and (data := os.pread(fd, _SLICE, at)):
            decoder.feed(data)
            at += len(data)
        if decoder.offset < size:
            os.ftruncate(fd, decoder.offset)
            kernel.sync(fd)
        return size - decoder.offset
    finally:
        os.close(fd)
