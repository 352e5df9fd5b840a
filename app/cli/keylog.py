"""``doctor --keys``: what each press arrives as, and what it would do in the console.

It reads the terminal exactly as the console does, through the same parser with the same modes asked for; so what is
shown here is what the console hears. Here is where to look when a key does nothing.
"""

import codecs
import os
import select
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from app.cli import printing
from app.cli.exits import Code
from app.console.views.text import literal
from app.wording_measures import plural

if TYPE_CHECKING:
    from textual.message import Message

    from app.console.keys import Key

TWICE = 1.0
"""Seconds within which a second Esc ends it."""
ON = "\x1b[?2004h\x1b[>25u"
"""Pastes in brackets and kitty's keys, as the console asks for them."""
OFF = "\x1b[<u\x1b[?2004l"

HEAD = "Press keys to see what arrives. Esc twice, or ^Q, ends it."


def show_keys(keymap: Mapping[str, str]) -> int:
    """Until Esc twice or ^Q; the terminal is as it was afterwards, whatever ends it."""
    from app.console.driver import SteadyParser
    from app.console.keymap import with_keymap

    table, problems = with_keymap(keymap)
    for problem in problems:
        printing.line(problem)
    printing.line(HEAD)
    parser, escape_at = SteadyParser(), float("-inf")
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    with _as_the_console_has_it():
        while True:
            pieces = parser.pieces(decode(data)) if (data := _read(parser.deadline)) else parser.pieces_due()
            if data == b"":
                return Code.DONE
            for piece in pieces:
                names, found = _heard(parser.messages_of(piece))
                for name in names or [""]:
                    printing.line(literal(row(name, found, piece.text, lambda key: meanings(key, table))))
                sys.stdout.flush()
                now = time.monotonic()
                if "ctrl+q" in names or (names == ["escape"] and now - escape_at <= TWICE):
                    return Code.DONE
                escape_at = now if names == ["escape"] else float("-inf")


def _read(deadline: float | None) -> bytes | None:
    """What comes before the deadline; None when nothing does, empty when the terminal has gone."""
    left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
    if not select.select([0], [], [], left)[0]:
        return None
    try:
        return os.read(0, 4096)
    except OSError:
        return b""


def _heard(messages: "Sequence[Message]") -> tuple[list[str], str]:
    """Names of keys, or in words what else it was."""
    from textual import events

    from app.console.driver import Noise

    names: list[str] = []
    other = ""
    for one in messages:
        match one:
            case events.Key():
                names.append(one.key)
            case events.Paste():
                other = f"a paste of {plural(len(one.text), 'character')}"
            case events.MouseEvent():
                other = "the mouse"
            case Noise():
                other = "nothing that Footplate knows: it is not heard"
            case _:
                other = "a report of the terminal"
    return names, other


def row(name: str, other: str, raw: str, meaning: Callable[[str], list[str]]) -> str:
    """One press in one row: the key's name for ``[keys]``, its bytes, and what it does where."""
    sent = raw.encode("utf-8", "replace")
    shown = sent[:24].hex(" ") + (" …" if len(sent) > 24 else "")
    return f"{name or '–':<26} {shown:<24} {'; '.join(meaning(name)) if name else other}".rstrip()


def meanings(name: str, table: "tuple[Key, ...]") -> list[str]:
    """What the key does in each place, by action; or why nothing could be bound to it."""
    from app.console.keys import undeliverable

    told = [f"{one.where.value}: {one.action}" for one in table if name in one.keys]
    if told:
        return told
    why = undeliverable(name)
    return [f"not bound, and can not be: {why}"] if why is not None else ["not bound"]


@contextmanager
def _as_the_console_has_it() -> Iterator[None]:
    before = termios.tcgetattr(0)
    raw = termios.tcgetattr(0)
    raw[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
    try:
        termios.tcsetattr(0, termios.TCSADRAIN, raw)
        sys.stdout.write(ON)
        sys.stdout.flush()
        yield
    finally:
        sys.stdout.write(OFF)
        sys.stdout.flush()
        termios.tcsetattr(0, termios.TCSAFLUSH, before)
