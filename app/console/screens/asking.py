"""Quit and stop all: what would end is listed before it ends. Both ask once, and neither has a default."""

from textual import events
from textual.app import ComposeResult

from app.console.presses import ALONE, PAINTED
from app.console.screens.sheet import Sheet
from app.console.views.actions import holds
from app.console.views.glyphs import Glyphs
from app.console.views.ink import EMPTY, Line, Span, sides, wrap
from app.console.views.lists import glyph_of
from app.console.views.standing import doing, title_of
from app.console.widgets.lines import Lines
from app.wording import plural
from coordinator.api import ConsoleSnapshot
from store.vocab import Millis


def hold_rows(snapshot: ConsoleSnapshot, now: Millis, width: int, glyphs: Glyphs, most: int) -> tuple[Line, ...]:
    rows: list[Line] = []
    sessions = holds(snapshot)
    for session in sessions[:most]:
        told = doing(snapshot, session, now, ticking=False)
        left: Line = (glyph_of(session, glyphs), Span(f" {session.run:<3} ", "grey"), Span(title_of(session), "text"))
        processes = f"{plural(len(session.processes), 'process', 'processes')}  " if session.processes else ""
        background = sum(1 for task in session.background if task.state == "running")
        beside = f"{background} in background  " if background else ""
        rows.append(sides(left, (Span(f"  {processes}{beside}", "grey"), Span(told.text or "idle", told.ink)), width))
    if len(sessions) > most:
        rows.append((Span(f"and {len(sessions) - most} more", "grey"),))
    return tuple(rows)


class Asking(Sheet[str | None]):
    """Holds, and digits for what may be done. A digit counts when it came alone and these rows have been painted."""

    def __init__(self, heading: str, options: tuple[tuple[str, str, str], ...], glyphs: Glyphs, now: Millis) -> None:
        super().__init__(heading)
        self._options = options
        """Key, words, value."""
        self._glyphs = glyphs
        self._now = now
        self.list = Lines()
        self._painted_at: float | None = None

    def body(self) -> ComposeResult:
        yield self.list

    def prepare(self) -> None:
        row: list[Span] = []
        for key, words, _ in self._options:
            row += [Span(f"{key} ", "blue strong"), Span(f"{words}    ", "text")]
        self.foot_lines.put((tuple(row),))
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        from app.console.app import FootplateApp

        assert isinstance(self.app, FootplateApp)
        self._painted_at = self.app.options.monotonic()

    def fill(self, snapshot: ConsoleSnapshot) -> None:
        self.list.put(self.rows(snapshot))

    def rows(self, snapshot: ConsoleSnapshot) -> tuple[Line, ...]:
        return hold_rows(snapshot, self._now, self.room, self._glyphs, max(self.app.size.height - 12, 3))

    @property
    def ripe(self) -> bool:
        from app.console.app import FootplateApp

        assert isinstance(self.app, FootplateApp)
        return self._painted_at is not None and self.app.options.monotonic() - self._painted_at >= PAINTED

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            event.stop()
            self.dismiss(None)
            return
        value = next((value for key, _, value in self._options if key == event.key), None)
        if value is None:
            return
        event.stop()
        if self._painted_at is None or event.time - self._painted_at < PAINTED:
            self._again("too soon, press again")
            return
        at = event.time
        self.set_timer(ALONE, lambda: self._weigh(at, value))

    def _weigh(self, at: float, value: str) -> None:
        from app.console.app import FootplateApp

        assert isinstance(self.app, FootplateApp)
        if not self.is_current:
            return
        if not self.app.gate.came_alone(at):
            self._again("other keys came with it: not taken, press again")
            return
        self.dismiss(value)

    def _again(self, words: str) -> None:
        rows = self.foot_lines.rows
        self.foot_lines.put((rows[0], (Span(words, "amber"),)))


QUIT_OPTIONS = (
    ("1", "leave them held", "leave"),
    ("2", "finish idle ones, stop the rest", "end"),
    ("3", "back", "back"),
)


class Quit(Asking):
    def __init__(self, glyphs: Glyphs, now: Millis) -> None:
        super().__init__("Quit? This is held:", QUIT_OPTIONS, glyphs, now)


class StopAllSheet(Asking):
    def __init__(self, glyphs: Glyphs, now: Millis) -> None:
        super().__init__(
            "Stop all? This would end:", (("^]", "again stops all of them", ""), ("Esc", "back", "back")), glyphs, now
        )

    def rows(self, snapshot: ConsoleSnapshot) -> tuple[Line, ...]:
        queue = snapshot.queue
        if not queue.waiting or queue.held:
            return super().rows(snapshot)
        kept = f"It also keeps back the line: {plural(queue.waiting, 'task')} in it; Q, then H there lets it go on."
        return (*super().rows(snapshot), EMPTY, *((Span(row, "text"),) for row in wrap(kept, self.room)))
