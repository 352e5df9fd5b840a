"""Working time: how long turns ran, without the time in which the agent waited for the operator. Pure.

Counted from the rows of the ledger, so that no crash forgets any of it; kept only while those stay (``Work``).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Self

from msgspec import Struct

from store.decisions import Decision
from store.turns import Turn
from store.vocab import Millis, TurnState

Span = tuple[int, int]


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same time, each moment once, in order."""
    out: list[Span] = []
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def working_ms(turns: Iterable[Span], awaited: Iterable[Span]) -> int:
    """Milliseconds of ``turns`` that lie in none of ``awaited``."""
    return sum(end - start for start, end in without(merged(turns), merged(awaited)))


def without(spans: Sequence[Span], left_out: Sequence[Span]) -> Iterator[Span]:
    """What is in the spans and not in the others; both merged. One step for each: a run may have thousands of both,
    and this is counted anew whenever one changes."""
    place = 0
    for start, end in spans:
        while place < len(left_out) and left_out[place][1] <= start:
            place += 1
        at, there = start, place
        while there < len(left_out) and left_out[there][0] < end:
            since, until = left_out[there]
            if since > at:
                yield at, since
            at = max(at, until)
            there += 1
        if at < end:
            yield at, end


def _began(turn: Turn) -> Millis | None:
    """When the agent had it. One that no byte of is known to have gone for does not run yet, or never did."""
    if turn.state is TurnState.CANCELLED:
        return None
    return turn.written_at or turn.accepted_at or (turn.recorded_at if turn.ended_at else None)


def worked_ms(turns: Iterable[Turn], decisions: Iterable[Decision], now: Millis) -> int:
    """What a run has worked up to now."""
    running = [(began, turn.ended_at or now) for turn in turns if (began := _began(turn)) is not None]
    awaited = [(one.asked_at, one.answered_at or one.ended_at or now) for one in decisions]
    return working_ms(running, awaited)


def runs_now(turns: Iterable[Turn], decisions: Iterable[Decision]) -> bool:
    """Whether it counts just now: a turn in flight, and nobody awaited."""
    flying = any(turn.ended_at is None and _began(turn) is not None for turn in turns)
    return flying and all(one.answered_at or one.ended_at for one in decisions)


class Work(Struct, frozen=True):
    """What a run has worked, counted once for rows that stay a while: only the time goes on."""

    ms: int
    """Up to the newest moment that the rows name."""
    since: Millis
    """That moment."""
    runs: bool
    """Whether it counts on from there."""

    @classmethod
    def of(cls, turns: Sequence[Turn], decisions: Sequence[Decision]) -> Self:
        began = [at for turn in turns if (at := _began(turn)) is not None]
        ended = [turn.ended_at for turn in turns if turn.ended_at is not None]
        asked = [one.answered_at or one.ended_at or one.asked_at for one in decisions]
        since = max((*began, *ended, *asked), default=Millis(0))
        return cls(worked_ms(turns, decisions, since), since, runs_now(turns, decisions))

    def at(self, now: Millis) -> int:
        """As ``worked_ms`` then; of a clock that was put back, what had been worked before."""
        return self.ms + max(0, now - self.since) if self.runs else self.ms
