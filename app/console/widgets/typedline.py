"""One row in which a few words are typed: a text to look for, a filter. How it looks is the widget's own."""

from textual import events
from textual.message import Message

from app.console.widgets.lines import Lines


class TypedLine(Lines, can_focus=True):
    class Typed(Message):
        """The text as it stands after a key. Each kind of line has its own, so that its screen can tell them apart."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """Enter keeps what was typed, Esc does not."""

        def __init__(self, kept: bool) -> None:
            super().__init__()
            self.kept = kept

    def __init__(self, id: str) -> None:
        super().__init__(id=id, grows=False)
        self.text = ""

    def begin(self, text: str = "") -> None:
        self.text = text
        self.draw()
        # At once: the next letters may be on their way already, and they belong here.
        self.screen.set_focus(self)

    def draw(self) -> None:
        raise NotImplementedError

    def changed(self) -> None:
        self.draw()
        self.post_message(self.Typed(self.text))

    def leave(self, kept: bool) -> None:
        self.post_message(self.Left(kept))

    def on_key(self, event: events.Key) -> None:
        # Every key stops here: none of them may reach the keys of the screen beneath.
        event.stop()
        event.prevent_default()
        match event.key:
            case "enter" | "escape":
                self.leave(kept=event.key == "enter")
                return
            case "backspace":
                self.text = self.text[:-1]
            case "ctrl+u":
                self.text = ""
            case _ if event.character is not None and event.character.isprintable():
                self.text += event.character
            case _:
                return
        self.changed()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.text += " ".join(event.text.split())
        self.changed()
