"""Each misbehaviour does what its name says: a test of custody that relies on one must not rely on a word."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.rehearsal import mischief
from coordinator.rehearsal.script import MISBEHAVIOUR
from tests.fakes.stream_json import Json, alive
from tests.rehearsal.conftest import Rehearse
from tests.waiting import wait_until

SAY = {"text": "said"}


@pytest.fixture
def daemon_pid(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "daemon"
    yield path
    with contextlib.suppress(OSError, ValueError):
        os.kill(int(path.read_text()), 9)


def test_every_name_has_an_act() -> None:
    assert set(MISBEHAVIOUR) == {*mischief.ACTS, "mailbox"}


def test_garbage_and_big_lines_do_not_stop_the_turn(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("go", [{"do": "garbage", "line": "x[y"}, {"do": "big_line", "megabytes": 1}, SAY])
    assert talker.result()["result"] == "said"
    assert talker.raw == [b"x[y\n"]
    assert len(talker.all("practice_big_line")[0]["filler"]) == 1 << 20


@pytest.mark.parametrize(
    ("step", "code"),
    [({"do": "half_line", "code": 3}, 3), ({"do": "exit", "code": 7}, 7), ({"do": "exit", "signal": "SIGKILL"}, -9)],
)
def test_it_leaves_in_the_middle(rehearse: Rehearse, step: Json, code: int) -> None:
    talker = rehearse()
    talker.say("go", [step])
    assert talker.left() == code
    assert not talker.all("result")
    assert all(not line.endswith(b"\n") for line in talker.raw)
    assert bool(talker.raw) == (step["do"] == "half_line")


def test_silence_lasts_until_it_is_interrupted(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("go", [{"do": "silence"}, SAY])
    talker.until(lambda one: one.all("system", "init"))
    talker.control("interrupt")
    assert talker.result()["subtype"] == "error_during_execution"


def test_it_ignores_what_it_is_told_to_ignore(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("go", [{"do": "ignore", "what": ["eof", "term", "hup", "interrupt", "end_session"]}, SAY])
    talker.result()
    talker.process.terminate()
    talker.process.send_signal(1)
    talker.process.send_signal(2)
    talker.ask("interrupt")
    talker.ask("end_session")
    talker.say("still", [{"text": "there"}])
    assert talker.result(2)["result"] == "there"
    assert not talker.all("control_response")
    talker.close_stdin()
    assert talker.process.poll() is None


def test_a_daemon_that_nothing_leads_back_to(rehearse: Rehearse, daemon_pid: Path) -> None:
    talker = rehearse(FOOTPLATE_TEST_MARK="marked")
    talker.say("go", [{"do": "daemon", "pid_file": str(daemon_pid)}, SAY])
    talker.result()
    pid = int(wait_until(lambda: daemon_pid.is_file() and daemon_pid.read_text(), 10))
    assert os.getsid(pid) not in {talker.process.pid, os.getsid(0)}
    assert Path(f"/proc/{pid}/environ").read_bytes() == b""
    talker.ask("end_session")
    talker.left()
    assert alive(pid)


def test_text_that_a_terminal_would_obey(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("go", [{"do": "escapes"}, {"do": "brackets"}, SAY])
    talker.result()
    said = [line["message"]["content"][0]["text"] for line in talker.all("assistant")]
    assert "\x1b[2J" in said[0]
    assert "[/]" in said[1]


def test_a_flood(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("go", [{"do": "flood", "lines": 500, "width": 120}, SAY])
    talker.result()
    assert [line["number"] for line in talker.all("system", "practice_flood")] == list(range(500))


def test_it_stops_reading(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("go", [{"do": "stop_reading"}, SAY])
    talker.result()
    # The listener may take one more piece that it already waits for; what comes after that is not heard.
    talker.ask("get_usage")
    talker.until(lambda one: one.all("control_response"))
    talker.ask("get_usage")
    talker.say("more", [SAY])
    talker.process.terminate()
    talker.left()
    assert (len(talker.all("control_response")), len(talker.all("result"))) == (1, 1)


def test_noise_on_stderr(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("go", [{"do": "stderr", "line": "noise", "times": 3}, SAY])
    talker.result()
    talker.until(lambda one: one.stderr == b"noise\n" * 3)


@pytest.mark.parametrize(
    ("step", "check"),
    [
        ({"do": "duplicate_result"}, lambda results: len(results) == 2 and results[0] == results[1]),
        ({"do": "nameless_result"}, lambda results: "user_message_uuids" not in results[0]),
        ({"do": "missing_cost"}, lambda results: "total_cost_usd" not in results[0]),
        ({"do": "falling_cost", "to": -1}, lambda results: results[0]["total_cost_usd"] == -1),
        (
            {"do": "result", "set": {"subtype": "odd"}, "drop": ["usage"]},
            lambda results: results[0]["subtype"] == "odd",
        ),
    ],
)
def test_wrong_results(rehearse: Rehearse, step: Json, check: object) -> None:
    talker = rehearse()
    talker.say("go", [step, SAY])
    talker.say("next", [SAY])
    talker.until(
        lambda one: sum("total_cost_usd" in line for line in one.all("result")) and one.kinds()[-1].endswith("idle")
    )
    talker.until(lambda one: one.all("result")[-1]["result_index"] == 1)
    first = [line for line in talker.all("result") if line["result_index"] == 0]
    assert callable(check)
    assert check(first)


def test_it_goes_over_into_another_conversation(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("go", [SAY, {"do": "conversation", "id": "somebody-elses"}])
    own, then = talker.result()["session_id"], talker.all("system")[0]["session_id"]
    assert (own, then == own) == ("somebody-elses", False)
    talker.say("more", [SAY])
    assert talker.result(2)["session_id"] == "somebody-elses"
    assert [one["session_id"] for one in talker.all("system") if one["subtype"] == "init"] == [then, "somebody-elses"]


def test_the_mailbox_is_found_in_the_turns_text(rehearse: Rehearse, stage: Path) -> None:
    talker = rehearse()
    steps: list[Json] = [{"do": "mailbox", "decision": {"question": "which?"}, "handoff": "# Done\n"}, SAY]
    talker.say("Leave decisions in `.footplate/7/decision.json`, please.", steps)
    talker.result()
    assert json.loads((stage / ".footplate/7/decision.json").read_text()) == {"question": "which?"}
    assert (stage / ".footplate/7/handoff.md").read_text() == "# Done\n"
    talker.say("go", [{"do": "mailbox", "folder": ".footplate/8", "decision": "{broken"}, SAY])
    talker.result(2)
    assert (stage / ".footplate/8/decision.json").read_text() == "{broken"


def test_a_turn_that_nobody_asked_for(rehearse: Rehearse) -> None:
    talker = rehearse()
    talker.say("go", [{"do": "unsolicited", "text": "by the way"}, SAY])
    unasked = talker.result(2)
    assert (unasked["result"], unasked["origin"]["kind"]) == ("by the way", "task-notification")


def test_a_start_that_never_comes(rehearse: Rehearse, tmp_path: Path) -> None:
    script = tmp_path / "deaf.toml"
    script.write_text("never_ready = true\nignore = ['term']\n[[turn]]\nsteps = [{ say = 'x' }]\n")
    talker = rehearse(script=str(script))
    talker.ask("initialize")
    assert talker.control("get_usage")["subtype"] == "success"
    talker.process.terminate()
    assert talker.control("get_usage")["subtype"] == "success"
    assert len(talker.all("control_response")) == 2
