"""The composer: where the operator writes. What is typed is never lost, and never answers anything."""

from textual import events

from app.console.messages import Wanted
from app.console.presses import KeyGate
from app.console.widgets.writing import Writing


class Composer(Writing):
    def __init__(self, gate: KeyGate) -> None:
        super().__init__(gate, id="composer")
        self.history_texts: tuple[str, ...] = ()
        """Oldest first."""
        self.commands: tuple[tuple[str, str], ...] = ()
        self._back = 0
        """How many steps into the history; 0 is the draft."""
        self._draft = ""

    def own_key(self, event: events.Key) -> bool:
        match event.key:
            case "up" if self.cursor_at_first_line and self.history_texts:
                self._through_history(1)
            case "down" if self.cursor_at_last_line and self._back:
                self._through_history(-1)
            case "tab":
                if not self._complete():
                    self.post_message(Wanted("to-card"))
            case "shift+tab":
                self.post_message(Wanted("next-mode"))
            case "ctrl+g":
                self.post_message(Wanted("editor"))
            case _:
                return super().own_key(event)
        return True

    def _through_history(self, by: int) -> None:
        if not self._back:
            self._draft = self.text
        self._back = min(max(self._back + by, 0), len(self.history_texts))
        text = self.history_texts[-self._back] if self._back else self._draft
        back, draft = self._back, self._draft
        self.set_text(text)
        self._back, self._draft = back, draft

    def begin_anew(self) -> None:
        """Forget the place in the history: another session, or sent."""
        self._back = 0
        self._draft = ""

    def _complete(self) -> bool:
        """An agent's command begun with ``/``; nothing else is completed here."""
        text = self.text
        if not text.startswith("/") or " " in text or "\n" in text or len(text) < 2:
            return False
        names = [name for name, _ in self.commands if name.startswith(text[1:])]
        if not names:
            return False
        prefix = names[0]
        for name in names[1:]:
            while not name.startswith(prefix):
                prefix = prefix[:-1]
        self.set_text(f"/{prefix}" + (" " if len(names) == 1 else ""))
        return True
