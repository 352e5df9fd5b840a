"""Copying and the mouse: what is selected goes to the clipboard that can be reached, and the terminal may have the
mouse for its own selection."""

from typing import TYPE_CHECKING, Any

from app.console.clipboard import copy_text
from app.console.driver import Terminal
from app.wording import plural

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class Copying:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._mouse = True

    def selection(self) -> bool:
        """Copy what is selected; False when nothing is."""
        screen = self._deeds.app.screen
        focused: Any = screen.focused
        text = getattr(focused, "selected_text", "") or screen.get_selected_text() or ""
        if not text:
            return False
        self.copy(text)
        screen.clear_selection()
        return True

    def copy(self, text: str) -> None:
        self._deeds.spawn(self._copy, text)

    async def _copy(self, text: str) -> None:
        how = await copy_text(text, self._deeds.app.copy_by_terminal)
        lines = text.count("\n") + 1
        self._deeds.say(f"copied {plural(lines, 'line')} ({how})")

    async def toggle_mouse(self) -> None:
        driver = self._deeds.app._driver
        if not isinstance(driver, Terminal):
            return
        self._mouse = not self._mouse
        driver.take_mouse(on=self._mouse)
        self._deeds.drive.say(
            "the mouse is the console's" if self._mouse else "the mouse is the terminal's: m takes it back", "grey"
        )
