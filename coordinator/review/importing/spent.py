"""Tokens as transcripts tell them, in one definition: what was sent fresh, read from a cache, written to one, and said.

Both agents are brought to it where their lines are read: the one counts cached tokens apart, the other as a part of its
input, and reasoning is a part of the output in both. Added up two ways, the same session has two costs.
"""

from dataclasses import dataclass
from typing import Final

LARGEST: Final = 1 << 40
"""A count beyond it is no count: it would not fit into a sum of 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    fresh: int = 0
    """Input that came from no cache and went into none."""
    read: int = 0
    """Input that a cache had."""
    written: int = 0
    """Input that was put into a cache for a short while."""
    written_long: int = 0
    """The same for an hour, which costs more."""
    said: int = 0
    """Output, its reasoning included."""
    searches: int = 0
    """Searches of the web that the model's host made, each with a price of its own."""

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            fresh=self.fresh + other.fresh,
            read=self.read + other.read,
            written=self.written + other.written,
            written_long=self.written_long + other.written_long,
            said=self.said + other.said,
            searches=self.searches + other.searches,
        )

    def larger(self, other: "Tokens") -> "Tokens":
        """Of two tellings about the same answer: a streamed answer is told before it is complete, and again after."""
        return Tokens(
            fresh=max(self.fresh, other.fresh),
            read=max(self.read, other.read),
            written=max(self.written, other.written),
            written_long=max(self.written_long, other.written_long),
            said=max(self.said, other.said),
            searches=max(self.searches, other.searches),
        )


def count(value: object) -> int:
    """A number of tokens; what is none counts as nothing told."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        return 0
    return int(value)
