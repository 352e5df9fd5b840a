"""The Agent Client Protocol line by line: beginning, modes, turns, tools and plans that no recording shows."""

import json
from typing import Any

import pytest

from coordinator.drivers.base import (
    AgentEvent,
    CannotStart,
    Chosen,
    ContextUsage,
    ControlAcked,
    Image,
    ModeChanged,
    ModelChanged,
    Notice,
    PlanUpdated,
    ProtocolFault,
    Reply,
    SessionReady,
    TextBlock,
    ToolFinished,
    ToolStarted,
    TurnAccepted,
    TurnBegunByAgent,
    TurnResult,
)
from store.vocab import FailureKind, ImageType, TurnId, TurnResultKind
from tests.drivers.acp_scene import MODELS, MODES, WENT_ON, Json, Scene, asked_for, of

# ---------------------------------------------------------------------------------------------------------- beginning


def test_the_handshake_step_by_step() -> None:
    scene = Scene(extra_args=("--acp",), model="Large", agent="mine")
    assert scene.argv == ("/bin/agent", "--acp")
    (first,) = scene.driver.opening()
    line = json.loads(first.data)
    assert (line["id"], line["method"]) == ("hs-initialize", "initialize")
    can = line["params"]["clientCapabilities"]
    assert can["fs"] == {"readTextFile": False, "writeTextFile": False} and can["terminal"] is False
    assert asked_for(scene.hello()) == {"hs-session": ("session/new", {"cwd": "/tree", "mcpServers": []})}
    events = scene.session(modes=MODES, models=MODELS)
    assert asked_for(events) == {
        "hs-mode": ("session/set_mode", {"sessionId": "s1", "modeId": "default"}),
        "hs-model": ("session/set_model", {"sessionId": "s1", "modelId": "large-2"}),
    }
    assert not of(scene.done("hs-model"), SessionReady)
    (ready,) = scene.done("hs-mode")
    assert isinstance(ready, SessionReady)
    assert (ready.native_id, ready.mode, ready.model, ready.version) == ("s1", "ask", "large-2", "1.2.3")
    assert ready.models == (("small", "Small"), ("large-2", "Large"))


def test_modes_and_models_that_are_options_are_set_as_such() -> None:
    choices = [
        {
            "id": "agent",
            "category": "mode",
            "currentValue": "build",
            "options": [{"value": "build"}, {"value": "plan"}],
        },
        {"id": "llm", "category": "model", "options": [{"name": "group", "options": [{"value": "a/b", "name": "B"}]}]},
    ]
    scene = Scene(model="B", mode="plan")
    scene.hello("OpenCode")
    assert asked_for(scene.session(configOptions=choices)) == {
        "hs-mode": ("session/set_config_option", {"sessionId": "s1", "configId": "agent", "value": "plan"}),
        "hs-model": ("session/set_config_option", {"sessionId": "s1", "configId": "llm", "value": "a/b"}),
    }


@pytest.mark.parametrize(
    ("can", "fork", "method"),
    [
        ({"sessionCapabilities": {"resume": {}}}, False, "session/resume"),
        ({}, False, "session/load"),
        ({"loadSession": False}, False, None),
        ({"sessionCapabilities": {"fork": {}}}, True, "session/fork"),
        ({}, True, None),
    ],
)
def test_a_conversation_goes_on_as_the_agent_can(can: Json, fork: bool, method: str | None) -> None:
    scene = Scene(session="old", resume=True, fork=fork)
    events = scene.hello(**can)
    if method is None:
        (no,) = events
        assert isinstance(no, CannotStart) and no.failure is FailureKind.REFUSED
        return
    params = {"sessionId": "old", "cwd": "/tree", "mcpServers": []}
    assert asked_for(events) == {"hs-session": (method, params)}
    # What it tells until it answers is the past.
    assert not scene.update("agent_message_chunk", content={"type": "text", "text": "long ago"})
    assert not scene.update("tool_call", toolCallId="x", status="completed", title="old")
    scene.update("usage_update", used=9, size=10, cost={"amount": 2.5, "currency": "USD"})
    events = scene.feed({"id": "hs-session copy old", "result": {"sessionId": "new"}} if fork else {**WENT_ON})
    if fork:
        assert of(events, SessionReady)[0].native_id == "new"
        return
    assert asked_for(events)["hs-mode"][1]["modeId"] == "default"
    assert of(scene.done("hs-mode"), SessionReady)[0].native_id == "old"
    scene.turn()
    scene.update("usage_update", used=9, size=10, cost={"amount": 2.75, "currency": "USD"})
    (result,) = of(scene.feed({"id": "turn-t1", "result": {"stopReason": "end_turn"}}), TurnResult)
    assert result.marginal == 250_000


