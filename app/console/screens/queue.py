"""The attention queue as a sheet: what waits, oldest first, to go to or to put away. It follows the newest snapshot."""

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult

from app.console.screens.sheet import Sheet
from app.console.views.attention import Waiting, queue, queue_rows, why_not_put_away
from app.console.views.glyphs import Glyphs
from app.console.views.ink import Span
from app.console.widgets.lines import WindowedLines
from coordinator.api import ConsoleSnapshot
from store.vocab import DecisionKind, Millis

FOOT = "↑ ↓   Enter go there   x put away   Esc back"
PARK_AGAIN = "x again puts this question aside for good: nobody answers it then"


class Queue(Sheet[Waiting | None]):
    """Enter dismisses with the chosen row; ``put_away`` is told of each row that ``x`` is for."""

    DEFAULT_CSS = """
    Queue > .sheet { width: 112; }
    Queue WindowedLines { height: auto; max-height: 1fr; }
    """

    def __init__(
        self, snapshot: ConsoleSnapshot, now: Callable[[], Millis], glyphs: Glyphs, put_away: Callable[[Waiting], None]
    ) -> None:
        super().__init__("What waits for you, longest first", FOOT)
        self._snapshot = snapshot
        self._now = now
        self._glyphs = glyphs
        self._put_away = put_away
        self._rows = queue(snapshot)
        self._at = 0
        self._armed: Waiting | None = None
        self.list = WindowedLines(id="queue-rows")

    def body(self) -> ComposeResult:
        yield self.list

    def prepare(self) -> None:
        self._draw()
        self.call_after_refresh(self._draw)
        self.set_interval(1.0, self._draw)

    @property
    def room(self) -> int:
        return min(self.app.size.width, 112) - 4

    @property
    def rows(self) -> tuple[Waiting, ...]:
        return self._rows

    @property
    def chosen(self) -> Waiting | None:
        return self._rows[self._at] if 0 <= self._at < len(self._rows) else None

    def take(self, snapshot: ConsoleSnapshot) -> None:
        """A newer one: what is lit stays lit, whatever came or went before it."""
        key = self.chosen.key if self.chosen is not None else None
        self._snapshot, self._rows = snapshot, queue(snapshot)
        at = next((at for at, one in enumerate(self._rows) if one.key == key), self._at)
        self._at = max(min(at, len(self._rows) - 1), 0)
        self._draw()

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        lines = queue_rows(self._rows, self._snapshot, self._now(), self.room, self._glyphs, self._at)
        count = min(len(lines), max(self.app.size.height - 9, 3))
        self.list.styles.height = count
        self.list.put_window(lines, self._at)

    def on_key(self, event: events.Key) -> None:
        armed, self._armed = self._armed, None
        match event.key:
            case "escape" | "a" | "q":
                self.dismiss(None)
            case "down" | "j":
                self._move(1)
            case "up" | "k":
                self._move(-1)
            case "enter":
                self.dismiss(self.chosen)
            case "x":
                self._put(armed)
            case _:
                return
        event.stop()

    def _move(self, by: int) -> None:
        self._at = max(min(self._at + by, len(self._rows) - 1), 0)
        self.say(FOOT, "grey")
        self._draw()

    def _put(self, armed: Waiting | None) -> None:
        one = self.chosen
        if one is None:
            return
        why = why_not_put_away(one)
        if why is not None:
            self.say(why)
        elif one.asked is DecisionKind.PARK and (armed is None or armed.key != one.key):
            self._armed = one
            self.say(PARK_AGAIN)
        else:
            self.say(FOOT, "grey")
            self._put_away(one)

    def on_click(self, event: events.Click) -> None:
        at = self.list.first + event.y
        if event.widget is self.list and at < len(self._rows):
            self.dismiss(self._rows[at])

    def on_resize(self) -> None:
        if self.list.is_mounted:
            self.head_lines.put(((Span(self.heading, "strong bright"),),))
            self._draw()
