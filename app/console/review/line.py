"""The row in which a filter of the review is typed; the same words narrow runs, places of a text, and sums of money."""

from textual import events

from app.console.views.ink import Line, Span, cells, cut, one_line
from app.console.widgets.typedline import TypedLine

EXAMPLE = 'repo:orders outcome:interrupted cost:>1 "expire"'


class ReviewLine(TypedLine):
    class Typed(TypedLine.Typed):
        pass

    class Left(TypedLine.Left):
        """Enter keeps the filter, Esc puts back the one before."""

    def __init__(self) -> None:
        super().__init__(id="review-line")
        self._told = ""
        self._before = ""

    def begin(self, text: str | None = None) -> None:
        """Goes on with what stands in it."""
        self._before = self.text
        super().begin(self.text if text is None else text)

    def tell(self, words: str) -> None:
        """At the right: which list it is, in which order."""
        self._told = words
        self.draw()

    def draw(self) -> None:
        width = self.size.width
        told = cut(self._told, max(width // 2, 10))
        room = max(width - cells(told) - 13, 8)
        # The end of a long text is what is being typed.
        shown = _end_of(one_line(self.text) + (" " if self.text.endswith(" ") else ""), room)
        row: Line = (Span(" filter ", "blue strong" if self.has_focus else "grey"), Span(shown, "bright"))
        if self.has_focus:
            row = (*row, Span(" ", "reverse"))
        if not self.text:
            row = (*row, Span(cut(f" {EXAMPLE}" if self.has_focus else "f: all are shown", room - 1), "grey"))
        gap = max(width - cells(row) - cells(told) - 1, 1)
        self.put(((*row, Span(" " * gap), Span(told, "grey")),))

    def on_focus(self) -> None:
        self.draw()

    def on_blur(self) -> None:
        self.draw()

    def on_resize(self, event: events.Resize) -> None:
        self.draw()

    def on_click(self, event: events.Click) -> None:
        self.begin()

    def leave(self, kept: bool) -> None:
        if not kept and self.text != self._before:
            self.text = self._before
            self.changed()
        super().leave(kept)

    def clear(self) -> None:
        self.text = ""
        self.changed()


def _end_of(text: str, room: int) -> str:
    while cells(text) > room:
        text = text[max((cells(text) - room) // 2, 1) :]
    return text