@pytest.mark.parametrize(
    ("step", "error", "failure", "said"),
    [
        ("hs-initialize", {"code": -32600, "message": "no"}, FailureKind.UNKNOWN, "no"),
        ("hs-session", {"code": -32000, "message": "Authentication required"}, FailureKind.AUTHENTICATION, "Auth"),
        ("hs-session", {"code": -32603, "message": "Internal error", "data": "disk"}, FailureKind.UNKNOWN, "disk"),
        ("hs-mode", {"code": -32602, "message": "Invalid params"}, FailureKind.REFUSED, "mode ask: Invalid"),
        ("hs-model", {"code": -32602, "message": "Invalid params"}, FailureKind.MODEL_NOT_FOUND, "small, large-2"),
    ],
)
def test_a_no_to_any_step_is_the_reason(step: str, error: Json, failure: FailureKind, said: str) -> None:
    scene = Scene(model="enormous")
    if step != "hs-initialize":
        scene.hello()
    if step in ("hs-mode", "hs-model"):
        scene.session(modes=MODES, models=MODELS)
    (no,) = scene.done(step, error)
    assert isinstance(no, CannotStart) and no.failure is failure and said in no.text


def test_one_that_is_known_to_be_broken_or_speaks_another_version_is_not_held() -> None:
    (no,) = Scene().hello("@zed-industries/claude-agent-acp", "0.23.1")
    assert isinstance(no, CannotStart) and "one message late" in no.text
    (no,) = Scene().feed({"id": "hs-initialize", "result": {"protocolVersion": 2}})
    assert isinstance(no, CannotStart) and "version 2" in no.text


def test_an_agent_whose_modes_ask_nobody_is_held_with_a_word_of_warning() -> None:
    modes = {"currentModeId": "go", "availableModes": [{"id": "go", "name": "Go"}]}
    scene = Scene()
    scene.hello()
    notice, ready = scene.session(modes=modes)
    assert isinstance(notice, Notice) and "known to ask" in notice.text and isinstance(ready, SessionReady)
    other = Scene(mode="plan")
    other.hello()
    (no,) = other.session(modes=modes)
    assert isinstance(no, CannotStart) and "only plans" in no.text


def test_what_is_known_of_an_agent_narrows_what_it_can_do() -> None:
    able = Scene(agent="gemini").driver.capabilities
    assert (able.resumes, able.cost_note, able.modes) == (False, "", ("ask", "plan"))
    assert Scene(agent="opencode").driver.capabilities.cost_note
    assert Scene(agent="vibe").driver.capabilities.modes == ("ask",)
    assert "bash" in Scene(agent="opencode").driver.environment()[0]["OPENCODE_PERMISSION"]
    assert Scene(agent="mine").driver.environment() == ({}, frozenset())
    scene = Scene()
    scene.hello(promptCapabilities={"image": False})
    assert scene.driver.capabilities.takes_images is False


# ------------------------------------------------------------------------------------------------------ mode and model


def test_it_is_not_left_in_a_mode_in_which_nobody_is_asked() -> None:
    scene = Scene().ready()
    events = scene.update("current_mode_update", currentModeId="acceptEdits")
    assert of(events, ModeChanged) == [ModeChanged(mode="acceptEdits")] and of(events, Notice)
    assert asked_for(events) == {"ask-again-1": ("session/set_mode", {"sessionId": "s1", "modeId": "default"})}
    assert scene.done("ask-again-1") == [ModeChanged(mode="ask")]
    assert scene.update("current_mode_update", currentModeId="plan") == [ModeChanged(mode="plan")]
    scene.update("current_mode_update", currentModeId="auto")
    assert of(scene.done("ask-again-2", {"code": -1, "message": "no"}), ProtocolFault), "it would stay there"
    faults: list[AgentEvent] = []
    for n in range(3, 30):
        faults += of(scene.update("current_mode_update", currentModeId="auto"), ProtocolFault)
        scene.done(f"ask-again-{n}")
    assert faults, "it goes there again and again"


