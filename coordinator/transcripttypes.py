"""What a transcript is asked for and what it is made of: events, pages, hits of a search. Part of ``api``, which passes
them on; nothing here acts."""

from msgspec import Struct

from coordinator.drivers.base import AgentEvent
from store.vocab import Millis, RunId, TurnId


class FeedEvent(Struct, frozen=True, kw_only=True):
    """One thing for a transcript, the same live and from the ledger. Deltas are live only and have no ``key``."""

    run: RunId
    turn: TurnId | None
    at: Millis
    event: AgentEvent
    key: tuple[int, int] | None = None
    """(spool offset, n): unique in its run, in order."""
    left_at: int = 0
    left_out: int = 0
    """Of a very long text the middle is left out: where, and how many characters. The ledger has it whole."""


class TranscriptPage(Struct, frozen=True, kw_only=True):
    events: tuple[FeedEvent, ...]
    """In order."""
    more_before: bool = False
    """Whether the ledger has older ones: ask for what is before the first key."""
    more_after: bool = False
    """Whether it has newer ones: ask for what is after the last key. The feed goes on from a page without."""


class Hit(Struct, frozen=True, kw_only=True):
    """An event, or the turn that begins with it, that has the text."""

    key: tuple[int, int]
    lines: int
    """How many of its lines have it."""
    turn: bool = False
    """What the operator said in the turn, not the event."""


class TranscriptHits(Struct, frozen=True, kw_only=True):
    hits: tuple[Hit, ...]
    """In order."""
    before: tuple[int, int] | None
    """To go on from; None: the run was searched to its beginning."""
    through: tuple[int, int]
    """The newest event that was looked at."""


class ReadTranscript(Struct, frozen=True, kw_only=True):
    """The newest page, or the one before, after or around a key, or around where a turn begins. Answer:
    ``TranscriptPage``."""

    run: RunId
    before: tuple[int, int] | None = None
    after: tuple[int, int] | None = None
    around: tuple[int, int] | None = None
    turn: TurnId | None = None
    limit: int = 1000


class SearchTranscript(Struct, frozen=True, kw_only=True):
    """Where a run has this text: a page of its events, the newest first. Literal; without capitals in it, capitals do
    not count. Answer: ``TranscriptHits``."""

    run: RunId
    text: str
    before: tuple[int, int] | None = None
    after: tuple[int, int] | None = None
    """Look no further back than this."""


class ReadWhole(Struct, frozen=True, kw_only=True):
    """One event's text as it was written, however long. Answer: a string."""

    run: RunId
    key: tuple[int, int]
