"""An import as a whole: which files have anything new, one session after the other, and what came of it.

It may be cut off at any moment and begun again: each transaction leaves the ledger as it would be had the files ended
there. It runs beside a live console, as a process of its own.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field

from coordinator.clock import Clock
from coordinator.custody.processes import identity_of
from coordinator.ids import Ids
from coordinator.incarnation import is_gone
from coordinator.prices import Prices
from coordinator.redaction import Redactor, secrets_of
from coordinator.review.importing import files
from coordinator.review.importing.files import Found, Problem, Session, Trouble
from coordinator.review.importing.helpers import HelperNotes
from coordinator.review.importing.reading import House, SessionReading, Standing
from coordinator.review.importing.writing import Writer
from store import custody, entries, identity, imported, imports, incarnations
from store.bulk import BulkLedger
from store.db import read_ledger
from store.imports import Import
from store.open import Opening
from store.tx import Tx
from store.vocab import IncarnationId, RunId

MOST_FORKS = 50
"""How far back a fork of a fork is followed."""


class Wish(Struct, frozen=True, kw_only=True):
    """What the command asks for."""

    paths: tuple[Path, ...]
    ledger: Path
    prices: Prices
    operator: str
    machine: str
    uid: int
    environment: Mapping[str, str]
    dry: bool = False


class Progress(Struct, frozen=True, kw_only=True):
    done: int
    total: int
    """Bytes."""
    files: int
    of: int
    turns: int


class HeldAlready(Struct, frozen=True, kw_only=True):
    """A session that is in the ledger as Footplate itself held it: a second time would be its words and money twice."""

    path: Path
    native_id: str
    runs: tuple[RunId, ...]
    """In which it was held, oldest first."""


class Report(Struct):
    files: int = 0
    unchanged: int = 0
    """Files in which nothing is new."""
    bytes: int = 0
    made: list[SessionReading] = field(default_factory=list)
    """Each of them became a run, or went on in one."""
    turns: int = 0
    events: int = 0
    shared: int = 0
    unknown: int = 0
    held: list[HeldAlready] = field(default_factory=list)
    torn: list[Path] = field(default_factory=list)
    unpriced: int = 0
    micro_usd: int = 0
    problems: list[Problem] = field(default_factory=list)
    seconds: float = 0.0


class Importer:
    def __init__(self, wish: Wish, clock: Clock, ids: Ids, tell: Callable[[Progress], None]) -> None:
        self.report = Report()
        self._wish = wish
        self._clock = clock
        self._ids = ids
        self._tell = tell
        self._reading: SessionReading | None = None
        self._seen: set[str] = set()
        self._total = 0
        self._count = 0
        self._done_files = 0

    def run(self) -> Report:
        """
        Raises:
            LedgerUnreadable, LedgerBusy, StorageFault: with the refusal to show. What was committed stands.
        """
        begun = self._clock.monotonic()
        found, problems = files.find(self._wish.paths)
        self.report.problems += problems
        self.report.files = len(found)
        if found:
            with self._ledger() as (ledger, look):
                self._import(found, ledger, look)
        self.report.seconds = self._clock.monotonic() - begun
        return self.report

    # ------------------------------------------------------------------------------------------------------ the ledger

    @contextmanager
    def _ledger(self) -> Iterator[tuple[BulkLedger | None, Callable[[], Tx | None]]]:
        wish = self._wish
        if wish.dry:
            if not wish.ledger.exists():
                yield None, lambda: None
                return
            with read_ledger(wish.ledger, now=self._clock.now) as tx:
                yield None, lambda: tx
            return
        opening = Opening(
            path=wish.ledger,
            now=self._clock.now,
            machine=wish.machine,
            ledger_id=self._ids.secret,
            live_elsewhere=self._console_lives,
        )
        with BulkLedger.opened(opening) as ledger:
            yield ledger, ledger.read

    def _console_lives(self) -> bool:
        with read_ledger(self._wish.ledger, now=self._clock.now) as tx:
            return any(not is_gone(one) for one in incarnations.not_ended(tx))

    def _house(self, look: Callable[[], Tx | None]) -> House:
        wish, incarnation = self._wish, self._ids.incarnation()
        tx = look()
        return House(
            prices=wish.prices,
            redactor=Redactor(secrets_of(wish.environment)),
            operator=wish.operator,
            machine=wish.machine,
            uid=wish.uid,
            digest_key="" if tx is None else identity.of(tx).digest_key,
            incarnation=incarnation,
            authorization=self._ids.authorization,
            begun=lambda tx: self._register(tx, incarnation),
        )

    def _register(self, tx: Tx, incarnation: IncarnationId) -> None:
        """A run names whose console it was: this command's, which holds nothing and is over with its row."""
        if incarnations.get(tx, incarnation) is not None:
            return
        me = identity_of(os.getpid())
        assert me is not None
        incarnations.register(
            tx, id=incarnation, boot_id=me.boot_id, pid=me.pid, start_ticks=me.start_ticks, machine=self._wish.machine,
            uid=self._wish.uid, lock_path="", socket_path="", operator=self._wish.operator,
        )  # fmt: skip
        incarnations.end(tx, incarnation)

    # ------------------------------------------------------------------------------------------------------- the files

    def _import(self, found: Sequence[Found], ledger: BulkLedger | None, look: Callable[[], Tx | None]) -> None:
        wanted = [one for one in found if not _is_read(look(), one)]
        self.report.unchanged += len(found) - len(wanted)
        self._total, self._count = sum(one.size for one in wanted), len(wanted)
        writer = Writer(ledger, look, self._told)
        helpers, house = HelperNotes(look), self._house(look)
        tx = look()
        held = {} if tx is None else custody.conversations(tx)
        for one in files.in_order(wanted, files.look_into):
            if isinstance(one, Problem):
                self.report.problems.append(one)
            elif runs := held.get(one.begun.native_id):
                known = HeldAlready(path=one.file.path, native_id=one.begun.native_id, runs=runs)
                self.report.held.append(known)
                self.report.bytes += one.file.size
            else:
                self._session(one, writer, house, helpers, look)
            self._done_files += 1
        writer.commit()
        if ledger is not None:
            ledger.checkpoint()

    def _session(
        self, session: Session, writer: Writer, house: House, helpers: HelperNotes, look: Callable[[], Tx | None]
    ) -> None:
        path = session.file.path
        if session.begun.forked_from or session.identity in self._seen:
            writer.commit()  # what is asked about next may not be in the ledger yet
        self._seen.add(session.identity)
        try:
            standing = standing_of(look(), session)
            if standing is None:
                self.report.unchanged += 1
            elif isinstance(standing, Problem):
                self.report.problems.append(standing)
            else:
                self._reading = reading = SessionReading(session, standing, writer, house, helpers)
                reading.read()
                self._add(reading, path)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            self.report.problems.append(
                Problem(path=path, trouble=Trouble.UNREADABLE, named=session.file.named, detail=why)
            )
        self._reading = None
        self.report.bytes += session.file.size

    def _add(self, reading: SessionReading, path: Path) -> None:
        report, counts = self.report, reading.counts
        if counts.turns:
            report.made.append(reading)
        elif not counts.torn:
            report.unchanged += 1
        report.turns += counts.turns
        report.events += counts.events
        report.shared += counts.shared
        report.unknown += counts.unknown
        report.unpriced += counts.unpriced
        report.micro_usd += counts.micro_usd
        if counts.torn:
            report.torn.append(path)

    def _told(self) -> None:
        now, report = self._reading, self.report
        done = report.bytes + (0 if now is None else now.place)
        turns = report.turns + (0 if now is None else now.counts.turns)
        self._tell(Progress(done=done, total=self._total, files=self._done_files, of=self._count, turns=turns))


