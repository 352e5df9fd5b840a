"""The working time of a held run: told, held at, extended, and what a console that comes later makes of it.

The practice agent is a real process; time is the test's.
"""

import asyncio
from pathlib import Path

from msgspec.structs import replace

from coordinator.api import (
    AnswerDecision,
    Done,
    Extend,
    Group,
    Interrupt,
    LeaveAll,
    Left,
    Propose,
    Say,
    SessionView,
)
from coordinator.clock import RealClock
from coordinator.custody import spoolfile
from coordinator.custody.processes import carriers
from coordinator.drivers.base import Allow
from coordinator.terms import TreeKind
from store import authorizations
from store.refusal import Refusal
from store.verify import verify
from store.vocab import (
    DecisionState,
    EndReason,
    Millis,
    RefusalReason,
    RunId,
    RunOutcome,
    TurnResultKind,
    TurnState,
)
from tests.coordinator.held import QUICK, Holding, bash, holding, script
from tests.coordinator.test_adopt import Killed
from tests.coordinator.weather import SILENT, settled, working
from tests.waiting import eventually, wait_until

MINUTE = 60_000
PATIENT = replace(QUICK, attendance=86_400.0, stalled_after=86_400.0)


class Moved(RealClock):
    """Both clocks, as far ahead as the test says."""

    ahead = 0.0

    def now(self) -> Millis:
        return Millis(super().now() + round(self.ahead * 1000))

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead

    def minutes(self, passed: float) -> None:
        self.ahead += passed * 60


def said(held: Holding, run: RunId) -> list[str]:
    return [item.text for item in held.coordinator.snapshot().attention if item.run == run]


PAST = "has used its working time: interrupt it, extend it, or let its turn end"
FOUR_FIFTHS = "has used 80 % of its working time"


async def asks(held: Holding, run: RunId) -> SessionView:
    return await held.until(run, lambda v: v.decisions and v.decisions[-1].state is DecisionState.OPEN)


async def test_it_warns_asks_holds_and_goes_on_when_there_is_more(tmp_path: Path) -> None:
    clock = Moved()
    async with holding(tmp_path, timing=PATIENT, clock=clock) as held:
        run = await working(held, working_seconds=3600)
        session = held.coordinator.sessions[run]
        agent = session.rows.custody.agent_pid if session.rows.custody else None
        clock.minutes(47)
        await held.do(Say(run=run, text="later " + script({"text": "two"})))
        view = held.view(run)
        assert view is not None and said(held, run) == [] and not view.past_work
        clock.minutes(1)
        await eventually(lambda: said(held, run) == [FOUR_FIFTHS])
        clock.minutes(12)
        view = await held.until(run, lambda v: v.past_work)
        assert said(held, run) == [FOUR_FIFTHS, PAST] and view.turns[0].state is TurnState.ACCEPTED
        assert view.group is Group.NEEDS_YOU and view.budget.working_limit_ms == 60 * MINUTE
        assert 60 * MINUTE <= view.budget.working_ms < 61 * MINUTE
        await held.do(Interrupt(run=run, turn=view.in_flight))
        view = await held.until(run, lambda v: v.at_budget)
        assert not view.past_work and len(view.queued) == 1 and len(view.turns) == 1
        assert said(held, run) == [FOUR_FIFTHS, "holds at its budget"]
        assert isinstance(await held.do(Extend(run=run, working_seconds=1800)), Done)
        view = await held.until(run, lambda v: not v.at_budget)
        assert view.budget.working_limit_ms == 90 * MINUTE and said(held, run) == []
        await held.do(Say(run=run, text="on " + script({"text": "three"})))
        assert session.rows.custody is not None and session.rows.custody.agent_pid == agent, "nothing started again"
        ledger = held.coordinator.house.ledger
        assert await ledger.read(verify) is None


async def test_at_its_working_time_a_turn_is_refused_by_name(tmp_path: Path) -> None:
    clock = Moved()
    async with holding(tmp_path, timing=PATIENT, clock=clock) as held:
        run = await working(held, working_seconds=60)
        clock.minutes(2)
        view = await held.until(run, lambda v: v.past_work)
        await held.do(Interrupt(run=run, turn=view.in_flight))
        await held.until(run, lambda v: v.at_budget)
        refused = await held.do(Say(run=run, text="more"))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.BUDGET_EXHAUSTED
        assert (refused.facts["budget"], refused.facts["limit_ms"]) == ("working-time", 60_000)
        assert refused.facts["worked_ms"] in range(2 * MINUTE, 3 * MINUTE)


async def test_an_open_question_is_no_work(tmp_path: Path) -> None:
    clock = Moved()
    async with holding(tmp_path, timing=PATIENT, clock=clock, at_budget="fence") as held:
        brief = "go " + script(bash("true"), {"text": "done"})
        run = await held.start(brief, working_seconds=600, at_budget="fence")
        view = await asks(held, run)
        clock.minutes(90)
        await held.do(Say(run=run, text="later"))
        view = await held.until(run, lambda v: v.queued)
        assert view.budget.working_ms < MINUTE and view.ending is None and said(held, run) == ["Run a command?"]
        asked = view.decisions[0]
        answer = AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        assert isinstance(await held.do(answer), Done)
        view = await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert view.turns[0].result is TurnResultKind.SUCCESS


