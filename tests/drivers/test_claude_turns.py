"""Turns: which one a line belongs to, how it ended, and what the agent begins by itself, in both generations."""

import json
from typing import Any

import pytest

from coordinator.drivers.base import (
    AgentEvent,
    BackgroundChanged,
    Compacted,
    ContextUsage,
    ControlAcked,
    ConversationChanged,
    DecisionAsked,
    DecisionResolved,
    Idle,
    LimitNotice,
    ModeChanged,
    ModelChanged,
    Notice,
    PlanUpdated,
    RetryNotice,
    SessionReady,
    TextBlock,
    ToolFinished,
    TurnAccepted,
    TurnBegunByAgent,
    TurnResult,
)
from coordinator.drivers.claude import ClaudeDriver
from store.vocab import FailureKind, TurnId, TurnResultKind
from tests.drivers.recordings import replay

BOTH = pytest.mark.parametrize("generation", ["197", "332"])


def of(events: list[AgentEvent], *kinds: type) -> list[Any]:
    return [event for event in events if isinstance(event, kinds)]


def results(name: str) -> list[TurnResult]:
    return of(replay(name), TurnResult)


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def say(driver: ClaudeDriver, **fields: Any) -> list[AgentEvent]:
    return list(driver.feed(line(**fields)))


FAILURES = [
    ("401", FailureKind.AUTHENTICATION),
    ("403", FailureKind.AUTHENTICATION),
    ("nokey", FailureKind.AUTHENTICATION),
    ("400credit", FailureKind.BILLING),
    ("400", FailureKind.REFUSED),
    ("413", FailureKind.REFUSED),
    ("404model", FailureKind.MODEL_NOT_FOUND),
    ("toolong", FailureKind.CONTEXT_FULL),
    ("429", FailureKind.RATE_LIMITED),
    ("500", FailureKind.TRANSIENT),
    ("html502", FailureKind.TRANSIENT),
    ("529", FailureKind.OVERLOADED),
    ("refused", FailureKind.TRANSIENT),
]


@BOTH
@pytest.mark.parametrize(("what", "kind"), FAILURES)
def test_failures_have_their_kind(generation: str, what: str, kind: FailureKind) -> None:
    """All of them call themselves ``success``; most live on, and the next turn works."""
    first, *rest = results(f"06-fail-{what}-{generation}.jsonl")
    assert (first.kind, first.subtype, first.failure) == (TurnResultKind.ERROR, "success", kind)
    assert first.failure_text
    assert all(r.failure is None and r.kind is TurnResultKind.SUCCESS for r in rest if r.text == "alive")


@BOTH
def test_a_limit_tells_when_it_ends(generation: str) -> None:
    events = replay(f"13-oauth-{generation}.jsonl")
    assert [(n.status, n.kind, n.resets_at) for n in of(events, LimitNotice)] == [
        ("warning", "five_hour", 1795966088),
        ("rejected", "five_hour", 1795966088),
    ]
    last = of(events, TurnResult)[-1]
    assert (last.failure, last.resets_at) == (FailureKind.RATE_LIMITED, 1795966088)


@BOTH
def test_retries_are_told(generation: str) -> None:
    retries = of(replay(f"06-fail-401-{generation}.jsonl"), RetryNotice)
    assert [(r.attempt, r.of, r.why) for r in retries] == [(n, 2, "authentication_failed (401)") for n in (1, 2)]
    assert all(0 < r.wait_seconds < 5 for r in retries)


@BOTH
def test_caps_have_their_kind(generation: str) -> None:
    budget = [r for r in results(f"09-budget-{generation}.jsonl") if r.failure is FailureKind.BUDGET]
    assert budget and all(r.subtype == "error_max_budget_usd" for r in budget)
    assert FailureKind.MAX_TURNS in [r.failure for r in results(f"09-maxturns-{generation}.jsonl")]


@BOTH
@pytest.mark.parametrize("name", ["04-stop-interrupt", "04-stop-SIGINT", "13-intstream", "17-end-stall"])
def test_an_interrupt_is_no_failure(generation: str, name: str) -> None:
    interrupted = [r for r in results(f"{name}-{generation}.jsonl") if r.kind is TurnResultKind.INTERRUPTED]
    assert interrupted and all(r.failure is None for r in interrupted)


