"""Which SQLite this Python brings along, for ``doctor``; apart, because no other package may name it."""

import sqlite3

from msgspec import Struct

OLDEST = (3, 37, 0)
"""The first with STRICT tables."""


class Engine(Struct, frozen=True, kw_only=True):
    version: str
    fts5: bool
    """Full-text search is compiled in."""

    @property
    def will_do(self) -> bool:
        return self.fts5 and tuple(int(part) for part in self.version.split(".")) >= OLDEST


def engine() -> Engine:
    connection = sqlite3.connect(":memory:")
    try:
        options = {str(row[0]) for row in connection.execute("PRAGMA compile_options")}
    finally:
        connection.close()
    return Engine(version=sqlite3.sqlite_version, fts5="ENABLE_FTS5" in options)
