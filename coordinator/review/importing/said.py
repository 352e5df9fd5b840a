"""What a transcript says, whichever agent wrote it: the little language between a reader of lines and the ledger.

A reader is pure: a line in, these out. Which of it the ledger has already, under which run and turn it goes, and when
it is written is decided in ``reading``.
"""

import hashlib
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from coordinator.drivers.base import AgentEvent
from coordinator.prices import Tokens
from store.vocab import FailureKind, Millis, TurnResultKind, TurnSource


class Begins(Struct, frozen=True, kw_only=True):
    """A turn, by what was said to the agent; the one before it is over."""

    text: str
    source: TurnSource = TurnSource.OPERATOR


class Happens(Struct, frozen=True):
    event: AgentEvent
    works: bool = True
    """Part of the turn's own work, so that the turn lasts until then; not what comes an hour later."""


class Spends(Struct, frozen=True, kw_only=True):
    """What one answer of a model used. Told again (by each of its blocks, by a copy of the line), it counts once."""

    answer: str
    """The answer's own id, the same in every telling."""
    model: str
    tokens: Tokens


class Ends(Struct, frozen=True, kw_only=True):
    """How the turn that is open ended, as far as the agent says so."""

    kind: TurnResultKind
    subtype: str = ""
    failure: FailureKind | None = None
    text: str = ""
    duration_ms: int | None = None


class Helper(Struct, frozen=True):
    """A helper's own file belongs here."""

    agent: str
    call: str
    """The tool call that began it."""


class About(Struct, frozen=True, kw_only=True):
    """What the session says of itself; what is '' is not told by this line."""

    model: str = ""
    mode: str = ""


Said = Begins | Happens | Spends | Ends | Helper | About


class Line(Struct, frozen=True, kw_only=True):
    """One line, read."""

    at: Millis | None
    """When; None where the line does not tell, or tells nonsense."""
    keys: tuple[int, ...]
    """By which it is known again in another file. Empty: nobody copies such a line."""
    said: tuple[Said, ...]


class Beginning(Struct, frozen=True, kw_only=True):
    """What the head of a file tells."""

    native_id: str
    cwd: str = ""
    branch: str = ""
    version: str = ""
    model: str = ""
    began: Millis | None = None
    forked_from: str = ""


class Ending(Struct, frozen=True, kw_only=True):
    """What the tail of a file tells."""

    at: Millis | None = None
    failed: bool = False
    detail: str = ""


class Reader(Protocol):
    """Reads the lines of one file in order; remembers only what later lines need."""

    def line(self, raw: bytes, place: int) -> Line | None:
        """None: the agent's own bookkeeping, which is no part of the conversation."""
        ...


class Format(Protocol):
    """One agent's way of writing transcripts."""

    agent: str
    driver: str

    def recognises(self, lines: Sequence[bytes]) -> bool:
        """Whether these first lines are of such a file."""
        ...

    def beginning(self, lines: Sequence[bytes], name: str) -> Beginning: ...

    def ending(self, lines: Sequence[bytes]) -> Ending: ...

    def reader(self, begun: Beginning, *, root: str, helper_of: str | None = None) -> Reader:
        """``root``: the session in which a forked one began, by which its copied lines are known again."""
        ...


def key(*parts: str | bytes) -> int:
    """64 bits of a digest, signed as SQLite's are: of ten million lines two meet by chance once in 300,000 ledgers."""
    told = b"\x1f".join([part if isinstance(part, bytes) else part.encode("utf-8", "replace") for part in parts])
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest(), "big", signed=True)
