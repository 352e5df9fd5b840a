"""What an action does: ask the backend, move the focus, open a sheet. Every action of the key table ends here.

Nothing is decided about sessions here; a refusal is said in its sentence, in the status row or on the card. The session
in view changes only where the operator asked for it.
"""

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from textual.screen import Screen
from textual.timer import Timer

from app.console.clipboard import copy_text
from app.console.drafts import Drafts
from app.console.keys import Where, canonical, find
from app.console.presses import Press, TwicePressed
from app.console.screens.asking import Quit, StopAllSheet
from app.console.screens.choose import Choose, Row
from app.console.screens.fields import Field, Fields
from app.console.screens.reading import Details, Help
from app.console.screens.sheet import Sheet
from app.console.starting import Starting
from app.console.views.actions import holds, offers, why_dead
from app.console.views.bars import mode_choice, short_mode
from app.console.views.ink import one_line
from app.console.views.lists import ordered
from app.console.views.standing import all_waiting, doing, ended, foreign, in_flight, session_of, title_of, waiting
from app.wording import sentence
from coordinator.api import (
    AnswerDecision,
    CloseAll,
    Closed,
    ConsoleSnapshot,
    DecisionView,
    EditQueued,
    Finish,
    Group,
    Interrupt,
    LookAtProcesses,
    OperatorCommand,
    Pin,
    ReadTranscript,
    ReleaseQueue,
    Rename,
    Reply,
    Say,
    Seen,
    SessionView,
    SetMode,
    SetModel,
    Started,
    Stop,
    StopAll,
    TranscriptPage,
)
from coordinator.drivers.base import Answer
from store.refusal import Refusal
from store.vocab import DecisionId, RunId, TurnSource

