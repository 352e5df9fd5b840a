"""What terminals send, by kind; and time that passes only when a test says so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from textual import events
from textual.message import Message

from app.console.driver import SteadyParser

ESC = "\x1b"
MOUSE = (
    *(f"\x1b[<{button};{x};{y}{end}" for button in (0, 1, 2, 4, 8, 16) for x, y in ((1, 1), (112, 31)) for end in "Mm"),
    *(f"\x1b[<{button};57;12M" for button in (32, 33, 34, 35, 64, 65, 66, 67, 68, 80)),
    *(
        f"\x1b[M{chr(32 + button)}{chr(32 + x)}{chr(32 + y)}"
        for button in (0, 1, 2, 3, 64)
        for x, y in ((17, 18), (56, 17))
    ),
    "\x1b[M1A1",
    "\x1b[32;57;12M",
)
"""SGR, X10 (whose letters are letters of the keyboard) and urxvt."""
_LETTERED = "ABCDEFHPQRSZ"
_NUMBERED = (1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34)
KEYS = (
    *(f"\x1b[{letter}" for letter in _LETTERED),
    *(f"\x1bO{letter}" for letter in "ABCDFHMPQRS"),
    *(f"\x1b[{number}~" for number in _NUMBERED),
    *(f"\x1b[1;{modifier}{letter}" for modifier in range(2, 9) for letter in "ABCDFHPQRS"),
    *(f"\x1b[{number};{modifier}~" for modifier in (2, 3, 5, 6) for number in _NUMBERED),
    *(f"\x1b[[{letter}" for letter in "ABCDE"),
    *(f"\x1b[{number}{end}" for number in (3, 5, 23) for end in "$^@"),
    *(f"\x1b\x1b[{letter}" for letter in "ABCD"),
    *(f"\x1b\x1bO{letter}" for letter in "ABCD"),
    "\x1b[27;2;13~",
    "\x1b[27;5;49~",
)
KITTY = (
    "\x1b[27u", "\x1b[13;2u", "\x1b[97;3u", "\x1b[49;5u", "\x1b[120;6u", "\x1b[57358u", "\x1b[57441;2u", "\x1b[57376u",
    "\x1b[1;1:3A", "\x1b[99;5:2u", "\x1b[57417;1:3u", "\x1b[49:33;4u",
)  # fmt: skip
REPORTS = (
    "\x1b[I", "\x1b[O", "\x1b[1;1R", "\x1b[31;112R", "\x1b[?62;22c", "\x1b[>0;276;0c",
    "\x1b[?2026;2$y", "\x1b[?2048;0$y",
    "\x1b[0n", "\x1b[?1u", "\x1b[8;34;120t", "\x1b[48;34;120;680;1200t",
    "\x1b]11;rgb:1111/2222/3333\x07", "\x1b]10;rgb:1111/2222/3333\x1b\\", "\x1b]52;c;MTIxMjE=\x07",
    "\x1b]4;1;rgb:dddd/1111/1111\x1b\\", "\x1bP>|XTerm(370)\x1b\\", "\x1bP1$r1m\x1b\\", "\x1bP1+r544e=1\x1b\\",
    "\x1b_Gi=31;OK\x1b\\",
)  # fmt: skip
"""What a terminal says of itself, asked or not."""
PASTES = ("\x1b[200~1\r2\r\x1b[201~", "\x1b[200~y\x1b[201~")
ALL = (*MOUSE, *KEYS, *KITTY, *REPORTS, *PASTES)
GAPS = (0.05, 0.15, 0.4, 1.2)
DELAYS = (0.5, 1.0)


@dataclass
class Time:
    at: float = 1000.0

    def __call__(self) -> float:
        return self.at


def frozen(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    for where in ("textual._parser.get_time", "textual._time.get_time", "app.console.driver.get_time"):
        monkeypatch.setattr(where, time)
    return time


class Wire:
    """A terminal's line into the console's parser, under a clock of the test's own."""

    def __init__(self, time: Time, delay: float) -> None:
        self._time = time
        self._parser = SteadyParser(delay)

    def read(self, data: str) -> list[Message]:
        return [*self._parser.feed(data), *self._parser.tick()]

    def quiet(self, seconds: float) -> list[Message]:
        """As the reading thread does: it looks each tenth of a second, and when something is due."""
        out: list[Message] = []
        end = self._time.at + seconds
        while self._time.at < end:
            due = self._parser.deadline or end
            self._time.at = min(max(min(self._time.at + 0.1, due), self._time.at + 0.001), end)
            out += self._parser.tick()
        return out

    def cut(self, parts: Sequence[str], gap: float) -> list[Message]:
        out: list[Message] = []
        for part in parts:
            out += [*self.read(part), *self.quiet(gap)]
        return [*out, *self.quiet(6.0)]


def told(messages: Sequence[Message]) -> list[tuple[str, str | None]]:
    """What they would do: keys and pastes. A mouse's events are told by their kind."""
    out: list[tuple[str, str | None]] = []
    for one in messages:
        if isinstance(one, events.Key):
            out.append((one.key, one.character))
        elif isinstance(one, events.Paste):
            out.append(("paste", one.text))
        elif isinstance(one, events.MouseEvent):
            out.append((type(one).__name__, f"{one.x:.0f},{one.y:.0f},{one.button}"))
    return out


def cuts(sequence: str) -> Iterator[tuple[str, str]]:
    for at in range(1, len(sequence)):
        yield sequence[:at], sequence[at:]
