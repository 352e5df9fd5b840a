"""How runs end when something is wrong: spawns that fail, agents that die, print garbage, report no cost, or reach a
limit."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from app.wording import sentence
from coordinator.api import Group, Interrupt, ReleaseQueue, Say, Started, Stop, StopAll
from coordinator.custody.processes import carriers
from coordinator.profiles import builtin
from coordinator.terms import TreeKind
from store import queued
from store.refusal import Refusal
from store.vocab import (
    AttentionKind,
    CustodyState,
    EndReason,
    MicroUsd,
    RefusalReason,
    RunId,
    RunOutcome,
    TurnResultKind,
    TurnState,
)
from tests.coordinator.held import holding, script
from tests.waiting import eventually


async def test_an_agent_that_exits_before_it_is_ready_is_a_spawn_failure_with_its_words(tmp_path: Path) -> None:
    practice = next(p for p in builtin({}) if p.name == "practice")
    broken = replace(practice, args=("-c", "import sys; sys.stderr.write('no such flag: --nope\\n'); sys.exit(3)"))
    async with holding(tmp_path, profiles=(broken,)) as held:
        refused = await held.try_start("go")
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.SPAWN_FAILED, refused
        assert sentence(refused).startswith(
            "The agent could not be started, it ended with exit 3 (no such flag: --nope); "
        )
        view = await held.until(RunId(1), lambda v: v.outcome is not None)
        assert view.outcome is RunOutcome.FAILED and view.reason == EndReason.SPAWN_FAILED
        assert [t.state for t in view.turns] == [TurnState.CANCELLED]


async def test_a_program_that_is_not_there_starts_nothing(tmp_path: Path) -> None:
    practice = next(p for p in builtin({}) if p.name == "practice")
    gone = replace(practice, program=str(tmp_path / "nothing-here"))
    async with holding(tmp_path, profiles=(gone,)) as held:
        refused = await held.try_start("go")
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.SPAWN_FAILED, refused
        view = await held.until(RunId(1), lambda v: v.outcome is not None)
        assert view.outcome is RunOutcome.FAILED
        assert view.custody is CustodyState.CLOSED


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        ({"do": "exit", "code": 7}, "exited:7"),
        ({"do": "exit", "signal": "SIGKILL"}, "exited:SIGKILL"),
        ({"do": "half_line", "code": 1}, "exited:1"),
        ({"do": "missing_cost"}, EndReason.TELEMETRY),
    ],
)
async def test_an_agent_that_dies_or_hides_its_cost_ends_with_that_reason(
    tmp_path: Path, step: dict[str, object], reason: str
) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script(step, {"text": "never"}))
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.reason == reason, (view.reason, view.detail)
        assert view.receipt is not None and not view.receipt.remaining
        assert carriers(held.coordinator.sessions[run].nonce) == []
        assert view.turns[0].state in (TurnState.SETTLED, TurnState.UNCERTAIN)


async def test_garbage_is_kept_and_ends_nothing(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"do": "garbage", "line": "not json [bold] \x1b[2J"}, {"text": "fine"}))
        view = await held.until(run, lambda v: v.turns and v.turns[0].state is TurnState.SETTLED)
        assert view.outcome is None and view.turns[0].result is TurnResultKind.SUCCESS


async def test_a_turn_limit_holds_and_asks(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"text": "one"}), max_turns=1)
        view = await held.until(run, lambda v: v.at_budget)
        assert view.group is Group.NEEDS_YOU and view.outcome is None

        def asked() -> list[AttentionKind]:
            return [item.kind for item in held.coordinator.snapshot().attention if item.run == run]

        await eventually(lambda: asked() == [AttentionKind.BUDGET])
        refused = await held.do(Say(run=run, text="more"))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.TURN_CAP
        nothing = await held.do(Interrupt(run=run, turn=None))
        assert isinstance(nothing, Refusal) and nothing.reason is RefusalReason.NOTHING_TO_INTERRUPT


async def test_a_money_limit_holds_delivers_nothing_more_and_loses_nothing(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"text": "dear", "cost": 0.5}), budget=MicroUsd(400_000))
        view = await held.until(run, lambda v: v.at_budget)
        assert view.budget.spent >= 400_000 and view.outcome is None
        refused = await held.do(Say(run=run, text="more"))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.BUDGET_EXHAUSTED


async def test_a_line_of_turns_is_sent_one_by_one_and_held_after_an_interrupt(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"do": "silence"}))
        await held.until(run, lambda v: v.in_flight is not None and v.turns[0].state is TurnState.ACCEPTED)
        for text in ("first", "second"):
            await held.do(Say(run=run, text=text + script({"text": "ok"})))
        view = await held.until(run, lambda v: len(v.queued) == 2)
        await held.do(Interrupt(run=run, turn=view.in_flight))
        view = await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert view.turns[0].result is TurnResultKind.INTERRUPTED
        assert view.queue_held and len(view.queued) == 2 and len(view.turns) == 1
        await held.do(ReleaseQueue(run=run))
        view = await held.until(run, lambda v: len(v.turns) == 3 and v.turns[2].state is TurnState.SETTLED)
        assert [t.text[:5] for t in view.turns[1:]] == ["first", "secon"] and not view.queued


async def test_what_waits_when_the_hold_ends_is_unsent_not_lost(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"do": "silence"}))
        await held.until(run, lambda v: v.turns[0].state is TurnState.ACCEPTED)
        await held.do(Say(run=run, text="later"))
        await held.do(Stop(run=run, kill=True))
        rows = await held.coordinator.house.ledger.read(lambda tx: queued.of_run(tx, run))
        assert [row.state for row in rows] == ["unsent"]
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.turns[0].state is TurnState.UNCERTAIN and view.turns[0].cost_known == "guess"


async def test_kill_begins_at_the_end_of_the_ladder(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        deaf = {"do": "ignore", "what": ["eof", "term", "hup", "interrupt", "end_session"]}
        run = await held.start("go " + script(deaf, {"do": "silence"}))
        await held.until(run, lambda v: v.turns[0].state is TurnState.ACCEPTED)
        await held.do(Stop(run=run, kill=True))
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.reason == EndReason.KILLED
        assert view.receipt is not None and view.receipt.total_ms < 1000 and not view.receipt.remaining


async def test_stop_all_ends_side_by_side_and_opens_again(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        first = await held.start("go " + script({"do": "silence"}))
        blocked = await held.try_start("go")
        assert isinstance(blocked, Refusal) and blocked.reason is RefusalReason.TREE_HELD
        second = await held.start("go " + script({"do": "silence"}), tree_kind=TreeKind.WORKTREE)
        assert second != first
        await held.do(StopAll())
        for run in (first, second):
            assert (await held.until(run, lambda v: v.outcome is not None)).reason == EndReason.STOPPED
        assert isinstance(await held.try_start("go " + script({"text": "x"})), Started)


async def test_a_head_that_moved_between_signing_and_start_is_refused_by_name(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        refused = await held.try_start("go", head="0" * 40)
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.TERMS_MOVED
        assert refused.facts["field"] == "head" and refused.facts["was"] == "0" * 40


async def test_two_gigantic_lines_and_a_flood_do_no_harm(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"do": "big_line", "megabytes": 64}, {"text": "small"}))
        view = await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED, timeout=60)
        assert view.turns[0].result is TurnResultKind.SUCCESS
        assert (held.coordinator.sessions[run].folder / "spool").stat().st_size > 64_000_000


async def test_closing_finishes_what_is_idle_and_ends_the_rest(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        idle = await held.start("go " + script({"text": "done"}))
        await held.until(idle, lambda v: v.turns[0].state is TurnState.SETTLED)
        busy = await held.start("go " + script({"do": "silence"}), tree_kind=TreeKind.WORKTREE)
        await held.until(busy, lambda v: v.turns[0].state is TurnState.ACCEPTED)
        await held.coordinator.close()
        assert (await held.until(idle, lambda v: v.outcome)).outcome is RunOutcome.FINISHED
        view = await held.until(busy, lambda v: v.outcome)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.SHUTDOWN)
