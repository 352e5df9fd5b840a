"""The attention queue: opened, gone from to what was chosen, and what of it is put away."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from app.console.screens.queue import Queue
from app.console.views.attention import Waiting
from coordinator.api import Acknowledge, ConsoleSnapshot, DismissDecision

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class WaitingList:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds

    def acts(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """By the action's name in the key table."""
        return {"waiting-list": self._open}

    async def _open(self) -> None:
        drive = self._deeds.drive
        self._deeds.app.push_screen(
            Queue(drive.snapshot, lambda: drive.now, drive.glyphs, self._put_away), self._chosen
        )

    def take(self, snapshot: ConsoleSnapshot) -> None:
        screen = self._deeds.app.screen
        if isinstance(screen, Queue):
            screen.take(snapshot)

    def _chosen(self, one: Waiting | None) -> None:
        if one is not None:
            self._deeds.spawn(self._deeds.answering.go_to, one)

    def _put_away(self, one: Waiting) -> None:
        if one.decision is not None and one.run is not None:
            self._deeds.spawn(self._order, DismissDecision(run=one.run, decision=one.decision))
        elif one.item is not None:
            self._deeds.spawn(self._order, Acknowledge(item=one.item))

    async def _order(self, command: Acknowledge | DismissDecision) -> None:
        await self._deeds.order_and_say(command)
