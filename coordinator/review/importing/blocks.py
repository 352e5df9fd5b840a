"""A file as blocks of lines that are read and not yet taken: what is asked of the ledger about them is asked at once.

Bounded: a block is so many lines or so many bytes, and of a line that nobody can have meant only its length is kept.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator.drivers.base import Notice
from coordinator.review.importing import decoding
from coordinator.review.importing.said import Happens, Line, Reader

LONGEST: Final = 128 * 1024 * 1024
"""Bytes of a line."""
LINES: Final = 200
BYTES: Final = 1 << 20


class Taken(Struct):
    """A line of a file, whatever it holds."""

    place: int
    raw: bytes
    """Of a line that is too long: its beginning."""
    line: Line | None
    """None: nothing of the conversation."""
    after: int
    """Where the next one begins."""


class Blocks(Struct):
    """Goes through a file once. ``torn``: its last line is only half there, and was not taken."""

    path: Path
    reader: Reader
    torn: bool = False

    def __iter__(self) -> Iterator[list[Taken]]:
        """
        Raises:
            OSError: the file cannot be read on.
        """
        block: list[Taken] = []
        size = place = 0
        with self.path.open("rb") as file:
            while raw := file.readline(LONGEST + 1):
                after = place + len(raw)
                line: Line | None
                if len(raw) > LONGEST:
                    after += _rest(file.readline)
                    line = _too_long(after - place)
                    raw = raw[:1024]
                elif not raw.endswith(b"\n") and decoding.anything(raw) is None:
                    self.torn = True
                    break
                else:
                    line = None if raw.isspace() else self.reader.line(raw, place)
                block.append(Taken(place, raw, line, after))
                size += len(raw)
                place = after
                if len(block) == LINES or size >= BYTES:
                    yield block
                    block, size = [], 0
        if block:
            yield block


def _rest(readline: Callable[[int], bytes]) -> int:
    size = 0
    while rest := readline(1 << 20):
        size += len(rest)
        if rest.endswith(b"\n"):
            break
    return size


def _too_long(size: int) -> Line:
    said = Notice(text=f"a line of {size} bytes was left out")
    return Line(at=None, keys=(), said=(Happens(said, works=False),))
