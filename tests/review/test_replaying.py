"""When an event is to be seen, and how the run stood then."""

from hypothesis import given, strategies as st
from msgspec.structs import replace

from coordinator.api import Group
from coordinator.review import replaying
from coordinator.review.replaying import GAP, Playing, Timeline
from store.vocab import CostKnowledge, DecisionState, MicroUsd, Millis, TurnId, TurnState
from tests.console.scenes import checkout
from tests.fakes.backend import make_turn

TIMES = st.lists(st.integers(-(10**6), 10**7), min_size=1, max_size=40)


def line_of(*times: int) -> Timeline:
    line = Timeline()
    line.add(Millis(at) for at in times)
    return line


def test_events_come_as_far_apart_as_they_did_but_for_long_silences() -> None:
    assert line_of(1_000, 1_500, 61_500, 61_700).moments == [0, 500, 500 + GAP, 700 + GAP]


def test_a_clock_that_went_back_makes_no_event_come_before_another() -> None:
    assert line_of(5_000, 1_000, 5_500).moments == [0, 0, 500]


@given(times=TIMES, cut=st.integers(0, 40))
def test_pages_make_the_same_line_as_the_whole(times: list[int], cut: int) -> None:
    whole, pages = line_of(*times), Timeline()
    pages.add(Millis(at) for at in times[:cut])
    pages.add(Millis(at) for at in times[cut:])
    assert pages.moments == whole.moments == sorted(whole.moments)
    assert all(later - earlier <= GAP for earlier, later in zip(whole.moments, whole.moments[1:], strict=False))


@given(times=TIMES, speed=st.sampled_from(replaying.SPEEDS), slices=st.integers(1, 7))
def test_it_takes_its_own_time_divided_by_its_speed_however_often_one_looks(
    times: list[int], speed: int, slices: int
) -> None:
    line = line_of(*times)
    playing = replaying.passed(Playing(speed=speed), line, 0)
    assert playing.shown >= 1, "the first is seen at once"
    waited = 0.0
    while (left := replaying.wait(playing, line)) is not None:
        for _ in range(slices):
            before = playing.shown
            playing = replaying.passed(playing, line, left / slices)
            assert playing.shown >= before
        playing = replaying.passed(playing, line, 1e-6)
        waited += left
    assert playing.shown == len(times)
    assert abs(waited - line.moments[-1] / speed) < 1


def test_it_stands_and_goes_on_and_changes_its_speed() -> None:
    line = line_of(0, 1_000, 2_000)
    playing = replaying.passed(Playing(), line, 400)
    assert replaying.wait(playing, line) == 600
    stands = replaying.paused(playing)
    assert replaying.wait(stands, line) is None and replaying.passed(stands, line, 10_000) == stands
    fast = replaying.faster(replaying.paused(stands))
    assert fast.speed == 4 and replaying.wait(fast, line) == 150
    assert replaying.faster(replaying.faster(fast)).speed == 1


def test_steps_stand_and_stop_at_both_ends() -> None:
    line = line_of(0, 1_000, 2_000)
    first = replaying.step(Playing(), line, 1)
    assert (first.shown, first.paused) == (1, True)
    assert replaying.step(first, line, -1).shown == 1
    last = replaying.step(replaying.step(first, line, 1), line, 1)
    assert last.shown == 3 and last.at == 2_000 and replaying.step(last, line, 1).shown == 3
    on = replaying.passed(replaying.paused(replaying.step(last, line, -1)), line, 500)
    assert (on.shown, on.at) == (2, 1_500), "it goes on from where it was stepped to"


def test_nothing_to_play_is_no_trouble() -> None:
    line = Timeline()
    assert replaying.passed(Playing(), line, 10) == Playing()
    assert replaying.step(Playing(), line, 1).shown == 0
    assert replaying.wait(Playing(), line) is None


def test_what_was_not_known_yet_is_not_there() -> None:
    done = replace(
        make_turn(1), recorded_at=Millis(100), ended_at=Millis(900), cost=MicroUsd(5), cost_known=CostKnowledge.REPORTED
    )
    later = replace(make_turn(2), id=TurnId("later"), recorded_at=Millis(1_000), ended_at=Millis(1_900))
    asked = replace(
        checkout().decisions[0],
        asked_at=Millis(300),
        answered_at=Millis(600),
        answered_by="Mara",
        answer="allow",
        state=DecisionState.DELIVERED,
    )
    run = replace(checkout(), turns=(done, later), decisions=(asked,), ended_at=Millis(2_000))
    before = replaying.as_of(run, Millis(200))
    assert [one.n for one in before.turns] == [1] and before.decisions == ()
    assert before.turns[0].cost is None and before.turns[0].state is TurnState.ACCEPTED
    assert before.in_flight == done.id and before.group is Group.WORKING and before.outcome is None
    waits = replaying.as_of(run, Millis(400)).decisions[0]
    assert waits.state is DecisionState.OPEN and waits.answered_by is None and waits.answer == ""
    then = replaying.as_of(run, Millis(950))
    assert then.turns == (done,) and then.decisions == (asked,) and then.in_flight is None
    assert replaying.as_of(run, Millis(2_000)).turns == run.turns
