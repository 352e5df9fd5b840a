"""Which helpers' files an import has read: each once, wherever and however often a session tells of it."""

from collections.abc import Callable
from pathlib import Path

from store import imports
from store.tx import Tx
from store.vocab import RunId


class HelperNotes:
    def __init__(self, look: Callable[[], Tx | None]) -> None:
        self._look = look
        self._done: set[str] = set()

    def passes(self, identity: str) -> bool:
        """Not to be read again; False: it was passed before."""
        new = identity not in self._done
        self._done.add(identity)
        return new

    def begin(self, identity: str, path: Path, run: RunId | None) -> tuple[int, tuple[int, int]] | None:
        """From where to read, and size and time; None: nothing new in it."""
        if not self.passes(identity):
            return None
        try:
            told = path.stat()
        except OSError:
            return None
        tx = self._look()
        row = None if tx is None else imports.find(tx, identity)
        if row is not None and row.run != run:
            return None if row.read_to >= told.st_size else (row.read_to, (told.st_size, told.st_mtime_ns))
        return 0, (told.st_size, told.st_mtime_ns)
