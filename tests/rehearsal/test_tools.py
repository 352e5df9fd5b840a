"""Tools of the practice agent: asked about, answered, truly run, and found again by whoever must end them."""

import json
import os
from pathlib import Path

import pytest

from tests.fakes.stream_json import Json, alive
from tests.rehearsal.conftest import Rehearse
from tests.waiting import wait_until

SLEEPER = "echo $$ > pid; exec sleep 300"


def pid_in(folder: Path, name: str = "pid") -> int:
    return int(wait_until(lambda: (folder / name).is_file() and (folder / name).read_text().strip(), 10))


def test_a_command_is_asked_about_and_runs_as_it_was_changed(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse()
    talker.say("go", [{"run": "touch asked", "why": "make a file"}, {"text": "done"}])
    request = talker.asked()["request"]
    assert (request["subtype"], request["tool_name"], request["description"]) == ("can_use_tool", "Bash", "make a file")
    assert request["permission_suggestions"][0]["rules"] == [{"toolName": "Bash", "ruleContent": "touch asked"}]
    talker.allow(talker.asked(), {"command": "touch changed; echo made"})
    talker.result()
    assert sorted(path.name for path in stage.iterdir()) == ["changed"]
    assert talker.tool_results()[0]["content"] == "made"
    states = [line["state"] for line in talker.all("system", "session_state_changed")]
    assert states[:3] == ["running", "requires_action", "running"]


def test_a_denial_is_told_and_the_turn_goes_on(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse()
    steps = [
        {"write": "x", "content": "x"},
        {"only": "denied", "text": "as you wish"},
        {"only": "allowed", "text": "no"},
    ]
    talker.say("go", steps)
    talker.answer(talker.asked(), {"behavior": "deny", "message": "rather not"})
    result = talker.result()
    assert result["result"] == "as you wish"
    assert result["permission_denials"][0]["tool_name"] == "Write"
    assert talker.tool_results() == [
        {**talker.tool_results()[0], "content": "rather not", "is_error": True, "type": "tool_result"}
    ]
    assert not (stage / "x").exists()


def test_a_denial_may_end_the_turn(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("go", [{"run": "true"}, {"text": "not reached"}])
    talker.answer(talker.asked(), {"behavior": "deny", "message": "stop", "interrupt": True})
    result = talker.result()
    assert (result["subtype"], result["terminal_reason"]) == ("error_during_execution", "aborted_tools")


@pytest.mark.parametrize("response", [{"behavior": "maybe"}, {}, None])
def test_garbage_for_an_answer_is_a_denial(rehearse: Rehearse, response: Json | None, stage: Path) -> None:
    talker = rehearse()
    talker.say("go", [{"run": "touch x"}, {"text": "went on"}])
    body = {"subtype": "success", "request_id": talker.asked()["request_id"], "response": response}
    talker.send({"type": "control_response", "response": body})
    assert talker.result()["result"] == "went on"
    assert not (stage / "x").exists()


def test_the_older_generation_wants_the_input_back(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse("--generation", "197")
    talker.say("go", [{"run": "touch x"}, {"text": "went on"}])
    talker.answer(talker.asked(), {"behavior": "allow"})
    talker.result()
    assert "ZodError" in talker.tool_results()[0]["content"]


def test_a_rule_for_this_session_is_remembered(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse()
    talker.say("go", [{"run": "echo once"}, {"run": "echo once"}, {"text": "done"}])
    request = talker.asked()
    rule = request["request"]["permission_suggestions"][0] | {"destination": "session"}
    talker.allow(request, updatedPermissions=[rule])
    talker.result()
    assert len(talker.all("control_request")) == 1
    assert not (stage / ".claude").exists()


def test_a_rule_that_is_not_aimed_at_the_session_lands_in_the_repository(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse()
    talker.say("go", [{"run": "echo once"}, {"text": "done"}])
    request = talker.asked()
    talker.allow(request, updatedPermissions=request["request"]["permission_suggestions"])
    talker.result()
    assert (stage / ".claude" / "settings.local.json").is_file()


def test_modes_decide_what_is_asked(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse()
    assert talker.control("set_permission_mode", mode="acceptEdits")["response"] == {"mode": "acceptEdits"}
    talker.say("go", [{"write": "x", "content": "a\nb\n"}, {"edit": "x", "old": "b", "new": "c"}, {"run": "true"}])
    assert talker.asked()["request"]["tool_name"] == "Bash"
    assert (stage / "x").read_text() == "a\nc\n"
    details = [line["tool_use_result"] for line in talker.all("user") if "tool_use_result" in line]
    assert details[0]["type"] == "create"
    assert details[1]["structuredPatch"][0]["lines"] == [" a", "-b", "+c"]
    talker.allow(talker.asked())
    talker.result()
    assert talker.control("set_permission_mode", mode="nope")["error_code"] == "invalid_mode"
    assert talker.control("set_permission_mode", mode="bypassPermissions")["subtype"] == "error"
    assert talker.all("system", "status")[0]["permissionMode"] == "acceptEdits"


def test_a_question_is_answered(rehearse: Rehearse) -> None:
    talker = rehearse()
    steps: list[Json] = [
        {"ask": "Which colour?", "header": "Colour", "options": ["Red — warm", "Blue"]},
        {"answered": "Red", "text": "red, then"},
        {"answered": "!Red", "text": "so: {answer}"},
    ]
    talker.say("go", steps)
    request = talker.asked()
    assert request["request"]["requires_user_interaction"] is True
    question = request["request"]["input"]["questions"][0]
    assert question["options"] == [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": ""}]
    talker.allow(request, request["request"]["input"] | {"answers": {"Which colour?": "a darker Blue"}})
    assert talker.result()["result"] == "so: a darker Blue"


def test_a_plan_is_approved_and_the_mode_left(rehearse: Rehearse) -> None:
    talker = rehearse("--permission-mode", "plan")
    talker.say("go", [{"propose": "1. do it"}, {"text": "going"}])
    request = talker.asked()
    assert request["request"]["input"] == {"plan": "1. do it"}
    talker.allow(request)
    talker.result()
    assert talker.all("system", "status")[-1]["permissionMode"] == "default"


def test_a_command_has_a_process_session_of_its_own(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse("--allowedTools", "Bash", FOOTPLATE_TEST_MARK="marked")
    talker.say("go", [{"run": "ps -o sid= -p $$ | tr -d ' '; env"}])
    talker.result()
    sid, *environment = talker.tool_results()[0]["content"].splitlines()
    assert int(sid) not in {talker.process.pid, os.getsid(0)}
    assert f"CLAUDE_PID={talker.process.pid}" in environment
    assert "FOOTPLATE_TEST_MARK=marked" in environment


def test_an_interrupt_ends_the_command_and_keeps_the_session(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse("--allowedTools", "Bash")
    talker.say("go", [{"run": SLEEPER}, {"text": "not reached"}])
    pid = pid_in(stage)
    assert talker.control("interrupt")["response"] == {"still_queued": []}
    result = talker.result()
    assert (result["subtype"], result["terminal_reason"]) == ("error_during_execution", "aborted_tools")
    wait_until(lambda: not alive(pid), 5)
    assert talker.control("interrupt")["subtype"] == "success", "an idle interrupt is acknowledged"
    talker.say("again", [{"text": "alive"}])
    assert talker.result(2)["result"] == "alive"


def test_an_interrupted_text_is_told_as_far_as_it_got(rehearse: Rehearse) -> None:
    talker = rehearse("--include-partial-messages")
    talker.say("go", [{"text": "word " * 50, "slow": 0.05, "chunks": 50}])
    talker.until(lambda one: sum("text" in line["event"].get("delta", {}) for line in one.all("stream_event")) > 2)
    queued = talker.say("later", [{"text": "never"}])
    answer = talker.control("interrupt", cancel_queued=True)["response"]
    assert answer["cancelled"] == [queued]
    assert talker.result()["terminal_reason"] == "aborted_streaming"
    partial = next(line for line in talker.all("assistant") if line.get("aborted"))
    assert 0 < len(partial["message"]["content"][0]["text"]) < 250


def test_an_interrupt_withdraws_what_was_asked(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("go", [{"run": "true"}])
    request = talker.asked()
    talker.control("interrupt")
    result = talker.result()
    assert talker.all("control_cancel_request")[0]["request_id"] == request["request_id"]
    assert result["permission_denials"][0]["tool_name"] == "Bash"
    talker.allow(request)
    talker.say("again", [{"text": "alive"}])
    assert talker.result(2)["result"] == "alive"


def test_a_background_command_wakes_the_agent(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse("--allowedTools", "Bash")
    command = "until test -e go; do sleep 0.02; done; exit 3"
    talker.say("go", [{"run": command, "why": "wait", "background": True}, {"text": "started"}])
    assert talker.result()["result"] == "started"
    assert talker.all("system", "background_tasks_changed")[0]["tasks"][0]["description"] == "wait"
    (stage / "go").touch()
    woken = talker.result(2)
    assert woken["origin"] == {"kind": "task-notification"}
    assert "user_message_uuids" not in woken
    assert talker.all("system", "task_notification")[0]["status"] == "failed"
    assert talker.all("system", "background_tasks_changed")[-1]["tasks"] == []


def test_a_background_command_is_stopped_by_its_id(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse("--allowedTools", "Bash")
    talker.say("go", [{"run": SLEEPER, "background": True}, {"text": "started"}])
    talker.result()
    pid = pid_in(stage)
    talker.control("interrupt")
    assert alive(pid), "an interrupt is for the turn, not for what runs in the background"
    task = talker.all("system", "task_started")[0]["task_id"]
    talker.control("stop_task", task_id=task)
    wait_until(lambda: not alive(pid), 5)
    assert talker.all("system", "task_updated")[0]["patch"]["status"] == "killed"
    assert len(talker.all("result")) == 1


@pytest.mark.parametrize("background", [False, True])
def test_end_session_leaves_no_command_behind(rehearse: Rehearse, stage: Path, background: bool) -> None:
    talker = rehearse("--allowedTools", "Bash")
    talker.say("go", [{"run": SLEEPER, "background": background}, {"text": "x"}])
    pid = pid_in(stage)
    if background:
        talker.result()
    talker.ask("end_session")
    assert talker.left() == (0 if background else 1)
    assert not alive(pid)
    assert talker.all("result")[-1]["subtype"] == ("success" if background else "error_during_execution")


def test_end_session_withdraws_first_then_acknowledges_then_settles(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("go", [{"run": "true"}])
    talker.asked()
    talker.ask("end_session")
    assert talker.left() == 1
    kinds = talker.kinds()
    order = [
        kinds.index(one) for one in ("control_cancel_request", "control_response", "result:error_during_execution")
    ]
    assert order == sorted(order)


def test_end_of_input_drains_and_then_ends(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse()
    talker.say("go", [{"run": "touch x"}, {"text": "went on"}])
    talker.asked()
    talker.say("queued", [{"text": "also"}])
    talker.close_stdin()
    assert talker.left() == 0
    assert talker.all("result")[0]["result"] in {"went on", "also"}
    assert not (stage / "x").exists(), "a closed stream is a denial"


def test_end_of_input_does_not_end_what_runs_in_the_background(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse("--allowedTools", "Bash")
    talker.say(
        "go", [{"run": "echo $$ > pid; until test -e go; do sleep 0.02; done", "background": True}, {"text": "x"}]
    )
    talker.result()
    pid_in(stage)
    talker.close_stdin()
    (stage / "go").touch()
    assert talker.left() == 0
    assert talker.all("result")[-1]["origin"]["kind"] == "task-notification"


@pytest.mark.parametrize(("generation", "survives"), [("332", False), ("197", True)])
def test_a_terminated_agent_and_its_command(rehearse: Rehearse, stage: Path, generation: str, survives: bool) -> None:
    """No result at all; and the older one leaves its command behind, which is why custody looks for itself."""
    talker = rehearse("--allowedTools", "Bash", "--generation", generation)
    talker.say("go", [{"run": SLEEPER}])
    pid = pid_in(stage)
    talker.process.terminate()
    assert talker.left() == 143
    assert not talker.all("result")
    if survives:
        assert alive(pid)
        os.kill(pid, 9)
    wait_until(lambda: not alive(pid), 5)


def test_sigint_settles_the_turn_and_leaves_well(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse("--allowedTools", "Bash")
    talker.say("go", [{"run": SLEEPER}])
    pid = pid_in(stage)
    talker.process.send_signal(2)
    assert talker.left() == 0
    assert talker.all("result")[0]["terminal_reason"] == "aborted_tools"
    assert not alive(pid)


def test_without_a_prompt_tool_everything_is_denied(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse(asks=False)
    talker.say("go", [{"run": "touch x"}, {"text": "went on"}])
    result = talker.result()
    assert result["result"] == "went on"
    assert len(result["permission_denials"]) == 1
    assert json.dumps(talker.all("system", "permission_denied"))
    assert not (stage / "x").exists()
