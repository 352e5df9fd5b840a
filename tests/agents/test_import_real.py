"""The real Claude Code writes its transcripts; they are read in, and come to what the agent itself says they cost."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from coordinator.drivers.money import micro_usd
from tests.agents.conftest import AgentHome, Binary
from tests.review.importing.made import difference, imported, told

pytestmark = pytest.mark.agents

USAGE = {"input_tokens": 1200, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 5000}


def asked(text: str, *steps: dict[str, Any]) -> str:
    return f"{text} @@{json.dumps({'steps': steps})}@@"


def talk(binary: Binary, home: AgentHome, arguments: list[str], prompts: list[str]) -> tuple[str, list[int]]:
    """One process, its prompts one after the other; the session, and what each turn cost by its own word."""
    # As root, which a test machine may be, nothing is let through but in a sandbox.
    environment = home.environment | {"IS_SANDBOX": "1"}
    argv = [str(binary.path), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    agent = subprocess.Popen(
        [*argv, "--allowedTools", "Bash", *arguments], cwd=home.repository, env=environment, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert agent.stdin is not None
    assert agent.stdout is not None
    session, totals = "", []
    try:
        for prompt in prompts:
            agent.stdin.write(
                json.dumps({"type": "user", "message": {"role": "user", "content": prompt}}).encode() + b"\n"
            )
            agent.stdin.flush()
            for raw in agent.stdout:
                line = json.loads(raw)
                session = line.get("session_id") or session
                if line.get("type") == "result":
                    total = micro_usd(line["total_cost_usd"])
                    assert total is not None
                    totals.append(total)
                    break
        agent.stdin.close()
        agent.stdout.read()
        assert agent.wait(30) == 0
    finally:
        if agent.poll() is None:
            agent.kill()
            agent.wait(10)
        agent.stdout.close()
    # What a resumed process counts from is told with its first result, and is no part of what is asked here.
    return session, [total - before for before, total in zip([0, *totals], totals, strict=False)]


def test_two_turns_a_tool_a_resumed_and_a_forked_session(
    claude_binary: Binary, agent_home: AgentHome, tmp_path: Path
) -> None:
    tool = {"name": "Bash", "input": {"command": "echo forty-two", "description": "Say it"}}
    first = asked(
        "Look.", {"think": "Hm.", "text": "On it.", "tools": [tool], "usage": USAGE, "out": 250}, {"text": "Done."}
    )
    session, costs = talk(claude_binary, agent_home, [], [first, asked("And?", {"text": "Yes.", "usage": USAGE})])
    projects, ledger = agent_home.home / ".claude" / "projects", tmp_path / "ledger.db"
    imported(ledger, projects)
    assert [cost for (cost,) in told(ledger, "SELECT cost FROM turns ORDER BY n")] == costs
    output = told(ledger, "SELECT json_extract(body, '$.output') FROM events WHERE kind = 'tool-finished'")
    assert output == [("forty-two",)]
    assert told(ledger, "SELECT count(*) FROM events WHERE kind = 'unknown'") == [(0,)]

    talk(claude_binary, agent_home, ["--resume", session], [asked("More.", {"text": "Resumed."})])
    talk(claude_binary, agent_home, ["--resume", session, "--fork-session"], [asked("Else.", {"text": "Forked."})])
    report = imported(ledger, projects)
    assert (report.problems, report.torn) == ([], [])
    assert told(ledger, "SELECT id, continues FROM runs ORDER BY id")[:2] == [(1, None), (2, 1)]
    said = told(ledger, "SELECT json_extract(body, '$.text') FROM events WHERE kind = 'text' ORDER BY run, offset, n")
    assert sorted(text for (text,) in said) == sorted(["On it.", "Done.", "Yes.", "Resumed.", "Forked."])
    assert difference(ledger) is None
