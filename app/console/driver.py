"""The console's terminal: Textual's driver, but for what it reads and for the mouse.

Input goes through ``sequences`` first, so that a cut sequence never becomes keys. The mouse is asked for clicks, the
wheel and drags (?1002), never for every cell that it passes (?1003): switching that off again afterwards would switch
the mouse off altogether in xterm and tmux, where the modes replace one another.
"""

import app.console.before_textual  # noqa: F401, I001  (first: Textual reads its environment at import)

import codecs
import contextlib
import os
import select
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from textual import constants, events
from textual._time import get_time
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from app.console.sequences import Kind, Piece, Sequences

if TYPE_CHECKING:
    from textual.app import App

MOUSE_MODES = (1000, 1002, 1006)
HUNG_UP = 0.1
"""Seconds between looks at a terminal that is gone."""
AT_LEAST = 2.0
"""Seconds after which the reading thread looks whether it is to end though nothing woke it."""
LONGEST = 32
_CHORDS = ("ctrl+", "alt+", "super+", "meta+", "hyper+")
_ALT_IN_EDITING = frozenset("bf\r\n\t\x7f")
"""With these Alt has a meaning everywhere: a word back, a word on, a new line."""


def mouse_sequence(*, on: bool) -> str:
    sign = "h" if on else "l"
    return "".join(f"\x1b[?{mode}{sign}" for mode in MOUSE_MODES)


def _without_character(message: Message) -> Message:
    """Ctrl and 1 is no 1, though one way of sending it says so: with one it would answer."""
    if isinstance(message, events.Key) and message.key.startswith(_CHORDS):
        return events.Key(message.key, None)
    return message


class Noise(events.InputEvent):
    """Bytes came that mean nothing. A key beside them did not come alone."""


class SteadyParser(XTermParser):
    """Textual's parser, given whole sequences only."""

    def __init__(self, escape_delay: float | None = None) -> None:
        super().__init__()
        self._sequences = Sequences(constants.ESCAPE_DELAY if escape_delay is None else escape_delay)

    @property
    def deadline(self) -> float | None:
        """When ``tick`` is to be called, if nothing is read before."""
        return self._sequences.deadline

    def feed(self, data: str) -> Iterator[Message]:
        for piece in self.pieces(data):
            yield from self.messages_of(piece)

    def tick(self) -> Iterator[Message]:
        for piece in self.pieces_due():
            yield from self.messages_of(piece)

    def pieces(self, data: str) -> list[Piece]:
        """Apart from what they mean, for who wants to show both."""
        return self._sequences.feed(data, get_time())

    def pieces_due(self) -> list[Piece]:
        return self._sequences.due(get_time())

    def messages_of(self, piece: Piece) -> list[Message]:
        match piece.kind:
            case Kind.TEXT:
                return list(super().feed(piece.text))
            case Kind.PASTE:
                return [events.Paste(piece.text.replace("\x00", ""))]
            case Kind.ESCAPE:
                return [events.Key("escape", "\x1b")]
            case Kind.NOISE:
                return [Noise()]
            case Kind.CHORD if piece.text[1] not in _ALT_IN_EDITING:
                return [self._chord(piece.text[1])]
            case _:
                return self._sequence(piece.text)

    def _sequence(self, text: str) -> list[Message]:
        if len(text) > LONGEST or text[1] in "]P_":
            # Nothing that Textual knows is so long, or begins so; it would type it out.
            return [Noise()]
        try:
            found = list(super().feed(text))
        except (ValueError, OverflowError):
            # Numbers that Textual does not expect (kitty's kinds of events); it would end the console.
            found = []
            self._begin_anew()
        if self._awaiting.timeout is not None:
            # Whole, but none that it knows: it would take what is typed next for more of it.
            self._begin_anew()
        return [_without_character(one) for one in found] or [Noise()]

    def _begin_anew(self) -> None:
        self._tokens.clear()
        self._gen = self.parse(self._tokens.append)
        self._awaiting = next(self._gen)

    def _chord(self, letter: str) -> events.Key:
        """No character: Alt and a digit is neither an answer nor a letter of the draft."""
        key = next(iter(self._sequence_to_key_events(letter, alt=True)), None)
        name = key.key if key is not None else letter
        return events.Key(name if name.startswith("alt+") else f"alt+{name}", None)


class Leaving(threading.Event):
    """Textual's word to the reading thread that it is to end, which wakes it: so it need not look by itself ten times
    a second, and who waits for it (a program that the terminal is lent to) does not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.reads, self._writes = os.pipe()
        os.set_blocking(self.reads, False)
        os.set_blocking(self._writes, False)

    def set(self) -> None:
        # Woken first: a signal may break in between the two, and a thread that nobody wakes holds up the end for ever.
        with contextlib.suppress(BlockingIOError):
            os.write(self._writes, b"\0")
        super().set()

    def clear(self) -> None:
        super().clear()
        with contextlib.suppress(BlockingIOError):
            os.read(self.reads, 4096)


class Terminal(LinuxDriver):
    def __init__(self, app: "App[Any]", *, debug: bool = False, mouse: bool = True, size: Any = None) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.exit_event: Leaving = Leaving()

    def _enable_mouse_support(self) -> None:
        if self._mouse:
            self.write(mouse_sequence(on=True))
            self.flush()

    def _disable_mouse_support(self) -> None:
        if self._mouse:
            self.write(mouse_sequence(on=False))
            self.flush()

    def send_message(self, message: Message) -> None:
        """What is read goes by whoever may not wait for the screen."""
        self.on_read(message)
        super().send_message(message)

    on_read: Callable[[Message], None] = staticmethod(lambda message: None)

    def take_mouse(self, *, on: bool) -> None:
        """Take the mouse, or leave it to the terminal; so it stays when the terminal was lent and came back."""
        self._mouse = True
        if on:
            self._enable_mouse_support()
        else:
            self._disable_mouse_support()
        self._mouse = on

    def run_input_thread(self) -> None:
        """In place of Textual's, whose parser gives up on what is late."""
        parser = SteadyParser()
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        waiting = select.poll()
        waiting.register(self.fileno, select.POLLIN)
        waiting.register(self.exit_event.reads, select.POLLIN)
        while not self.exit_event.is_set():
            left = AT_LEAST if parser.deadline is None else min(max(parser.deadline - get_time(), 0.0), AT_LEAST)
            ready = {file for file, _ in waiting.poll(left * 1000 + 1)}
            if self.exit_event.reads in ready:
                self.exit_event.wait(HUNG_UP)
            if self.fileno in ready:
                data = os.read(self.fileno, 65536)
                if not data:
                    # Hung up. Who watches the terminal closes the screen; until then this must not spin.
                    self.exit_event.wait(HUNG_UP)
                for message in parser.feed(decode(data)):
                    self.process_message(message)
            for message in parser.tick():
                self.process_message(message)
