"""A review on a ledger, in a terminal of a size, and a few words to drive it with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from app.console.options import ConsoleOptions
from app.console.review.app import ReviewApp
from app.console.review.screen import Review
from app.console.views.ink import plain
from app.console.widgets.lines import Lines
from store.vocab import Millis
from tests.waiting import eventually

NOW = 1_780_000_000_000
"""Later than all that is made in tests."""
_NAMES = {
    " ": "space", ":": "colon", ">": "greater_than_sign", '"': "quotation_mark", ".": "full_stop", "-": "minus",
    "*": "asterisk", "/": "slash",
}  # fmt: skip


class Reviewed:
    def __init__(self, app: Any, review: Review, pilot: "Pilot[int]") -> None:
        self.app = app
        self.review = review
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
        await self.still()

    async def type(self, text: str) -> None:
        await self.press(*(_NAMES.get(letter, letter) for letter in text))

    async def still(self) -> None:
        """Until all that was asked of the ledger has been answered and painted."""

        def idle() -> bool:
            return all(worker.is_finished for worker in self.app.workers)

        for _ in range(3):
            await self.pilot.pause()
            await eventually(idle)
        await self.pilot.pause()

    async def filter(self, text: str) -> None:
        await self.press("f")
        self.review.line.clear()
        await self.type(text)
        await self.press("enter")

    def alone(self) -> bool:
        """Whether the run has the screen for itself."""
        return self.review.alone

    @property
    def rows(self) -> list[str]:
        """All that is painted, row by row."""
        return [strip.text.rstrip() for strip in self.app.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    @property
    def said(self) -> list[str]:
        """What our own widgets say, uncut by the screen."""
        return [plain(row) for widget in self.app.screen.query(Lines) if widget.display for row in widget.rows]

    @property
    def conversation(self) -> list[str]:
        return [line.text for line in self.review.pane.transcript.lines]

    @property
    def top(self) -> str:
        """The first line of the conversation that is in view."""
        transcript = self.review.pane.transcript
        return transcript.lines[transcript._top_line()].text


@asynccontextmanager
async def reviewing(
    ledger: Path, size: tuple[int, int] = (120, 40), options: ConsoleOptions | None = None, *, now: int = NOW
) -> AsyncIterator[Reviewed]:
    app = ReviewApp(ledger, options or ConsoleOptions(home="/home/mara", now=lambda: Millis(now)))
    async with app.run_test(size=size) as pilot:
        on = Reviewed(app, app.review, pilot)
        await on.still()
        yield on
    if app.broken is not None:
        raise app.broken
