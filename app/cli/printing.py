"""What goes to stdout: lines, tables and JSON. Text of agents, files and repositories is made literal here, once."""

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from app.cli.columns import Column, rendered
from app.console.views.text import breaks, cells, cut, literal

HANG: Final = 2
"""Blanks more before what goes on from a line above."""


def line(text: str = "") -> None:
    """One line, as it is: what it is made of was made literal where it came in."""
    sys.stdout.write(text + "\n")


def told(text: str) -> None:
    """A line that is out at once, for who reads along."""
    line(text)
    sys.stdout.flush()


def columns() -> int | None:
    """Cells of a line on the terminal that stdout is; None: it is none, and nothing need fit."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def wrapped(text: str, width: int | None, *, hang: int = HANG) -> list[str]:
    """A sentence as lines of at most ``width`` cells; None: as one. Broken at blanks, or between wide letters, which
    are written without; what goes on stands ``hang`` cells further in. A word longer than a line stays whole."""
    if width is None:
        return [text]
    rest = text.lstrip(" ")
    indent, further = len(text) - len(rest), min(len(text) - len(rest) + hang, width // 2)
    out: list[str] = []
    while rest or not out:
        room = max(width - indent, 1)
        end = breaks(rest, room, room, by_word=True)[0][1]
        while 0 < end < len(rest) and _in_a_word(rest, end):
            end += 1
        out.append((" " * indent + rest[:end]).rstrip(" "))
        rest, indent = rest[end:].lstrip(" "), further
    return out


def _in_a_word(text: str, at: int) -> bool:
    return all(letter != " " and cells(letter) < 2 for letter in text[at - 1 : at + 1])


def sentence(text: str, *, hang: int = HANG) -> None:
    """A line of ours that is out at once; on a terminal it goes on below where it is longer than that is wide."""
    for row in wrapped(text, columns(), hang=hang):
        told(row)


def as_json(value: object) -> None:
    """One JSON document. Escapes are JSON's own, so a terminal that shows it is safe too."""
    sys.stdout.write(_escaped(json.dumps(msgspec.to_builtins(value), ensure_ascii=True, indent=2)) + "\n")


def json_line(value: dict[str, Any]) -> None:
    """One event on one line, out at once."""
    sys.stdout.write(_escaped(json.dumps(msgspec.to_builtins(value), ensure_ascii=True)) + "\n")
    sys.stdout.flush()


def _escaped(document: str) -> str:
    return document.replace("\x7f", "\\u007f")  # the one control character that JSON lets through


def one_line(text: str, most: int = 300) -> str:
    """Somebody else's text in one line of ours, of at most so many cells."""
    return cut(literal(" ".join(text.split())), most)


def literal_lines(text: str) -> list[str]:
    """Somebody else's text line by line, uncut, with nothing in it that a terminal obeys."""
    return [literal(part) for part in text.replace("\r\n", "\n").split("\n")]


def table(rows: Iterable[Sequence[str]], shape: Sequence[Column]) -> None:
    """Rows under the heads of their columns; on a terminal as wide as that. Nothing at all where there are no rows."""
    for said in rendered(list(rows), shape, columns()):
        line(said)


def plain_output() -> None:
    """A terminal that cannot show a letter gets its number, never an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
