"""An app with nothing in it but a transcript, for tests that look at the widget."""

import app.console.before_textual  # noqa: F401, I001

from textual.app import App, ComposeResult

from app.console.theme import textual_theme
from app.console.widgets.transcript import Transcript
from coordinator.api import ReadTranscript


class Stage(App[None]):
    CSS = "Screen { background: $background; } Transcript { background: $background; padding: 0 1; }"

    def __init__(self, theme: str = "dark") -> None:
        super().__init__()
        self._theme_name = theme
        self.asked: list[ReadTranscript] = []

    def compose(self) -> ComposeResult:
        yield Transcript(id="transcript")

    def on_mount(self) -> None:
        for name in ("dark", "light"):
            self.register_theme(textual_theme(name))
        self.theme = f"footplate-{self._theme_name}"

    @property
    def transcript(self) -> Transcript:
        return self.query_one("#transcript", Transcript)

    def on_transcript_need_page(self, message: Transcript.NeedPage) -> None:
        self.asked.append(message.asked)

    def rows(self) -> list[str]:
        """The transcript as it is painted, row by row, without the space at the end."""
        view = self.transcript
        return [view.render_line(y).text.rstrip() for y in range(view.size.height)]
