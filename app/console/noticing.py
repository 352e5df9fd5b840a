"""Telling an operator who is not at the screen: when, decided here; how, in ``app.notices``.

It hears every snapshot, also while an editor has the terminal: then nothing is written to it, but the operator's own
program still runs.
"""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from textual.timer import Timer

from app.notices.items import Due, notices
from app.notices.telling import Teller, Told
from coordinator.api import ConsoleSnapshot

if TYPE_CHECKING:
    from app.console.app import FootplateApp


class Noticing:
    def __init__(self, app: "FootplateApp") -> None:
        self._app = app
        options = app.options
        self._due = Due(options.notify.off)
        self._began = options.monotonic()
        self._timer: Timer | None = None
        self._teller = (
            None
            if options.told_file is None
            else Teller(options.notify, Told(options.told_file), self._from_thread_write, self._from_thread_say)
        )

    def take(self, snapshot: ConsoleSnapshot) -> None:
        if self._teller is None:
            return
        # Who has just opened the console is at it.
        last_key = max(self._app.gate.last() or self._began, self._began)
        due, left = self._due.take(notices(snapshot), self._app.options.monotonic(), last_key)
        if due:
            self._teller.tell(due)
        if left is not None and self._timer is None:
            self._timer = self._app.set_timer(left + 0.05, self._again)

    def _again(self) -> None:
        self._timer = None
        self.take(self._app.backend.snapshot())

    # ------------------------------------------------------------------------------------------ from the telling thread

    def _from_thread_write(self, out: str) -> None:
        with suppress(RuntimeError):  # the console has closed meanwhile
            self._loop.call_soon_threadsafe(self._write, out)

    def _from_thread_say(self, words: str) -> None:
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._app.drive.say, words)

    def begin(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.take(self._app.backend.snapshot())

    def _write(self, out: str) -> None:
        driver = self._app._driver
        if driver is not None and not self._app.is_headless and not self._app.deeds.away:
            driver.write(out)
            driver.flush()