if TYPE_CHECKING:
    from app.console.app import FootplateApp

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
        self._stop_presses = TwicePressed()
        self._stop_all_presses = TwicePressed()
        self._back_to = Where.COMPOSER
        self._page_of: RunId | None = None
        """The run whose page is in the transcript; its feed goes on from there."""
        self._seen_timer: Timer | None = None
        self._visited = False

    # ------------------------------------------------------------------------------------------------ the way to orders

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Owned by the app: ended with it, and a bug in it is the app's bug."""
        self.app.run_worker(work, group="deeds")

    async def order(self, command: OperatorCommand) -> Reply:
        return await asyncio.wrap_future(self.app.backend.submit(command))

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

    # ------------------------------------------------------------------------------------------------------- snapshots

    async def begin(self) -> None:
        """The session in view at the start: none with a brief given or nothing held, else the first of the list."""
        options = self.app.options
        snapshot = self.drive.snapshot
        first = next((one for one in ordered(snapshot) if one.group is not Group.ENDED), None)
        if options.brief or first is None:
            await self.view(None)
            if options.brief:
                self.drive.composer.set_text(options.brief)
        else:
            await self.view(first.run)

    def take(self, snapshot: ConsoleSnapshot) -> None:
        if self.away:
            return
        self.drive.take(snapshot)
        session = self.session
        if session is not None:
            self._set_history(session)
            if self._page_of == session.run:
                events, dropped = self.app.backend.drain(session.run)
                if dropped:
                    self.spawn(self._read_page(session.run))
                elif events:
                    self.drive.transcript.feed(events)
        screen = self.app.screen
        if isinstance(screen, Details):
            screen.take(snapshot, self.drive.now)
        elif isinstance(screen, StopAllSheet | Quit):
            screen.fill(snapshot)
        self.watch_seen()

    def watch_seen(self) -> None:
        """A second in view counts as seen."""
        session = self.session
        if session is None or self._seen_timer is not None or foreign(session):
            return
        newest = max(session.turn_ended_at or 0, session.ended_at or 0)
        if not self._visited or newest > session.seen_at or session.group is Group.YOUR_MOVE:
            run = session.run
            self._seen_timer = self.drive.set_timer(self.app.options.seen_after, lambda: self._seen(run))

    def _seen(self, run: RunId) -> None:
        self._seen_timer = None
        if self.drive.run_in_view == run and self.drive.is_current and not self.away:
            self._visited = True
            self.spawn(self._quietly(Seen(run=run)))

    async def _quietly(self, command: OperatorCommand) -> None:
        await self.order(command)

    # ------------------------------------------------------------------------------------------------ session in view

    async def view(self, run: RunId | None, *, focus: bool = True) -> None:
        """Bring a session into view, or the start form. Only ever called for a key, a click or an entered text."""
        self.drafts.leave(self.drive.run_in_view)
        self.drive.run_in_view = run
        self.drive.decision_in_view = None
        self._page_of = None
        self._visited = False
        if self._seen_timer is not None:
            self._seen_timer.stop()
            self._seen_timer = None
        session = self.session
        composer = self.drive.composer
        composer.begin_anew()
        self.drafts.arrive(run)
        if session is not None:
            self._set_history(session)
            composer.commands = session.commands
            self.drive.transcript.show(session, None)
            self.spawn(self._read_page(session.run))
        self.drive.paint()
        if focus and self.drive.focus_place is not Where.KEYS:
            composer.focus()
        self.watch_seen()

    def _set_history(self, session: SessionView) -> None:
        said = (TurnSource.BRIEF, TurnSource.OPERATOR)
        self.drive.composer.history_texts = tuple(turn.text for turn in session.turns if turn.source in said)
        self.drive.composer.commands = session.commands

    async def _read_page(self, run: RunId) -> None:
        self.app.backend.drain(run)
        reply = await self.order(ReadTranscript(run=run))
        session = self.session
        if session is None or session.run != run or self.away:
            return
        if isinstance(reply, TranscriptPage):
            self.drive.transcript.show(session, reply)
            self._page_of = run
            events, _ = self.app.backend.drain(run)
            if events:
                self.drive.transcript.feed(events)
        elif isinstance(reply, Refusal):
            self.drive.say(sentence(reply))

    async def read_older(self, run: RunId, before: int) -> None:
        reply = await self.order(ReadTranscript(run=run, before=before))
        if isinstance(reply, TranscriptPage) and self.drive.run_in_view == run:
            older = getattr(self.drive.transcript, "older", None)
            if older is not None:
                older(reply)

    # ------------------------------------------------------------------------------------------------------------ keys

    def key(self, key: str) -> bool:
        """A key in the keys focus; digits do nothing there."""
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
            self.stop_all()
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
                await self.next_waiting()
            case "commands":
                self.open_commands()
            case "redraw":
                self.app.refresh(repaint=True, layout=True)
                drive.paint()
            case "quit":
                self.quit()
            case "new-session":
                await self.view(None)
                drive.composer.focus()
            case "session-down" | "session-up":
                await self._next_session(1 if action == "session-down" else -1)
            case "write":
                drive.composer.focus()
            case "to-card":
                self.to_card()
            case "waiting-list":
                self.open_waiting()
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
                await self.stop(run)
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
                self.spawn(self._quietly(LookAtProcesses(run=run)))
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

    # ------------------------------------------------------------------------------------------------------------ ends

    async def stop(self, run: RunId) -> None:
        match self._stop_presses.press(self.app.pressed_at, run):
            case Press.FIRST:
                await self.order_and_say(Stop(run=run))
            case Press.SECOND:
                await self.order_and_say(Stop(run=run, kill=True), "killing at once")
            case Press.HELD:
                pass

    def stop_all(self) -> None:
        screen = self.app.screen
        if isinstance(screen, StopAllSheet):
            if self._stop_all_presses.press(self.app.pressed_at, "all") is Press.SECOND:
                screen.dismiss(None)
                self.spawn(self._quietly(StopAll()))
                self.drive.say("stopping all", "red")
            return
        dead = why_dead("stop-all", self.drive.situation())
        if dead is not None:
            self.say(dead)
            return
        self.close_sheets()
        self._stop_all_presses.forget()
        self._stop_all_presses.press(self.app.pressed_at, "all")
        sheet = StopAllSheet(self.drive.glyphs, self.drive.now)
        self.app.push_screen(sheet)
        self.app.call_after_refresh(lambda: sheet.fill(self.drive.snapshot))

    def quit(self) -> None:
        self.drafts.leave(self.drive.run_in_view)
        if not holds(self.drive.snapshot):
            self.app.exit(0)
            return
        sheet = Quit(self.drive.glyphs, self.drive.now)
        self.app.push_screen(sheet, self._quit_answered)
        self.app.call_after_refresh(lambda: sheet.fill(self.drive.snapshot))

    def _quit_answered(self, value: str | None) -> None:
        if value == "end":
            self.drive.say("ending all, then quitting", "red")
            self.spawn(self._close())

    async def _close(self) -> None:
        reply = await self.order(CloseAll())
        if isinstance(reply, Refusal):
            self.say(sentence(reply))
            return
        # 3: something needs a person, as on the command line.
        self.app.exit(3 if isinstance(reply, Closed) and reply.unsettled else 0)

    # ----------------------------------------------------------------------------------------------- card and waiting

    def to_card(self) -> None:
        if self.drive.card.shown:
            self._remember_focus()
            self.drive.card.focus_card()
        elif self.drive.proposal is not None:
            self.drive.terms.focus()
        else:
            self.drive.say("nothing here waits for you")

    def _remember_focus(self) -> None:
        place = self.drive.focus_place
        if place in (Where.COMPOSER, Where.KEYS):
            self._back_to = place

    def focus_back(self) -> None:
        if self._back_to is Where.KEYS:
            self.drive.focus_keys()
        else:
            self.drive.composer.focus()

    async def next_waiting(self) -> None:
        """The longest waiting; from a card that has the focus, the next after it."""
        runs = [run for _, run in all_waiting(self.drive.snapshot)]
        here = self.drive.run_in_view
        on_card = self.drive.focus_place is Where.CARD
        at = (runs.index(here) + 1) % len(runs) if on_card and here in runs else 0
        await self.go_to_waiting(runs[at])

    async def go_to_waiting(self, run: RunId, decision: DecisionId | None = None) -> None:
        self._remember_focus()
        if run != self.drive.run_in_view:
            await self.view(run, focus=False)
        if decision is not None:
            self.drive.decision_in_view = decision
            self.drive.paint()
        if self.drive.card.shown:
            self.drive.call_after_refresh(self.drive.card.focus_card)

    async def other_waiting(self, by: int) -> None:
        """Through all that is asked, in all sessions, in the order in which it was asked."""
        asked = sorted(
            (one.asked_at, one.id, session.run)
            for session in self.drive.snapshot.sessions
            if not foreign(session) and not ended(session)
            for one in waiting(session)
        )
        if len(asked) < 2:
            self.drive.card.say("nothing else waits for you")
            return
        ids = [one[1] for one in asked]
        here = self.drive.decision_in_view
        at = (ids.index(here) + by) % len(ids) if here in ids else 0
        await self.go_to_waiting(asked[at][2], asked[at][1])

    async def answer(self, decision: DecisionView, answer: Answer) -> None:
        card = self.drive.card
        card.busy("sending your answer …")
        reply = await self.order(
            AnswerDecision(
                run=decision.run,
                decision=decision.id,
                revision=decision.revision,
                payload_hash=decision.payload_hash,
                answer=answer,
            )
        )
        if isinstance(reply, Refusal):
            card.busy("")
            card.say(sentence(reply))
            return
        if card.decision is not None and card.decision.id == decision.id:
            card.busy("answer given")
        self.focus_back()

    # -------------------------------------------------------------------------------------------------------- composer

    async def entered(self, text: str) -> None:
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
            await self.view(reply.run)

    def edited(self, text: str) -> None:
        self.drafts.edited()
        self.starting.edited()
        self.drive.paint_status()

    def left_composer(self) -> None:
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
            await self.view(runs[at])
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
            Row(value=one.action, label=one.words, key=one.key, dead=one.dead)
            for one in offers(self.drive.situation(), self.app.table)
        )
        rows = tuple(sorted(rows, key=lambda row: row.dead is not None))
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
            self.spawn(self.go_to_waiting(RunId(int(value))))

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
