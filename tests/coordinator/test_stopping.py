"""Stops, closings and lost callers at every step of a launch and of an end: nothing lives on, the books are closed."""

import asyncio
import contextlib
import inspect
from pathlib import Path

import pytest

from coordinator import deeds
from coordinator.api import (
    Closed,
    Done,
    OperatorCommand,
    Reply,
    Said,
    Say,
    Started,
    Stop,
    StopAll,
)
from coordinator.steps import Step
from store import custody, queued, stops
from store.db import Tx
from store.refusal import Refusal
from store.vocab import (
    EndReason,
    RefusalReason,
    StopResult,
    TurnState,
)
from tests.coordinator.held import holding, script
from tests.coordinator.weather import SILENT, at, session_of, settled, working
from tests.waiting import eventually

LAUNCH = [
    Step.ADMITTED,
    Step.TREE_PREPARED,
    Step.PROVEN,
    Step.SUPERVISOR_STARTED,
    Step.SUPERVISOR_STAMPED,
    Step.AGENT_STARTED,
    Step.AGENT_STAMPED,
    Step.BEFORE_HANDSHAKE,
    Step.HANDSHAKE_SENT,
    Step.AGENT_READY,
    Step.BEFORE_FIRST_BYTE,
    Step.LIVE,
]
NO_PROCESS = (Step.ADMITTED, Step.TREE_PREPARED, Step.PROVEN)


@pytest.mark.parametrize("step", LAUNCH)
async def test_a_stop_at_any_step_of_a_launch_leaves_nothing(tmp_path: Path, step: Step) -> None:
    async with holding(tmp_path) as held:
        asked: list[asyncio.Task[Reply]] = []

        def stop() -> None:
            known = list(held.coordinator.sessions)
            command: OperatorCommand = Stop(run=known[0]) if known else StopAll()
            asked.append(asyncio.ensure_future(held.do(command)))

        with at(step, stop):
            async with asyncio.timeout(20):
                reply = await held.try_start(SILENT)
                stopped = await (await eventually(lambda: asked))[0]
        assert isinstance(stopped, Done | Closed | Refusal), stopped
        (run,) = held.coordinator.sessions
        row = await settled(held, run)
        assert row.reason == EndReason.STOPPED
        if isinstance(reply, Refusal):
            assert reply.reason is RefusalReason.STOPPED, reply
        else:
            assert isinstance(reply, Started) and step in (Step.BEFORE_FIRST_BYTE, Step.LIVE)
        session = session_of(held, run)
        if step in NO_PROCESS:
            assert session.supervisor is None and not (session.folder / "spool").exists(), "no process was started"
        else:
            assert session.live.receipt is not None and not session.live.receipt.remaining
        if step is not Step.ADMITTED:
            noted = await held.coordinator.house.ledger.read(lambda tx: stops.of_run(tx, run))
            assert [(one.reason, one.operator) for one in noted] == [("stopped", "Ada")]
            assert noted[0].result is not None and (noted[0].result is StopResult.NEVER_STARTED) == (step in NO_PROCESS)
        assert not await held.coordinator.house.ledger.read(custody.not_closed), "the tree is free"


@pytest.mark.parametrize("step", [Step.ADMITTED, Step.PROVEN, Step.AGENT_STAMPED])
async def test_closing_at_any_step_of_a_launch_lets_nothing_through(tmp_path: Path, step: Step) -> None:
    async with holding(tmp_path) as held:
        closing: list[asyncio.Task[Closed]] = []
        with at(step, lambda: closing.append(asyncio.ensure_future(held.coordinator.close()))):
            async with asyncio.timeout(20):
                reply = await held.try_start(SILENT)
                assert (await closing[0]).unsettled == ()
        assert isinstance(reply, Refusal)
        assert reply.reason in (RefusalReason.SHUTTING_DOWN, RefusalReason.STOPPED), reply
        for run in held.coordinator.sessions:
            await settled(held, run)
        late = await held.try_start(SILENT)
        assert isinstance(late, Refusal) and late.reason is RefusalReason.SHUTTING_DOWN


