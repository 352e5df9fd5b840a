"""Making room: which runs and spools would go, and letting them go one by one, each whole.

Between two of them anything may die: what was dropped has its tombstone, what was not is as it was, and a folder that
was left behind is found by the next prune. Files go after the ledger has let go of them; evidence that is kept is on
the disk before.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator import ledgermark
from coordinator.custody import spoolfile
from coordinator.incarnation import is_gone
from store import custody, evidence, incarnations, pruning, runs
from store.bulk import BulkLedger
from store.canonical import digest
from store.db import read_ledger
from store.faults import LedgerFault
from store.pruning import Kept, KeptFile, Tombstone, Weight
from store.refusal import Refusal
from store.runs import Run
from store.tx import Tx
from store.vocab import CustodyId, CustodyState, Millis, RunId

MERGES: Final = 100_000
"""More steps than the index of any ledger needs."""


class Places(Struct, frozen=True, kw_only=True):
    ledger: Path
    spool: Path
    evidence: Path
    worktrees: Path
    mark: Path


class Size(Struct, frozen=True, kw_only=True):
    bytes: int = 0
    parts: int = 0
    """Files of the ledger; folders of the others."""


class Sizes(Struct, frozen=True, kw_only=True):
    ledger: Size
    spool: Size
    evidence: Size
    worktrees: Size


class OldSpool(Struct, frozen=True, kw_only=True):
    folder: Path
    run: RunId
    bytes: int


class Going(Struct, frozen=True, kw_only=True):
    run: Run
    weight: Weight
    spools: tuple[OldSpool, ...]


class Plan(Struct, frozen=True, kw_only=True):
    runs: tuple[Going, ...]
    """In the order in which they go."""
    kept: tuple[tuple[Run, Kept], ...]
    """Old enough, and kept."""
    spools: tuple[OldSpool, ...]
    """Of runs that stay, or that went before."""

    @property
    def nothing(self) -> bool:
        return not self.runs and not self.spools


class Pruned(Struct, frozen=True, kw_only=True):
    runs: tuple[Tombstone, ...]
    spools: tuple[OldSpool, ...]
    refused: tuple[tuple[RunId, str], ...]
    """Something began to need them meanwhile."""
    problems: tuple[str, ...]
    shrunk: bool
    """Whether the room was given back; else it is used again by what comes."""


# --------------------------------------------------------------------------------------------------------------- sizes


def sizes(places: Places) -> Sizes:
    """What each takes on the disk, as far as it can be read."""
    files = [Path(f"{places.ledger}{end}") for end in ("", "-wal", "-shm")]
    beside = sorted(places.ledger.parent.glob(f"{places.ledger.name}.before-*"))
    there = [one for one in (*files, *beside) if one.is_file()]
    return Sizes(
        ledger=Size(bytes=sum(one.stat().st_size for one in there), parts=len(there)),
        spool=_size(places.spool),
        evidence=_size(places.evidence),
        worktrees=_size(places.worktrees),
    )


def _size(folder: Path) -> Size:
    if not folder.is_dir():
        return Size()
    return Size(bytes=weight_of(folder), parts=sum(1 for _ in folder.iterdir()))


def weight_of(folder: Path) -> int:
    """Bytes of all files below; links are not followed."""
    total = 0
    for path, _folders, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += (Path(path) / name).lstat().st_size
    return total


# ------------------------------------------------------------------------------------------------------------ the plan


def plan(tx: Tx, places: Places, *, before: Millis | None, spools_before: Millis, month_began: Millis) -> Plan:
    """What would go. ``before``: runs that ended earlier; None: no runs. Read-only."""
    going, kept = ([], []) if before is None else pruning.plan(tx, before, month_began=month_began)
    found: dict[RunId, list[OldSpool]] = {}
    aside: list[OldSpool] = []
    for folder in sorted(places.spool.iterdir()) if places.spool.is_dir() else ():
        if not folder.is_dir():
            continue
        held = custody.get(tx, CustodyId(folder.name))
        owner = held.run if held is not None else _buried_with(tx, folder.name)
        if owner is None or spoolfile.spool_is_locked(folder):
            continue  # of another ledger, or a keeper lives on it
        spool = OldSpool(folder=folder, run=owner, bytes=weight_of(folder))
        found.setdefault(owner, []).append(spool)
        if held is None or _is_over(tx, held.run, spools_before):
            aside.append(spool)
    chosen = [
        Going(run=run, weight=pruning.weigh(tx, run.id), spools=tuple(found.get(run.id, ())))
        for run in going
        if not _keeper_lives(tx, places, run.id)
    ]
    gone = {one.run.id for one in chosen}
    kept += [(run, Kept.HELD) for run in going if run.id not in gone]
    return Plan(runs=tuple(chosen), kept=tuple(kept), spools=tuple(one for one in aside if one.run not in gone))


def _keeper_lives(tx: Tx, places: Places, run: RunId) -> bool:
    return any(spoolfile.spool_is_locked(places.spool / held.id) for held in pruning.holds_of(tx, run))


def _buried_with(tx: Tx, name: str) -> RunId | None:
    return next((stone.run for stone in pruning.tombstones(tx) if name in stone.custody), None)


def _is_over(tx: Tx, id: RunId, before: Millis) -> bool:
    run = runs.get(tx, id)
    over = run is not None and run.outcome is not None and run.ended_at is not None and run.ended_at < before
    return over and all(held.state is CustodyState.CLOSED for held in pruning.holds_of(tx, id))


# --------------------------------------------------------------------------------------------------------- carrying out


def carry_out(
    ledger: BulkLedger,
    places: Places,
    planned: Plan,
    *,
    operator: str,
    month_began: Millis,
    keep_evidence: bool,
    tell: Callable[[int, int], None],
) -> Pruned:
    """Let it go. What something needs by now stays, and is said.

    Raises:
        LedgerBusy, StorageFault: with the refusal to show. What is gone by then is gone whole.
    """
    stones: list[Tombstone] = []
    spools: list[OldSpool] = []
    refused: list[tuple[RunId, str]] = []
    problems: list[str] = []
    try:
        for done, one in enumerate(planned.runs):
            tell(done, len(planned.runs))
            if _keeper_lives(ledger.read(), places, one.run.id):
                refused.append((one.run.id, Kept.HELD.value))
                continue
            files = tuple(_write_evidence(ledger.read(), places, one.run.id)) if keep_evidence else ()
            stone = ledger.write(
                lambda tx, id=one.run.id, files=files: pruning.prune(  # type: ignore[misc]
                    tx, id, operator=operator, month_began=month_began, kept=files
                )
            )
            if isinstance(stone, Refusal):
                refused.append((one.run.id, str(stone.facts.get("kept", "gone"))))
                continue
            stones.append(stone)
            spools += _remove(one.spools, problems)
        spools += _remove(planned.spools, problems)
    finally:
        if stones:
            _note(ledger.read(), places)
    return Pruned(
        runs=tuple(stones),
        spools=tuple(spools),
        refused=tuple(refused),
        problems=tuple(problems),
        shrunk=bool(stones) and _shrink(ledger, places, problems),
    )


def _write_evidence(tx: Tx, places: Places, run: RunId) -> Iterator[KeptFile]:
    """To files of their own, on the disk before the ledger lets go of the rows.

    Raises:
        OSError: they cannot be written.
    """
    for one in evidence.of_run(tx, run):
        name = f"run-{run}/{one.id}-{one.kind}"
        path = places.evidence / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(one.content)
                file.flush()
                os.fsync(file.fileno())
            Path(draft).replace(path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
        yield KeptFile(name=name, sha256=digest(one.content), size=len(one.content))


def _remove(found: tuple[OldSpool, ...], problems: list[str]) -> Iterator[OldSpool]:
    for one in found:
        if spoolfile.spool_is_locked(one.folder):
            continue
        try:
            shutil.rmtree(one.folder)
        except OSError as problem:
            problems.append(f"{one.folder}: {(problem.strerror or str(problem)).lower()}")
        else:
            yield one


def _note(tx: Tx, places: Places) -> None:
    """The note beside the ledger may name an entry that is gone."""
    mark = ledgermark.read(places.mark)
    if mark is not None and mark.ledger == ledgermark.of(tx, mark.machine).ledger:
        with suppress(OSError):  # then the tombstone explains it
            ledgermark.write(places.mark, ledgermark.of(tx, mark.machine))


def _shrink(ledger: BulkLedger, places: Places, problems: list[str]) -> bool:
    """Out of the index of texts, and the room given back where no console needs the file meanwhile."""
    try:
        first = True
        for _ in range(MERGES):
            if not ledger.write(lambda tx, first=first: pruning.forget_texts(tx, first=first)):  # type: ignore[misc]
                break
            first = False
        ledger.checkpoint()
        if _lives(ledger.read()):
            return False
        if shutil.disk_usage(places.ledger.parent).free < 2 * places.ledger.stat().st_size:
            problems.append("there is too little room on the disk to write the ledger anew")
            return False
        ledger.shrink()
    except LedgerFault as fault:
        problems.append(str(fault.refusal.facts.get("problem", fault.refusal.reason.value)))
        return False
    return True


def console_lives(path: Path, now: Callable[[], Millis]) -> bool:
    """Whether a console has this ledger open."""
    with read_ledger(path, now=now) as tx:
        return _lives(tx)


def _lives(tx: Tx) -> bool:
    return any(not is_gone(one) for one in incarnations.not_ended(tx))
