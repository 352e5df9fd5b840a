"""Telling an operator who is elsewhere, where runs are held without a screen: their own program, and nothing else.

What waits is decided as for the console (``app.notices``), and noted in the same file, so that nothing is told twice. A
bell or a notice of the terminal's is not sent: the lines themselves stand there, and may go into a file.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from app.cli import exits
from app.notices.items import Due, NoticeSettings, notices
from app.notices.telling import Teller, Told
from coordinator.api import ConsoleSnapshot


class Caller:
    def __init__(
        self, settings: NoticeSettings, told_file: Path, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """``told_file``: keys of what was told before, by whichever console."""
        self._settings = replace(settings, bell=False, terminal="off")
        self._due = Due(settings.off)
        self._monotonic = monotonic
        self._last_line = monotonic()
        self._telling: list[threading.Thread] = []
        self._teller = Teller(self._settings, Told(told_file), write=lambda out: None, say=exits.note)

    def typed(self) -> None:
        """A line of the operator's came."""
        self._last_line = self._monotonic()

    def look(self, snapshot: ConsoleSnapshot) -> float | None:
        """Tell what is due. Seconds after which to look again; None: not before there is news."""
        if not self._settings.command:
            return None
        due, left = self._due.take(notices(snapshot), self._monotonic(), self._last_line)
        if due:
            self._telling = [*(one for one in self._telling if one.is_alive()), self._teller.tell(due)]
        return left

    def close(self, snapshot: ConsoleSnapshot) -> None:
        """The last look. What is being told is waited for, as long as the program may take."""
        self.look(snapshot)
        end = self._monotonic() + self._settings.command_seconds + 1
        for one in self._telling:
            one.join(max(0.0, end - self._monotonic()))
