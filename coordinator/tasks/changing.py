"""What the operator changes of tasks in line: one short transaction each, with the notice that goes or comes."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from coordinator.api import (
    AcceptTask,
    Done,
    EditTask,
    HoldLine,
    HoldTask,
    ReleaseAgent,
    RemoveTask,
    RetryTask,
)
from coordinator.constants import TURN_BYTES
from coordinator.tasks import line, notices, paths
from coordinator.tasks.adding import stored_wishes, title_of, wishes_refused
from coordinator.tasks.desk import Desk
from coordinator.tasks.line import KeptBack
from store import attention, tasks
from store.canonical import dumps
from store.refusal import Refusal
from store.tasks import Task
from store.tx import Tx
from store.vocab import AttentionKind, RefusalReason, TaskId

Change = HoldTask | HoldLine | RetryTask | AcceptTask | RemoveTask | ReleaseAgent


async def change(desk: Desk, command: Change, operator: str) -> Done | Refusal:
    match command:
        case HoldTask(task=task, held=held):
            return await _moved(desk, operator, lambda tx: tasks.hold(tx, id=task, held=held))
        case RetryTask(task=task):
            return await _moved(desk, operator, lambda tx: tasks.retry(tx, id=task))
        case AcceptTask(task=task):
            return await _moved(desk, operator, lambda tx: tasks.accept(tx, id=task))
        case RemoveTask(task=task):
            return await _moved(desk, operator, lambda tx: tasks.remove(tx, id=task))
        case HoldLine(held=held):
            return await desk.ledger.transaction(lambda tx: _hold_line(tx, held=held))
        case ReleaseAgent(agent=agent):
            known = any(one.name == agent for one in desk.profiles)
            return await desk.ledger.transaction(lambda tx: _release(tx, desk, agent, operator=operator, known=known))


async def _moved(desk: Desk, operator: str, move: Callable[[Tx], Task | Refusal]) -> Done | Refusal:
    def write(tx: Tx) -> Done | Refusal:
        task = move(tx)
        if isinstance(task, Refusal):
            return task
        if tasks.get(tx, task.id) is not None:
            notices.follow(tx, task, by=operator)
        else:
            attention.clear(tx, run=None, kind=AttentionKind.TASK, key=notices.key_of(task.id), by=operator)
        return Done()

    return await desk.ledger.transaction(write)


def _hold_line(tx: Tx, *, held: bool) -> Done:
    if held:
        line.keep_back(tx, KeptBack.OPERATOR)
    else:
        line.let_go(tx)
    return Done()


def _release(tx: Tx, desk: Desk, agent: str, *, operator: str, known: bool) -> Done | Refusal:
    if not notices.agent_goes_on(tx, agent, by=operator) and not known:
        names = ", ".join(one.name for one in desk.profiles)
        return Refusal(RefusalReason.UNKNOWN_AGENT, {"agent": agent, "agents": names})
    return Done()


async def edit(desk: Desk, command: EditTask) -> Done | Refusal:
    """What is given is looked at as when a task is added; terms that were agreed to for something else are stale."""
    task = await desk.ledger.read(lambda tx: tasks.get(tx, command.task))
    if task is None:
        return Refusal(RefusalReason.NO_SUCH_TASK, {"task": command.task})
    refused = _wrong(desk, command)
    if refused is not None:
        return refused
    kept = (
        None
        if command.paths is None
        else await asyncio.to_thread(paths.normalise, command.paths, Path(task.repository))
    )
    if isinstance(kept, Refusal):
        return kept
    instruction = command.instruction
    title = None if command.title is None else title_of(desk, command.title, instruction or task.instruction)

    def write(tx: Tx) -> Done | Refusal:
        edited = tasks.edit(
            tx,
            id=command.task,
            expect_revision=command.revision,
            title=title,
            instruction=instruction,
            paths=None if kept is None else dumps(list(kept)),
            wishes=None if command.wishes is None else stored_wishes(command.wishes),
            priority=command.priority,
            needs=None if command.needs is None else _each_once(command.needs),
        )
        return edited if isinstance(edited, Refusal) else Done()

    return await desk.ledger.transaction(write)


def _wrong(desk: Desk, command: EditTask) -> Refusal | None:
    if command.instruction is not None:
        if not command.instruction.strip():
            return Refusal(RefusalReason.EMPTY_TURN)
        if (size := len(command.instruction.encode("utf-8", "replace"))) > TURN_BYTES:
            return Refusal(RefusalReason.TURN_TOO_LARGE, {"bytes": size, "limit": TURN_BYTES})
    return None if command.wishes is None else wishes_refused(desk, command.wishes)


def _each_once(needs: tuple[TaskId, ...]) -> tuple[TaskId, ...]:
    return tuple(dict.fromkeys(needs))
