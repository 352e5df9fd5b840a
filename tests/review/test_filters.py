"""The filter line: what it asks for, and that nothing in it is silently taken for something else."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from app.wording import forbidden_in, sentence
from coordinator.review import filters
from coordinator.review.types import RunFilter
from store.refusal import Refusal
from store.vocab import MicroUsd, Millis, RunOutcome


def asked(text: str) -> RunFilter:
    found = filters.parse(text, zone=UTC)
    assert isinstance(found, RunFilter), found
    return found


def refused(text: str) -> str:
    found = filters.parse(text, zone=UTC)
    assert isinstance(found, Refusal), found
    return sentence(found)


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> Millis:
    return Millis(int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp() * 1000))


def test_a_whole_line() -> None:
    line = 'repo:orders outcome:interrupted cost:>1 since:2026-11-01 agent:claude tool:Bash "expire  in" refund* 404'
    assert asked(line) == RunFilter(
        words=("expire in", "refund*", "404"),
        repository="orders",
        agent="claude",
        tool="Bash",
        outcome="interrupted",
        cost_min=MicroUsd(1_000_001),
        since=at(2026, 11, 1),
    )


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (">1", 1_000_001, None),
        (">=1", 1_000_000, None),
        ("<0.5", None, 499_999),
        ("<=.5", "wrong", None),
        ("<=0.50", None, 500_000),
        ("1..2.25", 1_000_000, 2_250_000),
        ("1", "wrong", None),
        ("lots", "wrong", None),
        (">1.2.3", "wrong", None),
        (">9999999999999999999999", "wrong", None),
        ("1..", "wrong", None),
    ],
)
def test_costs(value: str, low: int | str | None, high: int | None) -> None:
    if low == "wrong":
        assert "cost:1..5" in refused(f"cost:{value}")
    else:
        assert asked(f"cost:{value}") == RunFilter(cost_min=low, cost_max=high)  # type: ignore[arg-type]


def test_days_begin_and_end_where_the_operator_lives() -> None:
    assert asked("on:2026-11-29") == RunFilter(since=at(2026, 11, 29), until=at(2026, 11, 30))
    assert asked("until:2026-02") == RunFilter(until=at(2026, 3, 1)), "that month is in it"
    assert asked("since:2026-12") == RunFilter(since=at(2026, 12, 1))
    assert asked("since:2026-11-29T14:30") == RunFilter(since=at(2026, 11, 29, 14, 30))
    east = filters.parse("since:2026-11-29", zone=timezone(timedelta(hours=9)))
    assert east == RunFilter(since=Millis(at(2026, 11, 29) - 9 * 3_600_000))
    changed = filters.parse("on:2026-10-25", zone=ZoneInfo("Europe/Vienna"))
    assert isinstance(changed, RunFilter) and changed.since and changed.until
    assert changed.until - changed.since == 25 * 3_600_000, "the day on which the clocks go back"
    for wrong in ("2026", "2026-13", "2026-02-30", "yesterday", "0000-01-01", "2026-11-29T25:00"):
        assert "2026-11-29T14:30" in refused(f"since:{wrong}")


@pytest.mark.parametrize("outcome", [*RunOutcome, "open"])
def test_each_outcome(outcome: str) -> None:
    assert asked(f"outcome:{outcome.upper()}").outcome == outcome


def test_what_is_not_understood_is_refused_with_the_fields_there_are() -> None:
    for line in (
        "colour:red",
        "outcome:great",
        "imported:maybe",
        "repo:",
        "agent:a agent:b",
        "since:2026-01 on:2026-02",
    ):
        said = refused(line)
        assert line.split()[-1].split(":")[0] + ":" in said
        assert all(f"{name}:" in said for name in filters.FIELDS)
        assert forbidden_in(said) == []
    assert "each field once" in refused("agent:a agent:b")
    assert "a value behind the colon" in refused("repo: orders")


def test_text_with_colons_is_text_where_no_field_could_be_meant() -> None:
    assert asked('src/a.py:12 12:30 "http://a.example/x"').words == ("src/a.py:12", "12:30", "http://a.example/x")
    assert asked('repo:"my orders" "half a phrase').words == ("half a phrase",)
    assert asked('repo:"my orders"').repository == "my orders"
    assert asked('"two wor"* -- " " !').words == ("two wor*",)
    assert asked("REPO:x").repository == "x"


@given(st.text(max_size=60))
def test_any_line_is_a_filter_or_one_sentence(line: str) -> None:
    found = filters.parse(line, zone=UTC)
    assert isinstance(found, RunFilter) or "\n" not in sentence(found)


@given(st.lists(st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8), max_size=5))
def test_words_come_through_as_they_are(words: list[str]) -> None:
    assert asked(" ".join(words)).words == tuple(words)
