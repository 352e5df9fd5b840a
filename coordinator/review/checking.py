"""``footplate verify``, whole: the ledger in itself, what its rows say, its note outside, and the files beside it.

The spool of a run holds the agent's bytes as they came. While it is there, they are read once more by a driver that
knows nothing, and what they give must be in the ledger, each once and nothing else. What a power cut took of a spool's
end is said and is no difference; nor is that a spool is gone.
"""

import hashlib
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec import Struct

from coordinator import eventcodec, ingest
from coordinator.agreed import terms_of
from coordinator.custody import spoolfile
from coordinator.custody.types import RecordKind, SpoolRecord
from coordinator.drivers import base, registry
from coordinator.ledgermark import Mark
from store import bookcheck, custody, events, identity, pruning, runs, turns
from store.custody import Custody
from store.pruning import Tombstone
from store.tx import Tx
from store.verify import Difference, Noted, Progress, noted_head, verify
from store.vocab import CustodyId, RunId, TurnId

STDERR: Final = "stderr"


class Beside(Struct, frozen=True, kw_only=True):
    """Where the files of this ledger are; None: they are not looked for."""

    spool: Path | None = None
    evidence: Path | None = None


class Checked(Struct, frozen=True, kw_only=True):
    difference: Difference | None
    notes: tuple[str, ...]
    """What is no difference and good to know."""
    pruned: tuple[Tombstone, ...]
    spools: int
    """How many were read again."""
    mark_seq: int | None
    of_this_ledger: bool
    """Whether the note beside it is of it."""


def check(tx: Tx, beside: Beside, *, mark: Mark | None, noted: Noted | None, progress: Progress) -> Checked:
    """All of it, up to the first difference.

    ``mark``: as it was before the transaction began, for the ledger may only be further.
    """
    mine = mark is not None and mark.ledger == identity.of(tx).id
    notes: list[str] = []
    spools: list[int] = []

    def differences() -> Iterator[Difference | None]:
        yield verify(tx, noted, progress=progress)
        if noted is not None and (stone := pruning.covering(tx, noted.seq)) is not None:
            notes.append(f"entry {noted.seq} went with run {stone.run}, which was pruned")
        if mine and mark is not None:
            yield noted_head(tx, mark.noted)
        yield from bookcheck.unsound(tx)
        if beside.evidence is not None:
            yield from kept_files(tx, beside.evidence)
        if beside.spool is not None and beside.spool.is_dir():
            for folder in sorted(beside.spool.iterdir()):
                held = custody.get(tx, CustodyId(folder.name))
                if held is not None and (folder / spoolfile.SPOOL).exists():
                    spools.append(1)
                    yield from against_spool(tx, held, folder / spoolfile.SPOOL, notes)

    found = next((one for one in differences() if one is not None), None)
    return Checked(
        difference=found,
        notes=tuple(notes),
        pruned=tuple(pruning.tombstones(tx)),
        spools=len(spools),
        mark_seq=None if mark is None else mark.seq,
        of_this_ledger=mine,
    )


def kept_files(tx: Tx, folder: Path) -> Iterator[Difference]:
    """Evidence that was written to files when its run was pruned."""
    for stone in pruning.tombstones(tx):
        for one in stone.kept:
            path = folder / one.name
            try:
                with path.open("rb") as file:
                    found = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as problem:
                found = (problem.strerror or str(problem)).lower()
            if found != one.sha256:
                yield Difference(where=f"file {path}", what="sha256", expected=one.sha256, found=found)


# ------------------------------------------------------------------------------------------------ spool against ledger

Said = tuple[int, int, str]
"""Offset, number and kind of an event."""


