"""The line under consoles that are killed: one task for the named steps, a scene of ten for any moment.

Nobody answers anything here: what is in line was agreed to, and each console that comes goes on with it. What is found
in the end is looked at from outside: the ledger, the spools, the agents' own diaries.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from coordinator.api import Sweep
from store import attempts, custody, outcomes, runs, series, tasks
from store.db import Tx
from store.runs import Run
from store.vocab import CustodyState, MicroUsd, OutcomeState, RunOutcome, TaskId, TaskState
from tests.coordinator.held import Holding, repository, script
from tests.coordinator.tasks import lining
from tests.faults import flight, invariants
from tests.faults.dooming import Doom

SLOTS = 3
COST = 0.01
BUDGET = MicroUsd(100_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One task of the scene."""

    name: str
    tree: str = "tree"
    paths: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def instruction(self) -> str:
        written = {"write": f"{self.name}.txt", "content": self.name, "cost": COST, "delay": 0.1}
        return f"part {self.name}: " + script(written, {"text": "so far", "delay": 0.2}, {"text": "done", "cost": COST})


ONE = (Part(name="only"),)
TEN = (
    Part(name="a", paths=("src",)),
    Part(name="b", paths=("src/deep",)),
    Part(name="c", paths=("docs",)),
    Part(name="d", needs=("a",)),
    Part(name="e", needs=("a", "c"), paths=("docs",)),
    Part(name="f", tree="other", paths=(".",)),
    Part(name="g", tree="other", paths=("src",)),
    Part(name="h", tree="other", needs=("f",)),
    Part(name="i", tree="other", needs=("f", "d")),
    Part(name="j", needs=("i", "e")),
)


def house(folder: Path, doom: Doom | None = None) -> AbstractAsyncContextManager[Holding]:
    return flight.house(folder, doom=doom, max_held_sessions=SLOTS)


async def put_in_line(held: Holding, folder: Path, parts: Sequence[Part], **wishes: object) -> None:
    """What of them is not there yet, and agreed to: a console may have been killed in between."""
    known = {task.instruction: task for task in await held.coordinator.house.ledger.read(tasks.listing)}
    ids: dict[str, TaskId] = {}
    for part in parts:
        task = known.get(part.instruction)
        if task is not None and (task.series is not None or task.state is not TaskState.QUEUED):
            ids[part.name] = task.id
        elif task is not None:
            await lining.sign(held, task.id)
            ids[part.name] = task.id
        else:
            told = {"paths": part.paths, "needs": [ids[name] for name in part.needs], "budget": BUDGET, **wishes}
            ids[part.name] = await lining.put(held, part.instruction, repository=folder / part.tree, **told)  # type: ignore[arg-type]


async def to_the_end(
    held: Holding, folder: Path, parts: Sequence[Part], *, patience: float = 60.0, **wishes: object
) -> None:
    """``wishes``: other than the tests of the line have them."""
    await put_in_line(held, folder, parts, **wishes)

    def all_done(tx: Tx) -> bool | None:
        listed = tasks.listing(tx)
        stuck = [one for one in listed if one.state not in (TaskState.QUEUED, TaskState.WORKING, TaskState.DONE)]
        return (
            True if stuck or (len(listed) == len(parts) and {one.state for one in listed} == {TaskState.DONE}) else None
        )

    await lining.seen(held, all_done, timeout=patience)


def made_ready(folder: Path, parts: Sequence[Part]) -> None:
    for name in {part.tree for part in parts}:
        repository(folder / name)


# ---------------------------------------------------------------------------------------------------------- afterwards


async def check(held: Holding, folder: Path, parts: Sequence[Part]) -> None:
    """Each done once, in its order and within what was agreed to; nothing lost, nothing alive, nothing half done."""
    house_ = held.coordinator.house
    for session in list(held.coordinator.sessions.values()):
        await session.ended.wait()
    # A keeper that was only coming up when its console was killed, and whose hold was settled without it, is let go by
    # any later look.
    await held.do(Sweep())
    await held.coordinator.dispatcher.look()
    await house_.ledger.read(lining.settled)
    await house_.ledger.read(lambda tx: _tasks(tx, parts))
    await invariants.check(house_.ledger, house_.settings.spool, house_.settings.worktrees / "any", output_lost=True)
    heard = _heard(house_.settings.worktrees)
    assert heard == Counter({part.name: 1 for part in parts}), f"a brief was heard by {heard}"


