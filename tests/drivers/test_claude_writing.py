"""What is written to the agent, and how it is started: argv, environment, handshake, turns, interrupts, farewell."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from coordinator.drivers.base import Driver, Start
from coordinator.drivers.claude import ClaudeDriver
from coordinator.drivers.registry import DRIVERS, create
from store.vocab import MicroUsd, TurnId
from tests.drivers.recordings import steps

START = Start(program="/opt/claude", session="5f0c")


def written(data: bytes) -> list[dict[str, Any]]:
    assert data.endswith(b"\n") and data.isascii()
    return [json.loads(line) for line in data.splitlines()]


def fed(name: str, until: int | None = None) -> ClaudeDriver:
    driver = ClaudeDriver()
    for step in steps(name)[:until]:
        if step.came == "out":
            driver.feed(step.raw())
    return driver


def test_argv_of_a_new_session() -> None:
    argv = list(ClaudeDriver().argv(START))
    assert argv[:2] == ["/opt/claude", "-p"]
    assert argv[-2:] == ["--session-id", "5f0c"]
    for flag in ("--verbose", "--replay-user-messages", "--include-partial-messages"):
        assert flag in argv
    for flag, value in (("--input-format", "stream-json"), ("--permission-prompt-tool", "stdio")):
        assert argv[argv.index(flag) + 1] == value
    assert "--permission-mode" not in argv  # the asking mode's flag differs by generation


def test_argv_of_a_resumed_and_a_forked_session() -> None:
    argv = list(ClaudeDriver().argv(replace(START, resume=True, model="opus", cap=MicroUsd(1_250_000))))
    assert "--resume=5f0c" in argv and "--session-id" not in argv and "--fork-session" not in argv
    assert argv[argv.index("--model") + 1] == "opus"
    assert argv[argv.index("--max-budget-usd") + 1] == "1.25"
    assert "--fork-session" in ClaudeDriver().argv(replace(START, resume=True, fork=True))


@pytest.mark.parametrize(("cap", "told"), [(1, "0.000001"), (0, "0.000001"), (-5, "0.000001"), (10**9, "1000")])
def test_a_cap_is_exact_and_never_nothing(cap: int, told: str) -> None:
    argv = list(ClaudeDriver().argv(replace(START, cap=MicroUsd(cap))))
    assert argv[argv.index("--max-budget-usd") + 1] == told


@pytest.mark.parametrize(
    ("mode", "set_to"),
    [(None, "default"), ("plan", "plan"), ("acceptEdits", "acceptEdits"), ("auto", "default"), ("dontAsk", "default")],
)
def test_a_person_is_asked(mode: str | None, set_to: str) -> None:
    driver = ClaudeDriver("g1")
    argv = list(driver.argv(replace(START, mode=mode)))
    if set_to != "default":
        assert argv[argv.index("--permission-mode") + 1] == set_to
    initialize, ask = (written(write.data)[0] for write in driver.opening())
    assert initialize["request"] == {"subtype": "initialize", "hooks": None}
    assert ask["request"] == {"subtype": "set_permission_mode", "mode": set_to}


def test_environment() -> None:
    sets, never = ClaudeDriver().environment()
    assert sets == {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1"}
    assert {"CLAUDECODE", "CLAUDE_CODE_EXIT_AFTER_STOP_DELAY", "CLAUDE_PID", "CLAUDE_CODE_MESSAGING_TOKEN"} <= never


def test_ids_of_writes_are_unique_and_go_on_after_a_restore() -> None:
    driver = ClaudeDriver("g1")
    first = [write.id for write in (*driver.opening(), driver.interrupt())]
    fresh = ClaudeDriver("g1")
    fresh.restore(driver.snapshot())
    more = [write.id for write in (fresh.interrupt(), fresh.set_model("x"), fresh.ask_cost())]
    assert len({*first, *more}) == 6
    for write in (driver.set_mode("plan"), driver.set_model("m")):
        assert written(write.data)[0]["request_id"] == write.id


def test_ids_written_after_the_snapshot_are_learned_from_the_answers() -> None:
    driver = ClaudeDriver("g1")
    driver.feed(b'{"type":"control_response","response":{"subtype":"success","request_id":"g1-7"}}\n')
    assert driver.interrupt().id == "g1-8"


def test_a_turn_is_one_line_with_its_id() -> None:
    (line,) = written(ClaudeDriver().turn(TurnId("t-1"), "a\nb “ü” \u2028"))
    assert (line["type"], line["uuid"]) == ("user", "t-1")
    assert line["message"] == {"role": "user", "content": "a\nb “ü” \u2028"}
    assert "client_composed" not in line


@pytest.mark.parametrize("text", ["/etc/hosts is wrong", "/nosuch", "see @README.md", "  /compact"])
def test_text_that_looks_like_a_command_goes_verbatim(text: str) -> None:
    driver = fed("02-initialize-332.jsonl")
    assert driver.slash(text) is None
    assert written(driver.turn(TurnId("t"), text))[0]["client_composed"] is True


def test_the_older_generation_gets_a_space_before_the_slash() -> None:
    for driver, sent in (
        (fed("01-three-turns-197.jsonl"), " /nosuch"),
        (ClaudeDriver(), " /nosuch"),
        (fed("02-initialize-332.jsonl"), "/nosuch"),
    ):
        assert written(driver.turn(TurnId("t"), "/nosuch"))[0]["message"]["content"] == sent


def test_a_known_command_is_one() -> None:
    driver = fed("01-three-turns-332.jsonl")
    assert driver.slash("/compact keep the tests") == "compact"
    assert driver.slash("compact") is None and driver.slash("/compactly") is None and driver.slash("") is None
    assert "client_composed" not in written(driver.turn(TurnId("t"), "/compact"))[0]


def test_an_interrupt_clears_the_queue_where_the_agent_can() -> None:
    newer, older = fed("01-three-turns-332.jsonl"), fed("01-three-turns-197.jsonl")
    assert written(newer.interrupt().data)[0]["request"] == {"subtype": "interrupt", "cancel_queued": True}
    assert written(older.interrupt().data)[0]["request"] == {"subtype": "interrupt"}


@pytest.mark.parametrize("generation", ["197", "332"])
def test_background_tasks_are_stopped_by_name(generation: str) -> None:
    name = f"11-bgbash-{generation}.jsonl"
    ends = next(i for i, step in enumerate(steps(name)) if step.came == "out" and step.line["type"] == "result")
    driver = fed(name, ends)
    (stop,) = driver.stop_background()
    (request,) = written(stop.data)
    assert request["request"]["subtype"] == "stop_task" and request["request"]["task_id"]
    assert fed(name).stop_background() == ()


def test_the_farewell_answers_what_is_open_and_ends() -> None:
    name = "13-sig3-332.jsonl"
    asked = next(i for i, s in enumerate(steps(name)) if s.came == "out" and s.line["type"] == "control_request")
    driver = fed(name, asked + 1)
    before = driver.snapshot()
    denied, end = written(driver.farewell())
    assert denied["response"]["response"]["behavior"] == "deny"
    assert denied["response"]["request_id"] == steps(name)[asked].line["request_id"]
    assert end["request"]["subtype"] == "end_session"
    assert driver.snapshot() == before
    assert [line["type"] for line in written(fed(name).farewell())] == ["control_request"]


def test_registry() -> None:
    assert set(DRIVERS) >= {"claude", "rehearsal"}
    assert create("nobody", "x") is None
    driver: Driver | None = create("rehearsal", "g2")
    assert driver is not None and driver.capabilities.asks_permission
    argv = list(driver.argv(replace(START, program="/usr/bin/python3", extra_args=("-m", "coordinator.rehearsal"))))
    assert argv[:4] == ["/usr/bin/python3", "-m", "coordinator.rehearsal", "-p"]
    plain = list(ClaudeDriver().argv(replace(START, extra_args=("--add-dir", "/x"))))
    assert plain[-2:] == ["--add-dir", "/x"]
