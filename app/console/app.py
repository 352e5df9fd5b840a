"""The console: wiring only. Who hears of which key, which snapshot reaches which screen; nothing is decided here.

What a key does is in ``deeds``, what a screen shows in ``views``, which keys there are in ``keys``.
"""

import app.console.before_textual as before_textual  # noqa: I001  (must be first: Textual reads its environment at import)

import asyncio
import signal
import sys

from textual import events
from textual.screen import Screen

from app import collector
from app.console.deeds import Deeds
from app.console.driver import Noise, Terminal
from app.console.keys import Where
from app.console.messages import (
    Answered,
    CardLeft,
    Edited,
    Entered,
    ExtendWanted,
    LateKey,
    LeftText,
    Moved,
    OtherWaiting,
    PartChosen,
    SessionChosen,
    TermsKey,
    Wanted,
)
from app.console.noticing import Noticing
from app.console.options import ConsoleOptions
from app.console.screens.drive import Drive
from app.console.terminalapp import TerminalApp
from app.console.widgets.filterline import FilterLine
from app.console.widgets.searchline import SearchLine
from app.console.widgets.transcript import Transcript
from coordinator.api import Backend

NOW = frozenset({"stop", "stop-all", "quit"})
"""Done where the key is heard, because the time of the press counts. They wait for nothing; whatever may have to wait
for the backend is done beside, or no key would be heard until it has answered: a stop least of all."""
COALESCE = 0.050
"""Seconds between two paintings of snapshots, at least."""

AGENT_NO_COLOR = before_textual.AGENT_NO_COLOR


