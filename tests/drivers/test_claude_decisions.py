"""What the agent asks, as the operator sees it; what the operator says, as the agent is told; whether it arrived."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from coordinator.drivers.base import (
    AgentEvent,
    Allow,
    Answer,
    DecisionAsked,
    DecisionResolved,
    DecisionWithdrawn,
    Deny,
    QuestionReply,
    Reply,
    ToolFinished,
    Unknown,
)
from coordinator.drivers.claude import ClaudeDriver
from coordinator.drivers.claude_decisions import answers_of, rule_of
from coordinator.drivers.diffs import diff_of
from store.vocab import DecisionKind
from tests.drivers.recordings import answers_written, names, steps, tell


def answer_like(asked: DecisionAsked, body: dict[str, Any]) -> Answer:
    """The operator's answer that the recording's host gave."""
    if body["behavior"] == "deny":
        return Deny(message=body["message"], interrupt=bool(body.get("interrupt")))
    given_input = body["updatedInput"]
    if asked.kind is DecisionKind.QUESTION and "answers" in given_input:
        return QuestionReply(answers={q: (label,) for q, label in given_input["answers"].items()})
    return Allow(edited_input=None if given_input == asked.input else given_input)


def conversation(name: str) -> tuple[list[tuple[DecisionAsked, Answer, dict[str, Any], bytes]], list[AgentEvent]]:
    """Every answer of a recording: asked, answer, what the host wrote, what we write. And all events."""
    driver = ClaudeDriver()
    open_asks: dict[str, DecisionAsked] = {}
    found: list[tuple[DecisionAsked, Answer, dict[str, Any], bytes]] = []
    events: list[AgentEvent] = []
    for step in steps(name):
        tell(driver, step)
        if step.came == "out":
            fresh = driver.feed(step.raw())
            events += fresh
            open_asks |= {event.request: event for event in fresh if isinstance(event, DecisionAsked)}
            for event in fresh:
                if isinstance(event, DecisionWithdrawn):
                    open_asks.pop(event.request, None)
            continue
        written = answers_written(step)
        if written is None or written[0] not in open_asks or written[1]["subtype"] != "success":
            continue
        body = written[1]["response"]
        if body.get("behavior") == "deny" or "updatedInput" in body:
            asked = open_asks[written[0]]
            answer = answer_like(asked, body)
            found.append((asked, answer, step.line, driver.answer(asked.request, answer)))
    return found, events


WITH_ASKS = [name for name in names() if any(answers_written(step) for step in steps(name))]


@pytest.mark.parametrize("name", WITH_ASKS)
def test_answers_are_what_the_agent_took(name: str) -> None:
    for _asked, _answer, written, ours in conversation(name)[0]:
        assert ours.endswith(b"\n") and ours.count(b"\n") == 1
        expected = json.loads(json.dumps(written))
        # Plans were once approved together with a change of mode, which we do not offer.
        expected["response"]["response"].pop("updatedPermissions", None)
        assert json.loads(ours) == expected


def test_the_recordings_hold_every_kind_of_answer() -> None:
    answers = [(asked.kind, type(answer)) for name in WITH_ASKS for asked, answer, _, _ in conversation(name)[0]]
    assert len(answers) > 20
    for kind in (DecisionKind.PERMISSION, DecisionKind.QUESTION, DecisionKind.PLAN):
        assert (kind, Deny) in answers
    assert (DecisionKind.QUESTION, QuestionReply) in answers
    assert (DecisionKind.PERMISSION, Allow) in answers


@pytest.mark.parametrize("name", WITH_ASKS)
def test_every_request_ends(name: str) -> None:
    """Resolved or withdrawn, and only once."""
    _, events = conversation(name)
    asked = [event.request for event in events if isinstance(event, DecisionAsked)]
    ended = [event.request for event in events if isinstance(event, DecisionResolved | DecisionWithdrawn)]
    assert sorted(ended) == sorted(asked)


@pytest.mark.parametrize("generation", ["197", "332"])
def test_an_answer_that_was_not_understood_is_told(generation: str) -> None:
    _, events = conversation(f"03-permission-edge-{generation}.jsonl")
    resolved = [event for event in events if isinstance(event, DecisionResolved)]
    refused = [event for event in resolved if not event.accepted]
    # An error answer, an allow without input (the older generation only), and a body of no meaning.
    assert len(refused) >= (3 if generation == "197" else 2)
    assert all(event.detail for event in refused)
    assert any(event.accepted for event in resolved)


@pytest.mark.parametrize("generation", ["197", "332"])
def test_questions_left_unanswered_are_seen(generation: str) -> None:
    found, events = conversation(f"05-ask-{generation}.jsonl")
    asked = next(asked for asked, *_ in found if asked.kind is DecisionKind.QUESTION)
    assert [q.text for q in asked.questions] == ["Which color?", "Which sizes?"]
    assert [q.multiple for q in asked.questions] == [False, True]
    assert asked.questions[0].choices[1].label == "Blue"
    assert asked.title == "2 questions"
    unanswered = [e for e in events if isinstance(e, DecisionResolved) and e.detail.startswith("The user did not")]
    assert [event.accepted for event in unanswered] == [False]


@pytest.mark.parametrize("generation", ["197", "332"])
def test_the_operators_no_is_no_refusal_of_the_agent(generation: str) -> None:
    found, events = conversation(f"05-ask-{generation}.jsonl")
    denied = {asked.request for asked, answer, *_ in found if isinstance(answer, Deny)}
    assert denied
    verdicts = {event.request: event.accepted for event in events if isinstance(event, DecisionResolved)}
    assert all(verdicts[request] for request in denied)
    assert any(isinstance(event, ToolFinished) and not event.ok for event in events)


def test_a_plan_is_shown_whole() -> None:
    found, _ = conversation("14-plan-332.jsonl")
    plan = next(asked for asked, *_ in found if asked.kind is DecisionKind.PLAN)
    assert plan.subject == "# My plan\n1. one"
    assert (plan.title, plan.editable, plan.rule) == ("Approve this plan?", False, None)


def ask(tool: str, tool_input: dict[str, Any], **more: Any) -> tuple[ClaudeDriver, DecisionAsked]:
    driver = ClaudeDriver()
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": tool_input, "tool_use_id": "call", **more}
    line = {"type": "control_request", "request_id": "r1", "request": request}
    (event,) = driver.feed(json.dumps(line).encode() + b"\n")
    assert isinstance(event, DecisionAsked)
    return driver, event


def suggestion(content: str, destination: str = "localSettings") -> dict[str, Any]:
    return {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": content}],
        "behavior": "allow",
        "destination": destination,
    }


@pytest.mark.parametrize(
    "command", ["a && b", "a; b", "a | b", "echo $(b)", "echo `b`", "a\nb", "a > b", "a & b", "cat <(b)", "a || b"]
)
def test_no_rule_where_none_could_hold(command: str) -> None:
    _, event = ask("Bash", {"command": command}, permission_suggestions=[suggestion("a:*")])
    assert event.rule is None and event.rule_payload == ()


@pytest.mark.parametrize("destination", ["localSettings", "projectSettings", "userSettings", "session", "cliArg"])
def test_a_rule_holds_for_the_session_only(destination: str) -> None:
    driver, event = ask("Bash", {"command": "pytest -q"}, permission_suggestions=[suggestion("pytest:*", destination)])
    assert event.rule == "Bash commands that begin with pytest"
    assert [rule["destination"] for rule in event.rule_payload] == ["session"]
    body = json.loads(driver.answer("r1", Allow(for_run=True)))["response"]["response"]
    assert body["updatedPermissions"] == list(event.rule_payload)
    assert body["updatedInput"] == {"command": "pytest -q"}
    assert "updatedPermissions" not in json.loads(driver.answer("r1", Allow()))["response"]["response"]


def test_modes_that_ask_nobody_are_no_rule() -> None:
    for tool, mode in (("Bash", "acceptEdits"), ("WebFetch", "acceptEdits")):
        assert rule_of(tool, {"command": "x"}, [{"type": "setMode", "mode": mode}]) == (None, ())
    for mode in ("bypassPermissions", "dontAsk", "auto"):
        found = rule_of("Write", {}, [{"type": "setMode", "mode": mode, "destination": "session"}])
        assert found == (None, ())
    said, payload = rule_of("Write", {}, [{"type": "setMode", "mode": "acceptEdits", "destination": "userSettings"}])
    assert said == "all edits to files, without asking" and payload[0]["destination"] == "session"
    assert rule_of("Bash", {"command": "x"}, [{**suggestion("x"), "behavior": "deny"}]) == (None, ())


def test_a_rule_for_a_command_lets_nothing_else_through() -> None:
    """As printed by both generations for ``touch aa``: with the rule come a folder and a mode that asks for no edit."""
    printed = [
        suggestion("touch aa *"),
        {"type": "addDirectories", "directories": ["/r"], "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    ]
    said, payload = rule_of("Bash", {"command": "touch aa"}, printed)
    assert said == "Bash commands that begin with touch aa"
    assert [p["type"] for p in payload] == ["addRules"]


def test_an_answer_that_the_agent_repeats_has_arrived() -> None:
    """With replay on it prints our own control response; a refusal can still follow with the tool's result."""
    for understood in (True, False):
        driver, _ = ask("Bash", {"command": "x"})
        echo = driver.answer("r1", Allow())
        assert driver.feed(echo) == [DecisionResolved(request="r1", accepted=True)]
        assert driver.feed(echo) == []
        assert b"r1" not in driver.farewell()
        output = "fine" if understood else "Tool permission request failed: ZodError"
        block = {"type": "tool_result", "tool_use_id": "call", "content": output, "is_error": not understood}
        events = driver.feed(json.dumps({"type": "user", "message": {"content": [block]}}).encode() + b"\n")
        verdicts = [event.accepted for event in events if isinstance(event, DecisionResolved)]
        assert verdicts == ([] if understood else [False])


