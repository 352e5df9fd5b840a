"""The facts of an attempt that has ended, as its verdict asks for them: from the ledger, its checks, its tree.

Each is looked at once they are all there. What cannot be read yet is no verdict: whoever asks asks again later.
"""

from typing import Final

import msgspec
from msgspec.structs import replace

from coordinator import checkresults, checkruns, eventcodec
from coordinator.agreed import terms_of
from coordinator.checkresults import Standing
from coordinator.checktypes import NOT_PASSED, CheckState, CheckView
from coordinator.drivers.base import LimitNotice, TurnResult
from coordinator.house import House
from coordinator.runplace import place_of
from coordinator.tasks import trace
from coordinator.tasks.verdict import Agreed, Ended
from store import attempts, decisions, events, evidence, runs, series, tasks, turns
from store.db import Tx
from store.refusal import Fact, Refusal
from store.tasks import Task
from store.vocab import (
    DecisionKind,
    DecisionState,
    EvidenceKind,
    FailureKind,
    Millis,
    RunId,
    RunOutcome,
    TurnState,
)

_LOOKED_AT: Final = 2_000
"""The newest events in which an agent may have told when it can be used again."""
_LEFT: Final = (EvidenceKind.MAILBOX, EvidenceKind.HANDOFF)


async def look(house: House, run: RunId, checked_again: set[RunId], *, here: bool) -> Ended | Refusal | None:
    """The facts of a run that has ended. A ``Refusal`` is one that cannot be read just now; None: not all of them are
    there yet. ``here``: it was held by this console."""
    found = await house.ledger.read(lambda tx: _from_books(tx, run))
    if found.outcome is not RunOutcome.FINISHED or found.question_open:
        return found
    check = await _checked(house, run, checked_again, here=here)
    if check is None:
        return None
    found = replace(found, check=check)
    if found.traced:
        return found
    place = await house.ledger.read(lambda tx: place_of(tx, run, spool=house.settings.spool))
    if isinstance(place, Refusal):
        return place
    changed = await trace.changed(place)
    return changed if isinstance(changed, Refusal) else replace(found, traced=changed)


async def _checked(house: House, run: RunId, again: set[RunId], *, here: bool) -> str | None:
    """The first check that says that the work is not finished, '' for none; None while they go on.

    Those that the console before did not come to are run now, once; what then is not there was ended by somebody.
    """
    if house.checks.of(run):
        return None
    standing, views = await house.ledger.read(lambda tx: _checks(tx, run))
    if standing is Standing.FAILED:
        return next(f"`{one.command}` failed ({one.detail or one.state})" for one in views if one.state in NOT_PASSED)
    if standing is not Standing.MISSING:
        return ""
    missing = next(f"`{one.command}` was not run to its end" for one in views if one.state is CheckState.UNFINISHED)
    if house.shutting:
        return None  # cut off by the end of this console: the next one runs them
    if here or run in again:
        return missing
    wanted = await checkruns.of_house(house, run)
    if isinstance(wanted, Refusal):
        return missing
    again.add(run)
    house.checks.begin(wanted)
    return None


def _checks(tx: Tx, run: RunId) -> tuple[Standing, tuple[CheckView, ...]]:
    row = runs.get(tx, run)
    terms = None if row is None else terms_of(tx, row)
    kept = checkresults.of_run(tx, run)
    if row is None or terms is None:
        return Standing.NONE, kept
    return checkresults.standing(tx, run), checkresults.as_agreed(terms, kept, row.outcome)


def agreed(tx: Tx, task: Task) -> Agreed:
    """What is left of what the operator agreed to for this task."""
    of = None if task.series is None else series.get(tx, task.series)
    if of is None:
        return Agreed(attempts_left=0, counted=task.counted, used_up="attempts")
    left = series.left(tx, of)
    used_up = ""
    if left.money is not None and left.money <= 0:
        used_up = "money"
    elif tx.now >= of.expires_at:
        used_up = "time"
    return Agreed(attempts_left=left.attempts, counted=task.counted, used_up=used_up)


def _from_books(tx: Tx, run: RunId) -> Ended:
    row, attempt = runs.get(tx, run), attempts.of_run(tx, run)
    assert row is not None and row.outcome is not None and attempt is not None
    task = tasks.get(tx, attempt.task)
    assert task is not None
    said, asked = turns.of_run(tx, run), decisions.of_run(tx, run)
    over = [turn for turn in said if turn.state is TurnState.SETTLED]
    last = max(over, key=lambda turn: (turn.ended_at or 0, turn.n)) if over else None
    tool_ran = events.has_kind(tx, run, "tool-started")
    left = any(kind in _LEFT for _id, kind, *_ in evidence.listing(tx, run))
    return Ended(
        outcome=row.outcome,
        reason=row.reason or "",
        agreed=agreed(tx, task),
        failure=last.failure if last is not None else None,
        until=_usable_again(tx, run) if last is not None and last.failure is FailureKind.RATE_LIMITED else None,
        tool_ran=tool_ran,
        uncertain=any(turn.state is TurnState.UNCERTAIN for turn in said),
        question_open=any(one.kind is DecisionKind.PARK and one.state is DecisionState.OPEN for one in asked),
        traced=tool_ran or bool(asked) or left,
        refusal=_facts(row.detail) if row.outcome is RunOutcome.REFUSED else {},
    )


def _usable_again(tx: Tx, run: RunId) -> Millis | None:
    """When the agent said that its limit is over."""
    for row in reversed(events.page(tx, run, limit=_LOOKED_AT, newest=True)):
        if row.kind not in ("limit", "result"):
            continue
        told = eventcodec.decode(row.kind, row.body)
        warns = isinstance(told, LimitNotice) and told.status != "rejected"
        if isinstance(told, LimitNotice | TurnResult) and told.resets_at is not None and not warns:
            return Millis(told.resets_at * 1000)
    return None


def _facts(detail: str) -> dict[str, Fact]:
    try:
        told = msgspec.json.decode(detail.encode()) if detail else {}
    except msgspec.DecodeError:
        return {}
    return dict(told) if isinstance(told, dict) else {}
