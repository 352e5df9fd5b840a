"""The composer: where the operator writes. What is typed is never lost, and never answers anything."""

from rich.text import Text
from textual import events

from app.console.bundles import Bundles
from app.console.messages import LateKey, Wanted
from app.console.presses import KeyGate
from app.console.views.completing import Asked, Offer, asked
from app.console.widgets.writing import Writing, pasted

_MOVES = frozenset({"left", "right", "home", "end", "ctrl+e", "pageup", "pagedown"})
"""The cursor goes to another word: what was offered was for the one before."""


class Composer(Writing):
    def __init__(self, gate: KeyGate) -> None:
        super().__init__(gate, id="composer")
        self.bundles = Bundles()
        self.bundle_sign = "▤"
        """Drawn where a long text stands."""
        self._history: tuple[str, ...] = ()
        """Oldest first; stays as it is while one goes through it."""
        self._back = 0
        """How many steps into the history; 0 is the draft."""
        self._edits: dict[int, str] = {}
        """What was changed on the way through the history, the draft included: it is there on the way back."""
        self.offers: tuple[Offer, ...] = ()
        self.offer_at = -1
        """The row that was chosen; -1: none yet."""
        self.pending = False
        """What could be offered is still being read."""
        self._left = False
        """Esc was pressed here; who has the focus after it is not known yet."""
        self.by_hand = False
        """The text stands as it was typed; nothing is offered for what was put here."""

    # ------------------------------------------------------------------------------------------------------------ text

    @property
    def text(self) -> str:
        return self.bundles.unfold(self.document.text)

    @text.setter
    def text(self, value: str) -> None:
        self.set_text(value)

    @property
    def selected_text(self) -> str:
        return self.bundles.unfold(super().selected_text)

    def set_text(self, text: str) -> None:
        self.by_hand = False
        self.bundles.forget()
        super().set_text(self.bundles.fold(text))

    def get_line(self, line_index: int) -> Text:
        line = self.bundles.drawn(self.document.get_line(line_index), self.bundle_sign)
        return Text(line, end="", no_wrap=True)

    def put_pasted(self, text: str) -> None:
        self.put_over(self.bundles.fold(pasted(text)))

    # ------------------------------------------------------------------------------------------------------------ keys

    def own_key(self, event: events.Key) -> bool:
        if self._left or not self.has_focus:
            # It was pressed after the Esc, and came before the focus had gone.
            self.post_message(LateKey(event.key, event.character if event.is_printable else None))
            return True
        if self._offer_key(event.key):
            return True
        self._left = event.key == "escape"
        if event.is_printable or event.key == "backspace":
            self.by_hand = True
        match event.key:
            case "up" if self.cursor_at_first_line and self._history:
                self._through_history(self._back + 1)
            case "down" if self.cursor_at_last_line and self._back:
                self._through_history(self._back - 1)
            case "ctrl+r":
                self.post_message(Wanted("history-search"))
            case "tab":
                if not self._take_offer() and not self.pending:
                    self.post_message(Wanted("to-card"))
            case "shift+tab":
                self.post_message(Wanted("next-mode"))
            case "ctrl+g":
                self.post_message(Wanted("editor"))
            case _:
                return super().own_key(event)
        return True

    def on_blur(self) -> None:
        self._left = False

    def stayed(self) -> None:
        """An Esc was for something else than to leave."""
        self._left = False

    # --------------------------------------------------------------------------------------------------------- history

    def put_history(self, texts: tuple[str, ...]) -> None:
        if not self._back:
            self._history = texts

    def _through_history(self, to: int) -> None:
        self._remember_edit()
        self._back = min(max(to, 0), len(self._history))
        self.set_text(self._edits.get(self._back, self._text_at(self._back)))

    def _text_at(self, back: int) -> str:
        return self._history[-back] if back else ""

    def _remember_edit(self) -> None:
        text = self.text
        if text != self._text_at(self._back):
            self._edits[self._back] = text
        else:
            self._edits.pop(self._back, None)

    def recall(self, text: str) -> None:
        """Put an earlier text here; ↓ leads back to what stood here before."""
        if text in self._history:
            back = len(self._history) - self._history.index(text)
        else:
            # Too long to be in the list itself: it stands at its end from now on.
            self._remember_edit()
            self._edits = {place + 1 if place else 0: edit for place, edit in self._edits.items()}
            self._back += 1 if self._back else 0
            self._history, back = (*self._history, text), 1
        self._remember_edit()
        self._edits.pop(back, None)
        self._back = back
        self.set_text(text)

    def begin_anew(self) -> None:
        """Forget the place in the history: another session, or sent."""
        self._back = 0
        self._edits.clear()

    # ------------------------------------------------------------------------------------------------------ completion

    def asked_now(self) -> Asked | None:
        """The word before the cursor, where it is one that could be completed."""
        if not self.by_hand or not self.selection.is_empty:
            return None
        row, column = self.cursor_location
        return asked(self.document.get_line(row)[:column], first_line=row == 0)

    def put_offers(self, offers: tuple[Offer, ...], *, pending: bool = False) -> None:
        if offers != self.offers:
            self.offers, self.offer_at = offers, -1
        self.pending = pending

    def _offer_key(self, key: str) -> bool:
        if not self.offers and not self.pending:
            return False
        match key:
            case "down" | "up" if len(self.offers) > 1:
                step = 1 if key == "down" else -1
                at = step if self.offer_at < 0 else self.offer_at + step
                self.offer_at = at % len(self.offers)
                self.post_message(Wanted("offers"))
            case "escape":
                self.post_message(Wanted("offers-close"))
            case _ if key in _MOVES:
                self.post_message(Wanted("offers-close"))
                return False
            case _:
                return False
        return True

    def _take_offer(self) -> bool:
        """Put the chosen one, or the first, in the place of the word."""
        word = self.asked_now()
        if not self.offers or word is None:
            return False
        put = self.offers[max(self.offer_at, 0)].put
        row, column = self.cursor_location
        if self.document.get_line(row)[column : column + 1].isspace():
            put = put.rstrip()
        self.replace(put, (row, column - word.length), (row, column))
        return True
