"""A run's rows as one value: read in one go, after each transaction that changes them."""

from dataclasses import dataclass

from store import attachments, authorizations, custody, decisions, queued, receipts, runs, turns
from store.attachments import Attached
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
    spend: Spend | None = None

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
    return SessionRows(
        run=row,
        custody=custody.of_run(tx, run),
        authorization=authorizations.get(tx, row.authorization_id) if row else None,
        turns=tuple(turns.of_run(tx, run)),
        queued=tuple(queued.waiting(tx, run)),
        attached=attachments.listing(tx, run),
        decisions=tuple(decisions.of_run(tx, run)),
        receipt=found[-1].body if found else "",
        spend=turns.spend(tx, run),
    )
