"""Questions and money as they went wrong elsewhere: two answers, three requests, one session in another's way, sums
that differ."""

import asyncio
import json
from pathlib import Path

from coordinator.api import AnswerDecision, Done, Finish, Group, LeaveAll, Said, Say, Stop
from coordinator.drivers.base import Allow, DecisionAsked, DecisionResolved, Deny
from coordinator.drivers.claude import ClaudeDriver
from coordinator.terms import TreeKind
from store import turns
from store.refusal import Refusal
from store.vocab import DecisionState, MicroUsd, RefusalReason, TurnResultKind, TurnState
from tests.coordinator.held import bash, holding, script
from tests.coordinator.weather import settled


def request(number: int, tool_input: dict[str, object]) -> bytes:
    body = {"subtype": "can_use_tool", "tool_name": "Bash", "input": tool_input, "tool_use_id": f"call{number}"}
    return json.dumps({"type": "control_request", "request_id": f"r{number}", "request": body}).encode() + b"\n"


def test_of_three_requests_each_is_answered_by_itself_in_any_order() -> None:
    """One of them with an input of nothing at all, which can be answered too."""
    driver = ClaudeDriver()
    asked = [driver.feed(request(n, {"command": f"echo {n}"} if n < 3 else {})) for n in (1, 2, 3)]
    assert [[type(event) for event in events] for events in asked] == [[DecisionAsked]] * 3
    for number, answer, behavior in ((2, Allow(), "allow"), (3, Deny(message="no"), "deny")):
        sent = driver.answer(f"r{number}", answer)
        body = json.loads(sent)["response"]
        assert (body["request_id"], body["response"]["behavior"]) == (f"r{number}", behavior)
        assert driver.feed(sent) == [DecisionResolved(request=f"r{number}", accepted=True)]
    assert b'"r1"' in driver.farewell() and b'"r2"' not in driver.farewell(), "the first still waits for a person"


async def test_of_two_answers_at_once_one_counts_and_the_other_is_told_whose_did(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("go " + script(bash("echo ran >> ran.txt"), {"text": "done"}))
        view = await held.until(run, lambda v: v.decisions and v.decisions[0].state is DecisionState.OPEN)
        asked = view.decisions[0]
        mine = AnswerDecision(run=run, decision=asked.id, revision=1, payload_hash=asked.payload_hash, answer=Allow())
        replies = await asyncio.gather(held.do(mine), held.do(mine))
        assert sorted(type(one).__name__ for one in replies) == ["Done", "Refusal"], replies
        refused = next(one for one in replies if isinstance(one, Refusal))
        assert refused.reason is RefusalReason.ALREADY_ANSWERED and refused.facts["by"] == "Ada"
        await held.until(run, lambda v: v.turns[0].state is TurnState.SETTLED)
        assert (held.tree / "ran.txt").read_text() == "ran\n"
        await held.do(Stop(run=run, kill=True))


async def test_a_question_here_is_in_the_way_of_nothing_there(tmp_path: Path) -> None:
    """Another run goes from its start to its result meanwhile; a turn for the one that asks waits in sight."""
    async with holding(tmp_path) as held:
        asking = await held.start("go " + script(bash("true"), {"text": "done"}))
        await held.until(asking, lambda v: v.decisions and v.decisions[0].state is DecisionState.OPEN)
        other = await held.start("go " + script({"text": "hello"}), tree_kind=TreeKind.WORKTREE)
        view = await held.until(other, lambda v: v.turns and v.turns[0].state is TurnState.SETTLED)
        assert view.turns[0].result is TurnResultKind.SUCCESS
        said = await held.do(Say(run=asking, text="something else"))
        assert isinstance(said, Said) and said.queued is not None and said.turn is None
        view = await held.until(asking, lambda v: v.queued)
        assert [one.text for one in view.queued] == ["something else"] and len(view.turns) == 1
        assert view.decisions[0].state is DecisionState.OPEN
        assert isinstance(await held.do(Stop(run=asking)), Done)
        await settled(held, asking)
        await held.do(Finish(run=other))
        view = await held.until(other, lambda v: v.outcome is not None)
        assert view.group is Group.ENDED, "what is over waits for nobody"


async def test_what_was_spent_is_one_number_everywhere_and_outlives_the_console(tmp_path: Path) -> None:
    """A result that the agent prints twice is counted once; and no new console forgets a limit that was reached."""
    brief = "go " + script({"text": "dear", "cost": 0.5}, {"do": "duplicate_result"})
    async with holding(tmp_path) as held:
        run = await held.start(brief, budget=MicroUsd(400_000))
        view = await held.until(run, lambda v: v.at_budget)
        spent = await held.coordinator.house.ledger.read(lambda tx: turns.spend(tx, run))
        assert view.budget.spent == spent.money == sum(one.cost or 0 for one in view.turns) == 500_000
        await held.do(LeaveAll())
    async with holding(tmp_path) as held:
        view = await held.until(run, lambda v: v.at_budget)
        assert view.budget.spent == 500_000
        refused = await held.do(Say(run=run, text="more"))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.BUDGET_EXHAUSTED
        await held.do(Stop(run=run, kill=True))
        await settled(held, run)
