"""What an action does: ask the backend, move the focus, open a sheet. Every action of the key table ends here.

Nothing is decided about sessions here; a refusal is said in its sentence, in the status row or on the card. The session
in view changes only where the operator asked for it.
"""

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from app.console.answering import Answering
from app.console.clipboard import copy_text
from app.console.drafts import Drafts
from app.console.keys import Where, canonical, find
from app.console.screens.choose import Choose, Row
from app.console.screens.fields import Field, Fields
from app.console.screens.reading import Details, Help
from app.console.screens.sheet import Sheet
from app.console.scrolling import move, to_copy
from app.console.starting import Starting
from app.console.stopping import Stopping
from app.console.viewing import Viewing
from app.console.views.actions import offers, why_dead
from app.console.views.bars import mode_choice, short_mode
from app.console.views.ink import one_line
from app.console.views.lists import ordered
from app.console.views.standing import all_waiting, doing, foreign, in_flight, session_of, title_of
from app.wording import sentence
from coordinator.api import (
    EditQueued,
    Finish,
    Interrupt,
    LookAtProcesses,
    OperatorCommand,
    Pin,
    ReleaseQueue,
    Rename,
    Reply,
    Resume,
    Say,
    Seen,
    SessionView,
    SetMode,
    SetModel,
    Started,
)
from store.refusal import Refusal
from store.vocab import RunId

if TYPE_CHECKING:
    from app.console.app import FootplateApp

ENDINGS = frozenset({"stop", "stop-all", "quit"})
UNDER_SHEETS = frozenset({"stop", "interrupt", "redraw"})
"""Done without closing what lies over the console."""


