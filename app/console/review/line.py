"""The row in which a filter of the review is typed; the same words narrow runs, places of a text, and sums of money."""

from textual import events
from textual.message import Message

from app.console.views.ink import Line, Span, cells, cut, one_line
from app.console.widgets.lines import Lines

EXAMPLE = 'repo:orders outcome:interrupted cost:>1 "expire"'


class ReviewLine(Lines, can_focus=True):
    class Typed(Message):
        """The text as it stands after a key."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """Enter keeps the filter, Esc puts back the one before."""

        def __init__(self, kept: bool) -> None:
            super().__init__()
            self.kept = kept

    def __init__(self) -> None:
        super().__init__(id="review-line", grows=False)
        self.text = ""
        self._told = ""
        self._before = ""

    def begin(self) -> None:
        self._before = self.text
        self.focus()
        self.paint()

    def tell(self, words: str) -> None:
        """At the right: which list it is, in which order."""
        self._told = words
        self.paint()

    def paint(self) -> None:
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
        self.paint()

    def on_blur(self) -> None:
        self.paint()

    def on_resize(self, event: events.Resize) -> None:
        self.paint()

    def on_click(self, event: events.Click) -> None:
        self.begin()

    def on_key(self, event: events.Key) -> None:
        # Every key stops here: none of them may reach the keys of the screen beneath.
        event.stop()
        event.prevent_default()
        match event.key:
            case "enter":
                self.post_message(self.Left(kept=True))
                return
            case "escape":
                changed = self.text != self._before
                self.text = self._before
                if changed:
                    self._changed()
                self.post_message(self.Left(kept=False))
                return
            case "backspace":
                self.text = self.text[:-1]
            case "ctrl+u":
                self.text = ""
            case _ if event.character is not None and event.character.isprintable():
                self.text += event.character
            case _:
                return
        self._changed()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.text += " ".join(event.text.split())
        self._changed()

    def clear(self) -> None:
        self.text = ""
        self._changed()

    def _changed(self) -> None:
        self.paint()
        self.post_message(self.Typed(self.text))


def _end_of(text: str, room: int) -> str:
    while cells(text) > room:
        text = text[max((cells(text) - room) // 2, 1) :]
    return text
