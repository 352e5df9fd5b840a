"""Two runs of the benches, line by line: ``python -m tests.bench.compare OLD NEW``, ``make bench-compare OLD= NEW=``.

A change is told only where it is larger than what the same code would differ by. How large that is comes from the
samples of both runs (the notches of two box plots: medians whose notches do not meet differ), never less than what a
shared machine differs by, and more where one of the runs had a busy machine. Times of different machines, or days,
are divided by the start of Python that was measured in the same run.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tests.bench.figures import number
from tests.bench.record import read

Json = Mapping[str, Any]
NOTCH = 1.58
"""Of the distance between the quarters, over the root of the count: 95 % of medians fall within."""
LEAST, LEAST_TAIL = 0.10, 0.40
"""Parts by which a median, and the worst of many, may differ between two runs of the same code."""
BUSY = 0.75
"""Load for each core from which on a machine counts as busy: half as much noise again; twice above two of these."""
NEAR_NOTHING = 0.05
"""Of the goal: a change smaller than that is nobody's concern, whatever part of a tiny figure it is."""
TAILS = ("p95", "p99", "max", "worst", "percentile", "late")
TIMES = ("ms", "s")
RATES = ("/s", "-s")


class Verdict(StrEnum):
    GOAL_LOST = "GOAL LOST"
    GOAL_MET = "goal met now"
    EDGE = "at its goal"
    """On the other side of it, by less than what says something."""
    WORSE = "worse"
    BETTER = "better"
    SAME = "same"
    TOLD = "changed"
    """Of a figure of which nobody said whether more is better."""
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    bench: str
    key: str
    unit: str
    old: float | None
    new: float | None
    part: float | None
    """How much more, as a part of the old, with the machine's speed taken out; None where the old was nothing."""
    noise: float
    """The part up to which it says nothing."""
    verdict: Verdict


def compared(old: Json, new: Json) -> list[Change]:
    """Every line of both runs, in the order of the new one; what only the old one has comes last in its bench."""
    speed = _speed(old, new)
    busy = max(_busy(old), _busy(new))
    return [
        _change(bench, key, before, after, speed=speed, busy=busy)
        for bench in [*new["benches"], *(name for name in old["benches"] if name not in new["benches"])]
        for key, before, after in _pairs(old["benches"].get(bench, ()), new["benches"].get(bench, ()))
    ]


def _pairs(old: Sequence[Json], new: Sequence[Json]) -> Iterator[tuple[str, Json | None, Json | None]]:
    before = {str(one["key"]): one for one in old}
    after = {str(one["key"]): one for one in new}
    for key, figure in after.items():
        yield key, before.get(key), figure
    for key, figure in before.items():
        if key not in after:
            yield key, figure, None


def _speed(old: Json, new: Json) -> float:
    """How many times as long the new run's machine takes for the same."""
    before, after = old["yardsticks"].get("P"), new["yardsticks"].get("P")
    return after / before if before and after else 1.0


def _busy(run: Json) -> float:
    cores = run["machine"].get("cores") or 1
    load = max(run["load"].values()) / cores
    return 2.0 if load > 2 * BUSY else 1.5 if load > BUSY else 1.0


def _change(bench: str, key: str, old: Json | None, new: Json | None, *, speed: float, busy: float) -> Change:
    one = new or old
    assert one is not None
    unit = str(one["unit"])
    if old is None or new is None:
        return Change(
            bench=bench, key=key, unit=unit, old=old and old["value"], new=new and new["value"],
            part=None, noise=0.0, verdict=Verdict.NEW if old is None else Verdict.GONE,
        )  # fmt: skip
    was, now = float(old["value"]), float(new["value"])
    even = _evened(now, unit, speed)
    part = even / was - 1 if was else None
    noise = busy * max(LEAST_TAIL if _tail(key) else LEAST, _spread(old) + _spread(new))
    return Change(
        bench=bench, key=key, unit=unit, old=was, new=now, part=part, noise=noise,
        verdict=_verdict(old, new, even, part, noise),
    )  # fmt: skip


