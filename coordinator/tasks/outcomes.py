"""What becomes of a task whose run has ended: facts gathered, decided once, stored, carried out, acknowledged.

The outcome is in the ledger since the transaction that ended the run. What cannot be read yet leaves it there, and it
is looked at again: no new run is begun and nothing is counted meanwhile, and no agent is run again for what it has
ended. What follows from which facts (``facts``) is ``verdict``'s; only the console whose claim the task is decides.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from coordinator import steps
from coordinator.agreed import terms_of
from coordinator.house import House
from coordinator.steps import Step
from coordinator.tasks import facts, notices, result, signedout, verdict as verdict_
from coordinator.tasks.verdict import Verdict
from coordinator.terms import Terms, TreeKind
from store import (
    attempts,
    attention,
    claims,
    outcomes,
    runs,
    tasks,
)
from store.canonical import dumps
from store.db import LedgerFault, Tx
from store.outcomes import Outcome
from store.refusal import Refusal
from store.tasks import Task
from store.vocab import (
    AttentionKind,
    FailureKind,
    Millis,
    OutcomeState,
    RunId,
    TaskState,
)

if TYPE_CHECKING:
    from coordinator.session import HeldSession

log = logging.getLogger(__name__)

_SUPERSEDED: Final = dumps({"superseded": True})
"""Stored in place of a verdict where the task was no longer this run's."""
_UNREAD: Final = "outcome"


async def settle(house: House, sessions: "Mapping[RunId, HeldSession]", checked_again: set[RunId]) -> bool:
    """Deal with all outcomes that are this console's. False: one of them cannot be dealt with yet.

    ``checked_again``: runs whose checks this console has begun because another one did not come to them; grows.
    """
    through = True
    for one in await house.ledger.read(outcomes.open_ones):
        session = sessions.get(one.run)
        if session is not None and not session.ended.is_set():
            continue  # what it leaves behind is still being gathered; its end is told
        try:
            through = await _settle(house, one, checked_again, here=session is not None) and through
        except LedgerFault as fault:
            log.info("the outcome of run %s waits for the ledger: %s", one.run, fault)
            through = False
        except Exception:
            log.exception("the outcome of run %s could not be dealt with; tried again", one.run)
            through = False
    return through


async def _settle(house: House, one: Outcome, checked_again: set[RunId], *, here: bool) -> bool:
    whose = await house.ledger.read(lambda tx: _whose(tx, one, house))
    if whose == "another":
        return True
    if whose == "nobody":
        await house.ledger.transaction(lambda tx: _supersede(tx, one.run))
        return True
    steps.reach(Step.QUEUE_PENDING)
    if one.state is OutcomeState.PENDING:
        ended = await facts.look(house, one.run, checked_again, here=here)
        if ended is None:
            return True  # its checks go on; their results are told
        if isinstance(ended, Refusal):
            log.warning("run %s: what it left cannot be read: %s", one.run, dict(ended.facts))
            await house.ledger.transaction(lambda tx: _tell_unread(tx, one))
            return False
        told = verdict_.stored(verdict_.decide(ended))
        if await house.ledger.transaction(lambda tx: outcomes.decide(tx, run=one.run, verdict=told)) is None:
            return True  # somebody else did
        steps.reach(Step.QUEUE_DECIDED)
    else:
        told = one.verdict or ""
    verdict = verdict_.parse(told)
    if verdict.to is TaskState.DONE:
        await _keep_result(house, one)
    steps.reach(Step.QUEUE_CARRIED_OUT)

    def carry_out(tx: Tx) -> None:
        if _whose(tx, one, house) != "ours":
            return
        task = tasks.get(tx, one.task)
        assert task is not None
        move(tx, task, verdict, run=one.run)
        outcomes.acknowledge(tx, run=one.run, counted=verdict.counted)
        attention.clear(tx, run=one.run, kind=AttentionKind.PAGE, key=_UNREAD, by="read")

    await house.ledger.transaction(carry_out)
    steps.reach(Step.QUEUE_ACKNOWLEDGED)
    house.changed()
    return True


async def _keep_result(house: House, one: Outcome) -> None:
    """What was done in a tree of its own, for the tasks that need it: they begin there."""
    run, terms, needed = await house.ledger.read(lambda tx: _done_in(tx, one))
    if terms is None or terms.tree_kind is not TreeKind.WORKTREE:
        return
    kept = await result.keep_result(
        Path(run.tree), run.id, title=run.title, operator=run.operator, now=house.clock.now()
    )
    if not isinstance(kept, Refusal):
        return
    log.warning("run %s: what it came to could not be kept: %s", run.id, dict(kept.facts))
    if needed:
        text = f"what run {run.id} came to could not be kept: tasks that need it begin without it"
        await house.ledger.transaction(
            lambda tx: attention.raise_once(tx, run=run.id, kind=AttentionKind.PAGE, key="result", text=text)
        )


def _done_in(tx: Tx, one: Outcome) -> tuple[runs.Run, Terms | None, bool]:
    run = runs.get(tx, one.run)
    assert run is not None
    return run, terms_of(tx, run), bool(tasks.needed_by(tx, one.task))


def _whose(tx: Tx, one: Outcome, house: House) -> str:
    """``ours``, ``another``'s, or ``nobody``'s: the task is not at this run any more."""
    task, newest = tasks.get(tx, one.task), attempts.latest(tx, one.task)
    if task is None or task.state is not TaskState.WORKING or newest is None or newest.run != one.run:
        return "nobody"
    return "ours" if task.incarnation == house.incarnation else "another"


def _tell_unread(tx: Tx, one: Outcome) -> None:
    text = f"what run {one.run} left cannot be read, and task {one.task} waits for that; it is tried again"
    attention.raise_once(tx, run=one.run, kind=AttentionKind.PAGE, key=_UNREAD, text=text)


def _supersede(tx: Tx, run: RunId) -> None:
    outcomes.decide(tx, run=run, verdict=_SUPERSEDED)
    outcomes.acknowledge(tx, run=run, counted=True)


def move(tx: Tx, task: Task, verdict: Verdict, *, run: RunId | None) -> Task | None:
    """Carry a verdict out on a task that is this console's. None: the claim was not in force any more."""
    token = task.token or ""
    moved: Task | None
    match verdict.to:
        case TaskState.QUEUED:
            later = Millis(tx.now + verdict.wait_ms) if verdict.wait_ms else Millis(0)
            moved = claims.release(tx, task=task.id, token=token, not_before=later, counted=verdict.counted)
        case TaskState.NEEDS_OPERATOR:
            moved = claims.needs_operator(
                tx, task=task.id, token=token, reason=str(verdict.reason), detail=dumps(dict(verdict.detail))
            )
        case to:
            moved = claims.finish(
                tx,
                task=task.id,
                token=token,
                to=to,
                reason=str(verdict.reason or ""),
                detail=dumps(dict(verdict.detail)),
            )
    if moved is None:
        return None
    if verdict.agent is not None:
        agent = _agent_of(tx, task, run)
        notices.agent_waits(tx, agent=agent, reason=verdict.agent.failure, until=verdict.agent.until, run=run)
        if verdict.agent.failure is FailureKind.AUTHENTICATION:
            signedout.note(tx, agent, tx.now)
    notices.follow(tx, moved, by="queue")
    return moved


def _agent_of(tx: Tx, task: Task, run: RunId | None) -> str:
    row = None if run is None else runs.get(tx, run)
    return row.agent if row is not None else str(msgspec.json.decode(task.wishes.encode()).get("agent") or "")
