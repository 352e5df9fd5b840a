"""From a claimed task to the run that is its attempt: what is found now is held against what was agreed to, and the run
is admitted in the transaction in which it becomes the attempt.

A task that cannot be begun is given back with the reason (``verdict.refused``), in one transaction with the end of the
operation under which it was claimed; nothing is begun then, and nothing is left behind.
"""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from coordinator import admitting, proposing, steps
from coordinator.agreed import terms_of
from coordinator.house import House
from coordinator.recording import Claim
from coordinator.starttypes import StartRun
from coordinator.steps import Step
from coordinator.tasks import facts, outcomes, result, seriesterms, telling, verdict as verdict_
from coordinator.tasks.tasktypes import SeriesTerms, TaskReason
from coordinator.tasks.verdict import Verdict
from coordinator.terms import Terms, TreeKind
from store import attempts, operations, runs, series, tasks
from store.db import LedgerFault, Tx
from store.refusal import Refusal
from store.tasks import Task
from store.vocab import (
    MicroUsd,
    Millis,
    OperationId,
    OperationState,
    RefusalReason,
    RunOutcome,
    TaskState,
)

if TYPE_CHECKING:
    from coordinator.coordinator import Coordinator

log = logging.getLogger(__name__)

_OUR_FAULT: Final = Verdict(
    to=TaskState.NEEDS_OPERATOR, reason=TaskReason.REFUSED, detail={"reason": str(RefusalReason.NEVER_STARTED)}
)


class Beginning(Struct, frozen=True, kw_only=True):
    """What the ledger tells of the attempt that is to be begun."""

    agreed: SeriesTerms
    operator: str
    """Who agreed."""
    spent: MicroUsd
    n: int
    of: int
    before: runs.Run | None
    """The attempt that it goes on from."""
    needs: tuple[runs.Run, ...]
    """Those by which what it needs was done in trees of their own, the newest first."""


async def start(coordinator: "Coordinator", task: Task, operation: OperationId) -> bool:
    """Begin the attempt. False: it could not be begun, and the task is given back.

    Raises:
        LedgerFault: nothing was begun, and the claim stands.
    """
    try:
        return await _start(coordinator, task, operation)
    except LedgerFault:
        raise
    except Exception:
        # A fault of our own over one task must not keep all others from being begun.
        log.exception("task %s could not be begun", task.id)
        await give_back(coordinator.house, task, operation, _OUR_FAULT)
        return False


async def _start(coordinator: "Coordinator", task: Task, operation: OperationId) -> bool:
    house, stops_before = coordinator.house, coordinator.stops_of_all
    begun = await house.ledger.read(lambda tx: _beginning(tx, task))
    terms = begun if isinstance(begun, Refusal) else await _terms(house, begun)
    if isinstance(terms, Refusal) or isinstance(begun, Refusal):
        assert isinstance(terms, Refusal)
        await give_back(house, task, operation, terms)
        return False
    assert task.series is not None
    claim = Claim(task=task.id, token=task.token or "", series=task.series, operation=operation)
    admitted = await admitting.admit(house, StartRun(terms=terms, title=task.title), begun.operator, claim)
    if isinstance(admitted, Refusal):
        await give_back(house, task, operation, admitted)
        return False
    steps.reach(Step.QUEUE_ADMITTED)
    coordinator.begin(admitted, begun.operator, stops_before)
    return True


async def give_back(house: House, task: Task, operation: OperationId | None, why: Refusal | Verdict) -> None:
    """The claim is over, and no run came of it."""

    def write(tx: Tx) -> None:
        if operation is not None:
            operations.move(tx, id=operation, expect=[OperationState.CLAIMED], to=OperationState.RETIRED)
        now = tasks.get(tx, task.id)
        if now is None or now.state is not TaskState.WORKING or now.token != task.token:
            return  # it is somebody else's by now
        verdict = verdict_.refused(why, facts.agreed(tx, now)) if isinstance(why, Refusal) else why
        outcomes.move(tx, now, verdict, run=None)

    await house.ledger.transaction(write)
    house.changed()


def _beginning(tx: Tx, task: Task) -> Beginning | Refusal:
    row = None if task.series is None else series.get(tx, task.series)
    if row is None:
        return Refusal(RefusalReason.AUTHORIZATION_CLOSED, {"task": task.id})
    if seriesterms.digest_of(row.terms) != row.digest:
        return Refusal(RefusalReason.TERMS_UNREADABLE, {"problem": "their digest does not match"})
    agreed = seriesterms.parse(row.terms)
    if isinstance(agreed, Refusal):
        return agreed
    left = series.left(tx, row)
    if left.attempts <= 0:
        return Refusal(RefusalReason.SERIES_SPENT, {"what": "attempts"})
    made = [run for one in attempts.of_task(tx, task.id) if (run := runs.get(tx, one.run)) is not None]
    # One that was refused began nothing: neither a tree nor a word of it is there to go on from.
    begun = [run for run in made if run.outcome is not RunOutcome.REFUSED]
    return Beginning(
        agreed=agreed,
        operator=row.operator,
        spent=series.spent(tx, row.id),
        n=len(begun) + 1,
        of=len(begun) + left.attempts,
        before=begun[-1] if begun else None,
        needs=_needs(tx, task),
    )


def _needs(tx: Tx, task: Task) -> tuple[runs.Run, ...]:
    found: list[runs.Run] = []
    for need in tasks.needs_of(tx, task.id):
        newest = attempts.latest(tx, need)
        run = None if newest is None else runs.get(tx, newest.run)
        if run is None or run.repository != task.repository:
            continue
        terms = terms_of(tx, run)
        if terms is not None and terms.tree_kind is TreeKind.WORKTREE:
            found.append(run)
    return tuple(sorted(found, key=lambda run: (run.ended_at or 0, run.id), reverse=True))


async def _terms(house: House, begun: Beginning) -> Terms | Refusal:
    before = None if begun.before is None else begun.before.id
    asked = seriesterms.asked(begun.agreed, continues=before)
    proposal = await proposing.propose(house, asked, await house.agents())
    if isinstance(proposal, Refusal):
        return proposal
    found = proposal.terms
    same_tree = begun.before is not None and begun.before.tree == (found.tree or found.repository)
    told = telling.attempt(begun.n, begun.of, before=before, same_tree=same_tree)
    terms = seriesterms.cut(begun.agreed, found, spent=begun.spent, now=house.clock.now(), telling=told)
    if isinstance(terms, Refusal) or terms.tree_kind is not TreeKind.WORKTREE or terms.tree:
        return terms
    base = await _base(Path(terms.repository), begun.needs, house.clock.now())
    return replace(terms, base=base) if base else terms


async def _base(repository: Path, needs: tuple[runs.Run, ...], now: Millis) -> str:
    """The commit of what was done before it, at which a new tree begins; '': that of the repository."""
    for run in needs:
        commit = await result.of(repository, run.id)
        if not commit:  # the operator took it as done, say
            kept = await result.keep_result(Path(run.tree), run.id, title=run.title, operator=run.operator, now=now)
            commit = "" if isinstance(kept, Refusal) else kept
        if commit:
            return commit
    return ""
