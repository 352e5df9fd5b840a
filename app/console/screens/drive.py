"""The console's one screen: where each part stands, and the newest snapshot put into all of them.

It paints and passes on. What a key or an entered text leads to is in ``deeds``; what a part says is in ``views``.
"""

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer

from app.console.keys import Key, Where
from app.console.options import ConsoleOptions
from app.console.presses import KeyGate
from app.console.views.actions import Situation, hints_line
from app.console.views.attention import queue
from app.console.views.away import Away, away_lines
from app.console.views.bars import (
    beside_title,
    console_title,
    narrow_strip,
    queue_lines,
    rule_line,
    said_lines,
    session_title,
    state_line,
    status_lines,
)
from app.console.views.ending import ended_lines, ending_lines
from app.console.views.glyphs import Glyphs
from app.console.views.ink import Line, Span, one_line
from app.console.views.layout import NARROW, RICH, Columns, columns
from app.console.views.lists import list_cells, list_picture
from app.console.views.panel import panel_lines
from app.console.views.standing import ended, ends_soon, foreign, session_of, waiting, waiting_since
from app.console.views.start import empty_lines
from app.console.widgets.besidepane import BesidePane
from app.console.widgets.card import Card
from app.console.widgets.composer import Composer
from app.console.widgets.filterline import FilterLine
from app.console.widgets.lines import Lines, WindowedLines
from app.console.widgets.searchline import SearchLine
from app.console.widgets.sessions import SessionList, SessionTitle
from app.console.widgets.terms import TermsBar
from app.console.widgets.transcript import Transcript
from app.wording import age
from coordinator.api import ConsoleSnapshot, Group, Proposal, SessionView
from store.vocab import DecisionId, Millis, RunId