def _evened(value: float, unit: str, speed: float) -> float:
    """As the old run's machine would have had it. Ratios, sizes and percentages need no such thing."""
    if unit in TIMES:
        return value / speed
    return value * speed if unit.endswith(RATES) else value


def _tail(key: str) -> bool:
    return any(word in key for word in TAILS)


def _spread(figure: Json) -> float:
    """Half of the notch, as a part of the median."""
    samples = figure.get("samples")
    if not samples or not samples["half"]:
        return 0.0
    between = float(samples["three_quarters"] - samples["quarter"])
    return NOTCH * between / float(samples["count"]) ** 0.5 / abs(float(samples["half"]))


def _verdict(old: Json, new: Json, even: float, part: float | None, noise: float) -> Verdict:
    if old["met"] != new["met"] and None not in (old["met"], new["met"]):
        if part is not None and abs(part) <= noise:
            return Verdict.EDGE
        return Verdict.GOAL_MET if new["met"] else Verdict.GOAL_LOST
    goal, was = new.get("goal"), float(old["value"])
    if goal and not new["at_least"] and abs(even - was) < NEAR_NOTHING * abs(goal):
        return Verdict.SAME
    if even == was or (part is not None and abs(part) <= noise):
        return Verdict.SAME
    unit = str(new["unit"])
    more_is_better = bool(new["at_least"]) or unit.endswith(RATES)
    if goal is None and not more_is_better and unit not in (*TIMES, "P", "×", "MB", "%"):
        return Verdict.TOLD
    return Verdict.BETTER if (even > was) is more_is_better else Verdict.WORSE


def table(old: Json, new: Json, *, every: bool = False) -> list[str]:
    """Lines to print. What is the same is counted and not shown, unless ``every`` is asked for."""
    changes = compared(old, new)
    lines = [f"{name} {_told(run)}" for name, run in (("old:", old), ("new:", new))]
    lines.append(
        f"the new run's machine took {_speed(old, new):.2f} times as long for P; times are compared with that out"
    )
    bench = ""
    for one in changes:
        if one.verdict is Verdict.SAME and not every:
            continue
        if one.bench != bench:
            bench = one.bench
            lines.append(f"\n{bench}")
        part = "" if one.part is None else f"{one.part:+.0%} (±{one.noise:.0%})"
        values = f"{_value(one.old)} → {_value(one.new)} {one.unit}".rstrip()
        lines.append(f"  {one.key:<82} {values:>28}  {part:<16} {one.verdict}".rstrip())
    counts = [(verdict, sum(1 for one in changes if one.verdict is verdict)) for verdict in Verdict]
    return [*lines, "", ", ".join(f"{count} {verdict}" for verdict, count in counts if count)]


def _value(value: float | None) -> str:
    return "–" if value is None else number(value)


def _told(run: Json) -> str:
    load = run["load"]
    return (
        f"{run['date']}  commit {run['versions'].get('commit', '?')}  Python {run['versions'].get('python', '?')}  "
        f"{run['machine'].get('cores', '?')} cores, load {load['begun']:.1f} to {load['ended']:.1f}"
    )


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.bench.compare", description=(__doc__ or "").splitlines()[0])
    options.add_argument("old", type=Path)
    options.add_argument("new", type=Path)
    options.add_argument("--every", action="store_true", help="show what is the same, too")
    options.add_argument("--strict", action="store_true", help="exit with 1 when a goal is lost or a figure is worse")
    given = options.parse_args()
    try:
        old, new = read(given.old), read(given.new)
    except (OSError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 2
    print("\n".join(table(old, new, every=given.every)))
    bad = {Verdict.GOAL_LOST, Verdict.WORSE}
    return 1 if given.strict and any(one.verdict in bad for one in compared(old, new)) else 0


if __name__ == "__main__":
    sys.exit(main())
