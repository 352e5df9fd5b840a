"""The run that is looked at, under the list or alone: its turns, its conversation, its facts, its money.

It shows what it is given and asks for pages of the conversation; the ledger is read by whoever holds the pane.
"""

import app.console.before_textual  # noqa: F401, I001  (sets what textual reads at import)

from collections.abc import Callable
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget

from app.console.review.lists import ListPane
from app.console.views.ending import end_lines
from app.console.views.glyphs import Glyphs
from app.console.views.ink import Line, Span
from app.console.views.review_facts import Fact, facts, files_kept, row_of_decision
from app.console.views.review_rows import run_title, spend_head, spend_line, turn_row, turns_head
from app.console.widgets.lines import Lines
from app.console.widgets.searchline import SearchLine
from app.console.widgets.transcript import Transcript
from coordinator.api import ReadTranscript, TranscriptPage, TurnView
from coordinator.review.types import RunPage, SpendBy, SpendRow
from store.vocab import DecisionId, Millis, RunId

PARTS: Final = ("turns", "conversation", "facts", "money")


class RunPane(Vertical):
    def __init__(self, glyphs: Glyphs, home: str, now: Callable[[], Millis]) -> None:
        super().__init__(id="review-run")
        self._home = home
        self._glyphs = glyphs
        self._now = now
        self.page: RunPage | None = None
        self.part = PARTS[0]
        self.said = "no run is chosen"
        """In the place of a run that is not here."""
        self.on_need: Callable[[ReadTranscript], None] = lambda asked: None
        """A page of the conversation is wanted; set by whoever reads for it."""
        self._most = 0
        self.title_line = Lines(id="review-run-title", grows=False)
        self.turns: ListPane[TurnView] = ListPane(
            lambda turn, width: turn_row(turn, width, self._now()), turns_head, id="review-turns"
        )
        self.transcript = Transcript(glyphs=glyphs, id="review-conversation")
        self.facts: ListPane[Fact] = ListPane(
            lambda fact, _: fact.line, id="review-facts", stops_at=lambda one: one.leads
        )
        self.money: ListPane[SpendRow] = ListPane(
            lambda row, width: spend_line(row, width, SpendBy.TURN, self._most, self._glyphs),
            lambda width: spend_head(width, SpendBy.TURN),
            id="review-money",
        )
        self.end = Lines(id="review-end")
        self.replayed = False
        """A replay goes on in the conversation: its end has not come yet."""
        self.search_line = SearchLine()

    def compose(self) -> ComposeResult:
        yield self.title_line
        yield self.turns
        yield self.transcript
        yield self.end
        yield self.facts
        yield self.money
        yield self.search_line

    def on_mount(self) -> None:
        self.go(self.part)

    # ----------------------------------------------------------------------------------------------------------- values

    @property
    def run(self) -> RunId | None:
        return None if self.page is None else self.page.session.run

    def clear(self, said: str) -> None:
        """No run, and why."""
        self.page, self.said = None, said
        for pane in (self.turns, self.facts, self.money):
            pane.show(())
        self._show_part()
        self.paint()

    def show(self, page: RunPage, conversation: TranscriptPage, spent: tuple[SpendRow, ...]) -> None:
        self.page = page
        self.turns.empty = "no turn was ever sent"
        self.turns.show(page.session.turns)
        self.transcript.show(page.session, conversation)
        self._most = max((row.cost for row in spent), default=0)
        self.money.empty = "nothing was spent"
        self.money.show(spent)
        self.facts.show(self._facts())
        self._show_part()
        self.paint()

    def _facts(self) -> tuple[Fact, ...]:
        if self.page is None or not self.size.width:
            return ()
        return facts(self.page, self.size.width - 1, self._home)

    # ------------------------------------------------------------------------------------------------------------ parts

    @property
    def shown(self) -> Widget:
        """The part in view, which takes the focus."""
        parts: dict[str, Widget] = {
            "turns": self.turns,
            "conversation": self.transcript,
            "facts": self.facts,
            "money": self.money,
        }
        return parts[self.part]

    @property
    def list(self) -> "ListPane[TurnView] | ListPane[Fact] | ListPane[SpendRow] | None":
        """The part in view where it is a list."""
        match self.part:
            case "turns":
                return self.turns
            case "facts":
                return self.facts
            case "money":
                return self.money
            case _:
                return None

    def go(self, part: str) -> None:
        self.part = part
        self._show_part()
        self.paint()

    def _show_part(self) -> None:
        shown = self.shown
        for widget in (self.turns, self.transcript, self.facts, self.money):
            widget.display = widget is shown and self.page is not None

    def to_decision(self, decision: DecisionId) -> bool:
        at = row_of_decision(tuple(self.facts.items), decision)
        if at is None:
            return False
        self.go("facts")
        self.facts.to(at)
        return True

    # --------------------------------------------------------------------------------------------------------- painting

    def paint(self) -> None:
        width = self.size.width
        if width:
            self.title_line.put((run_title(self.page, self.said, width, self._tabs()),))
            rows = self._end(width - 2)
            self.end.display = bool(rows)
            self.end.put(rows)

    def _end(self, width: int) -> tuple[Line, ...]:
        """Below the conversation, as below the live one: how it ended, and what was left."""
        here = self.page is not None and self.part == "conversation" and not self.replayed
        if self.page is None or not here or self.page.imported or self.page.session.outcome is None:
            return ()
        return end_lines(self.page.session, width, self._glyphs, files_kept(self.page))

    def _tabs(self) -> Line:
        if self.page is None:
            return ()
        out: list[Span] = []
        for name in PARTS:
            here = name == self.part
            out += [Span(f" {name} ", "strong bright on-sel" if here else "grey"), Span(" ")]
        return tuple(out)

    def on_resize(self, event: events.Resize) -> None:
        self.facts.lay_again(self._facts())
        self.paint()

    def on_transcript_need_page(self, message: Transcript.NeedPage) -> None:
        message.stop()
        self.on_need(message.asked)

    def on_transcript_looked(self, message: Transcript.Looked) -> None:
        message.stop()
