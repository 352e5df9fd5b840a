"""The review by itself, on any ledger: no coordinator, nothing held, nothing written."""

import app.console.before_textual  # noqa: F401, I001  (sets what textual reads at import)

from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.screen import Screen

from app import collector
from app.wording import plural
from app.console.workers import begin
from app.console.clipboard import copy_text
from app.console.options import ConsoleOptions
from app.console.review.screen import Review
from app.console.screens.sheet import Sheet
from app.console.terminalapp import TerminalApp
from coordinator.clock import RealClock
from store.refusal import Refusal


class ReviewApp(TerminalApp):
    CSS_PATH = "../screens/drive.tcss"
    BOUND: ClassVar[frozenset[str] | None] = frozenset({"quit", "interrupt", "redraw"})

    def __init__(self, ledger: Path, options: ConsoleOptions | None = None) -> None:
        super().__init__(options or ConsoleOptions())
        self.review = Review(
            ledger,
            self.table,
            self._glyphs(),
            home=self.options.home,
            now=self.options.now or RealClock().now,
            monotonic=self.options.monotonic,
            leave=lambda: self.exit(0),
        )
        self.review.on_refused = self._refused
        self.refusal: Refusal | None = None
        """Why it could not be opened; whoever ran this says so where the screen was."""

    def get_default_screen(self) -> Screen[object]:
        return self.review  # type: ignore[return-value]

    def on_mount(self) -> None:
        if self.keymap_problems:
            self.review.say(self.keymap_problems[0])
        if not self.is_headless:
            collector.behind_a_screen()

    def _refused(self, refusal: Refusal) -> None:
        self.refusal = refusal
        self.exit(1)

    # ------------------------------------------------------------------------------------------------------------- keys

    async def action_do(self, action: str) -> None:
        match action:
            case "quit":
                self.exit(0)
            case "redraw":
                self.refresh(repaint=True, layout=True)
            case _:
                text = self.screen.get_selected_text() or ""
                if text:
                    self.copy_to_clipboard(text)
                    self.screen.clear_selection()
                else:
                    self.say("nothing is selected; q leaves the review")

    def copy_to_clipboard(self, text: str) -> None:
        self._clipboard = text
        begin(self, partial(self._copy, text), group="copy")

    async def _copy(self, text: str) -> None:
        how = await copy_text(text, self.copy_by_terminal)
        lines = text.count("\n") + 1
        self.say(f"copied {plural(lines, 'line')} ({how})")

    def say(self, words: str) -> None:
        screen = self.screen
        (screen if isinstance(screen, Sheet) else self.review).say(words)
