"""The terms of one or several tasks, whole, and one key that agrees to them: to exactly what is shown.

As with the terms of a session, Enter counts when it came alone and half a second after these very rows were painted;
and only when their end was seen.
"""

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll

from app.console.presses import ALONE, PAINTED, KeyGate
from app.console.screens.sheet import Sheet
from app.console.views.ink import Span
from app.console.views.taskterms import heading_words, terms_rows
from app.console.widgets.card import NOT_ALONE, TOO_SOON
from app.console.widgets.lines import Lines
from coordinator.api import SeriesProposals
from store.vocab import Millis

AGREE, EDIT = "agree", "edit"
_AROUND = 6
"""Rows of the sheet that are no terms: its edges, its heading, its foot and what sets them apart."""
NOT_SEEN = "there is more below: see all of it first, then Enter"


class TaskTerms(Sheet[str | None]):
    """Dismisses with ``agree``, ``edit`` (of one task) or None."""

    DEFAULT_CSS = """
    TaskTerms > .sheet { width: 112; }
    TaskTerms VerticalScroll { max-height: 100%; }
    """

    def __init__(
        self,
        proposals: SeriesProposals,
        now: Millis,
        home: str,
        gate: KeyGate,
        monotonic: Callable[[], float],
    ) -> None:
        one = len(proposals.proposals) == 1
        super().__init__(heading_words(proposals), f"Enter agrees   {'e edit   ' if one else ''}Esc not yet")
        self.proposals = proposals
        self._now = now
        self._home = home
        self._gate = gate
        self._monotonic = monotonic
        self._painted_at: float | None = None
        self.text = Lines()
        self.scroll_box = VerticalScroll(self.text, can_focus=False)

    def body(self) -> ComposeResult:
        yield self.scroll_box

    def prepare(self) -> None:
        self.head_lines.put(((Span(self.heading, "amber strong"),),))
        self._fill()
        self.call_after_refresh(self._painted)

    @property
    def room(self) -> int:
        return min(self.app.size.width, 112) - 6

    @property
    def ripe(self) -> bool:
        return self._painted_at is not None and self._monotonic() - self._painted_at >= PAINTED

    @property
    def seen(self) -> bool:
        """Whether its end is, or was, on the screen."""
        return self._seen or self.scroll_box.scroll_y >= self.scroll_box.max_scroll_y

    _seen = False

    def _fill(self) -> None:
        rows = terms_rows(self.proposals, self._now, self.room, self._home)
        self.text.put(rows)
        # Told outright, so that the foot keeps its place below.
        self.scroll_box.styles.height = min(len(rows), max(self.app.size.height * 94 // 100 - _AROUND, 3))

    def _painted(self) -> None:
        if self._painted_at is None:
            self._painted_at = self._monotonic()
            if not self.seen:
                self.say(f"PgDn more   {self.foot}", "grey")

    def on_resize(self) -> None:
        if self.is_mounted:
            self._fill()

    def on_key(self, event: events.Key) -> None:
        box = self.scroll_box
        step = max(box.size.height - 1, 1)
        match event.key:
            case "escape":
                self.dismiss(None)
            case "down" | "j":
                self._scroll(1)
            case "up" | "k":
                self._scroll(-1)
            case "pagedown" | "space":
                self._scroll(step)
            case "pageup":
                self._scroll(-step)
            case "enter" | "e":
                self._pressed(event.key, event.time)
            case _:
                return
        event.stop()

    def _scroll(self, by: int) -> None:
        self.scroll_box.scroll_relative(y=by, animate=False)
        self._seen = self.seen
        self.say(self.foot if self._seen else f"PgDn more   {self.foot}", "grey")

    def _pressed(self, key: str, at: float) -> None:
        if key == "e" and len(self.proposals.proposals) != 1:
            self.say("several tasks: Esc, then e for each")
        elif self._painted_at is None or at - self._painted_at < PAINTED:
            self.say(TOO_SOON)
        elif key == "enter" and not self.seen:
            self.say(NOT_SEEN)
        elif key == "enter" and not self.proposals.proposals:
            self.say("there is nothing to agree to")
        else:
            self.set_timer(ALONE, lambda: self._weigh(key, at))

    def _weigh(self, key: str, at: float) -> None:
        if not self.is_current:
            return
        if not self._gate.came_alone(at):
            self.say(NOT_ALONE)
        else:
            self.dismiss(AGREE if key == "enter" else EDIT)