class FootplateApp(TerminalApp):
    # Here and not on the screen: a default screen's own style sheet is not read.
    CSS_PATH = "screens/drive.tcss"

    def __init__(self, backend: Backend, options: ConsoleOptions | None = None) -> None:
        super().__init__(options or ConsoleOptions())
        self.backend = backend
        self.drive = Drive(self.options, self.gate, self._glyphs(), self.table, backend.snapshot())
        self.deeds = Deeds(self)
        self.drive.card.on_text_left = self.deeds.answering.keep_text
        self.drive.on_key_in_keys = self.deeds.key
        self.drive.on_shown = self.deeds.viewing.watch_seen
        self.drive.on_writing = self.deeds.starting.look_again
        self.drive.writing_words = self.deeds.completing.words
        self.noticing = Noticing(self)
        self._poked = False
        self._last_taken = float("-inf")
        self._unsubscribe = backend.subscribe(self._wake)

    def get_default_screen(self) -> Screen[object]:
        return self.drive  # type: ignore[return-value]

    async def on_mount(self) -> None:
        if isinstance(self._driver, Terminal):
            self._driver.on_read = self.deeds.promptly.read
        if not self.is_headless:
            asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, self._continued)
        if self.keymap_problems:
            self.drive.say(self.keymap_problems[0])
        await self.deeds.viewing.begin()
        self.deeds.returning.begin()
        self.noticing.begin()
        self.deeds.touring.begin()
        if not self.is_headless:
            collector.behind_a_screen()
            # A key waits for the coordinator's thread to let go of the interpreter: a millisecond, not five.
            sys.setswitchinterval(0.001)

    def _continued(self) -> None:
        """The process was stopped and goes on. Textual would begin the terminal a second time over the first: two
        threads that read it, and its raw mode taken for what must be given back at the end."""
        if self._driver is None or self.deeds.away or not self.is_running:
            return  # on its way out, say: what tells a program to go often tells it to go on as well
        if not getattr(self._driver, "_must_signal_resume", False):
            self._driver.suspend_application_mode()
        self._driver.resume_application_mode()
        self.refresh(layout=True)

    def on_unmount(self) -> None:
        self._unsubscribe()

    # ---------------------------------------------------------------------------------------------------- snapshots in

    def _wake(self) -> None:
        """On the coordinator's thread: one message, however often it calls."""
        if not self._poked:
            self._poked = True
            self.post_message(Moved())

    def on_moved(self) -> None:
        left = self._last_taken + COALESCE - self.options.monotonic()
        if left > 0:
            self.set_timer(left, self.take)
        else:
            self.take()

    def take(self) -> None:
        if not self.screen_stack:
            return  # closing: there is nothing to show it on any more
        self._last_taken = self.options.monotonic()
        self._poked = False
        snapshot = self.backend.snapshot()
        self.noticing.take(snapshot)
        self.deeds.viewing.take(snapshot)

    # ------------------------------------------------------------------------------------------------------ keys in

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.InputEvent | events.Paste) and not event.is_forwarded:
            self.gate.heard(event.time)
            self.backend.beat()
            self.deeds.returning.key()
            if isinstance(event, events.Key):
                self.pressed_at = event.time
                self.drive.hush()
            if isinstance(event, Noise):
                self.deeds.promptly.heard(event.time)
                return
        await super().on_event(event)
        if isinstance(event, events.InputEvent | events.Paste):
            self.deeds.promptly.heard(event.time)

    pressed_at = 0.0
    """When the key came that is being handled; for bindings, which are not told."""

    async def action_do(self, action: str) -> None:
        if action in NOW:
            await self.deeds.do(action)
        else:
            self.deeds.spawn(self.deeds.do, action)

    async def action_quit(self) -> None:
        await self.deeds.do("quit")

    def copy_to_clipboard(self, text: str) -> None:
        self._clipboard = text  # what ^V puts back
        self.deeds.copying.copy(text)

    def on_app_focus(self) -> None:
        self.deeds.starting.look_again()

    # --------------------------------------------------------------------------------------------------- widgets speak

    async def on_entered(self, message: Entered) -> None:
        if message.writing == "composer":
            self.deeds.spawn(self.deeds.entered, message.text)

    def on_edited(self, message: Edited) -> None:
        if message.writing == "composer":
            self.deeds.edited()
            if len(message.text) == 1 and message.text in "123456789" and self.drive.card.shown:
                # Right for who writes; whoever meant the card must not wait for an answer that was none.
                key = self.drive.glyphs.waiting_key
                self.drive.say(f"{message.text} went into your draft; to answer: {key}, then {message.text}")

    def on_left_text(self, message: LeftText) -> None:
        if message.writing == "composer":
            self.deeds.left_composer()

    def on_late_key(self, message: LateKey) -> None:
        # Behind the change of focus, which Textual puts off in the same way.
        self.call_later(self._late, message)

    def _late(self, message: LateKey) -> None:
        if self.drive.focus_place is Where.KEYS:
            self.deeds.key(message.key)
        elif self.drive.focus_place is Where.COMPOSER and message.character is not None:
            self.drive.composer.insert(message.character)

    def on_wanted(self, message: Wanted) -> None:
        self.deeds.spawn(self.deeds.do, message.action)

    async def on_session_chosen(self, message: SessionChosen) -> None:
        await self.deeds.viewing.view(message.run)

    async def on_part_chosen(self, message: PartChosen) -> None:
        if message.part in ("model", "mode"):
            await self.deeds.do(message.part)
        elif message.part == "task":
            await self.deeds.do("tasks")

    async def on_answered(self, message: Answered) -> None:
        self.deeds.spawn(self.deeds.answering.answer, message.decision, message.answer)

    def on_extend_wanted(self, message: ExtendWanted) -> None:
        self.deeds.spawn(self.deeds.answering.extend, message.command)

    def on_card_left(self, message: CardLeft) -> None:
        self.deeds.answering.focus_back()

    async def on_other_waiting(self, message: OtherWaiting) -> None:
        await self.deeds.answering.other_waiting(message.by)

    def on_terms_key(self, message: TermsKey) -> None:
        self.deeds.spawn(self.deeds.terms_key, message.verb)

    def on_filter_line_typed(self, message: FilterLine.Typed) -> None:
        self.deeds.filtering.typed(message.text)

    def on_filter_line_left(self, message: FilterLine.Left) -> None:
        self.deeds.filtering.left(message.kept)

    def on_search_line_typed(self, message: SearchLine.Typed) -> None:
        self.deeds.searching.typed(message.text)

    def on_search_line_left(self, message: SearchLine.Left) -> None:
        self.deeds.searching.left(message.kept)

    def on_transcript_looked(self, message: Transcript.Looked) -> None:
        self.drive.unread = message.unread
        self.drive.paint_rule()

    def on_transcript_need_page(self, message: Transcript.NeedPage) -> None:
        self.deeds.aside(self.deeds.viewing.read, message.asked)
