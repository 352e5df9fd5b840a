"""Turns that fail at once, a limit that was reached, a session that has done its work: what stands there, and what a
person is told of it, once."""

import sys
from collections.abc import Callable
from pathlib import Path

from coordinator.api import AnswerDecision, Done, Extend, Group, Interrupt, ReleaseQueue, Said, Say, SessionView, Stop
from coordinator.custody.processes import carriers
from coordinator.drivers.base import Allow
from coordinator.profiles import AgentProfile
from store import turns
from store.refusal import Refusal
from store.vocab import AttentionKind, Billing, MicroUsd, RefusalReason, RunId, TurnResultKind, TurnState
from tests.coordinator.held import Holding, bash, holding, script
from tests.coordinator.weather import settled
from tests.waiting import eventually, wait_until

FAILS = "go " + script({"fail": {"status": 400}})


def told(held: Holding, run: RunId) -> list[tuple[AttentionKind, str]]:
    return [(item.kind, item.text) for item in held.coordinator.snapshot().attention if item.run == run]


def ended(count: int) -> Callable[[SessionView], object]:
    return lambda view: len(view.turns) >= count and view.turns[count - 1].state is TurnState.SETTLED


async def test_a_turn_that_fails_at_once_takes_none_of_those_behind_it_along(tmp_path: Path) -> None:
    """Eleven wait in line. The first that fails holds the others, and each that is let go fails by itself."""
    async with holding(tmp_path) as held:
        run = await held.start("go " + script({"do": "silence"}))
        await held.until(run, lambda v: v.turns and v.turns[0].state is TurnState.ACCEPTED)
        for number in range(11):
            said = await held.do(Say(run=run, text=f"{number} {FAILS}"))
            assert isinstance(said, Said) and said.queued is not None
        await held.do(Interrupt(run=run, turn=None))
        await held.until(run, ended(1))
        for count in (2, 3):
            await held.do(ReleaseQueue(run=run))
            view = await held.until(run, ended(count))
            failed = view.turns[-1]
            assert failed.result is TurnResultKind.ERROR and failed.failure_text, "it is said why"
            view = await held.until(run, lambda v: v.queue_held and v.in_flight is None)
            assert len(view.turns) == count and len(view.queued) == 12 - count, "the others wait"
            assert view.group in (Group.YOUR_MOVE, Group.NEEDS_YOU) and view.outcome is None
        assert isinstance(await held.do(Stop(run=run)), Done)
        await settled(held, run)


async def test_a_limit_warns_holds_and_is_extended_and_ends_nothing(tmp_path: Path) -> None:
    """At four fifths it is said, at the limit it is asked; the work stays as it is, and more money goes on with it."""

    def dear(dollars: float) -> str:
        return "go " + script({"text": "dear", "cost": dollars})

    async with holding(tmp_path) as held:
        run = await held.start(dear(0.42), budget=MicroUsd(500_000))
        await eventually(lambda: told(held, run) == [(AttentionKind.BUDGET, "has used 80 % of its money")])
        conversation = held.view(run).native_id  # type: ignore[union-attr]
        assert isinstance(await held.do(Say(run=run, text=dear(0.2))), Said)
        view = await held.until(run, lambda v: v.at_budget)
        await eventually(lambda: len(told(held, run)) >= 1 and "holds" in told(held, run)[-1][1])
        assert view.outcome is None and view.ending is None and carriers(held.coordinator.sessions[run].nonce)
        refused = await held.do(Say(run=run, text="more"))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.BUDGET_EXHAUSTED
        assert isinstance(await held.do(Extend(run=run, money=MicroUsd(1_000_000))), Done)
        await eventually(lambda: told(held, run) == [], 10, "what was asked is answered")
        view = await held.until(run, lambda v: not v.at_budget and v.in_flight is None)
        assert isinstance(await held.do(Say(run=run, text=dear(0.01))), Said)
        view = await held.until(run, ended(3))
        assert view.native_id == conversation and view.outcome is None
        spent = await held.coordinator.house.ledger.read(lambda tx: turns.spend(tx, run))
        assert spent.money == view.budget.spent == 630_000
        await held.do(Stop(run=run, kill=True))
        await settled(held, run)


LATE = AgentProfile(
    name="practice",
    title="The practice agent",
    driver="rehearsal",
    program=sys.executable,
    args=("-I", str(Path(__file__).parents[1] / "children" / "late_notice.py")),
    billing=Billing.PRACTICE,
)


async def test_a_notice_that_comes_late_makes_nobody_wait(tmp_path: Path) -> None:
    """The turn is over; what the agent says after that, be it that it waits, is no question."""
    async with holding(tmp_path, profiles=(LATE,)) as held:
        run = await held.start("go " + script({"text": "done"}))
        await held.until(run, ended(1))

        def came() -> bool:
            kept = held.coordinator.house.settings.spool
            return any(b"something_new" in file.read_bytes() for file in kept.glob("*/spool"))

        await eventually(came)
        assert isinstance(await held.do(Say(run=run, text="and " + script({"text": "again"}))), Said)
        view = await held.until(run, ended(2))
        # Its second answer stands behind the notices of the first, so those were taken in.
        assert view.group not in (Group.NEEDS_YOU, Group.WORKING), view.group
        assert not view.decisions and told(held, run) == []
        assert [turn.result for turn in view.turns] == [TurnResultKind.SUCCESS] * 2
        await held.do(Stop(run=run, kill=True))
        await settled(held, run)


async def test_what_a_turn_had_under_way_is_gone_or_named_when_it_is_interrupted_and_stopped(tmp_path: Path) -> None:
    """A shell that the agent only looks in on: it wrote down its pid, so that nobody has to be believed."""
    poll = "echo $$ > shell.pid; exec sleep 7611"
    async with holding(tmp_path) as held:
        brief = script(bash(poll, run_in_background=True), bash("echo $$ > front.pid; exec sleep 7612"), {"text": "no"})
        run = await held.start("go " + brief)
        answered: set[int] = set()
        while len(answered) < 2:
            view = await held.until(run, lambda v: [one for one in v.decisions if one.id not in answered])
            asked = next(one for one in view.decisions if one.id not in answered)
            answered.add(asked.id)
            await held.do(
                AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
            )
        pids = [wait_until(lambda name=name: read(held.tree / name)) for name in ("shell.pid", "front.pid")]  # type: ignore[misc]
        await held.do(Interrupt(run=run, turn=None))
        await held.until(run, ended(1))
        survivors = [pid for pid in pids if alive(pid)]
        assert isinstance(await held.do(Stop(run=run)), Done)
        await settled(held, run)
        receipt = held.view(run).receipt  # type: ignore[union-attr]
        assert receipt is not None and not receipt.remaining
        assert not any(alive(pid) for pid in pids)
        assert set(survivors) <= {one.pid for one in receipt.ended}, "what lived on until the stop is named"


def read(path: Path) -> int:
    return int(path.read_text() or 0) if path.exists() else 0


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
