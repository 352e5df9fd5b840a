"""What the benches write can be read again, and two runs are held against each other without crying wolf."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.bench import record
from tests.bench.compare import Verdict, compared, table
from tests.bench.figures import Figure, middle, scaled, upper

BEGUN = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
QUIET = (0.3, 0.9)
P = {"P": 20.0, "fdatasync": 0.2}


def run(path: Path, *figures: Figure, loads: tuple[float, float] = QUIET, p: float = 20.0) -> dict[str, Any]:
    """Written and read again; the machine is made one with two cores, whatever this one has."""
    record.write(path, {"store": figures}, begun=BEGUN, seconds=61.0, loads=loads, sticks=P | {"P": p})
    told = record.read(path)
    told["machine"]["cores"] = 2  # type: ignore[index]
    return told


def verdict(path: Path, old: Figure, new: Figure, **of_new: Any) -> Verdict:
    (change,) = compared(run(path, old), run(path, new, **of_new))
    return change.verdict


def test_a_run_says_where_it_was_measured_and_each_figure_with_its_goal(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.json"
    told = run(path, middle("a change, p50", [1.0, 2.0, 3.0], goal=2.5), upper("   p95", [1.0, 2.0, 9.0], 0.95, goal=5))
    assert told["date"] == "2026-11-30T09:00:00+00:00" and told["seconds"] == 61.0
    assert told["load"] == {"begun": 0.3, "ended": 0.9} and told["yardsticks"] == P
    assert {"system", "architecture", "memory_gb"} <= told["machine"].keys()
    assert {"footplate", "commit", "python", "sqlite", "textual"} <= told["versions"].keys()
    half, tail = told["benches"]["store"]
    assert (half["value"], half["goal"], half["unit"], half["met"]) == (2.0, 2.5, "ms", True)
    samples = {"count": 3, "low": 1.0, "quarter": 1.0, "half": 2.0, "three_quarters": 3.0, "high": 3.0}
    assert half["samples"] == samples
    assert (tail["key"], tail["value"], tail["met"]) == ("a change, p50 / p95", 9.0, False)


def test_each_line_has_a_name_of_its_own() -> None:
    names = ["a", "   p95", "      worst", "   p99", "b", "   p95", "a", "   p95"]
    keys = [key for key, _ in record.keyed([Figure(name=name, value=1.0) for name in names])]
    assert keys == ["a", "a / p95", "a / p95 / worst", "a / p99", "b", "b / p95", "a #2", "a / p95 #2"]


@pytest.mark.parametrize("content", ["{", "[]", json.dumps({"format": 99}), json.dumps({"benches": {}})])
def test_what_is_no_run_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"other\.json"):
        record.read(path)


WIDE = [6.0, 8.0, 10.0, 12.0, 14.0]
NARROW = [9.9, 9.95, 10.0, 10.05, 10.1] * 5


def one(value: float, name: str = "a", **more: Any) -> Figure:
    return Figure(name=name, value=value, **more)


def rate(value: float) -> Figure:
    return one(value, unit="/s", at_least=True)


SLOWER_MACHINE, OTHERS_AT_IT = {"p": 40.0}, {"loads": (0.5, 4.0)}
CASES = {
    "within what a machine differs by": (one(10), one(10.9), {}, Verdict.SAME),
    "slower": (one(10), one(12), {}, Verdict.WORSE),
    "quicker": (one(10), one(8), {}, Verdict.BETTER),
    "a tail wags": (one(10, "p99"), one(13, "p99"), {}, Verdict.SAME),
    "a tail that is worse": (one(10, "p99"), one(16, "p99"), {}, Verdict.WORSE),
    "few samples, far apart": (middle("a", WIDE), middle("a", scaled(WIDE, 1.5)), {}, Verdict.SAME),
    "many samples, close": (middle("a", NARROW), middle("a", scaled(NARROW, 1.5)), {}, Verdict.WORSE),
    "a machine of half the speed": (one(10), one(20), SLOWER_MACHINE, Verdict.SAME),
    "a ratio is a ratio everywhere": (one(10, unit="P"), one(20, unit="P"), SLOWER_MACHINE, Verdict.WORSE),
    "others were at it": (one(10), one(11.5), OTHERS_AT_IT, Verdict.SAME),
    "a lower rate": (rate(900), rate(500), {}, Verdict.WORSE),
    "a rate on a slower machine": (rate(900), rate(450), SLOWER_MACHINE, Verdict.SAME),
    "a goal lost": (one(4, goal=5), one(7, goal=5), {}, Verdict.GOAL_LOST),
    "a goal reached": (one(7, goal=5), one(4, goal=5), {}, Verdict.GOAL_MET),
    "to and fro over a goal": (one(4.9, goal=5), one(5.1, goal=5), {}, Verdict.EDGE),
    "three times of nearly nothing": (one(0.2, goal=60), one(0.6, goal=60), {}, Verdict.SAME),
    "from nothing at all": (one(0, unit="B", goal=0), one(10, unit="B", goal=0), {}, Verdict.GOAL_LOST),
    "nobody knows which is better": (one(10, unit="of all"), one(20, unit="of all"), {}, Verdict.TOLD),
}


@pytest.mark.parametrize(("old", "new", "of_new", "expected"), CASES.values(), ids=CASES)
def test_a_change_is_told_only_where_it_says_something(
    tmp_path: Path, old: Figure, new: Figure, of_new: dict[str, Any], expected: Verdict
) -> None:
    assert verdict(tmp_path / "run.json", old, new, **of_new) is expected


def test_the_table_shows_what_changed_and_counts_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    old = run(path, Figure(name="kept", value=10), Figure(name="slower", value=10), Figure(name="dropped", value=1))
    new = run(path, Figure(name="kept", value=10), Figure(name="slower", value=20), Figure(name="added", value=1))
    text = "\n".join(table(old, new))
    assert "kept" not in text
    assert "10.00 → 20.00 ms" in text and "+100% (±10%)" in text
    assert text.endswith("1 worse, 1 same, 1 new, 1 gone")
    assert "kept" in "\n".join(table(old, new, every=True))
