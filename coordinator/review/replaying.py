"""A run played again: when each of its events is to be seen, and how the run stood then. Pure; no clock is read.

Events come as far apart as they came when the run was made, only that nobody sits through a long silence: what is
longer than ``GAP`` is that long. A clock that went back while the run was made makes no event come before another.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from coordinator.viewtypes import DecisionView, Group, SessionView, TurnView
from store.moves import UNFINISHED
from store.vocab import DecisionState, Millis, TurnState

GAP: Final = 3_000
"""Milliseconds between two events, at most."""
SPEEDS: Final = (1, 4, 16)


class Timeline(Struct):
    """When the events are to be seen, in milliseconds from the first. It grows as pages of the run are read."""

    moments: list[int] = field(default_factory=list)
    _newest: Millis | None = None

    def add(self, times: Iterable[Millis]) -> None:
        for at in times:
            if self._newest is None:
                self.moments.append(0)
            else:
                self.moments.append(self.moments[-1] + min(max(at - self._newest, 0), GAP))
            self._newest = at if self._newest is None else max(self._newest, at)


class Playing(Struct, frozen=True, kw_only=True):
    """How far it was played."""

    at: float = 0.0
    """On the timeline."""
    shown: int = 0
    """Events that are seen."""
    speed: int = SPEEDS[0]
    paused: bool = False


def passed(playing: Playing, line: Timeline, ms: float) -> Playing:
    """So much later. At the last event that is known it waits for more of them."""
    if playing.paused or not line.moments:
        return playing
    at = min(playing.at + max(ms, 0.0) * playing.speed, float(line.moments[-1]))
    return replace(playing, at=at, shown=max(playing.shown, bisect_right(line.moments, at)))


def step(playing: Playing, line: Timeline, by: int) -> Playing:
    """One event on, or back; it stands there until it is told to go on."""
    shown = min(max(playing.shown + by, min(1, len(line.moments))), len(line.moments))
    at = float(line.moments[shown - 1]) if shown else 0.0
    return replace(playing, at=at, shown=shown, paused=True)


def paused(playing: Playing) -> Playing:
    """It stands, or goes on."""
    return replace(playing, paused=not playing.paused)


def faster(playing: Playing) -> Playing:
    """The next speed; after the fastest its own pace again."""
    after = SPEEDS.index(playing.speed) + 1
    return replace(playing, speed=SPEEDS[after % len(SPEEDS)])


def wait(playing: Playing, line: Timeline) -> float | None:
    """Milliseconds until the next event; None: it stands, or no more is known."""
    if playing.paused or playing.shown >= len(line.moments):
        return None
    return max(line.moments[playing.shown] - playing.at, 0.0) / playing.speed


# ------------------------------------------------------------------------------------------------- how it stood then


def as_of(session: SessionView, at: Millis) -> SessionView:
    """The run as it was known at a moment: later turns are not there, and what was not answered yet waits."""
    turns = tuple(_turn_as_of(turn, at) for turn in session.turns if turn.recorded_at <= at)
    working = next((turn.id for turn in turns if turn.state is TurnState.ACCEPTED), None)
    decisions = [_decision_as_of(one, at) for one in session.decisions if one.asked_at <= at]
    return replace(
        session,
        turns=turns,
        decisions=tuple(sorted(decisions, key=lambda one: (one.state not in UNFINISHED, one.asked_at))),
        in_flight=working,
        group=Group.WORKING if working is not None else Group.IDLE,
        outcome=None,
        ended_at=None,
    )


def _turn_as_of(turn: TurnView, at: Millis) -> TurnView:
    if turn.ended_at is None or turn.ended_at <= at:
        return turn
    return replace(
        turn,
        state=TurnState.ACCEPTED,
        ended_at=None,
        result=None,
        subtype="",
        cost=None,
        cost_known=None,
        failure=None,
        failure_text="",
        input_tokens=None,
        output_tokens=None,
        duration_ms=None,
    )


def _decision_as_of(one: DecisionView, at: Millis) -> DecisionView:
    if one.answered_at is None or one.answered_at <= at:
        return one
    return replace(
        one, state=DecisionState.OPEN, answer="", answered_by=None, answered_at=None, delivered_at=None, note=""
    )
