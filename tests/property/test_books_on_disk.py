"""The interleavings of ``test_books_follow`` on a file, as a console has it; a kill leaves the bytes as they stand.

A crash here is a copy of the ledger and its WAL in the middle of whatever is under way, and the next console opens that
copy: what was committed is there, and nothing of what was not.
"""

import shutil
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from store.open import connect
from store.tx import Tx
from tests.property.parts import parts
from tests.property.test_books_follow import Books
from tests.store.scenes import NOON, new_ledger


class BooksOnDisk(Books):
    def opened(self) -> Tx:
        self.folder = Path(self.scene.enter_context(TemporaryDirectory()))
        self.lives = 0
        self.at.write_bytes(new_ledger())
        return self.on_file()

    @property
    def at(self) -> Path:
        return self.folder / f"ledger-{self.lives}.db"

    def on_file(self) -> Tx:
        return Tx(self.scene.enter_context(closing(connect(self.at))), NOON)

    def crash(self) -> None:
        left, wal = self.at, Path(f"{self.at}-wal")
        self.lives += 1
        shutil.copyfile(left, self.at)
        if wal.exists():
            shutil.copyfile(wal, f"{self.at}-wal")
        self.first.conn.close()
        self.first = self.on_file()


globals().update(parts(BooksOnDisk, "books on disk", into=2, steps=30, shrink=False))
