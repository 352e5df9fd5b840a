"""Tasks put in line and agreed to, straight into the ledger: what the tests of the dispatcher begin with."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from coordinator.api import AnswerDecision, Done, Proposal, Propose, SeriesTerms, Wishes
from coordinator.clock import RealClock
from coordinator.drivers.base import QuestionReply
from coordinator.tasks import seriesterms
from coordinator.terms import TreeKind
from store import attempts, entries, operations, outcomes, runs, series, tasks
from store.canonical import dumps
from store.db import Tx
from store.refusal import Refusal
from store.runs import Run
from store.tasks import Task
from store.vocab import DecisionState, MicroUsd, Millis, OutcomeState, RunId, SeriesId, TaskId, TaskState
from tests.coordinator.held import Holding, script
from tests.waiting import eventually

T = TypeVar("T")

MODE = "acceptEdits"
"""In which the practice agent writes files without asking."""
BUDGET = MicroUsd(5_000_000)


def writes(name: str, text: str = "x", **more: object) -> str:
    """What an agent is told that writes a file and is done."""
    return script({"write": name, "content": text, **more}, {"text": "done"})


async def put(
    held: Holding,
    instruction: str,
    *,
    repository: Path | None = None,
    paths: Sequence[str] = (),
    needs: Sequence[TaskId] = (),
    priority: int = 0,
    signed: bool = True,
    **wishes: object,
) -> TaskId:
    """In line, and agreed to. ``wishes``: other than ``Wishes`` has them."""
    wanted = Wishes(**{"agent": "practice", "mode": MODE, "script": "plain", "budget": BUDGET, **wishes})  # type: ignore[arg-type]

    def add(tx: Tx) -> Task | Refusal:
        return tasks.add(
            tx,
            title=instruction[:20],
            instruction=instruction,
            repository=str(repository or held.tree),
            paths=dumps(list(paths)),
            wishes=dumps(msgspec.to_builtins(wanted)),
            priority=priority,
            needs=needs,
            operator="Ada",
        )

    added = await held.coordinator.house.ledger.transaction(add)
    assert isinstance(added, Task), added
    if signed:
        await sign(held, added.id)
    return added.id


async def terms_of(held: Holding, task: Task) -> SeriesTerms:
    """What would be agreed to for it now."""
    wanted = msgspec.json.decode(task.wishes.encode(), type=Wishes)
    proposal = await held.do(
        Propose(
            instruction=task.instruction,
            repository=task.repository,
            agent=wanted.agent,
            mode=wanted.mode,
            worktree=not wanted.in_place,
            preamble=wanted.preamble,
            rules=wanted.rules,
            script=wanted.script,
        )
    )
    assert isinstance(proposal, Proposal), proposal
    found, house = proposal.terms, held.coordinator.house
    return SeriesTerms(
        task=task.id,
        revision=task.revision,
        instruction=task.instruction,
        preamble=found.preamble,
        agent=found.agent,
        driver=found.driver,
        billing=found.billing,
        repository=found.repository,
        paths=tuple(msgspec.json.decode(task.paths.encode())),
        in_place=found.tree_kind is TreeKind.IN_PLACE,
        model=found.model,
        mode=found.mode,
        budget=wanted.budget,
        attempts=wanted.attempts,
        max_turns=40,
        working_seconds=None,
        run_seconds=3600,
        expires_at=Millis(house.clock.now() + 1000 * (wanted.expires_seconds or 24 * 3600)),
        attendance_seconds=found.attendance_seconds,
        at_budget="hold",
        machine=found.machine,
        uid=found.uid,
        rules=found.rules,
        setup=found.setup,
        checks=found.checks,
        script=found.script,
    )


async def sign(held: Holding, id: TaskId, *, alter: Callable[[SeriesTerms], SeriesTerms] = lambda one: one) -> SeriesId:
    house = held.coordinator.house
    task = await get(held, id)
    agreed = alter(await terms_of(held, task))
    stored, name = seriesterms.canonical(agreed), SeriesId(house.ids.secret())

    def write(tx: Tx) -> None:
        series.sign(
            tx,
            id=name,
            task=id,
            revision=task.revision,
            terms=stored,
            digest=seriesterms.digest_of(stored),
            attempts=agreed.attempts,
            budget=agreed.budget,
            operator="Ada",
            expires_at=agreed.expires_at,
        )
        assert tasks.attach_series(tx, id=id, revision=task.revision, series=name) is not None

    await house.ledger.transaction(write)
    held.coordinator.dispatcher.poke()
    return name


async def get(held: Holding, id: TaskId) -> Task:
    task = await held.coordinator.house.ledger.read(lambda tx: tasks.get(tx, id))
    assert task is not None
    return task


PATIENCE = 30.0
"""Seconds: several processes are started and ended for each task."""


async def until(held: Holding, id: TaskId, state: TaskState, *, timeout: float = PATIENCE) -> Task:
    def look(tx: Tx) -> Task | None:
        task = tasks.get(tx, id)
        return task if task is not None and task.state is state else None

    return await seen(held, look, timeout)


async def seen(held: Holding, look: Callable[[Tx], T | None], timeout: float = PATIENCE) -> T:
    """What is found in the ledger, once it is there."""
    ledger = held.coordinator.house.ledger
    looks = [asyncio.create_task(ledger.read(look))]

    def found() -> T | None:
        if not looks[-1].done() or looks[-1].result() is not None:
            return looks[-1].result() if looks[-1].done() else None
        looks[-1] = asyncio.create_task(ledger.read(look))
        return None

    try:
        there = await eventually(found, timeout)
    except AssertionError:
        told = await ledger.read(lambda tx: [(one.id, one.state, one.reason, one.detail) for one in tasks.listing(tx)])
        raise AssertionError(f"never seen; the tasks are {told}") from None
    assert there is not None
    return there


async def runs_of(held: Holding, id: TaskId) -> list[Run]:
    """Its attempts' runs, the newest last."""

    def look(tx: Tx) -> list[Run]:
        return [run for one in attempts.of_task(tx, id) if (run := runs.get(tx, one.run)) is not None]

    return await held.coordinator.house.ledger.read(look)


