"""A run that streams, asks and is answered for as long as consoles come and go; each console is killed at any moment.

Unlike the flight through the named steps nothing is aimed at here: the moment is random, and so is what it hits. What
is found in the end is counted, for the test and for the bench.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from coordinator.api import AnswerDecision, OperatorCommand, ReleaseQueue, Say, SessionView, Started, Stop
from coordinator.custody.processes import carriers
from coordinator.drivers.base import Allow, QuestionReply
from store import custody, decisions, events, runs, turns
from store.db import Tx
from store.vocab import DecisionKind, DecisionState, MicroUsd, RunId, TurnState
from tests.coordinator.held import Holding, bash, repository, script
from tests.faults import flight, invariants
from tests.faults.consoles import KILLED, Consoles
from tests.waiting import eventually

STREAMED = "streamed.txt"


def part(number: int) -> str:
    """One turn's text: prose in pieces, a command to be allowed, a question, prose. ``number``: unlike any other."""
    prose = f"part {number}: " + "streaming words without an end " * 12
    return f"part {number} " + script(
        {"text": prose, "chunks": 30, "slow": 0.002, **bash(f"echo {number} >> {STREAMED}")},
        {"do": "stderr", "line": f"noise {number}"},
        {"ask": f"Number {number}?", "options": ["yes — go on", "no — stop"]},
        {"text": prose, "chunks": 30, "slow": 0.002},
    )


@dataclass(slots=True)
class Operator:
    """Keeps it going: answers what is asked, has the next part ready before the last one is through."""

    held: Holding
    run: RunId

    async def keep_going(self) -> None:
        while True:
            await self.held.do(await self._something_to_do())

    async def _something_to_do(self) -> OperatorCommand:
        done: list[OperatorCommand] = []

        def look() -> bool:
            view = self.held.view(self.run)
            if view is not None and view.outcome is None:
                done.extend(wanted(view))
            return bool(done)

        await eventually(look, flight.PATIENCE)
        return done[0]


def wanted(view: SessionView) -> list[OperatorCommand]:
    """What an operator would do just now."""
    for one in view.decisions:
        if one.state is DecisionState.OPEN:
            answer = (
                Allow()
                if one.kind is DecisionKind.PERMISSION
                else QuestionReply(answers={q.text: (q.choices[0].label,) for q in one.questions})
            )
            return [
                AnswerDecision(
                    run=view.run, decision=one.id, revision=one.revision, payload_hash=one.payload_hash, answer=answer
                )
            ]
    if view.queue_held:
        return [ReleaseQueue(run=view.run)]
    if not view.queued:
        return [Say(run=view.run, text=part(time.monotonic_ns()))]
    return []


async def stream(held: Holding, holds: Callable[[], None]) -> None:
    """A console's whole life here: picks the run up, or starts it, and keeps it going until it is killed."""
    known = await _live(held)
    if known:  # one that was killed before its custody was committed has never started, and is refused
        run = known[0].id
    else:
        started = await held.try_start(part(1), max_turns=100_000, budget=MicroUsd(10**12))
        assert isinstance(started, Started), started
        run = started.run
    holds()
    await Operator(held, run).keep_going()


@dataclass(slots=True)
class Count:
    """What was found after the last console, over one run or many."""

    kills: int = 0
    turns: int = 0
    events: int = 0
    doubled_or_missing: int = 0
    answers: int = 0
    answered_twice: int = 0
    uncertain: int = 0
    alive: int = 0

    def add(self, other: "Count") -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


async def killed(consoles: Consoles, folder: Path, *, kills: int, chance: random.Random) -> Count:
    """One run, so many consoles; then one that ends it, and the count. All invariants are looked at too."""
    repository(folder / "tree")
    for _ in range(kills):
        # Some of them on their way up, while they sweep and attach; the others at work.
        at_work = chance.random() < 0.6
        after = chance.uniform(0.02, 0.8) if at_work else chance.uniform(0.0, 0.3)
        exit = await consoles.fly(folder, stream=True, at_work=at_work, after=after)
        assert exit == KILLED, "a console ended by itself"
    async with flight.house(folder) as held:
        house = held.coordinator.house
        for run in await _live(held):
            await _to_rest(held, run.id)
        await invariants.check(house.ledger, house.settings.spool, held.tree)
        return await house.ledger.read(lambda tx: _counted(tx, kills, held.tree))


async def _live(held: Holding) -> list[runs.Run]:
    return await held.coordinator.house.ledger.read(lambda tx: runs.listing(tx, live_only=True))


async def _to_rest(held: Holding, run: RunId) -> None:
    def rests() -> bool:
        view = held.view(run)
        return view is not None and (view.outcome is not None or not _flying(view))

    while not rests():
        view = held.view(run)
        for command in [one for one in (wanted(view) if view else []) if isinstance(one, AnswerDecision)]:
            await held.do(command)
        try:
            await eventually(lambda: rests() or _asked(held, run), flight.PATIENCE)
        except AssertionError:
            raise flight.Stuck(f"stuck at {held.view(run)}") from None
    await held.do(Stop(run=run))
    await held.until(run, lambda view: view.outcome is not None)
    session = held.coordinator.sessions.get(run)
    if session is not None:
        await session.ended.wait()


def _asked(held: Holding, run: RunId) -> bool:
    view = held.view(run)
    return view is not None and any(one.state is DecisionState.OPEN for one in view.decisions)


def _flying(view: SessionView) -> bool:
    return any(turn.state in flight.FLYING for turn in view.turns)


def _counted(tx: Tx, kills: int, tree: Path) -> Count:
    count = Count(kills=kills)
    diary = invariants.Diary.of(tree)
    for run in runs.listing(tx, limit=10):
        held = custody.of_run(tx, run.id)
        count.turns += len(turns.of_run(tx, run.id))
        count.uncertain += sum(turn.state is TurnState.UNCERTAIN for turn in turns.of_run(tx, run.id))
        rows = events.page(tx, run.id, limit=1_000_000)
        count.events += len(rows)
        count.doubled_or_missing += len(rows) - len({(row.offset, row.n) for row in rows})
        asked = decisions.of_run(tx, run.id)
        count.answers += sum(diary.answers[one.request] for one in asked)
        count.answered_twice += sum(diary.answers[one.request] > 1 for one in asked)
        count.uncertain += sum(one.state is DecisionState.UNCERTAIN for one in asked)
        count.alive += len(carriers(held.nonce)) if held is not None else 0
    return count
