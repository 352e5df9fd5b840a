"""KILL to the console at random moments of a run that streams: each event once, each answer at most once."""

import random
from pathlib import Path

import pytest

from tests.faults import streaming
from tests.faults.consoles import Consoles


async def _killed(consoles: Consoles, folder: Path, seed: int, kills: int) -> streaming.Count:
    count = await streaming.killed(consoles, folder, kills=kills, chance=random.Random(seed))
    assert count.doubled_or_missing == count.answered_twice == count.alive == 0
    assert count.uncertain == 0, "a console that goes leaves nothing in doubt: the keeper knows what it wrote"
    streamed = folder / "tree" / streaming.STREAMED
    ran = streamed.read_text().split() if streamed.exists() else []
    assert ran == list(dict.fromkeys(ran)), "a command that was allowed once ran twice"
    return count


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_console_killed_six_times_at_random(consoles: Consoles, tmp_path: Path, seed: int) -> None:
    assert (await _killed(consoles, tmp_path, seed, 6)).kills == 6


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 110))
async def test_a_console_killed_twenty_times_at_random(consoles: Consoles, tmp_path: Path, seed: int) -> None:
    count = await _killed(consoles, tmp_path, seed, 20)
    assert count.turns > 1 and count.answers > 1, "nothing happened between the kills"
