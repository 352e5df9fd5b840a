"""A text that is entered with Enter: the composer, a note, an edited input. The rules of pasted lines live here.

Enter inside a burst of keys is a new line, because a terminal without bracketed paste sends pasted lines as keys; so an
Enter is entered only when nothing came shortly before or after it.
"""

from textual import events
from textual.timer import Timer
from textual.widgets import TextArea

from app.console.messages import Edited, Entered, LeftText
from app.console.presses import BURST, KeyGate
from app.console.views.ink import literal

NEWLINE_KEYS = frozenset({"ctrl+j", "alt+enter", "shift+enter"})


def pasted(text: str) -> str:
    """Pasted text may carry what a terminal obeys: kept, but as visible signs."""
    return literal(text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4), newlines=True)


class Writing(TextArea):
    DEFAULT_CSS = """
    Writing {
        height: auto; max-height: 5; min-height: 1; padding: 0; border: none;
        background: $fp-base; color: $fp-bright;
        scrollbar-size-vertical: 1;
        &:focus { border: none; }
        & .text-area--cursor { background: $fp-text; color: $fp-base; }
        &:light .text-area--cursor { background: $fp-text; color: $fp-base; }
        & .text-area--placeholder { color: $fp-grey; }
        & .text-area--selection { background: $fp-sel; color: $fp-bright; }
    }
    """

    def __init__(self, gate: KeyGate, *, id: str, placeholder: str = "") -> None:
        super().__init__(
            id=id,
            compact=True,
            highlight_cursor_line=False,
            show_line_numbers=False,
            soft_wrap=True,
            tab_behavior="focus",
            placeholder=placeholder,
        )
        self.cursor_blink = False
        self._gate = gate
        self._enter: Timer | None = None

    @property
    def name_of(self) -> str:
        return self.id or ""

    async def _on_key(self, event: events.Key) -> None:
        if self._enter is not None:
            # Something followed the Enter at once: it was a line of a paste.
            self._enter.stop()
            self._enter = None
            self.insert("\n")
        if self.own_key(event):
            event.stop()
            event.prevent_default()

    def own_key(self, event: events.Key) -> bool:
        """Take a key; True when it was taken."""
        if event.key in NEWLINE_KEYS:
            self.insert("\n")
            return True
        if event.key == "enter":
            self._enter_pressed(event.time)
            return True
        if event.key == "escape":
            self.post_message(LeftText(self.name_of))
            return True
        return False

    def _enter_pressed(self, at: float) -> None:
        if not self._gate.quiet_before(at):
            self.insert("\n")
            return
        row, column = self.cursor_location
        text = self.document.get_line(row)
        if column == len(text) and text.endswith("\\"):
            self.action_delete_left()
            self.insert("\n")
            return
        self._enter = self.set_timer(BURST, self._entered)

    def _entered(self) -> None:
        self._enter = None
        self.post_message(Entered(self.name_of, self.text))

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        if self._enter is not None:
            # As with a key: something followed the Enter at once.
            self._enter.stop()
            self._enter = None
            self.insert("\n")
        self.put_pasted(event.text)

    def put_pasted(self, text: str) -> None:
        """In the place of what is selected, as a typed letter is."""
        self.put_over(pasted(text))

    def put_over(self, text: str) -> None:
        put = self.replace(text, *self.selection, maintain_selection_offset=False)
        self.move_cursor(put.end_location)

    def action_paste(self) -> None:
        self.put_pasted(self.app.clipboard)

    def action_cut(self) -> None:
        """A selection only: a line that nobody chose is not thrown away."""
        text = self.selected_text
        if text:
            self.put_over("")
            self.app.copy_to_clipboard(text)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.post_message(Edited(self.name_of, self.text))

    def set_text(self, text: str) -> None:
        """Replace all of it, the cursor at its end."""
        self.load_text(text)
        self.move_cursor(self.document.end)
