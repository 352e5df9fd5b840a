"""``v``: the review over the ledger of this console. The sessions go on beneath it; what is done to one closes it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from coordinator.clock import RealClock

if TYPE_CHECKING:
    from app.console.deeds import Deeds
    from app.console.review.screen import Review


class Reviewing:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._review: Review | None = None
        """The one that was opened last."""

    def acts(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """By the action's name in the key table."""
        return {"review": self._open}

    async def _open(self) -> None:
        app = self._deeds.app
        ledger = app.options.ledger
        if ledger is None:
            self._deeds.say("this console was not told where its ledger lies: footplate review opens it")
            return
        # Who never looks back does not pay for it: the review, and what exports, are one and a half megabytes.
        from app.console.review.screen import Review

        review = self._review = Review(
            ledger,
            app.table,
            app.drive.glyphs,
            home=app.options.home,
            now=app.options.now or RealClock().now,
            monotonic=app.options.monotonic,
            leave=lambda: self._leave(review),
        )
        app.push_screen(review)

    def _leave(self, review: "Review") -> None:
        if self._deeds.app.screen is review:
            review.dismiss(None)

    def close(self) -> bool:
        """What is done to a session is to be seen: the review goes, and what lies over it. False: there is none."""
        if self._review is None or self._review not in self._deeds.app.screen_stack:
            return False
        self._deeds.close_sheets()
        return True
