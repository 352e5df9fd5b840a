"""The terms of a new session, waiting for the operator. The same rule as on a card: Enter counts when it came alone,
and only half a second after these very terms were painted, so that no paste and no double Enter starts an agent.
"""

from collections.abc import Callable

from textual import events

from app.console.messages import TermsKey
from app.console.presses import ALONE, PAINTED, KeyGate
from app.console.views.start import terms_lines
from app.console.widgets.card import FOR_THE_ONE_BEFORE, NOT_ALONE, TOO_SOON
from app.console.widgets.lines import Lines
from coordinator.api import Proposal
from store.vocab import Millis

VERBS = {
    "enter": "start",
    "tab": "preset",
    "e": "form",
    "a": "added",
    "t": "tree",
    "r": "rules",
    "d": "practice",
    "escape": "back",
}


class TermsBar(Lines, can_focus=True):
    DEFAULT_CSS = """
    TermsBar { display: none; background: $fp-card; padding: 0 1; border-left: outer $fp-card; }
    TermsBar.-shown { display: block; }
    TermsBar:focus { border-left: outer $fp-amber; }
    """

    def __init__(self, gate: KeyGate, monotonic: Callable[[], float]) -> None:
        super().__init__(id="terms")
        self._gate = gate
        self._monotonic = monotonic
        self.proposal: Proposal | None = None
        self.show_added = False
        self.with_it = ""
        """Which images go with the brief."""
        self._said = ""
        self._now = Millis(0)
        self._painted_at: float | None = None

    @property
    def ripe(self) -> bool:
        return self._painted_at is not None and self._monotonic() - self._painted_at >= PAINTED

    @property
    def said(self) -> str:
        return self._said

    def show(self, proposal: Proposal | None, now: Millis) -> None:
        self._now = now
        if proposal != self.proposal:
            self.proposal = proposal
            self._said = ""
            self.begin_painting()
        self.set_class(proposal is not None, "-shown")
        self._draw()

    def begin_painting(self) -> None:
        self._painted_at = None
        if self.proposal is not None:
            self.call_after_refresh(self._painted, self.proposal)

    def _painted(self, proposal: Proposal) -> None:
        if proposal is self.proposal and self._painted_at is None and self.screen.is_current:
            self._painted_at = self._monotonic()

    def say(self, words: str) -> None:
        self._said = words
        self._draw()

    def _draw(self) -> None:
        if self.proposal is None:
            self.put(())
            return
        width = self.size.width or 40
        self.put(
            terms_lines(
                self.proposal,
                self._now,
                width,
                show_added=self.show_added,
                said=self._said,
                with_it=self.with_it,
            )
        )

    def on_resize(self) -> None:
        self._draw()

    def on_key(self, event: events.Key) -> None:
        verb = VERBS.get(event.key)
        if verb is None:
            return
        event.stop()
        event.prevent_default()
        if verb == "back":
            self.post_message(TermsKey(verb))
            return
        if self._painted_at is None or event.time - self._painted_at < PAINTED:
            self.say(TOO_SOON)
            return
        proposal, at = self.proposal, event.time
        self.set_timer(ALONE, lambda: self._weigh(verb, at, proposal))

    def _weigh(self, verb: str, at: float, proposal: Proposal | None) -> None:
        if self.proposal is None:
            return
        if proposal is not self.proposal:
            self.say(FOR_THE_ONE_BEFORE)
        elif not self._gate.came_alone(at):
            self.say(NOT_ALONE)
        elif self.has_focus:
            self._said = ""
            self.post_message(TermsKey(verb))
