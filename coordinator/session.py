"""One held session: an actor. A single task takes its inputs from one inbox, asks the machine, and carries the
effects out.

Nothing here decides what a session does (``machine.py``) or what the ledger refuses (``recording.py``). The parts
that act on the world stand beside it: ``launch.py`` starts, ``orders.py`` obeys the operator, ``deeds.py`` carries
effects out, ``closing.py`` ends. They share this object and run only in its task.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from coordinator import (
    closing,
    deeds,
    extending,
    launch,
    machine,
    orders,
    steps,
    stuck,
    taking,
    timers,
    turntimeout,
    worklimit,
    writing,
)
from coordinator.api import EndingView, OperatorCommand, Reply
from coordinator.books import CONVERSATION_OF
from coordinator.custody import processes
from coordinator.custody.client import Supervisor
from coordinator.custody.types import SpoolRecord
from coordinator.drivers import base
from coordinator.githelper import ConfigReading
from coordinator.house import House
from coordinator.inbox import Inbox, WireLost
from coordinator.ingest import Batch, Ingest
from coordinator.live import Live
from coordinator.parkednote import Malformed
from coordinator.profiles import AgentProfile
from coordinator.recording import EffectiveLimits, NewTurn
from coordinator.rows import SessionRows, read_rows
from coordinator.tasks import finishing
from coordinator.terms import Terms
from coordinator.wallclock import WallClock
from store import custody
from store.db import Tx
from store.faults import LedgerBusy, StorageFault
from store.refusal import Refusal
from store.vocab import CustodyId, DecisionId, EndReason, MicroUsd, Millis, RunId, TurnResultKind

log = logging.getLogger(__name__)


class Order(Struct):
    """A command with the promise of its answer."""

    command: OperatorCommand
    answer: "asyncio.Future[Reply]"
    operator: str

    def reply(self, reply: Reply) -> None:
        if not self.answer.done():
            self.answer.set_result(reply)


class LeaveAsked(Struct, frozen=True):
    """The console goes; its holds stay."""

    seconds: float


class HeldSession:
    """From a run's admission to its outcome."""

    def __init__(
        self,
        house: House,
        *,
        run: RunId,
        custody_id: CustodyId,
        terms: Terms,
        profile: AgentProfile,
        driver: base.Driver,
        operator: str,
        limits: EffectiveLimits,
        rows: SessionRows | None = None,
        begin: "Callable[[HeldSession], Awaitable[Refusal | None]] | None" = None,
    ) -> None:
        self.house = house
        self.run_id = run
        self.custody_id = custody_id
        self.terms = terms
        self.profile = profile
        self.driver = driver
        self.operator = operator
        self.limits = limits
        self.inbox: Inbox[Order | LeaveAsked | machine.Input] = Inbox()
        self.live = Live(mode=terms.mode, model=terms.model)
        self.state = machine.SessionState(
            limits=machine.Limits(
                budget=limits.budget,
                max_turns=limits.max_turns,
                working_ms=limits.working_ms,
                fence_at_budget=terms.at_budget == "fence",
                reports_cost=driver.capabilities.reports_cost,
            )
        )
        self.ingest = Ingest(
            run=run,
            custody=custody_id,
            driver=driver,
            redactor=house.redactor,
            ids=house.ids,
            came=house.clock.now(),
        )
        self.rows = rows or SessionRows()
        self._begin = begin or launch.launch
        """How it comes to life: launched, or taken over from a console that is gone."""
        self.supervisor: Supervisor | None = None
        self.generation = 1
        self.nonce = house.ids.secret()
        self.cookie = house.ids.secret()
        self.tree = Path(terms.repository)
        self.head = terms.head
        self.branch = terms.branch
        self.started: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.stop_reason: str | None = None
        """Set the moment a stop is asked, before anything else happens."""
        self.kill_asked = False
        self.stopped_by = ""
        self.gone: SpoolRecord | None = None
        self.exited_at: Millis | None = None
        self.heard_at: Millis | None = None
        """The time of the newest record of its keeper."""
        self.ended = asyncio.Event()
        self.deadlines: dict[str, float] = {}
        self.farewell = b""
        self.concluding: EndReason | None = None
        self.failure: Refusal | None = None
        self.waiters: list[asyncio.Future[Reply]] = []
        """Those who asked for a stop, answered when its books are closed."""
        self.cap: MicroUsd | None = None
        """The agent's own cap, as it was started with."""
        self.cost_ask = ""
        self.interrupt_write = ""
        """Id of an interrupt that the agent has not acknowledged yet."""
        self.wall = WallClock(wall_ms=house.clock.now(), monotonic=house.clock.monotonic())
        self.restart_order: Order | None = None
        """Who asked for more money, while the agent is started again for it."""
        self.next_due = False
        """The old process is gone and its receipt kept: the next one may be started."""
        self.finish_ordered = False
        self.finished_at_rest = False
        """It is finished because nothing more was to come of it, and by no person."""
        self.reattached = 0
        self.early: list[Order] = []
        """Orders that came before it was known what the console before this one had under way."""
        self.left = False
        """Given back without an end: its keeper lives on, the next console picks it up."""
        self.left_for = math.inf
        """Seconds that its keeper was told to wait for one."""
        self.config_before: ConfigReading | None = None
        """Git's configuration before the agent could touch it."""
        self.malformed: Malformed | None = None
        """The last mailbox that could not be read."""
        self.brief_images: tuple[base.Image, ...] = ()
        self.first_turn: NewTurn | None = None
        self.native_id: str | None = terms.conversation or str(house.ids.turn())
        self.turn_watch = turntimeout.TurnWatch()
        self.counted: worklimit.Counted | None = None
        """From what the working time was last counted."""
        self.told_silent: bool | None = None
        """Whether its silence was told; None: not known of the console before."""
        self.told_end: int | None = None
        """The end of which it was told that it comes, 0 for none; None: not known of the console before."""
        self.finish_over: frozenset[DecisionId] = frozenset()
        """Open decisions over which *finish* was asked once already."""
        self.looking = asyncio.Lock()
        """Held while it is looked at what the run changed."""
        self.kept: object = None
        """By what it is known that what was kept last still stands (``evidence.signature``)."""
        self.looks_asked = self.looks_begun = 0
        """How often that was asked for, and up to which asking it was begun."""
        self._child_tasks: set[asyncio.Task[None]] = set()
        self._tasks: asyncio.TaskGroup | None = None

    # ------------------------------------------------------------------------------------------------- from outside

    @property
    def folder(self) -> Path:
        return self.house.settings.spool / self.custody_id

    @property
    def ending(self) -> bool:
        return self.stop_reason is not None or self.gone is not None or self.ended.is_set()

    def finish_if_idle(self) -> bool:
        """Ready, with nothing in flight, nothing asked and nothing waiting, it is finished as it stands; else False."""
        if self.finish_ordered:
            return True
        waiting = self.rows.open_decisions or self.rows.queued
        idle = self.state.ready and self.state.at_rest and self.state.live and not waiting
        # Of a task in line, *finished* means that it is done, and one whose turn somebody broke off is not.
        idle = idle and (self.rows.attempt is None or self.state.last_result is not TurnResultKind.INTERRUPTED)
        if idle and self.stop_reason is None:
            self.finish_ordered = True
            self.inbox.command(machine.FinishAsked())
        return self.finish_ordered

    async def taken_over(self) -> None:
        """Until it is known what becomes of a hold that was taken over."""
        await asyncio.wait([self.started])

    def give(self, command: OperatorCommand, operator: str) -> "asyncio.Future[Reply]":
        """Hand the actor a command."""
        order = Order(command, asyncio.get_running_loop().create_future(), operator)
        if self.ended.is_set():
            order.reply(closing.already_ended(self))
        else:
            self.inbox.command(order)
        return order.answer

    def order_end(self, reason: str, *, by: str = "", kill: bool = False) -> None:
        """End it, at once: the supervisor is told without waiting for the actor or the ledger."""
        begins = self.stop_reason is None
        if begins:
            self.stop_reason = reason
            self.stopped_by = by
            now = self.house.clock.now()
            self.live.ending = EndingView(reason=reason, since=now, steps=(("no-new-turns", 0),))
        self.kill_asked = self.kill_asked or kill
        if self.live.ending is not None and kill:
            self.live.ending = replace(self.live.ending, killing=True)
        self.inbox.command(machine.FenceAsked(reason=reason))
        supervisor = self.supervisor
        if supervisor is not None:
            self.spawn(self._tell(supervisor, self.stop_reason or reason, kill), "order")
            if begins and self.state.ready and self.state.live:
                # Beside it, and not behind what this actor is doing just now.
                self.spawn(deeds.book_end(self, reason), "books of the order")
        self.house.changed()

    async def _tell(self, supervisor: Supervisor, reason: str, kill: bool) -> None:
        steps.reach(steps.Step.BEFORE_ORDER)
        try:
            async with asyncio.timeout(self.house.settings.timing.ladder.total):
                # A kill begins at the ladder's end: not even the farewell is said first.
                await (supervisor.kill() if kill else supervisor.fence(reason))
                steps.reach(steps.Step.ORDERED)
        except TimeoutError:
            # It hears nothing (stopped, or stuck): its keeper ends all that it leaves behind, and says so in the spool.
            log.warning("run %s: its supervisor took no order within the ladder's time; it is killed", self.run_id)
            await asyncio.to_thread(processes.kill_identity, supervisor.identity)
        except (ConnectionError, OSError):
            pass

    # -------------------------------------------------------------------------------------------------------- task

    async def run(self) -> None:
        """The actor's whole life. A bug in it ends this hold and no other."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                try:
                    await self._live()
                except Exception:
                    log.exception("run %s: the session's own code failed", self.run_id)
                    await closing.after_a_bug(self)
                finally:
                    # From here on nothing of it begins any more: a group that has just seen its last task would refuse.
                    self._tasks = None
                    self._cancel_children()
        except* Exception as group:
            log.error("run %s: a task of the session failed", self.run_id, exc_info=group)
        finally:
            self.ended.set()
            if not self.started.done():
                self.started.set_result(closing.already_ended(self))
            self._refuse_rest()
            self.house.changed()

    def spawn(self, work: Coroutine[Any, Any, object], name: str) -> None:
        """A child task, owned by this actor."""
        if self._tasks is None:
            work.close()
            return
        task = self._tasks.create_task(self._guarded(work, name), name=f"run {self.run_id}: {name}")
        self._child_tasks.add(task)
        task.add_done_callback(self._child_tasks.discard)
        # One that is cancelled before its first step would never have begun its work: it is put away, not left lying.
        task.add_done_callback(lambda _task: work.close())

    def _cancel_children(self) -> None:
        for task in list(self._child_tasks):
            task.cancel()

    async def _guarded(self, work: Coroutine[Any, Any, object], name: str) -> None:
        try:
            await work
        except asyncio.CancelledError:
            raise
        except Exception:
            log.exception("run %s: %s failed", self.run_id, name)
            self.order_end(EndReason.PROTOCOL_ERROR)

    def _refuse_rest(self) -> None:
        if self.restart_order is not None:
            self.restart_order.reply(closing.already_ended(self))
        while (left := self.inbox.take_command()) is not None:
            if isinstance(left, Order):
                left.reply(closing.already_ended(self))
        for order in self.early:
            order.reply(closing.already_ended(self))

    async def _live(self) -> None:
        refused = await self._begin(self)
        await self.refresh()
        if refused is not None:
            if not self.started.done():
                self.started.set_result(refused)
            return
        await worklimit.watch(self)
        while (self.gone is None or stuck.TIMER in self.deadlines) and not self.left:
            await self.inbox.wait(self._next_deadline())
            await timers.fire(self)
            while (given := self.inbox.take_command()) is not None:
                if isinstance(given, Order) and "catch-up" in self.deadlines:
                    self.early.append(given)
                elif isinstance(given, Order):
                    await orders.obey(self, given)
                elif isinstance(given, LeaveAsked):
                    await self._leave(given.seconds)
                else:
                    await self.decide(given)
            lost = await taking.waiting(self)
            if lost and self.gone is None:
                await closing.without_wire(self)
            if self.next_due and "catch-up" not in self.deadlines and not self.ending:
                await extending.start_next(self)
            await turntimeout.watch(self)
            await worklimit.watch(self)
            timers.keep_up(self)
            over = finishing.is_over(self.rows, self.state, works_on=bool(self.live.background))
            if over and "catch-up" not in self.deadlines and not self.finish_ordered:
                self.finished_at_rest = self.finish_if_idle()
        if not self.left:
            await closing.close(self)

    async def pump(self, supervisor: Supervisor) -> None:
        """Carry the supervisor's records to the inbox."""
        count = 0
        async for record in supervisor.records():
            await self.inbox.record(record)
            count += 1
            if count % taking.SLICE == 0:
                await taking.turn(self.house)
        await self.inbox.record(WireLost())

    # ------------------------------------------------------------------------------------------------------ inputs

    async def take_in(self, records: list[SpoolRecord]) -> None:
        await taking.all_of(self, records)

    async def decide(self, given: machine.Input) -> None:
        await self.settle(self.ingest.decide(self.state, given))

    async def settle(self, batch: Batch) -> None:
        """Commit a batch, show it, act on it."""
        # Pieces of text alone leave no row, so the offset may wait for the block that they end in: a replay from the
        # older offset finds no row there either.
        if batch.rows or batch.books or batch.writes:
            told = bool(batch.books or batch.writes)

            def commit(tx: Tx) -> SessionRows | None:
                self.ingest.commit(tx, batch, generation=self.generation)
                return read_rows(tx, self.run_id, self.rows) if told else None

            self._use(await self.write(commit))
            steps.committed(batch.books)
            # The one end that the books themselves find: the keeper hears of it at once.
            fenced = self.rows.custody.fence_reason if told and self.rows.custody else None
            if fenced is not None and fenced.startswith(CONVERSATION_OF) and self.stop_reason is None:
                self.order_end(fenced)
        self.state = batch.state
        for known, at in batch.replayed:
            self.live.absorb(known, at)
        for event in batch.feed:
            self.live.absorb(event.event, event.at)
        if batch.feed:
            self.house.feed.put(self.run_id, batch.feed)
        self.house.changed()
        if self.interrupt_write and any(
            isinstance(one.event, base.ControlAcked) and one.event.id == self.interrupt_write for one in batch.feed
        ):
            await timers.interrupt_heard(self)
        if self.cost_ask:
            await extending.take_baseline(self, batch.feed)
        for act in batch.acts:
            await deeds.carry_out(self, act)
        writing.renew_farewell(self)

    async def write(self, body: Any, *, first: bool = False) -> Any:
        """A transaction that must land: a busy ledger is waited for, said on the screen, and never harms the agent.

        ``first``: before what waits for the writer already.
        """
        while True:
            try:
                result = await self.house.ledger.transaction(body, first=first)
            except (LedgerBusy, StorageFault) as trouble:
                self.house.trouble = trouble.refusal
                self.house.changed()
                if isinstance(trouble, StorageFault):
                    self.order_end(EndReason.STORAGE)
                due = self.deadlines.get("renew")
                if due is not None and due <= self.house.clock.monotonic():
                    # This actor is alive and waits: a locked ledger must not look like a lost console to its keeper.
                    await timers.renew(self)
                await asyncio.sleep(0.2)
                continue
            if self.house.trouble:
                self.house.trouble = None
                self.house.changed()
            return result

    async def refresh(self) -> None:
        """Read the run's rows again."""
        self._use(await self.house.ledger.read(lambda tx: read_rows(tx, self.run_id, self.rows)))
        self.house.changed()

    def _use(self, found: SessionRows | None) -> None:
        """Rows that were read; two readings may come the other way round."""
        if found is not None and (found.run is None or found.told >= self.rows.told):
            self.rows = found

    # ------------------------------------------------------------------------------------------------------ timers

    def set_deadline(self, name: str, seconds: float | None) -> None:
        if seconds is None:
            self.deadlines.pop(name, None)
        else:
            self.deadlines[name] = self.house.clock.monotonic() + seconds

    def renew_now(self) -> None:
        """Look at the clocks, and tell the keeper, without waiting for the next time."""
        self.set_deadline("renew", 0.0)
        self.inbox.nudge()

    def _next_deadline(self) -> float:
        now = self.house.clock.monotonic()
        return min([60.0, *(at - now for at in self.deadlines.values())])

    def leave(self, until_seconds: float) -> None:
        """Give it back without an end: its keeper holds it so long."""
        self.inbox.command(LeaveAsked(seconds=until_seconds))

    async def _leave(self, seconds: float) -> None:
        supervisor = self.supervisor
        if supervisor is None or self.stop_reason is not None or self.concluding is not None:
            return
        self.left_for, reason = timers.promised(self, seconds, EndReason.LAPSED)
        with contextlib.suppress(ConnectionError, OSError):
            await supervisor.hold(self.left_for, reason=reason, expires_at_ms=self.limits.expires_at)
            await supervisor.detach()
        self.left = True

    async def stamp_refused(self) -> bool:
        """Whether the custody is no longer open to a first byte."""
        row = await self.house.ledger.read(lambda tx: custody.get(tx, self.custody_id))
        return row is None or row.fence_reason is not None or self.stop_reason is not None

    def fail_start(self, refusal: Refusal) -> None:
        if not self.started.done():
            self.started.set_result(refusal)
