"""Whatever stands in a ledger: no byte of it is obeyed by the review, and nothing runs over its row."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from app.console.views.glyphs import UNICODE
from app.console.views.ink import Line, plain
from app.console.views.review_facts import facts
from app.console.views.review_rows import hit_line, run_line, run_title, spend_line, turn_row
from coordinator.api import TurnView
from coordinator.review import reading
from coordinator.review.filters import parse
from coordinator.review.source import reading_for_review
from coordinator.review.types import RunFilter, RunPage, RunRow, SearchHit, SpendBy, SpendRow
from store.vocab import Millis, RunId
from tests.console.hostile import CONTROL, HOSTILE, Spoiler, screen_rows
from tests.console.review.opened import NOW, reviewing

SIZES = ((80, 24), (120, 40), (200, 50))


def values(ledger: Path) -> tuple[RunRow, SearchHit, SpendRow, RunPage, TurnView]:
    with reading_for_review(ledger, now=lambda: Millis(NOW)) as (tx, _):
        wanted = parse("denied")
        assert isinstance(wanted, RunFilter)
        page = reading.run_page(tx, RunId(1))
        assert isinstance(page, RunPage)
        spent = reading.spend(tx, SpendBy.REPOSITORY, run=RunId(1))
        return reading.runs(tx).rows[0], reading.search(tx, wanted).hits[0], spent[0], page, page.session.turns[0]


def check(row: Line, width: int, what: object) -> None:
    said = plain(row)
    assert not CONTROL.search(said), (what, said)
    assert cell_len(said.rstrip(" ")) <= width, (what, said)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_each_string_in_each_field_of_each_row(practiced: Path, width: int) -> None:
    run, hit, spent, page, turn = values(practiced)
    for first, name in enumerate(HOSTILE):
        bad: Any = Spoiler(first)
        check(run_line(bad.spoil(run), width, Millis(NOW), marked=False), width, name)
        check(hit_line(bad.spoil(hit), width, Millis(NOW)), width, name)
        for by in SpendBy:
            check(spend_line(bad.spoil(spent), width, by, 100, UNICODE), width, name)
        spoiled = bad.spoil(page)
        check(run_title(spoiled, name, width, ()), width, name)
        check(turn_row(bad.spoil(turn), width, Millis(NOW)), width, name)
        for fact in facts(spoiled, width, "/home/mara"):
            check(fact.line, width, name)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
async def test_every_part_of_a_run_with_hostile_texts(practiced: Path, size: tuple[int, int]) -> None:
    async with reviewing(practiced, size) as on:
        for keys in (
            ("enter",), ("tab",), ("g",), ("space",), ("tab",), ("G", "enter"), ("escape", "tab"), ("escape",), ("t",),
            ("j", "j", "enter"), ("o",), ("escape", "r"), ("full_stop", "full_stop"), ("escape", "dollar_sign"),
            ("x",), ("escape", "question_mark"),
        ):  # fmt: skip
            await on.press(*keys)
            screen_rows(on.app)


async def test_what_is_typed_or_pasted_is_text_too(practiced: Path) -> None:
    from textual import events

    async with reviewing(practiced) as on:
        for text in HOSTILE.values():
            await on.press("f")
            on.review.line.post_message(events.Paste(text))
            await asyncio.sleep(0)
            await on.still()
            screen_rows(on.app)
            on.review.line.clear()
            await on.press("escape")
