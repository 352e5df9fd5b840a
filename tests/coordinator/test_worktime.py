"""Working time against counting every millisecond, and that thousands of turns are counted in no time."""

import time
from types import SimpleNamespace
from typing import cast

from hypothesis import given, strategies as st

from coordinator.worktime import Work, merged, runs_now, without, worked_ms, working_ms
from store.decisions import Decision
from store.turns import Turn
from store.vocab import Millis, TurnState

spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def moments(found: list[tuple[int, int]]) -> set[int]:
    return {at for start, end in found for at in range(start, end)}


@given(spans, spans)
def test_every_moment_that_ran_and_nobody_was_awaited_counts_once(
    ran: list[tuple[int, int]], awaited: list[tuple[int, int]]
) -> None:
    expected = moments(ran) - moments(awaited)
    assert working_ms(ran, awaited) == len(expected)
    left = list(without(merged(ran), merged(awaited)))
    assert moments(left) == expected and left == merged(left)


at_some_time = st.integers(1, 40)
perhaps = st.none() | at_some_time
some_turns = st.lists(
    st.builds(
        SimpleNamespace,
        state=st.sampled_from([TurnState.CANCELLED, TurnState.ACCEPTED]),
        recorded_at=at_some_time, written_at=perhaps, accepted_at=perhaps, ended_at=perhaps,
    ),
    max_size=6,
)  # fmt: skip
some_waits = st.lists(
    st.builds(SimpleNamespace, asked_at=at_some_time, answered_at=perhaps, ended_at=perhaps), max_size=6
)


@given(some_turns, some_waits, st.integers(0, 60))
def test_counted_once_it_goes_on_as_if_counted_anew(
    spoken: list[SimpleNamespace], asked: list[SimpleNamespace], later: int
) -> None:
    turns, decisions = cast(list[Turn], spoken), cast(list[Decision], asked)
    work = Work.of(turns, decisions)
    now = Millis(work.since + later)
    assert work.at(now) == worked_ms(turns, decisions, now)
    assert work.runs == runs_now(turns, decisions)
    assert work.at(Millis(0)) == work.ms, "a clock that is put back takes nothing away"


def test_a_run_of_many_turns_is_counted_in_one_pass() -> None:
    many = [(n * 10, n * 10 + 8) for n in range(20_000)]
    waits = [(n * 10 + 2, n * 10 + 5) for n in range(20_000)]
    begun = time.process_time()
    assert working_ms(many, waits) == 20_000 * 5
    assert time.process_time() - begun < 2, "each with each took a minute"