def _tasks(tx: Tx, parts: Sequence[Part]) -> None:
    listed = {task.instruction: task for task in tasks.listing(tx)}
    by_name = {part.name: listed[part.instruction] for part in parts}
    states = {name: (task.state, task.reason, task.detail) for name, task in by_name.items()}
    assert {state for state, *_ in states.values()} == {TaskState.DONE}, states
    done: dict[str, Run] = {}
    for part in parts:
        task = by_name[part.name]
        made = attempts.of_task(tx, task.id)
        tried = [run for one in made if (run := runs.get(tx, one.run)) is not None]
        finished = [run for run in tried if run.outcome is RunOutcome.FINISHED]
        assert len(finished) == 1, f"{part.name} was done {len(finished)} times: {tried}"
        _decided_once(tx, part.name, tried)
        done[part.name] = finished[0]
        assert (Path(finished[0].tree) / f"{part.name}.txt").read_text() == part.name, "its tree is lost"
        for one in made:
            agreed = series.get(tx, one.series)
            assert agreed is not None and agreed.budget is not None
            assert (
                series.spent(tx, agreed.id) <= agreed.budget and series.attempts_made(tx, agreed.id) <= agreed.attempts
            )
        assert len({one.operation for one in made}) == len(made)
    for part in parts:
        for need in part.needs:
            ended = done[need].ended_at
            assert ended is not None and done[part.name].created_at >= ended, f"{part.name} did not wait for {need}"
        before = [done[one.name] for one in parts if one.name in part.needs and one.tree == part.tree]
        if before:
            newest = max(before, key=lambda run: (run.ended_at or 0, run.id))
            written = {name for name, run in done.items() if run.id == newest.id}
            found = {file.stem for file in Path(done[part.name].tree).glob("*.txt")}
            assert written < found, f"{part.name} began without what it needs: {found}"
    _apart(tx, parts, done)


def _decided_once(tx: Tx, name: str, tried: Sequence[Run]) -> None:
    """Every attempt has its outcome, dealt with to the end; one of them says that the task is done."""
    kept = [one for run in tried if (one := outcomes.get(tx, run.id)) is not None]
    assert len(kept) == len(tried) and {one.state for one in kept} == {OutcomeState.ACKNOWLEDGED}, (name, kept)
    became = [json.loads(one.verdict or "{}").get("to") for one in kept]
    assert became.count(TaskState.DONE) == 1, f"what became of {name}: {became}"


def _apart(tx: Tx, parts: Sequence[Part], done: Mapping[str, Run]) -> None:
    """Those whose paths overlap were never held side by side, and never more than there are slots."""
    spans: dict[str, tuple[int, int]] = {}
    for name, run in done.items():
        held = custody.of_run(tx, run.id)
        assert held is not None and held.state is CustodyState.CLOSED and held.closed_at is not None
        spans[name] = (run.created_at, held.closed_at)
    for one in parts:
        for other in parts:
            if one.name < other.name and one.tree == other.tree and _overlap(one.paths, other.paths):
                (a, b), (c, d) = spans[one.name], spans[other.name]
                assert b <= c or d <= a, f"{one.name} and {other.name} worked at the same paths side by side"
    for begun, _ in spans.values():
        assert sum(a <= begun < b for a, b in spans.values()) <= SLOTS


def _overlap(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    pairs = [("" if a == "." else f"{a}/", "" if b == "." else f"{b}/") for a in ours for b in theirs]
    return any(a.startswith(b) or b.startswith(a) for a, b in pairs)


def _heard(folder: Path) -> "Counter[str]":
    """How many agents heard the brief of each part, by their own diary."""
    found: Counter[str] = Counter()
    diary = folder / "heard"
    for line in diary.read_bytes().splitlines() if diary.exists() else []:
        told = json.loads(json.loads(line)["line"] or "{}")
        if told.get("type") == "user" and (text := json.dumps(told)) and "part " in text:
            found[text.partition("part ")[2].partition(":")[0]] += 1
    return found
