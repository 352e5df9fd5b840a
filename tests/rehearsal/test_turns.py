"""A held practice session, turn after turn: what is told, in which order, at what cost, and what many lines become."""

from pathlib import Path

import pytest

from tests.fakes.stream_json import Json, Talker
from tests.rehearsal.conftest import Rehearse

SLOW = {"text": "word " * 40, "slow": 0.05, "chunks": 200}


def test_nothing_is_said_before_the_handshake(rehearse: Rehearse) -> None:
    talker = rehearse()
    ready = talker.control("initialize", hooks=None)["response"]
    assert talker.kinds() == ["control_response"]
    assert ready["pid"] == talker.process.pid
    assert ready["claude_code_version"] == "practice"
    assert {"practice-steady", "practice-swift"} <= {model["value"] for model in ready["models"]}
    assert "clear" in {command["name"] for command in ready["commands"]}


def test_a_turn_in_the_order_of_the_newer_generation(rehearse: Rehearse) -> None:
    talker = rehearse()
    identity = talker.say("hi", [{"think": "hm", "text": "one"}])
    result = talker.result()
    talker.until(lambda one: one.kinds()[-1] == "system:session_state_changed:idle")
    assert talker.kinds() == [
        "system:session_state_changed:running",
        "command_lifecycle:queued",
        "command_lifecycle:started",
        "system:init",
        "user",
        "assistant",
        "assistant",
        "result:success",
        "command_lifecycle:completed",
        "system:session_state_changed:idle",
    ]
    assert result["user_message_uuids"] == [identity]
    assert talker.all("user")[0]["isReplay"] is True
    assert next(iter(result)) != "type", "nobody may read a result by its first bytes"


def test_the_older_generation_tells_less(rehearse: Rehearse) -> None:
    talker = rehearse("--generation", "197")
    talker.say("hi", [{"text": "one"}])
    result = talker.result()
    talker.until(lambda one: one.kinds()[-1] == "system:session_state_changed:idle")
    assert talker.kinds()[1:-1] == ["system:init", "user", "assistant", "result:success"]
    assert not {"user_message_uuids", "model_usage_since_last_result", "result_index"} & set(result)


def test_streamed_pieces_make_the_whole(rehearse: Rehearse) -> None:
    talker = rehearse("--include-partial-messages")
    talker.say("hi", [{"think": "let me see", "text": "one two three four", "chunks": 5}])
    talker.result()
    events = [line["event"] for line in talker.all("stream_event")]
    texts = [one["delta"]["text"] for one in events if one["type"] == "content_block_delta" and "text" in one["delta"]]
    assert len(texts) >= 5
    assert "".join(texts) == "one two three four"
    assert events[0]["type"] == "message_start"
    assert events[-1]["type"] == "message_stop"
    whole = [block for line in talker.all("assistant") for block in line["message"]["content"]]
    assert [block["type"] for block in whole] == ["thinking", "text"]


def test_the_total_only_grows_and_each_turn_tells_its_own(rehearse: Rehearse) -> None:
    talker = rehearse()
    for number, cost in enumerate((0.25, 0.5), 1):
        talker.say("hi", [{"text": "x", "cost": cost}])
        talker.result(number)
    first, second = talker.all("result")
    assert [first["total_cost_usd"], second["total_cost_usd"]] == [0.25, 0.75]
    assert second["modelUsage"]["practice-steady"]["costUSD"] == 0.75
    assert second["model_usage_since_last_result"]["practice-steady"]["costUSD"] == 0.5
    assert second["usage"]["input_tokens"] == 1000
    assert talker.control("get_usage")["response"]["session"]["total_cost_usd"] == 0.75


