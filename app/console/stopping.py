"""Ending: one session, all of them, the console. What counts as a second press is in ``presses``."""

import asyncio
from concurrent.futures import Future
from typing import TYPE_CHECKING

from app.console.presses import Press, TwicePressed
from app.console.screens.asking import Quit, StopAllSheet
from app.console.views.actions import holds, why_dead
from app.wording import sentence
from coordinator.api import CloseAll, Closed, LeaveAll, Reply, Stop, StopAll
from store.refusal import Refusal
from store.vocab import RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class Stopping:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._stop_presses = TwicePressed()
        self._stop_all_presses = TwicePressed()

    # ------------------------------------------------------------------------------------------------------------ ends

    async def stop(self, run: RunId) -> None:
        given = self._deeds.promptly.given(self._deeds.app.pressed_at)
        if given is not None:
            run = given.run  # one press stops one session, whichever came into view meanwhile
        match self._stop_presses.press(self._deeds.app.pressed_at, run):
            # Not awaited: the answer comes when nothing is left, and until then the second press must be heard.
            case Press.FIRST if given is not None:
                self._deeds.aside(self._told, given.answer)
            case Press.FIRST:
                self._deeds.aside(self._ordered, Stop(run=run))
            case Press.SECOND:
                self._deeds.drive.say("killing at once", "grey")
                self._deeds.aside(self._ordered, Stop(run=run, kill=True))
            case Press.HELD:
                pass

    async def _ordered(self, command: Stop) -> None:
        await self._deeds.order_and_say(command)

    async def _told(self, answer: "Future[Reply]") -> None:
        reply = await asyncio.wrap_future(answer)
        if isinstance(reply, Refusal):
            self._deeds.say(sentence(reply))

    def would_be_first(self, run: RunId) -> bool:
        """Whether a press now is the first one for this run."""
        return self._stop_presses.about != run

    def stop_all(self) -> None:
        screen = self._deeds.app.screen
        if isinstance(screen, StopAllSheet):
            if self._stop_all_presses.press(self._deeds.app.pressed_at, "all") is Press.SECOND:
                screen.dismiss(None)
                self._deeds.aside(self._deeds.quietly, StopAll())
                self._deeds.drive.say("stopping all", "red")
            return
        dead = why_dead("stop-all", self._deeds.drive.situation())
        if dead is not None:
            self._deeds.say(dead)
            return
        self._deeds.close_sheets()
        self._stop_all_presses.forget()
        self._stop_all_presses.press(self._deeds.app.pressed_at, "all")
        sheet = StopAllSheet(self._deeds.drive.glyphs, self._deeds.drive.now)
        self._deeds.app.push_screen(sheet)
        self._deeds.app.call_after_refresh(lambda: sheet.fill(self._deeds.drive.snapshot))

    def quit(self) -> None:
        self._deeds.drafts.leave(self._deeds.drive.run_in_view)
        if not holds(self._deeds.drive.snapshot):
            self._deeds.app.exit(0)
            return
        sheet = Quit(self._deeds.drive.glyphs, self._deeds.drive.now)
        self._deeds.app.push_screen(sheet, self._quit_answered)
        self._deeds.app.call_after_refresh(lambda: sheet.fill(self._deeds.drive.snapshot))

    def _quit_answered(self, value: str | None) -> None:
        if value == "leave":
            self._deeds.spawn(self._leave)
        elif value == "end":
            self._deeds.drive.say("ending all, then quitting", "red")
            self._deeds.spawn(self._close)

    async def _leave(self) -> None:
        """Keepers stay with every hold; the next console picks them up."""
        reply = await self._deeds.order(LeaveAll())
        if isinstance(reply, Refusal):
            self._deeds.say(sentence(reply))
            return
        self._deeds.app.exit(0)

    async def _close(self) -> None:
        reply = await self._deeds.order(CloseAll())
        if isinstance(reply, Refusal):
            self._deeds.say(sentence(reply))
            return
        # 3: something needs a person, as on the command line.
        self._deeds.app.exit(3 if isinstance(reply, Closed) and reply.unsettled else 0)
