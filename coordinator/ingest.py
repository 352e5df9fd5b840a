"""From spool records to events in the ledger: every byte once, in order, the offset committed with what came of it.

``take`` turns a batch of records into rows, book effects and act effects without touching anything; ``commit`` writes
them in one transaction. Between the two nothing is lost: the state moves on only after the commit.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from coordinator import decisioncodec, eventcodec, longtexts, machine
from coordinator.api import FeedEvent
from coordinator.books import Books
from coordinator.custody.types import RecordKind, SpoolRecord
from coordinator.drivers import base
from coordinator.errorstream import ErrorStream
from coordinator.ids import Ids
from coordinator.machine import Act, Book, SessionState
from coordinator.redaction import Redactor
from coordinator.ruling import Rulebook
from coordinator.terminals import Resized, Terminal
from store import control_writes, custody, events, turns
from store.db import Tx
from store.events import NewEvent
from store.vocab import CustodyId, Millis, RunId, TurnId, TurnState


class Batch(Struct, kw_only=True):
    """What a batch of records comes to."""

    state: SessionState
    rows: list[NewEvent] = field(default_factory=list)
    books: list[Book] = field(default_factory=list)
    times: list[Millis | None] = field(default_factory=list)
    """Beside each book, the time that it is booked under; None: now."""
    acts: list[Act] = field(default_factory=list)
    feed: list[FeedEvent] = field(default_factory=list)
    writes: list[tuple[str, RecordKind, Millis | None]] = field(default_factory=list)
    offset: int = 0
    snapshot: bytes | None = None
    snapshot_offset: int = 0
    replayed: list[tuple[base.AgentEvent, Millis]] = field(default_factory=list)
    """Known to the ledger already: for the driver and the screen only."""


class Ingest:
    def __init__(
        self,
        *,
        run: RunId,
        custody: CustodyId,
        driver: base.Driver,
        redactor: Redactor,
        ids: Ids,
        came: Millis = Millis(0),
    ) -> None:
        """``came``: when this console took the run up. What the keeper saw before then is booked as of that time."""
        self._run = run
        self._came = came
        self._custody = custody
        self._driver = driver
        self._redactor = redactor
        self._ids = ids
        self._errors = ErrorStream(redactor)
        self._books = Books(run=run, custody=custody, redactor=redactor)
        self._known = 0
        self._driven = 1
        """The generation whose output the driver follows."""
        self._later: base.Driver | None = None
        self.rules = Rulebook()
        """The run's standing rules, once its tree is known."""
        self.generation = 1
        """The one that is held now: an older one's exit is history."""
        self.terminal = Terminal() if driver.capabilities.terminal else None
        self.position = 0
        """Up to where the spool was taken in."""

    def replace_driver(self, driver: base.Driver, generation: int) -> None:
        """A new generation of the agent is followed by a new instance."""
        self._driver, self._later = driver, None
        self._driven = self.generation = generation

    def resume(
        self,
        driver: base.Driver,
        *,
        position: int,
        known: int,
        driven: int,
        generation: int,
        later: base.Driver | None,
    ) -> None:
        """Taken over from a console that is gone: the spool comes again from ``position`` on.

        What lies before ``known`` is in the ledger: the driver reads it again, nobody else. ``later`` follows the
        generation that is held now, where the spool comes again from the life of the one before.
        """
        self._driver, self.position, self._known = driver, position, known
        self._driven, self.generation, self._later = driven, generation, later
        if self.terminal is not None and isinstance(driver, base.TerminalDriver):
            self.terminal.put(driver.screen())  # what the console before saw on it does not come again

    def take(self, state: SessionState, records: Sequence[SpoolRecord], batch: Batch | None = None) -> Batch:
        """What these come to; added to ``batch``, where that was begun with the records before them."""
        batch = Batch(state=state) if batch is None else batch
        for record in records:
            self.position = record.next_offset
            if record.generation > self._driven and self._later is not None:
                self._driver, self._driven, self._later = self._later, record.generation, None
            at = Millis(record.at_ms)
            if record.offset < self._known:
                self._replay(batch, record, at)
                continue
            batch.offset = record.next_offset
            match record.kind:
                case RecordKind.STDOUT:
                    self._told(record)
                    self._events(batch, record, at, self._driver.feed(record.data))
                case RecordKind.STDERR:
                    # One event for each record, so that the two can be compared, whatever of it is kept back.
                    self._events(batch, record, at, [base.Stderr(text=self._errors.feed(record.data))])
                case RecordKind.QUIET:
                    self._events(batch, record, at, self._driver.quiet())
                case RecordKind.RESIZED:
                    self._told(record)
                case RecordKind.WRITING | RecordKind.WROTE | RecordKind.CANCELLED | RecordKind.WRITE_FAILED:
                    self._told(record)
                    batch.writes.append((str(record.facts.get("id", "")), record.kind, self._booked(at)))
                case RecordKind.EXIT:
                    rest = self._errors.end()
                    self._events(
                        batch, record, at, [*self._driver.feed_end(), *([base.Stderr(text=rest)] if rest else [])]
                    )
                    self._exited(batch, record)
                case _:
                    pass
            settled = any(isinstance(act, machine.Settled) for act in batch.acts)
            # Who reads on from a snapshot must not miss the beginning of what is kept back.
            if settled and batch.snapshot is None and not self._errors.pending:
                batch.snapshot, batch.snapshot_offset = self._driver.snapshot(), record.next_offset
        return batch

    def _told(self, record: SpoolRecord) -> None:
        """Of a terminal: what a screen that looks at it draws, and what its driver needs to read what comes next."""
        told(self._driver, record)
        if self.terminal is None:
            return
        if record.kind is RecordKind.STDOUT:
            self.terminal.put(record.data)
        elif record.kind is RecordKind.RESIZED and (size := _size(record)) is not None:
            self.terminal.put(Resized(rows=size[0], columns=size[1]))

    def _replay(self, batch: Batch, record: SpoolRecord, at: Millis) -> None:
        self._told(record)
        if record.kind in (RecordKind.STDOUT, RecordKind.QUIET):
            quiet = record.kind is RecordKind.QUIET
            found = self._driver.quiet() if quiet else self._driver.feed(record.data)
            batch.replayed += [(event, at) for event in found]
            if record.generation < self.generation:
                return  # who asked is gone, and the one that lives asked something else
            # The console before this one may have gone between its books and these bytes; whoever had sent them sees
            # them sent no second time.
            batch.acts += [machine.SendReply(id=one.id, data=one.data) for one in found if isinstance(one, base.Reply)]
        elif record.kind is RecordKind.STDERR:
            self._errors.feed(record.data)
        elif record.kind is RecordKind.EXIT:
            self._errors.end()
            self._exited(batch, record)

    def _exited(self, batch: Batch, record: SpoolRecord) -> None:
        if record.generation >= self.generation:
            self._step(batch, machine.AgentExited(how=str(record.facts.get("exit", ""))))

    def decide(self, state: SessionState, given: machine.Input) -> Batch:
        """An input that comes from nobody's output: a command, a timer."""
        batch = Batch(state=state)
        self._step(batch, given)
        return batch

    def _events(self, batch: Batch, record: SpoolRecord, at: Millis, found: Sequence[base.AgentEvent]) -> None:
        for n, event in enumerate(found):
            turn = self._turn_now(batch.state)
            fresh = self._ids.turn() if isinstance(event, base.TurnBegunByAgent | base.TurnResult) else TurnId("")
            ruling = self.rules.on(event) if isinstance(event, base.DecisionAsked) else None
            self._step(batch, machine.AgentSaid(event=event, new_turn=fresh, ruling=ruling), self._booked(at))
            if turn is None or isinstance(event, base.TurnBegunByAgent):
                turn = self._turn_now(batch.state) or turn
                if turn is None and isinstance(event, base.TurnResult):
                    turn = next((b.turn for b in batch.books if isinstance(b, machine.BookAgentTurn)), None)
            key: tuple[int, int] | None = None
            if not isinstance(event, base.TRANSIENT):
                key = (record.offset, n)
                kind, body = eventcodec.encode(event, self._redactor.text)
                batch.rows.append(NewEvent(offset=record.offset, n=n, turn=turn, at=at, kind=kind, body=body))
            shown, left_at, left_out = longtexts.shortened(event)
            batch.feed.append(
                FeedEvent(run=self._run, turn=turn, at=at, event=shown, key=key, left_at=left_at, left_out=left_out)
            )

    def _turn_now(self, state: SessionState) -> TurnId | None:
        return state.turns[0].id if state.turns else None

    def _booked(self, seen: Millis) -> Millis | None:
        return seen if seen < self._came else None

    def _step(self, batch: Batch, given: machine.Input, at: Millis | None = None) -> None:
        batch.state, effects = machine.step(batch.state, given)
        for effect in effects:
            if isinstance(effect, machine.BOOKS):
                batch.books.append(effect)  # type: ignore[arg-type]  # BOOKS are the members of Book
                batch.times.append(at)
            else:
                batch.acts.append(effect)  # type: ignore[arg-type]

    def seal(self, batch: Batch, digest: Callable[[bytes], str] | None) -> None:
        """Make the answers that standing rules give in this batch, now that it is known how the batch ends.

        A request that the batch itself ends again is not answered, nor any where the batch ends in no state for it, or
        ``digest`` is None because nothing can be sent: the operator is asked as for any other.
        """
        able = digest is not None and batch.state.rules_answer
        books: list[tuple[Book, Millis | None]] = []
        for place, (book, at) in enumerate(zip(batch.books, batch.times, strict=True)):
            if not isinstance(book, machine.BookDecision) or book.ruling is None:
                books.append((book, at))
                continue
            if digest is None or not able or any(_ends(later, book) for later in batch.books[place + 1 :]):
                books.append((replace(book, ruling=None), at))
                continue
            request, ruling = book.event.request, book.ruling
            data = self._driver.answer(request, ruling.answer)
            ruled = machine.BookRuled(
                request=request,
                by=self._redactor.text(ruling.by),
                answer=self._redactor.text(decisioncodec.encode_answer(ruling.answer)),
                length=len(data),
                digest=digest(data),
            )
            books += [(book, at), (ruled, at)]
            batch.acts.append(machine.SendRuled(request=request, data=data))
        batch.books, batch.times = [book for book, _ in books], [at for _, at in books]

    def commit(self, tx: Tx, batch: Batch, *, generation: int) -> None:
        """The whole batch in the caller's transaction, the offset with it."""
        # A turn of the agent's own comes before the events that name it.
        for book, at in zip(batch.books, batch.times, strict=True):
            if isinstance(book, machine.BookAgentTurn):
                self._books.enter(_then(tx, at), book, generation=generation)
        if batch.rows:
            events.append(tx, run=self._run, rows=batch.rows)
        for write, kind, at in batch.writes:
            self._wrote(_then(tx, at), write, kind)
        for book, at in zip(batch.books, batch.times, strict=True):
            if not isinstance(book, machine.BookAgentTurn):
                self._books.enter(_then(tx, at), book, generation=generation)
        if batch.offset:
            custody.ingested(
                tx,
                id=self._custody,
                offset=batch.offset,
                driver_state=batch.snapshot,
                driver_offset=batch.snapshot_offset if batch.snapshot is not None else None,
            )

    def _wrote(self, tx: Tx, write: str, kind: RecordKind) -> None:
        turn = turns.get(tx, TurnId(write))
        if turn is not None:
            if kind is RecordKind.WROTE and turn.state is TurnState.RECORDED:
                turns.written(tx, id=turn.id)
            return
        states = {
            RecordKind.WRITING: "writing",
            RecordKind.WROTE: "wrote",
            RecordKind.CANCELLED: "cancelled",
            RecordKind.WRITE_FAILED: "failed",
        }
        control_writes.set_state(tx, run=self._run, id=write, state=states[kind])


