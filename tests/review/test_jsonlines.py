"""JSON lines have every fact, read back to the same values, and are what their schema says."""

import json
from enum import StrEnum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings, strategies as st

from coordinator.review.export import jsonlines
from store import verify
from store.canonical import storable
from store.excerpt import OF_RUN
from store.rows import Record, names

TEXTS = (
    st.text().map(storable)
    | st.sampled_from(['{"a":1}', '{"a": 1}', "[1,2.5]", '"text"', '{"a":1,"a":2}', "{", '{"b":"\\ud800"}', "[1e999]"])
    | st.recursive(
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ).map(json.dumps)
)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    hint = getattr(hint, "__supertype__", hint)
    if get_origin(hint) in (Union, UnionType):
        return st.one_of(*(values_of(one) for one in get_args(hint)))
    if hint is type(None):
        return st.none()
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return st.sampled_from(hint)
    return {str: TEXTS, bool: st.booleans(), int: st.integers(-(2**63), 2**63 - 1), bytes: st.binary()}[hint]


@st.composite
def records(draw: st.DrawFn) -> Record:
    kind = draw(st.sampled_from(list(OF_RUN)))
    hints = get_type_hints(kind)
    left = jsonlines.LEFT_OUT.get({v: k for k, v in jsonlines.TYPES.items()}[kind], {})
    cells = {one: left[one] if one in left else draw(values_of(hints[one])) for one in names(kind)}
    return kind(**cells)


@given(given_=st.lists(records(), max_size=5))
@settings(max_examples=300, deadline=None)
def test_what_is_written_reads_back_equal(given_: list[Record]) -> None:
    lines = [
        jsonlines.begin(ledger="l", runs=[1], redacted=False, head=(1, "h")),
        *map(jsonlines.line, given_),
        jsonlines.end(lines=len(given_) + 2, taken_out=[]),
    ]
    assert list(jsonlines.read(lines)) == given_
    for text in lines:
        assert text.isascii() and text.endswith("\n") and text[:-1].isprintable()
        fits_schema(json.loads(text))


def fits_schema(line: dict[str, Any]) -> None:
    [wanted] = [one for one in jsonlines.schema()["oneOf"] if one["properties"]["type"]["const"] == line["type"]]
    assert list(line) == wanted["required"]
    python = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list, "null": type(None)}
    for name, told in wanted["properties"].items():
        if "const" in told:
            assert line[name] == told["const"]
        elif "enum" in told:
            assert line[name] in told["enum"]
        else:
            types = told["type"] if isinstance(told["type"], list) else [told["type"]]
            assert isinstance(line[name], tuple(python[one] for one in types)), (name, line[name])


def test_every_noun_of_the_ledger_is_exported_or_left_out_on_purpose() -> None:
    """A new noun that is forgotten here would be missing from every export without a sign."""
    # What waits in line is the ledger's and no run's; which attempt of which task a run was goes with it.
    line = {"task", "series", "operation", "agent-wait"}
    assert set(verify.NOUNS) - set(jsonlines.TYPES) == {"ledger", "setting", *line}
    assert set(jsonlines.TYPES) - set(verify.NOUNS) == {"entry", "event"}


@pytest.mark.parametrize(
    ("lines", "n", "problem"),
    [
        (["{"], 1, "Expecting"),
        (['{"type":"run"}'], 1, "no footplate.export"),
        ([], 0, "end is missing"),
        ([jsonlines.begin(ledger="l", runs=[], redacted=False, head=(0, ""))], 1, "end is missing"),
        ([jsonlines.begin(ledger="l", runs=[], redacted=False, head=(0, "")), '{"type":"stop"}'], 2, "id"),
        (
            [
                jsonlines.begin(ledger="l", runs=[], redacted=False, head=(0, "")),
                jsonlines.end(lines=3, taken_out=[]),
            ],
            2,
            "end is missing",
        ),
    ],
)
def test_a_file_that_is_not_whole_is_told(lines: list[str], n: int, problem: str) -> None:
    with pytest.raises(jsonlines.Unreadable, match=problem) as told:
        list(jsonlines.read(lines))
    assert told.value.n == n


def test_a_line_of_a_later_version_is_passed_over() -> None:
    lines = [
        jsonlines.begin(ledger="l", runs=[], redacted=False, head=(0, "")),
        '{"type":"of-later"}',
        jsonlines.end(lines=3, taken_out=[]),
    ]
    assert list(jsonlines.read(lines)) == []
