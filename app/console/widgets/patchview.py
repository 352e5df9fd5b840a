"""One file's changed lines, to be read: a ``LineView`` with a cursor that goes by line, page and hunk."""

import app.console.before_textual  # noqa: F401, I001  (sets what textual reads at import)

from app.console.views.changes import PatchLines
from app.console.views.transcript_lines import Line, guess_rows
from app.console.widgets.line_view import LineView

_NONE = PatchLines((), (), ())


class PatchView(LineView, can_focus=False):
    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._patch = _NONE
        self._lines: list[Line] = []
        self.set_reactive(LineView.following, False)
        self.show_cursor = True
        self._cursor = 0

    @property
    def lines(self) -> list[Line]:
        return self._lines

    @property
    def goes_on(self) -> bool:
        return True  # its end is nothing to stay at

    def show(self, patch: PatchLines, *, keep: bool) -> None:
        """These lines. ``keep``: they are newer ones of the same file, and the reader stays where they are."""
        y = self.scroll_offset.y if keep else 0
        self._patch, self._lines = patch, list(patch.lines)
        last = max(len(patch.lines) - 1, 0)
        self._cursor = min(self._cursor or 0, last) if keep else (patch.hunks[0] if patch.hunks else 0)
        self._index.rebuild([guess_rows(line, self._row_width) for line in patch.lines])
        self._exact = (0, 0)
        self._widen(2 * self.size.height + 1)
        self._clear_selection()
        self._settle_size()
        self._place(y)
        self.refresh()
        self._settle_soon()

    @property
    def number(self) -> int:
        """The line of the file, as it is now, under the cursor."""
        numbers = self._patch.numbers
        return numbers[min(self._cursor or 0, len(numbers) - 1)] if numbers else 1

    def move(self, by: int) -> None:
        self._to((self._cursor or 0) + by)

    def top(self) -> None:
        self._to(0)

    def bottom(self) -> None:
        self._to(len(self._patch.lines) - 1)

    def page(self, way: int) -> None:
        """A page on, or back, the cursor with it."""
        if not self._patch.lines:
            return
        self._place(self.scroll_offset.y + way * max(1, self.size.height - 2))
        row = self.scroll_offset.y + (self.size.height - 1 if way > 0 else 0)
        self._cursor = self._index.locate(min(row, self._index.total - 1))[0]
        self.refresh()

    def hunk(self, way: int) -> bool:
        """To the next or the one before, with a row above it; False: there is none."""
        here, hunks = self._cursor or 0, self._patch.hunks
        other = next((at for at in hunks if at > here), None) if way > 0 else None
        if way < 0:
            other = next((at for at in reversed(hunks) if at < here), None)
        if other is None:
            return False
        self._cursor = other
        self._place(self._index.row_of(other) - 1)
        self.refresh()
        return True

    def _to(self, line: int) -> None:
        if not self._patch.lines:
            return
        self._cursor = max(0, min(line, len(self._patch.lines) - 1))
        top = self._index.row_of(self._cursor)
        bottom = top + self._index.count(self._cursor)
        y, height = self.scroll_offset.y, self.size.height
        if top < y:
            self._place(top)
        elif bottom > y + height:
            self._place(bottom - height)
        self.refresh()
