"""The row in which a text to look for is typed. It stands where the status row stands, while it has the focus."""

from textual import events

from app.console.views.ink import Span, cells, cut, one_line
from app.console.widgets.typedline import TypedLine


class SearchLine(TypedLine):
    class Typed(TypedLine.Typed):
        pass

    class Left(TypedLine.Left):
        """Enter stays where it is, Esc goes back to where the search began."""

    def __init__(self) -> None:
        super().__init__(id="search")
        self._told = ""

    def begin(self, text: str = "") -> None:
        self._told = ""
        super().begin(text)

    def tell(self, words: str) -> None:
        self._told = words
        self.draw()

    def draw(self) -> None:
        told = cut(self._told, max(self.size.width // 2, 10))
        room = max(self.size.width - cells(told) - 6, 10)
        # The end of a long text is what is being typed.
        shown = one_line(self.text)[-room:] + (" " if self.text.endswith(" ") else "")
        row = (Span("/ ", "blue strong"), Span(shown, "bright"), Span(" ", "reverse"))
        gap = max(self.size.width - 3 - cells(shown) - cells(told) - 2, 1)
        self.put(((*row, Span(" " * gap), Span(told, "grey")),))

    def on_paste(self, event: events.Paste) -> None:
        # The first row only, its spaces as they are: a text is looked for as it stands.
        event.stop()
        event.prevent_default()
        self.text += "".join(event.text.splitlines()[:1])
        self.changed()
