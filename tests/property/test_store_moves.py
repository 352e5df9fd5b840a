"""Any sequence of calls on turns, decisions, holds and the line, against a model that knows only ``store.moves``.

Each call is tried in any state, some in a transaction that is then refused. A call may succeed only where the table
has the move; what it changed must be what the model says; and at the end the entries must make exactly the rows.
"""

from collections.abc import Callable, Mapping

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from store import custody, decisions, moves, queued, turns
from store.refusal import Refusal
from store.tx import Tx
from store.verify import verify
from store.vocab import (
    CustodyId,
    CustodyState,
    DecisionId,
    DecisionKind,
    DecisionState,
    MicroUsd,
    Millis,
    QueuedTurnState,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)
from tests.property.parts import parts
from tests.store.scenes import INCARNATION, admitted, in_memory

TURN_CALLS: Mapping[TurnState, Callable[[Tx, TurnId], object]] = {
    TurnState.WRITTEN: lambda tx, id: turns.written(tx, id=id),
    TurnState.ACCEPTED: lambda tx, id: turns.accepted(tx, id=id),
    TurnState.SETTLED: lambda tx, id: turns.settle(tx, id=id, result=TurnResultKind.SUCCESS, cost=MicroUsd(1)),
    TurnState.CANCELLED: lambda tx, id: turns.cancel(tx, id=id),
    TurnState.UNCERTAIN: lambda tx, id: turns.uncertain(tx, id=id),
}
DECISION_CALLS: Mapping[DecisionState, Callable[[Tx, DecisionId], object]] = {
    DecisionState.DELIVERING: lambda tx, id: decisions.deliver(tx, id=id, write_id="w"),
    DecisionState.DELIVERED: lambda tx, id: decisions.delivered(tx, id=id),
    DecisionState.UNCERTAIN: lambda tx, id: decisions.uncertain(tx, id=id),
    DecisionState.WITHDRAWN: lambda tx, id: decisions.withdraw(tx, id=id, note="gone"),
    DecisionState.REFUSED_BY_AGENT: lambda tx, id: decisions.refused_by_agent(tx, id=id, note="no"),
    DecisionState.DISMISSED: lambda tx, id: decisions.dismiss(tx, id=id, operator="ada"),
}
QUEUED_CALLS: Mapping[QueuedTurnState, Callable[[Tx, int], object]] = {
    QueuedTurnState.WITHDRAWN: lambda tx, id: queued.withdraw(tx, id=id),
    QueuedTurnState.RECORDED: lambda tx, id: queued.recorded(tx, id=id, turn=TurnId("t0")),
}
FLYING = {TurnState.RECORDED, TurnState.WRITTEN, TurnState.ACCEPTED}
KEPT = st.booleans().map(lambda refused: not refused) | st.just(True)


