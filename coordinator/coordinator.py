"""Holds the sessions of one console: owns their tasks, takes the operator's commands, makes the snapshots.

It decides nothing about a session (that is the session's own actor) and knows no screen. ``close`` ends every hold
under one deadline and says what did not settle.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from coordinator import (
    admitting,
    attending,
    checkruns,
    commands,
    desk,
    disposing,
    following,
    incarnation,
    ledgermark,
    lensfolder,
    marks,
    proposing,
    recording,
    snapshots,
    sweep,
)
from coordinator.api import (
    Acknowledge,
    AnswerDecision,
    CheckAgain,
    CloseAll,
    Closed,
    ConsoleSnapshot,
    DismissDecision,
    DisposeOfTree,
    Done,
    LeaveAll,
    Left,
    ListFiles,
    LoadDraft,
    LookAtImages,
    LookAtRepository,
    LookAtTree,
    OperatorCommand,
    Pin,
    Propose,
    QueueCommand,
    ReadChanges,
    ReadDiff,
    ReadSaid,
    ReadSaidBefore,
    ReadTranscript,
    ReadWhole,
    Rename,
    Reply,
    Resume,
    SaveDraft,
    SearchTranscript,
    Seen,
    StartRun,
    Stop,
    StopAll,
    Sweep,
)
from coordinator.attendance import Attendance
from coordinator.clock import Clock
from coordinator.feed import Feed
from coordinator.house import House, HouseSettings
from coordinator.ids import Ids
from coordinator.profiles import AgentProfile
from coordinator.redaction import Redactor, secrets_of
from coordinator.session import HeldSession
from coordinator.tasks import dispatch, orders
from coordinator.transcripts import Transcripts
from store import drafts, incarnations, settings
from store.db import Ledger, LedgerFault, Tx
from store.refusal import Refusal
from store.vocab import EndReason, Millis, RunId

log = logging.getLogger(__name__)


class Coordinator:
    """Belongs to one event loop; ``thread.py`` gives it one of its own."""

    def __init__(self, house: House, life: incarnation.Life, tasks: asyncio.TaskGroup) -> None:
        self.house = house
        self.sessions: dict[RunId, HeldSession] = {}
        self._actors: dict[RunId, asyncio.Task[None]] = {}
        self.snapshots = snapshots.Snapshots(house, self.sessions)
        self.attending = attending.Attending(house, self.sessions)
        self.follower = following.Follower(house, self.sessions, self.snapshots)
        self.transcripts = Transcripts(house, self.sessions)
        self.dispatcher = dispatch.Dispatcher(self)
        self.follower.changed = self.attending.changed = self.dispatcher.poke
        self._life = life
        self._tasks = tasks
        self._poked = asyncio.Event()
        self.swept = sweep.Swept()
        self._mark_due = asyncio.Event()
        self.left: dict[RunId, Millis] = {}
        """Holds that were left, and until when each stays held if nobody comes back."""
        self.stops_of_all = 0
        """How often all was stopped; a start that was asked before does not outlive it."""

    @classmethod
    @asynccontextmanager
    async def opened(
        cls,
        *,
        settings: HouseSettings,
        profiles: Sequence[AgentProfile],
        ledger: Ledger,
        clock: Clock,
        ids: Ids,
        repository: Path | None,
    ) -> "AsyncIterator[Coordinator]":
        """Begin an incarnation; on the way out every hold has been ended and every task awaited."""
        life = incarnation.begin(settings.runtime, ids.incarnation())
        house = House(
            settings=settings,
            ledger=ledger,
            clock=clock,
            ids=ids,
            feed=Feed(),
            incarnation=life.id,
            digest_key=ledger.digest_key,
            redactor=Redactor(secrets_of(settings.environment).union(*(secrets_of(dict(one.env)) for one in profiles))),
            profiles=tuple(profiles),
            changed=lambda: None,
            attendance=Attendance(
                window=settings.timing.attendance, grace=settings.timing.lapse_grace, last_beat=clock.monotonic()
            ),
        )
        try:
            await asyncio.gather(ledgermark.look(house), asyncio.to_thread(lensfolder.take_away_left, clock.now()))
            await ledger.transaction(
                lambda tx: incarnation.register(
                    tx, life, machine=settings.machine, uid=settings.uid, operator=settings.operator
                )
            )
            async with asyncio.TaskGroup() as tasks:
                coordinator = cls(house, life, tasks)
                house.changed = coordinator.snapshots.dirty.set
                own = [
                    tasks.create_task(coordinator.snapshots.keep(), name="snapshots"),
                    tasks.create_task(coordinator._listen(), name="pokes"),
                    tasks.create_task(coordinator._take_commands(), name="commands"),
                    tasks.create_task(coordinator.follower.keep(), name="follower"),
                    tasks.create_task(coordinator.snapshots.look_at(repository), name="repository"),
                    tasks.create_task(coordinator.attending.keep(), name="attendance"),
                    tasks.create_task(coordinator._keep_mark(), name="mark"),
                    tasks.create_task(house.checks.keep(house, coordinator.follower.show), name="checks"),
                ]
                try:
                    await coordinator.sweep()
                    await coordinator.snapshots.load()
                    own.append(tasks.create_task(coordinator.dispatcher.keep(), name="line"))
                    yield coordinator
                finally:
                    await coordinator.close()
                    for task in own:
                        task.cancel()
            # A ledger that is busy or full just now keeps nobody here: the lock that is let go proves the end as well.
            with contextlib.suppress(LedgerFault):
                await ledger.transaction(lambda tx: incarnations.end(tx, id=life.id))
            await ledgermark.note(house)
        finally:
            incarnation.finish(life)

    # ---------------------------------------------------------------------------------------------------- commands

    async def handle(self, command: OperatorCommand, operator: str | None = None) -> Reply:
        """Carry out a command of the operator at this console, or of one who speaks through the ledger."""
        try:
            return await self._handle(command, operator or self.house.settings.operator)
        except LedgerFault as fault:
            return fault.refusal

    async def _handle(self, command: OperatorCommand, who: str) -> Reply:
        if isinstance(command, QueueCommand):
            reply = await orders.serve(self.house, command, who)
            self.follower.poked.set()
            return reply
        match command:
            case Propose():
                return await proposing.propose(self.house, command, await self.house.agents())
            case StartRun():
                return await self._start(command, who)
            case Stop():
                return await self._stop(command, who)
            case StopAll():
                return await self._stop_all(who)
            case LeaveAll():
                return await self._leave_all()
            case Resume():
                return self.attending.resume(command.run)
            case Sweep():
                swept = await self.sweep()
                return Done(note=f"{len(swept.picked_up)} picked up, {len(swept.ended)} ended")
            case CloseAll():
                return await self.close()
            case SaveDraft():
                return await marks.keep_draft(self, command)
            case LoadDraft():
                return await self.house.ledger.read(lambda tx: drafts.get(tx, key=command.key) or "")
            case ReadSaidBefore() | ReadSaid() | ListFiles() | LookAtImages() | ReadChanges() | ReadDiff():
                return await desk.serve(self.house, command)
            case CheckAgain():
                refused = await checkruns.again(self.house, command.run)
                return Done(note="its checks run again") if refused is None else refused
            case LookAtRepository():
                return await self.snapshots.look_again() or Done()
            case LookAtTree() | DisposeOfTree():
                house = self.house
                return await disposing.ordered(house.ledger, command, operator=who, now=house.clock.now)
            case ReadTranscript() | SearchTranscript() | ReadWhole():
                return await self.transcripts.read(command)
            case Rename() | Pin() | Seen() | Acknowledge():
                return await marks.mark(self, command, who)
            case _:
                session = self.sessions.get(command.run)
                if session is None or session.ended.is_set():
                    if isinstance(command, DismissDecision | AnswerDecision):
                        return await marks.of_ended(self, command, who)
                    return await desk.not_held(self.house, command.run)
                return await session.give(command, who)

    # -------------------------------------------------------------------------------------------------------- start

    async def _start(self, command: StartRun, who: str) -> Reply:
        stops_before = self.stops_of_all
        session = await admitting.admit(self.house, command, who)
        if isinstance(session, Refusal):
            return session
        self.begin(session, who, stops_before)
        return await session.started

    def begin(self, session: HeldSession, who: str, stops_before: int) -> None:
        """Begin what was admitted. ``stops_before``: how often all had been stopped when its start was asked."""
        self._begin(session)
        if self.stops_of_all != stops_before:
            session.order_end(EndReason.STOPPED, by=who)

    def _begin(self, session: HeldSession) -> None:
        self.sessions[session.run_id] = session
        self._actors[session.run_id] = self._tasks.create_task(session.run(), name=f"run {session.run_id}")
        self._actors[session.run_id].add_done_callback(lambda _: self._ended())
        if self.house.shutting:
            session.order_end(EndReason.SHUTDOWN)

    def _ended(self) -> None:
        self._mark_due.set()
        self.dispatcher.poke()

    async def sweep(self) -> sweep.Swept:
        """Pick up or settle what consoles that are gone have left."""
        await self.house.ledger.transaction(lambda tx: recording.open_if_gone(tx, incarnation.gone_by_id(tx)))
        alive = {run for run, session in self.sessions.items() if not session.ended.is_set()}
        self.swept = await sweep.sweep(self.house, self._begin, held=alive)
        self.snapshots.recovered = (len(self.swept.picked_up), len(self.swept.ended))
        self.house.changed()
        return self.swept

    # ------------------------------------------------------------------------------------------------------ endings

    async def _stop(self, command: Stop, who: str) -> Reply:
        session = self.sessions.get(command.run)
        if session is None or session.ended.is_set():
            if self.house.checks.end(command.run):
                self.house.changed()
                return Done(note="its checks were ended")
            return await desk.not_held(self.house, command.run)
        waiter: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        session.waiters.append(waiter)
        session.order_end(EndReason.KILLED if command.kill else EndReason.STOPPED, by=who, kill=command.kill)
        await session.ended.wait()
        return waiter.result() if waiter.done() else Done(note=str(EndReason.STOPPED))

    async def _stop_all(self, who: str) -> Reply:
        """No new start while it is in force; every hold ends side by side."""
        self.stops_of_all += 1
        self._order_all(EndReason.STOPPED, who)
        try:
            with contextlib.suppress(LedgerFault):
                await self.house.ledger.transaction(self._shut)
            unsettled = await self._end_all(EndReason.STOPPED, who)
        finally:
            await self._open_again()
        return Closed(unsettled=unsettled)

    def _shut(self, tx: Tx) -> None:
        settings.put(tx, recording.ADMISSION, f"{recording.SHUT_BY}{self.house.incarnation}")
        dispatch.keep_back(tx)

    async def _open_again(self) -> None:
        """Until it stands in the ledger: what stays shut there refuses every start of every console."""
        while not self.house.shutting:  # then the next console sees that the one that shut it is gone
            with contextlib.suppress(LedgerFault):
                await self._admission("open", recording.ADMISSION)
                return
            await asyncio.sleep(0.2)

    def _order_all(self, reason: EndReason, who: str) -> list[HeldSession]:
        """Tell every supervisor at once: neither the ledger nor an actor is waited for."""
        alive = [session for session in self.sessions.values() if not session.ended.is_set()]
        for session in alive:
            if reason is EndReason.SHUTDOWN and session.finish_if_idle():
                continue
            session.order_end(reason, by=who)
        return alive

    async def _admission(self, value: str, name: str) -> None:
        await self.house.ledger.transaction(lambda tx: settings.put(tx, name, value))

    async def _end_all(self, reason: EndReason, who: str) -> tuple[RunId, ...]:
        alive = self._order_all(reason, who)
        if not alive:
            return ()
        waits = [asyncio.ensure_future(session.ended.wait()) for session in alive]
        await asyncio.wait(waits, timeout=self.house.settings.timing.close_deadline)
        for wait in waits:
            wait.cancel()
        return tuple(session.run_id for session in alive if not session.ended.is_set())

    async def _leave_all(self) -> Left:
        """Shut admission, give every hold to its keeper for the rest of the attendance window."""
        house = self.house
        house.shutting = True
        seconds = max(house.settings.timing.hold_seconds, house.attendance.left(house.clock.monotonic()))
        alive = [session for session in self.sessions.values() if not session.ended.is_set()]
        for session in alive:
            session.leave(seconds)
        waits = [asyncio.ensure_future(session.ended.wait()) for session in alive]
        if waits:
            await asyncio.wait(waits, timeout=house.settings.timing.close_deadline)
        for session in alive:
            if not session.ended.is_set() and session.stop_reason is None and session.concluding is None:
                # It waits for a ledger that is busy. Its keeper counts down what it was promised last.
                house.notes.append(f"run {session.run_id} was left as it was; its keeper ends it if nobody comes")
                self._actors[session.run_id].cancel()
        now, gone = house.clock.now(), [one for one in alive if one.left]
        until = {one.run_id: now + int(min(seconds, one.left_for) * 1000) for one in gone}
        left = {one.run_id: Millis(min(until[one.run_id], one.limits.expires_at)) for one in gone}
        self.left |= left
        return Left(until=tuple(left.items()))

    def beat(self) -> None:
        """The operator did something."""
        self.attending.beat()

    async def close(self) -> Closed:
        """Shut admission, end every hold under one deadline. Safe to call again."""
        who, first = self.house.settings.operator, not self.house.shutting
        self.house.shutting = True
        self._order_all(EndReason.SHUTDOWN, who)
        for run in await self.house.checks.close():
            self.house.notes.append(f"the checks of run {run} were cut off; footplate tree {run} check runs them again")
        if first:
            with contextlib.suppress(LedgerFault):
                await self._admission("shut", f"{recording.ADMISSION}.{self.house.incarnation}")
        unsettled = await self._end_all(EndReason.SHUTDOWN, who)
        for run in unsettled:
            self.house.notes.append(f"run {run} did not end in time; its keeper goes on ending it")
            # Its books are the next console's: this one does not wait any longer, whatever the actor waits for.
            self._actors[run].cancel()
        if first:
            await self.dispatcher.last_look()
        return Closed(unsettled=unsettled)

    # -------------------------------------------------------------------------------------- commands of other processes

    async def _listen(self) -> None:
        """A poke is a connection and nothing more; the command itself is in the ledger."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                peer, _ = await loop.sock_accept(self._life.listener)
            except OSError:
                # No file left to open, say. Commands are looked for each second all the same.
                await asyncio.sleep(self.house.settings.timing.command_poll)
                continue
            peer.close()
            self._poked.set()
            self.follower.poked.set()

    async def _take_commands(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self.house.settings.timing.command_poll):
                    await self._poked.wait()
            except TimeoutError:
                pass
            self._poked.clear()
            try:
                for command in await commands.take(self.house):
                    work = self._beside(commands.carry_out(self, command), f"command {command.id}")
                    self._tasks.create_task(work, name=f"command {command.id}")
            except Exception:
                log.exception("commands of other processes could not be taken; tried again in a second")

    async def _beside(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """What goes on beside the holds must not end them with a fault of its own."""
        try:
            await work
        except Exception:
            log.exception("%s failed", name)

    async def _keep_mark(self) -> None:
        """Runs that end close by close are noted once."""
        while True:
            await self._mark_due.wait()
            self._mark_due.clear()
            await ledgermark.note(self.house)

    def snapshot(self) -> ConsoleSnapshot:
        return self.snapshots.newest
