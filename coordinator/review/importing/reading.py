"""One session, from its file into a run: what is new of it, in turns, resumable at any line.

A run's events stand under the place of their line in the file; a helper's under the line that tells of its end. What
was written before an import was cut off is read once more, up to the end of what the ledger has, and not written again.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from coordinator import eventcodec
from coordinator.drivers import base
from coordinator.prices import Prices
from coordinator.proposing import retitle
from coordinator.redaction import Redactor
from coordinator.review.importing import files
from coordinator.review.importing.blocks import Blocks, Taken
from coordinator.review.importing.files import Session
from coordinator.review.importing.helpers import HelperNotes
from coordinator.review.importing.said import About, Begins, Ends, Happens, Helper, Line, Reader, Said, Spends, key
from coordinator.review.importing.turn import OpenTurn, turn_id
from coordinator.review.importing.writing import Owner, Writer
from coordinator.terms import Terms, TreeKind, canonical
from store import events, imported, imports, runs
from store.canonical import keyed_digest
from store.events import BEFORE_ALL, Key, NewEvent
from store.imported import Imported, ImportedTurn
from store.imports import Import
from store.tx import Tx
from store.vocab import AuthorizationId, Billing, IncarnationId, Millis, RunId, RunOutcome, TurnSource


class House(Struct, frozen=True, kw_only=True):
    """What is the same for all sessions of one import."""

    prices: Prices
    redactor: Redactor
    operator: str
    machine: str
    uid: int
    digest_key: str
    incarnation: IncarnationId
    authorization: Callable[[], AuthorizationId]
    begun: Callable[[Tx], None]
    """Notes the import itself, once, in the transaction of its first run."""


class Standing(Struct, frozen=True, kw_only=True):
    """Where an import of this file begins."""

    part: Import | None = None
    """Of a file that was read before: its newest part."""
    start: int = 0
    run: RunId | None = None
    """Goes on in this run; None: in a new one."""
    through: Key = BEFORE_ALL
    """Up to this event all is written."""
    continues: RunId | None = None
    root: str = ""


class Counts(Struct):
    turns: int = 0
    events: int = 0
    shared: int = 0
    """Lines that the ledger had from another file."""
    unknown: int = 0
    """Lines of no known kind, kept whole."""
    torn: bool = False
    """The last line is half a line: left for the next time."""
    unpriced: int = 0
    """Turns whose cost is not known."""
    micro_usd: int = 0


class SessionReading:
    def __init__(
        self, session: Session, standing: Standing, writer: Writer, house: House, helpers: HelperNotes
    ) -> None:
        self.session = session
        self.counts = Counts()
        self.owner = Owner(standing.run)
        self._standing = standing
        self._writer = writer
        self._house = house
        self._helpers = helpers
        self._hasher = hashlib.sha256()
        self._redact = house.redactor.text
        # where we are
        self._place = 0
        self._n = 0
        self._last_at = session.begun.began or Millis(0)
        self._turn: OpenTurn | None = None
        self._boundary: tuple[int, str] | None = None
        self._reached = standing.through
        # not yet a step
        self._rows: list[NewEvent] = []
        self._found: list[tuple[int, str]] = []
        self._calls: dict[str, int] = {}
        self._keys: list[tuple[int, int]] = []
        # what the run is told of when it is begun, and at the end
        self._told = standing.run is not None
        self._title = ""
        self._model: str | None = session.begun.model or None
        self._mode: str | None = None
        self._after: Owner | RunId | None = standing.continues
        self._import: int | None = None if standing.part is None or standing.run is None else standing.part.id

    # ------------------------------------------------------------------------------------------------------ the file

    def read(self) -> None:
        """
        Raises:
            OSError: the file cannot be read on. What was committed stands.
            LedgerBusy, StorageFault: with the refusal to show.
        """
        reader = self.session.format.reader(self.session.begun, root=self._standing.root)
        blocks = Blocks(self.session.file.path, reader)
        for block in blocks:
            wanted = [one for one in block if one.line is not None and one.place >= self._standing.start]
            self._ask(wanted)
            for one in block:
                self._place, self._n = one.place, 0
                if one.line is not None and one.place >= self._standing.start:
                    self._line(one.line, one.place)
                elif one.line is not None and self._standing.run is not None:
                    self._pass_helpers(one.line)
                # After the line: a turn that begins with it ends the one before at the bytes before it.
                self._hasher.update(one.raw)
                self._place = one.after
        self.counts.torn = blocks.torn
        self._n = 0
        self._end()

    def _ask(self, block: list[Taken]) -> None:
        """Which of these lines, and of the answers that they tell the use of, are known."""
        keys: list[int] = []
        for one in block:
            assert one.line is not None
            keys += one.line.keys
            keys += [self._answer(said) for said in one.line.said if isinstance(said, Spends)]
        self._writer.look_up(keys)

    def _answer(self, said: Spends) -> int:
        return key("spent", self.session.format.agent, said.answer)

    @property
    def place(self) -> int:
        return self._place

    @property
    def title(self) -> str:
        return retitle(self._title)

    @property
    def continues(self) -> RunId | None:
        return self._after.run if isinstance(self._after, Owner) else self._after

    def _line(self, line: Line, place: int) -> None:
        if self._is_known(line.keys, place):
            self.counts.shared += 1
            return
        for one in line.keys:
            self._note(one, place)
        if line.at is not None:
            self._last_at = line.at
        for said in line.said:
            self._take(said, place)
        if self._writer.weighs(rows=0, characters=0):
            self.flush()
            self._writer.commit()

    def _is_known(self, keys: tuple[int, ...], place: int) -> bool:
        for one in keys:
            known = self._writer.known(one)
            if known is not None and not self._is_mine(known, place):
                self._after = known[0] if known[0] not in (self.owner, self.owner.run) else self._after
                return True
        return False

    def _is_mine(self, known: tuple[Owner | RunId, int], place: int) -> bool:
        """Written by this import before it was cut off; the same words elsewhere in the file are a copy."""
        return known in ((self.owner, place), (self.owner.run, place))

    def _note(self, key: int, place: int) -> None:
        self._keys.append((key, place))
        self._writer.knows_now(key, self.owner, place)

    # ------------------------------------------------------------------------------------------------------- the turn

    def _take(self, said: Said, place: int) -> None:
        match said:
            case Happens():
                self._happens(said)
            case Spends():
                self._spends(said, place)
            case Begins():
                self._settle(followed=True)
                self._open(said)
            case Ends():
                if self._turn is not None:
                    self._turn.ends(said)
            case Helper():
                self._helper(said.agent, said.call)
            case About():
                self._model = said.model or self._model
                self._mode = said.mode or self._mode

    def _open(self, begins: Begins) -> OpenTurn:
        text = self._redact(begins.text)
        self._turn = OpenTurn(
            id=turn_id(self.session.identity, self._place),
            begins=Begins(text=text, source=begins.source),
            began=self._last_at,
        )
        self._title = self._title or text
        self.counts.turns += 1
        return self._turn

    def _happens(self, said: Happens) -> None:
        turn = self._turn if self._turn is not None else self._open(Begins(text="", source=TurnSource.AGENT))
        event = said.event
        kind, body = eventcodec.spelled(event)
        if self._house.redactor.spans(body):
            # Looked for in the finished JSON, where one pass finds any; taken out of the values, where it is safe.
            event = eventcodec.redacted(event, self._redact)
            kind, body = eventcodec.spelled(event)
        row = NewEvent(offset=self._place, n=self._n, turn=turn.id, at=self._last_at, kind=kind, body=body)
        self._n += 1
        turn.digest.add(row)
        if said.works:
            turn.worked(self._last_at)
        self.counts.events += 1
        if isinstance(event, base.Unknown):
            self.counts.unknown += 1
        if (row.offset, row.n) <= self._standing.through:
            turn.resumed = True
            return
        if isinstance(event, base.TextBlock) and event.text:
            self._found.append((len(self._rows), event.text))
        elif isinstance(event, base.ToolStarted):
            self._found.append((len(self._rows), event.title))
            self._calls[event.name] = self._calls.get(event.name, 0) + 1
        self._rows.append(row)
        if self._writer.weighs(rows=1, characters=len(body)):
            self.flush()
            self._writer.commit()

    def _spends(self, said: Spends, place: int) -> None:
        turn = self._turn if self._turn is not None else self._open(Begins(text="", source=TurnSource.AGENT))
        if not turn.has_spent(said.answer):
            answer = self._answer(said)
            known = self._writer.known(answer)
            if known is not None and not self._is_mine(known, place):
                return
            self._note(answer, place)
        turn.spends(said)

    def _settle(self, *, followed: bool) -> None:
        turn, self._turn = self._turn, None
        if turn is None:
            return
        house, text = self._house, turn.begins.text
        keyed = keyed_digest(house.digest_key, text.encode("utf-8", "replace"))
        over = turn.over(
            house.prices, text=text, keyed=keyed, operator=house.operator, followed=followed, redact=self._redact
        )
        self.counts.unpriced += over.cost is None
        self.counts.micro_usd += over.cost or 0
        self._begin()
        self._write_events(turn)
        self._writer.step(lambda tx: self._write_turn(tx, over, turn))
        self._boundary = (self._place, self._hasher.hexdigest())
        self._writer.weighs(rows=2, characters=len(text))

    # ------------------------------------------------------------------------------------------------------- a helper

    def _helper(self, agent: str, call: str) -> None:
        path = files.helper_file(self.session.file.path, agent)
        if path is not None:
            self._read_helper(agent, path, call)

    def _pass_helpers(self, line: Line) -> None:
        """Of a line whose turn was settled before the import was cut off: the helpers that it tells of are in."""
        for said in line.said:
            path = files.helper_file(self.session.file.path, said.agent) if isinstance(said, Helper) else None
            if isinstance(said, Helper) and path is not None and self._helpers.passes(self._helper_of(said.agent)):
                reader = self.session.format.reader(self.session.begun, root="", helper_of=said.call)
                for block in Blocks(path, reader):
                    for one in block:
                        if one.line is not None:
                            self._pass_helpers(one.line)

    def _helper_of(self, agent: str) -> str:
        return f"{self.session.identity}/{agent}"

    def _read_helper(self, agent: str, path: Path, call: str) -> None:
        """All that the helper wrote, as part of the open turn, under the line that we are at."""
        identity = self._helper_of(agent)
        begins = self._helpers.begin(identity, path, self.owner.run)
        if begins is None:
            return
        start, told = begins
        reader: Reader = self.session.format.reader(self.session.begun, root="", helper_of=call)
        hasher, read_to, here = hashlib.sha256(), 0, self._last_at
        try:
            for block in Blocks(path, reader):
                wanted = [one for one in block if one.line is not None and one.place >= start]
                self._ask(wanted)
                for one in block:
                    if one.line is not None and one.place >= start:
                        self._line(one.line, -1 - one.place)
                    hasher.update(one.raw)
                    read_to = one.after
        except OSError:
            return  # the session is read all the same, and the helper's file again the next time
        finally:
            self._last_at = here  # a helper may go on long after the next line was said
        digest = hasher.hexdigest()
        self._writer.step(lambda tx: self._note_helper(tx, identity, path, told, digest, read_to))

    def _note_helper(self, tx: Tx, identity: str, path: Path, told: tuple[int, int], digest: str, read_to: int) -> None:
        size, mtime = told
        row = imports.find(tx, identity)
        if row is None:
            agent = self.session.format.agent
            imports.record(
                tx, agent=agent, identity=identity, path=str(path), run=self.owner.run, size=size, mtime=mtime,
                digest=digest, read_to=read_to,
            )  # fmt: skip
        else:
            imports.progress(tx, id=row.id, path=str(path), size=size, mtime=mtime, digest=digest, read_to=read_to)

    # ------------------------------------------------------------------------------------------------------ the ledger

    def flush(self) -> None:
        """Make steps of what is read."""
        if self._turn is not None:
            self._write_events(self._turn)
        if self._told:
            boundary, reached, self._boundary = self._boundary, self._reached, None
            self._writer.step(lambda tx: self._progress(tx, boundary, reached))

    def _write_events(self, turn: OpenTurn) -> None:
        rows, found, calls, keys = self._rows, self._found, self._calls, self._keys
        self._rows, self._found, self._calls, self._keys = [], [], {}, []
        if rows:
            self._reached = (rows[-1].offset, rows[-1].n)
        if not (rows or keys):
            return
        self._begin()

        def write(tx: Tx) -> None:
            run = self._sure_run()
            imported.keep(tx, run, keys)
            last = imported.append(tx, run=run, turn=turn.id, rows=rows, found=found, calls=calls)
            turn.through = last or turn.through

        self._writer.step(write)

    def _write_turn(self, tx: Tx, over: ImportedTurn, turn: OpenTurn) -> None:
        run = self._sure_run()
        # Of a turn that an import before this one began, the ledger knows best what is in it.
        seen = events.digest_of_turn(tx, turn.id) if turn.resumed else turn.digest.over(turn.through)
        imported.settle(tx, run, over, seen)

    def _sure_run(self) -> RunId:
        assert self.owner.run is not None, "a run is begun before anything is written into it"
        return self.owner.run

    def _begin(self) -> None:
        """The step that begins the run, before the first one that needs it."""
        if not self._told:
            self._told = True
            self._writer.step(self._write_run)

    def _write_run(self, tx: Tx) -> None:
        session, house = self.session, self._house
        house.begun(tx)
        begun, ended = session.begun, session.ended
        began = begun.began or tx.now
        last = max(ended.at or began, began)
        terms = Terms(
            instruction=self._title,
            preamble=False,
            agent=session.format.agent,
            driver=session.format.driver,
            program="",
            agent_version=begun.version,
            billing=Billing.SUBSCRIPTION,
            repository=begun.cwd,
            head="",
            branch=begun.branch,
            tree_kind=TreeKind.IN_PLACE,
            model=self._model,
            mode=self._mode or "",
            budget=None,
            max_turns=0,
            working_seconds=None,
            expires_at=last,
            attendance_seconds=0,
            machine=house.machine,
            uid=house.uid,
        )
        run = imported.begin(
            tx,
            Imported(
                title=self.title,
                agent=session.format.agent,
                driver=session.format.driver,
                repository=begun.cwd,
                branch=begun.branch,
                authorization=house.authorization(),
                terms=canonical(terms),
                incarnation=house.incarnation,
                operator=house.operator,
                began=began,
                ended=last,
                outcome=RunOutcome.FAILED if ended.failed else RunOutcome.FINISHED,
                detail=self._redact(ended.detail),
                native_id=begun.native_id,
                model=self._model,
                mode=self._mode,
                continues=self.continues,
            ),
        )
        self.owner.run = run.id
        self._record(tx, run.id)

    def _record(self, tx: Tx, run: RunId | None) -> None:
        """A part of the file: the first, or what came after the one before."""
        part, start, file = self._standing.part, self._standing.start, self.session.file
        identity = self.session.identity if part is None else f"{self.session.identity}@{start}"
        digest = hashlib.sha256().hexdigest() if part is None else part.digest
        row = imports.record(
            tx, agent=self.session.format.agent, identity=identity, path=str(file.path), run=run, size=file.size,
            mtime=file.mtime, digest=digest, read_to=start,
        )  # fmt: skip
        self._import = row.id
        imported.reached(tx, row.id, BEFORE_ALL)

    def _progress(self, tx: Tx, boundary: tuple[int, str] | None, reached: Key) -> None:
        assert self._import is not None
        imported.reached(tx, self._import, reached)
        if boundary is not None:
            self._go_to(tx, boundary)

    def _go_to(self, tx: Tx, boundary: tuple[int, str]) -> None:
        assert self._import is not None
        file = self.session.file
        imports.progress(
            tx, id=self._import, path=str(file.path), size=file.size, mtime=file.mtime, digest=boundary[1],
            read_to=boundary[0],
        )  # fmt: skip

    def _end(self) -> None:
        """What helpers wrote that no line tells of, the last turn, and that all is read."""
        for agent, path in files.helpers_of(self.session.file.path):
            if self._turn is not None:
                self._read_helper(agent, path, f"helper {agent}")
        self._settle(followed=False)
        end = (self._place, self._hasher.hexdigest())
        self._writer.step(lambda tx: self._finish(tx, end))

    def _finish(self, tx: Tx, end: tuple[int, str]) -> None:
        if self._told:
            run = self._sure_run()
            assert self._import is not None
            self._go_to(tx, end)
            runs.learn(tx, id=run, model=self._model, mode=self._mode)
            imported.through(tx, self._import)
            imported.close(tx, run)
        elif self._standing.part is None:
            self._record(tx, None)
            assert self._import is not None
            self._go_to(tx, end)
            imported.through(tx, self._import)
        else:
            self._import = self._standing.part.id
            self._go_to(tx, end)
