"""A desk without a console on a real ledger, with real repositories: what the tests of the orders begin with."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from coordinator.api import (
    AddTasks,
    Done,
    NewTask,
    ProposeSeries,
    QueueCommand,
    QueueView,
    ReadQueue,
    Reply,
    SeriesProposals,
    SeriesTerms,
    SignSeries,
    TasksAdded,
    TaskView,
    Wishes,
)
from coordinator.clock import Clock
from coordinator.house import HouseSettings
from coordinator.tasks import desk as desks, orders
from coordinator.tasks.desk import CommandDesk
from store import claims, incarnations, operations
from store.refusal import Refusal
from store.tasks import Task
from store.tx import Tx
from store.vocab import Billing, IncarnationId, Millis, OperationId, TaskId
from tests.coordinator.held import agents_of, repository

WISHES = Wishes(agent="practice")


class Hand:
    """Who orders at a desk, and the clock on the wall there."""

    def __init__(self, desk: CommandDesk, tree: Path) -> None:
        self.desk = desk
        self.tree = tree

    async def do(self, command: QueueCommand) -> Reply:
        return await orders.serve(self.desk, command, "Ada")

    async def done(self, command: QueueCommand) -> None:
        reply = await self.do(command)
        assert isinstance(reply, Done), reply

    async def no(self, command: QueueCommand) -> Refusal:
        """What is refused, and that the ledger is as it was."""
        before = await self.line()
        reply = await self.do(command)
        assert isinstance(reply, Refusal), reply
        assert (await self.line()).tasks == before.tasks, "something half stands"
        return reply

    async def line(self, limit: int = 500) -> QueueView:
        view = await self.do(ReadQueue(limit=limit))
        assert isinstance(view, QueueView), view
        return view

    async def task(self, id: TaskId) -> TaskView:
        return next(one for one in (await self.line()).tasks if one.id == id)

    async def add(self, *tasks: NewTask) -> tuple[TaskId, ...]:
        added = await self.do(AddTasks(tasks=tasks))
        assert isinstance(added, TasksAdded), added
        return added.tasks

    async def add_one(self, instruction: str = "Mend it.", **more: object) -> TaskId:
        return (await self.add(self.new(instruction, **more)))[0]

    def new(self, instruction: str = "Mend it.", **more: object) -> NewTask:
        plain = NewTask(instruction=instruction, repositories=(str(self.tree),), wishes=WISHES)
        return replace(plain, **more)  # type: ignore[arg-type]

    async def proposed(self, *tasks: TaskId) -> SeriesProposals:
        found = await self.do(ProposeSeries(tasks=tasks))
        assert isinstance(found, SeriesProposals), found
        return found

    async def terms(self, *tasks: TaskId) -> tuple[SeriesTerms, ...]:
        found = await self.proposed(*tasks)
        assert not found.refused, found.refused
        return tuple(one.terms for one in found.proposals)

    async def agree(self, *tasks: TaskId) -> None:
        await self.done(SignSeries(terms=await self.terms(*tasks)))

    async def claim(self, token: str = "a-token") -> Task | None:
        """As a console does it."""
        operation = OperationId(self.desk.ids.secret())

        def take(tx: Tx) -> Task | None:
            if incarnations.get(tx, CONSOLE) is None:
                _console(tx)
            operations.begin(tx, id=operation, incarnation=CONSOLE)
            return claims.take(
                tx,
                operation=operation,
                token=token,
                incarnation=CONSOLE,
                machine="test-machine",
                uid=os.getuid(),
                blocked_agents=(),
                blocked_repositories=(),
            )

        taken = await self.desk.ledger.transaction(take)
        assert not isinstance(taken, Refusal), taken
        return taken


CONSOLE = IncarnationId("a-console")


def _console(tx: Tx) -> None:
    incarnations.register(
        tx,
        id=CONSOLE,
        boot_id="b",
        pid=1,
        start_ticks=1,
        machine="test-machine",
        uid=os.getuid(),
        lock_path="/nowhere",
        socket_path="/nowhere",
        operator="Ada",
    )


class WallClock:
    def __init__(self) -> None:
        self.at = 1_790_000_000_000

    def now(self) -> Millis:
        return Millis(self.at)

    def monotonic(self) -> float:
        return self.at / 1000


@asynccontextmanager
async def at_a_desk(folder: Path, *, clock: Clock | None = None, **more: object) -> AsyncIterator[Hand]:
    """``more``: other settings of the house."""
    tree = folder / "tree"
    if not tree.exists():
        repository(tree)
    settings = HouseSettings(
        operator="Ada",
        machine="test-machine",
        uid=os.getuid(),
        spool=folder / "spool",
        worktrees=folder / "worktrees",
        runtime=folder / "run",
        environment={"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"},
    )
    settings = replace(settings, **more)  # type: ignore[arg-type]
    there = tuple(one for one in agents_of(folder, settings.environment) if one.name in ("practice", "claude"))
    paid = replace(next(one for one in there if one.name == "practice"), name="paid", billing=Billing.KEY)
    async with desks.opened(settings, (*there, paid), folder / "ledger.db", clock=clock or WallClock()) as desk:
        assert not isinstance(desk, Refusal), desk
        yield Hand(desk, tree)
