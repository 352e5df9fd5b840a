"""The session that is read along: its title and its conversation.

What its transcript asks for stays in here, so that it is never taken for that of the session in view.
"""

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical

from app.console.messages import Wanted
from app.console.views.glyphs import Glyphs
from app.console.widgets.lines import Lines
from app.console.widgets.transcript import Transcript
from coordinator.api import ReadTranscript


class BesideTitle(Lines):
    """A click brings the session into view."""

    def __init__(self) -> None:
        super().__init__(id="beside-title", grows=False)

    def on_click(self, event: events.Click) -> None:
        self.post_message(Wanted("swap"))


class BesidePane(Vertical):
    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="beside")
        self.title_line = BesideTitle()
        self.transcript = Transcript(glyphs=glyphs, id="second")
        self.transcript.can_focus = False
        self.on_need: Callable[[ReadTranscript], None] = lambda asked: None
        """A page is wanted; set by whoever reads for it."""
        self.on_looked: Callable[[], None] = lambda: None
        """How much is below its reader is another."""

    def compose(self) -> ComposeResult:
        yield self.title_line
        yield self.transcript

    def on_transcript_need_page(self, message: Transcript.NeedPage) -> None:
        message.stop()
        self.on_need(message.asked)

    def on_transcript_looked(self, message: Transcript.Looked) -> None:
        message.stop()
        self.on_looked()
