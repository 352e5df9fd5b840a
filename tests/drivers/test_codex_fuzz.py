"""Whatever Codex prints, the driver goes on: it raises for nothing, and a line it cannot use is kept whole."""

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from coordinator.drivers.base import Reply, Unknown
from coordinator.drivers.codex import CodexDriver
from tests.drivers.codex_recordings import begun, names, steps, turn_id

PRINTED = [step.raw for name in names() for step in steps(name) if step.came == "in"]
ODD: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def bent(draw: st.DrawFn) -> bytes:
    """A real line with one place of it made into something else, or one key of it gone."""
    line = json.loads(draw(st.sampled_from(PRINTED)))
    at: Any = line
    while True:
        key = draw(st.sampled_from(sorted(at) if isinstance(at, dict) else list(range(len(at)))))
        inner = at[key]
        if isinstance(inner, dict | list) and inner and draw(st.booleans()):
            at = inner
            continue
        if isinstance(at, dict) and draw(st.booleans()):
            del at[key]
        else:
            at[key] = draw(ODD)
        return json.dumps(line).encode() + b"\n"


@pytest.mark.parametrize("name", ["codex-0.171.0-turns"])
@settings(max_examples=150)
@given(lines=st.lists(bent() | st.sampled_from(PRINTED) | st.binary(max_size=40), max_size=12), at=st.integers(0, 60))
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
