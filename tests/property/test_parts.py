"""The promise about how much is tried: enough of it, all of it collected, and no part a copy of another."""

from collections.abc import Iterator

from hypothesis import settings as hypothesis_settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.property import (
    parts,
    test_books_follow,
    test_books_on_disk,
    test_machine,
    test_store_moves,
    test_store_queue,
)

ENOUGH = 2_000
"""What is promised of one run of the tests."""


def cases() -> Iterator[type[RuleBasedStateMachine.TestCase]]:
    for module in (test_machine, test_books_follow, test_books_on_disk, test_store_moves, test_store_queue):
        yield from (case for name, case in vars(module).items() if name.startswith("Test"))


def test_what_is_collected_comes_to_what_is_promised() -> None:
    collected = sum(case.settings.max_examples for case in cases())
    assert collected >= sum(parts.TAKEN.values()) >= ENOUGH


def test_two_parts_try_different_things() -> None:
    seen: dict[str, list[int]] = {}

    class Drawing(RuleBasedStateMachine):
        @rule(number=st.integers(0, 2**32))
        def draws(self, number: int) -> None:
            seen.setdefault(type(self).__name__, []).append(number)

    few = hypothesis_settings(max_examples=20, derandomize=True, database=None)
    for number in (1, 2):
        part = type(f"Drawing{number}", (Drawing,), {})
        run_state_machine_as_test(part, settings=few)
    again = dict(seen)
    seen.clear()
    run_state_machine_as_test(type("Drawing1", (Drawing,), {}), settings=few)
    assert again["Drawing1"] != again["Drawing2"] and seen["Drawing1"] == again["Drawing1"]
