"""One run, whole: every record that tells of it, row by row; and a ledger file that holds some runs and no more.

For who gets no more than that: an export, a colleague, another machine. Rows come one after the other and none is kept,
because a run may have a million events. What becomes of a row on its way is the caller's (``Change``).
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from store import (
    attempts,
    control_writes,
    decisions,
    entries,
    evidence,
    imports,
    migrate,
    outcomes,
    receipts,
    runs,
    stops,
    turns,
)
from store.attachments import Attachment
from store.attempts import Attempt
from store.attention import AttentionItem
from store.authorizations import Amendment, Authorization
from store.canonical import loads
from store.commands import Command
from store.control_writes import ControlWrite
from store.custody import Custody
from store.decisions import Decision
from store.entries import Entry
from store.events import Event
from store.evidence import Evidence
from store.imports import Import
from store.incarnations import Incarnation
from store.outcomes import Outcome
from store.queued import QueuedTurn
from store.receipts import StoredReceipt
from store.rows import R, Record, columns, from_row
from store.runs import Run
from store.stops import Stop
from store.turns import Turn
from store.tx import Tx
from store.vocab import RunId

Cells = dict[str, object]
Change = Callable[[str, Cells], Cells]
"""Table and row, to the row as it is written."""

# Rows of one run where no noun has the statement for its own work.
INCARNATIONS: Final = f"""
SELECT {columns(Incarnation)} FROM incarnations WHERE id IN (
  SELECT incarnation FROM runs WHERE id = :run UNION SELECT incarnation FROM custody WHERE run = :run
  UNION SELECT incarnation FROM commands WHERE run = :run) ORDER BY started_at, id
"""
AUTHORIZATION: Final = f"""
SELECT {columns(Authorization)} FROM authorizations WHERE id = (SELECT authorization_id FROM runs WHERE id = :run)
"""
AMENDMENTS: Final = f"""
SELECT {columns(Amendment)} FROM amendments
WHERE authorization_id = (SELECT authorization_id FROM runs WHERE id = :run) ORDER BY id
"""
HOLDS: Final = f"SELECT {columns(Custody)} FROM custody WHERE run = :run ORDER BY created_at, rowid"
QUEUED: Final = f"SELECT {columns(QueuedTurn)} FROM queued_turns WHERE run = :run ORDER BY id"
ATTACHED: Final = f"SELECT {columns(Attachment)} FROM attachments WHERE run = :run ORDER BY id"
ATTENTION: Final = f"SELECT {columns(AttentionItem)} FROM attention WHERE run = :run ORDER BY id"
COMMANDS: Final = f"SELECT {columns(Command)} FROM commands WHERE run = :run ORDER BY id"
EVENTS: Final = f"SELECT {columns(Event)} FROM events WHERE run = :run ORDER BY id"
# The ledger's own chain, whole; what of it concerns a run is told by its body.
OWN_CHAIN: Final = f"SELECT {columns(Entry)} FROM entries WHERE run = {entries.LEDGER_CHAIN} ORDER BY n"

OF_RUN: Final[dict[type[Record], str]] = {
    Run: runs.GET.replace(":id", ":run"),
    Incarnation: INCARNATIONS,
    Authorization: AUTHORIZATION,
    Amendment: AMENDMENTS,
    Custody: HOLDS,
    Turn: turns.OF_RUN,
    QueuedTurn: QUEUED,
    Attachment: ATTACHED,
    Decision: decisions.OF_RUN,
    ControlWrite: control_writes.OF_RUN,
    Stop: stops.OF_RUN,
    StoredReceipt: receipts.OF_RUN,
    AttentionItem: ATTENTION,
    Command: COMMANDS,
    Evidence: evidence.OF_RUN,
    Import: imports.OF_RUN,
    Attempt: attempts.OF_RUN,
    Outcome: outcomes.GET,
    Entry: entries.CHAIN,
    Event: EVENTS,
}
"""Everything that is told of one run, in the order in which it is handed on."""


def rows(tx: Tx, run: RunId) -> Iterator[Record]:
    """Every record of a run, one at a time."""
    for kind in OF_RUN:
        yield from rows_of(tx, run, kind)


def rows_of(tx: Tx, run: RunId, kind: type[R]) -> Iterator[R]:
    with closing(tx.conn.execute(OF_RUN[kind], {"run": run})) as found:
        for row in found:
            yield from_row(kind, row)


def events(tx: Tx, run: RunId) -> Iterator[Event]:
    """In the order in which they were said, none of them kept."""
    with closing(tx.conn.execute(EVENTS, {"run": run})) as found:
        for row in found:
            yield from_row(Event, row)


# -------------------------------------------------------------------------------------------------- a ledger of its own

# Tables of this form, and the columns of each.
TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
COLUMNS: Final = "SELECT name, pk FROM pragma_table_info(:table)"
IDENTITY: Final = "SELECT id, machine, created_at FROM ledger"
PUT_IDENTITY: Final = "INSERT INTO ledger (id, machine, created_at, digest_key) VALUES (:id, :machine, :created_at, '')"
_KNOWN: Final = {kind.TABLE for kind in OF_RUN}
_ALSO_TOLD: Final = {
    "incarnation": "incarnations",
    "authorization": "authorizations",
    "amendment": "amendments",
    "import": "imports",
}
"""Nouns of which the ledger's own chain may tell though they are a run's: table of each."""
_NOT_OF_RUN: Final = {"agent_waits"}
"""Tables that name a run and are told of in the ledger's own chain all the same."""