async def test_where_it_was_chosen_the_run_ends_in_the_middle_of_its_turn(tmp_path: Path) -> None:
    clock = Moved()
    async with holding(tmp_path, timing=PATIENT, clock=clock) as held:
        run = await working(held, working_seconds=3600, at_budget="fence")
        clock.minutes(61)
        view = await held.until(run, lambda v: v.outcome is not None)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.BUDGET_EXHAUSTED)
        await settled(held, run)


async def test_the_keeper_ends_it_at_its_working_time_though_the_actor_does_nothing(tmp_path: Path) -> None:
    async with holding(tmp_path, timing=PATIENT) as held:
        run = await working(held, working_seconds=3600, at_budget="fence")
        session = held.coordinator.sessions[run]
        # The machine goes on with its hour: only what the keeper is promised with each renewal is shorter.
        session.limits = replace(session.limits, working_seconds=1)
        view = await held.until(run, lambda v: v.outcome is not None)
        assert view.reason == EndReason.BUDGET_EXHAUSTED and session.state.limits.working_ms == 60 * MINUTE
        assert carriers(session.nonce) == []


async def test_left_alone_the_keeper_ends_it_at_its_working_time(tmp_path: Path) -> None:
    async with holding(tmp_path, timing=PATIENT) as held:
        run = await working(held, working_seconds=3600, at_budget="fence")
        session = held.coordinator.sessions[run]
        left = await held.do(LeaveAll())
        assert isinstance(left, Left) and session.left and session.left_for < 3600
        until = dict(left.until)[run]
        assert 0 < until - held.coordinator.house.clock.now() <= 60 * MINUTE, "a day of attendance would be longer"
    clock = Moved()
    clock.minutes(59.9)  # for the console that comes; the keeper's own clock goes on as it is
    async with holding(tmp_path, timing=PATIENT, clock=clock) as held:
        session = held.coordinator.sessions[run]
        await eventually(lambda: "catch-up" not in session.deadlines)
        left = await held.do(LeaveAll())
        assert isinstance(left, Left) and session.left_for < 10
    wait_until(lambda: not spoolfile.spool_is_locked(session.folder), 30)
    async with holding(tmp_path, timing=PATIENT, clock=clock) as held:
        view = await held.until(run, lambda v: v.outcome is not None)
        assert (view.outcome, view.reason) == (RunOutcome.INTERRUPTED, EndReason.BUDGET_EXHAUSTED)
        await settled(held, run)


async def test_a_console_that_is_killed_forgets_none_of_it(tmp_path: Path) -> None:
    first = Killed(tmp_path, SILENT)
    seen = await asyncio.to_thread(first.until, lambda told: told["turns"] == ["accepted"])
    first.kill()
    clock = Moved()
    clock.minutes(61)
    async with holding(tmp_path, timing=PATIENT, clock=clock) as held:
        run = RunId(seen["run"])
        view = await held.until(run, lambda v: v.past_work)
        assert view.budget.working_ms >= 60 * MINUTE and PAST in said(held, run)
        assert isinstance(await held.do(Extend(run=run, working_seconds=3600)), Done)
        await held.until(run, lambda v: not v.past_work)
        ledger = held.coordinator.house.ledger
        amended = await ledger.read(
            lambda tx: [
                one.working_seconds
                for signed in authorizations.not_closed(tx)
                for one in authorizations.amendments(tx, signed.id)
            ]
        )
        assert amended == [3600]


async def test_what_waited_for_an_answer_while_nobody_was_there_was_no_work(tmp_path: Path) -> None:
    first = Killed(tmp_path, "go " + script({"text": "look", "delay": 0.3}, bash("true"), {"text": "done"}))
    seen = await asyncio.to_thread(first.until, lambda told: told["turns"] == ["accepted"])
    first.kill()
    folder = next((tmp_path / "spool").iterdir())

    def asked() -> bool:
        return any(b'"can_use_tool"' in record.data for record in spoolfile.read_spool(folder / "spool"))

    await eventually(asked)
    clock = Moved()
    clock.minutes(50)
    async with holding(tmp_path, timing=PATIENT, clock=clock) as held:
        view = await asks(held, RunId(seen["run"]))
        assert view.budget.working_ms < 5 * MINUTE, "it asked long ago, and nobody was there to see it"


async def test_terms_come_with_a_limit_and_take_the_last_one_up(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        ask = Propose(instruction="go", repository=str(held.tree), agent="practice", worktree=False)

        async def proposed(asked: Propose) -> tuple[int | None, tuple[str, ...]]:
            proposal = await held.do(asked)
            return proposal.terms.working_seconds, proposal.moved  # type: ignore[union-attr]

        for preset, minutes in (("quick", 20), ("normal", 60), ("overnight", 480)):
            assert (await proposed(replace(ask, preset=preset)))[0] == minutes * 60
        assert (await proposed(replace(ask, working_seconds=90)))[0] == 90
        await held.start("go " + script({"text": "one"}), working_seconds=1234)
        assert await proposed(ask) == (1234, ())
        assert (await proposed(replace(ask, working_seconds=90)))[1] == ("working_seconds",)
        await held.start("go " + script({"text": "one"}), working_seconds=None, tree_kind=TreeKind.WORKTREE)
        said = await proposed(ask)
        assert said[0] == 3600 and "working_seconds" in said[1], "terms from before the limit say nothing about it"
