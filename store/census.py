"""How much of what lies in a ledger, for a bug report: its form and the number of its rows, and no word of them.

Apart from ``db``, which brings an older ledger to today's form before it shows it: here the file's own is asked for.
"""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from store import migrate
from store.open import connect

PATIENCE_MS: Final = 1_000
# Tables with rows of their own; the shadows of an index count the same things again.
OWN_TABLES: Final = """
SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name
"""
# How runs ended.
OUTCOMES: Final = "SELECT coalesce(outcome, 'live'), count(*) FROM runs GROUP BY 1 ORDER BY 1"
# How what was held stands.
CUSTODIES: Final = "SELECT state, count(*) FROM custody GROUP BY 1 ORDER BY 1"


class Census(Struct, frozen=True, kw_only=True):
    newest: int
    """The form that this version writes."""
    schema: int | None = None
    """The form in which the file lies; None: it cannot be read."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """By table."""
    outcomes: Mapping[str, int] = field(default_factory=dict)
    custodies: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""
    """What SQLite said, where it could not be read to the end."""


def take(path: Path) -> Census:
    """Of the file as it lies; nothing is written, and a damaged one is told as far as it can be read."""
    newest, schema = migrate.newest(migrate.released()), None
    rows: dict[str, int] = {}
    # Where nobody has it open, SQLite would lay files beside it only to look.
    how = "" if Path(f"{path}-wal").exists() else "&immutable=1"
    try:
        with closing(connect(path, mode="ro", busy_timeout_ms=PATIENCE_MS, how=how)) as conn:
            schema = migrate.version_of(conn)
            for (table,) in conn.execute(OWN_TABLES).fetchall():
                rows[table] = int(conn.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])
            outcomes, custodies = (
                {str(name): int(count) for name, count in conn.execute(statement)}
                for statement in (OUTCOMES, CUSTODIES)
            )
    except sqlite3.Error as problem:
        return Census(newest=newest, schema=schema, rows=rows, problem=str(problem))
    return Census(newest=newest, schema=schema, rows=rows, outcomes=outcomes, custodies=custodies)
