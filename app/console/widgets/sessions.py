"""The session list on the screen, and the rows that open something when clicked."""

from textual import events

from app.console.messages import PartChosen, SessionChosen
from app.console.views.bars import TitlePart
from app.console.views.ink import Line, Span
from app.console.views.lists import ListPicture
from app.console.widgets.lines import Lines, WindowedLines
from store.vocab import RunId


class SessionList(WindowedLines):
    def __init__(self) -> None:
        super().__init__(id="sessions")
        self._runs: tuple[RunId | None, ...] = ()
        self._kept: tuple[RunId | None, int, int] = (None, 0, 0)
        """The session, its row and the height for which the window was last moved; else the wheel would be undone."""

    def show(self, picture: ListPicture, in_view: RunId | None) -> None:
        self._runs = picture.runs
        keep = next((row for row, run in enumerate(picture.runs) if run is not None and run == in_view), None)
        here = (in_view, keep or 0, self.size.height)
        moved, self._kept = here != self._kept, here
        self.put_window(picture.lines, keep if moved else None)

    def _cut(self) -> None:
        """As of any window; its first and last row say what is above and below."""
        super()._cut()
        height = self.size.height
        rows, below = list(self.rows), len(self._runs) - self.first - height
        if height < 6 or (not self.first and below <= 0):
            return
        if self.first:
            rows[0] = self._more("above", self._runs[: self.first + 1], self._runs[self.first + 1 :])
        if below > 0:
            rows[-1] = self._more("below", self._runs[self.first + height - 1 :], self._runs[: self.first + height - 1])
        self.put(tuple(rows))

    def _more(self, where: str, hidden: tuple[RunId | None, ...], shown: tuple[RunId | None, ...]) -> Line:
        count = len(set(hidden) - set(shown) - {None})
        return (Span(f"     {count} more {where}" if count else "", "grey"),)

    def on_click(self, event: events.Click) -> None:
        at = self.first + event.y
        run = self._runs[at] if 0 <= at < len(self._runs) else None
        if run is not None:
            self.post_message(SessionChosen(run))


class SessionTitle(Lines):
    """The title of the session in view; its parts open pickers."""

    def __init__(self) -> None:
        super().__init__(id="session-title", grows=False)
        self.parts: tuple[TitlePart, ...] = ()

    def on_click(self, event: events.Click) -> None:
        part = next((one for one in self.parts if one.start <= event.x < one.end), None)
        if part is not None:
            self.post_message(PartChosen(part.name))
