"""Working time against counting every millisecond, and that thousands of turns are counted in no time."""

import time

from hypothesis import given, strategies as st

from coordinator.worktime import merged, without, working_ms

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


def test_a_run_of_many_turns_is_counted_in_one_pass() -> None:
    many = [(n * 10, n * 10 + 8) for n in range(20_000)]
    waits = [(n * 10 + 2, n * 10 + 5) for n in range(20_000)]
    begun = time.process_time()
    assert working_ms(many, waits) == 20_000 * 5
    assert time.process_time() - begun < 2, "each with each took a minute"
