"""What every bench says its results with: figures, each with its goal, and the yardsticks that make them comparable.

A shared machine is never twice the same, so times are told beside what the same machine needs, in the same run, for
something that everybody knows: starting Python for nothing (P), or making one page durable.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PYTHON = str(Path(sys.executable).resolve())
"""The interpreter itself: what a developer's environment hooks into the start of every program (coverage) is no part of
what a person waits for, nor of P."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """What a figure was taken of, in a few numbers: all of them would be no reading for anybody."""

    count: int
    low: float
    quarter: float
    half: float
    three_quarters: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Samples":
        ordered = sorted(values)
        return cls(
            count=len(ordered),
            low=ordered[0],
            quarter=percentile(ordered, 0.25),
            half=statistics.median(ordered),
            three_quarters=percentile(ordered, 0.75),
            high=ordered[-1],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    name: str
    value: float
    unit: str = "ms"
    goal: float | None = None
    """None: told for its own sake."""
    at_least: bool = False
    """The goal is a floor (a rate), not a ceiling."""
    note: str = ""
    samples: "Samples | None" = None
    """Of what it was taken, in the same unit: how far a later run may be off without anything having changed."""

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        return self.value >= self.goal if self.at_least else self.value <= self.goal


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def percentile(values: Iterable[float], part: float) -> float:
    """The smallest value that so large a part of all does not exceed; of few values, the largest."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def middle(
    name: str, values: Sequence[float], *, unit: str = "ms", goal: float | None = None, note: str = ""
) -> Figure:
    """The median of them, with what it is the median of."""
    return Figure(name=name, value=median(values), unit=unit, goal=goal, note=note, samples=Samples.of(values))


def upper(
    name: str, values: Sequence[float], part: float, *, unit: str = "ms", goal: float | None = None, note: str = ""
) -> Figure:
    """What so large a part of them does not exceed (1.0: the worst), with what it is taken of."""
    value = percentile(values, part)
    return Figure(name=name, value=value, unit=unit, goal=goal, note=note, samples=Samples.of(values))


def scaled(values: Iterable[float], by: float) -> list[float]:
    return [value * by for value in values]


def python_pass(rounds: int = 15) -> float:
    """P: seconds in which Python starts for nothing, the median."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        subprocess.run([PYTHON, "-c", "pass"], check=True)
        times.append(time.perf_counter() - begun)
    return median(times)


def raw_fdatasync(folder: Path, count: int) -> list[float]:
    """One page appended and synced, over and over: what the disk asks for being durable. Seconds each."""
    times = []
    handle = os.open(folder / "raw", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for _ in range(count):
            begun = time.perf_counter()
            os.write(handle, b"x" * 4096)
            os.fdatasync(handle)
            times.append(time.perf_counter() - begun)
    finally:
        os.close(handle)
    return times


def number(value: float) -> str:
    if abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.1f}"


def row(figure: Figure) -> str:
    goal = ""
    if figure.goal is not None:
        sign = "≥" if figure.at_least else "≤"
        goal = f"{sign} {figure.goal:,g} {figure.unit}"
    verdict = {True: "met", False: "MISSED", None: ""}[figure.met]
    value = f"{number(figure.value)} {figure.unit}"
    note = f"  ({figure.note})" if figure.note else ""
    return f"  {figure.name:<66} {value:>16}  {goal:<16} {verdict}{note}".rstrip()


def show(title: str, figures: Sequence[Figure]) -> None:
    print(f"\n{title}", flush=True)
    for figure in figures:
        print(row(figure), flush=True)