async def test_a_caller_that_goes_away_ends_nothing_and_leaves_nobody_waiting(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        seen = asyncio.Event()
        with at(Step.SUPERVISOR_STARTED, seen.set):
            starting = asyncio.ensure_future(held.try_start(SILENT))
            await seen.wait()
            starting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await starting
        (run,) = held.coordinator.sessions
        await held.until(run, lambda v: v.turns and v.turns[0].state is TurnState.ACCEPTED)
        saying = asyncio.ensure_future(held.do(Say(run=run, text="more")))
        await asyncio.wait([saying], timeout=0)
        saying.cancel()
        stopping = asyncio.ensure_future(held.do(Stop(run=run)))
        await eventually(lambda: session_of(held, run).stop_reason)
        stopping.cancel()
        assert (await settled(held, run)).reason == EndReason.STOPPED


async def test_what_is_said_while_it_ends_is_answered(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await working(held)
        said = [asyncio.ensure_future(held.do(Say(run=run, text=f"{n}"))) for n in range(5)]
        stop = asyncio.ensure_future(held.do(Stop(run=run, kill=True)))
        said += [asyncio.ensure_future(held.do(Say(run=run, text=f"{n}"))) for n in range(5, 15)]
        session = session_of(held, run)
        await eventually(lambda: session.gone is not None)
        said += [asyncio.ensure_future(held.do(Say(run=run, text=f"late {n}"))) for n in range(3)]
        async with asyncio.timeout(15):
            replies = await asyncio.gather(*said)
            assert isinstance(await stop, Done)
        refused = {one.reason for one in replies if isinstance(one, Refusal)}
        assert refused <= {RefusalReason.FENCING, RefusalReason.ALREADY_ENDED} and refused
        kept = [one for one in replies if isinstance(one, Said)]
        rows = await held.coordinator.house.ledger.read(lambda tx: queued.of_run(tx, run))
        assert len(rows) == len(kept) and {row.state for row in rows} <= {"unsent"}
        await settled(held, run)


async def test_a_stop_is_booked_though_its_actor_is_busy_and_never_after_the_end(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start(script({"text": "word\n" * 2_000, "chunks": 2_000, "slow": 0.005}))
        await held.until(run, lambda v: v.turns and v.turns[0].state is TurnState.ACCEPTED)
        session = session_of(held, run)
        async with session.house.work:  # nobody's turn comes to take in what an agent printed, this one's neither
            await eventually(lambda: session.inbox._records)
            asked = asyncio.ensure_future(held.do(Stop(run=run)))

            def reason(tx: Tx) -> str | None:
                row = custody.get(tx, session.custody_id)
                return row.fence_reason if row is not None else None

            async with asyncio.timeout(10):
                booked = None
                while booked is None:
                    booked = await session.house.ledger.read(reason)
            assert booked == EndReason.STOPPED
        assert isinstance(await asked, Done)
        # What a ledger that was busy let through too late changes nothing.
        before = await session.house.ledger.read(lambda tx: stops.of_run(tx, session.run_id))
        await deeds.book_end(session, EndReason.STOPPED)
        assert await session.house.ledger.read(lambda tx: stops.of_run(tx, session.run_id)) == before
        assert len(before) == 1


async def test_nothing_begins_in_a_session_that_only_waits_for_its_last_task(tmp_path: Path) -> None:
    """An order may come in any moment between the end of its work and the word that it has ended."""
    begun, letting_go, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stays() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            letting_go.set()
            await over.wait()

    async def late() -> None:
        raise AssertionError("it began")

    async with holding(tmp_path) as held:
        run = await working(held)
        session = session_of(held, run)
        session.spawn(stays(), "stays")
        await begun.wait()
        stop = asyncio.ensure_future(held.do(Stop(run=run, kill=True)))
        async with asyncio.timeout(20):
            await letting_go.wait()
            work = late()
            session.spawn(work, "late")
            assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED, "put away, not left lying"
            assert not session.ended.is_set()
            over.set()
            await session.ended.wait()
            assert isinstance(await stop, Done)
        session.spawn(late(), "later still")
        await settled(held, run)