class Moves(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.scene = in_memory()
        self.first = self.scene.__enter__()
        self.tick = 0
        self.run = admitted(self.first).id
        self.turns: dict[TurnId, TurnState] = {}
        self.own: set[TurnId] = set()
        self.decisions: dict[DecisionId, DecisionState] = {}
        self.kinds: dict[DecisionId, DecisionKind] = {}
        self.queued: dict[int, QueuedTurnState] = {}
        self.custody: dict[CustodyId, CustodyState] = {}
        self.say(TurnSource.BRIEF)

    def teardown(self) -> None:
        if hasattr(self, "scene"):
            assert verify(self.first) is None
            self.scene.__exit__(None, None, None)

    def within(self, body: Callable[[Tx], object], *, keep: bool = True) -> object:
        """As ``Ledger.transaction``: with ``keep`` false the body's caller refuses in the end."""
        self.tick += 1
        tx = Tx(self.first.conn, Millis(self.first.now + self.tick))
        tx.conn.execute("BEGIN IMMEDIATE")
        done = body(tx)
        tx.conn.execute("COMMIT" if keep and not isinstance(done, Refusal) else "ROLLBACK")
        return done

    @rule(source=st.sampled_from([TurnSource.OPERATOR, TurnSource.ANSWER, TurnSource.AGENT]))
    def say(self, source: TurnSource) -> None:
        id = TurnId(f"t{len(self.turns)}")
        own = source is TurnSource.AGENT
        state = TurnState.ACCEPTED if own else TurnState.RECORDED
        done = self.within(
            lambda tx: turns.record(
                tx, id=id, run=self.run, source=source, generation=1, text="go on", preamble="", bytes=5,
                digest="d", operator="ada", state=state,
            )
        )  # fmt: skip
        busy = any(flying in FLYING and turn not in self.own for turn, flying in self.turns.items())
        assert isinstance(done, Refusal) == (busy and not own)
        if not isinstance(done, Refusal):
            self.turns[id] = state
            if own:
                self.own.add(id)

    @rule(data=st.data(), to=st.sampled_from(sorted(TURN_CALLS)), keep=KEPT)
    def move_turn(self, data: st.DataObject, to: TurnState, keep: bool) -> None:
        id = data.draw(st.sampled_from(sorted(self.turns)))
        done = self.within(lambda tx: TURN_CALLS[to](tx, id), keep=keep)
        allowed = to in moves.TURN[self.turns[id]]
        assert (done is not None) == allowed
        if allowed and keep:
            self.turns[id] = to

    @rule(kind=st.sampled_from(DecisionKind))
    def ask(self, kind: DecisionKind) -> None:
        number = len(self.decisions)
        done = self.within(
            lambda tx: decisions.ask(
                tx, run=self.run, turn=TurnId("t0"), kind=kind, request=f"r{number}", generation=1,
                payload=f"{number}", title="", subject="",
            )
        )  # fmt: skip
        assert isinstance(done, decisions.Decision)
        self.decisions[done.id] = DecisionState.OPEN
        self.kinds[done.id] = kind

    @precondition(lambda self: self.decisions)
    @rule(data=st.data(), right=st.booleans() | st.just(True), keep=KEPT)
    def answer(self, data: st.DataObject, right: bool, keep: bool) -> None:
        id = data.draw(st.sampled_from(sorted(self.decisions)))
        shown = decisions.get(self.first, id)
        assert shown is not None
        seen = shown.payload_hash if right else "another"
        done = self.within(
            lambda tx: decisions.answer(tx, id=id, revision=1, payload_hash=seen, answer='"yes"', operator="ada"),
            keep=keep,
        )
        allowed = right and self.decisions[id] is DecisionState.OPEN
        assert isinstance(done, Refusal) == (not allowed)
        if allowed and keep:
            self.decisions[id] = DecisionState.ANSWERED

    @precondition(lambda self: self.decisions)
    @rule(data=st.data(), to=st.sampled_from(sorted(DECISION_CALLS)), keep=KEPT)
    def move_decision(self, data: st.DataObject, to: DecisionState, keep: bool) -> None:
        id = data.draw(st.sampled_from(sorted(self.decisions)))
        done = self.within(lambda tx: DECISION_CALLS[to](tx, id), keep=keep)
        allowed = to in moves.DECISION[self.decisions[id]]
        assert (done is not None) == allowed
        if allowed and keep:
            self.decisions[id] = to

    @precondition(lambda self: self.decisions)
    @rule(data=st.data(), keep=KEPT)
    def take_back(self, data: st.DataObject, keep: bool) -> None:
        id = data.draw(st.sampled_from(sorted(self.decisions)))
        done = self.within(lambda tx: decisions.undeliver(tx, id=id), keep=keep)
        allowed = self.decisions[id] is DecisionState.DELIVERING
        assert (done is not None) == allowed
        if allowed and keep:
            self.decisions[id] = DecisionState.ANSWERED

    @rule()
    def end_of_hold(self) -> None:
        moved = self.within(lambda tx: decisions.end_of_hold(tx, self.run))
        assert isinstance(moved, list)
        for row in moved:
            assert row.state in moves.DECISION[self.decisions[row.id]]
            self.decisions[row.id] = row.state
        for id, state in self.decisions.items():
            assert state not in (DecisionState.ANSWERED, DecisionState.DELIVERING)
            assert state is not DecisionState.OPEN or self.kinds[id] is DecisionKind.PARK

    @rule()
    def wait_in_line(self) -> None:
        row = self.within(lambda tx: queued.add(tx, run=self.run, text="later", operator="ada"))
        assert isinstance(row, queued.QueuedTurn)
        self.queued[row.id] = QueuedTurnState.WAITING

    @precondition(lambda self: self.queued)
    @rule(data=st.data(), to=st.sampled_from(sorted(QUEUED_CALLS)), keep=KEPT)
    def move_queued(self, data: st.DataObject, to: QueuedTurnState, keep: bool) -> None:
        id = data.draw(st.sampled_from(sorted(self.queued)))
        done = self.within(lambda tx: QUEUED_CALLS[to](tx, id), keep=keep)
        allowed = to in moves.QUEUED[self.queued[id]]
        assert (done is not None) == allowed
        if allowed and keep:
            self.queued[id] = to

    @rule()
    def propose(self) -> None:
        id = CustodyId(f"hold-{len(self.custody)}")
        done = self.within(
            lambda tx: custody.propose(
                tx, id=id, run=self.run, incarnation=INCARNATION, tree="/tree", in_place=True, nonce="n"
            )
        )
        free = all(state is CustodyState.CLOSED for state in self.custody.values())
        assert isinstance(done, Refusal) == (not free)
        if free:
            self.custody[id] = CustodyState.PROPOSED

    @precondition(lambda self: self.custody)
    @rule(
        data=st.data(),
        to=st.sampled_from([state for state in CustodyState if state is not CustodyState.FENCING]),
        keep=KEPT,
    )
    def move_custody(self, data: st.DataObject, to: CustodyState, keep: bool) -> None:
        id = data.draw(st.sampled_from(sorted(self.custody)))
        expect = frozenset(state for state, targets in moves.CUSTODY.items() if to in targets)
        done = self.within(lambda tx: custody.move(tx, id=id, expect=expect, to=to), keep=keep)
        allowed = self.custody[id] in expect
        assert (done is not None) == allowed
        if allowed and keep:
            self.custody[id] = to

    @precondition(lambda self: self.custody)
    @rule(data=st.data(), reason=st.sampled_from(["stopped", "lapsed"]))
    def fence(self, data: st.DataObject, reason: str) -> None:
        id = data.draw(st.sampled_from(sorted(self.custody)))
        before = custody.get(self.first, id)
        assert before is not None
        done = self.within(lambda tx: custody.fence(tx, id=id, reason=reason))
        if self.custody[id] is CustodyState.CLOSED:
            assert done is None
        else:
            assert isinstance(done, custody.Custody)
            assert done.fence_reason == (before.fence_reason or reason)
            self.custody[id] = CustodyState.FENCING

    @invariant()
    def the_ledger_is_as_the_model_says(self) -> None:
        if not hasattr(self, "turns"):
            return
        tx = self.first
        assert {row.id: row.state for row in turns.of_run(tx, self.run)} == self.turns
        assert {row.id: row.state for row in decisions.of_run(tx, self.run)} == self.decisions
        assert {row.id: row.state for row in queued.of_run(tx, self.run)} == self.queued
        for id, state in self.custody.items():
            row = custody.get(tx, id)
            assert row is not None
            assert row.state is state
        flying = [row for row in turns.in_flight(tx, self.run) if row.source is not TurnSource.AGENT]
        assert len(flying) <= 1


globals().update(parts(Moves, "moves", into=2, steps=40))


def test_no_terminal_state_has_a_move_and_every_other_one_has_an_exit() -> None:
    for table in (
        moves.TURN,
        moves.QUEUED,
        moves.CUSTODY,
        moves.AUTHORIZATION,
        moves.DECISION,
        moves.STOP,
        moves.COMMAND,
    ):
        kind = type(next(iter(table)))
        assert set(table) == set(kind), "every state stands in the table"
        for targets in table.values():
            assert targets <= set(kind)
    live = {
        CustodyState.PROPOSED,
        CustodyState.OPEN,
        CustodyState.RESTARTING,
        CustodyState.CONCLUDING,
    }
    for state in live:
        assert CustodyState.FENCING in moves.CUSTODY[state], "an exit that the operator can force"
    assert moves.CUSTODY[CustodyState.CLOSED] == frozenset()
    assert moves.TURN[TurnState.UNCERTAIN] == frozenset()
