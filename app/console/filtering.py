"""Which sessions the list shows: words that the operator types, kept until Esc takes them away.

It hides nothing that waits: title, ``^O`` and the queue of ``a`` are over all sessions, whatever the list shows.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class Filtering:
    def __init__(self, deeds: "Deeds") -> None:
        self._drive = deeds.drive

    def begin(self) -> None:
        self._drive.begin_filter()

    def typed(self, words: str) -> None:
        self._drive.filter_words = words
        self._drive.paint()

    def left(self, kept: bool) -> None:
        if not kept:
            self._drive.filter_words = ""
        self._drive.end_filter()

    def clear(self) -> bool:
        """Show all again; False where all is shown."""
        if not self._drive.filter_words:
            return False
        self._drive.filter_words = ""
        self._drive.paint()
        return True