def _ends(later: Book, asked: machine.BookDecision) -> bool:
    """Whether a request does not wait any more after what follows it."""
    if isinstance(later, machine.BookWithdrawn):
        return later.request == asked.event.request
    if isinstance(later, machine.BookResolved):
        return later.event.request == asked.event.request
    return isinstance(later, machine.BookSettled) and later.turn == asked.turn


def told(driver: base.Driver, record: SpoolRecord) -> None:
    """What only the keeper's records say of a terminal, to its driver; nothing to any other."""
    if record.kind not in (RecordKind.WRITING, RecordKind.RESIZED) or not isinstance(driver, base.TerminalDriver):
        return
    if record.kind is RecordKind.WRITING:
        driver.sending(str(record.facts.get("id", "")))
    elif (size := _size(record)) is not None:
        driver.resized(*size)


def _size(record: SpoolRecord) -> tuple[int, int] | None:
    rows, columns = record.facts.get("rows"), record.facts.get("columns")
    return (rows, columns) if isinstance(rows, int) and isinstance(columns, int) else None


def _then(tx: Tx, at: Millis | None) -> Tx:
    """The transaction as of then, never later than now: what an agent did and asked while no console was there is no
    longer work, and no shorter wait, because somebody came late."""
    return tx if at is None else Tx(tx.conn, min(tx.now, at))