@pytest.mark.parametrize("how", ["notice", "answer"])
def test_it_is_not_ready_in_a_mode_that_it_went_into_while_its_model_was_set(how: str) -> None:
    scene = Scene(model="Large")
    scene.hello()
    scene.session(modes=MODES, models=MODELS)
    assert scene.done("hs-mode") == []
    if how == "notice":
        scene.update("current_mode_update", currentModeId="auto")
        events = scene.done("hs-model")
    else:
        choice = {"id": "mode", "currentValue": "auto", "options": [{"value": "auto"}]}
        events = scene.feed({"id": "hs-model", "result": {"configOptions": [choice]}})
    assert of(events, SessionReady) == []
    assert asked_for(events) == {"hs-mode-1": ("session/set_mode", {"sessionId": "s1", "modeId": "default"})}
    (ready,) = of(scene.done("hs-mode-1"), SessionReady)
    assert (ready.mode, ready.model) == ("ask", "large-2")


def test_one_that_never_stays_in_the_asking_mode_is_not_held() -> None:
    scene = Scene(model="Large")
    scene.hello()
    scene.session(modes=MODES, models=MODELS)
    scene.done("hs-mode")
    scene.update("current_mode_update", currentModeId="auto")
    events = scene.done("hs-model")
    options = [{"id": "mode", "currentValue": "auto", "options": [{"value": "auto"}]}]
    for _ in range(30):
        steps = [event.id for event in of(events, Reply)]
        events = [one for step in steps for one in scene.feed({"id": step, "result": {"configOptions": options}})]
        if of(events, CannotStart):
            return
    raise AssertionError("it was asked for ever")


def test_a_turn_that_never_went_is_as_if_it_had_not_been_made() -> None:
    scene = Scene().ready("@agentclientprotocol/claude-agent-acp").turn("t1")
    scene.driver.never_went(TurnId("t1"))
    scene.turn("t2")
    assert of(scene.update("agent_thought_chunk", content={"type": "text", "text": "hm"}), TurnAccepted) == [
        TurnAccepted(turn=TurnId("t2"))
    ]
    assert scene.driver.interrupt().heard_as.endswith("t2")


def test_an_answer_that_never_went_leaves_the_request_open() -> None:
    scene = Scene().ready().turn()
    scene.permission({"kind": "execute", "title": "ls"}, [("y", "Yes", "allow_once")])
    scene.answer("#7", Chosen(offer="y"))
    assert b'"id":7' not in scene.driver.interrupt().data
    scene.driver.never_went("#7")
    assert b'"id":7' in scene.driver.interrupt().data


def test_a_change_that_was_asked_for_is_told_by_its_answer() -> None:
    scene = Scene().ready(models=MODELS)
    write = scene.driver.set_mode("plan")
    line = json.loads(write.data)
    assert (line["method"], line["params"]["modeId"]) == ("session/set_mode", "plan")
    assert scene.done(line["id"]) == [ControlAcked(id=write.id, ok=True), ModeChanged(mode="plan")]
    write = scene.driver.set_model("Large")
    line = json.loads(write.data)
    assert scene.done(line["id"]) == [ControlAcked(id=write.id, ok=True), ModelChanged(model="large-2")]
    write = scene.driver.set_model("none")
    (no,) = scene.done(json.loads(write.data)["id"], {"code": 1, "message": "no such"})
    assert isinstance(no, ControlAcked) and (no.id, no.ok, no.detail) == (write.id, False, {"error": "no such"})


# --------------------------------------------------------------------------------------------------------------- turns


def test_a_prompt_is_the_same_bytes_before_and_after_the_handshake() -> None:
    scene = Scene()
    picture = Image(name="a.png", media_type=ImageType.PNG, data=b"\x89PNG")
    text = 'look at "sessionId":"" in it'
    before = scene.driver.turn(TurnId("t1"), text, (picture,))
    scene.ready()
    assert scene.driver.turn(TurnId("t1"), text, (picture,)) == before
    line = json.loads(scene.driver.addressed(before))
    assert (line["id"], line["method"], line["params"]["sessionId"]) == ("turn-t1", "session/prompt", "s1")
    assert line["params"]["prompt"] == [
        {"type": "text", "text": text},
        {"type": "image", "mimeType": "image/png", "data": "iVBORw=="},
    ]


def test_only_work_is_a_sign_of_acceptance() -> None:
    scene = Scene().ready().turn()
    for kind, more in (
        ("available_commands_update", {"availableCommands": [{"name": "review"}]}),
        ("usage_update", {"used": 1, "size": 2}),
        ("session_info_update", {"title": "x"}),
    ):
        assert not of(scene.update(kind, **more), TurnAccepted)
    assert scene.driver.slash("/review it") == "review" and scene.driver.slash("/other") is None
    first, *_ = scene.update("agent_thought_chunk", content={"type": "text", "text": "hm"})
    assert first == TurnAccepted(turn=TurnId("t1"))


