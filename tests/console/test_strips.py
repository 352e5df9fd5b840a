"""What is painted leaves nothing behind for each row that it was."""

import gc
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from app.console.widgets import strips
from app.console.widgets.strips import STYLES_KEPT


def test_rows_that_scrolled_by_leave_no_styles_behind() -> None:
    """Each row has a place in its style, for a selection: Textual's own memory of styles would keep ten megabytes."""
    console, style = Console(color_system="truecolor", force_terminal=True), Style(bold=True, color="red")
    before = Strip([Segment("a row", style)]).render(console)
    for row in range(3 * STYLES_KEPT):
        painted = Strip([Segment("a row", style)]).apply_offsets(0, row).render(console)
        assert painted == before
    assert Strip.render_ansi.cache_info().currsize <= STYLES_KEPT  # type: ignore[attr-defined]


USES: dict[str, Callable[[Strip], object]] = {
    "cut at its end": lambda strip: strip.divide([8]),
    "cut beyond its end": lambda strip: strip.divide([8, 20]),
    "cut in two": lambda strip: strip.divide([3, 8]),
    "as long as it is": lambda strip: strip.crop_extend(0, 8, None),
    "longer": lambda strip: strip.crop_extend(0, 9, None),
    "cropped": lambda strip: strip.crop(0, 8),
    "filled up": lambda strip: strip.adjust_cell_length(8),
    "at its place": lambda strip: strip.apply_offsets(0, 3).crop_extend(0, 8, None),
    "styled": lambda strip: strip.apply_style(Style(bold=True)),
}


@pytest.mark.parametrize("use", USES)
def test_a_row_is_let_go_at_once(use: str) -> None:
    """Without the collector of circles, which comes once in minutes to what has lived for a while."""
    gc.collect()
    gc.disable()
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        for _ in range(3):
            USES[use](Strip([Segment("a row to"), Segment("")]))
        gc.collect()
        left = [one for one in gc.garbage if isinstance(one, Strip)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left


@given(
    texts=st.lists(st.text("ab 世", max_size=4), max_size=4),
    cuts=st.lists(st.integers(0, 12), max_size=3, unique=True).map(sorted),
    start=st.integers(-1, 9),
    length=st.integers(0, 9),
)
def test_a_row_that_remembers_less_is_cut_the_same(texts: list[str], cuts: list[int], start: int, length: int) -> None:
    ours, theirs = (Strip([Segment(text) for text in texts]) for _ in range(2))
    for _again in range(2):
        assert list(ours.divide(cuts)) == list(strips._divide(theirs, cuts))
        end, style = start + length, Style(bold=True)
        assert ours.crop_extend(start, end, style) == strips._crop_extend(theirs, start, end, style)
