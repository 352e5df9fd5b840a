"""A list to choose one row from: the command list, the pickers of model and mode, what waits. Dead rows say why."""

from collections.abc import Callable

from msgspec import Struct
from textual import events
from textual.app import ComposeResult

from app.console.screens.sheet import Sheet
from app.console.views.ink import Line, Span, cells, cut
from app.console.widgets.lines import WindowedLines


class Row(Struct, frozen=True, kw_only=True):
    value: str
    label: str
    key: str = ""
    beside: str = ""
    dead: str | None = None
    last: bool = False
    """Comes after the others: what can not be taken back is never the first match."""


class Choose(Sheet[str | None]):
    """Arrows and Enter; with ``typed``, letters narrow the list, else they do nothing."""

    DEFAULT_CSS = """
    Choose WindowedLines { height: auto; max-height: 1fr; }
    Choose #chosen-rows { height: auto; max-height: 20; }
    """

    def __init__(
        self,
        heading: str,
        rows: tuple[Row, ...],
        *,
        typed: bool = False,
        current: str | None = None,
        on_lit: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(heading, "type to narrow   ↑ ↓ Enter   Esc back" if typed else "↑ ↓ Enter   Esc back")
        self._all = rows
        self._with_keys = any(one.key for one in rows)
        self._typed = typed
        self._text = ""
        self._at = next((at for at, row in enumerate(rows) if row.value == current), 0)
        self._current = current
        self._on_lit = on_lit
        """Told of each row that is lit, to show what it would be like."""
        self.list = WindowedLines(id="chosen-rows")

    def body(self) -> ComposeResult:
        yield self.list

    def prepare(self) -> None:
        if self._typed:
            # No row to begin with: a bare Enter on the command list does nothing.
            self._at = -1
        self._draw()
        self.call_after_refresh(self._draw)

    @property
    def shown_rows(self) -> tuple[Row, ...]:
        words = self._text.lower().split()
        found = [row for row in self._all if all(word in f"{row.value} {row.label}".lower() for word in words)]
        return tuple(sorted(found, key=lambda row: (row.dead is not None, row.last))) if self._typed else tuple(found)

    @property
    def chosen(self) -> Row | None:
        rows = self.shown_rows
        return rows[self._at] if 0 <= self._at < len(rows) else None

    def _draw(self) -> None:
        width = self.room
        if self._typed:
            self.head_lines.put(
                (
                    (Span(self.heading, "strong bright"),),
                    (Span("› ", "grey"), Span(self._text or "…", "bright" if self._text else "grey")),
                )
            )
        rows = self.shown_rows
        self._at = min(self._at, max(len(rows) - 1, 0))
        if self._on_lit is not None and self.chosen is not None:
            self._on_lit(self.chosen.value)
        lines: list[Line] = [self._line(row, at == self._at, width) for at, row in enumerate(rows)]
        if not lines:
            lines = [(Span("nothing is called so", "grey"),)]
        count = min(len(lines), 20, max(self.app.size.height - 9, 3))
        self.list.styles.height = count
        self.list.put_window(tuple(lines), max(self._at, 0))

    def _line(self, row: Row, here: bool, width: int) -> Line:
        on = " on-sel" if here else ""
        keys = f"{row.key:<8}" if self._with_keys else ""
        mark = "✓ " if row.value == self._current else "  " if self._current is not None else ""
        beside = row.dead or row.beside
        room = width - cells(keys) - cells(mark)
        label = cut(row.label, room)
        words = cut(beside, max(room - cells(label) - 3, 0)) if beside else ""
        gap = max(room - cells(label) - cells(words), 0)
        return (
            Span(f"{keys}{mark}", ("grey" if row.dead else "blue") + on),
            Span(label, ("grey" if row.dead else "bright" if here else "text") + on),
            Span(" " * gap, f"text{on}"),
            Span(words, f"grey{on}"),
        )

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "escape":
                self.dismiss(None)
            case "down" | "ctrl+n" | "ctrl+r":
                self._at += 1
            case "up":
                self._at = max(self._at - 1, 0)
            case "pagedown":
                self._at += 10
            case "pageup":
                self._at = max(self._at - 10, 0)
            case "enter":
                self._take()
            case "backspace" if self._typed:
                self._text = self._text[:-1]
            case _:
                if not self._typed or event.character is None or not event.character.isprintable():
                    return
                self._text += event.character
                self._at = 0
        event.stop()
        if self.is_current:
            self._draw()

    def _take(self) -> None:
        row = self.chosen
        if row is None:
            return
        if row.dead is not None:
            self.say(row.dead)
            return
        self.dismiss(row.value)

    def on_click(self, event: events.Click) -> None:
        if event.widget is self.list:
            at = self.list.first + event.y
            if at < len(self.shown_rows):
                self._at = at
                self._draw()
                self._take()