@BOTH
def test_lines_that_the_agent_merged_have_one_result(generation: str) -> None:
    events = replay(f"07-queue-{generation}.jsonl")
    assert [len(r.turns) for r in of(events, TurnResult)][:4] == [1, 1, 1, 2]
    doubled = [n.text for n in of(events, Notice) if "had this message before" in n.text]
    assert doubled  # the line with an id used before: an echo and nothing else
    settled = [turn for r in of(events, TurnResult) for turn in r.turns]
    assert len(settled) == len(set(settled))


def test_a_line_taken_from_the_queue_is_settled_without_cost() -> None:
    cancelled, running = results("14-cq-332.jsonl")
    assert (cancelled.kind, cancelled.subtype, cancelled.marginal) == (TurnResultKind.INTERRUPTED, "cancelled", 0)
    assert running.kind is TurnResultKind.INTERRUPTED and running.cumulative == 4020
    assert set(cancelled.turns).isdisjoint(running.turns)


@BOTH
@pytest.mark.parametrize("name", ["11-bgbash", "11-bgagent"])
def test_the_agent_wakes_by_itself(generation: str, name: str) -> None:
    events = replay(f"{name}-{generation}.jsonl")
    assert of(events, TurnBegunByAgent)[-1].why == "background task ended"
    assert of(events, TurnResult)[-1].by_agent and of(events, TurnResult)[-1].turns == ()
    begins = [i for i, e in enumerate(events) if isinstance(e, TurnBegunByAgent)]
    assert events.index(of(events, TurnResult)[0]) < begins[-1] < len(events) - 1
    states = [[t.state for t in e.tasks] for e in of(events, BackgroundChanged)]
    assert states == [["running"], ["done"]]


def test_a_killed_background_task_is_stopped() -> None:
    for name in ("11-bgbash-stop-332.jsonl", "11-bgbash-stop-197.jsonl"):
        states = [[t.state for t in e.tasks] for e in of(replay(name), BackgroundChanged)]
        assert states[0] == ["running"] and ["stopped"] in states


@BOTH
def test_clear_changes_the_conversation(generation: str) -> None:
    events = replay(f"13-slash-{generation}.jsonl")
    first = next(e.native_id for e in of(events, SessionReady) if e.native_id)
    (changed,) = of(events, ConversationChanged)
    assert changed.native_id != first
    # Local commands are notices, not the agent's words.
    assert any("Context Usage" in e.text for e in of(events, Notice))
    assert all("Context Usage" not in e.text for e in of(events, TextBlock))


def test_compaction() -> None:
    events = replay("13-slash-332.jsonl")
    (compacted,) = of(events, Compacted)
    assert (compacted.before, compacted.after) == (1100, 2525)
    assert ContextUsage(used=2525, size=1000000) in events


@BOTH
def test_session_facts(generation: str) -> None:
    events = replay(f"02-initialize-{generation}.jsonl")
    ready = of(events, SessionReady)[0]
    assert ready.agent_pid and ready.commands and ready.models and ready.signed_in is True
    versions = {e.version for e in of(replay(f"01-three-turns-{generation}.jsonl"), SessionReady)}
    assert versions == {f"2.1.{generation}"}
    assert len(of(replay(f"01-three-turns-{generation}.jsonl"), SessionReady)) == 1


@BOTH
def test_controls_are_acknowledged(generation: str) -> None:
    events = replay(f"08-control-{generation}.jsonl")
    acks = of(events, ControlAcked)
    assert any(not a.ok and "bypassPermissions" in a.detail["error"] for a in acks)
    assert ModeChanged(mode="acceptEdits") in events
    assert any(isinstance(e, ModelChanged) for e in events)
    assert next(ClaudeDriver("x").cost_told(a) for a in acks if "session" in a.detail) in (12_000, 15_000)


def test_idle_is_told() -> None:
    assert of(replay("13-state-332.jsonl"), Idle)


