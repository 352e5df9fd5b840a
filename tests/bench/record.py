"""A run of the benches as a file, so that another day or another machine can be held against it.

What makes two runs comparable is in it: the machine, the versions, the load, and the yardsticks that were measured in
the same minutes. Nothing that names the machine or who works on it.
"""

import json
import os
import platform
import sqlite3
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import psutil

from tests.bench.figures import Figure, median, python_pass, raw_fdatasync

ROOT = Path(__file__).parents[2]
FORMAT = 1
FOLDER = ROOT / ".bench"
"""Ignored by git."""
VARIABLE = "FOOTPLATE_BENCH_JSON"
PACKAGES = ("textual", "aiosqlite", "msgspec", "typer", "pyte", "psutil")

Json = dict[str, object]


def default_path(now: datetime | None = None) -> Path:
    """Where a run is written when nobody says: as the variable says, else a file named by its time."""
    if told := os.environ.get(VARIABLE):
        return Path(told)
    return FOLDER / f"{(now or datetime.now(UTC)):%Y-%m-%dT%H%M%SZ}.json"


def keyed(figures: Sequence[Figure]) -> list[tuple[str, Figure]]:
    """Each with a name that stands alone: what is indented on paper belongs to the line above it.

    The same name twice in one bench gets a number; so a bench that grows a line keeps the names of its other lines.
    """
    above: list[str] = []
    seen: dict[str, int] = {}
    found = []
    for figure in figures:
        depth = (len(figure.name) - len(figure.name.lstrip())) // 3
        above = [*above[:depth], figure.name.strip()]
        key = " / ".join(above)
        seen[key] = seen.get(key, 0) + 1
        found.append((key if seen[key] == 1 else f"{key} #{seen[key]}", figure))
    return found


def as_data(figures: Sequence[Figure]) -> list[Json]:
    return [{"key": key, **asdict(figure), "met": figure.met} for key, figure in keyed(figures)]


def machine() -> Json:
    """What the figures were measured on."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def versions() -> Json:
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "footplate": metadata.version("footplate"),
        "commit": commit,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        **{name: metadata.version(name) for name in PACKAGES},
    }


def yardsticks() -> dict[str, float]:
    """Milliseconds: P, and one page made durable."""
    with tempfile.TemporaryDirectory() as folder:
        return {"P": python_pass() * 1000, "fdatasync": median(raw_fdatasync(Path(folder), 100)) * 1000}


def write(
    path: Path,
    found: Mapping[str, Sequence[Figure]],
    *,
    begun: datetime,
    seconds: float,
    loads: tuple[float, float],
    sticks: Mapping[str, float],
    samples: Sequence[Mapping[str, float]] = (),
) -> None:
    """``loads``: the machine's load when the run began and when it ended. ``samples``: what was found from time to time
    by a bench that looks for growth."""
    told: Json = {
        "format": FORMAT,
        "date": begun.isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "load": {"begun": loads[0], "ended": loads[1]},
        "machine": machine(),
        "versions": versions(),
        "yardsticks": dict(sticks),
        "benches": {name: as_data(figures) for name, figures in found.items()},
    }
    if samples:
        told["samples"] = [dict(one) for one in samples]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> Json:
    """
    Raises:
        ValueError: it is no run that this version can read; the message names the file.
        OSError: it cannot be opened.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise ValueError(f"{path}: no JSON: {problem}") from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise ValueError(f"{path}: no run of the benches in format {FORMAT}")
    return told
