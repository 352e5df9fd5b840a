"""The row in which the filter of the list is typed. It stands where the status row stands, while it has the focus."""

from textual import events
from textual.message import Message

from app.console.views.ink import Span, one_line
from app.console.widgets.lines import Lines


class FilterLine(Lines, can_focus=True):
    class Typed(Message):
        """The words as they stand after a key."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class Left(Message):
        """Enter keeps the filter, Esc takes it away."""

        def __init__(self, kept: bool) -> None:
            super().__init__()
            self.kept = kept

    def __init__(self) -> None:
        super().__init__(id="filter", grows=False)
        self.words = ""

    def begin(self, words: str) -> None:
        self.words = words
        self.draw()
        # At once: the next letters may be on their way already, and they belong here.
        self.screen.set_focus(self)

    def draw(self) -> None:
        self.put(
            (
                (
                    Span("show only: ", "blue strong"),
                    Span(one_line(self.words) + (" " if self.words.endswith(" ") else ""), "bright"),
                    Span(" ", "reverse"),
                    Span("  title, agent, repository, branch, group", "grey"),
                ),
            )
        )

    def on_key(self, event: events.Key) -> None:
        # Every key stops here: none of them may reach the keys of the screen beneath.
        event.stop()
        event.prevent_default()
        match event.key:
            case "enter" | "escape":
                self.post_message(self.Left(kept=event.key == "enter"))
                return
            case "backspace":
                self.words = self.words[:-1]
            case "ctrl+u":
                self.words = ""
            case _ if event.character is not None and event.character.isprintable():
                self.words += event.character
            case _:
                return
        self._changed()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.words += " ".join(event.text.split())
        self._changed()

    def _changed(self) -> None:
        self.draw()
        self.post_message(self.Typed(self.words))
