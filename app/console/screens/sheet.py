"""What lies over the console for a moment: a heading, rows, and a way back with Esc. Stop, stop all and interrupt go on
working beneath, because they are priority bindings of the app; nothing here may bind those keys.
"""

from typing import Any, ClassVar, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen

from app.console.views.ink import Line, Span, wrap
from app.console.widgets.lines import Lines

R = TypeVar("R")


class Sheet(ModalScreen[R]):
    """A centred panel; ``heading`` above, ``foot`` below."""

    DEFAULT_CSS = """
    Sheet { align: center middle; background: $fp-base 60%; }
    Sheet > .sheet { width: 84; max-width: 100%; height: auto; max-height: 94%; background: $fp-card; padding: 1 2; }
    Sheet > .sheet.-wide { width: 112; }
    Sheet .sheet-head { margin-bottom: 1; }
    Sheet .sheet-foot { margin-top: 1; }
    Sheet > .sheet.-wide { height: 94%; }
    Sheet VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; max-height: 1fr; background: $fp-card;
        scrollbar-background: $fp-card; scrollbar-background-hover: $fp-card; scrollbar-background-active: $fp-card; }
    """
    AUTO_FOCUS: ClassVar[str | None] = None

    def __init__(self, heading: str, foot: str = "Esc back") -> None:
        super().__init__()
        self.heading = heading
        self.head_lines = Lines(classes="sheet-head")
        self.foot_lines = Lines(classes="sheet-foot")
        self.foot = foot

    def body(self) -> ComposeResult:
        yield from ()

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet"):
            yield self.head_lines
            yield from self.body()
            yield self.foot_lines

    def on_mount(self) -> None:
        self.head_lines.put(((Span(self.heading, "strong bright"),),))
        self.say(self.foot, "grey")
        self.prepare()

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close this sheet, and no other: Textual's own takes away whatever is on top by now (measured), so an Esc that
        a sheet gets late would close the question that a later key opened."""
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def prepare(self) -> None:
        """What a sheet does when it is there. (Not ``on_mount``: Textual calls every class's own, this one's last.)"""

    def say(self, words: str, ink: str = "amber") -> None:
        self.foot_lines.put(tuple((Span(row, ink),) for row in wrap(words, max(self.room, 20))))

    def tries(self, action: str) -> bool:
        """The key of an action that works anywhere was pressed over it; whether that was all it is for just now."""
        return False

    def interrupted(self) -> bool:
        """The interrupt key was pressed over it; whether that was for what the sheet shows, and is done."""
        return False

    @property
    def room(self) -> int:
        """Cells for a row."""
        return min(self.app.size.width, 84) - 4


class Reading(Sheet[None]):
    """Rows to read and scroll: help, details."""

    def __init__(self, heading: str, foot: str = "↑ ↓ PgUp PgDn scroll   Esc back") -> None:
        super().__init__(heading, foot)
        self.text = Lines()
        self.scroll_box = VerticalScroll(self.text, can_focus=False)

    def body(self) -> ComposeResult:
        yield self.scroll_box

    def prepare(self) -> None:
        self.query_one(".sheet").add_class("-wide")
        self.fill()

    @property
    def room(self) -> int:
        return min(self.app.size.width, 112) - 6

    def rows(self) -> tuple[Line, ...]:
        return ()

    def fill(self) -> None:
        self.text.put(self.rows())

    def on_resize(self) -> None:
        self.fill()

    def on_key(self, event: events.Key) -> None:
        box = self.scroll_box
        step = max(box.size.height - 1, 1)
        match event.key:
            case "escape" | "q" | "question_mark" | "l":
                self.dismiss(None)
            case "down" | "j":
                box.scroll_relative(y=1, animate=False)
            case "up" | "k":
                box.scroll_relative(y=-1, animate=False)
            case "pagedown" | "space":
                box.scroll_relative(y=step, animate=False)
            case "pageup":
                box.scroll_relative(y=-step, animate=False)
            case "home" | "g":
                box.scroll_home(animate=False)
            case "end" | "G":
                box.scroll_end(animate=False)
            case _:
                return
        event.stop()
