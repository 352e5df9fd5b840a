"""Every recorded conversation of both generations, replayed: nothing dropped, nothing doubled, however it is cut."""

import json
from itertools import pairwise
from typing import Any

import pytest

from coordinator.drivers.base import (
    AgentEvent,
    SessionReady,
    TextBlock,
    TextDelta,
    ThoughtBlock,
    ThoughtDelta,
    ToolFinished,
    ToolStarted,
    TurnAccepted,
    TurnResult,
    Unknown,
)
from coordinator.drivers.claude import ClaudeDriver
from store.vocab import TurnResultKind
from tests.drivers.recordings import Step, names, replay, steps, tell, user_lines

SILENT = {
    # comes with every turn; told only when a fact is new
    "system/init",
    "system/status",
    # receipts and repeats of what is known
    "command_lifecycle/queued",
    "command_lifecycle/started",
    "command_lifecycle/completed",
    "command_lifecycle/cancelled",
    "user/replay",
    "user/sub-agent's brief",
    # frames round the deltas; their content comes as a delta or with the finished block
    "stream_event/message_start",
    "stream_event/message_delta",
    "stream_event/message_stop",
    "stream_event/content_block_start",
    "stream_event/content_block_stop",
    "stream_event/input_json_delta",
    "stream_event/signature_delta",
    # only idle is acted on
    "system/session_state_changed",
    # foreground tasks, and ends that another line told
    "system/task_started",
    "system/task_updated",
    "system/task_notification",
    "system/task_progress",
    "system/background_tasks_changed",
    "system/thinking_tokens",
    "system/control_request_progress",
}


def kind_of(line: dict[str, Any]) -> str:
    kind = str(line.get("type"))
    if kind == "stream_event":
        event = line["event"]
        return f"{kind}/{event['delta']['type'] if event['type'] == 'content_block_delta' else event['type']}"
    if kind == "user" and line.get("isReplay"):
        return "user/replay"
    if kind == "user" and line.get("parent_tool_use_id"):
        return "user/sub-agent's brief"
    return f"{kind}/{line.get('subtype') or line.get('state') or ''}".rstrip("/")


def is_known(step: Step) -> bool:
    """Not known: a hook's callback, which we never ask for, and lines whose content the recording left out."""
    line = step.line
    if "_omitted_len" in line:
        return False
    return not (line["type"] == "control_request" and line["request"]["subtype"] != "can_use_tool")


@pytest.mark.parametrize("name", names())
def test_nothing_is_dropped(name: str) -> None:
    driver = ClaudeDriver()
    for step in steps(name):
        tell(driver, step)
        if step.came != "out":
            continue
        events = driver.feed(step.raw())
        unknown = [event for event in events if isinstance(event, Unknown)]
        if is_known(step):
            assert not unknown, step.line
            assert events or kind_of(step.line) in SILENT, f"{kind_of(step.line)} says nothing: {step.line}"
        else:
            assert [json.loads(event.raw) for event in unknown] == [step.line]
    assert not driver.feed_end()


def test_the_recordings_are_all_there() -> None:
    assert len(names()) >= 200
    assert sum(name.endswith("-197.jsonl") for name in names()) > 80
    assert sum(name.endswith("-332.jsonl") for name in names()) > 90


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


@pytest.mark.parametrize("name", [name for name in names() if "size" not in name][::3])
@pytest.mark.parametrize("size", [1, 7, 4096])
def test_the_same_events_however_the_bytes_are_cut(name: str, size: int) -> None:
    whole, pieces = ClaudeDriver(), ClaudeDriver()
    for step in steps(name):
        for driver in (whole, pieces):
            tell(driver, step)
        if step.came == "out":
            expected = list(whole.feed(step.raw()))
            assert [event for piece in cut(step.raw(), size) for event in pieces.feed(piece)] == expected
    assert pieces.snapshot() == whole.snapshot()


