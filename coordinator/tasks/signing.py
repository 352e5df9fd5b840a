"""Terms of tasks: proposed as they are to be shown, and agreed to exactly so, several in one transaction.

A proposal is what ``proposing`` says of a run, made once for all tasks that are alike (ten thousand of one repository
cost one look at it). Agreeing looks again that each task is as it was shown; one that is not leaves all of them as they
are. How an attempt is cut from what was agreed to is ``seriesterms``'.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from coordinator import proposing
from coordinator.api import (
    Done,
    Proposal,
    Propose,
    ProposeSeries,
    SeriesProposal,
    SeriesProposals,
    SeriesTerms,
    SignSeries,
    TaskReason,
)
from coordinator.constants import AGREED_SECONDS
from coordinator.profiles import Found
from coordinator.tasks import notices, seriesterms
from coordinator.tasks.adding import stored_wishes
from coordinator.tasks.desk import Desk
from coordinator.tasks.reading import paths_of, wishes_of
from coordinator.terms import TreeKind
from store import series, tasks
from store.refusal import Fact, Refusal
from store.tasks import Task
from store.tx import Tx
from store.vocab import Millis, RefusalReason, SeriesId, TaskId, TaskState

_AT_ONCE: Final = 2
"""Repositories looked at side by side: all files of each are read."""
_MOST: Final = 100_000
_AGREE_AGAIN: Final = frozenset({TaskReason.SIGN_AGAIN, TaskReason.ATTEMPTS, TaskReason.BUDGET, TaskReason.EXPIRED})
"""Reasons to need the operator that new terms are the answer to."""


class _Wanted(Struct, frozen=True, kw_only=True):
    """A task for which terms are to be shown, and what was agreed to for it last."""

    task: Task
    before: SeriesTerms | None


# ---------------------------------------------------------------------------------------------------------- proposing


async def propose(desk: Desk, command: ProposeSeries) -> SeriesProposals:
    """For those named, else for all that wait for terms; what cannot be proposed is told beside the rest."""
    wanted, refused = await desk.ledger.read(lambda tx: _wanted(tx, tuple(dict.fromkeys(command.tasks))))
    alike: dict[tuple[str, str], Task] = {}
    for one in wanted:
        alike.setdefault(_kind(one.task), one.task)
    found = await desk.agents() if alike else {}
    few = asyncio.Semaphore(_AT_ONCE)

    async def look(task: Task) -> Proposal | Refusal:
        async with few:
            return await proposing.propose(desk, asked(desk, task), found)

    proposals = dict(zip(alike, await asyncio.gather(*map(look, alike.values())), strict=True))
    now = desk.clock.now()
    made: list[SeriesProposal] = []
    for one in wanted:
        like = proposals[_kind(one.task)]
        if isinstance(like, Refusal):
            refused.append((one.task.id, like))
        else:
            made.append(_proposal(one, like, found, now))
    return SeriesProposals(proposals=tuple(made), refused=tuple(refused))


def _kind(task: Task) -> tuple[str, str]:
    """Tasks of one kind get the same terms, but for what is to be done and what they reserve."""
    return task.repository, task.wishes


def _wanted(tx: Tx, named: Sequence[TaskId]) -> tuple[list[_Wanted], list[tuple[TaskId, Refusal]]]:
    wanted: list[_Wanted] = []
    refused: list[tuple[TaskId, Refusal]] = []
    rows: Iterable[Task | None] = _without_terms(tx) if not named else (tasks.get(tx, id) for id in named)
    for id, task in zip(named, rows, strict=True) if named else ((one.id, one) for one in rows if one is not None):
        no = may_agree(tx, id, task)
        if no is not None:
            refused.append((id, no))
        elif task is not None:
            wanted.append(_Wanted(task=task, before=_before(tx, task)))
    return wanted, refused


def _without_terms(tx: Tx) -> list[Task]:
    in_line = tasks.in_line(tx, limit=_MOST)
    found = [one for one in in_line if one.series is None or one.spent or one.agreed_until <= tx.now]
    stuck = tasks.listing(tx, states=[TaskState.NEEDS_OPERATOR], limit=_MOST)
    return [*(one for one in stuck if one.reason in _AGREE_AGAIN), *found]


def may_agree(tx: Tx, id: TaskId, task: Task | None) -> Refusal | None:
    """Why terms of this task cannot be agreed to now."""
    if task is None:
        return Refusal(RefusalReason.NO_SUCH_TASK, {"task": id})
    run = tasks.ending(tx, id)
    if task.state is TaskState.WORKING or run is not None:
        return Refusal(RefusalReason.TASK_WORKING, {"task": id, "run": run})
    if task.state is TaskState.DONE:
        return Refusal(RefusalReason.TASK_OVER, {"task": id, "state": task.state})
    if task.state is TaskState.NEEDS_OPERATOR and task.reason == TaskReason.QUESTION:
        return Refusal(RefusalReason.NOTHING_TO_SIGN, {"task": id, "why": "waits for your answer to its question"})
    return None


def _before(tx: Tx, task: Task) -> SeriesTerms | None:
    last = series.newest(tx, task.id)
    terms = None if last is None else seriesterms.parse(last.terms)
    return terms if isinstance(terms, SeriesTerms) else None


def asked(desk: Desk, task: Task) -> Propose:
    """How the terms of a task are looked for. By a preset, always: the last run here may have been an attempt, and its
    budget what was left for it."""
    wishes = wishes_of(task)
    return Propose(
        instruction=task.instruction,
        repository=task.repository,
        agent=wishes.agent,
        preset=wishes.preset or desk.settings.preset,
        budget=wishes.budget,
        max_turns=wishes.max_turns,
        working_seconds=wishes.working_seconds,
        model=wishes.model,
        mode=wishes.mode,
        worktree=not wishes.in_place,
        preamble=wishes.preamble,
        more_rules=wishes.rules,
        script=wishes.script,
    )


def _proposal(wanted: _Wanted, like: Proposal, found: Mapping[str, Found], now: Millis) -> SeriesProposal:
    task, run = wanted.task, like.terms
    wishes = wishes_of(task)
    seconds = AGREED_SECONDS if wishes.expires_seconds is None else wishes.expires_seconds
    terms = SeriesTerms(
        task=task.id,
        revision=task.revision,
        instruction=task.instruction,
        preamble=run.preamble,
        agent=run.agent,
        driver=run.driver,
        billing=run.billing,
        repository=run.repository,
        paths=paths_of(task),
        in_place=run.tree_kind is TreeKind.IN_PLACE,
        model=run.model,
        mode=run.mode,
        budget=run.budget,
        attempts=wishes.attempts,
        max_turns=run.max_turns,
        working_seconds=run.working_seconds,
        # In whole minutes: looking took a moment, which is no difference from what was agreed to before.
        run_seconds=max(1, round((run.expires_at - now) / 60_000)) * 60,
        expires_at=Millis(now + seconds * 1000),
        attendance_seconds=run.attendance_seconds,
        at_budget=run.at_budget,
        machine=run.machine,
        uid=run.uid,
        rules=run.rules,
        setup=run.setup,
        checks=run.checks,
        script=run.script,
    )
    before = wanted.before
    return SeriesProposal(
        terms=terms,
        title=task.title,
        before=before,
        moved=() if before is None else seriesterms.moved(before, terms),
        own_rules=like.own_rules,
        caution=like.caution or found[run.agent].profile.caution,
    )


# ------------------------------------------------------------------------------------------------------------ agreeing


async def sign(desk: Desk, command: SignSeries, operator: str) -> Done | Refusal:
    """All of them or none; the first that is not as it was shown is named."""
    given = command.terms
    if not given:
        return Refusal(RefusalReason.NOTHING_TO_SIGN)
    if len({terms.task for terms in given}) != len(given):
        return Refusal(RefusalReason.NOTHING_TO_SIGN, {"why": "one of them is there twice"})
    ids = [SeriesId(desk.ids.secret()[:16]) for _ in given]

    def write(tx: Tx) -> Done | Refusal:
        for terms, id in zip(given, ids, strict=True):
            refused = _agree(tx, desk, terms, id, operator)
            if refused is not None:
                return refused
        return Done(note=str(len(given)))

    return await desk.ledger.transaction(write)


def _agree(tx: Tx, desk: Desk, terms: SeriesTerms, id: SeriesId, operator: str) -> Refusal | None:
    task = tasks.get(tx, terms.task)
    refused = may_agree(tx, terms.task, task) or _otherwise(tx, desk, terms, task)
    if task is None or refused is not None:
        return refused
    wishes = wishes_of(task)
    if wishes.agent != terms.agent:
        # From here on the claim knows by it which tasks an agent's wait holds back.
        filled = tasks.edit(
            tx, id=task.id, expect_revision=task.revision, wishes=stored_wishes(replace(wishes, agent=terms.agent))
        )
        if isinstance(filled, Refusal):
            return filled
        task = filled
    text = seriesterms.canonical(terms)
    series.sign(
        tx,
        id=id,
        task=task.id,
        revision=task.revision,
        terms=text,
        digest=seriesterms.digest_of(text),
        attempts=terms.attempts,
        budget=terms.budget,
        operator=operator,
        expires_at=terms.expires_at,
    )
    if tasks.attach_series(tx, id=task.id, revision=task.revision, series=id) is None:
        return _stale(terms.task)
    if task.state is not TaskState.QUEUED:
        again = tasks.retry(tx, id=task.id)
        if isinstance(again, Refusal):
            return again
        notices.follow(tx, again, by=operator)
    return None


def _otherwise(tx: Tx, desk: Desk, terms: SeriesTerms, task: Task | None) -> Refusal | None:
    """Whether the task, or the place, is another than when these terms were shown."""
    if task is None:
        return None
    shown = (terms.revision, terms.instruction, terms.repository, terms.paths)
    if shown != (task.revision, task.instruction, task.repository, paths_of(task)):
        return _stale(task.id)
    here: dict[str, Fact] = {
        "was": f"{terms.machine} {terms.uid}",
        "is": f"{desk.settings.machine} {desk.settings.uid}",
    }
    if here["was"] != here["is"]:
        return Refusal(RefusalReason.WRONG_RUNNER, {"task": task.id, **here})
    if terms.expires_at <= tx.now:
        return Refusal(RefusalReason.EXPIRED, {"task": task.id, "at": terms.expires_at})
    return None


def _stale(task: TaskId) -> Refusal:
    return Refusal(RefusalReason.STALE, {"task": task})