def write(tx: Tx, run_ids: Sequence[RunId], path: Path, change: Change) -> None:
    """Make a ledger at ``path`` in which these runs are, and of the ledger's own chain what concerns them.

    The same rows give the same bytes. Not in it: the key of the digests of what was sent (with it a reader could try
    what a secret may have been), the drivers' snapshots, settings, drafts, and all other runs.

    Raises:
        sqlite3.Error: no space.
    """
    path.touch(mode=0o600)
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        for setting in ("page_size = 4096", "journal_mode = OFF", "synchronous = OFF", "foreign_keys = OFF"):
            conn.execute(f"PRAGMA {setting}")
        migrate.migrate(conn)
        conn.execute("BEGIN")
        copied = _Copy(tx, conn, change)
        id, machine, created_at = tx.conn.execute(IDENTITY).fetchone()
        conn.execute(PUT_IDENTITY, change("ledger", {"id": id, "machine": machine, "created_at": created_at}))
        for run in run_ids:
            copied.run(run)
        copied.own_chain(run_ids)
        conn.execute("COMMIT")


class _Copy:
    def __init__(self, tx: Tx, conn: sqlite3.Connection, change: Change) -> None:
        self._tx = tx
        self._conn = conn
        self._change = change
        self._told: dict[str, set[object]] = {}
        """Identifiers of what was copied, by table: of these the ledger's own chain tells too."""

    def run(self, run: RunId) -> None:
        for kind in OF_RUN:
            with closing(self._tx.conn.execute(OF_RUN[kind], {"run": run})) as found:
                names = [column[0] for column in found.description]
                for row in found:
                    self._put(kind.TABLE, dict(zip(names, row, strict=True)))
        # What else this form of the ledger keeps by run (what can be searched, which tools): all of it, as it is.
        for (table,) in self._tx.conn.execute(TABLES).fetchall():
            names = [name for name, _ in self._tx.conn.execute(COLUMNS, {"table": table})]
            if "run" in names and table not in _KNOWN | _NOT_OF_RUN and not table.startswith(("sqlite_", "search_")):
                self._rest(table, names, run)

    def _rest(self, table: str, names: list[str], run: RunId) -> None:
        keyed = ["rowid", *names] if table == "search" else names
        listed = ", ".join(keyed)
        with closing(self._tx.conn.execute(f"SELECT {listed} FROM {table} WHERE run = :run", {"run": run})) as found:
            for row in found:
                self._put(table, dict(zip(keyed, row, strict=True)))

    def _put(self, table: str, cells: Cells) -> None:
        if table in _ALSO_TOLD.values():
            told = self._told.setdefault(table, set())
            if cells["id"] in told:
                return  # one console, several runs
            told.add(cells["id"])
        elif table == "custody":
            cells |= {"driver_state": None, "driver_offset": 0}
        cells = self._change(table, cells)
        holes = ", ".join(f":{name}" for name in cells)
        self._conn.execute(f"INSERT INTO {table} ({', '.join(cells)}) VALUES ({holes})", cells)

    def own_chain(self, run_ids: Sequence[RunId]) -> None:
        wanted = set(run_ids)
        with closing(self._tx.conn.execute(OWN_CHAIN)) as found:
            names = [column[0] for column in found.description]
            for row in found:
                cells = dict(zip(names, row, strict=True))
                noun, body = str(cells["kind"]).partition(".")[0], loads(str(cells["body"]))
                concerns = (
                    noun == "ledger"
                    or (noun == "run-head" and body["run"] in wanted)
                    or (noun in _ALSO_TOLD and body["id"] in self._told.get(_ALSO_TOLD[noun], ()))
                )
                if concerns:
                    self._put("entries", cells)
