"""``Tx``, which every store function takes. Apart, so that no noun has to import the asyncio shell of ``db``."""

import sqlite3

from msgspec import Struct

from store.vocab import Millis


class Tx(Struct, frozen=True):
    conn: sqlite3.Connection
    """Inside a transaction (or a read snapshot) that somebody else ends."""
    now: Millis
    """One time for everything that the transaction writes."""
