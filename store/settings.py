"""Settings of the ledger that every console on it must see at once, such as whether admission is open."""

from typing import ClassVar, Final

from store import entries
from store.rows import Record, columns, one, sure
from store.tx import Tx
from store.vocab import Millis


class Setting(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "settings"
    KEY: ClassVar[tuple[str, ...]] = ("name",)

    name: str
    value: str
    at: Millis


GET: Final = f"SELECT {columns(Setting)} FROM settings WHERE name = :name"
# The newest value wins; the old ones stay in the entries.
PUT: Final = f"""
INSERT INTO settings (name, value, at) VALUES (:name, :value, :now)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, at = excluded.at
RETURNING {columns(Setting)}
"""


def get(tx: Tx, name: str) -> str | None:
    row = one(tx, Setting, GET, {"name": name})
    return None if row is None else row.value


def put(tx: Tx, name: str, value: str) -> Setting:
    row = sure(tx, Setting, PUT, {"name": name, "value": value, "now": tx.now})
    entries.note(tx, entries.LEDGER_CHAIN, "setting.put", row)
    return row
