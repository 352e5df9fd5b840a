"""What every driver promises, whatever it speaks: one suite over all of them, each on a conversation of its own.

A driver that comes new to the registry must bring a conversation, or the first test fails.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from coordinator import eventcodec
from coordinator.drivers import base, registry
from coordinator.drivers.base import AgentEvent, Driver, Reply, Start, TerminalDriver, Unknown
from store.vocab import TurnId
from tests.drivers import acp_recordings, codex_recordings, recordings, test_pty


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    turn: TurnId
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Went:
    """The first byte of a write went, of an agent on a terminal."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence: ...


Step = Printed | Said | Went | Silence


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    driver: str
    start: Start
    steps: tuple[Step, ...]


def of_claude(name: str, driver: str = "claude") -> Conversation:
    def steps() -> Iterator[Step]:
        for step in recordings.steps(name):
            for line in recordings.user_lines(step):
                content = line["message"]["content"]
                yield Said(turn=TurnId(line["uuid"]), text=content if isinstance(content, str) else "")
            if step.came == "out":
                yield Printed(data=step.raw())

    return Conversation(driver=driver, start=Start(program="/bin/a", session="s"), steps=tuple(steps()))


def of_codex(name: str) -> Conversation:
    def steps() -> Iterator[Step]:
        for step in codex_recordings.steps(name):
            line = step.line
            if step.came == "in":
                yield Printed(data=step.raw)
            elif line.get("method") == "turn/start":
                said = line["params"]["input"][0]["text"]
                yield Said(turn=TurnId(str(line["id"]).removeprefix("turn-")), text=said)

    return Conversation(driver="codex", start=codex_recordings.start(name), steps=tuple(steps()))


def of_acp(name: str) -> Conversation:
    def steps() -> Iterator[Step]:
        for step in acp_recordings.steps(name):
            if step.came == "out":
                yield Printed(data=step.raw())
            elif step.line.get("method") == "session/prompt":
                text = step.line["params"]["prompt"][0]["text"]
                yield Said(turn=TurnId(step.line["id"].removeprefix("turn-")), text=text)

    start = Start(program="/bin/a", session="", cwd="/home/op/x")
    return Conversation(driver="acp", start=start, steps=tuple(steps()))


def of_a_shell() -> Conversation:
    def steps() -> Iterator[Step]:
        for step in test_pty.SHELL:
            if isinstance(step, bytes):
                yield Printed(data=step)
            elif step == test_pty.QUIET:
                yield Silence()
            else:
                yield Said(turn=TurnId(step), text="echo héllo" if step == "t1" else "./build")
                yield Went(id=step)

    start = Start(program="/bin/sh", session="", prompt=r"\$ ", quit="exit")
    return Conversation(driver="pty", start=start, steps=tuple(steps()))


ALL: dict[str, Callable[[], Conversation]] = {
    "claude-197": lambda: of_claude("20-driver-197.jsonl"),
    "claude-332": lambda: of_claude("20-driver-332.jsonl"),
    "claude-woken-332": lambda: of_claude("21-woken-332.jsonl"),
    "rehearsal": lambda: of_claude("21-woken-197.jsonl", "rehearsal"),
    "codex": lambda: of_codex("codex-app-server"),
    "codex-cancel": lambda: of_codex("codex-app-server-cancel"),
    "acp-gemini": lambda: of_acp("gemini"),
    "acp-opencode": lambda: of_acp("opencode-cancel"),
    "acp-claude": lambda: of_acp("claude-agent-acp"),
    "acp-qwen": lambda: of_acp("qwen"),
    "pty": of_a_shell,
}


def begun(told: Conversation, instance: str = "a") -> Driver:
    driver = registry.create(told.driver, instance)
    assert driver is not None
    driver.argv(told.start)
    driver.opening()
    return driver


def take(driver: Driver, step: Step, cut: int = 1 << 30) -> Sequence[AgentEvent]:
    match step:
        case Printed():
            return [event for at in range(0, len(step.data), cut) for event in driver.feed(step.data[at : at + cut])]
        case Said():
            driver.turn(step.turn, step.text)
        case Went():
            assert isinstance(driver, TerminalDriver)
            driver.sending(step.id)
        case Silence():
            return driver.quiet()
    return ()


def played(told: Conversation, driver: Driver | None = None, cut: int = 1 << 30) -> list[AgentEvent]:
    driver = driver or begun(told)
    return [event for step in told.steps for event in take(driver, step, cut)] + list(driver.feed_end())


def kept(events: Sequence[AgentEvent]) -> list[AgentEvent]:
    """What the ledger gets: pieces of text may come in other pieces where the bytes were cut otherwise."""
    return [event for event in events if not isinstance(event, base.TRANSIENT) or isinstance(event, Reply)]


@pytest.fixture(params=ALL)
def told(request: pytest.FixtureRequest) -> Conversation:
    return ALL[request.param]()


