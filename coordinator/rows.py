"""A run's rows as one value, as they are after each transaction that changes them.

A long run has thousands of turns and decisions, of which a transaction changes one or two. Every change of theirs is
told in the run's chain of entries, whoever makes it (no column of theirs is untracked); so only those are read anew
that it tells of.
"""

from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from coordinator import checkresults
from coordinator.checktypes import CheckView
from store import (
    attachments,
    attempts,
    authorizations,
    custody,
    decisions,
    entries,
    queued,
    receipts,
    runs,
    series,
    turns,
)
from store.attachments import Attached
from store.attempts import Attempt
from store.authorizations import Authorization
from store.custody import Custody
from store.db import Tx
from store.decisions import Decision
from store.queued import QueuedTurn
from store.runs import Run
from store.turns import Spend, Turn
from store.vocab import DecisionId, DecisionKind, DecisionState, RunId, TurnId

R = TypeVar("R", Turn, Decision)


class SessionRows(Struct, frozen=True, kw_only=True):
    run: Run | None = None
    custody: Custody | None = None
    authorization: Authorization | None = None
    turns: tuple[Turn, ...] = ()
    queued: tuple[QueuedTurn, ...] = ()
    attached: tuple[Attached, ...] = ()
    """Images of its turns, and of what waits."""
    decisions: tuple[Decision, ...] = ()
    receipt: str = ""
    checks: tuple[CheckView, ...] = ()
    """Of one that has ended: what checks came to."""
    spend: Spend | None = None
    attempt: Attempt | None = None
    """At a task of the queue; None: the operator began this run."""
    attempts: int = 0
    """How many were agreed to, those before it among them."""
    told: int = 0
    """How long the run's chain of entries was then."""

    @property
    def open_decisions(self) -> tuple[Decision, ...]:
        return tuple(d for d in self.decisions if d.state is DecisionState.OPEN)

    @property
    def park_answers(self) -> tuple[Decision, ...]:
        """Answers to parks that wait for their turn, oldest first."""
        return tuple(d for d in self.decisions if d.kind is DecisionKind.PARK and d.state is DecisionState.ANSWERED)

    @property
    def open_parks(self) -> tuple[Decision, ...]:
        return tuple(d for d in self.open_decisions if d.kind is DecisionKind.PARK)


def read_rows(tx: Tx, run: RunId, before: SessionRows | None = None) -> SessionRows:
    """The rows as they are now. ``before``: what was read of the same run last; what has not changed since is taken
    from it."""
    row = runs.get(tx, run)
    found = receipts.of_run(tx, run)
    attempt = attempts.of_run(tx, run)
    told, _hash = entries.head(tx, run)
    new = None
    if before is not None and before.run is not None and told >= before.told:  # else never read yet, or pruned
        new = _told_since(tx, run, before.told)
    if before is None or new is None:
        spoken, asked = tuple(turns.of_run(tx, run)), tuple(decisions.of_run(tx, run))
        spend: Spend | None = turns.spend(tx, run)
    else:
        spoken = _renewed(before.turns, (turns.get(tx, id) for id in new["turn"]))
        asked = _renewed(before.decisions, (decisions.get(tx, id) for id in new["decision"]))
        spend = turns.spend(tx, run) if new["turn"] else before.spend
    return SessionRows(
        run=row,
        custody=custody.of_run(tx, run),
        authorization=authorizations.get(tx, row.authorization_id) if row else None,
        turns=spoken,
        queued=tuple(queued.waiting(tx, run)),
        attached=attachments.listing(tx, run),
        decisions=asked,
        receipt=found[-1].body if found else "",
        checks=checkresults.of_run(tx, run) if row is not None and row.outcome is not None else (),
        spend=spend,
        attempt=attempt,
        attempts=0 if attempt is None else _attempts(tx, attempt),
        told=told,
    )


class _OfTurn(Struct):
    """What the body of an entry says of its row."""

    id: TurnId


class _OfDecision(Struct):
    id: DecisionId


_BODIES: Final[dict[str, msgspec.json.Decoder[Any]]] = {
    "turn": msgspec.json.Decoder(_OfTurn),
    "decision": msgspec.json.Decoder(_OfDecision),
}


def _told_since(tx: Tx, run: RunId, n: int) -> dict[str, list[Any]] | None:
    """Which turns and decisions became otherwise since the chain was so long: each once, new ones in their order.
    None: an entry does not say it, so nobody of ours wrote it, and a hold goes on all the same."""
    found: dict[str, dict[Any, None]] = {"turn": {}, "decision": {}}
    for entry in entries.since(tx, run, n):
        noun, _, _what = entry.kind.partition(".")
        if noun in found:
            try:
                found[noun][_BODIES[noun].decode(entry.body).id] = None
            except (msgspec.DecodeError, UnicodeEncodeError):
                return None
    return {noun: list(ids) for noun, ids in found.items()}


def _renewed(had: tuple[R, ...], read: Iterable[R | None]) -> tuple[R, ...]:
    """The rows with those that were read in their places, and new ones at the end."""
    now: dict[object, R] = {row.id: row for row in read if row is not None}
    if not now:
        return had
    kept = [now.pop(row.id, row) for row in had]
    return tuple(kept) + tuple(now.values())


def _attempts(tx: Tx, attempt: Attempt) -> int:
    """As many as had been made when its terms were agreed to, and as many as those allow."""
    under = [one for one in attempts.of_task(tx, attempt.task) if one.series == attempt.series]
    agreed = series.get(tx, attempt.series)
    uncounted = sum(not one.counted for one in under)
    return under[0].n - 1 + uncounted + (agreed.attempts if agreed is not None else 0)
