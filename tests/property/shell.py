"""The shell of the books' test: what a console does around the machine, with a ledger and without a process.

It obeys (an effect is carried out, a transaction is committed, lost or torn, a console dies and the next one takes
over) and decides nothing; what is tried in which order is ``test_books_follow``.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize

from coordinator import machine, recording, settling
from coordinator.adopt import state_of
from coordinator.custody.types import RecordKind, SpoolRecord
from coordinator.drivers import base
from coordinator.drivers.claude import ClaudeDriver
from coordinator.ids import Ids
from coordinator.ingest import Batch, Ingest
from coordinator.machine import Limits, SessionState
from coordinator.recording import Admission, NewTurn, Pools, Proof
from coordinator.redaction import Redactor
from coordinator.rows import read_rows
from coordinator.terms import TreeKind
from store import custody, decisions, events, queued, turns
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import (
    AuthorizationId,
    CustodyId,
    CustodyState,
    DecisionKind,
    EndReason,
    MicroUsd,
    Millis,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)
from tests.cli.made import made_terms
from tests.store.scenes import INCARNATION, NOON, in_memory

HOLD = CustodyId("hold-1")
TERMS = made_terms(tree_kind=TreeKind.IN_PLACE, budget=MicroUsd(400), max_turns=30, expires_at=Millis(NOON + 3_600_000))
SECRET = "hunter2hunter2"
often = st.sampled_from
MAILBOX = often(["", "", "park", "malformed", "handoff"])


@dataclass
class Scripted:
    """A driver whose bytes are names of what it was told to say."""

    said: dict[bytes, Sequence[base.AgentEvent]] = field(default_factory=dict)
    capabilities: base.Capabilities = field(default_factory=lambda: ClaudeDriver().capabilities)

    def feed(self, data: bytes) -> Sequence[base.AgentEvent]:
        return self.said[data]

    def feed_end(self) -> Sequence[base.AgentEvent]:
        return ()

    def snapshot(self) -> bytes:
        return b"snapshot"


class Counted:
    def __init__(self) -> None:
        self.made = 0

    def turn(self) -> TurnId:
        self.made += 1
        return TurnId(f"turn-{self.made}")


class Shell(RuleBasedStateMachine):
    def opened(self) -> Tx:
        """A ledger, to be closed with ``scene``."""
        return self.scene.enter_context(in_memory())

    @initialize()
    def begin(self) -> None:
        self.scene = ExitStack()
        self.first = self.opened()
        self.ticks = self.verified = self.offset = self.told = 0
        self.driver = Scripted()
        self.keys: list[tuple[int, int]] = []
        self.spool: list[SpoolRecord] = []
        """All that was kept of the agent, for whoever comes after this console."""
        self.taken = 0
        self.over = self.dead = False
        self.dying = ""
        """``before`` or ``after`` its next commit: the console dies there."""
        self.broken = False
        self.unwritten: list[str] = []
        """Turns whose bytes are still to come."""
        self.seen: dict[tuple[str, object], StrEnum] = {}
        given = Admission(incarnation=INCARNATION, operator="ada", max_held_sessions=8, pools=Pools())
        self.run = self.within(
            lambda tx: recording.admit(tx, given, terms=TERMS, authorization=AuthorizationId("a"), title="t")
        ).id
        self.ids = Counted()
        self.state = SessionState(limits=Limits(budget=TERMS.budget, max_turns=TERMS.max_turns))
        self.ingest = self.a_reader()
        brief = self.new_turn(TurnSource.BRIEF)
        proof = Proof(
            run=self.run, custody=HOLD, incarnation=INCARNATION, actual=TERMS, tree=TERMS.repository, nonce="n",
            native_id=None, socket_fits=True, max_held_sessions=8, brief=brief,
        )  # fmt: skip
        self.within(lambda tx: recording.prove(tx, proof, digest_key="k"))
        self.within(lambda tx: custody.move(tx, id=HOLD, expect=[CustodyState.PROPOSED], to=CustodyState.OPEN))
        self.unwritten.append(brief.id)
        self.decide(machine.TurnRecorded(id=brief.id, source=TurnSource.BRIEF))

    def teardown(self) -> None:
        if hasattr(self, "scene"):
            self.scene.close()

    # --------------------------------------------------------------------------------------------------- the shell

    def within(self, body: Any, *, torn: bool = False) -> Any:
        """One transaction; ``torn``: it is lost first, and then carried out again."""
        if torn:
            self.transact(body, commit=False)
        return self.transact(body, commit=self.dying != "before")

    def transact(self, body: Any, *, commit: bool) -> Any:
        self.ticks += 1
        tx = Tx(self.first.conn, Millis(self.first.now + self.ticks))
        tx.conn.execute("BEGIN IMMEDIATE")
        done = body(tx)
        if commit:
            tx.conn.execute("ROLLBACK" if isinstance(done, Refusal) else "COMMIT")
        else:
            self.crash()
        return done

    def new_turn(self, source: TurnSource, **more: Any) -> NewTurn:
        text = f"mend it with {SECRET}"
        return NewTurn(
            id=self.ids.turn(), source=source, text=text, preamble="", sent=text.encode(), operator="ada", **more
        )

    def settle(self, batch: Batch, torn: bool = False) -> None:
        self.within(lambda tx: self.ingest.commit(tx, batch, generation=1), torn=torn)
        if self.dying:
            self.dead = True
            return
        self.state = batch.state
        for act in batch.acts:
            match act:
                case machine.SendQueued():
                    waiting = queued.waiting(self.first, self.run)
                    if waiting and self.send(self.new_turn(TurnSource.OPERATOR, queued=waiting[0].id)):
                        self.decide(machine.QueueChanged(waiting=len(waiting) - 1))
                case machine.SendParkAnswers():
                    ids = tuple(int(d.id) for d in read_rows(self.first, self.run).park_answers)
                    if ids and self.send(self.new_turn(TurnSource.ANSWER, decisions=ids)):
                        self.decide(machine.ParkAnswered(waiting=0, open=self.parks_open()))
                case machine.SendRepair():
                    if not self.send(self.new_turn(TurnSource.REPAIR)):
                        self.decide(machine.RepairRefused())
                case machine.ParkAsText():
                    self.ask_park(f"raw-{self.ticks}")
                case machine.Fence():
                    self.within(lambda tx, reason=act.reason: custody.fence(tx, id=HOLD, reason=reason))
                case machine.Conclude():
                    self.within(
                        lambda tx: custody.move(tx, id=HOLD, expect=[CustodyState.OPEN], to=CustodyState.CONCLUDING)
                    )
                case _:
                    pass

    def a_reader(self) -> Ingest:
        return Ingest(
            run=self.run,
            custody=HOLD,
            driver=cast(base.Driver, self.driver),
            redactor=Redactor([SECRET]),
            ids=cast(Ids, self.ids),
        )

    def crash(self) -> None:
        """What a kill leaves of the ledger: what was committed. ``test_books_on_disk`` has it from SQLite itself."""
        if self.first.conn.in_transaction:
            self.first.conn.execute("ROLLBACK")

    def taken_over(self, resent: bool, found: str) -> None:
        """The next console, as ``adopt`` and ``catchup`` have it: all it knows is the ledger, and the spool again."""
        self.crash()
        self.dying, self.dead = "", False
        rows = read_rows(self.first, self.run)
        held = rows.custody
        assert held is not None and held.ingested == self.taken
        ready = events.has_kind(self.first, self.run, "session-ready")
        self.state = state_of(rows, self.state.limits, ready=ready)
        self.ingest = self.a_reader()
        self.ingest.resume(
            cast(base.Driver, self.driver), position=held.driver_offset, known=held.ingested, driven=1, generation=1,
            later=None,
        )  # fmt: skip
        self.take(*self.spool[held.driver_offset :])
        if held.fence_reason is not None:
            self.decide(machine.FenceAsked(reason=held.fence_reason))
        unsent = [turn for turn in rows.turns if turn.state is TurnState.RECORDED and turn.id in self.unwritten]
        if unsent and not resent:
            # Other bytes would come of it now, so it is cancelled with proof.
            self.unwritten.remove(unsent[0].id)
            self.within(lambda tx: settling.not_sent(tx, unsent[0].id))
            self.decide(machine.TurnNotSent(id=unsent[0].id))
            if unsent[0].source is TurnSource.BRIEF:
                self.decide(machine.FenceAsked(reason=EndReason.CONSOLE_LOST))
        rows = read_rows(self.first, self.run)
        last = rows.turns[-1]
        if self.state.live and self.state.at_rest and last.result is TurnResultKind.SUCCESS:
            self.finds(found)
        self.decide(machine.QueueChanged(waiting=len(queued.waiting(self.first, self.run))))

    def finds(self, what: str) -> None:
        """In the mailbox."""
        if what == "park" and self.state.live:
            self.ask_park(f"park-{self.ticks}")
        malformed = "no JSON" if what == "malformed" else ""
        self.decide(machine.MailboxRead(park=what == "park", malformed=malformed, handoff=what == "handoff"))

    def send(self, turn: NewTurn) -> bool:
        if not self.state.live:
            return False
        done = self.within(
            lambda tx: recording.record_turn(
                tx, self.run, turn, digest_key="k", paused=self.state.paused, incarnation=INCARNATION
            )
        )
        if isinstance(done, Refusal):
            return False
        self.unwritten.append(turn.id)
        self.decide(machine.TurnRecorded(id=turn.id, source=turn.source))
        return True

    def decide(self, given: machine.Input) -> None:
        self.settle(self.ingest.decide(self.state, given))

    def record(self, kind: RecordKind, data: bytes = b"", **facts: object) -> SpoolRecord:
        self.offset += 1
        kept = SpoolRecord(
            kind=kind, offset=self.offset - 1, next_offset=self.offset, at_ms=int(NOON), generation=1, data=data,
            facts=facts,
        )  # fmt: skip
        self.spool.append(kept)
        return kept

    def say(self, *said: base.AgentEvent) -> SpoolRecord:
        key = b"%d" % self.offset
        self.driver.said[key] = said
        self.keys += [(self.offset, n) for n, one in enumerate(said) if not isinstance(one, base.TRANSIENT)]
        return self.record(RecordKind.STDOUT, key)

    def take(self, *records: SpoolRecord, torn: bool = False) -> None:
        if self.dead:
            return  # they are in the spool, for the next
        self.settle(self.ingest.take(self.state, records), torn)
        if self.dying != "before":
            self.taken = max([self.taken, *(record.next_offset for record in records)])

    def parks_open(self) -> bool:
        return bool(read_rows(self.first, self.run).open_parks)

    def ask_park(self, request: str) -> None:
        flown = turns.of_run(self.first, self.run)
        self.within(
            lambda tx: decisions.ask(
                tx, run=self.run, turn=flown[-1].id, kind=DecisionKind.PARK, request=request, generation=1,
                payload=f'"{request}"', title="?", subject="",
            )
        )  # fmt: skip
