"""An agent may print anything: no line of any shape ends a hold, is lost, or leaves a driver that cannot be kept."""

import json
import random
from functools import cache
from typing import Any

import msgspec
from hypothesis import example, given, strategies as st
from msgspec import to_builtins

from coordinator.drivers.base import Allow, Deny, QuestionReply, Unknown
from coordinator.drivers.claude import ClaudeDriver
from store.vocab import TurnId
from tests.drivers.bent import SETTINGS, bent, read_however_cut
from tests.drivers.recordings import names, steps


@cache
def printed() -> tuple[Any, ...]:
    """One line of each kind that the agents printed, and a few more."""
    found: dict[str, Any] = {}
    for name in names():
        for step in steps(name):
            if step.came == "out":
                line = step.line
                content = (line.get("message") or {}).get("content") if isinstance(line.get("message"), dict) else None
                inner = content[0].get("type") if isinstance(content, list) and content else ""
                event = (line.get("event") or {}).get("type")
                key = " ".join(map(str, (line["type"], line.get("subtype"), event, inner, line.get("error"))))
                found.setdefault(key, line)
    return tuple(found.values())


def check(driver: ClaudeDriver) -> None:
    """It can be kept, go on, and be spoken to."""
    state = driver.snapshot()
    again = ClaudeDriver()
    again.restore(state)
    assert again.snapshot() == state
    for request in list(msgspec.json.decode(state)["asks"]):
        for answer in (Allow(for_run=True), Deny(message="no"), QuestionReply(answers={"q": ("a",)}, note="n")):
            json.loads(driver.answer(request, answer))
    driver.interrupt()
    driver.stop_background()
    json.loads(driver.farewell().splitlines()[-1])
    driver.turn(TurnId("t"), "/x")


@SETTINGS
@given(st.lists(bent(printed), min_size=1, max_size=6))
def test_lines_of_any_shape(lines: list[bytes]) -> None:
    driver = ClaudeDriver()
    driver.turn(TurnId("turn"), "hi")
    for line in lines:
        events = driver.feed(line + b"\n")
        for event in events:
            # What goes into the ledger must be text that UTF-8 holds.
            json.dumps(to_builtins(event), ensure_ascii=False, default=repr).encode()
    check(driver)


@SETTINGS
@given(st.binary(max_size=200))
@example(b"\xff\xfe\n")
@example(b'{"type":"user","message":{"content":"\\ud800"}}\n')
@example(b'{"type":"system"}\n[]\n3\n"x"\nnull\n')
@example(b'{"type":"result","subtype":"success","total_cost_usd":NaN}\n')
@example(b"[" * 100_000 + b"\n")
@example(b'{"a":' * 100_000 + b"\n")
@example(b'{"type":"assistant","message":{"content":' + b"9" * 6000 + b"}}\n")
def test_bytes_of_any_kind(data: bytes) -> None:
    driver = ClaudeDriver()
    events = [*driver.feed(data), *driver.feed_end()]
    lines = [line for line in data.split(b"\n") if line.strip()]
    assert len(events) >= sum(isinstance(event, Unknown) for event in events)
    if all(b'"type"' not in line for line in lines):
        assert [event.raw for event in events if isinstance(event, Unknown)] == [
            line.decode("utf-8", "replace") for line in lines
        ]
    check(driver)


@SETTINGS
@given(st.lists(bent(printed), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_cuts_change_nothing(lines: list[bytes], rnd: random.Random) -> None:
    read_however_cut(ClaudeDriver, lines, rnd)


def test_a_bad_byte_hides_no_line() -> None:
    driver = ClaudeDriver()
    events = driver.feed(b'{"type":"system","subtype":"model_fallback","content":"a\xffb"}\n')
    assert [event.text for event in events] == ["a�b"]  # type: ignore[union-attr]


def test_a_half_line_at_the_end_is_kept() -> None:
    driver = ClaudeDriver()
    assert not driver.feed(b'{"type":"result","subty')
    assert driver.feed_end() == [Unknown(raw='{"type":"result","subty')]
    assert driver.feed_end() == []


def test_a_last_line_that_lacks_only_its_end_is_read() -> None:
    driver = ClaudeDriver()
    driver.feed(b'{"type":"system","subtype":"session_state_changed","state":"idle"}')
    assert [type(event).__name__ for event in driver.feed_end()] == ["Idle"]
