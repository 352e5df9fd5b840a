"""A picture of each part of the review, at three sizes. Taken anew as those of the console are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from app.console.options import ConsoleOptions
from app.console.review.app import ReviewApp
from app.wording import forbidden_in
from store.vocab import Millis
from tests.bench import bigledger
from tests.console.review.opened import Reviewed

SIZES = ((80, 24), (120, 40), (200, 50))
DAY = 86_400_000
SCENES: dict[str, tuple[str, ...]] = {
    "runs": ("j", "space", "j", "space"),
    "turns": ("G", "enter"),
    "conversation": ("j", "enter", "tab", "g"),
    "facts": ("j", "enter", "tab", "tab"),
    "money-of-a-run": ("j", "enter", "shift+tab"),
    "filter": ("f", *"repo", "colon", *"billing"),
    "filter-wrong": ("f", *"repo", "colon", *"site", "space", *"cost", "colon", "x"),
    "texts": ("f", *"cart", "enter", "t"),
    "found": ("f", *"cart", "enter", "t", "j", "enter"),
    "money": ("dollar_sign",),
    "money-by-repository": ("dollar_sign", "s"),
    "export": ("x",),
    "replay": ("j", "enter", "tab", "r", "full_stop", "full_stop", "full_stop"),
    "keys": ("question_mark",),
}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bigledger.make(tmp_path_factory.mktemp("review") / "ledger.db", 3_000)


@pytest.mark.snapshot
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
@pytest.mark.parametrize("name", SCENES)
def test_the_review(name: str, size: tuple[int, int], ledger: Path, snap_compare: Callable[..., bool]) -> None:
    # Three weeks after the first run, so that there are days and times among the dates.
    now = Millis(bigledger.BEGAN + 21 * DAY)
    options = ConsoleOptions(home=str(ledger.parent), now=lambda: now, monotonic=lambda: 0.0)
    app = ReviewApp(ledger, options)

    async def before(pilot: "Pilot[Any]") -> None:
        on = Reviewed(app, app.review, pilot)
        await on.still()
        await on.press(*SCENES[name])
        for row in on.said:
            assert all(letter.isprintable() for letter in row), repr(row)
            assert forbidden_in(row) == [], row

    assert snap_compare(app, terminal_size=size, run_before=before)
