"""Any interleaving of agent and operator, taken in and written down by the real parts, against a real ledger.

No process: records are made here, and a scripted driver says what is in them. The console dies too, also between a
commit and what was to follow it, and another takes over. After each step the ledger's states have moved only as
``store.moves`` allows, it verifies, its money is the agent's own, and the machine knows what it knows.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from coordinator import machine, recording, settling, terms as terms_
from coordinator.adopt import state_of
from coordinator.custody.types import RecordKind, WriteProof
from coordinator.drivers import base
from coordinator.rows import read_rows
from store import custody, decisions, events, moves, queued, turns
from store.refusal import Refusal
from store.tx import Tx
from store.verify import verify
from store.vocab import (
    CostKnowledge,
    DecisionKind,
    DecisionState,
    MicroUsd,
    RefusalReason,
    RunOutcome,
    StopResult,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)
from tests.property.parts import parts
from tests.property.shell import HOLD, MAILBOX, SECRET, TERMS, Shell, often


def reachable(table: Mapping[Any, Collection[Any]], start: StrEnum) -> set[StrEnum]:
    found, left = {start}, [start]
    while left:
        new = set(table[left.pop()]) - found
        found |= new
        left += new
    return found


class Books(Shell):
    # --------------------------------------------------------------------------------------------------- the agent

    @precondition(lambda self: not self.over)
    @rule()
    def ready(self) -> None:
        self.take(self.say(base.SessionReady(native_id="native", model="m", mode="default")))

    @precondition(lambda self: not self.over and self.unwritten)
    @rule(whole=st.booleans(), torn=st.booleans())
    def bytes_go(self, whole: bool, torn: bool) -> None:
        id = self.unwritten.pop(0)
        records = [self.record(RecordKind.WRITING, id=id)]
        if whole:
            records.append(self.record(RecordKind.WROTE, id=id))
        self.take(*records, torn=torn)

    def a_result(self, data: st.DataObject) -> base.TurnResult:
        known = [turn.id for turn in turns.of_run(self.first, self.run)]
        self.told += data.draw(st.integers(0, 40))
        names = data.draw(often([known[-1:], [], [data.draw(often(known))]]))
        return base.TurnResult(
            turns=tuple(names),
            kind=data.draw(often([TurnResultKind.SUCCESS, *TurnResultKind])),
            subtype="ended",
            cumulative=MicroUsd(self.told),
            failure_text=SECRET,
            by_agent=data.draw(st.booleans()),
        )

    @precondition(lambda self: not self.over)
    @rule(data=st.data(), torn=st.booleans(), split=st.booleans())
    def works(self, data: st.DataObject, torn: bool, split: bool) -> None:
        self.some_lines(data, torn, split)

    @precondition(lambda self: not self.over)
    @rule(data=st.data(), when=often(["", "before", "after"]), split=st.booleans(), resent=st.booleans(), found=MAILBOX)
    def the_console_dies(self, data: st.DataObject, when: str, split: bool, resent: bool, found: str) -> None:
        """In peace, or while the agent works; the next one takes over."""
        self.dying = when
        if when:
            self.some_lines(data, False, split)
        self.taken_over(resent, found)

    def some_lines(self, data: st.DataObject, torn: bool, split: bool) -> None:
        """Of an agent, in one batch or in one each."""
        flying = [turn.id for turn in self.state.turns]
        said: list[base.AgentEvent] = []
        for what in data.draw(
            st.lists(often(["text", "begin", "accept", "ask", "gone", "resolved", "end"]), max_size=4)
        ):
            match what:
                case "text":
                    said += [base.TextDelta(block="b", text="x"), base.TextBlock(block="b", text=f"said {SECRET}")]
                case "begin":
                    said.append(base.TurnBegunByAgent(why="woken"))
                case "accept":
                    said.append(base.TurnAccepted(turn=data.draw(often([*flying, TurnId("nobody's")]))))
                case "ask":
                    kind = data.draw(often([DecisionKind.PERMISSION, DecisionKind.QUESTION, DecisionKind.PLAN]))
                    said.append(base.DecisionAsked(request=f"r{self.offset}", kind=kind, title="?", subject=SECRET))
                case "gone" | "resolved":
                    rows = decisions.of_run(self.first, self.run)
                    request = data.draw(often([row.request for row in rows])) if rows else "r"
                    if what == "gone":
                        said.append(base.DecisionWithdrawn(request=request))
                    else:
                        said.append(base.DecisionResolved(request=request, accepted=data.draw(st.booleans())))
                case _:
                    said.append(self.a_result(data))
        records = [self.say(one) for one in said] if split else [self.say(*said)]
        if data.draw(st.booleans()):
            self.take(*records, torn=torn)
        else:
            for record in records:
                self.take(record, torn=torn)

    @precondition(lambda self: not self.over and self.ticks > 30)
    @rule(missing=st.booleans())
    def tells_no_cost(self, missing: bool) -> None:
        cost = None if missing or not self.told else MicroUsd(self.told - 1)
        self.broken = True
        self.take(self.say(base.TurnResult(turns=(), kind=TurnResultKind.SUCCESS, subtype="", cumulative=cost)))
        assert self.state.fencing is not None

    @precondition(lambda self: not self.over and self.ticks > 30)
    @rule()
    def exits(self) -> None:
        self.take(self.record(RecordKind.EXIT, exit="1"))
        assert not self.state.live

    # ------------------------------------------------------------------------------------------------ the operator

    @precondition(lambda self: not self.over)
    @rule()
    def says(self) -> None:
        waiting = queued.waiting(self.first, self.run)
        if self.state.at_rest and self.state.ready and not waiting and not self.state.parked:
            self.send(self.new_turn(TurnSource.OPERATOR))
        elif self.state.live:
            self.within(lambda tx: queued.add(tx, run=self.run, text="later", operator="ada"))
            self.decide(machine.QueueChanged(waiting=len(waiting) + 1))

    @precondition(lambda self: not self.over)
    @rule()
    def releases(self) -> None:
        waiting = len(queued.waiting(self.first, self.run))
        self.decide(machine.QueueChanged(waiting=waiting, released=True))

    @precondition(lambda self: not self.over)
    @rule(data=st.data())
    def answers(self, data: st.DataObject) -> None:
        rows = [row for row in decisions.of_run(self.first, self.run) if row.state is not DecisionState.WITHDRAWN]
        if not rows:
            return
        one = data.draw(often(rows))

        def book(tx: Tx) -> object:
            answered = decisions.answer(
                tx, id=one.id, revision=1, payload_hash=one.payload_hash, answer='"yes"', operator="ada"
            )
            if not isinstance(answered, Refusal) and one.kind is not DecisionKind.PARK:
                assert decisions.deliver(tx, id=one.id, write_id=f"answer-{one.id}") is not None
            return answered

        self.within(book)
        if one.kind is DecisionKind.PARK:
            waiting = len(read_rows(self.first, self.run).park_answers)
            self.decide(machine.ParkAnswered(waiting=waiting, open=self.parks_open()))

    @precondition(lambda self: not self.over and self.state.mailbox_due and self.state.at_rest)
    @rule(what=MAILBOX)
    def mailbox(self, what: str) -> None:
        self.finds(what)

    @precondition(lambda self: not self.over)
    @rule(
        given=often(
            [
                machine.InterruptAsked(turn=None),
                machine.InterruptHeard(),
                machine.AttendanceChanged(paused=True),
                machine.AttendanceChanged(paused=False),
                machine.GraceOver(),
                machine.FinishAsked(),
            ]
        )
    )
    def other(self, given: machine.Input) -> None:
        self.decide(given)

    @precondition(lambda self: not self.over and self.ticks > 60)
    @rule(data=st.data(), remaining=often([0, 0, 1]))
    def ends(self, data: st.DataObject, remaining: int) -> None:
        proofs = {
            turn.id: data.draw(often([WriteProof.BEGUN, WriteProof.WHOLE]))
            if turn.id not in self.unwritten
            else data.draw(often(WriteProof))
            for turn in turns.in_flight(self.first, self.run)
        }
        for decision in decisions.live(self.first, self.run):
            if decision.write_id and decision.write_id not in proofs:
                proofs[TurnId(decision.write_id)] = data.draw(often(WriteProof))
        ending = settling.Ending(
            run=self.run, custody=HOLD, generation=1, outcome=RunOutcome.INTERRUPTED, reason="stopped", detail="",
            proofs=tuple(proofs.items()), guess=MicroUsd(7), receipt="{}", remaining=remaining,
            stop_result=StopResult.HELD,
        )  # fmt: skip
        done = self.within(lambda tx: settling.close_hold(tx, ending), torn=data.draw(st.booleans()))
        assert not isinstance(done, Refusal)
        self.over = True
        assert turns.in_flight(self.first, self.run) == [] and queued.waiting(self.first, self.run) == []
        for row in decisions.of_run(self.first, self.run):
            assert row.state not in (DecisionState.ANSWERED, DecisionState.DELIVERING)
            assert row.state is not DecisionState.OPEN or row.kind is DecisionKind.PARK

    @precondition(lambda self: self.over)
    @rule(source=often([TurnSource.OPERATOR, TurnSource.ANSWER, TurnSource.REPAIR]))
    def comes_too_late(self, source: TurnSource) -> None:
        late = self.new_turn(source)
        done = self.within(lambda tx: recording.record_turn(tx, self.run, late, digest_key="k"))
        assert isinstance(done, Refusal) and done.reason is RefusalReason.NO_HELD_SESSION
        for row in decisions.of_run(self.first, self.run):
            if row.state is not DecisionState.OPEN:
                again = self.within(
                    lambda tx, row=row: decisions.answer(
                        tx, id=row.id, revision=1, payload_hash=row.payload_hash, answer='"no"', operator="eve"
                    )
                )
                assert isinstance(again, Refusal)

    # ----------------------------------------------------------------------------------------------------- always

    @invariant()
    def the_states_moved_as_the_table_says(self) -> None:
        if not hasattr(self, "state"):
            return
        rows = [("turn", moves.TURN, row.id, row.state) for row in turns.of_run(self.first, self.run)]
        rows += [("decision", moves.DECISION, r.id, r.state) for r in decisions.of_run(self.first, self.run)]  # type: ignore[list-item, misc]
        rows += [("queued", moves.QUEUED, r.id, r.state) for r in queued.of_run(self.first, self.run)]  # type: ignore[list-item, misc]
        held = custody.get(self.first, HOLD)
        assert held is not None
        rows.append(("custody", moves.CUSTODY, held.id, held.state))  # type: ignore[arg-type]
        for noun, table, id, state in rows:
            before = self.seen.get((noun, id))
            assert before is None or state in reachable(table, before), f"{noun} {id}: {before} to {state}"
            self.seen[(noun, id)] = state

    @invariant()
    def the_ledger_verifies_and_its_money_is_the_agents(self) -> None:
        if not hasattr(self, "state") or self.ticks == self.verified:
            return  # no transaction since
        self.verified = self.ticks
        assert verify(self.first) is None
        rows = turns.of_run(self.first, self.run)
        assert all(row.cost == 0 for row in rows if row.cost_known is CostKnowledge.MERGED)
        reported = sum(row.cost or 0 for row in rows if row.cost_known is CostKnowledge.REPORTED)
        assert reported == self.state.cumulative == self.state.spent
        assert self.broken or reported == self.told
        page = events.page(self.first, self.run, limit=10_000)
        assert [(row.offset, row.n) for row in page] == self.keys, "each event once, in order"
        assert not [row for row in page if SECRET in row.body], "a known secret is in no event"
        assert not [row for row in rows if SECRET in row.failure_text]

    @invariant()
    def what_is_read_of_a_run_is_the_same_whether_all_of_it_or_what_changed(self) -> None:
        if not hasattr(self, "state") or self.first.conn.in_transaction:
            return  # a console that is killed in a transaction has nothing of it
        whole = read_rows(self.first, self.run)
        self.kept = read_rows(self.first, self.run, getattr(self, "kept", None))
        assert self.kept == whole

    @invariant()
    def the_machine_knows_what_the_ledger_knows(self) -> None:
        if not hasattr(self, "state") or self.over:
            return
        flying = {turn.id for turn in turns.in_flight(self.first, self.run)}
        assert {turn.id for turn in self.state.turns} == flying
        delivered = [t for t in turns.in_flight(self.first, self.run) if t.source is not TurnSource.AGENT]
        assert len(delivered) <= 1
        again = state_of(read_rows(self.first, self.run), self.state.limits, ready=self.state.ready)
        for name in ("turns_used", "spent", "cumulative", "queued", "park_answers"):
            assert getattr(again, name) == getattr(self.state, name), name
        ends = [turn.ended_at for turn in turns.of_run(self.first, self.run) if turn.ended_at]
        if ends and ends.count(max(ends)) == 1:
            assert again.last_result == self.state.last_result
        for turn in delivered:
            assert turn.state in (TurnState.RECORDED, TurnState.WRITTEN, TurnState.ACCEPTED)


def test_the_terms_of_this_test_are_signed_as_they_are() -> None:
    assert terms_.parse(terms_.canonical(TERMS)) == TERMS


@pytest.mark.parametrize("answered", [False, True])
def test_no_line_of_an_agent_takes_back_or_answers_what_the_mailbox_asked(answered: bool) -> None:
    """Even where it names it: the machine counts on an answer that waits for its turn."""
    books = Books()
    books.begin()
    books.ask_park("park")
    (park,) = decisions.of_run(books.first, books.run)
    if answered:
        books.within(
            lambda tx: decisions.answer(
                tx, id=park.id, revision=1, payload_hash=park.payload_hash, answer='"yes"', operator="ada"
            )
        )
        books.decide(machine.ParkAnswered(waiting=1, open=False))
    for line in (base.DecisionWithdrawn(request="park"), base.DecisionResolved(request="park", accepted=False)):
        books.take(books.say(line))
    (park,) = decisions.of_run(books.first, books.run)
    assert park.state is (DecisionState.ANSWERED if answered else DecisionState.OPEN)
    books.the_machine_knows_what_the_ledger_knows()
    books.teardown()


globals().update(parts(Books, "books", into=3, steps=30))
