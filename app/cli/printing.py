"""What goes to stdout: lines, tables and JSON. Text of agents, files and repositories is made literal here, once."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from app.console.views.text import literal


def line(text: str = "") -> None:
    """One line, as it is: what it is made of was made literal where it came in."""
    sys.stdout.write(text + "\n")


def told(text: str) -> None:
    """A line that is out at once, for who reads along."""
    line(text)
    sys.stdout.flush()


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
    """Somebody else's text in one line of ours."""
    flat = literal(" ".join(text.split()))
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def literal_lines(text: str) -> list[str]:
    """Somebody else's text line by line, uncut, with nothing in it that a terminal obeys."""
    return [literal(part) for part in text.replace("\r\n", "\n").split("\n")]


def table(rows: Iterable[Sequence[str]], *, right: frozenset[int] = frozenset()) -> None:
    """Columns as wide as their widest cell, two blanks between them; the last one ends where it ends."""
    held = [list(row) for row in rows]
    if not held:
        return
    widths = [max(len(row[column]) for row in held) for column in range(len(held[0]))]
    for row in held:
        cells = [
            cell.rjust(widths[column]) if column in right else cell.ljust(widths[column])
            for column, cell in enumerate(row)
        ]
        line("  ".join(cells).rstrip())


def plain_output() -> None:
    """A terminal that cannot show a letter gets its number, never an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
