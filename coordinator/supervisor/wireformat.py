"""The frames between a console and a supervisor: bytes to frames and back, no socket.

Wire version 1. A frame is two big-endian u32, the lengths of a JSON head and of a raw body, then both. A console's
first frame is ``hello`` with its version and the hold's cookie; every request carries ``n``, its answer ``re`` with the
same number. A frame with ``spool`` carries the bytes of the spool file from that offset, cut anywhere: what goes over
the wire is the file itself, so that an offset means the same on both sides.

A supervisor outlives the console that started it, so a console speaks its own version and the one before; ``hello`` and
``fence`` never change.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable

WIRE_VERSION = 1
VERSIONS_SPOKEN = (1,)
PREFIX = struct.Struct("!II")
MAX_HEAD = 4 * 1024 * 1024
MAX_BODY = 64 * 1024 * 1024


class BrokenFrame(Exception):
    """The stream is no sequence of frames (any more): the connection is of no further use."""


def frame(head: dict[str, object], body: bytes = b"") -> bytes:
    """One whole frame."""
    text = json.dumps(head, separators=(",", ":")).encode()
    return b"".join((PREFIX.pack(len(text), len(body)), text, body))


class FrameReader:
    """Takes bytes cut anywhere, gives whole frames."""

    def __init__(self, max_body: int = MAX_BODY, decode: Callable[[bytes], object] = json.loads) -> None:
        """``decode``: of a head; a console, which reads from many supervisors, has a faster one."""
        self._held = bytearray()
        self._max_body = max_body
        self._decode = decode

    def feed(self, data: bytes) -> list[tuple[dict[str, object], bytes]]:
        """Raises:
        BrokenFrame: lengths beyond the limits, or a head that is no JSON object.
        """
        self._held += data
        found: list[tuple[dict[str, object], bytes]] = []
        at = 0
        while len(self._held) - at >= PREFIX.size:
            head_length, body_length = PREFIX.unpack_from(self._held, at)
            if head_length > MAX_HEAD or body_length > self._max_body:
                raise BrokenFrame(f"frame of {head_length}+{body_length} bytes")
            end = at + PREFIX.size + head_length + body_length
            if end > len(self._held):
                break
            middle = at + PREFIX.size + head_length
            try:
                head = self._decode(bytes(self._held[at + PREFIX.size : middle]))
            except ValueError as error:
                raise BrokenFrame(str(error)) from None
            if not isinstance(head, dict):
                raise BrokenFrame("head is no object")
            found.append((head, bytes(self._held[middle:end])))
            at = end
        del self._held[:at]
        return found
