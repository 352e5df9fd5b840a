"""What is made for a row is kept as long as the row may be asked for again, and no longer."""

import pytest
from rich.style import Style

from app.console.views.transcript_lines import Line
from app.console.widgets.transcript_paint import Painter


def lines(count: int) -> list[Line]:
    return [Line(runs=((f"line {number}", ""),)) for number in range(count)]


@pytest.mark.parametrize("rows", [24, 40, 100, 400])
def test_the_rows_of_a_screen_are_made_once_however_high_it_is(rows: int) -> None:
    painter, seen = Painter(), lines(rows)
    painter.begin(80, "dark", Style(), rows=rows)
    made = [painter.strips(line) for line in seen]
    for _frame in range(3):
        painter.begin(80, "dark", Style(), rows=rows)
        assert all(painter.strips(line) is before for line, before in zip(seen, made, strict=True))


def test_what_has_scrolled_by_is_let_go() -> None:
    painter, seen = Painter(), lines(10_000)
    painter.begin(80, "dark", Style(), rows=40)
    for line in seen:
        painter.strips(line)
    assert len(painter._strips) < 400 and seen[-1] in painter._strips


def test_another_width_or_look_is_made_anew() -> None:
    painter, line = Painter(), lines(1)[0]
    painter.begin(80, "dark", Style(), rows=40)
    (before,) = painter.strips(line)
    for width, theme in ((60, "dark"), (60, "light")):
        painter.begin(width, theme, Style(), rows=40)
        (now,) = painter.strips(line)
        assert now is not before and now.cell_length == 60
        before = now
