"""Nothing runs past what was agreed: not its hour, and not the word of who takes it back, with a console or without.

The agents are real and in the middle of a turn; time is the test's.
"""

import asyncio
from pathlib import Path

import pytest

from coordinator.api import Done, Revoke, Say
from store import authorizations, runs
from store.db import write_ledger
from store.refusal import Refusal
from store.vocab import AuthorizationId, EndReason, Millis, RefusalReason, RunId, RunOutcome
from tests.coordinator.held import holding
from tests.coordinator.test_adopt import Killed
from tests.coordinator.test_worklimit import MINUTE, PATIENT, Moved
from tests.coordinator.weather import SILENT, settled, working


async def test_its_hour_comes_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    clock = Moved()
    async with holding(tmp_path, timing=PATIENT, clock=clock) as held:
        run = await working(held, expires_at=Millis(clock.now() + 60 * MINUTE))
        clock.minutes(59)
        await held.do(Say(run=run, text="later"))
        view = await held.until(run, lambda v: v.queued)
        assert view.outcome is None and view.ending is None
        clock.minutes(2)
        view = await held.until(run, lambda v: v.outcome is not None)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.EXPIRED)
        assert len(view.turns) == 1, "what waited in line was not delivered"
        await settled(held, run)


async def test_what_was_agreed_to_is_taken_back(tmp_path: Path) -> None:
    async with holding(tmp_path, timing=PATIENT) as held:
        run = await working(held)
        await held.do(Say(run=run, text="later"))
        assert isinstance(await held.do(Revoke(run=run)), Done)
        view = await held.until(run, lambda v: v.outcome is not None)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.REVOKED)
        assert len(view.turns) == 1, "what waited in line was not delivered"
        refused = await held.do(Say(run=run, text="once more"))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.ALREADY_ENDED
        await settled(held, run)


@pytest.mark.parametrize("reason", [EndReason.EXPIRED, EndReason.REVOKED])
async def test_the_console_that_comes_later_carries_on_with_nothing_that_is_over(
    tmp_path: Path, reason: EndReason
) -> None:
    first = Killed(tmp_path, SILENT)
    seen = await asyncio.to_thread(first.until, lambda told: told["turns"] == ["accepted"])
    first.kill()
    run, clock = RunId(seen["run"]), Moved()
    if reason is EndReason.EXPIRED:
        clock.minutes(9 * 60)
    else:
        await asyncio.to_thread(taken_back, tmp_path, run, clock)
    async with holding(tmp_path, timing=PATIENT, clock=clock) as held:
        view = await held.until(run, lambda v: v.outcome is not None)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, reason)
        await settled(held, run)


def taken_back(folder: Path, run: RunId, clock: Moved) -> None:
    """By another process, while no console is there."""
    with write_ledger(folder / "ledger.db", now=clock.now) as tx:
        row = runs.get(tx, run)
        assert row is not None
        assert authorizations.close(tx, id=AuthorizationId(row.authorization_id), reason="revoked") is not None
