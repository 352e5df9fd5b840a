"""What the soak calls growth, and what it calls flat; the agents' script is one that the practice agent plays."""

import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from coordinator.rehearsal import script
from tests.bench import record
from tests.bench.bench_stream_soak import (
    AT_ONCE,
    EVERY,
    GROWTH,
    WARM_UP,
    Sample,
    Soak,
    figures,
    grown,
    per_hour,
    verdict,
)
from tests.bench.figures import Figure
from tests.bench.soak_console import CHUNKS, LINES, MESSAGES, TAG, story

HOUR = range(int(3600 / EVERY))


def sample(number: int, **found: int) -> Sample:
    """The so-many-th, of a console that does not grow but for what is told."""
    same = dict.fromkeys(Sample.__slots__, 1) | {
        "console": 80_000_000,
        "keepers": 60_000_000,
        "files": 40,
        "threads": 9,
    }
    return Sample(**{**same, "at": number * EVERY, **found})


def told(*samples: Sample) -> dict[str, Figure]:
    return dict(record.keyed(figures(Soak(samples=list(samples), keys={"page up": [9.0, 30.0]}))))


def test_the_growth_in_an_hour_is_the_slope_after_the_warm_up() -> None:
    # A start that takes 50 MB is no growth; nine megabytes an hour after it are.
    samples = [sample(n, console=int(80e6 + 9e6 * n / len(HOUR)) - 50_000_000 * (n * EVERY < WARM_UP)) for n in HOUR]
    found = told(*samples)
    growth = found["console and keepers, warmed up / growth in an hour"]
    assert growth.value == pytest.approx(9.0, abs=0.01) and growth.met is True
    assert verdict(list(found.values())) == "flat"


def test_more_than_the_goal_is_not_flat_whichever_process_it_is() -> None:
    for name in ("console", "keepers"):
        samples = [sample(n, **{name: int(60e6 + (GROWTH + 1) * 1e6 * n / len(HOUR))}) for n in HOUR]
        assert verdict(list(told(*samples).values())) == "not flat"


@pytest.mark.parametrize("name", ["files", "threads"])
def test_one_that_stays_is_not_flat_and_one_that_came_and_went_is(name: str) -> None:
    helper = [sample(n, **{name: 43 if n == len(HOUR) - 1 else 40}) for n in HOUR]
    assert verdict(list(told(*helper).values())) == "flat"
    leak = [sample(n, **{name: 41 if n > len(HOUR) // 2 else 40}) for n in HOUR]
    assert verdict(list(told(*leak).values())) == "not flat"


def test_a_slope_needs_no_end_that_is_typical() -> None:
    samples = [sample(n, files=40 + n // 2) for n in range(4 * AT_ONCE)]
    assert per_hour(samples, lambda one: one.files) == pytest.approx(60.0, rel=0.02)
    assert grown(samples, lambda one: one.files) == 7


def test_samples_are_written_beside_the_figures(tmp_path: Path) -> None:
    path = tmp_path / "soak.json"
    begun = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
    record.write(path, {}, begun=begun, seconds=1.0, loads=(0, 0), sticks={}, samples=[{"at": 30.0, "files": 40}])
    assert record.read(path)["samples"] == [{"at": 30.0, "files": 40}]
    record.write(path, {}, begun=begun, seconds=1.0, loads=(0, 0), sticks={})
    assert "samples" not in json.loads(path.read_text())


def test_every_line_of_the_script_has_its_mark_once_the_command_has_told_it(tmp_path: Path) -> None:
    path = tmp_path / "story.toml"
    path.write_text(story())
    (turn,) = script.load(str(path)).turns
    assert [step.chunks for step in turn.steps] == [None] + [CHUNKS] * MESSAGES
    said = "".join((step.text or "").replace("{output}", "stree2t1796019383") for step in turn.steps)
    numbers = [int(number) for _, _, number in TAG.findall(said.encode())]
    assert numbers == list(range(MESSAGES * LINES))
    assert tomllib.loads(path.read_text())["turn"][0]["default"] is True
