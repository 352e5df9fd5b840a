"""Every recorded conversation on the Agent Client Protocol, replayed: nothing dropped, nothing doubled, however cut."""

import json
from typing import Any

import pytest

from coordinator.drivers.acp import AcpDriver
from coordinator.drivers.base import (
    AgentEvent,
    CannotStart,
    ControlAcked,
    DecisionAsked,
    DecisionResolved,
    DecisionWithdrawn,
    OfferKind,
    PlanUpdated,
    Reply,
    SessionReady,
    TextBlock,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnAccepted,
    TurnResult,
    Unknown,
    Usage,
)
from store.vocab import DecisionKind, FailureKind, TurnResultKind
from tests.drivers.acp_recordings import Told, names, replay, started, steps, tell

SILENT = {
    # said as a part of another event, or already known
    "usage_update",
    "session_info_update",
    "config_option_update",
    "available_commands_update",
    "user_message_chunk",
    # a call is told when it is whole, and ends once; an empty piece carries numbers only
    "tool_call/pending",
    "tool_call/in_progress",
    "tool_call_update/in_progress",
    "tool_call_update/None",
    "agent_message_chunk/empty",
    # the agents' own
    "_auth/status_update",
    "qwen/notify/session/mode-update",
    "$/cancel_request",
}
TURNS = [name for name in names() if name != "openhands"]
CANCELS = [name for name in names() if name.endswith("-cancel")]
BASIC = [name for name in TURNS if not name.endswith("-cancel")]


def kind_of(line: dict[str, Any]) -> str:
    update = line.get("params", {}).get("update", {})
    kind = update.get("sessionUpdate")
    if kind is None:
        return str(line.get("method"))
    if kind.startswith("tool_call"):
        return f"{kind}/{update.get('status')}"
    return f"{kind}/empty" if kind.endswith("_chunk") and update["content"].get("text") == "" else kind


@pytest.mark.parametrize("name", names())
def test_nothing_is_dropped(name: str) -> None:
    driver = started()
    for step in steps(name):
        tell(driver, step)
        if step.came == "out":
            events = driver.feed(step.raw())
            assert not [event for event in events if isinstance(event, Unknown)], step.line
            assert events or kind_of(step.line) in SILENT, step.line
    assert not driver.feed_end()


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_the_same_events_however_the_bytes_are_cut(size: int) -> None:
    for name in names():
        whole, pieces = started(), started()
        for step in steps(name)[:60]:
            for driver in (whole, pieces):
                tell(driver, step)
            if step.came == "out":
                raw = step.raw()
                expected = list(whole.feed(raw))
                assert [e for i in range(0, len(raw), size) for e in pieces.feed(raw[i : i + size])] == expected
        assert pieces.snapshot() == whole.snapshot()


