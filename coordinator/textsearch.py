"""Looking for a text in what an agent said and did: literally, in the words that a transcript shows of an event.

Not the full-text search of the ledger: that finds words, in runs that have ended turns. This finds any characters, in
one run, those of a turn that still goes on too.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from coordinator.drivers import base

_ASCII: Final = re.compile(r"[\x20-\x7e]+")
_MOST_INPUT: Final = 100_000


class Needle:
    """A text that is looked for. Capitals count only when it has some itself."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.folds = text == text.lower()
        self._pattern = re.compile(re.escape(text), re.IGNORECASE if self.folds else 0)

    def spans(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in self._pattern.finditer(text)] if self.text else []

    def lines(self, text: str) -> int:
        """How many of the text's lines have it."""
        if not self.text or self._pattern.search(text) is None:
            return 0
        return sum(self._pattern.search(line) is not None for line in text.split("\n"))

    @property
    def in_json(self) -> str:
        """What an event's body must hold if the event has the text: a first sieve, which SQLite can do by itself."""
        if self.text.isascii():
            sieve = self.text
        else:
            # SQLite's lower() leaves all but a to z as it is.
            sieve = max(_ASCII.findall(self.text), key=len, default="")
        written = msgspec.json.encode(sieve).decode()[1:-1]
        return written.lower() if self.folds else written


def lines_with(needle: Needle, event: base.AgentEvent) -> int:
    """How many lines of what is shown of the event have the text."""
    return sum(needle.lines(text) for text in _shown(event))


def _shown(event: base.AgentEvent) -> Iterator[str]:
    match event:
        case base.TextBlock() | base.ThoughtBlock() | base.Notice():
            yield event.text
        case base.ToolStarted():
            yield event.title
            yield from (text for text in _texts(event.input) if text != event.title)
        case base.ToolFinished():
            yield event.output
        case base.DecisionAsked():
            yield from (event.title, event.subject, event.why)
            for question in event.questions:
                yield question.text
                for choice in question.choices:
                    yield from (choice.label, choice.description)
        case base.TurnResult():
            yield event.failure_text
        case base.RetryNotice():
            yield event.why
        case _:
            return


def _texts(given: dict[str, Any]) -> Iterator[str]:
    for value in given.values():
        if isinstance(value, str):
            yield value[:_MOST_INPUT]


def whole_text(event: base.AgentEvent) -> str:
    """All of it, for a reader who wants the event alone."""
    return "\n".join(text for text in _shown(event) if text)
