"""Whatever Codex prints, the driver goes on: it raises for nothing, and a line it cannot use is kept whole."""

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from coordinator.drivers.base import Reply, Unknown
from coordinator.drivers.codex import CodexDriver
from tests.drivers.bent import bent
from tests.drivers.codex_recordings import begun, names, steps, turn_id

PRINTED = [step.raw for name in names() for step in steps(name) if step.came == "in"]


@cache
def printed() -> tuple[Any, ...]:
    return tuple(map(json.loads, PRINTED))


@pytest.mark.parametrize("name", ["codex-0.171.0-turns"])
@settings(max_examples=150)
@given(
    lines=st.lists(
        bent(printed).map(lambda line: line + b"\n") | st.sampled_from(PRINTED) | st.binary(max_size=40), max_size=12
    ),
    at=st.integers(0, 60),
)
def test_bent_lines_end_nothing(name: str, lines: list[bytes], at: int) -> None:
    driver = begun(name)
    driver.turn(turn_id(1), "hello")
    for step in [step for step in steps(name) if step.came == "in"][:at]:
        driver.feed(step.raw)
    for line in lines:
        driver.feed(line)
    driver.feed(b"\n")
    again = CodexDriver("x")
    again.restore(driver.snapshot())
    again.feed(PRINTED[-1])
    for written in (again.interrupt().data, again.farewell()):
        assert all(isinstance(json.loads(line), dict) for line in written.splitlines())


@settings(max_examples=100)
@given(line=st.binary(max_size=60).filter(lambda raw: b"\n" not in raw and raw.strip()))
def test_what_is_no_message_is_kept_whole(line: bytes) -> None:
    found = CodexDriver("x").feed(line + b"\n")
    assert [type(event) for event in found] in ([Unknown], [Reply, Unknown])
    assert isinstance(found[-1], Unknown) and found[-1].raw == line.decode("utf-8", "replace")