@BOTH
def test_sub_agents_speak_under_their_call(generation: str) -> None:
    events = replay(f"11-task-{generation}.jsonl")
    inner = [e for e in of(events, ToolFinished) if e.parent]
    outer = [e for e in of(events, ToolFinished) if not e.parent]
    assert len(inner) == 1 and inner[0].parent == outer[0].call
    assert "sub done" in outer[0].output  # a list of blocks


def test_acceptance_without_any_sign_but_the_answer() -> None:
    driver = ClaudeDriver()
    driver.turn(TurnId("t1"), "hi")
    message = {"id": "m", "model": "x", "content": [{"type": "text", "text": "a"}], "usage": {}}
    assert say(driver, type="assistant", message=message)[0] == TurnAccepted(turn=TurnId("t1"))
    assert not of(say(driver, type="user", isReplay=True, uuid="t1", message={"content": "hi"}), TurnAccepted)
    (result,) = say(driver, type="result", subtype="success", is_error=False, total_cost_usd=0.1)
    assert isinstance(result, TurnResult) and result.turns == ("t1",) and result.cumulative == 100_000


def test_acceptance_by_the_result_alone() -> None:
    driver = ClaudeDriver()
    driver.turn(TurnId("t1"), "/clear")
    events = say(driver, type="result", subtype="success", is_error=False, total_cost_usd=0)
    assert [type(e) for e in events] == [TurnAccepted, TurnResult]


def started_assistant(driver: ClaudeDriver) -> list[AgentEvent]:
    message = {"id": "m", "model": "x", "content": [{"type": "text", "text": "a"}], "usage": {}}
    return say(driver, type="assistant", message=message)


def test_a_turn_that_waits_is_not_taken_for_the_agents_own() -> None:
    """The agent wakes by itself just when our line was written: its result must not settle ours."""
    newer, older = ClaudeDriver(), ClaudeDriver()
    say(newer, type="system", subtype="init", session_id="s", capabilities=["msg_lifecycle_v1"])
    for driver in (newer, older):
        driver.turn(TurnId("t1"), "hi")
    assert of(started_assistant(newer), TurnBegunByAgent) and not of(started_assistant(newer), TurnAccepted)
    started_assistant(older)
    for driver in (newer, older):
        own = {"kind": "task-notification"}
        (result,) = of(
            say(driver, type="result", subtype="success", is_error=False, total_cost_usd=0, origin=own), TurnResult
        )
        assert result.turns == () and result.by_agent
        echo = say(driver, type="user", isReplay=True, uuid="t1", message={"content": "hi"})
        assert of(echo, TurnAccepted) == [TurnAccepted(turn=TurnId("t1"))]
        (result,) = of(say(driver, type="result", subtype="success", is_error=False, total_cost_usd=0), TurnResult)
        assert result.turns == ("t1",) and not result.by_agent


def test_a_turn_told_again_after_a_restart_changes_nothing() -> None:
    driver = ClaudeDriver()
    first = driver.turn(TurnId("t1"), "hi")
    state = driver.snapshot()
    assert driver.turn(TurnId("t1"), "hi") == first and driver.snapshot() == state


def todo(status: str, content: str) -> dict[str, str]:
    return {"status": status, "content": content, "activeForm": "doing"}


def use(name: str, call: str, tool_input: dict[str, Any], parent: str | None = None) -> bytes:
    block = {"type": "tool_use", "id": call, "name": name, "input": tool_input}
    return line(type="assistant", message={"id": "m" + call, "content": [block]}, parent_tool_use_id=parent)


def done(call: str, output: Any, detail: Any = None) -> bytes:
    block = {"type": "tool_result", "tool_use_id": call, "content": output}
    return line(type="user", message={"role": "user", "content": [block]}, tool_use_result=detail)


