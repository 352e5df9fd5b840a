"""An agent may print anything: no line of any shape ends a hold, is lost, or leaves a driver that cannot be kept."""

import json
import random
from functools import cache
from typing import Any

import msgspec
from hypothesis import example, given, strategies as st
from msgspec import to_builtins

from coordinator.drivers.acp import AcpDriver
from coordinator.drivers.base import Allow, Chosen, Deny, QuestionReply, Start, Unknown
from store.vocab import TurnId
from tests.drivers.acp_recordings import printed, started
from tests.drivers.bent import SETTINGS, bent, read_however_cut


@cache
def lines() -> tuple[Any, ...]:
    return tuple(printed())


def check(driver: AcpDriver) -> None:
    """It can be kept, go on, and be spoken to."""
    state = driver.snapshot()
    again = AcpDriver()
    again.restore(state)
    assert again.snapshot() == state
    for request in list(msgspec.json.decode(state)["asks"]):
        answers = (Allow(), Deny(), Chosen(offer="x"), QuestionReply(answers={"q": ("a",)}, note="n"))
        for answer in answers:
            json.loads(driver.answer(request, answer))
    for data in (driver.interrupt().data, driver.set_mode("ask").data, driver.set_model("m").data, driver.farewell()):
        for row in data.splitlines():
            json.loads(row)
    json.loads(driver.addressed(driver.turn(TurnId("t"), "/x")))
    assert driver.capabilities.modes


@SETTINGS
@given(st.lists(bent(lines), min_size=1, max_size=6), st.booleans())
def test_lines_of_any_shape(given_lines: list[bytes], resumed: bool) -> None:
    driver = AcpDriver()
    driver.argv(Start(program="p", session="s", agent="qwen", resume=resumed, mode="plan" if resumed else None))
    driver.turn(TurnId("t3"), "hi")
    for line in given_lines:
        for event in driver.feed(line + b"\n"):
            # What goes into the ledger must be text that UTF-8 holds.
            json.dumps(to_builtins(event), ensure_ascii=False, default=repr).encode()
    check(driver)


@SETTINGS
@given(st.lists(bent(lines), min_size=1, max_size=4))
def test_no_request_waits_for_ever(given_lines: list[bytes]) -> None:
    """Whatever is asked is put to a person, or answered with a no."""
    driver = started()
    for line in given_lines:
        events = driver.feed(line + b"\n")
        told = json.loads(line)
        if not isinstance(told, dict) or not isinstance(told.get("method"), str) or not told["method"]:
            continue
        id = told.get("id")
        if isinstance(id, str) or (isinstance(id, int) and not isinstance(id, bool) and abs(id) <= 2**53):
            kinds = [type(event).__name__ for event in events]
            assert kinds.count("DecisionAsked") + kinds.count("Reply") == 1, told


@SETTINGS
@given(st.binary(max_size=200))
@example(b"\xff\xfe\n")
@example(b'{"jsonrpc":"2.0","id":"hs-initialize","result":{"agentInfo":"\\ud800"}}\n')
@example(b'{"jsonrpc":"2.0","id":1,"method":"session/request_permission"}\n[]\n3\nnull\n')
@example(b'{"id":"turn-","result":null}\n{"id":"turn-x","error":null}\n{"id":"turn-y","error":3}\n')
@example(b"[" * 100_000 + b"\n")
@example(b'{"id":"fp-1 mode x","result":{}}\n')
def test_bytes_of_any_kind(data: bytes) -> None:
    driver = started()
    events = [*driver.feed(data), *driver.feed_end()]
    if b'"id"' not in data and b'"method"' not in data:
        kept = [line.decode("utf-8", "replace") for line in data.split(b"\n") if line.strip()]
        assert [event.raw for event in events if isinstance(event, Unknown)] == kept
    check(driver)


@SETTINGS
@given(st.lists(bent(lines), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_cuts_change_nothing(given_lines: list[bytes], rnd: random.Random) -> None:
    read_however_cut(started, given_lines, rnd)
