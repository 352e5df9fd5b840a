"""Each installed Claude Code, held raw on stream-json against the loopback model: the ground that the driver stands on.

No driver of ours is in here. If one of these fails, the agent has changed, and with it what every other agent test
means.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.conftest import AgentHome, Binary
from tests.fakes.loopback_model import LoopbackModel
from tests.fakes.stream_json import HELD, Json, Talker, alive
from tests.waiting import wait_until

pytestmark = pytest.mark.agents


@pytest.fixture
def talker(claude_binary: Binary, agent_home: AgentHome) -> Iterator[Talker]:
    argv = [str(claude_binary.path), *HELD]
    with Talker(argv, cwd=agent_home.repository, environment=agent_home.environment) as held:
        yield held


def test_one_process_is_held_for_three_turns(talker: Talker, claude_binary: Binary, loopback: LoopbackModel) -> None:
    ready = talker.control("initialize", hooks=None)
    assert ready["response"]["pid"] == talker.process.pid
    costs = []
    for number in range(1, 4):
        identity = talker.say(f"turn {number}", [{"text": f"reply {number}"}])
        result = talker.result(number)
        assert result["result"] == f"reply {number}"
        assert result["subtype"] == "success"
        costs.append(result["total_cost_usd"])
        if claude_binary.generation == "332":
            assert result["user_message_uuids"] == [identity]
    assert costs[0] > 0
    assert costs == sorted(costs)
    assert costs[2] == pytest.approx(3 * costs[0])
    assert len({result["session_id"] for result in talker.all("result")}) == 1
    assert len(loopback.calls) >= 3
    talker.close_stdin()
    assert talker.left() == 0


def test_what_is_allowed_runs_as_it_was_changed(talker: Talker, agent_home: AgentHome) -> None:
    """The command that the answer carries is the one that runs, and a denial lets the turn go on."""
    talker.control("initialize", hooks=None)
    touch = "python3 -c \"open('{}', 'w')\""
    steps: list[Json] = [
        {"tools": [{"name": "Bash", "input": {"command": touch.format("asked"), "description": "make a file"}}]},
        {"tools": [{"name": "Bash", "input": {"command": touch.format("denied"), "description": "make a file"}}]},
        {"text": "went on"},
    ]
    talker.say("make files", steps)
    first = talker.asked(1)
    assert first["request"]["subtype"] == "can_use_tool"
    assert first["request"]["tool_name"] == "Bash"
    talker.allow(first, first["request"]["input"] | {"command": touch.format("changed")})
    talker.answer(talker.asked(2), {"behavior": "deny", "message": "rather not"})
    result = talker.result()
    assert result["result"] == "went on"
    assert [denial["tool_name"] for denial in result["permission_denials"]] == ["Bash"]
    made = {path.name for path in agent_home.repository.iterdir()} & {"asked", "changed", "denied"}
    assert made == {"changed"}


def test_end_session_leaves_no_command_behind(talker: Talker, tmp_path: Path) -> None:
    """A running command goes with the session, and the turn is settled before the process leaves."""
    talker.control("initialize", hooks=None)
    told = tmp_path / "pid"
    command = f"python3 -c \"import os,time; open('{told}','w').write(str(os.getpid())); time.sleep(300)\""
    talker.say("wait", [{"tools": [{"name": "Bash", "input": {"command": command, "description": "wait"}}]}])
    talker.allow(talker.asked())
    pid = int(wait_until(lambda: told.is_file() and told.read_text(), 20))
    assert alive(pid)
    talker.ask("end_session")
    result = talker.result()
    assert result["subtype"] == "error_during_execution"
    assert result["terminal_reason"] == "aborted_tools"
    assert talker.left() == 1
    wait_until(lambda: not alive(pid), 5, "the command ends with its session")
