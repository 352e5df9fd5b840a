"""What is painted leaves nothing behind for each row that it was."""

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from app.console.widgets.line_view import STYLES_KEPT


def test_rows_that_scrolled_by_leave_no_styles_behind() -> None:
    """Each row has a place in its style, for a selection: Textual's own memory of styles would keep ten megabytes."""
    console, style = Console(color_system="truecolor", force_terminal=True), Style(bold=True, color="red")
    before = Strip([Segment("a row", style)]).render(console)
    for row in range(3 * STYLES_KEPT):
        painted = Strip([Segment("a row", style)]).apply_offsets(0, row).render(console)
        assert painted == before
    assert Strip.render_ansi.cache_info().currsize <= STYLES_KEPT  # type: ignore[attr-defined]
