"""The form that adds a task or changes one: what is to be done in a text of several lines, the rest in fields below.

It stays until what was written is taken: a refusal is said here and nothing typed is lost. An Enter that came among
other keys is a line of a paste, here as in the composer.
"""

from collections.abc import Awaitable, Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input

from app.console.messages import Edited, Entered, LeftText
from app.console.presses import BURST, KeyGate
from app.console.screens.sheet import Sheet
from app.console.views.ink import Span, cut, literal
from app.console.views.taskform import INSTRUCTION, FormField
from app.console.widgets.lines import Lines
from app.console.widgets.writing import Writing
from app.console.workers import begin

LABEL = 28
FOOT = "Enter {verb}   ^J new line   Tab next field   Esc back"
SEVERAL = "other keys came with it: Enter alone {verb}"


class TaskForm(Sheet[None]):
    """``take`` is given what was written, and says why not, or '' when it was taken."""

    DEFAULT_CSS = """
    TaskForm .field { height: 1; }
    TaskForm Input { border: none; height: 1; width: 1fr; padding: 0 1; background: $fp-sel; color: $fp-bright; }
    TaskForm Input:focus { border: none; background: $fp-base; }
    TaskForm .label { height: 1; width: 28; }  /* LABEL */
    TaskForm #task-instruction { height: 4; max-height: 4; margin: 0 0 1 0; background: $fp-sel; }
    TaskForm #task-instruction:focus { background: $fp-base; }
    TaskForm.-high #task-instruction { height: 9; max-height: 9; }
    TaskForm.-low .sheet { padding: 0 2; }
    TaskForm.-low #task-instruction { height: 3; margin: 0; }
    TaskForm .sheet-head { margin-bottom: 0; }
    TaskForm.-high .sheet-head { margin-bottom: 1; }
    """

    def __init__(
        self,
        heading: str,
        verb: str,
        instruction: str,
        fields: tuple[FormField, ...],
        gate: KeyGate,
        take: Callable[[dict[str, str]], Awaitable[str]],
    ) -> None:
        super().__init__(heading, FOOT.format(verb=verb))
        self._verb = verb
        self._instruction = instruction
        self._fields = fields
        self._gate = gate
        self._take = take
        self._busy = False
        self.taken = False
        """What was written is the ledger's now."""
        self.text = Writing(gate, id="task-instruction", placeholder="What is to be done?")

    def body(self) -> ComposeResult:
        yield self.text
        for field in self._fields:
            with Horizontal(classes="field"):
                yield Lines(id=f"label-{field.name}", classes="label")
                # Literal: a title may come from an agent's text, and an Input writes what it holds as it is.
                yield Input(literal(field.value), id=f"field-{field.name}", select_on_focus=False)

    def prepare(self) -> None:
        self._measure()
        self.text.set_text(literal(self._instruction, newlines=True))
        for field in self._fields:
            self.query_one(f"#label-{field.name}", Lines).put(((Span(cut(field.label, LABEL - 1), "grey"),),))
            self.query_one(f"#field-{field.name}", Input).cursor_blink = False
        self.text.focus()

    def _measure(self) -> None:
        height = self.app.size.height
        self.set_class(height < len(self._fields) + 13, "-low")
        self.set_class(height >= len(self._fields) + 20, "-high")

    def on_resize(self) -> None:
        self._measure()

    @property
    def values(self) -> dict[str, str]:
        """As they stand."""
        fields = {field.name: self.query_one(f"#field-{field.name}", Input).value for field in self._fields}
        return {INSTRUCTION: self.text.text, **fields}

    def on_entered(self, message: Entered) -> None:
        message.stop()
        self._go()

    def on_edited(self, message: Edited) -> None:
        message.stop()

    def on_left_text(self, message: LeftText) -> None:
        message.stop()
        self.dismiss(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        at = self._gate.last() or 0.0
        if not self._gate.quiet_before(at):
            self.say(SEVERAL.format(verb=self._verb))
            return
        self.set_timer(BURST, lambda: self._weigh(at))

    def _weigh(self, at: float) -> None:
        if self._gate.last() != at:
            self.say(SEVERAL.format(verb=self._verb))
        else:
            self._go()

    def _go(self) -> None:
        if not self._busy and self.is_active:
            self._busy = True
            self.say("…", "grey")
            begin(self, self._send)

    async def _send(self) -> None:
        try:
            problem = await self._take(self.values)
        finally:
            self._busy = False
        if problem:
            self.say(problem)
        else:
            self.taken = True
            self.dismiss(None)

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "escape":
                self.dismiss(None)
            case "down":
                self.focus_next()
            case "up":
                self.focus_previous()
            case _:
                return
        event.stop()
