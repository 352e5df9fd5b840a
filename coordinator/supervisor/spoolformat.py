"""The bytes of a spool: encoding and decoding of its records, and nothing that touches a file.

Spool version 1. A spool is a sequence of records, each a 24-byte head (little-endian) and a payload:

    magic "FP" | version u8 | kind u8 | generation u32 | at_ms u64 (UTC) | length u32 | crc32 u32

The checksum covers the head without itself, then the payload. stdout and stderr carry raw bytes, every other kind a
JSON object. Both sides read spools with this module, so it must stay free of anything that the console does not have.
"""

from __future__ import annotations

import json
import struct
import zlib

SPOOL_VERSION = 1
MAGIC = b"FP"
HEAD = struct.Struct("<2sBBIQII")
MAX_PAYLOAD = 64 * 1024 * 1024
"""No writer makes a longer one; a head that claims more is damage."""

NUMBERS = {
    "header": 1,
    "started": 2,
    "stdout": 3,
    "stderr": 4,
    "writing": 5,
    "wrote": 6,
    "cancelled": 7,
    "write-failed": 8,
    "fence": 9,
    "signal": 10,
    "step": 11,
    "exit": 12,
    "gap": 13,
    "overflow": 14,
    "worker-lost": 15,
    "gone": 16,
    "end": 17,
    "quiet": 18,
    "resized": 19,
}
"""On disk for ever: a number is never used again for another kind. The last two are of terminals alone, which a console
that does not know them never started."""
NAMES = {number: name for name, number in NUMBERS.items()}
RAW = frozenset({"stdout", "stderr"})


class Record:
    """One record as read."""

    __slots__ = ("at_ms", "generation", "kind", "next_offset", "offset", "payload")

    def __init__(self, kind: str, offset: int, next_offset: int, at_ms: int, generation: int, payload: bytes) -> None:
        self.kind = kind
        self.offset = offset
        self.next_offset = next_offset
        self.at_ms = at_ms
        self.generation = generation
        self.payload = payload

    def facts(self) -> dict[str, object]:
        """The payload of a kind that is not raw."""
        value = json.loads(self.payload)
        return value if isinstance(value, dict) else {"value": value}


def encode(kind: str, payload: bytes, *, at_ms: int, generation: int) -> bytes:
    """One whole record."""
    bare = HEAD.pack(MAGIC, SPOOL_VERSION, NUMBERS[kind], generation, at_ms, len(payload), 0)[:-4]
    check = zlib.crc32(payload, zlib.crc32(bare))
    return b"".join((bare, check.to_bytes(4, "little"), payload))


def encode_facts(facts: dict[str, object]) -> bytes:
    """The payload of a kind that is not raw."""
    return json.dumps(facts, separators=(",", ":")).encode()


class Decoder:
    """Takes the bytes of a spool cut anywhere, gives whole records.

    Once a record is damaged nothing after it is believed: ``broken`` says why, ``offset`` is where the good part ends.
    Bytes that ``pending`` counts when the file has no more are a torn tail.
    """

    def __init__(self, offset: int = 0) -> None:
        self.offset = offset
        self.broken: str | None = None
        self._held = bytearray()

    @property
    def pending(self) -> int:
        """Bytes that are no whole record yet."""
        return len(self._held)

    def feed(self, data: bytes | memoryview) -> list[Record]:
        """Take the next bytes; returns the records that they complete."""
        if self.broken is not None:
            return []
        self._held += data
        found: list[Record] = []
        at = 0
        view = memoryview(self._held)
        try:
            while len(view) - at >= HEAD.size:
                magic, version, number, generation, at_ms, length, check = HEAD.unpack_from(view, at)
                if magic != MAGIC or version != SPOOL_VERSION or number not in NAMES or length > MAX_PAYLOAD:
                    self.broken = f"no record head at {self.offset}"
                    break
                end = at + HEAD.size + length
                if end > len(view):
                    break
                payload = bytes(view[at + HEAD.size : end])
                if zlib.crc32(payload, zlib.crc32(view[at : at + HEAD.size - 4])) != check:
                    self.broken = f"checksum of the record at {self.offset}"
                    break
                next_offset = self.offset + HEAD.size + length
                found.append(Record(NAMES[number], self.offset, next_offset, at_ms, generation, payload))
                self.offset = next_offset
                at = end
        finally:
            view.release()
        del self._held[:at]
        return found
