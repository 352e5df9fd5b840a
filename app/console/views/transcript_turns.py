"""Blocks whose content is told by the session's snapshot, not by the stream: turn headers and what became of a
decision.
"""

from app.console.views.text import copyable
from app.console.views.transcript_blocks import Block, Key
from app.console.views.transcript_lines import Line
from app.console.views.transcript_words import Look, decision_lines, turn_header
from coordinator.api import DecisionView, SessionView, TurnView
from coordinator.drivers.base import DecisionAsked
from store.vocab import DecisionId, DecisionKind, DecisionState, MicroUsd, Millis, TurnId

_SAME_TIME = 30_000
"""Milliseconds between an event and its ledger row, at most."""


class TurnBlock(Block):
    kind = "turn"

    def __init__(self, key: Key | None, turn: TurnId) -> None:
        super().__init__(key)
        self.turn = turn
        self.target = f"turn:{turn}"
        self._state: tuple[TurnView | None, bool, bool, MicroUsd | None] = (None, False, False, None)

    @property
    def n(self) -> int:
        """0 until the session's snapshot knows the turn."""
        view = self._state[0]
        return 0 if view is None else view.n

    def tell(self, view: TurnView | None, *, waits: bool, working: bool, so_far: MicroUsd | None) -> bool:
        """Whether that is something new."""
        state = (view, waits, working, so_far if working else None)
        changed = state != self._state
        self._state = state
        return changed

    def draw(self, look: Look) -> list[Line]:
        view, waits, working, so_far = self._state
        return turn_header(view, look, waits=waits, working=working, so_far=so_far, target=self.target)

    def original(self) -> str:
        view = self._state[0]
        return "" if view is None else copyable(view.text)


class DecisionBlock(Block):
    kind = "decision"

    def __init__(self, key: Key | None, asked: DecisionAsked, at: Millis) -> None:
        super().__init__(key)
        self.asked = asked
        self.at = at
        self.target = f"decision:{asked.request}"
        self._view: DecisionView | None = None
        self._withdrawn: str | None = None

    def tell(self, view: DecisionView | None) -> bool:
        """What became of it; a view that was there once is not forgotten when the session no longer lists it."""
        if view is None or view == self._view:
            return False
        self._view = view
        return True

    @property
    def refused(self) -> str:
        """Why what was asked for was not done: ``denied``, ``not run`` where nobody answered; '' for neither."""
        view = self._view
        if view is not None and view.answer:
            return "denied" if view.answer.startswith(("deny", "denied")) else ""
        gone = view is not None and view.state is DecisionState.WITHDRAWN
        return "not run" if gone and self.asked.kind is DecisionKind.PERMISSION else ""

    @property
    def waited(self) -> int:
        """Milliseconds until it was answered; 0 while it is not."""
        view = self._view
        return max(view.answered_at - view.asked_at, 0) if view is not None and view.answered_at is not None else 0

    def withdraw(self, why: str) -> None:
        self._withdrawn = why

    def draw(self, look: Look) -> list[Line]:
        return decision_lines(self.asked, self._view, self._withdrawn, look, self.target)

    def original(self) -> str:
        return copyable(self.asked.subject or "\n".join(question.text for question in self.asked.questions))


def facts_of(session: SessionView) -> tuple[object, ...]:
    """By which the headers of its turns are drawn: while they are the same, none of thousands is told again."""
    return session.turns, session.decisions, session.in_flight, session.budget.turn_so_far


def alike(blocks: list[DecisionBlock], views: list[DecisionView]) -> dict[str, DecisionView]:
    """Which view is which request where no id says so: the same content, and of those the nearest in time."""
    pairs = [
        (abs(view.asked_at - block.at), block.asked.request, view)
        for block in blocks
        for view in views
        if (view.kind, view.tool, view.subject) == (block.asked.kind, block.asked.tool, block.asked.subject)
        and abs(view.asked_at - block.at) <= _SAME_TIME
    ]
    found: dict[str, DecisionView] = {}
    taken: set[DecisionId] = set()
    for _, request, view in sorted(pairs, key=lambda pair: pair[0]):
        if request not in found and view.id not in taken:
            found[request] = view
            taken.add(view.id)
    return found