def against_spool(tx: Tx, held: Custody, path: Path, notes: list[str]) -> Iterator[Difference]:
    """What the bytes give, and what the ledger has: two lists in one order, walked side by side."""
    run = runs.get(tx, held.run)
    if run is None or registry.create(run.driver, "again") is None:
        return
    where = f"raw output of run {held.run}"
    reading = _Reading(tx, held, run.driver, path)
    with closing(_kept(tx, held.run)) as kept:
        said = reading.events()
        ours, theirs = next(said, None), next(kept, None)
        while ours is not None or theirs is not None:
            if ours == theirs:
                ours, theirs = next(said, None), next(kept, None)
            elif theirs is None or (ours is not None and ours[:2] <= theirs[:2]):
                assert ours is not None
                yield Difference(
                    where=f"{where}, byte {ours[0]}",
                    what=f"event {ours[1]} there",
                    expected=f"{ours[2]} in the ledger",
                    found="none" if theirs is None or theirs[:2] != ours[:2] else theirs[2],
                )
                ours = next(said, None)
            elif theirs[2] == STDERR and reading.exits.get(theirs[0]) == theirs[1]:
                theirs = next(kept, None)  # what was kept back of its errors, told with its end
            elif reading.end is not None and theirs[0] >= reading.end:
                break  # the spool lost its tail; the ledger had read it before
            else:
                yield Difference(
                    where=f"{where}, byte {theirs[0]}",
                    what=f"event {theirs[1]} there",
                    expected="one that the agent's bytes give",
                    found=f"{theirs[2]} in the ledger",
                )
                theirs = next(kept, None)
    gap = reading.gap
    if gap is None:
        return
    why = str(gap.facts.get("why", ""))
    lost = gap.offset < held.ingested
    if lost and why not in ("torn tail", "shorter-than-read"):
        yield Difference(where=f"{where}, byte {gap.offset}", what="record", expected="a whole one", found=why)
        return
    more = "; the ledger has what was in it" if lost else ""
    notes.append(f"{where}: its end is torn at byte {gap.offset}, as a power cut leaves it{more}")


def _kept(tx: Tx, run: RunId) -> Generator[Said, None, None]:
    with closing(tx.conn.execute(events.KEYS, {"run": run})) as rows:
        yield from rows


class _Reading:
    """The spool up to where the ledger has it, through drivers as a console feeds them: one for each start of the
    agent."""

    def __init__(self, tx: Tx, held: Custody, driver: str, path: Path) -> None:
        self._tx = tx
        self._held = held
        self._name = driver
        self._path = path
        self.gap: SpoolRecord | None = None
        self.end: int | None = None
        """Where the good part of it ends; None: all that the ledger has is there."""
        self.exits: dict[int, int] = {}
        """How many events the end of a process gave, by its offset."""

    def events(self) -> Iterator[Said]:
        driver, generation = self._fresh(1), 1
        for record in spoolfile.read_spool(self._path):
            if record.kind is RecordKind.GAP and record.next_offset == record.offset:
                self.gap, self.end = record, record.offset
                return
            if record.offset >= self._held.ingested:
                continue  # a console that lives will read it; only whether it is whole is looked at
            if record.generation > generation:
                driver, generation = self._fresh(record.generation), record.generation
            match record.kind:
                case RecordKind.STDOUT:
                    found = driver.feed(record.data)
                case RecordKind.STDERR:
                    yield record.offset, 0, STDERR
                    continue
                case RecordKind.QUIET:
                    found = driver.quiet()
                case RecordKind.EXIT:
                    found = driver.feed_end()
                    self.exits[record.offset] = len(found)
                case RecordKind.WRITING:
                    self._sent(driver, record)
                    ingest.told(driver, record)
                    continue
                case RecordKind.RESIZED:
                    ingest.told(driver, record)
                    continue
                case _:
                    continue
            for n, event in enumerate(found):
                if not isinstance(event, base.TRANSIENT):
                    yield record.offset, n, eventcodec.encode(event, str)[0]

    def _fresh(self, generation: int) -> base.Driver:
        made = registry.create(self._name, "again")
        assert made is not None
        run = runs.get(self._tx, self._held.run)
        terms = terms_of(self._tx, run) if run is not None else None
        # As it was told when that process was started: what it expects of the first lines follows from it.
        made.argv(
            base.Start(
                program="",
                session=self._held.native_id or "",
                agent=run.agent if run is not None else "",
                resume=generation > 1 or bool(terms and terms.conversation),
                model=terms.model if terms else None,
                mode=terms.mode if terms else None,
                prompt=terms.prompt if terms else "",
                quit=terms.quit if terms else "",
            )
        )
        return made

    def _sent(self, driver: base.Driver, record: SpoolRecord) -> None:
        """An agent that names no turn is understood only by one who knows what was sent."""
        turn = turns.get(self._tx, TurnId(str(record.facts.get("id", ""))))
        if turn is not None:
            driver.turn(turn.id, turn.text)
