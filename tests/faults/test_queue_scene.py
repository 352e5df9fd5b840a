"""Ten tasks over two repositories, some of which need others and some of whose paths overlap, with three slots; the
consoles that work at them are killed at any moment."""

import random
from pathlib import Path

import pytest

from tests.faults import queueing
from tests.faults.consoles import Consoles


async def _scene(consoles: Consoles, folder: Path, *, seed: int, kills: int) -> None:
    chance = random.Random(seed)
    queueing.made_ready(folder, queueing.TEN)
    for _ in range(kills):
        # Some on their way up, the others at work; one that is through is through.
        after = chance.uniform(0.1, 0.6) if chance.random() < 0.3 else chance.uniform(0.6, 2.5)
        await consoles.fly(folder, queue=True, after=after)
    async with queueing.house(folder) as held:
        await queueing.to_the_end(held, folder, queueing.TEN)
        await queueing.check(held, folder, queueing.TEN)


async def test_ten_tasks_are_each_done_once_however_their_consoles_end(consoles: Consoles, tmp_path: Path) -> None:
    await _scene(consoles, tmp_path, seed=7, kills=8)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200, 210))
async def test_the_scene_at_many_other_moments(consoles: Consoles, tmp_path: Path, seed: int) -> None:
    await _scene(consoles, tmp_path, seed=seed, kills=20)
