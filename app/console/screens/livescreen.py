"""A program's own screen, live, over the console: to look at, and after a key of its own to type into.

Its bytes are drawn beside the screen's loop in small slices, and only while this is open. What is typed goes out in the
order in which it was typed, one command after the other.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from textual import events
from textual.app import ComposeResult

from app.console.screens.sheet import Sheet
from app.console.views.ink import Span, cut
from app.console.views.livescreen import LiveScreen
from app.console.views.typedkeys import bytes_of, bytes_of_paste
from app.console.widgets.lines import Lines
from app.console.workers import begin
from app.wording import sentence
from coordinator.api import OperatorCommand, Reply, ResizeTerminal, SendKeys, Terminal
from coordinator.terminals import Resized
from store.refusal import Refusal
from store.vocab import RunId

FRAME = 0.04
"""Seconds between two looks at what is new."""
SLICE = 4096
"""Bytes drawn in one go: some four milliseconds."""
_LOOKING = "i types into it   e sends it an Esc   Esc back"
_TYPING = "what you type goes to the program   ^C interrupts   Esc stops typing"


class LiveSheet(Sheet[None]):
    DEFAULT_CSS = """
    LiveSheet > .sheet { width: 100%; height: 100%; max-height: 100%; padding: 0 1; }
    LiveSheet .sheet-head { margin-bottom: 0; }
    LiveSheet .sheet-foot { margin-top: 0; }
    LiveSheet #live { height: 1fr; }
    """

    def __init__(
        self,
        run: RunId,
        heading: str,
        terminal: Terminal,
        order: Callable[[OperatorCommand], Awaitable[Reply]],
        spawn: Callable[[Callable[[], Awaitable[object]]], None],
        busy: Callable[[], bool],
    ) -> None:
        """``order`` gives a command and waits; ``spawn`` owns work that outlives this sheet; ``busy``: a turn runs."""
        super().__init__(heading, _LOOKING)
        self.face = Lines(id="live", grows=False)
        self.typing = False
        self._run = run
        self._terminal = terminal
        self._order = order
        self._spawn = spawn
        self._busy = busy
        self._screen = LiveScreen()
        self._typed = bytearray()
        self._sending = False
        self._fitted = (0, 0)

    def body(self) -> ComposeResult:
        yield self.face

    def prepare(self) -> None:
        begin(self, self._follow)
        self.call_after_refresh(self._fit)

    @property
    def room(self) -> int:
        return self.app.size.width - 4

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """The program's terminal is as large as what is seen of it; its answer comes with its output, in order."""
        size = (self.face.size.height, self.face.size.width)
        if min(size) > 0 and size != self._fitted:
            self._fitted = size
            self._spawn(partial(self._tell, ResizeTerminal(run=self._run, rows=size[0], columns=size[1])))

    async def _tell(self, command: OperatorCommand) -> None:
        await self._order(command)

    async def _follow(self) -> None:
        position, busy = 0, None
        while True:
            if busy != self._busy():
                busy = self._busy()
                words = "   a turn runs" if busy else "   no turn runs"
                self.head_lines.put(((Span(cut(self.heading, self.room - 16), "strong bright"), Span(words, "grey")),))
            shown = self._terminal.since(position)
            if shown.skipped:
                self._screen.begin()
            if shown.pieces:
                position = shown.upto
                for piece in _slices(shown.pieces):
                    await asyncio.to_thread(self._screen.feed, piece)
                self._paint()
            await asyncio.sleep(FRAME)

    def _paint(self) -> None:
        self.face.put(self._screen.rows(cursor=self.typing)[: max(self.face.size.height, 1)])

    # ----------------------------------------------------------------------------------------------------------- keys

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if self.typing and event.key == "escape":
            self._type_into(False)
        elif self.typing:
            self.type(bytes_of(event.key, event.character, cursor_keys=self._screen.cursor_keys))
        elif event.key in ("i", "enter"):
            self._type_into(True)
        elif event.key == "e":
            self.type(b"\x1b")
        elif event.key in ("escape", "q", "T"):
            self.dismiss(None)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if self.typing:
            self.type(bytes_of_paste(event.text, marked=self._screen.marks_pastes))

    def interrupted(self) -> bool:
        # No turn runs, but what was typed may.
        if self.typing and not self._busy():
            self.type(b"\x03")
            return True
        return False

    def _type_into(self, on: bool) -> None:
        self.typing = on
        self.say(_TYPING if on else _LOOKING, "amber" if on else "grey")
        self._paint()

    def type(self, data: bytes) -> None:
        self._typed += data
        if self._typed and not self._sending:
            self._sending = True
            self._spawn(self._send)

    async def _send(self) -> None:
        try:
            while self._typed:
                data = bytes(self._typed)
                self._typed.clear()
                reply = await self._order(SendKeys(run=self._run, data=data))
                if isinstance(reply, Refusal):
                    self._typed.clear()
                    self.say(sentence(reply))
        finally:
            self._sending = False


def _slices(pieces: tuple[bytes | Resized, ...]) -> Iterator[bytes | Resized]:
    for piece in pieces:
        if isinstance(piece, Resized):
            yield piece
        else:
            yield from (piece[at : at + SLICE] for at in range(0, len(piece), SLICE))
