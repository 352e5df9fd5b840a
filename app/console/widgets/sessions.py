"""The session list on the screen, and the rows that open something when clicked."""

from textual import events

from app.console.messages import PartChosen, SessionChosen
from app.console.views.bars import TitlePart
from app.console.views.lists import ListPicture
from app.console.widgets.lines import Lines, WindowedLines
from store.vocab import RunId


class SessionList(WindowedLines):
    def __init__(self) -> None:
        super().__init__(id="sessions")
        self._runs: tuple[RunId | None, ...] = ()

    def show(self, picture: ListPicture, in_view: RunId | None) -> None:
        self._runs = picture.runs
        keep = next((row for row, run in enumerate(picture.runs) if run is not None and run == in_view), None)
        self.put_window(picture.lines, keep)

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
