"""Budgets that hold and ask: extension in place, with a restart where the agent's cap needs one; pools; the ledger
counts."""

from pathlib import Path

from coordinator.api import Done, Extend, Finish, Say
from coordinator.custody.processes import carriers
from coordinator.recording import Pools, pool_refused
from store import receipts, turns
from store.refusal import Refusal
from store.verify import verify
from store.vocab import (
    Billing,
    CustodyState,
    MicroUsd,
    Millis,
    RefusalReason,
    RunOutcome,
    TurnState,
)
from tests.coordinator.held import holding, script
from tests.waiting import eventually


async def test_more_turns_are_signed_and_used(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"text": "one"}), max_turns=1)
        await held.until(run, lambda v: v.at_budget)
        refused = await held.do(Say(run=run, text="more"))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.TURN_CAP
        assert isinstance(await held.do(Extend(run=run, turns=2)), Done)
        view = await held.until(run, lambda v: not v.at_budget)
        assert view.budget.max_turns == 3
        await held.do(Say(run=run, text="more " + script({"text": "two"})))
        await held.until(run, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED)


async def test_more_money_restarts_the_agent_in_the_same_conversation_under_the_same_hold(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"text": "dear", "cost": 0.5}), budget=MicroUsd(400_000))
        view = await held.until(run, lambda v: v.at_budget)
        spent, native = view.budget.spent, view.native_id
        session = held.coordinator.sessions[run]
        first_pid = session.rows.custody.agent_pid if session.rows.custody else None
        done = await held.do(Extend(run=run, money=MicroUsd(1_000_000)))
        assert isinstance(done, Done), done
        view = await held.until(run, lambda v: not v.at_budget and v.custody is CustodyState.OPEN)
        assert view.budget.limit == 1_400_000 and view.budget.spent == spent and view.native_id == native
        await held.do(Say(run=run, text="on " + script({"text": "two", "cost": 0.25})))
        view = await held.until(run, lambda v: len(v.turns) == 2 and v.turns[1].state is TurnState.SETTLED)
        assert view.turns[1].cost == 250_000, "its own cost, whatever the new process counts from"
        assert session.rows.custody is not None and session.rows.custody.agent_pid != first_pid
        assert session.rows.custody.generation == 2
        await held.do(Finish(run=run))
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.outcome is RunOutcome.FINISHED
        await session.ended.wait()
        assert carriers(session.nonce) == []
        ledger = held.coordinator.house.ledger
        assert [r.generation for r in await ledger.read(lambda tx: receipts.of_run(tx, run))] == [1, 2]
        assert await ledger.read(verify) is None


async def test_a_pool_counts_key_billing_only_and_reserves_what_is_held(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        ledger = held.coordinator.house.ledger
        await held.start("go " + script({"text": "dear", "cost": 0.5}))

        def look(tx: object) -> tuple[MicroUsd, Refusal | None]:
            began = Millis(0)
            pools = Pools(day=MicroUsd(1), day_began=began)
            spent = turns.spent_since(tx, since=began, billing=Billing.KEY)  # type: ignore[arg-type]
            return spent, pool_refused(tx, pools, agent="practice", wanted=MicroUsd(0))  # type: ignore[arg-type]

        assert await ledger.read(look) == (0, None), "play money is no money"


async def test_at_four_fifths_of_the_money_it_is_said_and_nothing_is_held(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"text": "dear", "cost": 0.42}), budget=MicroUsd(500_000))

        def said() -> list[str]:
            return [item.text for item in held.coordinator.snapshot().attention if item.run == run]

        await eventually(lambda: said() == ["has used 80 % of its money"])
        view = await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert not view.at_budget
        await held.do(Extend(run=run, money=MicroUsd(1_000_000)))
        await eventually(lambda: said() == [])
