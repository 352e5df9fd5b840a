"""The practice agent beside the real one: the same words to both, and the same lines back, kind by kind.

What the practice agent is for depends on this: a driver or a console that is tried with it is tried with the real
thing's order of lines. What it does not pretend (timings, token estimates) is left out of the comparison, and streamed
pieces are compared among themselves: the real agent starts a tool while the end of its message still streams.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from coordinator.rehearsal import agent
from tests.agents.conftest import AgentHome, Binary
from tests.fakes.stream_json import HELD, Json, Talker

pytestmark = pytest.mark.agents

Scene = Callable[[Talker], None]
Told = dict[str, tuple[list[str], list[str]]]
"""Scene to the lines told, and the pieces streamed."""
BASH: Json = {"name": "Bash", "input": {"command": "python3 -c 'print(6*7)'", "description": "reckon"}}
WAIT = "python3 -c \"import os,time; [time.sleep(.05) for _ in iter(lambda: os.path.exists('go'), True)]\""
"""The agent's command, not the test, that waits: until the test lets it go."""
LONG: Json = {"name": "Bash", "input": {"command": WAIT, "description": "wait"}}
BACKGROUND: Json = {"name": "Bash", "input": {**LONG["input"], "run_in_background": True}}
QUESTION: Json = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
    "multiSelect": False,
}
ASK: Json = {"name": "AskUserQuestion", "input": {"questions": [QUESTION]}}


# ------------------------------------------------------------------- scenes that leave the session as they found it


def speak(talker: Talker) -> None:
    talker.say("a", [{"think": "hm", "text": "one"}])


def allow(talker: Talker) -> None:
    talker.say("a", [{"text": "running", "tools": [BASH]}, {"text": "done"}])
    talker.allow(talker.asked())


def deny(talker: Talker) -> None:
    talker.say("a", [{"tools": [BASH]}, {"text": "done"}])
    talker.answer(talker.asked(), {"behavior": "deny", "message": "no"})


def deny_and_interrupt(talker: Talker) -> None:
    talker.say("a", [{"tools": [BASH]}, {"text": "done"}])
    talker.answer(talker.asked(), {"behavior": "deny", "message": "no", "interrupt": True})


def answer(talker: Talker) -> None:
    talker.say("a", [{"tools": [ASK]}, {"text": "done"}])
    talker.allow(talker.asked(), {"questions": [QUESTION], "answers": {"Which colour?": "Blue"}})


def interrupt_a_request(talker: Talker) -> None:
    talker.say("a", [{"tools": [BASH]}, {"text": "done"}])
    talker.asked()
    talker.control("interrupt")


def interrupt_a_text(talker: Talker) -> None:
    talker.say("a", [{"text": "word " * 20, "slow": 0.2, "chunks": 20}])
    talker.until(lambda one: one.all("system", "init"))
    if talker.streams:
        talker.until(lambda one: len(one.all("stream_event")) > 3)
    talker.control("interrupt")


def lines_that_wait(talker: Talker) -> None:
    talker.say("a", [{"text": "one two", "slow": 0.4, "chunks": 2}])
    talker.until(lambda one: one.all("stream_event" if one.streams else "system"))
    talker.until(lambda one: one.all("system", "init"))
    talker.say("b", [{"text": "three"}])
    talker.result(2)


def change_the_mode(talker: Talker) -> None:
    talker.control("set_permission_mode", mode="acceptEdits")
    talker.control("set_permission_mode", mode="default")
    speak(talker)


def clear(talker: Talker) -> None:
    talker.say("/clear")


CONVERSATION: list[Scene] = [
    speak,
    allow,
    deny,
    deny_and_interrupt,
    answer,
    interrupt_a_request,
    lines_that_wait,
    change_the_mode,
    clear,
]

# ------------------------------------------------------------------------------------------ scenes with which it ends


def end_at_rest(talker: Talker) -> None:
    speak(talker)
    talker.result()
    talker.ask("end_session")


def end_with_a_request(talker: Talker) -> None:
    talker.say("a", [{"tools": [LONG]}, {"text": "x"}])
    talker.asked()
    talker.ask("end_session")


def close_with_a_request(talker: Talker) -> None:
    talker.say("a", [{"tools": [BASH]}, {"text": "went on"}])
    talker.asked()
    talker.close_stdin()


def interrupt_a_command(talker: Talker) -> None:
    talker.say("a", [{"tools": [LONG]}, {"text": "x"}])
    talker.allow(talker.asked())
    talker.until(lambda one: one.all("system", "task_started"), what="the command is announced as a task")
    talker.control("interrupt")
    talker.result()
    talker.close_stdin()