@pytest.mark.parametrize("name", names())
def test_a_restored_driver_goes_on_the_same(name: str) -> None:
    """After every line, and in the middle of every line."""
    straight, restored = ClaudeDriver(), ClaudeDriver()
    for step in steps(name):
        for driver in (straight, restored):
            tell(driver, step)
        if step.came != "out":
            continue
        raw = step.raw()
        expected = list(straight.feed(raw))
        got: list[AgentEvent] = list(restored.feed(raw[: len(raw) // 2]))
        restored = again(restored)
        got += restored.feed(raw[len(raw) // 2 :])
        assert got == expected
        restored = again(restored)
    assert restored.snapshot() == straight.snapshot()


def again(driver: ClaudeDriver) -> ClaudeDriver:
    fresh = ClaudeDriver()
    fresh.restore(driver.snapshot())
    return fresh


@pytest.mark.parametrize("name", [name for name in names() if "size2" not in name])  # it lacks a result
def test_costs_add_up(name: str) -> None:
    """What the agent calls each turn's cost is the difference of its totals; the older generation never goes down."""
    results = [event for event in replay(name) if isinstance(event, TurnResult)]
    assert all(result.cumulative is not None for result in results)
    totals = [result.cumulative or 0 for result in results]
    if "-197" in name:
        # A process that dies of a line it cannot read ends with a result of its own, which counts from nothing.
        assert totals == sorted(totals) or (name.startswith("10-unknown") and totals[-1] == 0)
        assert all(result.marginal is None for result in results)
        return
    marginals = [result.marginal for result in results]
    assert None not in marginals or name.startswith("09-resume-missing")
    # A resumed process of the newer generation starts at what was spent before it.
    start = totals[0] - (marginals[0] or 0) if totals else 0
    running = start
    for total, marginal in zip(totals, marginals, strict=True):
        running += marginal or 0
        assert total == running
    assert start == 0 or name.startswith(("09-resume", "09-fork", "13-coststate", "14-b2"))


def test_money_is_whole() -> None:
    costs = [r.cumulative for name in names() for r in replay(name) if isinstance(r, TurnResult)]
    assert 18_000 in costs and 48_000 in costs  # printed as 0.018000000000000002 and 0.047999999999999994
    assert all(cost is None or cost % 10 == 0 for cost in costs)  # the scripted model charges in tens of micro-dollars


@pytest.mark.parametrize("name", [name for name in names() if "size2" not in name])  # it lacks the lines written
def test_a_turn_is_accepted_once_and_before_its_result(name: str) -> None:
    written = [line["uuid"] for step in steps(name) for line in user_lines(step)]
    accepted: list[str] = []
    for event in replay(name):
        if isinstance(event, TurnAccepted):
            assert event.turn not in accepted
            accepted.append(event.turn)
        if isinstance(event, TurnResult) and event.kind is TurnResultKind.SUCCESS:
            assert set(event.turns) <= set(accepted)
    assert set(accepted) <= set(written)
    settled = [turn for event in replay(name) if isinstance(event, TurnResult) for turn in event.turns]
    assert len(settled) == len(set(settled))


@pytest.mark.parametrize("name", names())
def test_blocks_and_calls_meet(name: str) -> None:
    """Deltas carry the key of the block that ends them; every tool result follows its start."""
    deltas: dict[str, str] = {}
    finished: dict[str, str] = {}
    started: set[str] = set()
    for event in replay(name):
        match event:
            case TextDelta() | ThoughtDelta():
                assert event.block not in finished
                deltas[event.block] = deltas.get(event.block, "") + event.text
            case TextBlock() | ThoughtBlock():
                assert event.block not in finished
                finished[event.block] = event.text
            case ToolStarted():
                started.add(event.call)
            case ToolFinished():
                assert event.call in started
    for block, text in deltas.items():
        assert block not in finished or finished[block] == text
    if name.startswith("02-partial"):
        assert deltas and set(deltas) == set(finished)


@pytest.mark.parametrize("name", names())
def test_a_session_is_told_once_and_then_only_news(name: str) -> None:
    ready = [event for event in replay(name) if isinstance(event, SessionReady)]
    assert all(a != b for a, b in pairwise(ready)) or "08-control" in name