class Deeds:
    def __init__(self, app: "FootplateApp") -> None:
        self.app = app
        self.drive = app.drive
        self.drafts = Drafts(self)
        self.starting = Starting(self)
        self.away = False
        """An editor has the terminal: nothing is drawn."""
        self.viewing = Viewing(self)
        self.answering = Answering(self)
        self.stopping = Stopping(self)

    # ------------------------------------------------------------------------------------------------ the way to orders

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Owned by the app: ended with it, and a bug in it is the app's bug."""
        self.app.run_worker(work, group="deeds")

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

    # ------------------------------------------------------------------------------------------------------------ keys

    def key(self, key: str) -> bool:
        """A key in the keys focus; digits do nothing there."""
        if key == "escape":
            if self._escaped():
                self.spawn(self.do("interrupt"))
            return True
        if self.session is not None:
            if move(self.drive.transcript, key):
                return True
            text = to_copy(self.drive.transcript, key)
            if text is not None:
                if text:
                    self.copy(text)
                else:
                    self.say("nothing to copy here")
                return True
        row = find(key, Where.KEYS, self.app.table)
        if row is None:
            return False
        self.spawn(self.do(row.action))
        return True

    async def do(self, action: str) -> None:
        action = canonical(action)
        if action == "fit":
            self.drive.paint()
            return
        over = isinstance(self.app.screen, Sheet)
        if action == "stop-all":
            self.stopping.stop_all()
            return
        if over and action not in UNDER_SHEETS:
            again = type(self.app.screen)
            self.close_sheets()
            if action == "commands" and again is Choose:
                return
        if action == "interrupt" and self._copy_selection():
            return
        dead = why_dead(action, self.drive.situation())
        if dead is not None:
            self.say(dead)
            return
        session = self.session
        if session is not None and await self._to_session(action, session):
            return
        await self._anywhere(action)

    async def _anywhere(self, action: str) -> None:
        drive = self.drive
        match action:
            case "next-waiting":
                await self.answering.next_waiting()
            case "commands":
                self.open_commands()
            case "redraw":
                self.app.refresh(repaint=True, layout=True)
                drive.paint()
            case "quit":
                self.stopping.quit()
            case "new-session":
                await self.viewing.view(None)
                drive.composer.focus()
            case "session-down" | "session-up":
                await self._next_session(1 if action == "session-down" else -1)
            case "write":
                drive.composer.focus()
            case "to-card":
                self.answering.to_card()
            case "waiting-list":
                self.open_waiting()
            case "resume":
                await self.order_and_say(Resume(), "all go on")
            case "help":
                self.app.push_screen(Help(self.app.table))
            case "mouse":
                self.toggle_mouse()
            case "editor":
                await self.edit_outside()
            case _:
                self.say("that does nothing here")

    async def _to_session(self, action: str, session: SessionView) -> bool:
        """Actions on the session in view; False when it is none of them."""
        run = session.run
        match action:
            case "stop":
                await self.stopping.stop(run)
            case "interrupt":
                turn = in_flight(session)
                n = turn.n if turn is not None else "?"
                await self.order_and_say(
                    Interrupt(run=run, turn=session.in_flight), f"interrupting turn {n}; your draft stays"
                )
            case "finish":
                await self.order_and_say(Finish(run=run), f"{run} ends well after its turn")
            case "details":
                self.app.push_screen(Details(session, self.drive.now, self.app.options.home))
                self.spawn(self.quietly(LookAtProcesses(run=run)))
            case "panel":
                self.drive.panel_wanted = not self.drive.panel_wanted
                self.drive.paint()
            case "zoom":
                self.drive.zoomed = not self.drive.zoomed
                self.drive.paint()
                if self.drive.zoomed:
                    self.drive.say("the conversation alone: z again brings the rest back", "grey")
            case "continue":
                self.drive.composer.focus()
                self.drive.say("say how to go on, then Enter", "grey")
            case "rename":
                field = Field(name="title", label="title", value=session.title)
                self.app.push_screen(Fields(f"Rename {run}", (field,)), lambda values: self._renamed(run, values))
            case "pin":
                await self.order_and_say(Pin(run=run, pinned=not session.pinned))
            case "seen":
                await self.order_and_say(Seen(run=run))
            case "model":
                rows = tuple(Row(value=value, label=one_line(name)) for value, name in session.models)
                self.app.push_screen(
                    Choose("Model, from the next turn on", rows, current=session.model),
                    lambda value: self._set_model(run, value),
                )
            case "mode":
                rows = tuple(Row(value=mode, label=mode_choice(mode)) for mode in session.modes)
                self.app.push_screen(
                    Choose("How it asks", rows, current=session.mode), lambda value: self._set_mode(run, value)
                )
            case "next-mode":
                await self._next_mode(session)
            case "release":
                await self.order_and_say(ReleaseQueue(run=run))
            case "unqueue":
                await self._unqueue(session)
            case _:
                return False
        return True

    # -------------------------------------------------------------------------------------------------------- composer

    async def entered(self, text: str) -> None:
        if not text.strip() and any(one.paused for one in self.drive.snapshot.sessions):
            await self.do("resume")
            return
        session = self.session
        if session is None:
            await self.starting.entered(text)
            return
        if foreign(session):
            self.drive.say(f"{session.run} is held by {session.owner}: write to it there")
            return
        if not text.strip():
            return
        name = text[1:].split(maxsplit=1)[0] if text.startswith("/") and text[1:].strip() else ""
        literal = text.startswith("/") and name not in dict(session.commands)
        reply = await self.order(Say(run=session.run, text=text, literal=literal))
        if isinstance(reply, Refusal):
            # What was typed stays where it is.
            self.drive.say(sentence(reply))
            return
        self.drafts.sent(session.run, text)
        if isinstance(reply, Started):
            await self.viewing.view(reply.run)

    def edited(self, text: str) -> None:
        self.drafts.edited()
        self.starting.edited()
        self.drive.paint_status()

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
        self._escaped()
        self.drive.focus_keys()

    # --------------------------------------------------------------------------------------------------- small things

    async def terms_key(self, verb: str) -> None:
        await self.starting.key(verb)

    async def _next_session(self, by: int) -> None:
        runs = [one.run for one in ordered(self.drive.snapshot, self.drive.run_in_view)]
        here = self.drive.run_in_view
        if here in runs:
            at = min(max(runs.index(here) + by, 0), len(runs) - 1)
        else:
            at = 0 if by > 0 else len(runs) - 1
        if runs[at] != here:
            await self.viewing.view(runs[at])
            self.drive.focus_keys()

    async def _next_mode(self, session: SessionView) -> None:
        if not session.modes:
            self.drive.say("this agent has no modes to choose from")
            return
        at = session.modes.index(session.mode) + 1 if session.mode in session.modes else 0
        mode = session.modes[at % len(session.modes)]
        await self.order_and_say(SetMode(run=session.run, mode=mode), f"from now on: {short_mode(mode)}")

    def _set_model(self, run: RunId, value: str | None) -> None:
        if value is not None:
            self.spawn(self._say_after(SetModel(run=run, model=value)))

    def _set_mode(self, run: RunId, value: str | None) -> None:
        if value is not None:
            self.spawn(self._say_after(SetMode(run=run, mode=value)))

    def _renamed(self, run: RunId, values: dict[str, str] | None) -> None:
        if values is not None and values["title"].strip():
            self.spawn(self._say_after(Rename(run=run, title=values["title"].strip())))

    async def _say_after(self, command: OperatorCommand) -> None:
        await self.order_and_say(command)

    async def _unqueue(self, session: SessionView) -> None:
        last = session.queued[-1]
        if await self.order_and_say(EditQueued(run=session.run, queued=last.id, text="")):
            text = self.drive.composer.text
            self.drive.composer.set_text(f"{last.text}\n{text}" if text else last.text)
            self.drive.composer.focus()

    def open_commands(self) -> None:
        rows = tuple(
            Row(value=one.action, label=one.words, key=one.key, dead=one.dead, last=one.action in ENDINGS)
            for one in offers(self.drive.situation(), self.app.table)
        )
        self.app.push_screen(Choose("Commands", rows, typed=True), self._command_chosen)

    def _command_chosen(self, action: str | None) -> None:
        if action is not None:
            self.spawn(self.do(action))

    def open_waiting(self) -> None:
        snapshot, now = self.drive.snapshot, self.drive.now
        rows: list[Row] = []
        for _, run in all_waiting(snapshot):
            session = session_of(snapshot, run)
            if session is not None:
                told = doing(snapshot, session, now, ticking=False).text
                rows.append(Row(value=str(run), label=f"{run} {title_of(session)}", beside=told))
        self.app.push_screen(Choose("What waits for you, longest first", tuple(rows)), self._waiting_chosen)

    def _waiting_chosen(self, value: str | None) -> None:
        if value is not None:
            self.spawn(self.answering.go_to_waiting(RunId(int(value))))

    def close_sheets(self) -> None:
        while isinstance(self.app.screen, Sheet):
            self.app.pop_screen()

    def _copy_selection(self) -> bool:
        focused: Any = self.app.screen.focused
        text = getattr(focused, "selected_text", "") or self._screen_selection(self.app.screen)
        if not text:
            return False
        self.copy(text)
        self.app.screen.clear_selection()
        return True

    @staticmethod
    def _screen_selection(screen: Screen[Any]) -> str:
        return screen.get_selected_text() or ""

    def copy(self, text: str) -> None:
        self.spawn(self._copy(text))

    async def _copy(self, text: str) -> None:
        how = await copy_text(text, self.app.copy_by_terminal)
        lines = text.count("\n") + 1
        self.say(f"copied {lines} {'line' if lines == 1 else 'lines'} ({how})")

    def toggle_mouse(self) -> None:
        driver = self.app._driver
        if driver is None:
            return
        self._mouse = not self._mouse
        sign = "h" if self._mouse else "l"
        driver.write("".join(f"\x1b[?{mode}{sign}" for mode in (1000, 1006, 1015)))
        driver.flush()
        self.drive.say(
            "the mouse is the console's" if self._mouse else "the mouse is the terminal's: m takes it back", "grey"
        )

    _mouse = True

    async def edit_outside(self) -> None:
        from app.console.editor import edit

        await edit(self)