def test_plans_from_todos_and_task_tools() -> None:
    driver = ClaudeDriver()
    todos = {"todos": [todo("completed", "a"), todo("in_progress", "b"), todo("pending", "c")]}
    assert not of(list(driver.feed(use("TodoWrite", "1", todos))), PlanUpdated)
    (plan,) = of(list(driver.feed(done("1", "Todos have been modified"))), PlanUpdated)
    assert plan.items == (("done", "a"), ("active", "b"), ("pending", "c"))
    driver.feed(use("TodoWrite", "2", todos, parent="1"))
    assert not of(list(driver.feed(done("2", "Todos have been modified"))), PlanUpdated)

    driver = ClaudeDriver()
    driver.feed(use("TaskCreate", "3", {"subject": "one", "description": "d"}))
    (plan,) = of(list(driver.feed(done("3", "Task #1 created successfully: one", {"task": {"id": "1"}}))), PlanUpdated)
    assert plan.items == (("pending", "one"),)
    driver.feed(use("TaskUpdate", "4", {"taskId": "1", "status": "in_progress"}))
    (plan,) = of(list(driver.feed(done("4", "Updated task #1 status"))), PlanUpdated)
    assert plan.items == (("active", "one"),)
    driver.feed(use("TaskUpdate", "5", {"taskId": "1", "status": "deleted"}))
    (plan,) = of(list(driver.feed(done("5", "Updated"))), PlanUpdated)
    assert plan.items == ()


def test_results_that_are_no_text_are_named() -> None:
    driver = ClaudeDriver()
    driver.feed(use("Read", "1", {"file_path": "/x"}))
    content = [{"type": "text", "text": "a"}, {"type": "image", "source": {}}, "b", 3]
    (finished,) = of(list(driver.feed(done("1", content))), ToolFinished)
    assert finished.output == "a\n[image]\nb\n3"


def test_server_tools() -> None:
    driver = ClaudeDriver()
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": [{"type": "web_search_result", "title": "T", "url": "u"}],
        },
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
        },
    ]
    events = say(driver, type="assistant", message={"id": "m", "content": blocks})
    assert [(e.ok, e.output) for e in of(events, ToolFinished)] == [(True, "T u"), (False, "unavailable")]


@BOTH
def test_our_own_way_of_starting_it(generation: str) -> None:
    """Recorded through this driver: echo, partial messages and questions all on at once."""
    events = replay(f"20-driver-{generation}.jsonl")
    assert not of(events, TurnBegunByAgent)
    ends = of(events, TurnResult)
    assert [len(r.turns) for r in ends] == [1] * len(ends)
    assert [r.kind for r in ends[-2:]] == [TurnResultKind.INTERRUPTED] * 2
    answered = next(e for e in of(events, ToolFinished) if "Which color?" in e.output)
    assert "Blue (note: but gently)" in answered.output
    assert ModeChanged(mode="acceptEdits") not in events
    literal = [e for e in of(events, TextBlock) if e.text == "literal"]
    assert len(literal) == 2
    plans = [e.items for e in of(events, PlanUpdated)]
    assert plans == ([(("pending", "one"),), (("active", "one"),)] if generation == "197" else [])


@BOTH
def test_clear_does_not_forget_what_was_spent(generation: str) -> None:
    """The newer generation starts ``total_cost_usd`` at nothing again with ``/clear``."""
    events = replay(f"21-woken-{generation}.jsonl")
    totals = [r.cumulative for r in of(events, TurnResult)]
    assert totals == sorted(totals) and totals[-1] == (78_000 if generation == "332" else 97_500)


@BOTH
def test_wakes_with_everything_on(generation: str) -> None:
    events = replay(f"21-woken-{generation}.jsonl")
    assert [e.why for e in of(events, TurnBegunByAgent)] == ["background task ended"] * 2
    assert [r.turns == () for r in of(events, TurnResult) if r.by_agent] == [True, True]
    asked = next(e for e in of(events, DecisionAsked) if e.tool == "Bash")
    assert asked.agent and asked.request in {e.request for e in of(events, DecisionResolved) if e.accepted}


def test_a_total_that_falls_for_no_reason_is_passed_on() -> None:
    driver = ClaudeDriver()
    for cost in (0.5, 0.1):
        (result,) = of(say(driver, type="result", subtype="success", is_error=False, total_cost_usd=cost), TurnResult)
    assert result.cumulative == 100_000
