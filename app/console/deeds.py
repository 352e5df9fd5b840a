"""What an action does: ask the backend, move the focus, open a sheet. Every action of the key table ends here.

Nothing is decided about sessions here; a refusal is said in its sentence, in the status row or on the card. The session
in view changes only where the operator asked for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, ParamSpec

from app.console.answering import Answering
from app.console.attaching import Attaching
from app.console.beside import Beside
from app.console.changing import Changing
from app.console.colouring import Colouring
from app.console.completing import Completing
from app.console.copying import Copying
from app.console.drafts import Drafts
from app.console.editor import edit
from app.console.filtering import Filtering
from app.console.history import History
from app.console.keys import Where, canonical, find
from app.console.opening import Opening
from app.console.promptly import Promptly
from app.console.queueing import Queueing
from app.console.returning import Returning
from app.console.reviewing import Reviewing
from app.console.screens.choose import Choose, Row
from app.console.screens.reading import Help
from app.console.screens.sheet import Sheet
from app.console.scrolling import move, to_copy
from app.console.searching import Searching
from app.console.sessiondeeds import SessionAct, SessionDeeds
from app.console.slashing import Slashing
from app.console.starting import Starting
from app.console.stopping import Stopping
from app.console.tasking import Tasking
from app.console.touring import Touring
from app.console.trees import Trees
from app.console.viewing import Viewing
from app.console.views.actions import offers, why_dead
from app.console.views.lists import ordered
from app.console.views.standing import ended, foreign, held_elsewhere
from app.console.waitinglist import WaitingList
from app.console.workers import begin
from app.wording import sentence
from coordinator.api import OperatorCommand, Reply, Resume, Say, SessionView, Started
from store.refusal import Refusal
from store.vocab import RunId

if TYPE_CHECKING:
    from app.console.app import FootplateApp

Act = Callable[[], Awaitable[None]]
P = ParamSpec("P")

ENDINGS = frozenset({"stop", "stop-all", "quit"})
UNDER_SHEETS = frozenset({"stop", "interrupt", "redraw"})
"""Done without closing what lies over the console."""

HIDDEN = frozenset({"stop", "interrupt"})
"""Done to the session in view, and so not beneath a review, which hides it."""


class Deeds:
    def __init__(self, app: "FootplateApp") -> None:
        self.app = app
        self.drive = app.drive
        self.drafts = Drafts(self)
        self.starting = Starting(self)
        self._sending: set[RunId] = set()
        """Something entered for them has no answer yet: a second Enter would say it twice."""
        self.away = False
        """An editor has the terminal: nothing is drawn."""
        self.at_work = 0
        """Deeds under way that may yet change what is in view."""
        self.viewing = Viewing(self)
        self.answering = Answering(self)
        self.stopping = Stopping(self)
        self.promptly = Promptly(self)
        self.copying = Copying(self)
        self.queueing = Queueing(self)
        self.history = History(self)
        self.completing = Completing(self)
        self.attaching = Attaching(self)
        self.slashing = Slashing(self)
        self.on_session: dict[str, SessionAct] = {
            **SessionDeeds(self).acts(), **Changing(self).acts(), **Trees(self).acts(),
        }  # fmt: skip
        self.waiting_list = WaitingList(self)
        self.tasking = Tasking(self)
        self.filtering = Filtering(self)
        self.beside = Beside(self)
        self.returning = Returning(self)
        self.searching = Searching(self)
        self.opening = Opening(self)
        self.colouring = Colouring(self)
        self.reviewing = Reviewing(self)
        self.touring = Touring(self)
        parts = (
            self.waiting_list, self.tasking, self.beside, self.returning, self.searching, self.opening,
            self.colouring, self.reviewing, self.touring,
        )  # fmt: skip
        of_parts: dict[str, Act] = {name: act for part in parts for name, act in part.acts().items()}
        self.acts: dict[str, Act] = {**of_parts, **self.history.acts(), **self.completing.acts(), **self._acts()}
        self.to_text: dict[str, Callable[[], None]] = {
            "search": self.searching.begin,
            "filter": self.filtering.begin,
            "write": self._write,
        }
        """What opens a text: done while the key is handled, so that the letters typed after it come there."""

    # ------------------------------------------------------------------------------------------------ the way to orders

    def spawn(self, work: Callable[P, Awaitable[object]], *args: P.args, **named: P.kwargs) -> None:
        """Owned by the app: ended with it, and a bug in it is the app's bug.

        ``work`` is called once its turn comes. Begun here and handed over, it would be left lying where the app ends
        first.
        """
        self.at_work += 1
        begin(self.app, partial(self._counted, partial(work, *args, **named)), group="deeds")

    def aside(self, work: Callable[P, Awaitable[object]], *args: P.args, **named: P.kwargs) -> None:
        """As ``spawn``, for what never changes what is in view."""
        begin(self.app, partial(work, *args, **named), group="deeds")

    async def _counted(self, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        finally:
            self.at_work -= 1

    async def order(self, command: OperatorCommand) -> Reply:
        return await asyncio.wrap_future(self.app.backend.submit(command))

    async def quietly(self, command: OperatorCommand) -> None:
        """For what the operator did not ask for in so many words: its refusal is no news."""
        await self.order(command)

    async def order_and_say(self, command: OperatorCommand, done: str = "") -> bool:
        reply = await self.order(command)
        if isinstance(reply, Refusal):
            self.say(sentence(reply))
            return False
        if done:
            self.drive.say(done, "grey")
        return True

    def say(self, words: str) -> None:
        """Where the operator looks: on the sheet that lies over the console, else in the status row."""
        if isinstance(self.app.screen, Sheet):
            self.app.screen.say(words)
        else:
            self.drive.say(words)

    @property
    def session(self) -> SessionView | None:
        return self.drive.session

    @property
    def repository(self) -> str:
        """Where a new session would work."""
        known = self.drive.snapshot.repository
        return known.path if known is not None else self.app.options.repository

    # ------------------------------------------------------------------------------------------------------------ keys

    def key(self, key: str) -> bool:
        """A key in the keys focus; digits do nothing there."""
        if key == "escape":
            if self.searching.clear() or self.filtering.clear():
                return True
            if self._escaped():
                self.spawn(self.do, "interrupt")
            return True
        if self.session is not None:
            moved = move(self.drive.transcript, key)
            if moved is not None:
                if moved:
                    self.say(moved)
                return True
            text = to_copy(self.drive.transcript, key)
            if text is not None:
                if text:
                    self.copying.copy(text)
                else:
                    self.say("nothing to copy here")
                return True
        row = find(key, Where.KEYS, self.app.table)
        if row is None:
            return False
        begin = self.to_text.get(canonical(row.action))
        if begin is None:
            self.spawn(self.do, row.action)
        elif (dead := why_dead(canonical(row.action), self.drive.situation())) is not None:
            self.say(dead)
        else:
            begin()
        return True

    async def do(self, action: str) -> None:
        action = canonical(action)
        if action == "fit":
            self.drive.paint()
            return
        if action in HIDDEN and self.reviewing.close() and action == "interrupt":
            self.say("back at the session: again interrupts its turn")
            return
        over = isinstance(self.app.screen, Sheet)
        if isinstance(self.app.screen, Sheet) and self.app.screen.tries(action):
            return
        if action == "stop-all":
            self.stopping.stop_all()
            return
        if over and action not in UNDER_SHEETS:
            again = type(self.app.screen)
            self.close_sheets()
            if action == "commands" and again is Choose:
                return
        if action == "interrupt" and self.copying.selection():
            return
        if action == "interrupt" and isinstance(self.app.screen, Sheet) and self.app.screen.interrupted():
            return
        dead = why_dead(action, self.drive.situation())
        if dead is not None:
            self.say(dead)
            return
        session, on_session, act = self.session, self.on_session.get(action), self.acts.get(action)
        if (begin := self.to_text.get(action)) is not None:
            begin()
        elif session is not None and on_session is not None:
            await on_session(session)
        elif act is not None:
            await act()
        else:
            self.say("that does nothing here")

    def _acts(self) -> Mapping[str, Act]:
        """What needs no session, by the action's name in the key table. A part with actions of its own adds them."""
        return {
            "next-waiting": self.answering.next_waiting,
            "commands": self._commands,
            "redraw": self._redraw,
            "quit": self._quit,
            "new-session": self._new_session,
            "session-down": lambda: self._next_session(1),
            "session-up": lambda: self._next_session(-1),
            "to-card": self._to_card,
            "resume": self._resume,
            "help": self._help,
            "mouse": self.copying.toggle_mouse,
            "editor": lambda: edit(self),
        }

    async def _commands(self) -> None:
        self.open_commands()

    async def _redraw(self) -> None:
        self.app.refresh(repaint=True, layout=True)
        self.drive.paint()

    async def _quit(self) -> None:
        self.stopping.quit()

    async def _new_session(self) -> None:
        await self.viewing.view(None)
        self.drive.composer.focus()

    def _write(self) -> None:
        self.drive.set_focus(self.drive.composer)

    async def _to_card(self) -> None:
        self.answering.to_card()

    async def _resume(self) -> None:
        await self.order_and_say(Resume(), "all go on")

    async def _help(self) -> None:
        self.app.push_screen(Help(self.app.table))

    # -------------------------------------------------------------------------------------------------------- composer

    async def entered(self, text: str) -> None:
        if not text.strip() and any(one.paused for one in self.drive.snapshot.sessions):
            await self.do("resume")
            return
        if self.queueing.editing:
            await self.queueing.entered(text)
            return
        if await self.slashing.entered(text):
            return
        session = self.session
        if session is None:
            await self.starting.entered(text)
            return
        if foreign(session):
            self.drive.say(held_elsewhere(session))
            return
        if ended(session):
            await self.starting.continued(session.run, text)
            return
        if not text.strip():
            return
        if session.run in self._sending:
            self.drive.say("what you entered before is still being sent: this stays here")
            return
        command = self.slashing.of_agent(text)
        literal = text.startswith("/") and not command
        named = () if command else self.attaching.named()
        self._sending.add(session.run)
        try:
            images = await self.attaching.taken(named)
            if images is None:
                return
            reply = await self.order(Say(run=session.run, text=text, literal=literal, images=images))
        finally:
            self._sending.discard(session.run)
        if isinstance(reply, Refusal):
            # What was typed stays where it is.
            self.drive.say(sentence(reply))
            return
        self.drafts.sent(session.run, text)
        if isinstance(reply, Started):
            await self.viewing.view(reply.run)

    def edited(self) -> None:
        self.drafts.edited()
        self.starting.edited()
        self.completing.edited()

    def _escaped(self) -> bool:
        """Esc Esc within a second, where it is allowed and a turn runs; the first one announces it."""
        if not self.app.options.escape_twice or why_dead("interrupt", self.drive.situation()) is not None:
            return False
        at, before = self.app.pressed_at, self._escape_at
        self._escape_at = at
        if at - before <= 1.0:
            self._escape_at = float("-inf")
            return True
        self.drive.say("Esc again within a second interrupts the turn", "grey")
        return False

    _escape_at = float("-inf")

    def left_composer(self) -> None:
        if self.queueing.leave():
            self.drive.composer.stayed()
            return
        self._escaped()
        self.drive.focus_keys()

    # --------------------------------------------------------------------------------------------------- small things

    async def terms_key(self, verb: str) -> None:
        await self.starting.key(verb)

    async def _next_session(self, by: int) -> None:
        runs = [one.run for one in ordered(self.drive.snapshot, self.drive.run_in_view, self.drive.filter_words)]
        here = self.drive.run_in_view
        if not runs:
            self.say("no session is called so: Esc shows all")
            return
        if here in runs:
            at = min(max(runs.index(here) + by, 0), len(runs) - 1)
        else:
            at = 0 if by > 0 else len(runs) - 1
        if runs[at] == here:
            self.drive.say("this is the last session" if by > 0 else "this is the first session", "grey")
            return
        await self.viewing.view(runs[at])
        self.drive.focus_keys()

    def open_commands(self) -> None:
        rows = tuple(
            Row(value=one.action, label=one.words, key=one.key, dead=one.dead, last=one.action in ENDINGS)
            for one in offers(self.drive.situation(), self.app.table)
        )
        self.app.push_screen(Choose("Commands", rows, typed=True), self._command_chosen)

    def _command_chosen(self, action: str | None) -> None:
        if action is not None:
            self.spawn(self.do, action)

    def close_sheets(self) -> None:
        while isinstance(self.app.screen, Sheet):
            self.app.pop_screen()
