"""What could be meant by the word that is being written: files after ``@``, commands after ``/``. Pure.

A word is looked at where the cursor stands, so a path in the middle of a sentence completes like one at its end.
"""

import re
from enum import StrEnum
from heapq import nsmallest
from typing import Final

from msgspec import Struct

from app.console.views.glyphs import Glyphs
from app.console.views.ink import Line, Span, cells, cut, cut_path, one_line

SHOWN: Final = 5
"""Rows of the list; a screen of few rows shows fewer."""
MOST: Final = 50

_FILE = re.compile(r'(?:^|[\s(\[{<,;:])(?P<word>@(?:"(?P<quoted>[^"]*)|(?P<bare>[^\s"@]*)))$')
_COMMAND = re.compile(r"(?P<word>/(?P<name>\S*))$")


class Kind(StrEnum):
    FILE = "file"
    COMMAND = "command"


class Asked(Struct, frozen=True, kw_only=True):
    """A word that could be completed, up to the cursor."""

    kind: Kind
    typed: str
    """Without the sign and the quote."""
    length: int
    """Of the word as it stands, both included."""


class Offer(Struct, frozen=True, kw_only=True):
    put: str
    """What takes the place of the word."""
    shown: str
    beside: str = ""


def asked(before: str, *, first_line: bool) -> Asked | None:
    """What the text before the cursor, in its line, asks for."""
    if first_line and (found := _COMMAND.match(before)) is not None:
        return Asked(kind=Kind.COMMAND, typed=found["name"], length=len(found["word"]))
    found = _FILE.search(before[-1024:])
    if found is None:
        return None
    typed = found["quoted"] if found["quoted"] is not None else found["bare"]
    return Asked(kind=Kind.FILE, typed=typed, length=len(found["word"]))


class FileNames(Struct, frozen=True):
    """The paths of a tree, made ready once to be looked through at each key."""

    paths: tuple[str, ...]
    _lower: tuple[str, ...]
    _bases: tuple[str, ...]

    @classmethod
    def of(cls, paths: tuple[str, ...]) -> "FileNames":
        lower = tuple(path.lower() for path in paths)
        return cls(paths, lower, tuple(path.rpartition("/")[2] for path in lower))


def file_offers(names: FileNames, typed: str) -> tuple[Offer, ...]:
    """Names that begin so come first, then paths that begin so, then those that have it anywhere; the short before
    the long."""
    wanted = typed.lower()
    if not wanted:
        return ()
    paths, lower = names.paths, names._lower
    by_name = [at for at, base in enumerate(names._bases) if base.startswith(wanted)]
    found = nsmallest(MOST, by_name, key=lambda at: (len(paths[at]), paths[at]))
    if len(found) < MOST:
        known = set(by_name)
        others = [at for at, path in enumerate(lower) if wanted in path and at not in known]
        found += nsmallest(
            MOST - len(found), others, key=lambda at: (not lower[at].startswith(wanted), len(paths[at]), paths[at])
        )
    return tuple(Offer(put=f"{mention(paths[at])} ", shown=paths[at]) for at in found)


def mention(path: str) -> str:
    """As an agent reads it: quoted where it would end too soon."""
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def command_offers(commands: tuple[tuple[str, str, str], ...], typed: str) -> tuple[Offer, ...]:
    """``commands``: name, what it does, whose it is. Their order stays."""
    found = [one for one in commands if one[0].startswith(typed)]
    return tuple(
        Offer(put=f"/{name} ", shown=f"/{one_line(name)}", beside=f"{whose}: {one_line(about)}" if about else whose)
        for name, about, whose in found[:MOST]
    )


def offer_lines(offers: tuple[Offer, ...], at: int, width: int, height: int, glyphs: Glyphs) -> tuple[Line, ...]:
    """The list above the composer, with the chosen row in it; ``at`` is -1 while none was chosen."""
    if not offers or height < 1:
        return ()
    first = min(max(at - height + 1, 0), max(len(offers) - height, 0))
    rows: list[Line] = []
    shown = offers[first : first + height]
    names = min(max(cells(one.shown) for one in shown), max(width * 2 // 3, 12))
    for place, one in enumerate(shown, first):
        here = place == max(at, 0)
        mark = f"{glyphs.prompt} " if here and at >= 0 else "  "
        if not one.beside:
            rows.append((Span(mark, "blue"), Span(cut_path(one.shown, width - 2), "bright" if here else "grey")))
            continue
        name = cut(one.shown, names)
        beside = cut(one.beside, max(width - 4 - names, 0))
        rows.append(
            (
                Span(mark, "blue"),
                Span(name + " " * (names - cells(name) + 2), "bright" if here else "text"),
                Span(beside, "grey"),
            )
        )
    return tuple(rows)


def offers_words(offers: tuple[Offer, ...], at: int) -> str:
    """Said in the status row while the list is open."""
    one = offers[max(at, 0)]
    more = f", ↑ ↓ another of {len(offers)}" if len(offers) > 1 else ""
    return f"Tab takes {one.shown}{more}, Esc closes"