@pytest.mark.parametrize(
    ("reason", "kind", "failure"),
    [
        ("end_turn", TurnResultKind.SUCCESS, None),
        ("cancelled", TurnResultKind.INTERRUPTED, None),
        ("max_tokens", TurnResultKind.ERROR, FailureKind.UNKNOWN),
        ("max_turn_requests", TurnResultKind.ERROR, FailureKind.MAX_TURNS),
        ("refusal", TurnResultKind.ERROR, FailureKind.REFUSED),
        ("tired", TurnResultKind.ERROR, FailureKind.UNKNOWN),
        (None, TurnResultKind.ERROR, FailureKind.UNKNOWN),
    ],
)
def test_every_stop_reason_settles_the_turn(reason: str | None, kind: TurnResultKind, failure: FailureKind) -> None:
    scene = Scene().ready().turn()
    (result,) = of(scene.feed({"id": "turn-t1", "result": {"stopReason": reason}}), TurnResult)
    assert (result.turns, result.kind, result.failure) == (("t1",), kind, failure)
    assert result.subtype == (reason or "unnamed") and (reason != "tired" or "tired" in result.failure_text)
    assert not scene.feed({"id": "turn-t1", "result": {"stopReason": "end_turn"}}), "told twice"


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        ({"code": -32000, "message": "Authentication required"}, FailureKind.AUTHENTICATION),
        ({"code": 401, "message": "{}"}, FailureKind.AUTHENTICATION),
        ({"code": -32603, "message": "Internal error: bad key"}, FailureKind.AUTHENTICATION),
        ({"code": -32603, "message": "Your credit balance is too low"}, FailureKind.BILLING),
        ({"code": 429, "message": "x"}, FailureKind.RATE_LIMITED),
        ({"code": -32603, "message": "x", "data": {"details": "RESOURCE_EXHAUSTED"}}, FailureKind.RATE_LIMITED),
        ({"code": -32603, "message": "x", "data": {"errorKind": "overloaded"}}, FailureKind.OVERLOADED),
        ({"code": -32603, "message": "Internal error: Prompt is too long"}, FailureKind.CONTEXT_FULL),
        ({"code": -32603, "message": "The model `gpt-9` does not exist"}, FailureKind.MODEL_NOT_FOUND),
        ({"code": -32603, "message": "fetch failed"}, FailureKind.TRANSIENT),
        ({"code": -32603, "message": "API Error: 502"}, FailureKind.TRANSIENT),
        ({"code": -32603, "message": "API Error: 400 bad field"}, FailureKind.UNKNOWN),
        ({"code": -32603, "message": "Internal error"}, FailureKind.UNKNOWN),
        ("no object", FailureKind.UNKNOWN),
    ],
)
def test_errors_are_sorted_by_what_a_person_can_do(error: Any, failure: FailureKind) -> None:
    scene = Scene().ready().turn()
    (result,) = of(scene.feed({"id": "turn-t1", "error": error}), TurnResult)
    assert (result.kind, result.failure) == (TurnResultKind.ERROR, failure) and result.failure_text


def test_a_failure_told_as_text_is_a_failure() -> None:
    scene = Scene()
    scene.hello("@agentclientprotocol/codex-acp", "2.6.0")
    scene.session()
    scene.turn()
    for said in ("Warning: slow\n\n", '{"error": {"message": "429 Too Many Requests"}}\n'):
        scene.update("agent_message_chunk", content={"type": "text", "text": said})
    (result,) = of(scene.feed({"id": "turn-t1", "result": {"stopReason": "end_turn", "usage": None}}), TurnResult)
    assert result.failure is FailureKind.RATE_LIMITED and result.failure_text == "429 Too Many Requests"


