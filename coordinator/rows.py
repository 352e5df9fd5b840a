"""A run's rows as one value: read in one go, after each transaction that changes them."""

from dataclasses import dataclass

from coordinator import checkresults
from coordinator.checktypes import CheckView
from store import attachments, attempts, authorizations, custody, decisions, queued, receipts, runs, series, turns
from store.attachments import Attached
from store.attempts import Attempt
from store.authorizations import Authorization
from store.custody import Custody
from store.db import Tx
from store.decisions import Decision
from store.queued import QueuedTurn
from store.runs import Run
from store.turns import Spend, Turn
from store.vocab import DecisionKind, DecisionState, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRows:
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


def read_rows(tx: Tx, run: RunId) -> SessionRows:
    row = runs.get(tx, run)
    found = receipts.of_run(tx, run)
    attempt = attempts.of_run(tx, run)
    return SessionRows(
        run=row,
        custody=custody.of_run(tx, run),
        authorization=authorizations.get(tx, row.authorization_id) if row else None,
        turns=tuple(turns.of_run(tx, run)),
        queued=tuple(queued.waiting(tx, run)),
        attached=attachments.listing(tx, run),
        decisions=tuple(decisions.of_run(tx, run)),
        receipt=found[-1].body if found else "",
        checks=checkresults.of_run(tx, run) if row is not None and row.outcome is not None else (),
        spend=turns.spend(tx, run),
        attempt=attempt,
        attempts=0 if attempt is None else _attempts(tx, attempt),
    )


def _attempts(tx: Tx, attempt: Attempt) -> int:
    """As many as had been made when its terms were agreed to, and as many as those allow."""
    under = [one for one in attempts.of_task(tx, attempt.task) if one.series == attempt.series]
    agreed = series.get(tx, attempt.series)
    uncounted = sum(not one.counted for one in under)
    return under[0].n - 1 + uncounted + (agreed.attempts if agreed is not None else 0)