def test_a_restored_driver_learns_the_answer_from_its_echo() -> None:
    driver, _ = ask("Bash", {"command": "x"})
    before = driver.snapshot()
    echo = driver.answer("r1", Deny(message="Permission to use nothing"))
    restored = ClaudeDriver()
    restored.restore(before)
    restored.feed(echo)
    block = {"type": "tool_result", "tool_use_id": "call", "content": "Permission to use nothing", "is_error": True}
    events = restored.feed(json.dumps({"type": "user", "message": {"content": [block]}}).encode() + b"\n")
    assert not [event for event in events if isinstance(event, DecisionResolved)]


def test_an_edit_is_shown_as_what_would_change() -> None:
    _, event = ask("Edit", {"file_path": "/r/a.py", "old_string": "one\ntwo\nthree", "new_string": "one\n2\nthree"})
    assert event.title == "Edit a file?" and event.editable
    assert event.subject.split("\n") == [
        "--- /r/a.py",
        "+++ /r/a.py",
        "@@ -1,3 +1,3 @@",
        " one",
        "-two",
        "+2",
        " three",
    ]
    _, event = ask("Write", {"file_path": "/r/b", "content": "x\n" * 3000})
    assert event.subject.count("\n+x") == 3000
    _, event = ask("Frobnicate", {"level": 3})
    assert event.title == "Use Frobnicate?" and json.loads(event.subject) == {"level": 3}


