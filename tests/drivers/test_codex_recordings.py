"""Codex as it was recorded: nothing it printed is dropped, however its bytes are cut and whoever takes over."""

from collections import Counter

import pytest

from coordinator.drivers.base import (
    BackgroundChanged,
    ControlAcked,
    DecisionAsked,
    DecisionResolved,
    DecisionWithdrawn,
    Reply,
    SessionReady,
    TextBlock,
    ToolFinished,
    ToolStarted,
    TurnAccepted,
    TurnResult,
    Unknown,
)
from store.vocab import FailureKind, TurnResultKind
from tests.drivers.codex_recordings import HELD, RESUMED, begun, names, play, start, steps, turn_id

OWN = [name for name in names() if name.startswith(HELD)]
TURNS = f"{HELD}turns"


@pytest.mark.parametrize("name", names())
def test_every_line_is_known_and_every_turn_settles_once(name: str) -> None:
    played = play(name)
    assert [event.raw[:200] for event in played.events if isinstance(event, Unknown)] == []
    accepted = Counter(event.turn for event in played.events if isinstance(event, TurnAccepted))
    settled = Counter(turn for event in played.events if isinstance(event, TurnResult) for turn in event.turns)
    assert accepted and set(accepted.values()) == {1} and accepted == settled
    assert not any(event.by_agent for event in played.events if isinstance(event, TurnResult))
    asked = [event.request for event in played.events if isinstance(event, DecisionAsked)]
    over = [event.request for event in played.events if isinstance(event, DecisionResolved | DecisionWithdrawn)]
    assert sorted(asked) == sorted(over)
    started = [event.call for event in played.events if isinstance(event, ToolStarted)]
    finished = [event.call for event in played.events if isinstance(event, ToolFinished)]
    changed = [event for event in played.events if isinstance(event, BackgroundChanged)]
    running = {task.id for task in (changed[-1].tasks if changed else ()) if task.state == "running"}
    assert len(set(started)) == len(started) and len(set(finished)) == len(finished)
    assert set(started) - set(finished) == running, "what has not ended is said to run"


@pytest.mark.parametrize("name", OWN)
def test_what_was_written_then_would_be_written_now(name: str) -> None:
    wrote = [step.raw for step in steps(name) if step.came == "out"]
    assert sorted(play(name).written) == sorted(wrote)


@pytest.mark.parametrize("name", names())
def test_cut_anywhere_it_says_the_same(name: str) -> None:
    whole = play(name).events
    assert play(name, cut=7).events == whole
    assert play(name, cut=61).events == whole


@pytest.mark.parametrize("name", names())
def test_a_snapshot_forgets_nothing(name: str) -> None:
    whole = play(name)
    again = play(name, snapshots=True)
    assert again.events == whole.events and again.written == whole.written


@pytest.mark.parametrize("name", OWN)
def test_who_takes_over_in_the_middle_says_the_same_replies(name: str) -> None:
    """The bytes are read again by a driver that only knows which turns are in flight; the keeper writes no id twice."""
    first = [event for event in play(name).events if isinstance(event, Reply)]
    driver = begun(name)
    found = [event for step in steps(name) if step.came == "in" for event in driver.feed(step.raw)]
    assert [event for event in found if isinstance(event, Reply)] == [
        reply for reply in first if not reply.id.startswith("interrupt-")
    ]
    assert driver.turn(turn_id(1), "more") == driver.turn(turn_id(1), "more")


def test_how_turns_end_and_what_they_cost() -> None:
    results = [event for event in play(TURNS).events if isinstance(event, TurnResult)]
    assert [(r.kind, r.failure) for r in results] == [
        (TurnResultKind.SUCCESS, None),
        (TurnResultKind.SUCCESS, None),
        (TurnResultKind.SUCCESS, None),
        (TurnResultKind.INTERRUPTED, None),
        (TurnResultKind.SUCCESS, None),
        (TurnResultKind.SUCCESS, None),
        (TurnResultKind.SUCCESS, None),
        (TurnResultKind.ERROR, FailureKind.TRANSIENT),
        (TurnResultKind.ERROR, FailureKind.BILLING),
    ]
    assert [r.text for r in results][:3] == ["hello there", "looked", "was told no"]
    # A call is 1,000 tokens in and 100 out, which is 8,000 micro-dollars of this model; a failed one told none.
    assert [r.marginal for r in results] == [8000, 16000, 16000, 8000, 16000, 16000, 16000, None, None]
    assert all(r.cumulative is None and r.estimated for r in results)


def test_a_resumed_thread_counts_from_what_it_had() -> None:
    played = play(RESUMED)
    ready = next(event for event in played.events if isinstance(event, SessionReady))
    assert ready.native_id == start(RESUMED).session and ready.version == "0.171.0" and ready.models
    first = next(event for event in played.events if isinstance(event, TurnResult))
    assert first.marginal == 8000 and first.usage.input_tokens == 1000


def test_what_runs_on_is_background_until_it_ends() -> None:
    played = play(TURNS)
    changed = [event for event in played.events if isinstance(event, BackgroundChanged)]
    assert [[task.state for task in event.tasks] for event in changed] == [["running"], ["done"]]
    at = played.events.index(changed[1])
    assert isinstance(played.events[at - 1], ToolFinished) and "late" in played.events[at - 1].output  # type: ignore[union-attr]


def test_an_interrupt_ends_the_command_too() -> None:
    played = play(RESUMED)
    left = [reply.id.partition("-")[0] for reply in played.events if isinstance(reply, Reply)]
    assert left == ["hs", "hs", "left", "end", "interrupt"]
    acked = [event.id for event in played.events if isinstance(event, ControlAcked)]
    assert acked == ["x-2", "x-3", "x-4", "x-5"]
    kinds = [event.kind for event in played.events if isinstance(event, TurnResult)]
    assert kinds.count(TurnResultKind.INTERRUPTED) == 3


def test_half_a_text_is_kept() -> None:
    played = play("codex-app-server-cancel")
    broken = [event for event in played.events if isinstance(event, TextBlock) and event.aborted]
    assert len(broken) == 3 and all(event.text for event in broken)