async def working(held: Holding, id: TaskId, *, nth: int = 1) -> RunId:
    """The run of its nth attempt, once there is one."""
    return await seen(held, lambda tx: made[nth - 1].run if len(made := attempts.of_task(tx, id)) >= nth else None)


def settled(tx: Tx) -> None:
    """Nothing of the queue is half done: to be asked when the line is at rest."""
    assert operations.open_of(tx) == []
    assert [one for one in outcomes.open_ones(tx) if one.state is not OutcomeState.ACKNOWLEDGED] == []


ASKS = {"ask": "Go on?", "options": ["yes — on", "no — off"]}
"""A step that waits for the operator in its turn, until the test lets it go on."""


class SetClock(RealClock):
    """The real one, set forward by a test."""

    ahead = 0

    def now(self) -> Millis:
        return Millis(super().now() + self.ahead)


async def let_go(held: Holding, run: int) -> None:
    """Answer the question of ``ASKS``."""
    view = await held.until(run, lambda v: any(one.state is DecisionState.OPEN for one in v.decisions))  # type: ignore[arg-type]
    asked = next(one for one in view.decisions if one.state is DecisionState.OPEN)
    reply = QuestionReply(answers={one.text: (one.choices[0].label,) for one in asked.questions})
    command = AnswerDecision(
        run=view.run, decision=asked.id, revision=asked.revision, payload_hash=asked.payload_hash, answer=reply
    )
    assert isinstance(await held.do(command), Done)


async def at_rest(held: Holding) -> None:
    """Nothing is half done, and one more look at the line writes nothing."""
    ledger = held.coordinator.house.ledger
    await held.coordinator.dispatcher.look()
    await ledger.read(settled)
    before = await ledger.read(entries.newest_seq)
    await held.coordinator.dispatcher.look()
    assert await ledger.read(entries.newest_seq) == before
