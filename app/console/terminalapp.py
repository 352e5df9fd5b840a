"""What every full screen of ours is on a terminal, be it the console or a review: its keys from the table, its looks as
configured, and an end without a trace of Python when it breaks.
"""

import app.console.before_textual as before_textual  # noqa: F401, I001  (first: Textual reads its environment at import)

from msgspec.structs import replace
from typing import ClassVar, Protocol, runtime_checkable

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import ANSIToTruecolor
from textual.worker import WorkerFailed

from app.console import clusters
from app.console.driver import Terminal
from app.console.keymap import with_keymap
from app.console.keys import Where, find, shown
from app.console.options import ConsoleOptions
from app.console.plainlook import Ascii, Uncoloured
from app.console.presses import KeyGate
from app.console.theme import textual_name, textual_theme
from app.console.views.glyphs import ASCII, UNICODE, Glyphs


@runtime_checkable
class TakesKeys(Protocol):
    """A screen with keys of its own, beside those of its parts."""

    def take_key(self, key: str) -> bool:
        """Do what the key does while no text has the focus; False where it is none of the screen's."""
        ...


class TerminalApp(App[int]):
    TITLE = "footplate"
    ENABLE_COMMAND_PALETTE = False
    ESCAPE_TO_MINIMIZE = False
    BINDINGS: ClassVar[list[BindingType]] = []
    BOUND: ClassVar[frozenset[str] | None] = None
    """Actions of everywhere that there are here; None: all of them."""

    def __init__(self, options: ConsoleOptions) -> None:
        self.options = options
        super().__init__(driver_class=Terminal)
        clusters.install()
        self.gate = KeyGate()
        self.table, self.keymap_problems = with_keymap(self.options.keymap)
        # Priority: they work whatever has the focus, and under modals. Textual's own ^Q and ^C are taken over here.
        for row in self.table:
            if row.where is Where.ANYWHERE and (self.BOUND is None or row.action in self.BOUND):
                for key in row.keys:
                    self._bindings.key_to_bindings[key] = [
                        Binding(
                            key, f"do('{row.action}')", row.words, show=False, priority=True, id=f"{row.action}:{key}"
                        )
                    ]
        self._plain_looks()
        self.use_theme(self.options.theme)

    def _glyphs(self) -> Glyphs:
        """With the keys as this operator has them: what is written beside a sign is what is to be pressed."""
        keys = {row.action: shown(row) for row in self.table}
        signs = ASCII if self.options.ascii else UNICODE
        return replace(signs, waiting_key=keys["next-waiting"], commands_key=keys["commands"])

    def _plain_looks(self) -> None:
        """Textual's way with NO_COLOR is shades of grey: ours is no colour at all."""
        self._filters = [one for one in self._filters if isinstance(one, ANSIToTruecolor)]
        self.no_color = self.options.no_color
        if self.options.no_color:
            self._filters.append(Uncoloured())
        if self.options.ascii:
            self._filters.append(Ascii())
            self.add_class("-ascii")

    def use_theme(self, name: str) -> None:
        """Ours, or one of Textual's, made ours when it is first used; none where there are to be no colours."""
        name = "mono" if self.options.no_color else name
        if self.get_theme(textual_name(name)) is None:
            self.register_theme(textual_theme(name))
        self.theme = textual_name(name)

    def action_help_quit(self) -> None:
        """Textual's toast for ^C: not ours."""

    def copy_by_terminal(self, text: str) -> None:
        """OSC 52, Textual's way."""
        super().copy_to_clipboard(text)

    # --------------------------------------------------------------------------------------------------- when it breaks

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded and self._taken(event.key):
            return
        await super().on_event(event)

    def _taken(self, key: str) -> bool:
        """A key of the screen's own is dealt with here and now, in the order of the keys: passed on to whatever has the
        focus it would be dealt with later, and the letters after ``/`` would be read as keys."""
        screen = self.screen
        return isinstance(screen, TakesKeys) and find(key, Where.ANYWHERE, self.table) is None and screen.take_key(key)

    broken: Exception | None = None
    """What the screen died of; whoever ran it says so, in a sentence."""

    def _handle_exception(self, error: Exception) -> None:
        """In place of Textual's, which prints a trace with every local in it: an agent's text, and secrets."""
        # What broke in a worker comes wrapped: a person is told of the thing itself.
        error = error.error if isinstance(error, WorkerFailed) and isinstance(error.error, Exception) else error
        self.broken = self.broken or error
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    def panic(self, *renderables: object) -> None:
        """Called by the thread that reads the terminal, when it cannot."""
        self._handle_exception(OSError("the terminal could not be read any more"))
