"""Begins what waits in line, and deals with what has ended: one task of a console, woken when something changed.

A pass first brings to its end what is under way (outcomes, claims of consoles that are gone, claims that came to no
run), then begins what may begin. It is due when the ledger has something new, a session has ended, the operator is
back, or a wait is over; at rest it does nothing at all. What a task becomes is ``verdict``'s, what may be claimed the
store's: here is only the order of things.
"""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field

from coordinator import incarnation, recording, steps
from coordinator.house import House, periods
from coordinator.profiles import Found
from coordinator.steps import Step
from coordinator.tasks import claiming, line, notices, outcomes, signedout, starting
from coordinator.tasks.line import KeptBack
from coordinator.tasks.tasktypes import TaskReason, Wishes
from store import (
    attempts,
    claims,
    custody,
    decisions,
    incarnations,
    operations,
    outcomes as kept,
    reservations,
    runs,
    series,
    tasks,
)
from store.db import LedgerFault, Tx
from store.refusal import Refusal
from store.tasks import Task
from store.vocab import (
    Billing,
    DecisionKind,
    DecisionState,
    MicroUsd,
    OperationId,
    OperationState,
    RefusalReason,
    RunId,
    TaskState,
)

if TYPE_CHECKING:
    from coordinator.coordinator import Coordinator

log = logging.getLogger(__name__)

AGAIN: Final = 30.0
"""Seconds until something that could not be dealt with is tried again, where nothing else comes before."""
LONGEST: Final = 3600.0
"""Seconds for which a wait is trusted: the wall clock may be set meanwhile."""
LAST: Final = 5.0
"""Seconds for which a console that is closed goes on dealing with what has ended; the next one does the rest."""
_DAY: Final = 24 * 3600 * 1000
_UNDONE: Final = (TaskState.QUEUED, TaskState.WORKING, TaskState.NEEDS_OPERATOR)


class _Pass(Struct):
    """What one pass has found out."""

    found: Mapping[str, Found] | None = None
    agents: set[str] = field(default_factory=set)
    """For which nothing is claimed now."""
    repositories: set[str] = field(default_factory=set)
    due: list[float] = field(default_factory=list)
    """Seconds until something may be otherwise."""


