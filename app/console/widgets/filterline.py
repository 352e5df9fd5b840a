"""The row in which the filter of the list is typed. It stands where the status row stands, while it has the focus."""

from app.console.views.ink import Span, one_line
from app.console.widgets.typedline import TypedLine


class FilterLine(TypedLine):
    class Typed(TypedLine.Typed):
        pass

    class Left(TypedLine.Left):
        """Enter keeps the filter, Esc takes it away."""

    def __init__(self) -> None:
        super().__init__(id="filter")

    def draw(self) -> None:
        shown = one_line(self.text) + (" " if self.text.endswith(" ") else "")
        about = Span("  title, agent, repository, branch, group", "grey")
        self.put(((Span("show only: ", "blue strong"), Span(shown, "bright"), Span(" ", "reverse"), about),))
