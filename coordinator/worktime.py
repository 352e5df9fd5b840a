"""Working time: how long turns ran, without the time in which the agent waited for the operator. Pure."""

from collections.abc import Iterable

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
    total = 0
    waits = merged(awaited)
    for start, end in merged(turns):
        total += end - start
        total -= sum(max(0, min(end, until) - max(start, since)) for since, until in waits)
    return total
