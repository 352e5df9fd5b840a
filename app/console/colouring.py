"""Choosing the colours while the console runs: each theme is seen as soon as it is lit; Esc brings back the one before.

What was chosen holds until the console is left; the sheet says what keeps it.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from app import themes
from app.console.screens.choose import Choose, Row
from app.console.theme import is_dark, name_of

if TYPE_CHECKING:
    from app.console.deeds import Deeds


class Colouring:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._app = deeds.app

    def acts(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """By the action's name in the key table."""
        return {"colours": self._choose}

    async def _choose(self) -> None:
        if self._app.options.no_color:
            self._deeds.say("NO_COLOR is set where this console was started: it shows no colours")
            return
        before = name_of(self._app.theme)
        rows = tuple(Row(value=name, label=name, beside=_beside(name)) for name in themes.NAMES)
        sheet = Choose("Colours", rows, current=before, on_lit=self._app.use_theme)
        self._app.push_screen(sheet, lambda name: self._chosen(name, before))

    def _chosen(self, name: str | None, before: str) -> None:
        self._app.use_theme(name or before)
        if name is not None and name != before:
            self._app.drive.say(f'until you leave; theme = "{name}" in config.toml keeps it', "grey")


def _beside(name: str) -> str:
    if name == "high-contrast":
        return "black, 7 to 1 and more"
    return "dark" if is_dark(name) else "light"
