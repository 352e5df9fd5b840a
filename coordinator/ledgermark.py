"""``ledger.mark``: the ledger's newest entry, noted outside of it, so that a copy that was put back is known as one.

A restored ledger believes in signatures that were used up since and in holds that are long over. Whether it is one is
decided here and nowhere else; what the books then say is written in one transaction (``close_as_restored``). The file
proves nothing against a forger of both; it is for accidents, and for ``footplate verify``.
"""

import asyncio
import contextlib
import logging
import os
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from coordinator.custody.spoolfile import read_header
from coordinator.house import House
from coordinator.tasks import line
from store import attention, authorizations, custody, entries, identity, pruning, series, settings, tasks
from store.canonical import dumps
from store.db import Tx
from store.faults import LedgerFault
from store.verify import Noted
from store.vocab import AttentionKind, AuthorizationId, CustodyId, EndReason, TaskState

log = logging.getLogger(__name__)

_ALL: Final = 1 << 31
MACHINE: Final = "machine"
"""Setting: the machine that took the ledger over from the one on which it was made."""


class Why(StrEnum):
    """What shows that a ledger was put back."""

    BEHIND = "behind"
    """It ends before the entry that was noted."""
    CHANGED = "changed"
    """It has another entry at that place: it was put back and written to, or written by somebody else."""
    OTHER = "other"
    """Another ledger was noted here."""
    MACHINE = "machine"


class Mark(Struct, frozen=True, kw_only=True):
    ledger: str
    """Which ledger: its id."""
    machine: str
    seq: int
    hash: str

    @property
    def noted(self) -> Noted:
        return Noted(seq=self.seq, hash=self.hash)


def read(path: Path) -> Mark | None:
    """None: there is none, or it cannot be read; then nothing can be said from it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Mark)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, msgspec.ValidationError) as problem:
        log.warning("%s cannot be read: %s", path, problem)
        return None


def write(path: Path, mark: Mark) -> None:
    """Whole or not at all, and on the disk when it returns.

    Raises:
        OSError: it could not be written; the old one stands.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(dumps(msgspec.to_builtins(mark)).encode())
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def of(tx: Tx, machine: str) -> Mark:
    """What would be noted now."""
    newest = entries.newest(tx)
    assert newest is not None, "a ledger begins with an entry"
    return Mark(ledger=identity.of(tx).id, machine=machine, seq=newest.seq, hash=newest.hash)


def why_restored(tx: Tx, mark: Mark | None, machine: str) -> Why | None:
    """What shows that this ledger was put back, or brought from elsewhere; None: nothing does."""
    ledger = identity.of(tx)
    if machine != (settings.get(tx, MACHINE) or ledger.machine):
        return Why.MACHINE
    if mark is None:
        return None
    if mark.ledger != ledger.id:
        return Why.OTHER
    noted = entries.at_seq(tx, mark.seq)
    if noted is None:
        # It may be of a run that was pruned since, before that was noted.
        return None if pruning.covering(tx, mark.seq) is not None else Why.BEHIND
    return None if noted.hash == mark.hash else Why.CHANGED


_TEXTS: Final = {
    Why.BEHIND: "this ledger is an older copy that was put back: what was done since is not in it",
    Why.CHANGED: "this ledger is not the one that was written here last: an older copy was put back and written to",
    Why.OTHER: "this is another ledger than the one that was written here last",
    Why.MACHINE: "this ledger was brought here from another machine",
}


def close_as_restored(tx: Tx, why: Why, machine: str) -> int:
    """What it believes to be agreed is not any more, and a person is told once. How many terms were closed."""
    closed = [
        row
        for row in authorizations.not_closed(tx)
        if authorizations.close(tx, id=row.id, reason=EndReason.RESTORED) is not None
    ]
    text = f"{_TEXTS[why]}; nothing that was agreed in it is in force any more, and its runs are ended"
    attention.raise_(tx, run=None, kind=AttentionKind.PAGE, key="restored", text=text)
    entries.append(tx, entries.LEDGER_CHAIN, "restored", {"why": why, "closed": len(closed)})
    if why is Why.MACHINE:
        settings.put(tx, MACHINE, machine)
    _keep_line_back(tx)
    return len(closed)


def _keep_line_back(tx: Tx) -> None:
    """What it believes to wait may be done since: nothing of it begins by itself, nor under what was agreed to."""
    waiting = [task for task in tasks.listing(tx, limit=_ALL) if task.state is not TaskState.DONE]
    for task in waiting:
        if task.series is not None and series.close(tx, id=task.series, reason=EndReason.RESTORED) is not None:
            tasks.reckon(tx, task.id)
    if waiting:
        line.keep_back(tx, line.KeptBack.RESTORED)


def used_elsewhere(tx: Tx, spool: Path) -> frozenset[AuthorizationId]:
    """Authorizations that were used for runs which this ledger does not know; only their spools tell."""
    if not spool.is_dir():
        return frozenset()
    unknown = [one for one in spool.iterdir() if one.is_dir() and custody.get(tx, CustodyId(one.name)) is None]
    headers = [read_header(one / "spool") for one in unknown]
    found = [str(one["authorization"]) for one in headers if one is not None and one.get("authorization")]
    return frozenset(AuthorizationId(one) for one in found)


# ------------------------------------------------------------------------------------------------------- for a console


async def look(house: House) -> Why | None:
    """At the opening, before anything is taken over. Notes where the ledger stands from here on."""
    path, machine = house.settings.mark, house.settings.machine
    if path is None:
        return None
    mark = await asyncio.to_thread(read, path)

    def decide(tx: Tx) -> Why | None:
        why = why_restored(tx, mark, machine)
        if why is not None:
            close_as_restored(tx, why, machine)
        return why

    why = await house.ledger.transaction(decide)
    house.used_elsewhere = await house.ledger.read(lambda tx: used_elsewhere(tx, house.settings.spool))
    await note(house)
    return why if isinstance(why, Why) else None


async def note(house: House) -> None:
    """After each closing of a run, and at the end. One that cannot be written is tried again at the next."""
    path = house.settings.mark
    if path is None:
        return
    try:
        mark = await house.ledger.read(lambda tx: of(tx, house.settings.machine))
        await asyncio.to_thread(write, path, mark)
    except (OSError, LedgerFault) as problem:
        log.warning("%s could not be written: %s", path, problem)
