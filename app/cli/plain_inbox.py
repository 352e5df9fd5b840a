"""All that a front end without a screen waits for, through one queue: the backend's wake, a line of stdin, a signal.

So nothing races. What an item means is for ``plain`` and ``queuerun``.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from queue import Empty, SimpleQueue
from types import FrameType

from app.cli.calling import Caller
from app.cli.exits import Code
from coordinator.api import Backend


class Tick(Enum):
    WAKE = "wake"
    EOF = "eof"
    SIGINT = "sigint"
    LOST = "lost"
    """TERM, a hangup, the end of the terminal."""


Item = Tick | str
"""A string is a line of the operator's."""


class Inbox:
    def __init__(self, backend: Backend, *, terminal: bool, caller: Caller | None = None) -> None:
        """``terminal``: whether stdin is one, so that its end is a loss and not the end of what a script had to say.
        ``caller``: tells the operator what waits when no line came for a while."""
        self._backend = backend
        self._terminal = terminal
        self._caller = caller
        self._items: SimpleQueue[Item] = SimpleQueue()
        self._waking = threading.Event()

    @contextmanager
    def listening(self, lines: Iterable[str]) -> Iterator[None]:
        """``lines``: the operator's, read on a thread of their own."""
        reader = threading.Thread(target=self._read, args=(lines,), name="stdin", daemon=True)
        with self._signals(), self._subscribed():
            reader.start()
            yield

    def served(self, lines: Iterable[str], watch: Callable[[], int], lost: Callable[[], bool]) -> int:
        """What ``watch`` gives; *unreachable* where nobody is told any more and ``lost`` says that all is left held.

        Raises:
            OSError: nobody is told any more, and what was held had to be ended.
        """
        with self.listening(lines):
            try:
                return watch()
            except OSError:
                if lost():
                    return Code.UNREACHABLE
                raise
            finally:
                if self._caller is not None:
                    self._caller.close(self._backend.snapshot())

    def next(self, seconds: float | None = None) -> Item:
        """Waits; after ``seconds`` without anything it is as if the backend had news."""
        left = None if self._caller is None else self._caller.look(self._backend.snapshot())
        waits = [each for each in (seconds, left) if each is not None]
        try:
            item = self._items.get(timeout=min(waits, default=None))
        except Empty:
            return Tick.WAKE
        if item is Tick.WAKE:
            self._waking.clear()
        elif self._caller is not None and isinstance(item, str):
            self._caller.typed()
        return item

    def _read(self, lines: Iterable[str]) -> None:
        try:
            for text in lines:
                self._items.put(text)
        except (OSError, ValueError):
            pass  # a terminal that went away is the end of its input
        self._items.put(Tick.LOST if self._terminal else Tick.EOF)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def put(tick: Tick) -> Callable[[int, FrameType | None], None]:
            return lambda _number, _frame: self._items.put(tick)

        wanted = {signal.SIGINT: Tick.SIGINT, signal.SIGTERM: Tick.LOST, signal.SIGHUP: Tick.LOST}
        before = {
            number: signal.signal(number, put(tick))
            for number, tick in wanted.items()
            # Under nohup a hangup is nobody's wish.
            if not (number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def _subscribed(self) -> Iterator[None]:
        def wake() -> None:
            # One token in the queue at a time, however often the backend has news.
            if not self._waking.is_set():
                self._waking.set()
                self._items.put(Tick.WAKE)

        unsubscribe = self._backend.subscribe(wake)
        wake()
        try:
            yield
        finally:
            unsubscribe()


def stdin_lines() -> Iterator[str]:
    """The operator's lines, decoded whatever bytes come.

    Read past Python's own buffer on purpose: a thread that waits inside it at the end of the process is a fatal error
    of the interpreter.
    """
    rest = b""
    while chunk := os.read(0, 65_536):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (_text(raw) for raw in whole)
    if rest:
        yield _text(rest)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").rstrip("\r")