class Dispatcher:
    def __init__(self, coordinator: "Coordinator") -> None:
        self._coordinator = coordinator
        self._house = coordinator.house
        self._poked = asyncio.Event()
        self._passing = asyncio.Lock()
        self._checked_again: set[RunId] = set()

    def poke(self) -> None:
        """Something may be otherwise: look again."""
        self._poked.set()

    async def keep(self) -> None:
        """The task that looks."""
        while True:
            due = await self._tried()
            try:
                async with asyncio.timeout(due):
                    await self._poked.wait()
            except TimeoutError:
                pass
            self._poked.clear()

    async def _tried(self) -> float | None:
        try:
            return await self.look()
        except LedgerFault as fault:
            log.info("the line could not be looked at: %s; tried again", fault)
        except Exception:
            log.exception("the line could not be looked at; tried again in %s s", AGAIN)
        return AGAIN

    async def look(self) -> float | None:
        """One pass. Seconds until the next is due; None: only when something changes."""
        async with self._passing:
            this = _Pass()
            await self._take_over()
            if not await outcomes.settle(self._house, self._coordinator.sessions, self._checked_again):
                this.due.append(AGAIN)
            await self._carry_on()
            if await self._open():
                await self._go_on_with_answers()
                await self._begin(this)
                this.due += await self._waits()
            return min([LONGEST, *this.due]) if this.due else None

    async def last_look(self) -> None:
        """Deal with what has ended, and begin nothing: the console is being closed."""
        try:
            async with asyncio.timeout(LAST), self._passing:
                await outcomes.settle(self._house, self._coordinator.sessions, self._checked_again)
                await self._carry_on()
        except (TimeoutError, LedgerFault) as problem:
            log.info("what has ended is left to the next console: %s", problem)

    # -------------------------------------------------------------------------------------- what is under way

    async def _take_over(self) -> None:
        """Claims of consoles that are gone; but for those whose runs are held, whose tasks go with the hold."""
        house = self._house
        others, left = await house.ledger.read(lambda tx: _others(tx, house))
        gone = {one.id for one in others if await asyncio.to_thread(incarnation.is_gone, one)}
        if not gone and not left:
            return

        def seize(tx: Tx) -> None:
            for one in operations.open_of(tx, {*gone, house.incarnation}):
                if one.state is OperationState.BEGUN:
                    operations.move(tx, id=one.id, expect=[OperationState.BEGUN], to=OperationState.CANCELLED)
            for task in claims.of_incarnations_gone(tx, gone, house.settings.machine, house.settings.uid):
                if not _is_held(tx, task):
                    claiming.take(tx, task, house)
            for one in operations.open_of(tx, gone):
                at = None if one.task is None else tasks.get(tx, one.task)
                if at is None or at.token != one.token or at.state is not TaskState.WORKING:
                    operations.move(tx, id=one.id, expect=[OperationState.CLAIMED], to=OperationState.RETIRED)

        await house.ledger.transaction(seize)

    async def _carry_on(self) -> None:
        """Claims of this console that came to no run: those of one that is gone, or that a busy ledger broke off."""
        open_ = await self._open()
        for task, operation in await self._house.ledger.read(self._without_run):
            if operation is not None and open_:
                await starting.start(self._coordinator, task, operation)
            else:
                await starting.give_back(self._house, task, operation, Refusal(RefusalReason.SHUTTING_DOWN))

    def _without_run(self, tx: Tx) -> list[tuple[Task, OperationId | None]]:
        at_work, me = tasks.listing(tx, states=[TaskState.WORKING]), self._house.incarnation
        mine = [one for one in at_work if one.incarnation == me]
        if not mine:
            return []
        due = {one.run for one in kept.open_ones(tx)}
        claimed = {one.token: one.id for one in operations.open_of(tx, [self._house.incarnation])}
        found: list[tuple[Task, OperationId | None]] = []
        for task in mine:
            newest = attempts.latest(tx, task.id)
            if not _is_held(tx, task) and (newest is None or newest.run not in due):
                found.append((task, claimed.get(task.token)))
        return found

    async def _go_on_with_answers(self) -> None:
        """Tasks that asked something, where all of it is answered: their next attempt carries the answers."""
        for task in await self._house.ledger.read(self._answered):
            if not await self._open() or not await self._house.ledger.read(self._free):
                return
            operation, house = await self._operation(), self._house

            def resume(tx: Tx, task: Task = task, operation: OperationId = operation) -> Task | None:
                resumed = claims.resume(tx, task=task.id, token=task.token or "", operation=operation)
                if resumed is None:
                    operations.move(tx, id=operation, expect=[OperationState.BEGUN], to=OperationState.NOTHING)
                else:
                    notices.follow(tx, resumed, by="answered")
                return resumed

            resumed = await house.ledger.transaction(resume)
            if isinstance(resumed, Task):
                steps.reach(Step.QUEUE_CLAIMED)
                await starting.start(self._coordinator, resumed, operation)

    def _answered(self, tx: Tx) -> list[Task]:
        found: list[Task] = []
        for task in claims.kept_for(tx, self._house.incarnation, TaskReason.QUESTION):
            newest = attempts.latest(tx, task.id)
            if newest is None:
                continue
            asked = [one for one in decisions.of_run(tx, newest.run) if one.kind is DecisionKind.PARK]
            if any(one.state is DecisionState.OPEN for one in asked) or not decisions.undelivered(tx, newest.run):
                continue
            if not _in_the_way(tx, task):
                found.append(task)
        return found

    # ------------------------------------------------------------------------------------------- what may begin

    async def _open(self) -> bool:
        house = self._house
        if house.shutting or house.away or house.settings.passing or not house.settings.dispatches:
            return False

        def look(tx: Tx) -> bool:
            return not line.kept_back(tx) and not recording.admission_shut(tx, house.incarnation)

        return await house.ledger.read(look)

    def _free(self, tx: Tx) -> bool:
        return runs.live_count(tx) < self._house.settings.max_held_sessions

    async def _begin(self, this: _Pass) -> None:
        """As long as a slot is free and something can be claimed that can be run."""
        while await self._open():
            task = await self._house.ledger.read(lambda tx: self._next(tx, this))
            if task is None:
                return
            if await self._can_run(task, this):
                await self._claim(this)

    def _next(self, tx: Tx, this: _Pass) -> Task | None:
        if not self._free(tx):
            return None
        next_one = claims.claimable(tx, blocked_agents=this.agents, blocked_repositories=this.repositories)
        return None if next_one is None else tasks.get(tx, next_one)

    async def _can_run(self, task: Task, this: _Pass) -> bool:
        """Whether the task at the head could be run; else what stands in its way is left out of the rest of the pass.

        It costs the task nothing, and nothing is written.
        """
        house, agent = self._house, _wishes(task).agent or ""
        if this.found is None:
            this.found = await house.agents()
        found = this.found.get(agent)
        if found is None or found.problem is not None or await self._signed_out(agent):
            this.agents.add(agent)
            this.due.append(AGAIN)  # it may be installed meanwhile, and no ledger tells
            return False
        if not await asyncio.to_thread(Path(task.repository).is_dir):
            this.repositories.add(task.repository)
            this.due.append(AGAIN)
            return False
        if _wishes(task).in_place and await house.ledger.read(lambda tx: _tree_held(tx, task)):
            # All of its tasks wait behind this one: it is the first of them, and ends with something that is told.
            this.repositories.add(task.repository)
            return False
        if found.profile.billing is Billing.KEY and await house.ledger.read(lambda tx: self._dry(tx, task, agent)):
            this.agents.add(agent)
            day, _month = periods(house.clock.now())
            this.due.append((day + _DAY - house.clock.now()) / 1000)
            return False
        return True

    def _dry(self, tx: Tx, task: Task, agent: str) -> bool:
        of = None if task.series is None else series.get(tx, task.series)
        wanted = (None if of is None else series.left(tx, of).money) or MicroUsd(0)
        return recording.pool_refused(tx, self._house.pools(tx.now), agent=agent, wanted=wanted) is not None

    async def _signed_out(self, agent: str) -> bool:
        """Heard to be signed out since somebody last saw to it: from now on it waits for the operator."""
        ledger = self._house.ledger
        if not await ledger.read(lambda tx: signedout.heard(tx, agent)):
            return False
        await ledger.transaction(lambda tx: signedout.wait(tx, agent))
        return True

    async def _operation(self) -> OperationId:
        house = self._house
        operation = OperationId(house.ids.secret())
        await house.ledger.transaction(lambda tx: operations.begin(tx, id=operation, incarnation=house.incarnation))
        steps.reach(Step.QUEUE_BEGUN)
        return operation

    async def _claim(self, this: _Pass) -> None:
        house = self._house
        operation, token = await self._operation(), house.ids.secret()

        def take(tx: Tx) -> Task | None:
            taken = claims.take(
                tx,
                operation=operation,
                token=token,
                incarnation=house.incarnation,
                machine=house.settings.machine,
                uid=house.settings.uid,
                blocked_agents=this.agents,
                blocked_repositories=this.repositories,
            )
            if taken is None:  # another console was first
                operations.move(tx, id=operation, expect=[OperationState.BEGUN], to=OperationState.NOTHING)
            return taken

        task = await house.ledger.transaction(take)
        if isinstance(task, Task):
            steps.reach(Step.QUEUE_CLAIMED)
            house.changed()
            await starting.start(self._coordinator, task, operation)

    async def _waits(self) -> list[float]:
        """Seconds until a wait in the ledger is over."""

        at, now = await self._house.ledger.read(lambda tx: (claims.wakes_at(tx), tx.now))
        return [] if at is None else [(at - now) / 1000]


