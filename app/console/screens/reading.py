"""Help, from the key table, the details of a session, from its snapshot, and the rules of proposed terms."""

from textual.events import Key as Pressed

from app.console.keys import Key
from app.console.screens.sheet import Reading
from app.console.views.actions import help_lines
from app.console.views.details import details_lines
from app.console.views.ink import Line
from app.console.views.standing import session_of, title_of
from app.console.views.start import rules_lines
from coordinator.api import ConsoleSnapshot, Proposal, SessionView
from store.vocab import Millis


class Help(Reading):
    def __init__(self, table: tuple[Key, ...]) -> None:
        super().__init__("Keys")
        self._table = table

    def rows(self) -> tuple[Line, ...]:
        return help_lines(self.room, self._table)


class Rules(Reading):
    def __init__(self, proposal: Proposal) -> None:
        super().__init__("Standing rules of these terms")
        self._proposal = proposal

    def rows(self) -> tuple[Line, ...]:
        return rules_lines(self._proposal, self.room)


class Details(Reading):
    """Left for what the session changed, too: its result is that action then."""

    def __init__(self, session: SessionView, now: Millis, home: str) -> None:
        super().__init__(f"{session.run} {title_of(session)}", "↑ ↓ PgUp PgDn scroll   d what changed   Esc back")
        self._session = session
        self._now = now
        self._home = home

    def on_key(self, event: Pressed) -> None:
        if event.key == "d":
            event.stop()
            event.prevent_default()
            self.dismiss("changes")

    def take(self, snapshot: ConsoleSnapshot, now: Millis) -> None:
        """A newer snapshot: processes come with one, some time after they were asked for."""
        session = session_of(snapshot, self._session.run)
        if session is not None:
            self._session, self._now = session, now
            self.fill()

    def rows(self) -> tuple[Line, ...]:
        return details_lines(self._session, self._now, self.room, self._home)
