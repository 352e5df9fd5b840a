"""When a press counts."""

from hypothesis import given, strategies as st

from app.console.presses import AGAIN, ALONE, BURST, REPEAT, KeyGate, Press, TwicePressed

times = st.lists(st.floats(0.001, 2.0), min_size=1, max_size=30)


def heard(*at: float) -> KeyGate:
    gate = KeyGate()
    for one in at:
        gate.heard(one)
    return gate


def test_one_key_came_alone() -> None:
    assert heard(10.0).came_alone(10.0)


def test_a_key_before_or_after_spoils_it() -> None:
    assert not heard(10.0, 10.0 + ALONE - 0.001).came_alone(10.0)
    assert not heard(10.0 - ALONE + 0.001, 10.0).came_alone(10.0)
    assert heard(10.0, 10.0 + ALONE + 0.001).came_alone(10.0)


def test_keys_of_one_moment_are_never_alone() -> None:
    assert not heard(10.0, 10.0).came_alone(10.0)


@given(times)
def test_no_key_of_a_burst_ever_counts(gaps: list[float]) -> None:
    """Whatever else was pressed: keys closer together than the bound answer nothing."""
    at, moments = 100.0, []
    for gap in gaps:
        at += gap
        moments.append(at)
    gate = heard(*moments)
    for index, moment in enumerate(moments):
        near = any(abs(other - moment) < ALONE for n, other in enumerate(moments) if n != index)
        assert gate.came_alone(moment) is not near


def test_an_enter_in_a_burst_is_a_line() -> None:
    assert not heard(5.0, 5.0 + BURST / 2).quiet_before(5.0 + BURST / 2)
    assert heard(5.0, 5.0 + BURST * 2).quiet_before(5.0 + BURST * 2)


def test_a_second_stop_counts_from_its_time_on() -> None:
    stop = TwicePressed()
    assert stop.press(1.0, 12) is Press.FIRST
    assert stop.press(1.0 + AGAIN - 0.1, 12) is Press.HELD
    assert stop.press(1.0 + AGAIN + REPEAT, 12) is Press.SECOND


def test_a_key_held_down_never_kills() -> None:
    stop = TwicePressed()
    assert stop.press(0.0, 12) is Press.FIRST
    at = 0.5
    while at < 10.0:
        assert stop.press(at, 12) is Press.HELD
        at += 0.033


def test_another_session_begins_anew() -> None:
    stop = TwicePressed()
    stop.press(0.0, 12)
    assert stop.press(5.0, 13) is Press.FIRST
