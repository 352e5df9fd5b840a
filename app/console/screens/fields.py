"""Small forms: one line to rename a session, and every field of the terms of a new one."""

from msgspec import Struct
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input

from app.console.screens.sheet import Sheet
from app.console.views.ink import Span, cut, literal, wrap
from app.console.widgets.lines import Lines

LABEL = 28
_AROUND = 7
"""Rows of a sheet that are no field: its edges, its heading, its foot and what sets them apart."""


class Field(Struct, frozen=True, kw_only=True):
    name: str
    label: str
    value: str = ""


class Fields(Sheet[dict[str, str] | None]):
    """Enter takes all of them, Tab goes on to the next, Esc leaves them as they were."""

    DEFAULT_CSS = """
    Fields .field { height: 1; margin-bottom: 1; }
    Fields.-low .field { margin-bottom: 0; }
    Fields Input { border: none; height: 1; width: 1fr; padding: 0 1; background: $fp-sel; color: $fp-bright; }
    Fields Input:focus { border: none; background: $fp-base; }
    Fields .label { height: 1; width: 28; }  /* LABEL */
    Fields .notes { height: auto; }
    """

    def __init__(self, heading: str, fields: tuple[Field, ...], notes: tuple[str, ...] = ()) -> None:
        """``notes``: what helps to fill them in, below; as much of it as there is room for."""
        super().__init__(heading, "Enter takes them   Tab next   Esc back")
        self._fields = fields
        self._notes = notes

    def body(self) -> ComposeResult:
        for field in self._fields:
            with Horizontal(classes="field"):
                yield Lines(id=f"label-{field.name}", classes="label")
                # Literal: a title may come from an agent's text, and an Input writes what it holds as it is.
                yield Input(literal(field.value), id=f"field-{field.name}", select_on_focus=False)
        yield Lines(id="field-notes", classes="notes")

    def prepare(self) -> None:
        low = self.app.size.height < 2 * len(self._fields) + 10
        self.set_class(low, "-low")
        taken = len(self._fields) * (1 if low else 2) + _AROUND
        rows = [row for note in self._notes for row in wrap(literal(note), max(self.room, 20))]
        shown = rows[: max(self.app.size.height * 94 // 100 - taken, 0)]
        self.query_one("#field-notes", Lines).put(tuple((Span(row, "grey"),) for row in shown))
        for field in self._fields:
            self.query_one(f"#label-{field.name}", Lines).put(((Span(cut(field.label, LABEL - 1), "grey"),),))
            one = self.query_one(f"#field-{field.name}", Input)
            one.cursor_blink = False
        if self._fields:
            self.query_one(f"#field-{self._fields[0].name}", Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss({field.name: self.query_one(f"#field-{field.name}", Input).value for field in self._fields})

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)