@pytest.mark.parametrize("name", names())
def test_a_restored_driver_goes_on_the_same(name: str) -> None:
    """After every line, and in the middle of every line."""
    straight, restored = started(), started()
    for step in steps(name):
        for driver in (straight, restored):
            tell(driver, step)
        if step.came != "out":
            continue
        raw = step.raw()
        got: list[AgentEvent] = list(restored.feed(raw[: len(raw) // 2]))
        restored = again(restored)
        got += restored.feed(raw[len(raw) // 2 :])
        assert got == list(straight.feed(raw))
        restored = again(restored)
    assert restored.snapshot() == straight.snapshot()


def again(driver: AcpDriver) -> AcpDriver:
    fresh = started()
    fresh.restore(driver.snapshot())
    return fresh


@pytest.mark.parametrize("name", names())
def test_who_reads_it_again_without_having_written_reads_the_same(name: str) -> None:
    """A console that takes over, and ``verify``, know of what was written only the turns."""
    writer, reader = started("a"), started("b")
    for step in steps(name):
        tell(writer, step)
        if step.came == "in" and step.line.get("method") == "session/prompt":
            tell(reader, step)
        if step.came == "out":
            assert list(reader.feed(step.raw())) == list(writer.feed(step.raw())), step.line


@pytest.mark.parametrize("name", names())
def test_what_the_host_wrote_is_what_the_driver_writes(name: str) -> None:
    driver = started()
    for step in steps(name):
        data = tell(driver, step)
        if data is not None:
            written = [json.loads(row) for row in data.splitlines()]
            if step.line.get("method") == "session/cancel":
                # That host left requests open; here they are answered in the same breath.
                assert written[0] == step.line
                assert all(row["result"] == {"outcome": {"outcome": "cancelled"}} for row in written[1:])
            elif name != "qwen" or step.line["id"] != 3:  # that host sent its questions back without answers
                assert written == [step.line]
        if step.came == "out":
            driver.feed(step.raw())


@pytest.mark.parametrize("name", TURNS)
def test_turns_are_accepted_once_and_settled_once(name: str) -> None:
    told = replay(name)
    written = [
        step.line["id"].removeprefix("turn-") for step in steps(name) if step.line.get("method") == "session/prompt"
    ]
    accepted = [event.turn for event in told.of(TurnAccepted)]
    settled = [turn for event in told.of(TurnResult) for turn in event.turns]
    assert len(accepted) == len(set(accepted)) and set(accepted) <= set(written)
    # One of them never answers a second prompt that comes while it works; here none is sent then.
    assert len(settled) == len(set(settled)) and set(settled) >= set(written[:-2])
    for event in told.of(TurnResult):
        if event.kind is TurnResultKind.SUCCESS and not name.endswith("-cancel"):
            assert event.turns[0] in accepted


@pytest.mark.parametrize("name", TURNS)
def test_blocks_and_calls_meet(name: str) -> None:
    told = replay(name)
    pieces: dict[str, str] = {}
    for event in told.of(TextDelta):
        pieces[event.block] = pieces.get(event.block, "") + event.text
    assert pieces == {event.block: event.text for event in told.of(TextBlock)}
    calls = [event.call for event in told.of(ToolStarted)]
    ended = [event.call for event in told.of(ToolFinished)]
    assert len(calls) == len(set(calls)) and len(ended) == len(set(ended)) and set(ended) <= set(calls)


@pytest.mark.parametrize("name", TURNS)
def test_it_works_in_the_mode_that_asks_a_person(name: str) -> None:
    """Said to each agent in its own word before it is ready, whatever mode it says it is in."""
    told = replay(name)
    ready = next(n for n, event in enumerate(told.events) if isinstance(event, SessionReady))
    wanted = {"vibe": "ask", "opencode": "build", "codex-acp": "read-only", "zed-codex-acp": "read-only"}
    agent = name.removesuffix("-cancel")
    if agent == "fast-agent":  # it has one mode, in which nobody is asked, and a notice says so
        assert "hs-mode" not in told.replies
        return
    asked = next(n for n, event in enumerate(told.events) if isinstance(event, Reply) and event.id == "hs-mode")
    params = json.loads(told.replies["hs-mode"])["params"]
    assert asked < ready and params.get("modeId", params.get("value")) == wanted.get(agent, "default")
    assert told.events[ready].mode == "ask"  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [name for name in BASIC if name != "fast-agent"])
def test_permissions_show_what_would_be_done(name: str) -> None:
    asked = [event for event in replay(name).of(DecisionAsked) if event.kind is DecisionKind.PERMISSION]
    subjects = [event.subject for event in asked]
    assert subjects[0] == "touch made.txt && echo hi" and subjects[-1] == "touch no.txt"
    assert asked[0].title == "Run a command?" and asked[0].tool == "execute"
    edits = [event for event in asked if event.tool == "edit"]
    assert all("+hello" in event.subject for event in edits)
    for event in asked:
        kinds = [offer.kind for offer in event.offers]
        assert kinds.count(OfferKind.ALLOW) == 1 and {OfferKind.DENY, OfferKind.DENY_STOP} & set(kinds)


def test_only_what_ends_with_the_run_is_offered_for_the_run() -> None:
    """Options that write a rule to a file, or end being asked, are left out; what stays says what it covers."""
    offered: dict[str, set[tuple[str, str]]] = {}
    for name in BASIC:
        for event in replay(name).of(DecisionAsked):
            for offer in event.offers:
                if offer.kind is OfferKind.ALLOW_RUN:
                    offered.setdefault(name, set()).add((offer.id, offer.covers))
    assert offered == {
        "gemini": {("proceed_always", "Allow for this session")},
        "opencode": {("always", "Always allow")},
        "vibe": {("allow_always", "touch *"), ("allow_always", "Allow for remainder of this session")},
    }


def test_every_request_is_over_with_its_turn() -> None:
    for name in names():
        told = replay(name)
        asked = [event.request for event in told.of(DecisionAsked)]
        over = [event.request for event in told.of(DecisionResolved, DecisionWithdrawn)]
        assert sorted(asked) == sorted(over)


@pytest.mark.parametrize("name", CANCELS)
def test_a_cancel_is_heard_with_the_result(name: str) -> None:
    told = replay(name)
    results = told.of(TurnResult)
    interrupted = [event for event in results if event.kind is TurnResultKind.INTERRUPTED]
    assert interrupted
    acked = [event.id for event in told.of(ControlAcked)]
    assert acked == [f"cancel-{event.turns[0]}" for event in interrupted]
    # What an agent says of a turn that was cut off before it counted anything is not "nothing".
    assert not [event for event in interrupted if event.usage.output_tokens == 0 or event.marginal == 0]


def test_costs_are_the_differences_of_what_the_session_has_cost() -> None:
    told = {name: replay(name).of(TurnResult) for name in ("opencode", "vibe", "claude-agent-acp", "gemini")}
    assert [event.marginal for event in told["opencode"]][:3] == [3_974, 1_990, 3_986]
    assert sum(event.marginal or 0 for event in told["vibe"]) == 25_126
    assert sum(event.marginal or 0 for event in told["claude-agent-acp"]) == 65_331
    assert {event.marginal for event in told["gemini"]} == {None}
    assert all(event.cumulative is None and not event.estimated for events in told.values() for event in events)


def test_usage_is_the_turns_own_whatever_the_agent_counts() -> None:
    def used(name: str) -> list[Usage]:
        return [event.usage for event in replay(name).of(TurnResult)][:2]

    turn = Usage(input_tokens=2003, output_tokens=100, cache_read_tokens=800)
    assert used("vibe") == [turn, Usage(input_tokens=1004, output_tokens=50, cache_read_tokens=400)]
    # The last call of the model alone: of a turn with a tool in it, more was used than is told.
    assert used("opencode") == [Usage(), Usage(input_tokens=645, output_tokens=43, cache_read_tokens=400)]
    assert used("qwen")[0] == Usage(input_tokens=2478, output_tokens=100, cache_read_tokens=800)
    assert used("gemini") == [Usage(input_tokens=2117, output_tokens=100), Usage(input_tokens=1061, output_tokens=50)]
    assert used("zed-codex-acp") == [Usage(), Usage()]


@pytest.mark.parametrize("name", BASIC)
def test_a_failed_turn_says_why(name: str) -> None:
    results = replay(name).of(TurnResult)
    if name == "opencode":  # it calls again for minutes, and says nothing
        return
    failed = results[-1]
    assert failed.kind is TurnResultKind.ERROR and "fake error" in failed.failure_text
    assert failed.failure in (FailureKind.UNKNOWN, FailureKind.TRANSIENT)
    assert all(event.kind is not TurnResultKind.ERROR for event in results[:-1])


def test_questions_and_plans_come_from_where_each_agent_puts_them() -> None:
    for name in ("claude-agent-acp", "qwen"):
        (asked,) = [event for event in replay(name).of(DecisionAsked) if event.kind is DecisionKind.QUESTION]
        assert asked.subject == "Which colour?" and [c.label for c in asked.questions[0].choices] == ["Red", "Blue"]
    assert [event.items for event in replay("zed-codex-acp").of(PlanUpdated)] == [
        (("active", "one"), ("pending", "two"))
    ]
    assert [event.items for event in replay("opencode").of(PlanUpdated)] == [(("active", "one"),)]


def test_one_that_is_signed_out_says_so() -> None:
    told: Told = replay("openhands")
    (no,) = told.of(CannotStart)
    assert no.failure is FailureKind.AUTHENTICATION and "OAuth with OpenHands Cloud" in no.text
    assert not told.of(SessionReady)
