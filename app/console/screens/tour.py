"""The tour of six keys, as a sheet. It never stands between a person and what they want to write: a letter or a paste
closes it and comes into the text, and every key that works anywhere works over it.
"""

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult

from app.console.keys import Key
from app.console.screens.sheet import Sheet
from app.console.views.tour import STEPS, key_of, step_lines
from app.console.widgets.lines import Lines
from store.vocab import RunId


class Tour(Sheet[None]):
    def __init__(
        self, table: tuple[Key, ...], write: Callable[[str], None], *, stops: Callable[[], RunId | None]
    ) -> None:
        super().__init__("Six keys do most of it")
        self._table = table
        self._write = write
        """Takes what was meant for the text below."""
        self._stops = stops
        """The session that a stop would end now: then a stop is meant, and no try."""
        self.at = 0
        self.rows_shown = Lines()

    def body(self) -> ComposeResult:
        yield self.rows_shown

    def prepare(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def tries(self, action: str) -> bool:
        """The key of this step was pressed, to try it: that goes on, and does nothing else."""
        if action != STEPS[self.at].action or self._stopping() is not None:
            return False
        self._go(1)
        return True

    def _stopping(self) -> RunId | None:
        """What the key of this step ends, whatever lies over it."""
        return self._stops() if STEPS[self.at].action == "stop" else None

    def _go(self, by: int) -> None:
        self.at = max(self.at + by, 0)
        if self.at >= len(STEPS):
            self.at = len(STEPS) - 1
            self.dismiss(None)
        else:
            self._draw()

    def _draw(self) -> None:
        self.rows_shown.put(step_lines(self.at, max(self.room, 20), self._table))
        press = key_of(STEPS[self.at], self._table)
        run = self._stopping()
        if run is not None:
            on = f"Enter goes on ({press} here stops {run})"
        else:
            on = "Enter goes on" if press == "Enter" else f"{press} or Enter goes on"
        leave = "" if press == "Esc" else "   Esc leaves it; footplate tour shows it again"
        self.say(f"{self.at + 1} of {len(STEPS)}   {on}{leave}", "grey")

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "enter" | "right" | "down":
                self._go(1)
            case "left" | "up" | "backspace":
                self._go(-1)
            case "escape" if STEPS[self.at].action == "to-keys":
                self._go(1)
            case "escape":
                self.dismiss(None)
            case _ if event.is_printable and event.character:
                self.dismiss(None)
                self._write(event.character)
            case _:
                return
        event.stop()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.dismiss(None)
        self._write(event.text)
