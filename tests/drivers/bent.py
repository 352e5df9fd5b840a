"""Real lines of agents made into others, for the tests that feed a driver what no agent should print."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any, Final

from hypothesis import HealthCheck, settings, strategies as st

from coordinator.drivers.base import AgentEvent, Driver

SETTINGS = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
GONE: Final = object()

odd: Any = st.one_of(
    st.just(GONE),
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.just(1e308),
    st.text(max_size=5),
    st.just("\ud800"),
    st.just([]),
    st.just({}),
    st.just([[{}], None, 3]),
    st.just({"type": "text"}),
    st.just("default"),
)


def _paths(node: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [here]
    if isinstance(node, dict):
        for key, value in node.items():
            found += _paths(value, (*here, key))
    elif isinstance(node, list):
        for index, value in enumerate(node[:3]):
            found += _paths(value, (*here, index))
    return found


def _changed(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return None if value is GONE else value
    copy = dict(node) if isinstance(node, dict) else list(node)
    if value is GONE and len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = _changed(node[path[0]], path[1:], value)
    return copy


@st.composite
def bent(draw: st.DrawFn, lines: Callable[[], Sequence[Any]]) -> bytes:
    """One of these lines with up to three places of it made into something else, or gone."""
    line = draw(st.sampled_from(lines()))
    for _ in range(draw(st.integers(1, 3))):
        line = _changed(line, draw(st.sampled_from(_paths(line))), draw(odd))
    return json.dumps(line).encode()


def read_however_cut(made: Callable[[], Driver], lines: Sequence[bytes], rnd: random.Random) -> None:
    data = b"\n".join(lines) + b"\n"
    whole, pieces = made(), made()
    expected = list(whole.feed(data))
    got: list[AgentEvent] = []
    while data:
        size = rnd.choice((1, 2, 50, 1000))
        got += pieces.feed(data[:size])
        data = data[size:]
    assert got == expected
    assert pieces.snapshot() == whole.snapshot()
