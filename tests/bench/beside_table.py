"""What ``side_by_side`` found, as the rows of README: one line for each console, counts where rounds differ.

Pure: what it is given was read from files or has just been measured.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tests.bench.figures import median

Run = dict[str, Any]
Told = dict[str, Any]
Columns = Sequence[tuple[str, str, str]]
"""Head, measure, and the name under which that measure tells it."""
Cell = Callable[[Sequence[Told], str], str]
NOTHING = "–"
HEAD = 2
"""Lines of a table that are not of a peer."""
DEEDS = (
    ("escapes that reach your terminal", "hostile", "escapes let through"),
    ("a sentence typed as it asks, then `Enter`", "prose", "prose typed as it asks"),
    ("processes left 10 s after SIGKILL", "killed", "processes 10 s after SIGKILL"),
    ("tools still at work", "killed", "tools 10 s after SIGKILL"),
    ("the next start shows it", "killed", "the next start shows it"),
    ("after its stop key", "killed", "processes after its stop key"),
)
TIMES = (
    ("first frame, ms", "first-frame", "first frame"),
    ("MB at rest", "idle", "memory at rest"),
    ("MB with its agent", "idle", "memory with its agent"),
    ("CPU at rest, %", "idle", "CPU at rest"),
    ("2,000 chunks, ms", "burst-2000", "2,000 chunks shown"),
    ("20,000 chunks, ms", "burst-20000", "20,000 chunks shown"),
    ("12 MB, ms", "message-12mb", "12 MB message shown"),
    ("a key in a burst, 95 %, ms", "keys", "letter, 95 %"),
)


def table(runs: Sequence[Run]) -> list[str]:
    """Markdown: where and when, then what was done with bytes, keys and a SIGKILL, then times and sizes (medians).

    Runs of the same peers are read as one: their rounds are counted together, so times of different hours belong in
    one table only where a reader is told so.
    """
    peers = {name: told for run in runs for name, told in run["peers"].items()}
    found: list[Told] = [one for run in runs for one in run["found"]]
    parts = (_rows(peers, found, DEEDS, _counted), _rows(peers, found, TIMES, _middle))
    return _where(runs, found) + [line for part in parts if len(part) > HEAD for line in ("", *part)]


def _where(runs: Sequence[Run], found: Sequence[Told]) -> list[str]:
    lines = []
    for run in runs:
        loads = [one["load"] for one in run["found"]] or [0.0]
        measures = ", ".join(dict.fromkeys(one["measure"] for one in run["found"]))
        lines.append(
            f"{run['date']}: {measures}; {run['machine']['cores']} cores, load {min(loads):.1f} to {max(loads):.1f}, "
            f"Python starts in {run['P']:.0f} ms; Footplate at {run['commit']}"
        )
    return [*lines, f"{sum('failed' in one for one in found)} of {len(found)} failed"]


def _rows(peers: dict[str, Told], found: Sequence[Told], columns: Columns, cell: Cell) -> list[str]:
    """A line for each peer of which any of it was measured."""
    rows = []
    for name, told in peers.items():
        of = [
            ([one for one in found if (one["peer"], one["measure"]) == (name, measure)], key)
            for _, measure, key in columns
        ]
        counts = [len(some) for some, _ in of if some]
        if counts:
            rows.append([_title(told), _rounds(counts), *(cell(some, key) if some else NOTHING for some, key in of)])
    heads = ["", "rounds", *(head for head, _, _ in columns)]
    bars = ["---"] * len(heads)
    return [f"| {' | '.join(cells)} |".replace("|  |", "| |") for cells in (heads, bars, *rows)]


def _title(told: Told) -> str:
    name = f"{told['title']} {told['version']}".strip()
    return f"{name}, {told['drives']}" if told["drives"] else name


def _rounds(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _counted(some: Sequence[Told], key: str) -> str:
    """The one word of all rounds, or each with how many rounds it was."""
    words = ["failed" if "failed" in one else str(one.get(key, NOTHING)) for one in some]
    counts = Counter(words).most_common()
    if len(counts) == 1:
        return words[0]
    return "; ".join(f"{word} ({count} of {len(words)})" for word, count in counts)


def _middle(some: Sequence[Told], key: str) -> str:
    """The median of the rounds that came to an end, and how many did not."""
    values = [one[key] for one in some if one.get(key) is not None]
    limits = [one["not within"] for one in some if "not within" in one]
    if not values:
        return f"not within {limits[0]:.0f} s" if limits else "failed"
    value = median(values)
    shown = f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
    return shown if len(values) == len(some) else f"{shown} ({len(values)} of {len(some)})"
