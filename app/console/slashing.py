"""A text that begins with a slash: Footplate's own commands are done, those that need the agent's own screen refused.

What it means is decided in ``views.slashes``, which said it before Enter; everything else goes to the agent.
"""

from typing import TYPE_CHECKING

from app.console.views.bars import short_mode
from app.console.views.ink import one_line
from app.console.views.slashes import NeedsScreen, OfAgent, OfFootplate, meaning, needs_screen
from coordinator.api import OperatorCommand, Rename, SessionView, SetMode, SetModel

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class Slashing:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds

    def of_agent(self, text: str) -> bool:
        return isinstance(meaning(text, self._deeds.drive.situation(), self._deeds.app.table), OfAgent)

    async def entered(self, text: str) -> bool:
        """True when it was for Footplate, done or refused; else it is for the agent."""
        found = meaning(text, self._deeds.drive.situation(), self._deeds.app.table)
        match found:
            case NeedsScreen():
                self._deeds.drive.say(needs_screen(found))
            case OfFootplate(dead=str() as dead):
                self._deeds.drive.say(dead)
            case OfFootplate():
                await self._do(found, text)
            case _:
                return False
        return True

    async def _do(self, found: OfFootplate, text: str) -> None:
        session = self._deeds.session
        if not found.rest or session is None:
            self._deeds.drafts.sent(self._deeds.drive.run_in_view, text)
            await self._deeds.do(found.action)
            return
        command = with_words(found, session)
        if isinstance(command, str):
            self._deeds.drive.say(command)
            return
        self._deeds.drafts.sent(session.run, text)
        await self._deeds.order_and_say(command)


def with_words(found: OfFootplate, session: SessionView) -> OperatorCommand | str:
    """The order that these words give, or a sentence where they name nothing."""
    match found.action:
        case "model":
            names = dict(session.models)
        case "mode":
            names = {mode: short_mode(mode) for mode in session.modes}
        case _:
            return Rename(run=session.run, title=found.rest)
    wanted = found.rest.casefold()
    value = next((value for value, name in names.items() if wanted in (value.casefold(), name.casefold())), None)
    if value is None:
        there = ", ".join(one_line(one) for one in names)
        return f"there is no {found.action} {one_line(found.rest)}; there are {there}"
    if found.action == "model":
        return SetModel(run=session.run, model=value)
    return SetMode(run=session.run, mode=value)