def stop_in_the_background(talker: Talker) -> None:
    talker.say("a", [{"tools": [BACKGROUND]}, {"text": "started"}])
    talker.allow(talker.asked())
    talker.result()
    talker.control("stop_task", task_id=talker.all("system", "task_started")[0]["task_id"])
    talker.ask("end_session")


def wake_from_the_background(talker: Talker) -> None:
    talker.say("a", [{"tools": [BACKGROUND]}, {"text": "started"}])
    talker.allow(talker.asked())
    talker.result()
    (talker.cwd / "go").touch()
    talker.result(2)
    (talker.cwd / "go").unlink()
    talker.close_stdin()


ENDINGS: list[Scene] = [
    end_at_rest,
    end_with_a_request,
    close_with_a_request,
    interrupt_a_command,
    stop_in_the_background,
    wake_from_the_background,
]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_a_conversation(claude_binary: Binary, agent_home: AgentHome, streams: bool) -> None:
    scenes = [*CONVERSATION, interrupt_a_text] if streams else CONVERSATION

    def converse(argv: Sequence[str]) -> Told:
        played: Told = {}
        with held(argv, agent_home, streams) as talker:
            talker.control("initialize", hooks=None)
            for scene in scenes:
                talker.lines = []
                scene(talker)
                talker.until(rests, what=f"rest after {scene.__name__}")
                played[scene.__name__] = (told(talker.lines), streamed(talker.lines))
        return played

    rehearsed, real = converse(practice(claude_binary)), converse([str(claude_binary.path)])
    # Where an interrupt finds the agent is chance: how far a text got, and which word it has for where it stopped.
    for played in (rehearsed, real):
        for cut in {"interrupt_a_text", "interrupt_a_request", "deny_and_interrupt"} & played.keys():
            lines, _ = played[cut]
            played[cut] = ([" ".join(line.split()[:2]) if line.startswith("result ") else line for line in lines], [])
    assert rehearsed == real


@pytest.mark.parametrize("scene", ENDINGS, ids=lambda scene: scene.__name__)
def test_an_ending(claude_binary: Binary, agent_home: AgentHome, scene: Scene) -> None:
    def play(argv: Sequence[str]) -> tuple[list[str], int]:
        with held(argv, agent_home, streams=False) as talker:
            talker.control("initialize", hooks=None)
            scene(talker)
            code = talker.left()
            return told(talker.lines), code

    assert play(practice(claude_binary)) == play([str(claude_binary.path)])


def held(argv: Sequence[str], home: AgentHome, streams: bool) -> Talker:
    environment = home.environment | {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
    flags = [*HELD, *(["--include-partial-messages"] if streams else [])]
    return Talker([*argv, *flags], cwd=home.repository, environment=environment)


def practice(binary: Binary) -> list[str]:
    script = str(Path(agent.__file__))
    return [sys.executable, "-I", script, "--script", "plain", "--generation", binary.generation]


def rests(talker: Talker) -> bool:
    states = [line["state"] for line in talker.all("system", "session_state_changed")]
    return bool(talker.all("result")) and states[-1:] == ["idle"]


def told(lines: list[Json]) -> list[str]:
    """All that is no streamed piece; a state that is told twice over counts once."""
    shapes: list[str] = []
    state = None
    for line in list(lines):
        if line["type"] == "stream_event" or line.get("subtype") == "thinking_tokens":
            continue
        if line.get("subtype") == "session_state_changed":
            if line["state"] == state:
                continue
            state = line["state"]
        shapes.append(shape(line))
    return shapes


def streamed(lines: list[Json]) -> list[str]:
    return [shape(line) for line in list(lines) if line["type"] == "stream_event"]


def shape(line: Json) -> str:
    """A line without what differs from run to run."""
    parts = [line["type"], line.get("subtype"), line.get("state"), line.get("terminal_reason"), line.get("status")]
    if "response" in line:
        parts.append(line["response"]["subtype"])
    if line["type"] == "control_request":
        request = line["request"]
        parts += [request["subtype"], request["tool_name"], *sorted(set(request) - {"title"})]
    if line["type"] == "stream_event":
        parts.append(line["event"]["type"])
    if line["type"] in {"assistant", "user"}:
        content = line["message"]["content"]
        parts += ["text"] if isinstance(content, str) else [block["type"] for block in content]
        parts += [word for word in ("isReplay", "aborted", "error") if line.get(word)]
    if line["type"] == "result":
        parts += [str(line["is_error"]), f"{len(line['permission_denials'])} denied"]
        parts += [key for key in ("result", "errors", "origin", "user_message_uuids", "result_index") if key in line]
    return " ".join(str(part) for part in parts if part is not None)
