"""Eight agents that speak turn after turn for an hour: does anything of the console or its keepers grow?

    FOOTPLATE_SOAK_MINUTES=60 python -m tests.bench.bench_stream_soak

60 minutes where nothing is said (``make soak``: 6). The real console in a real terminal, eight practice agents of some
hundred chunks a second each. A turn takes about a minute (``FOOTPLATE_SOAK_MESSAGES=1``: two seconds); it begins with a
command that a standing rule answers and that changes a file now and then, and when it has ended the changes are looked
at. Keys are pressed all the while, as a person reads here and there.

Memory is PSS, summed over the console and its keeper processes; what the agents take is told beside it. Growth is the
slope of a least-squares line through all samples after a warm-up (five minutes, of a short run a third), when windows
of lines and caches are full. It ends whatever it began, also at Ctrl-C, and writes what was sampled until then.
"""

import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import psutil

from tests.bench import record
from tests.bench.bench_console import ran
from tests.bench.bench_holds import Processes
from tests.bench.figures import Figure, middle, show, upper
from tests.bench.soak_console import SESSIONS, Soaked, pause, soaked

MINUTES = float(os.environ.get("FOOTPLATE_SOAK_MINUTES", "60"))
WARM_UP = min(300.0, MINUTES * 60 / 3)
EVERY = 30.0
"""Seconds between two samples."""
KEY_EVERY = 2.0
LOOK_EVERY = 0.5
"""How soon after a turn's end the next one is said."""
AT_ONCE = 5
"""Samples at each end of which the middle one is taken, for what is counted: a helper of git has pipes open while it
runs, and is no leak."""
GROWTH = 10.0
"""Megabytes an hour that are still called flat."""
STUCK = 180.0
"""Seconds without a turn that ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What was found at one moment; memory in bytes, times in seconds."""

    at: float
    """Since the last of the sessions began."""
    console: int
    console_private: int
    """Of it what no other process shares: what others on the machine do with the same libraries is not in it."""
    keepers: int
    keepers_private: int
    agents: int
    files: int
    threads: int
    console_cpu: float
    """So far."""
    keepers_cpu: float
    agents_cpu: float
    ledger: int
    wal: int
    spools: int
    painted: int
    turns: int
    """Settled so far."""
    by_rule: int
    events: int

    @property
    def ours(self) -> int:
        return self.console + self.keepers


@dataclass(slots=True)
class Soak:
    """All that was found."""

    samples: list[Sample] = field(default_factory=list)
    keys: dict[str, list[float]] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    left: int = 0
    """Processes after the end."""

    @property
    def warm(self) -> list[Sample]:
        return [one for one in self.samples if one.at >= WARM_UP]


