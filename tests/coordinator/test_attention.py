"""The attention queue, on a real ledger and real agents: what comes into it, and what it takes to leave it."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from coordinator.api import (
    Acknowledge,
    AnswerDecision,
    AttentionView,
    DismissDecision,
    Done,
    Extend,
    Group,
    Seen,
    Stop,
)
from coordinator.drivers.base import QuestionReply
from coordinator.marks import may_dismiss
from store import attention, decisions, runs, verify
from store.db import Tx
from store.refusal import Refusal
from store.vocab import AttentionKind, DecisionKind, DecisionState, Millis, RefusalReason, RunId
from tests.coordinator.held import QUICK, Holding, bash, holding, script
from tests.coordinator.test_parks import PARK, mailbox
from tests.waiting import eventually

CRASHES = "go " + script({"text": "so far"}, {"do": "exit", "code": 3})
SILENT = "go " + script({"text": "now quiet"}, {"delay": 60, "text": "late"})
PERMISSION = "go " + script(bash("touch made"))
HURRIED = replace(QUICK, stalled_after=0.3)


def waits(held: Holding, kind: AttentionKind, run: RunId | None = None) -> list[AttentionView]:
    items = held.coordinator.snapshot().attention
    return [one for one in items if one.kind is kind and run in (None, one.run)]


def quick(folder: Path, **more: Any) -> AbstractAsyncContextManager[Holding]:
    return holding(folder, timing=HURRIED, **more)


async def whole(held: Holding) -> None:
    assert await held.coordinator.house.ledger.read(verify.verify) is None


async def crashed(held: Holding) -> tuple[RunId, AttentionView]:
    run = await held.start(CRASHES)
    await held.until(run, lambda view: view.outcome is not None)
    items = await eventually(lambda: waits(held, AttentionKind.CRASHED, run))
    return run, items[0]


async def test_an_end_that_nobody_ordered_waits_until_it_is_seen_over_a_restart(tmp_path: Path) -> None:
    async with quick(tmp_path) as held:
        run, item = await crashed(held)
        assert item.text == "ended by itself (3)" and item.to_see
        view = await held.until(run, lambda view: view.group is Group.NEEDS_YOU)
        assert view.reason == "exited:3"
    async with quick(tmp_path) as again:
        assert [one.id for one in waits(again, AttentionKind.CRASHED)] == [item.id], "once, and the same one"
        await again.until(run, lambda view: view.group is Group.NEEDS_YOU)
        assert await again.do(Seen(run=run)) == Done()
        await eventually(lambda: not waits(again, AttentionKind.CRASHED))
        await again.until(run, lambda view: view.group is Group.ENDED)
        await whole(again)
    async with quick(tmp_path) as third:
        assert not waits(third, AttentionKind.CRASHED)


async def test_what_is_put_away_stays_so_over_a_restart_and_twice_is_once(tmp_path: Path) -> None:
    async with quick(tmp_path) as held:
        _, item = await crashed(held)
        assert await held.do(Acknowledge(item=item.id)) == Done()
        assert await held.do(Acknowledge(item=item.id)) == Done()
        await eventually(lambda: not waits(held, AttentionKind.CRASHED))
        await whole(held)
    async with quick(tmp_path) as again:
        assert again.coordinator.snapshot().attention == ()
        row = await again.coordinator.house.ledger.read(lambda tx: attention.get(tx, item.id))
        assert row is not None and row.cleared_by == "Ada"
        refused = await again.do(Acknowledge(item=9_999))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.STALE


async def test_an_end_that_was_ordered_leaves_nothing_in_the_queue(tmp_path: Path) -> None:
    async with quick(tmp_path) as held:
        run = await held.start(SILENT)
        await held.until(run, lambda view: view.in_flight is not None)
        await held.do(Stop(run=run, kill=True))
        await held.until(run, lambda view: view.outcome is not None)
        assert held.coordinator.snapshot().attention == ()


async def test_silence_that_was_put_away_comes_again_only_with_a_new_silence(tmp_path: Path) -> None:
    """It is looked for at every renewal: what was told of one silence is told once."""
    async with quick(tmp_path) as held:
        run = await held.start("go " + script({"text": "a"}, {"delay": 2.5, "text": "b"}, {"delay": 60, "text": "c"}))
        first = (await eventually(lambda: waits(held, AttentionKind.STALLED, run)))[0]
        assert await held.do(Acknowledge(item=first.id)) == Done()
        await eventually(lambda: not waits(held, AttentionKind.STALLED, run))
        second = (await eventually(lambda: waits(held, AttentionKind.STALLED, run)))[0]
        rows = await held.coordinator.house.ledger.read(lambda tx: stalled(tx, first.id, second.id))
        assert rows[0].key != rows[1].key, "the second one is of another silence"
        assert second.id == first.id + 1, "and nothing was told in between"
        await held.do(Stop(run=run, kill=True))


def stalled(tx: Tx, *ids: int) -> list[attention.AttentionItem]:
    return [one for id in ids if (one := attention.get(tx, id)) is not None]


async def test_silence_is_over_when_the_agent_speaks(tmp_path: Path) -> None:
    async with quick(tmp_path) as held:
        run = await held.start("go " + script({"text": "a"}, {"delay": 1.5, "text": "b"}))
        item = (await eventually(lambda: waits(held, AttentionKind.STALLED, run)))[0]
        await eventually(lambda: not waits(held, AttentionKind.STALLED, run))
        row = await held.coordinator.house.ledger.read(lambda tx: attention.get(tx, item.id))
        assert row is not None and row.cleared_by == "footplate"
        await held.do(Stop(run=run, kill=True))


async def test_an_end_that_comes_near_is_told_once_and_is_over_when_time_is_added(tmp_path: Path) -> None:
    async with quick(tmp_path) as held:
        now = held.coordinator.house.clock.now
        run = await held.start("hello", expires_at=Millis(now() + 600_000))
        await held.until(run, lambda view: view.turns and view.in_flight is None)
        assert not waits(held, AttentionKind.ENDS_SOON), "ten minutes in all are not the last ten minutes"
        await held.do(Stop(run=run, kill=True))
        short = await held.start("hello", expires_at=Millis(now() + 120_000))
        await held.until(short, lambda view: view.turns and view.in_flight is None)
        session = held.coordinator.sessions[short]
        # The clock of the end is the session's own: only it is moved on.
        session.wall = replace(session.wall, wall_ms=session.wall.wall_ms + 100_000)
        item = (await eventually(lambda: waits(held, AttentionKind.ENDS_SOON, short)))[0]
        assert item.text.startswith("its time is up in 1 minute") and item.to_see
        assert not isinstance(await held.do(Extend(run=short, seconds=3_600)), Refusal)
        await eventually(lambda: not waits(held, AttentionKind.ENDS_SOON, short))
        await held.do(Stop(run=short, kill=True))


async def test_a_decision_cannot_be_put_away(tmp_path: Path) -> None:
    async with quick(tmp_path) as held:
        run = await held.start(PERMISSION)
        view = await held.until(run, lambda view: view.decisions)
        item = waits(held, AttentionKind.DECISION, run)[0]
        assert item.decision == view.decisions[0].id and not item.to_see
        for command in (Acknowledge(item=item.id), DismissDecision(run=run, decision=view.decisions[0].id)):
            refused = await held.do(command)
            assert isinstance(refused, Refusal) and refused.reason is RefusalReason.NOT_AN_OPTION
        assert waits(held, AttentionKind.DECISION, run) == [item]
        await held.do(Stop(run=run, kill=True))


PARKS = "go " + script(mailbox(1, decision=PARK), {"text": "I wait for you"})


async def parked_and_ended(held: Holding) -> tuple[RunId, AttentionView]:
    run = await held.start(PARKS)
    view = await held.until(run, lambda view: any(one.kind is DecisionKind.PARK for one in view.decisions))
    assert view.decisions[0].state is DecisionState.OPEN
    await held.do(Stop(run=run, kill=True))
    await held.until(run, lambda view: view.outcome is not None)
    return run, waits(held, AttentionKind.DECISION, run)[0]


async def test_a_question_that_outlived_its_run_can_be_put_aside_for_good(tmp_path: Path) -> None:
    async with quick(tmp_path) as held:
        run, item = await parked_and_ended(held)
    async with quick(tmp_path) as again:
        assert [one.id for one in waits(again, AttentionKind.DECISION, run)] == [item.id], "it outlives its run"
        assert item.decision is not None
        assert await again.do(DismissDecision(run=run, decision=item.decision)) == Done()
        await eventually(lambda: not waits(again, AttentionKind.DECISION))
        refused = await again.do(DismissDecision(run=run, decision=item.decision))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.STALE
        late = AnswerDecision(
            run=run, decision=item.decision, revision=1, payload_hash="", answer=QuestionReply(answers={})
        )
        assert isinstance(await again.do(late), Refusal)
        await whole(again)


async def test_only_what_no_agent_waits_for_may_be_put_aside(tmp_path: Path) -> None:
    async with quick(tmp_path) as held:
        run, item = await parked_and_ended(held)
        ledger = held.coordinator.house.ledger
        assert item.decision is not None
        found = await ledger.read(lambda tx: decisions.get(tx, item.decision))  # type: ignore[arg-type]
        assert found is not None
        for kind in DecisionKind:
            for state in DecisionState:
                may = may_dismiss(replace(found, kind=kind, state=state))
                assert may == (kind is DecisionKind.PARK or state is DecisionState.UNDELIVERED)
        nobody = await held.do(DismissDecision(run=RunId(run + 50), decision=item.decision))
        assert isinstance(nobody, Refusal) and nobody.reason is RefusalReason.NO_SUCH_DECISION


async def test_the_queue_is_first_come_first_served_over_all_runs(tmp_path: Path) -> None:
    async with quick(tmp_path) as held:
        first, _ = await crashed(held)
        second = await held.start(PERMISSION)
        await held.until(second, lambda view: view.decisions)
        items = held.coordinator.snapshot().attention
        assert [(one.run, one.kind) for one in items] == [
            (first, AttentionKind.CRASHED),
            (second, AttentionKind.DECISION),
        ]
        assert sorted(one.since for one in items) == [one.since for one in items]
        await held.do(Stop(run=second, kill=True))


async def test_what_waits_is_shown_however_many_runs_came_after_it(tmp_path: Path) -> None:
    async with quick(tmp_path) as held:
        run, _ = await crashed(held)

        def bury(tx: Tx) -> None:
            row = runs.get(tx, run)
            assert row is not None
            for n in range(60):
                tx.conn.execute(
                    "INSERT INTO runs SELECT NULL, :title, agent, driver, billing, repository, tree, head, branch, "
                    "authorization_id, incarnation, operator, step, created_at, ended_at, outcome, reason, detail, "
                    "native_id, model, mode, pinned, seen_at, continues, events FROM runs WHERE id = :run",
                    {"title": f"later {n}", "run": run},
                )

        await held.coordinator.house.ledger.transaction(bury)
    async with quick(tmp_path) as again:
        await again.until(run, lambda view: view.group is Group.NEEDS_YOU)


async def test_it_is_known_when_somebody_was_last_here(tmp_path: Path) -> None:
    async with quick(tmp_path) as held:
        assert held.coordinator.snapshot().last_here is None, "the first console of a ledger"
        left = held.coordinator.house.clock.now()
    async with quick(tmp_path) as again:
        here = await eventually(lambda: again.coordinator.snapshot().last_here)
        assert here is not None and left <= here <= again.coordinator.house.clock.now()
