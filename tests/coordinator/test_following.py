"""What a living console shows of what it did not do itself: runs of another console, one that was taken over, one that
another process settled."""

import asyncio
from dataclasses import replace
from pathlib import Path

from coordinator import closing, stuck
from coordinator.api import Finish, Said, Say
from coordinator.custody import spoolfile
from coordinator.custody.client import fence_by_socket
from coordinator.custody.processes import carriers
from coordinator.machine import AttendanceChanged
from store.db import write_ledger
from store.refusal import Refusal
from store.runs import Run
from store.verify import verify
from store.vocab import CustodyState, EndReason, RunId, RunOutcome, TurnState
from tests.coordinator.held import QUICK, holding, script
from tests.coordinator.test_adopt import Killed
from tests.coordinator.weather import working
from tests.waiting import eventually

HELLO = "go " + script({"text": "hello"})


async def test_runs_of_another_console_come_into_view_and_go_on_there(tmp_path: Path) -> None:
    async with holding(tmp_path) as held, holding(tmp_path) as other:
        run = await other.start(HELLO)
        view = await held.until(run, lambda v: v.turns and v.turns[0].state is TurnState.SETTLED)
        assert view.owner == "the console of Ada" and view.outcome is None
        assert isinstance(await other.do(Say(run=run, text="on " + script({"text": "two"}))), Said)
        await held.until(run, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED)
        await other.do(Finish(run=run))
        view = await held.until(run, lambda v: v.outcome is not None and v.receipt is not None)
        assert view.outcome is RunOutcome.FINISHED and not view.owner


async def test_a_hold_that_was_taken_over_is_shown_as_its_new_consoles(tmp_path: Path) -> None:
    first = Killed(tmp_path, "go " + script({"do": "silence"}))
    seen = await asyncio.to_thread(first.until, lambda told: told["turns"] == ["accepted"])
    first.kill()
    run = RunId(seen["run"])
    async with holding(tmp_path) as second:
        assert second.coordinator.swept.picked_up == (run,)
        async with holding(tmp_path) as third:
            view = await third.until(run, lambda v: v.turns)
            assert view.owner == "the console of Ada", "not of the one that is gone"


async def test_a_poke_is_enough(tmp_path: Path) -> None:
    slow = replace(QUICK, command_poll=3600.0)
    async with holding(tmp_path, timing=slow) as held, holding(tmp_path) as other:
        run = await other.start(HELLO)
        assert held.view(run) is None
        held.coordinator.follower.poked.set()
        await held.until(run, lambda v: v.turns)


async def test_what_another_process_settled_is_no_longer_shown_as_ending(tmp_path: Path) -> None:
    """The console's own hold, whose end it could not prove: a person settles it from another process."""
    async with holding(tmp_path) as held:
        run = await working(held)
        session = held.coordinator.sessions[run]
        await closing.unprovable(session, "a test says so")
        session.inbox.command(AttendanceChanged(paused=False))  # its actor looks up, and leaves
        await session.ended.wait()
        await held.until(run, lambda v: v.custody is CustodyState.FENCING)
        assert session.supervisor is not None
        await session.supervisor.detach()
        assert await fence_by_socket(session.folder, session.cookie, EndReason.ORPHANED)
        await eventually(lambda: not spoolfile.spool_is_locked(session.folder), 30)
        spool = held.coordinator.house.settings.spool

        def settle() -> Run | Refusal:
            with write_ledger(tmp_path / "ledger.db", now=held.coordinator.house.clock.now) as tx:
                found = stuck.look(tx, spool, run, lambda _: False)
                assert isinstance(found, stuck.Stuck), found
                return stuck.settle(tx, found, spool=spool, operator="Ada")

        assert not isinstance(await asyncio.to_thread(settle), Refusal)
        view = await held.until(run, lambda v: v.custody is CustodyState.CLOSED)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.ORPHANED)
        assert view.receipt is not None and view.ending is None
        assert carriers(session.nonce) == [] and await held.coordinator.house.ledger.read(verify) is None
