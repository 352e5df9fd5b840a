"""What a living console shows of what it did not do itself: runs of another console, one that was taken over, one that
another process settled."""

import asyncio
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator import closing, snapshots, stuck
from coordinator.api import Finish, LookAtRepository, RepositoryView, Said, Say
from coordinator.custody import spoolfile
from coordinator.custody.client import fence_by_socket
from coordinator.custody.processes import carriers
from coordinator.machine import AttendanceChanged
from store import pruning
from store.db import write_ledger
from store.refusal import Refusal
from store.runs import Run
from store.verify import verify
from store.vocab import CustodyState, EndReason, Millis, RefusalReason, RunId, RunOutcome, TurnState
from tests.coordinator.held import QUICK, holding, repository, script
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


async def test_what_another_process_pruned_is_gone_from_the_list(tmp_path: Path) -> None:
    """Also where it was held here: its rows, and what was drawn of them, are kept from one look to the next."""
    async with holding(tmp_path) as held:
        runs = []
        for _ in range(2):
            runs.append(await held.start(HELLO))
            await held.settled(runs[-1])
            await held.do(Finish(run=runs[-1]))
            await held.until(runs[-1], lambda v: v.outcome is not None and v.receipt is not None)
        pruned, stays = runs
        now = held.coordinator.house.clock.now

        def prune() -> object:
            with write_ledger(tmp_path / "ledger.db", now=now) as tx:
                return pruning.prune(tx, pruned, operator="Ada", month_began=Millis(now() + 1))

        assert isinstance(await asyncio.to_thread(prune), pruning.Tombstone)
        await eventually(lambda: held.view(pruned) is None)
        assert held.view(stays) is not None


@pytest.mark.parametrize("asked", [False, True])
async def test_where_none_could_start_one_can_after_the_first_commit(tmp_path: Path, asked: bool) -> None:
    """Noticed by who comes by each second, without being asked; and at once by who asks."""
    tree = tmp_path / "tree"
    tree.mkdir()
    slow = replace(QUICK, command_poll=3600.0)
    async with holding(tmp_path, timing=slow if asked else QUICK) as held:

        def problem() -> RefusalReason | None:
            seen = held.coordinator.snapshot().repository
            return None if seen is None or seen.problem is None else seen.problem.reason

        await eventually(lambda: problem() is RefusalReason.NOT_A_REPOSITORY)
        for arguments, then in (
            (("git", "init", "-q", "-b", "main"), RefusalReason.NO_COMMIT),
            (None, None),
        ):
            if arguments is None:
                await asyncio.to_thread(repository, tree)
            else:
                await asyncio.to_thread(subprocess.run, arguments, cwd=tree, check=True)
            if asked:
                seen = await held.do(LookAtRepository())
                assert isinstance(seen, RepositoryView)
                assert (seen.problem.reason if seen.problem else None) is then
            await eventually(lambda then=then: problem() is then)
        seen = held.coordinator.snapshot().repository
        assert seen is not None and seen.branch == "main" and seen.head


async def test_where_nothing_moves_git_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tree").mkdir()
    looks: list[Path] = []
    look = snapshots.repository_view

    async def counted(path: Path) -> RepositoryView:
        looks.append(path)
        return await look(path)

    monkeypatch.setattr(snapshots, "repository_view", counted)
    async with holding(tmp_path) as held:
        polls: list[int] = []
        none = held.coordinator.snapshots.look_where_none_can_start

        async def polled() -> None:
            await none()
            polls.append(len(looks))

        monkeypatch.setattr(held.coordinator.snapshots, "look_where_none_can_start", polled)
        await eventually(lambda: polls and polls[-1] >= 2)  # when it was opened, and once more
        before = len(polls)
        await eventually(lambda: len(polls) > before + 3)
        assert len(looks) == 2