def test_lines_that_wait_for_a_text_become_one_turn(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("slow", [SLOW | {"chunks": 10}])
    talker.until(lambda one: one.all("system", "init"))
    waiting = [talker.say("second", [{"text": "b"}]), talker.say("third", [{"text": "c"}])]
    merged = talker.result(2)
    assert merged["user_message_uuids"] == waiting
    assert merged["result"] == "c"


def test_a_line_during_a_tool_joins_the_turn(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse("--allowedTools", "Bash")
    wait = "touch began; until test -e go; do sleep 0.02; done"
    first = talker.say("wait", [{"run": wait}, {"text": "not reached"}])
    talker.until(lambda _: (stage / "began").exists())
    joined = talker.say("also", [{"text": "with both"}])
    talker.until(lambda one: any(line["command_uuid"] == joined for line in one.all("command_lifecycle")))
    (stage / "go").touch()
    result = talker.result()
    assert result["user_message_uuids"] == [first, joined]
    assert result["result"] == "with both"


def test_a_known_id_brings_a_replay_and_never_a_result(rehearse: Rehearse) -> None:
    talker = rehearse()
    identity = talker.say("hi", [{"text": "one"}])
    talker.result()
    talker.say("hi", [{"text": "again"}], identity=identity)
    talker.until(lambda one: len(one.all("user")) == 2)
    talker.say("next", [{"text": "two"}])
    assert talker.result(2)["result"] == "two"


def test_clear_changes_the_session_and_costs_nothing(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("hi", [{"text": "one"}])
    before = talker.result()
    talker.say("/clear")
    after = talker.result(2)
    assert before["session_id"] != after["session_id"]
    assert after["total_cost_usd"] == before["total_cost_usd"]
    assert talker.all("conversation_reset")
    talker.say("/clear @@" + '{"text": "verbatim"}@@', client_composed=True)
    assert talker.result(3)["result"] == "verbatim"


@pytest.mark.parametrize(
    ("fail", "expected"),
    [
        ({"status": 529}, ("server_error", 529, 2)),
        ({"status": 429}, ("rate_limit", 429, 2)),
        ({"status": 401}, ("authentication_failed", 401, 2)),
        ({"kind": "no_key"}, ("authentication_failed", None, 0)),
        ({"kind": "limit"}, ("rate_limit", 429, 0)),
    ],
)
def test_a_failed_call_is_success_with_an_error_in_it(
    rehearse: Rehearse, fail: Json, expected: tuple[str, int, int]
) -> None:
    talker = rehearse()
    talker.say("hi", [{"fail": fail}])
    result = talker.result()
    error = next(line["error"] for line in talker.all("assistant") if "error" in line)
    assert (error, result["api_error_status"], len(talker.all("system", "api_retry"))) == expected
    assert (result["subtype"], result["is_error"]) == ("success", True)
    assert bool(talker.all("rate_limit_event")) == (fail == {"kind": "limit"})
    talker.say("again", [{"text": "alive"}])
    assert talker.result(2)["result"] == "alive"


def test_a_failure_may_pass(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("hi", [{"fail": {"status": 529, "times": 1}, "text": "recovered"}])
    assert talker.result()["result"] == "recovered"
    assert len(talker.all("system", "api_retry")) == 1


def test_a_spent_budget_refuses_every_later_turn(rehearse: Rehearse) -> None:
    talker = rehearse("--max-budget-usd", "0.01")
    for number in (1, 2):
        talker.say("hi", [{"text": "x", "cost": 0.02}])
        result = talker.result(number)
        assert result["subtype"] == "error_max_budget_usd"
        assert result["total_cost_usd"] == 0.02
    talker.close_stdin()
    assert talker.left() == 1


def test_too_many_calls_in_one_turn(rehearse: Rehearse) -> None:
    talker = rehearse("--max-turns", "1")
    talker.say("hi", [{"text": "a"}, {"text": "b"}])
    assert talker.result()["subtype"] == "error_max_turns"
    talker.say("hi", [{"text": "c"}])
    assert talker.result(2)["subtype"] == "success"


def test_a_session_is_resumed_with_its_cost_and_its_place(rehearse: Rehearse, tmp_path: Path, stage: Path) -> None:
    script = tmp_path / "two.toml"
    script.write_text(
        "[[turn]]\nsteps = [{ say = 'one', cost = 0.5 }]\n[[turn]]\nsteps = [{ say = 'two', cost = 0.5 }]\n"
    )
    identity = "11111111-2222-4333-8444-555555555555"
    memory = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    first = rehearse("--session-id", identity, script=str(script), **memory)
    first.say("hi")
    assert first.result()["session_id"] == identity
    first.ask("end_session")
    assert first.left() == 0
    again = rehearse("--resume", identity, script=str(script), **memory)
    again.say("hi")
    result = again.result()
    assert (result["result"], result["session_id"], result["total_cost_usd"]) == ("two", identity, 1.0)
    again.process.kill()
    again.left()
    killed = rehearse("--resume", identity, script=str(script), **memory)
    killed.say("hi")
    assert killed.result()["total_cost_usd"] == 0.5, "a session that was killed forgets what it cost"
    taken = rehearse("--session-id", identity, **memory)
    assert taken.left() == 1
    assert b"already in use" in taken.stderr
    missing = rehearse("--resume", "99999999-2222-4333-8444-555555555555", **memory)
    assert missing.left() == 1
    assert missing.all("result")[0]["errors"][0].startswith("No conversation found")


@pytest.mark.parametrize(
    "flags", [("--permission-mode", "nope"), ("--nope",), ("--session-id", "nope"), ("--max-budget-usd", "much")]
)
def test_a_bad_flag_is_refused_without_a_word_on_stdout(rehearse: Rehearse, flags: tuple[str, ...]) -> None:
    talker = rehearse(*flags)
    assert talker.left() == 1
    assert talker.lines == []
    assert talker.stderr.strip().count(b"\n") == 0


def test_a_malformed_line_is_fatal(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.write(b"{broken\n")
    assert talker.left() == 1
    assert talker.stderr.startswith(b"Error parsing streaming input line")
    assert not talker.all("result")


def test_unknown_lines_and_controls_are_harmless(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.write(b'\n{"type":"keep_alive"}\n{"type":"whatever"}\n{"type":"control_response","response":{}}\n')
    assert talker.control("nosuch")["subtype"] == "error"
    talker.say("hi", [{"text": "alive"}])
    assert talker.result()["result"] == "alive"


def test_it_runs_where_a_package_of_the_same_name_lies(rehearse: Rehearse, stage: Path) -> None:
    (stage / "coordinator").mkdir()
    (stage / "coordinator" / "__init__.py").write_text("raise RuntimeError('the wrong one')")
    talker = rehearse()
    assert _pid(talker) == talker.process.pid


def _pid(talker: Talker) -> int:
    return int(talker.control("initialize")["response"]["pid"])
