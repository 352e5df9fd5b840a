"""A pool of money that is four fifths spent: said once for each pool and period, over consoles and restarts, and gone
when the day is, or when there is more of it. Time is the test's; the money is spent in a real ledger."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from app.cli import budgets
from app.console.views.attention import kind_words, queue
from coordinator import poolwarning
from coordinator.api import Acknowledge, AttentionView, Done
from coordinator.house import periods
from coordinator.profiles import builtin
from coordinator.recording import Pool, Pools
from store import attention, entries, runs, turns
from store.db import Tx, write_ledger
from store.verify import verify
from store.vocab import AttentionKind, Billing, CostKnowledge, MicroUsd, Millis, RunOutcome, TurnResultKind, TurnState
from tests.coordinator.held import QUICK, Holding, holding, script
from tests.coordinator.test_worklimit import Moved
from tests.store.scenes import INCARNATION, NOON, admitted, in_memory, register, said
from tests.waiting import eventually

FOREVER = replace(QUICK, attendance=1e9, stalled_after=1e9)
DAY = "80 % of the budget of the day is spent"
MONTH = "80 % of the budget of the month is spent"
OWN = "80 % of the budget of the day for claude is spent"


def console(folder: Path, clock: Moved, **more: Any) -> AbstractAsyncContextManager[Holding]:
    return holding(folder, timing=FOREVER, clock=clock, **more)


def warnings(held: Holding) -> list[AttentionView]:
    return [one for one in held.coordinator.snapshot().attention if one.run is None]


def texts(held: Holding) -> list[str]:
    return sorted(one.text for one in warnings(held))


def spent(tx: Tx, money: int, name: str = "a") -> None:
    """A run that has cost so much, and is over."""
    run = admitted(tx, tree=f"/t/{name}")
    turns.settle(
        tx,
        id=said(tx, run.id, id=f"turn-{name}"),
        result=TurnResultKind.SUCCESS,
        cost=MicroUsd(money),
        cost_known=CostKnowledge.REPORTED,
        cumulative=MicroUsd(money),
    )
    runs.end(tx, id=run.id, outcome=RunOutcome.FINISHED, reason="finished")


async def spend(held: Holding, name: str, money: int) -> None:
    """By somebody else: nothing of this console tells it so."""

    def write() -> None:
        with write_ledger(held.coordinator.house.ledger.path, now=held.coordinator.house.clock.now) as tx:
            if not tx.conn.execute("SELECT 1 FROM incarnations WHERE id = ?", (INCARNATION,)).fetchall():
                register(tx)
            spent(tx, money, name)

    await asyncio.to_thread(write)


async def looked(held: Holding) -> None:
    """The follower has seen all that is in the ledger by now."""
    await held.coordinator.follower.look()
    seen = held.coordinator.house.clock.now()
    await eventually(lambda: held.coordinator.snapshot().now >= seen)


def noon() -> Moved:
    """A clock at some noon, so that no test begins just before a midnight."""
    clock = Moved()
    clock.ahead = 36 * 3600 - (clock.now() - periods(clock.now())[0]) / 1000
    return clock


async def test_it_is_said_once_a_day_over_consoles_and_goes_with_the_day(tmp_path: Path) -> None:
    clock = noon()
    async with console(tmp_path, clock, day_budget=MicroUsd(1_000_000)) as held:
        await spend(held, "a", 500_000)
        await looked(held)
        assert texts(held) == []
        await spend(held, "b", 300_000)
        await eventually(lambda: texts(held) == [DAY])
        (shown,) = [one for one in queue(held.coordinator.snapshot()) if one.run is None]
        assert kind_words(shown) == "budget" and shown.to_see, "it warns; nothing is held"
        await spend(held, "c", 100_000)
        await looked(held)
        assert texts(held) == [DAY]
    async with console(tmp_path, clock, day_budget=MicroUsd(1_000_000)) as held:
        await looked(held)
        (item,) = warnings(held)
        assert await held.do(Acknowledge(item=item.id)) == Done()
        await spend(held, "d", 50_000)
        await looked(held)
        assert texts(held) == [], "what was put away does not come again"
        clock.minutes(24 * 60)
        await spend(held, "e", 850_000)
        await eventually(lambda: texts(held) == [DAY])
        assert warnings(held)[0].id != item.id, "another day"
        clock.minutes(24 * 60)
        await eventually(lambda: texts(held) == [])

        def told(tx: Tx) -> list[str]:
            return [one.kind for one in entries.entries_of(tx, 0) if one.kind.startswith("attention.")]

        ledger = held.coordinator.house.ledger
        assert await ledger.read(told) == ["attention.raised", "attention.cleared"] * 2
        assert await ledger.read(verify) is None


async def test_each_pool_says_its_own_and_more_money_takes_it_away(tmp_path: Path) -> None:
    clock = noon()
    agents = {"claude": Pool(day=MicroUsd(1_000_000)), "practice": Pool(day=MicroUsd(1))}
    limits = {"day_budget": MicroUsd(2_000_000), "month_budget": MicroUsd(1_000_000), "agent_pools": agents}
    async with console(tmp_path, clock, **limits) as held:
        await spend(held, "a", 800_000)
        await eventually(lambda: texts(held) == [OWN, MONTH])
    more = limits | {"month_budget": MicroUsd(5_000_000)}
    async with console(tmp_path, clock, **more) as held:
        await looked(held)
        await eventually(lambda: texts(held) == [OWN])
    async with console(tmp_path, clock) as held:
        await looked(held)
        await eventually(lambda: texts(held) == [])
        assert await held.coordinator.house.ledger.read(verify) is None


async def test_what_a_real_turn_costs_is_said_by_every_console_and_stands_once(tmp_path: Path) -> None:
    paid = tuple(replace(one, billing=Billing.KEY) for one in builtin({"HOME": str(tmp_path)}))
    limits: dict[str, Any] = {"month_budget": MicroUsd(1_000_000), "profiles": paid}
    async with console(tmp_path, Moved(), **limits) as held, console(tmp_path, Moved(), **limits) as other:
        run = await other.start("go " + script({"text": "dear", "cost": 0.9}), budget=MicroUsd(950_000))
        await other.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        await eventually(lambda: texts(held) == texts(other) == [MONTH])
        assert len({one.id for one in (*warnings(held), *warnings(other))}) == 1
        assert await held.coordinator.house.ledger.read(verify) is None


@pytest.mark.parametrize(
    ("money", "words"),
    [(799_999, []), (800_000, [DAY]), (999_999, [DAY]), (1_000_000, ["the budget of the day is used up"])],
)
def test_four_fifths_are_exact(money: int, words: list[str]) -> None:
    with in_memory() as tx:
        spent(tx, money)
        pools = Pools(day=MicroUsd(1_000_000), month=MicroUsd(10**9), day_began=NOON, month_began=NOON)
        assert list(poolwarning.due(tx, pools).values()) == words
        assert poolwarning.due(tx, replace(pools, day_began=Millis(NOON + 10**9))) == {}, "spent on another day"


def test_told_is_told_and_what_is_over_is_taken_away() -> None:
    with in_memory() as tx:
        spent(tx, 900_000)
        attention.raise_(tx, run=None, kind=AttentionKind.PAGE, key="other", text="stays")
        due = poolwarning.due(tx, Pools(day=MicroUsd(1_000_000)))
        assert not poolwarning.is_told(tx, due)
        poolwarning.tell(tx, due)
        poolwarning.tell(tx, due)
        assert poolwarning.is_told(tx, due) and not poolwarning.is_told(tx, {})
        assert [one.text for one in attention.open_items(tx)] == ["stays", DAY]
        poolwarning.tell(tx, {})
        assert [one.text for one in attention.open_items(tx)] == ["stays"] and poolwarning.is_told(tx, {})


@pytest.mark.parametrize(
    ("spent", "limit", "words"),
    [(799_999, 1_000_000, ""), (800_000, 1_000_000, "80 % is spent"), (1, 1, "used up"), (5, None, "")],
)
def test_the_command_line_says_it_beside_the_pool(
    spent: int, limit: int | None, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = budgets.PoolLine(
        period="day",
        agent=None,
        limit_micro_usd=limit,
        spent_micro_usd=spent,
        reserved_micro_usd=0,
        left_micro_usd=None,
    )
    budgets.print_budgets(budgets.Budgets(at=0, pools=(line,), agents=(), runs=()))
    (said,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("today")]
    assert said.endswith(words) and (words or "spent" not in said)