def sampled(console: Soaked, found: Processes, at: float) -> Sample:
    process = psutil.Process(console.pid)
    memory, keepers = process.memory_full_info(), [psutil.Process(pid).memory_full_info() for pid in found.keepers]
    turns, by_rule, events = console.counts()
    return Sample(
        at=at,
        console=memory.pss,
        console_private=memory.uss,
        keepers=sum(one.pss for one in keepers),
        keepers_private=sum(one.uss for one in keepers),
        agents=sum(psutil.Process(pid).memory_full_info().pss for pid in found.agents),
        files=process.num_fds(),
        threads=process.num_threads(),
        console_cpu=ran(console.pid),
        keepers_cpu=sum(ran(pid) for pid in found.keepers),
        agents_cpu=sum(ran(pid) for pid in found.agents),
        ledger=_size(console.ledger),
        wal=_size(console.ledger.with_name(console.ledger.name + "-wal")),
        spools=sum(_size(path) for path in (console.home / "spool").glob("*/spool")),
        painted=console.painted,
        turns=turns,
        by_rule=by_rule,
        events=events,
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def watch(console: Soaked, soak: Soak) -> None:
    """For the time that was asked for; each sample is in ``soak`` once it is taken."""
    found = Processes.below(console.pid)
    assert len(found.agents) >= SESSIONS and len(found.keepers) == 2 * SESSIONS, found
    begun = time.monotonic()
    gestures = console.gestures()
    sample, key, progress = begun, begun, begun
    while (now := time.monotonic()) < begun + MINUTES * 60 or not soak.samples:
        console.go_on()
        if now >= sample:
            sample += EVERY
            soak.samples.append(sampled(console, found, now - begun))
            progress = now if _moved(soak.samples) else progress
            assert now - progress < STUCK, f"no turn has ended in {STUCK:.0f} s\n{console.text()}"
        if now >= key:
            key = now + KEY_EVERY
            what, took = next(gestures)
            if took is None:
                soak.lost[what] = soak.lost.get(what, 0) + 1
            else:
                soak.keys.setdefault(what, []).append(took)
        pause(LOOK_EVERY)
    soak.samples.append(sampled(console, found, time.monotonic() - begun))
    soak.refused = console.refused()


def _moved(samples: Sequence[Sample]) -> bool:
    return len(samples) < 2 or samples[-1].turns > samples[-2].turns


# -------------------------------------------------------------------------------------------------------------- figures


def per_hour(samples: Sequence[Sample], of: Callable[[Sample], float]) -> float:
    """The slope of the line that fits them best."""
    if len(samples) < 2:
        return 0.0
    return statistics.linear_regression([one.at / 3600 for one in samples], [of(one) for one in samples]).slope


def grown(samples: Sequence[Sample], of: Callable[[Sample], float]) -> float:
    """The middle of the last few, less the middle of the first few."""
    return statistics.median(map(of, samples[-AT_ONCE:])) - statistics.median(map(of, samples[:AT_ONCE]))


def figures(found: Soak) -> list[Figure]:
    warm = found.warm
    first, last = warm[0], warm[-1]
    return [
        *_memory(warm),
        *_counted("open files of the console", warm, lambda one: one.files),
        *_counted("threads of the console", warm, lambda one: one.threads),
        *_work(found, first, last),
        *_keys(found),
        Figure(name="processes alive after the end", value=found.left, unit="", goal=0),
    ]


def _memory(warm: Sequence[Sample]) -> list[Figure]:
    first, last = warm[0], warm[-1]
    parts: tuple[tuple[str, Callable[[Sample], int], Callable[[Sample], int] | None], ...] = (
        ("the console", lambda one: one.console, lambda one: one.console_private),
        ("its keepers", lambda one: one.keepers, lambda one: one.keepers_private),
        ("their agents", lambda one: one.agents, None),
    )
    told = [
        Figure(name="console and keepers, warmed up", value=first.ours / 1e6, unit="MB", note=_minutes(first)),
        Figure(name="   at the end", value=last.ours / 1e6, unit="MB", note=_minutes(last)),
        Figure(name="   growth in an hour", value=per_hour(warm, lambda one: one.ours) / 1e6, unit="MB", goal=GROWTH),
    ]
    for name, of, private in parts:
        note = f"{of(first) / 1e6:.1f} to {of(last) / 1e6:.1f} MB"
        note += f"; of private pages {per_hour(warm, private) / 1e6:.1f}" if private else ""
        told.append(Figure(name=f"      of {name}", value=per_hour(warm, of) / 1e6, unit="MB", note=note))
    turns = max(per_hour(warm, lambda one: one.turns), 1.0)
    told.append(Figure(name="      for each turn", value=per_hour(warm, lambda one: one.ours) / turns / 1e3, unit="kB"))
    return told


def _minutes(one: Sample) -> str:
    return f"{one.at / 60:.1f} min"


def _counted(name: str, warm: Sequence[Sample], of: Callable[[Sample], float]) -> list[Figure]:
    most = max(of(one) for one in warm)
    note = f"at the end {of(warm[-1])}, at most {most}; in an hour {per_hour(warm, of):+.1f}"
    return [
        Figure(name=f"{name}, warmed up", value=of(warm[0]), unit=""),
        Figure(name="   more at the end", value=grown(warm, of), unit="", goal=0, note=note),
    ]


def _work(found: Soak, first: Sample, last: Sample) -> list[Figure]:
    seconds = max(last.at - first.at, 1.0)

    def share(of: Callable[[Sample], float]) -> float:
        return (of(last) - of(first)) / seconds * 100

    def hourly(of: Callable[[Sample], int]) -> float:
        return (of(last) - of(first)) / seconds * 3600 / 1e6

    note = f"keepers {share(lambda one: one.keepers_cpu):.0f}, agents {share(lambda one: one.agents_cpu):.0f}"
    wal = max(one.wal for one in found.samples) / 1e6
    events = last.events - first.events
    return [
        Figure(name="CPU of the console, of one core", value=share(lambda one: one.console_cpu), unit="%", note=note),
        Figure(
            name="ledger in an hour", value=hourly(lambda one: one.ledger), unit="MB", note=f"WAL at most {wal:.0f}"
        ),
        Figure(name="spools in an hour", value=hourly(lambda one: one.spools), unit="MB"),
        Figure(name="painted in an hour", value=hourly(lambda one: one.painted), unit="MB"),
        Figure(
            name="turns that ended", value=last.turns, unit="", note=f"{events / seconds:.0f} events/s into the ledger"
        ),
        Figure(name="   requests that a standing rule answered", value=last.by_rule, unit=""),
        Figure(name="   turns and commands that were refused", value=found.refused, unit="", goal=0),
    ]


def _keys(found: Soak) -> list[Figure]:
    every = [one for times in found.keys.values() for one in times]
    if not every:
        return []
    lost = ", ".join(f"{name} {count}" for name, count in found.lost.items())
    worst = ", ".join(f"{name} {max(times):.0f}" for name, times in found.keys.items())
    return [
        middle(f"key to paint, {len(every)} keys, p50", every),
        upper("   p95", every, 0.95),
        upper("   worst", every, 1.0, note=worst),
        Figure(name="   that never brought it", value=sum(found.lost.values()), unit="", goal=0, note=lost),
    ]


def verdict(told: Sequence[Figure]) -> str:
    """In a word: what the whole hour is for."""
    wanted = ("growth in an hour", "more at the end")
    missed = [one for one in told if one.name.strip() in wanted and one.met is False]
    return "not flat" if missed else "flat"


# ------------------------------------------------------------------------------------------------------------------ run


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """A TERM or a closed terminal ends it as Ctrl-C does, by the way out of each ``with``."""
    before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def measure(found: Soak) -> None:
    """Fill ``found``; a Ctrl-C leaves in it what was sampled until then."""
    try:
        with soaked() as console:
            watch(console, found)
        found.left = console.left
    except KeyboardInterrupt:
        print("ended early", file=sys.stderr)


def main() -> int:
    at, begun, load = datetime.now(UTC), time.perf_counter(), os.getloadavg()[0]
    found = Soak()
    told: list[Figure] = []
    sticks: dict[str, float] = {}
    path = record.default_path(at)
    try:
        with _ended_by_signals():
            sticks = record.yardsticks()
            measure(found)
        told = figures(found) if len(found.warm) > 1 else []
    finally:  # also where it got stuck: what it found until then says why
        record.write(
            path,
            {"stream_soak": told},
            begun=at,
            seconds=time.perf_counter() - begun,
            loads=(load, os.getloadavg()[0]),
            sticks=sticks,
            samples=[asdict(one) for one in found.samples],
        )
        print(f"{len(found.samples)} samples written to {path}")
    if not told:
        print(f"too short for figures: {len(found.warm)} samples after {WARM_UP:.0f} s", file=sys.stderr)
        return 1
    show(f"{SESSIONS} sessions that stream, for {MINUTES:g} minutes: {verdict(told)}", told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