def _is_read(tx: Tx | None, file: Found) -> bool:
    row = None if tx is None else imports.at_path(tx, str(file.path))
    if tx is None or row is None or (row.size, row.mtime) != (file.size, file.mtime):
        return False
    return imported.reading(tx, row.id) is None


def standing_of(tx: Tx | None, session: Session) -> Standing | Problem | None:
    """Where to begin with this file; None: all of it is known.

    Raises:
        OSError: the file cannot be read.
    """
    row = None if tx is None else _newest_part(tx, session.identity)
    if tx is None or row is None:
        continues = None
        if tx is not None and session.begun.forked_from:
            parent = _newest_part(tx, f"{session.format.agent}:{session.begun.forked_from}")
            continues = None if parent is None else _still_there(tx, parent.run)
        return Standing(continues=continues, root=_root(tx, session))
    reading = imported.reading(tx, row.id)
    if reading is None and session.file.size <= row.read_to:
        return None
    if _digest(session.file.path, row.read_to) != row.digest:
        return Problem(path=session.file.path, trouble=Trouble.REWRITTEN, named=session.file.named)
    root = _root(tx, session)
    if reading is not None:
        return Standing(part=row, start=row.read_to, run=row.run, through=reading, root=root)
    return Standing(part=row, start=row.read_to, continues=_still_there(tx, row.run), root=root)


def _still_there(tx: Tx, run: RunId | None) -> RunId | None:
    """A run that was pruned cannot be gone on from; what is new is read in all the same."""
    return None if run is None or entries.is_pruned(tx, run) else run


def _newest_part(tx: Tx, identity: str) -> Import | None:
    row = imports.find(tx, identity)
    while row is not None:
        more = imports.find(tx, f"{identity}@{row.read_to}")
        if more is None or more.id == row.id:
            return row
        row = more
    return None


def _digest(path: Path, upto: int) -> str:
    total, left = hashlib.sha256(), upto
    with path.open("rb") as file:
        while left > 0 and (data := file.read(min(left, 1 << 20))):
            total.update(data)
            left -= len(data)
    return total.hexdigest()


def _root(tx: Tx | None, session: Session) -> str:
    """The session in which a fork of a fork began, as far back as files are there."""
    root, begun = session.begun.native_id, session.begun
    for _ in range(MOST_FORKS):
        if not begun.forked_from:
            break
        root = begun.forked_from
        row = None if tx is None else imports.find(tx, f"{session.format.agent}:{root}")
        if row is None:
            break
        try:
            told = Path(row.path).stat()
        except OSError:
            break
        looked = files.look_into(Found(path=Path(row.path), size=told.st_size, mtime=told.st_mtime_ns))
        if isinstance(looked, Problem):
            break
        begun = looked.begun
    return root
