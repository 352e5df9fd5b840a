"""Weather: stops at every step of a launch, a locked ledger, a lost wire, killed and stopped supervisors, our own bugs.

After each: nothing of the run is alive, its books are closed and verify, whoever asked was answered, and no other hold
felt it.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator import deeds, githelper, orders
from coordinator.api import (
    AnswerDecision,
    Closed,
    Done,
    Finish,
    Interrupt,
    Reply,
    Said,
    Say,
    SessionView,
    Started,
    Stop,
    StopAll,
)
from coordinator.custody.processes import carriers
from coordinator.custody.types import Ladder
from coordinator.drivers.base import Allow
from coordinator.session import HeldSession
from coordinator.steps import Step
from coordinator.terms import TreeKind
from store import custody, events
from store.refusal import Refusal
from store.vocab import (
    EndReason,
    RefusalReason,
    RunId,
    RunOutcome,
    TurnState,
)
from tests.coordinator.held import QUICK, Holding, bash, holding, script
from tests.coordinator.test_parks import PARK, mailbox
from tests.coordinator.weather import SILENT, at, impatient, locked, session_of, settled, working
from tests.waiting import eventually

# ------------------------------------------------------------------------------------------------------ a busy ledger


async def test_a_locked_ledger_kills_nothing_and_loses_nothing(tmp_path: Path) -> None:
    short = replace(QUICK, hold_seconds=0.8, hold_renewal=0.1)
    async with holding(tmp_path, timing=short) as held:
        run = await working(held)
        path = await impatient(held)
        session = session_of(held, run)
        begun = time.monotonic()
        async with locked(path):
            said = asyncio.ensure_future(held.do(Say(run=run, text="later")))
            refused = await held.try_start(SILENT, tree_kind=TreeKind.WORKTREE)
            assert isinstance(refused, Refusal) and refused.reason is RefusalReason.LEDGER_BUSY
            await eventually(lambda: held.coordinator.house.trouble)
            trouble = held.coordinator.snapshot().storage_trouble
            assert trouble is not None and trouble.reason is RefusalReason.LEDGER_BUSY
            # Longer than its keeper waits for a console that says nothing.
            await eventually(lambda: time.monotonic() - begun > 1.5)
            assert not said.done() and carriers(session.nonce), "it waits, and the agent lives"
        assert isinstance(await said, Said)
        await eventually(lambda: not held.coordinator.house.trouble)
        view = await held.until(run, lambda v: len(v.queued) == 1)
        assert view.outcome is None and len(held.coordinator.sessions) == 1
        await held.do(Stop(run=run, kill=True))
        assert (await settled(held, run)).reason == EndReason.KILLED


async def test_a_ledger_locked_in_the_middle_of_a_launch_is_waited_for(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        path = await impatient(held)
        lock = locked(path)
        seen = asyncio.Event()
        with at(Step.SUPERVISOR_STARTED, seen.set):
            starting = asyncio.ensure_future(held.try_start(SILENT))
            await seen.wait()
            async with lock:
                await eventually(lambda: held.coordinator.house.trouble)
        reply = await starting
        assert isinstance(reply, Started)
        await held.do(Stop(run=reply.run, kill=True))
        await settled(held, reply.run)


@pytest.mark.parametrize("command", ["stop", "stop-all"])
async def test_a_locked_ledger_delays_no_stop(tmp_path: Path, command: str) -> None:
    async with holding(tmp_path) as held:
        run = await working(held)
        path = await impatient(held)
        session = session_of(held, run)
        async with locked(path):
            begun = time.monotonic()
            stopping = asyncio.ensure_future(held.do(Stop(run=run) if command == "stop" else StopAll()))
            await eventually(lambda: not carriers(session.nonce))
            assert time.monotonic() - begun < 3.0
            await eventually(lambda: held.coordinator.house.trouble)
            assert not stopping.done(), "its books are not closed yet"
        assert isinstance(await stopping, Done | Closed)
        assert (await settled(held, run)).reason == EndReason.STOPPED
        started = await held.try_start("go " + script({"text": "x"}))
        assert isinstance(started, Started), "a stop of all is over when it is over"


async def test_closing_over_a_locked_ledger_ends_the_agents_and_does_not_hang(tmp_path: Path) -> None:
    async with holding(tmp_path, timing=replace(QUICK, close_deadline=1.5)) as held:
        run = await working(held)
        path = await impatient(held)
        nonce, house = session_of(held, run).nonce, held.coordinator.house
        async with locked(path), asyncio.timeout(8):
            closed = await held.coordinator.close()
            assert closed.unsettled == (run,) and carriers(nonce) == []
            await session_of(held, run).ended.wait()
        assert f"run {run}" in house.notes[0]
    async with holding(tmp_path) as held:
        view = await held.until(run, lambda v: v.outcome is not None)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.SHUTDOWN)
        await settled(held, run)


async def test_many_holds_end_under_one_deadline(tmp_path: Path) -> None:
    ladder = Ladder(farewell=0.5, eof=0.3, term=0.4, total=5.0, not_dying=2.0)
    async with holding(tmp_path, timing=replace(QUICK, ladder=ladder)) as held:
        deaf = {"do": "ignore", "what": ["eof", "term", "hup", "interrupt", "end_session"]}
        made = [
            await held.start("go " + script(deaf, {"do": "silence"}), tree_kind=TreeKind.WORKTREE) for _ in range(4)
        ]
        for run in made:
            await held.until(run, lambda v: v.turns and v.turns[0].state is TurnState.ACCEPTED)
        begun = time.monotonic()
        assert (await held.coordinator.close()).unsettled == ()
        took = time.monotonic() - begun
        alone = ladder.farewell + ladder.eof + ladder.term
        assert took < alone * 3, f"four side by side took {took:.1f} s"
        for run in made:
            assert (await settled(held, run)).reason == EndReason.SHUTDOWN


# ------------------------------------------------------------------------------------------- wires and supervisors


def cut(session: HeldSession) -> None:
    assert session.supervisor is not None
    session.supervisor._connection.drop("a test")


async def once(held: Holding, run: RunId) -> None:
    rows = await held.coordinator.house.ledger.read(lambda tx: events.page(tx, run, limit=10_000))
    assert len({(row.offset, row.n) for row in rows}) == len(rows)
    assert [row.kind for row in rows].count("result") == len(session_of(held, run).rows.turns)


@pytest.mark.parametrize("step", [Step.TURN_BEFORE_WRITE, Step.TURN_RECORDED, Step.TURN_ACCEPTED, Step.TURN_SETTLED])
async def test_a_lost_wire_loses_no_turn(tmp_path: Path, step: Step) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"text": "one"}))
        await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        with at(step, lambda: cut(session_of(held, run))):
            assert isinstance(await held.do(Say(run=run, text="two " + script({"text": "two"}))), Said)
            await held.until(run, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED)
        assert isinstance(await held.do(Say(run=run, text="three " + script({"text": "three"}))), Said)
        await held.until(run, lambda v: len(v.turns) == 3 and v.turns[2].state is TurnState.SETTLED)
        await once(held, run)
        assert isinstance(await held.do(Finish(run=run)), Done)
        assert (await settled(held, run)).outcome is RunOutcome.FINISHED


async def test_a_wire_lost_again_and_again_keeps_the_hold_until_it_is_stopped(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await working(held)
        session = session_of(held, run)
        for n in range(1, 3):
            cut(session)
            await eventually(lambda n=n: session.reattached == n and not session.supervisor.lost)  # type: ignore[misc, union-attr]
        assert isinstance(await held.do(Stop(run=run)), Done)
        assert (await settled(held, run)).reason == EndReason.STOPPED


async def test_an_answer_whose_wire_is_lost_arrives_once(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script(bash("echo ran >> ran.txt"), {"text": "done"}))
        view = await held.until(run, lambda v: v.decisions)
        one = view.decisions[0]
        wrong = AnswerDecision(run=run, decision=one.id, revision=1, payload_hash="another", answer=Allow())
        stale = await held.do(wrong)
        assert isinstance(stale, Refusal) and stale.reason is RefusalReason.STALE
        with at(Step.CONTROL_BEFORE_WRITE, lambda: cut(session_of(held, run))):
            assert isinstance(await held.do(replace(wrong, payload_hash=one.payload_hash)), Done)
            await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert (held.tree / "ran.txt").read_text() == "ran\n"


@pytest.mark.parametrize("victim", ["worker", "keeper"])
async def test_a_killed_supervisor_ends_the_run_and_nothing_lives(tmp_path: Path, victim: str) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script(bash("sleep 300 & (setsid sleep 301 &) ; sleep 302"), {"text": "x"}))
        one = (await held.until(run, lambda v: v.decisions)).decisions[0]
        await held.do(
            AnswerDecision(run=run, decision=one.id, revision=1, payload_hash=one.payload_hash, answer=Allow())
        )
        session = session_of(held, run)
        await eventually(lambda: len(carriers(session.nonce)) >= 4)
        row = await held.coordinator.house.ledger.read(lambda tx: custody.of_run(tx, run))
        assert row is not None and row.supervisor_pid and row.keeper_pid
        os.kill(row.supervisor_pid if victim == "worker" else row.keeper_pid, signal.SIGKILL)
        ended = await settled(held, run)
        assert (ended.outcome, ended.reason) == (RunOutcome.INTERRUPTED, EndReason.SUPERVISOR_LOST)


async def test_a_supervisor_that_hears_nothing_is_ended_all_the_same(tmp_path: Path) -> None:
    patient = replace(QUICK, ladder=Ladder(farewell=0.3, eof=0.2, term=0.2, total=1.0, not_dying=1.0), command=0.5)
    async with holding(tmp_path, timing=patient) as held:
        run = await working(held)
        row = await held.coordinator.house.ledger.read(lambda tx: custody.of_run(tx, run))
        assert row is not None and row.supervisor_pid
        os.kill(row.supervisor_pid, signal.SIGSTOP)
        async with asyncio.timeout(15):
            assert isinstance(await held.do(Stop(run=run)), Done)
        assert (await settled(held, run)).reason == EndReason.STOPPED


# ----------------------------------------------------------------------------------------------------- bugs of our own


async def test_a_bug_in_one_actor_ends_that_hold_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with holding(tmp_path) as held:
        first = await working(held)
        second = await working(held, tree_kind=TreeKind.WORKTREE)
        whole = orders._say

        async def broken(session: HeldSession, command: Say, operator: str) -> Reply:
            if session.run_id == first:
                raise ZeroDivisionError("a bug")
            return await whole(session, command, operator)

        monkeypatch.setattr(orders, "_say", broken)
        async with asyncio.timeout(15):
            reply = await held.do(Say(run=first, text="x"))
        assert isinstance(reply, Refusal), "whoever asked is answered"
        assert (await settled(held, first)).reason == EndReason.PROTOCOL_ERROR
        assert isinstance(await held.do(Say(run=second, text="x")), Said)
        view = held.view(second)
        assert view is not None and view.outcome is None and carriers(session_of(held, second).nonce)
        await held.do(Stop(run=second, kill=True))


@pytest.mark.parametrize("place", ["tree", "folder", "task"])
async def test_a_bug_while_it_starts_or_beside_it_closes_the_books(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    async with holding(tmp_path) as held:

        async def broken(*_: object, **__: object) -> object:
            raise OSError(28, "No space left on device")

        if place == "tree":
            monkeypatch.setattr(githelper, "find_repository", _after(githelper.find_repository, broken))
        elif place == "folder":
            held.coordinator.house.settings.spool.parent.joinpath("spool").write_text("not a folder")
        else:
            monkeypatch.setattr(deeds, "look_at_changes", broken)
        async with asyncio.timeout(15):
            reply = await held.try_start("go " + script({"text": "x"}))
        assert isinstance(reply, Started if place == "task" else Refusal)
        (run,) = held.coordinator.sessions
        row = await settled(held, run)
        ends = {"tree": RunOutcome.REFUSED, "folder": RunOutcome.FAILED, "task": RunOutcome.INTERRUPTED}
        assert row.outcome is ends[place]


def _after(whole: Callable[..., object], broken: Callable[..., object]) -> Callable[..., object]:
    """The first call, which proposes, goes well; the second does not."""
    calls = [whole]
    return lambda *args: (calls.pop() if calls else broken)(*args)


async def test_words_that_are_no_text_end_nothing(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await working(held)
        said = await held.do(Say(run=run, text="caf\udce9"))
        assert isinstance(said, Said)
        view = await held.until(run, lambda v: len(v.queued) == 1)
        assert view.outcome is None and view.queued[0].text.startswith("caf")
        await held.do(Stop(run=run, kill=True))
        await settled(held, run)


async def test_finish_over_an_open_park_asks_again_and_then_ends(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script(mailbox(1, decision=PARK), {"text": "I wait"}))
        await held.until(run, lambda v: v.decisions)
        nothing = await held.do(Interrupt(run=run, turn=None))
        assert isinstance(nothing, Refusal) and nothing.reason is RefusalReason.NOTHING_TO_INTERRUPT
        first = await held.do(Finish(run=run))
        assert isinstance(first, Refusal) and first.reason is RefusalReason.DECISION_OPEN
        assert isinstance(await held.do(Finish(run=run)), Done)
        row = await settled(held, run)
        assert row.outcome is RunOutcome.FINISHED
        view: SessionView = await held.until(run, lambda v: v.outcome is not None)
        assert view.decisions[0].state == "open", "a park outlives its hold"
