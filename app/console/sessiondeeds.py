"""What a key does to the session in view: end its turn, rename it, choose its model, let its line go."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from app.console.screens.choose import Choose, Row
from app.console.screens.fields import Field, Fields
from app.console.screens.reading import Details
from app.console.views.bars import mode_choice, short_mode
from app.console.views.ink import one_line
from app.console.views.layout import BOTH
from app.console.views.standing import in_flight, session_of, title_of
from coordinator.api import (
    Finish,
    Interrupt,
    LookAtProcesses,
    OperatorCommand,
    Pin,
    ReleaseQueue,
    Rename,
    Seen,
    SessionView,
    SetMode,
    SetModel,
)
from store.vocab import RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds

SessionAct = Callable[[SessionView], Awaitable[None]]


class SessionDeeds:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._drive = deeds.drive

    def acts(self) -> Mapping[str, SessionAct]:
        """By the action's name in the key table."""
        return {
            "stop": self._stop,
            "interrupt": self._interrupt,
            "finish": self._finish,
            "details": self._details,
            "panel": self._panel,
            "terminal": self._terminal,
            "zoom": self._zoom,
            "continue": self._continue,
            "rename": self._rename,
            "pin": self._pin,
            "seen": self._seen,
            "model": self._model,
            "mode": self._mode,
            "next-mode": self._next_mode,
            "release": self._release,
            "unqueue": self._unqueue,
        }

    async def _stop(self, session: SessionView) -> None:
        await self._deeds.stopping.stop(session.run)

    async def _interrupt(self, session: SessionView) -> None:
        turn = in_flight(session)
        n = turn.n if turn is not None else "?"
        await self._deeds.order_and_say(
            Interrupt(run=session.run, turn=session.in_flight), f"interrupting turn {n}; your draft stays"
        )

    async def _finish(self, session: SessionView) -> None:
        await self._deeds.order_and_say(Finish(run=session.run), f"{session.run} ends well after its turn")

    async def _details(self, session: SessionView) -> None:
        sheet = Details(session, self._drive.now, self._deeds.app.options.home)
        self._deeds.app.push_screen(sheet, self._on_from_details)
        self._deeds.aside(self._deeds.quietly, LookAtProcesses(run=session.run))

    def _on_from_details(self, action: str | None) -> None:
        if action is not None:
            self._deeds.spawn(self._deeds.do, action)

    async def _terminal(self, session: SessionView) -> None:
        run, terminal = session.run, self._deeds.app.backend.terminal(session.run)
        if terminal is None:
            self._deeds.say("its screen is not here yet, or no longer")
            return

        # Its drawing is loaded with the first that is looked at: few sessions have one.
        from app.console.screens.livescreen import LiveSheet

        def busy() -> bool:
            now = session_of(self._drive.snapshot, run)
            return now is not None and in_flight(now) is not None

        heading = f"{run} {title_of(session)}"
        self._deeds.app.push_screen(LiveSheet(run, heading, terminal, self._deeds.order, self._deeds.aside, busy))

    async def _panel(self, session: SessionView) -> None:
        if self._drive.zoomed:
            self._deeds.say("the conversation stands alone: z brings the rest back, and the panel with it")
            return
        self._drive.panel_wanted = not self._drive.panel_wanted
        self._drive.paint()
        if self._drive.panel_wanted and not self._drive.columns.panel:
            self._deeds.say(f"beside a second session the panel needs a screen of {BOTH} columns")

    async def _zoom(self, session: SessionView) -> None:
        self._drive.zoomed = not self._drive.zoomed
        self._drive.paint()
        if self._drive.zoomed:
            self._drive.say("the conversation alone: z again brings the rest back", "grey")

    async def _continue(self, session: SessionView) -> None:
        self._deeds.starting.may_go_on(session.run)
        self._drive.composer.focus()
        self._drive.say("say how to go on, or nothing: Enter shows the terms", "grey")

    async def _rename(self, session: SessionView) -> None:
        run = session.run
        field = Field(name="title", label="title", value=session.title)
        self._deeds.app.push_screen(Fields(f"Rename {run}", (field,)), lambda values: self._renamed(run, values))

    async def _pin(self, session: SessionView) -> None:
        await self._deeds.order_and_say(Pin(run=session.run, pinned=not session.pinned))

    async def _seen(self, session: SessionView) -> None:
        await self._deeds.order_and_say(Seen(run=session.run))

    async def _model(self, session: SessionView) -> None:
        run = session.run
        rows = tuple(Row(value=value, label=one_line(name)) for value, name in session.models)
        self._deeds.app.push_screen(
            Choose("Model, from the next turn on", rows, current=session.model),
            lambda value: self._chosen(None if value is None else SetModel(run=run, model=value)),
        )

    async def _mode(self, session: SessionView) -> None:
        run = session.run
        rows = tuple(Row(value=mode, label=mode_choice(mode)) for mode in session.modes)
        self._deeds.app.push_screen(
            Choose("How it asks", rows, current=session.mode),
            lambda value: self._chosen(None if value is None else SetMode(run=run, mode=value)),
        )

    async def _next_mode(self, session: SessionView) -> None:
        if not session.modes:
            self._drive.say("this agent has no modes to choose from")
            return
        at = session.modes.index(session.mode) + 1 if session.mode in session.modes else 0
        mode = session.modes[at % len(session.modes)]
        await self._deeds.order_and_say(SetMode(run=session.run, mode=mode), f"from now on: {short_mode(mode)}")

    async def _release(self, session: SessionView) -> None:
        await self._deeds.order_and_say(ReleaseQueue(run=session.run))

    async def _unqueue(self, session: SessionView) -> None:
        await self._deeds.queueing.choose(session)

    # -------------------------------------------------------------------------------------------------- sheets' answers

    def _renamed(self, run: RunId, values: dict[str, str] | None) -> None:
        if values is not None and values["title"].strip():
            self._chosen(Rename(run=run, title=values["title"].strip()))

    def _chosen(self, command: OperatorCommand | None) -> None:
        if command is not None:
            self._deeds.spawn(self._say_after, command)

    async def _say_after(self, command: OperatorCommand) -> None:
        await self._deeds.order_and_say(command)
