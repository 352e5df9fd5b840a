"""The terms on screens of every width: broken between words, what goes on of one note further in than where the next
begins, and nothing beyond the edge."""

import pytest
from msgspec.structs import replace

from app.console.views.ink import cells, hung, plain
from app.console.views.start import terms_lines
from coordinator.api import Proposal
from coordinator.drivers.base import CostBasis
from tests.console.opened import console
from tests.console.scenes import terms
from tests.fakes.backend import NOW, make_snapshot, make_terms

RULES = ("allow command make check", "allow edit src/**", "deny edit docs/**")
MADE = Proposal(
    terms=make_terms(rules=RULES, checks=("pytest -q tests/checkout",)),
    preset="normal",
    cost=CostBasis.UNTOLD,
    caution="when its turns begin and end is told from its prompt and its silence alone",
    own_rules=("Bash(git status:*)", "Read(./docs/**)"),
    new_rules=RULES[2:],
)


@pytest.mark.parametrize("width", [*range(24, 80, 3), 80, 100, 120])
def test_no_word_is_broken_and_nothing_is_beyond_the_edge(width: int) -> None:
    whole = {word for row in terms_lines(MADE, NOW, 400, show_added=False) for word in plain(row).split()}
    rows = [plain(row) for row in terms_lines(MADE, NOW, width, show_added=False)]
    assert max(map(cells, rows)) <= width
    for row in rows:
        assert not (broken := [word for word in row.split() if word not in whole and "…" not in word]), (row, broken)


def test_what_goes_on_stands_further_in_than_what_begins() -> None:
    rows = [plain(row) for row in terms_lines(MADE, NOW, 44, show_added=False)]
    at = next(n for n, row in enumerate(rows) if row.startswith("  Its cost is not told"))
    assert rows[at + 1].startswith("    ") and rows[at + 1][4] != " "
    begins = next(n for n, row in enumerate(rows) if row.startswith("  When its turns begin"))
    assert begins > at and rows[begins + 1].startswith("    ")


def test_wide_letters_are_counted_as_what_they_take() -> None:
    text = "名前 結帳測試有時失敗請看原因 and more of it 結帳測試"
    for width in range(12, 60):
        rows = [plain(row) for row in hung(text, width)]
        assert max(map(cells, rows)) <= width
        assert "".join("".join(rows).split()) == "".join(text.split())
        assert rows[0].startswith("  名前") and all(row.startswith("    ") for row in rows[1:])


@pytest.mark.parametrize("size", [(40, 24), (60, 24), (80, 24)])
async def test_the_bar_of_a_narrow_screen_has_all_of_it(size: tuple[int, int]) -> None:
    async with console(make_snapshot(), size) as (app, pilot, backend):
        await terms(app, pilot, backend)
        assert app.drive.proposal is not None
        app.drive.proposal = replace(MADE, preset=None)
        app.drive.paint()
        await pilot.pause()
        width = app.drive.terms.size.width
        assert 0 < width < size[0]
        assert max(map(cells, app.drive.terms.rows)) <= width
