"""What a run is told in, before it is Markdown or HTML: a few kinds of block, and no typography.

Who made the words (the app, whose wording they are) and who sets them agree here and nowhere else. Texts are as they
were said; that nothing in them is obeyed is for who sets them.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct


class Mood(StrEnum):
    PLAIN = ""
    GOOD = "good"
    BAD = "bad"
    OPEN = "open"
    """Nobody knows yet, or ever will."""


class Title(Struct, frozen=True, kw_only=True):
    """A run begins."""

    text: str
    below: str = ""
    mood: Mood = Mood.PLAIN


class Facts(Struct, frozen=True, kw_only=True):
    rows: tuple[tuple[str, str], ...]


class Heading(Struct, frozen=True, kw_only=True):
    text: str
    beside: str = ""
    mood: Mood = Mood.PLAIN


class Quote(Struct, frozen=True, kw_only=True):
    """What an operator said, word for word."""

    who: str
    text: str


class Prose(Struct, frozen=True, kw_only=True):
    """What the agent said: Markdown, more or less."""

    text: str


class Fold(Struct, frozen=True, kw_only=True):
    """One line, and what is behind it."""

    line: str
    beside: str = ""
    mood: Mood = Mood.PLAIN
    parts: tuple[tuple[str, str], ...] = ()
    """(what it is, text as it stood)."""
    prose: bool = False
    """The parts are sentences, not output."""


class Card(Struct, frozen=True, kw_only=True):
    """Something was asked, and what came of it."""

    line: str
    answer: str
    mood: Mood = Mood.PLAIN
    text: str = ""
    """What it was about: a command, a path, a plan."""
    questions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Each with what could be chosen."""


class Note(Struct, frozen=True, kw_only=True):
    """A line beside what was said."""

    text: str


class Code(Struct, frozen=True, kw_only=True):
    """A text as it stands."""

    text: str
    language: str = ""


Block = Title | Facts | Heading | Quote | Prose | Fold | Card | Note | Code

_FENCE: Final = re.compile(r"[ \t]*(?P<run>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$")


def pieces(text: str) -> Iterator[tuple[str, str, bool]]:
    """An agent's Markdown as (text, language, whether it is code), its fences taken away.

    A fence that is never closed goes to the end. Each renderer sets its own borders round the code, so that no two
    readers disagree about where it ends.
    """
    lines: list[str] = []
    fence, language = "", ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if found and not fence:
            if lines:
                yield "\n".join(lines), "", False
            fence, language, lines = found["run"], found["info"].split(" ")[0], []
        elif found and found["run"].startswith(fence) and not found["info"].strip():
            yield "\n".join(lines), language, True
            fence, lines = "", []
        else:
            lines.append(line)
    if lines:
        yield "\n".join(lines), language if fence else "", bool(fence)
