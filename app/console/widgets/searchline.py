"""The row in which a text to look for is typed. It stands where the status row stands, while it has the focus."""

from textual import events
from textual.message import Message

from app.console.views.ink import Span, cells, cut, one_line
from app.console.widgets.lines import Lines


class SearchLine(Lines, can_focus=True):
    class Typed(Message):
        """The text as it stands after a key."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """Enter stays where it is, Esc goes back to where the search began."""

        def __init__(self, kept: bool) -> None:
            super().__init__()
            self.kept = kept

    def __init__(self) -> None:
        super().__init__(id="search", grows=False)
        self.text = ""
        self._told = ""

    def begin(self) -> None:
        self.text = self._told = ""
        self.draw()
        # At once: the next letters may be on their way already, and they belong here.
        self.screen.set_focus(self)

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

    def on_key(self, event: events.Key) -> None:
        # Every key stops here: none of them may reach the keys of the screen beneath.
        event.stop()
        event.prevent_default()
        match event.key:
            case "enter" | "escape":
                self.post_message(self.Left(kept=event.key == "enter"))
                return
            case "backspace":
                self.text = self.text[:-1]
            case "ctrl+u":
                self.text = ""
            case _ if event.character is not None and event.character.isprintable():
                self.text += event.character
            case _:
                return
        self.draw()
        self.post_message(self.Typed(self.text))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.text += "".join(event.text.splitlines()[:1])
        self.draw()
        self.post_message(self.Typed(self.text))