class Drive(Screen[None]):
    AUTO_FOCUS = None

    def __init__(
        self, options: ConsoleOptions, gate: KeyGate, glyphs: Glyphs, table: tuple[Key, ...], snapshot: ConsoleSnapshot
    ) -> None:
        super().__init__()
        self.options = options
        self.glyphs = glyphs
        self.table = table
        self.snapshot = snapshot
        self.run_in_view: RunId | None = None
        self.decision_in_view: DecisionId | None = None
        """The one that the card shows, as long as it waits."""
        self.run_beside: RunId | None = None
        """Shown next to the one in view, to be read only."""
        self.filter_words = ""
        """What the list is narrowed to; '' for all."""
        self.away: Away | None = None
        """What is told above the text to an operator who was away."""
        self.unread = 0
        """What came below the reader of the conversation in view, as last told."""
        self.panel_wanted = True
        self.zoomed = False
        self.covered = False
        """A sheet lies over it."""
        self.proposal: Proposal | None = None
        self.said: Span = Span("")
        self.on_key_in_keys: Callable[[str], bool] = lambda key: False
        """What a key in the keys focus does; set by the app."""
        self.on_shown: Callable[[], None] = lambda: None
        self.on_writing: Callable[[], None] = lambda: None
        self.writing_words: Callable[[], str] = lambda: ""
        """What Enter would do with what stands in the composer; set by the app."""
        self.title_bar = Lines(id="title", grows=False)
        self.strip = Lines(id="strip", grows=False)
        self.state = Lines(id="state", grows=False)
        self.session_list = SessionList()
        self.session_title = SessionTitle()
        self.transcript = Transcript(glyphs=glyphs, id="transcript")
        self.empty = Lines(id="empty", grows=False)
        self.block = Lines(id="block")
        self.card = Card(gate, options.monotonic, glyphs, options.home)
        self.terms = TermsBar(gate, options.monotonic)
        self.rule = Lines(id="rule", grows=False)
        self.offers = Lines(id="offers")
        """What could complete the word that is being written."""
        self.prompt = Lines(id="prompt", grows=False)
        self.composer = Composer(gate)
        self.queue = Lines(id="queue")
        self.away_block = Lines(id="away")
        self.beside = BesidePane(glyphs)
        self.filter_line = FilterLine()
        self.search_line = SearchLine()
        self.panel = WindowedLines(id="panel")
        self.status = Lines(id="status")
        self.hints = Lines(id="hints", grows=False)
        self._tick: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self.title_bar
        yield self.strip
        with Horizontal(id="body"):
            yield self.session_list
            with Vertical(id="centre"):
                yield self.session_title
                yield self.state
                yield self.transcript
                yield self.empty
                yield self.away_block
                yield self.block
                yield self.card
                yield self.terms
                yield self.rule
                yield self.offers
                with Horizontal(id="writing"):
                    yield self.prompt
                    yield self.composer
                yield self.queue
            yield self.beside
            yield self.panel
        yield self.status
        yield self.filter_line
        yield self.search_line
        yield self.hints

    def on_mount(self) -> None:
        self.prompt.put(((Span(f"{self.glyphs.prompt} ", "blue strong"),),))
        # Ages tick only while someone waits or the session in view works; else the timer is paused, nothing painted.
        self._tick = self.set_interval(1.0, self.paint, pause=True)
        self.composer.focus()
        self.paint()

    # --------------------------------------------------------------------------------------------------- what is where

    @property
    def session(self) -> SessionView | None:
        return session_of(self.snapshot, self.run_in_view)

    @property
    def now(self) -> Millis:
        return self.options.now() if self.options.now is not None else self.snapshot.now

    @property
    def focus_place(self) -> Where:
        if self.covered:
            return Where.ANYWHERE
        focused = self.focused
        if focused is self.composer:
            return Where.COMPOSER
        if focused is not None and self.card in focused.ancestors_with_self:
            return Where.CARD
        if focused is self.terms:
            return Where.TERMS
        if focused is self.filter_line:
            return Where.FILTER
        if focused is self.search_line:
            return Where.SEARCH
        return Where.KEYS

    @property
    def wide(self) -> bool:
        return self.size.width >= NARROW

    def situation(self) -> Situation:
        return Situation(
            snapshot=self.snapshot,
            run=self.run_in_view,
            focus=self.focus_place,
            panel_fits=self._columns(panel=True).panel > 0 or self._columns(panel=True).beside > 0,
            digits=self.card.digits,
            folded=self.card.folded,
            writing=self.card.writing,
        )

    def focus_keys(self) -> None:
        if self.run_in_view is not None and self.transcript.focusable:
            self.transcript.focus()
        else:
            self.set_focus(None)
        self.paint_hints()

    # -------------------------------------------------------------------------------------------------------- painting

    def take(self, snapshot: ConsoleSnapshot) -> None:
        """Newer values. The session in view stays the one in view, whatever happens to others."""
        self.snapshot = snapshot
        session = self.session
        if session is not None:
            self.transcript.update_session(session)
        self.paint()

    def paint(self) -> None:
        if not self.is_mounted:
            return
        width = self.size.width or self.app.size.width
        snapshot, session, now, glyphs = self.snapshot, self.session, self.now, self.glyphs
        home = self.options.home
        self.set_class(not self.wide, "-narrow")
        self.set_class(width >= RICH, "-rich")
        self.set_class(self.zoomed, "-zoomed")
        self.set_class((self.size.height or self.app.size.height) < 24, "-low")
        self.set_class(session is None, "-no-session")
        parts = self.columns
        self.set_class(parts.panel > 0, "-panel")
        # Where there is no panel, one row tells what it would.
        self.set_class(session is not None and self.wide and not parts.panel and not self.zoomed, "-state")
        self.set_class(parts.sessions > 0, "-list")
        self.set_class(parts.beside > 0, "-beside")
        self.title_bar.put((console_title(snapshot, now, width, home, glyphs),))
        words = self.filter_words
        if parts.sessions:
            self.session_list.styles.width = parts.sessions
            rows = self.session_list.size.height or None
            picture = list_picture(snapshot, self.run_in_view, now, parts.sessions - 2, glyphs, room=rows, words=words)
            self.session_list.show(picture, self.run_in_view)
        elif not self.wide:
            self.strip.put((narrow_strip(snapshot, self.run_in_view, width - 2, glyphs, words),))
        if session is not None and not parts.panel:
            told = state_line(session, now, self.centre_width, glyphs, titled=self.wide)
            self.state.put((told,))
        self._paint_centre(session, now)
        if session is not None and parts.panel:
            self.panel.put_window(panel_lines(session, now, parts.panel - 2, glyphs))
        self._paint_beside(parts, now)
        self.paint_status()
        self.paint_hints()
        self._set_tick()

    def _paint_centre(self, session: SessionView | None, now: Millis) -> None:
        width = self.centre_width
        if session is None:
            self.empty.put(
                empty_lines(self.snapshot, min(width, 96), self.glyphs, self.options.agent, to_get=self.options.to_get)
            )
            self.block.put(())
            self.queue.put(())
        else:
            row, parts = session_title(session, width, self.glyphs, self.options.home)
            # With another one beside it, the one that keys and text go to is lit.
            on = " on-sel" if self.columns.beside else ""
            self.session_title.put((tuple(Span(span.text, span.ink + on) for span in row),))
            self.session_title.parts = parts
            self._paint_block(session, now)
            self.queue.put(queue_lines(session, width - 2))
        self._paint_away()
        low = (self.size.height or self.app.size.height) <= 24
        self.composer.styles.max_height = 4 if low and session is not None and session.queued else 5
        self.paint_rule()
        self._paint_card(session, now)
        proposal = self._proposal_here(session)
        self.set_class(proposal is not None, "-terms")
        self.terms.show(proposal, now)
        self.composer.placeholder = self._placeholder(session)

    def _proposal_here(self, session: SessionView | None) -> Proposal | None:
        """The terms belong to the start form, or to the ended session that they go on from."""
        here = session.run if session is not None else None
        return self.proposal if self.proposal is not None and self.proposal.terms.continues == here else None

    @property
    def columns(self) -> Columns:
        return self._columns(panel=self.panel_wanted)

    def _columns(self, *, panel: bool) -> Columns:
        here = self.session is not None
        other = here and session_of(self.snapshot, self.run_beside) is not None
        width = self.size.width or self.app.size.width
        return columns(
            width,
            listed=list_cells(self.snapshot, self.run_in_view),
            panel=here and panel,
            beside=other,
            zoomed=self.zoomed,
        )

    @property
    def centre_width(self) -> int:
        return self.columns.text

    @property
    def tall(self) -> int:
        return self.size.height or self.app.size.height

    def _paint_away(self) -> None:
        most = 3 if self.tall < 30 else max(self.tall // 3, 4)
        resume = {Where.COMPOSER: "Esc, then A" if self.composer.text else "Enter", Where.KEYS: "A"}
        key = resume.get(self.focus_place, "Esc, then A")
        self.away_block.put(away_lines(self.snapshot, self.away, self.centre_width - 2, most, self.glyphs, resume=key))

    def _paint_beside(self, parts: Columns, now: Millis) -> None:
        other = session_of(self.snapshot, self.run_beside)
        if other is None or not parts.beside:
            return
        self.beside.styles.width = parts.beside
        unread = self.beside.transcript.unread
        row = beside_title(self.snapshot, other, now, parts.beside - 2, self.glyphs, unread=unread)
        self.beside.title_line.put((row,))

    @property
    def searching(self) -> bool:
        return self.has_class("-searching")

    def begin_search(self) -> None:
        self.add_class("-searching")
        self.search_line.display = True
        self.search_line.begin()

    def end_search(self) -> None:
        self.remove_class("-searching")
        self.search_line.display = False
        self.focus_keys()

    def tell_search(self, words: str) -> None:
        """How far the search is: in its own row while it is open, else in the status row."""
        if self.searching:
            self.search_line.tell(words)
        elif words:
            self.say(f"/{self.search_line.text}   {words}   n N next, before   Esc done", "grey")

    def begin_filter(self) -> None:
        self._filter_shown(True)
        self.filter_line.begin(self.filter_words)

    def _filter_shown(self, shown: bool) -> None:
        # Not by the style sheet, which is read later: what is not displayed cannot have the focus.
        self.set_class(shown, "-filtering")
        self.filter_line.display = shown

    def end_filter(self) -> None:
        self.focus_keys()
        self.paint()

    def _paint_block(self, session: SessionView | None, now: Millis) -> None:
        if session is not None:
            self.block.put(self._block_rows(session, now, self.centre_width - 1))

    def _block_rows(self, session: SessionView, now: Millis, width: int) -> tuple[Line, ...]:
        height = max(self.size.height // 3, 6)
        if session.ending is not None:
            return ending_lines(session, session.ending, now, width, height, self.glyphs)
        if self.tall < 30 and self._proposal_here(session) is not None:
            return ()  # the terms to go on, their keys and the text need the room
        if ended(session):
            return ended_lines(session, width, height, self.glyphs, letters=self.focus_place is Where.KEYS)
        return ()

    def _paint_card(self, session: SessionView | None, now: Millis) -> None:
        here = session is not None and not foreign(session) and session.ending is None
        # Of one that has ended a question may still wait that it had stopped over.
        live = waiting(session) if session is not None and here else ()
        chosen = next((one for one in live if one.id == self.decision_in_view), None)
        if chosen is None and live:
            # A newer request queues behind; only when the one in view has left does the oldest of the others come up.
            chosen = live[0]
        self.decision_in_view = chosen.id if chosen is not None else None
        limited = (
            chosen is None
            and session is not None
            and not foreign(session)
            and not ended(session)
            and session.ending is None
            and (session.at_budget or session.past_work or ends_soon(self.snapshot, session))
        )
        since = (
            chosen.asked_at
            if chosen is not None
            else (waiting_since(self.snapshot, session) if session is not None else None)
        )
        others = len(live) > 1 or len(queue(self.snapshot)) > 1
        self.card.show(
            session if chosen is not None or limited else None,
            chosen,
            place=live.index(chosen) + 1 if chosen is not None else 1,
            count=max(len(live), 1),
            others=others,
            waited=age(now - since) if since is not None else "",
            max_height=self._card_height(),
            limited=limited,
            draft=bool(self.composer.text.strip()),
        )

    def _card_height(self) -> int:
        height = self.size.height or self.app.size.height
        if self.card.opened:
            return max(height - (9 if self.wide else 10), 8)
        if height < 24:
            return max(min(8, height - 9), 5)
        return 8 if height < 30 else max(height * 2 // 5, 9)

    def _placeholder(self, session: SessionView | None) -> str:
        if session is None:
            return "What is to be done?"
        if foreign(session):
            return "held by another console"  # by whom, the row below says: a placeholder is read as markup
        if ended(session):
            if self.focus_place is Where.KEYS:
                return "Ended: i says how to go on, s begins a new one"
            return "Ended: say how to go on, or Esc, then s for a new one"
        return ""

    def paint_rule(self) -> None:
        """Above the text; in it, what came below while the reader is further up."""
        self.rule.put((rule_line(self.centre_width, self.unread, self.glyphs),))

    def paint_status(self) -> None:
        width, most = (self.size.width or self.app.size.width) - 2, 3 if self.tall >= 24 else 2
        if self.said.text:
            self.status.put(said_lines(self.said, width, most))
        else:
            self.status.put(status_lines(self.snapshot, self.session, self.writing_words(), width, most, self.glyphs))

    def paint_hints(self) -> None:
        self.hints.put((hints_line(self.situation(), self.size.width or self.app.size.width, self.table),))

    def say(self, words: str, ink: str = "amber") -> None:
        """One row above the hints, until the next key; never a toast."""
        self.said = Span(one_line(words), ink)
        self.paint_status()

    def hush(self) -> None:
        if self.said.text:
            self.said = Span("")
            self.paint_status()

    def _set_tick(self) -> None:
        if self._tick is None:
            return
        session = self.session
        live = session is not None and session.group in (Group.WORKING, Group.NEEDS_YOU) and not foreign(session)
        ending = session is not None and session.ending is not None
        if self.options.now is not None and (live or ending or queue(self.snapshot)):
            self._tick.resume()
        else:
            self._tick.pause()

    # ---------------------------------------------------------------------------------------------------------- events

    def on_resize(self, event: events.Resize) -> None:
        self.paint()
        self.call_after_refresh(self.paint)

    def on_screen_suspend(self) -> None:
        self.covered = True
        self.paint_hints()

    def on_screen_resume(self) -> None:
        self.covered = False
        self.card.begin_painting()
        self.terms.begin_painting()
        self.paint()
        self.on_shown()

    def on_descendant_focus(self) -> None:
        self._filter_shown(self.focused is self.filter_line)
        self._paint_away()
        self._paint_block(self.session, self.now)
        self.paint_hints()
        if self.focused is self.composer:
            self.on_writing()

    def on_descendant_blur(self) -> None:
        self._filter_shown(self.focused is self.filter_line)
        self.paint_hints()

    def take_key(self, key: str) -> bool:
        return self.focus_place is Where.KEYS and self.on_key_in_keys(key)

    def on_key(self, event: events.Key) -> None:
        """What a part did not want, and came back from it."""
        if self.take_key(event.key):
            event.stop()
            event.prevent_default()