def test_every_driver_is_here() -> None:
    assert {make().driver for make in ALL.values()} == set(registry.DRIVERS)


@pytest.mark.parametrize("cut", [1, 7, 4096])
def test_how_the_bytes_were_cut_makes_no_difference(told: Conversation, cut: int) -> None:
    assert kept(played(told, cut=cut)) == kept(played(told))


def test_another_console_may_take_over_after_any_step(told: Conversation) -> None:
    driver, found = begun(told), []
    for number, step in enumerate(told.steps):
        found += take(driver, step)
        again = begun(told, f"later{number}")
        again.restore(driver.snapshot())
        for known in told.steps[: number + 1]:
            if isinstance(known, Said):
                again.turn(known.turn, known.text)  # as is said again of those that fly
        driver = again
    assert kept([*found, *driver.feed_end()]) == kept(played(told))


def test_who_reads_it_all_again_reads_the_same_and_would_write_the_same(told: Conversation) -> None:
    """``verify`` does, and a console that comes when no snapshot was taken yet: nothing may hang on who reads."""
    assert kept(played(told, begun(told, "b"))) == kept(played(told, begun(told, "a")))


def test_a_turn_has_the_same_bytes_however_often_it_is_made(told: Conversation) -> None:
    one, other = begun(told, "a"), begun(told, "b")
    for step in told.steps:
        take(other, step)
        if isinstance(step, Said):
            bytes_of = one.turn(step.turn, step.text)
            assert bytes_of and bytes_of == one.turn(step.turn, step.text) == other.turn(step.turn, step.text)
        take(one, step)


def test_a_turn_begins_once_and_ends_once_and_only_if_it_was_said(told: Conversation) -> None:
    said = [step.turn for step in told.steps if isinstance(step, Said)]
    begins = [event.turn for event in played(told) if isinstance(event, base.TurnAccepted)]
    ends = [turn for event in played(told) if isinstance(event, base.TurnResult) for turn in event.turns]
    assert len(begins) == len(set(begins)) and set(begins) <= set(said)
    assert len(ends) == len(set(ends)) and set(ends) <= set(said)
    assert said and ends


def test_it_is_ready_before_its_first_turn_begins(told: Conversation) -> None:
    kinds = [type(event) for event in played(told)]
    assert kinds.index(base.SessionReady) < kinds.index(base.TurnAccepted)


def test_what_is_kept_comes_back_from_the_ledger_as_it_was(told: Conversation) -> None:
    for event in kept(played(told)):
        kind, body = eventcodec.encode(event, str)
        assert eventcodec.decode(kind, body) == event


def test_blocks_and_calls_are_not_ended_twice(told: Conversation) -> None:
    events = played(told)
    ended = [event.call for event in events if isinstance(event, base.ToolFinished)]
    assert len(ended) == len(set(ended))
    assert set(ended) <= {event.call for event in events if isinstance(event, base.ToolStarted)}
    texts = [event.block for event in events if isinstance(event, base.TextBlock)]
    assert len(texts) == len(set(texts))


def test_at_any_moment_it_can_be_interrupted_and_ended(told: Conversation) -> None:
    driver = begun(told)
    for step in told.steps:
        take(driver, step)
        assert isinstance(driver.farewell(), bytes)
        if driver.capabilities.interrupts:
            write = driver.interrupt()
            assert write.id and isinstance(write.data, bytes)


def test_a_person_is_asked_in_its_first_mode_or_it_says_that_nobody_is(told: Conversation) -> None:
    able = begun(told).capabilities
    assert bool(able.modes) is able.asks_permission


NOISE: tuple[bytes, ...] = (
    b"not json\n",
    b"{}\n[]\n1\nnull\n",
    b'{"method": 1, "id": [], "params": "x"}\n',
    b'{"jsonrpc": "2.0", "id": "no-such", "result": {}}\n',
    b'{"type": "result", "session_id": 7, "total_cost_usd": "much"}\n',
    b"\xff\xfe\x00\x1b[2J\n",
    b'{"a": ' * 5_000 + b"\n",
    b'{"id": 1e400, "method": "x"}\n',
)


def test_noise_at_any_moment_breaks_nothing_and_is_not_lost(told: Conversation) -> None:
    driver = begun(told)
    clean = begun(told)
    noise = 0
    for number, step in enumerate(told.steps):
        take(driver, step)
        take(clean, step)
        if isinstance(step, Printed) and step.data.endswith(b"\n") and not driver.capabilities.terminal:
            line = NOISE[number % len(NOISE)]
            heard = driver.feed(line)
            noise += 1
            if line == NOISE[0]:
                assert [event.raw for event in heard if isinstance(event, Unknown)] == ["not json"]
    assert noise or driver.capabilities.terminal
    last: list[Any] = [[type(event) for event in one.feed_end()] for one in (driver, clean)]
    assert last[0] == last[1]