def test_an_interrupt_answers_what_is_open_and_is_heard_with_the_result() -> None:
    scene = Scene().ready().turn()
    scene.permission({"kind": "execute", "title": "ls"}, [("y", "Yes", "allow_once"), ("n", "No", "reject_once")])
    write = scene.driver.interrupt()
    cancel, no = (json.loads(row) for row in write.data.splitlines())
    assert (cancel["method"], cancel["params"], "id" in cancel) == ("session/cancel", {"sessionId": "s1"}, False)
    assert no == {"jsonrpc": "2.0", "id": 7, "result": {"outcome": {"outcome": "cancelled"}}}
    assert len(scene.driver.farewell().splitlines()) == 1, "it is not answered twice"
    acked, result = scene.feed({"id": "turn-t1", "result": {"stopReason": "cancelled"}})[-2:]
    assert acked == ControlAcked(id=write.heard_as, ok=True) and isinstance(result, TurnResult)
    assert scene.driver.farewell() == b"" and scene.driver.interrupt().heard_as == ""
    # One is answered as if it had come to its end; what it says it used tells.
    scene.turn("t2")
    end = {"stopReason": "end_turn", "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}}
    (result,) = of(scene.feed({"id": "turn-t2", "result": end}), TurnResult)
    assert result.kind is TurnResultKind.INTERRUPTED


def test_what_it_does_by_itself_is_a_turn_of_its_own() -> None:
    """Seen of one: a background task ends, and it goes on; the cost that it tells then says whose turn that was."""
    scene = Scene().ready("@agentclientprotocol/claude-agent-acp")
    scene.update("usage_update", used=1, size=9, cost={"amount": 1, "currency": "USD"})
    begun, *_ = scene.update("agent_message_chunk", content={"type": "text", "text": "it is done"})
    assert isinstance(begun, TurnBegunByAgent)
    cost = {"amount": 1.5, "currency": "USD"}
    assert not of(scene.update("usage_update", used=1, size=9, cost=cost), TurnResult)
    (result,) = of(
        scene.update(
            "usage_update", used=1, size=9, cost=cost, _meta={"_claude/origin": {"kind": "task-notification"}}
        ),
        TurnResult,
    )
    assert (result.turns, result.by_agent, result.marginal) == ((), True, 1_500_000)
    # One whose end is never told ends with the next message of ours at the latest.
    scene.update("agent_message_chunk", content={"type": "text", "text": "once more"})
    scene.turn("t2")
    first, second = of(scene.feed({"id": "turn-t2", "result": {"stopReason": "end_turn"}}), TurnResult)
    assert (first.by_agent, second.turns) == (True, ("t2",))
    # Of others nobody would ever hear that it is over.
    assert not of(
        Scene().ready().update("agent_message_chunk", content={"type": "text", "text": "x"}), TurnBegunByAgent
    )


# ------------------------------------------------------------------------------------------------------ tools and plans


def test_a_call_is_told_whole_however_many_pieces_it_comes_in() -> None:
    scene = Scene().ready().turn()
    scene.update("agent_message_chunk", content={"type": "text", "text": "now"})
    events = scene.update("tool_call", toolCallId="c", title="Shell", kind="execute", status="pending", rawInput={})
    assert events == [TextBlock(block="message:1", text="now")], "the text before it is over, the call not yet told"
    events = scene.update("tool_call_update", toolCallId="c", rawInput={"command": ["/bin/bash", "-lc", "ls -l"]})
    (started,) = events
    assert isinstance(started, ToolStarted) and (started.name, started.title) == ("execute", "ls -l")
    shown = [{"type": "content", "content": {"type": "text", "text": "a\n"}}]
    assert not scene.update("tool_call_update", toolCallId="c", status="in_progress", content=shown)
    (ended,) = scene.update("tool_call_update", toolCallId="c", status="completed", rawOutput={"exitCode": 1})
    assert ended == ToolFinished(call="c", ok=False, output="a\n", detail={"exit_code": 1})
    assert not scene.update("tool_call_update", toolCallId="c", status="completed"), "it goes on about it"


def test_an_edit_shows_its_change_and_a_plan_replaces_the_one_before() -> None:
    scene = Scene().ready().turn()
    change = [{"type": "diff", "path": "/tree/a", "oldText": "one\n", "newText": "two\n"}]
    events = scene.update("tool_call", toolCallId="e", kind="edit", status="completed", title="a", content=change)
    ended = of(events, ToolFinished)[0]
    assert "-one\n+two" in ended.detail["diff"]
    entries = [{"content": "build", "status": "completed"}, {"content": "test\nall", "status": "in_progress"}]
    assert scene.update("plan", entries=entries) == [PlanUpdated(items=(("done", "build"), ("active", "test")))]
    assert not scene.update("plan", entries=entries)
    assert scene.update("plan_update", plan={"type": "items", "planId": "p", "entries": entries[:1]}) == [
        PlanUpdated(items=(("done", "build"),))
    ]
    assert scene.update("plan_removed", planId="p") == [PlanUpdated(items=())]


def test_the_end_of_a_turn_leaves_no_context_of_zero() -> None:
    scene = Scene().ready().turn()
    assert scene.update("usage_update", used=5, size=9) == [ContextUsage(used=5, size=9)]
    assert not scene.update("usage_update", used=0, size=9, cost={"amount": 1, "currency": "EUR"})
    (result,) = of(scene.feed({"id": "turn-t1", "result": {"stopReason": "end_turn"}}), TurnResult)
    assert result.context == ContextUsage(used=5, size=9) and result.marginal is None