@given(st.text(alphabet="ab\n", max_size=40), st.text(alphabet="ab\n", max_size=40))
def test_a_diff_holds_both_sides(old: str, new: str) -> None:
    body = diff_of("p", old, new).split("\n")[3:]
    if old != new:
        kept = [line for line in body if not line.startswith("@@")]
        added = [line[1:] for line in kept if line.startswith("+")]
        removed = [line[1:] for line in kept if line.startswith("-")]
        assert added or removed
        if old and new and "@@" not in "".join(body):
            assert set(added) <= set(new.split("\n")) and set(removed) <= set(old.split("\n"))


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("", "a\nb\n", ["+a", "+b"]),
        ("", "a", ["+a"]),
        ("", "a\n\n", ["+a", "+"]),
        ("", "\n", ["+"]),
        ("a\n", "", ["-a"]),
        ("a\n", "b\n", ["-a", "+b"]),
        ("a\n", "a", [" a", "-"]),
    ],
)
def test_the_last_line_end_is_no_empty_line(old: str, new: str, shown: list[str]) -> None:
    assert diff_of("p", old, new).split("\n")[3:] == shown


def test_answers_carry_the_note_where_the_agent_reads_it() -> None:
    reply = QuestionReply(answers={"Which?": ("A", "B"), "More?": ()}, note=" but gently ")
    assert answers_of(reply) == {"Which?": "A, B (note: but gently)"}
    assert answers_of(QuestionReply(answers={"Which?": ()}, note="later")) == {"Which?": "(note: later)"}


def test_no_input_is_made_up_for_a_request_that_is_not_known() -> None:
    body = json.loads(ClaudeDriver().answer("gone", Allow()))["response"]["response"]
    assert body == {"behavior": "allow"}


def test_edited_input_goes_whole() -> None:
    driver, _ = ask("Bash", {"command": "rm x", "description": "d"})
    body = json.loads(driver.answer("r1", Allow(edited_input={"command": "ls"})))["response"]["response"]
    assert body == {"behavior": "allow", "updatedInput": {"command": "ls"}}


def test_an_unknown_request_is_refused_so_that_nothing_blocks() -> None:
    driver = ClaudeDriver()
    line = {"type": "control_request", "request_id": "q7", "request": {"subtype": "elicitation", "x": 1}}
    reply, unknown = driver.feed(json.dumps(line).encode() + b"\n")
    assert isinstance(reply, Reply) and isinstance(unknown, Unknown)
    assert json.loads(unknown.raw) == line
    answer = json.loads(reply.data)
    assert answer["type"] == "control_response" and answer["response"]["subtype"] == "error"
    assert answer["response"]["request_id"] == "q7" and reply.id == "reply-q7"


def test_a_running_call_shows_that_the_answer_arrived() -> None:
    driver, _ = ask("Bash", {"command": "sleep 9"})
    driver.answer("r1", Allow())
    started = {"type": "system", "subtype": "task_started", "task_id": "t", "tool_use_id": "call", "description": "s"}
    (event,) = driver.feed(json.dumps(started).encode() + b"\n")
    assert event == DecisionResolved(request="r1", accepted=True)


def test_a_result_takes_open_requests_with_it() -> None:
    driver, _ = ask("Bash", {"command": "x"})
    result = {"type": "result", "subtype": "success", "is_error": False, "total_cost_usd": 0}
    events = driver.feed(json.dumps(result).encode() + b"\n")
    assert any(isinstance(event, DecisionWithdrawn) and event.request == "r1" for event in events)
    assert driver.farewell().count(b"\n") == 1