def keep_back(tx: Tx) -> None:
    """All is stopped: where anything is in line, nothing of it begins before the operator lets it go."""
    if any(count for state, count in tasks.counts(tx).items() if state in _UNDONE):
        line.keep_back(tx, KeptBack.STOP_ALL)


def _others(tx: Tx, house: House) -> tuple[list[incarnations.Incarnation], bool]:
    """Other consoles that have set out to claim something, or have claimed it; whether this one has left something
    begun, which only a ledger that broke off in between can do."""
    begun = operations.open_of(tx)
    owners = {*claims.owners(tx), *(one.incarnation for one in begun)} - {house.incarnation}
    found = [incarnations.get(tx, owner) for owner in sorted(owners)]
    mine = any(one.incarnation == house.incarnation and one.state is OperationState.BEGUN for one in begun)
    return [one for one in found if one is not None], mine


def _in_the_way(tx: Tx, task: Task) -> bool:
    """Whether somebody works just now at what it reserves, or something of its own is still being ended."""
    at_work = reservations.at_work(tx)
    others = reservations.in_the_way(at_work, task=task.id, repository=task.repository, paths=task.paths)
    return others is not None or any(one.task == task.id for one in at_work)


def _is_held(tx: Tx, task: Task) -> bool:
    """Whether the newest attempt of the task has no outcome yet."""
    newest = attempts.latest(tx, task.id)
    run = None if newest is None else runs.get(tx, RunId(newest.run))
    return run is not None and run.outcome is None


def _tree_held(tx: Tx, task: Task) -> bool:
    """Whether somebody works in the repository itself, or what was done there is still being looked at."""
    if any(one.in_place and one.tree == task.repository for one in custody.not_closed(tx)):
        return True
    at_work = tasks.listing(tx, states=[TaskState.WORKING])
    return any(one.repository == task.repository and _wishes(one).in_place for one in at_work)


def _wishes(task: Task) -> Wishes:
    return msgspec.json.decode(task.wishes.encode(), type=Wishes)
