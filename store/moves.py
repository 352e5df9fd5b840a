"""The allowed moves of everything that has a state: one table for the guarded updates, the core and the tests.

Nothing here acts. A guarded update takes the states that its ``WHERE`` names from here (``sources``), so that a
statement cannot allow what the table forbids.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final, TypeVar

from store.vocab import (
    AuthorizationState,
    CommandState,
    CustodyState,
    DecisionState,
    OperationState,
    OutcomeState,
    QueuedTurnState,
    RunOutcome,
    SeriesState,
    StopState,
    TaskState,
    TurnState,
)

S = TypeVar("S", bound=StrEnum)
Moves = Mapping[S, frozenset[S]]


class ForbiddenMove(Exception):
    """A bug of ours: a move was asked for that the table does not have."""


TURN: Final[Moves[TurnState]] = {
    TurnState.RECORDED: frozenset({TurnState.WRITTEN, TurnState.SETTLED, TurnState.CANCELLED, TurnState.UNCERTAIN}),
    TurnState.WRITTEN: frozenset({TurnState.ACCEPTED, TurnState.SETTLED, TurnState.UNCERTAIN}),
    TurnState.ACCEPTED: frozenset({TurnState.SETTLED, TurnState.UNCERTAIN}),
    TurnState.SETTLED: frozenset(),
    TurnState.CANCELLED: frozenset(),
    TurnState.UNCERTAIN: frozenset(),
}

FLYING: Final = frozenset(state for state, further in TURN.items() if further)
"""A turn that has not ended."""

QUEUED: Final[Moves[QueuedTurnState]] = {
    QueuedTurnState.WAITING: frozenset(
        {QueuedTurnState.RECORDED, QueuedTurnState.WITHDRAWN, QueuedTurnState.UNSENT},
    ),
    QueuedTurnState.RECORDED: frozenset(),
    QueuedTurnState.WITHDRAWN: frozenset(),
    QueuedTurnState.UNSENT: frozenset(),
}

CUSTODY: Final[Moves[CustodyState]] = {
    CustodyState.PROPOSED: frozenset({CustodyState.OPEN, CustodyState.FENCING}),
    CustodyState.OPEN: frozenset({CustodyState.RESTARTING, CustodyState.CONCLUDING, CustodyState.FENCING}),
    CustodyState.RESTARTING: frozenset({CustodyState.OPEN, CustodyState.FENCING}),
    CustodyState.CONCLUDING: frozenset({CustodyState.CLOSED, CustodyState.FENCING}),
    CustodyState.FENCING: frozenset({CustodyState.CLOSED}),
    CustodyState.CLOSED: frozenset(),
}

AUTHORIZATION: Final[Moves[AuthorizationState]] = {
    AuthorizationState.OPEN: frozenset({AuthorizationState.BOUND, AuthorizationState.CLOSED}),
    AuthorizationState.BOUND: frozenset({AuthorizationState.CLOSED}),
    AuthorizationState.CLOSED: frozenset(),
}

DECISION: Final[Moves[DecisionState]] = {
    DecisionState.OPEN: frozenset({DecisionState.ANSWERED, DecisionState.WITHDRAWN, DecisionState.DISMISSED}),
    DecisionState.ANSWERED: frozenset(
        {DecisionState.DELIVERING, DecisionState.UNDELIVERED, DecisionState.WITHDRAWN},
    ),
    DecisionState.DELIVERING: frozenset({DecisionState.DELIVERED, DecisionState.ANSWERED, DecisionState.UNCERTAIN}),
    DecisionState.UNDELIVERED: frozenset({DecisionState.DELIVERING, DecisionState.DISMISSED}),
    DecisionState.DELIVERED: frozenset({DecisionState.REFUSED_BY_AGENT}),
    DecisionState.UNCERTAIN: frozenset(),
    DecisionState.WITHDRAWN: frozenset(),
    DecisionState.REFUSED_BY_AGENT: frozenset(),
    DecisionState.DISMISSED: frozenset(),
}

UNFINISHED: Final = frozenset({DecisionState.OPEN, DecisionState.ANSWERED, DecisionState.DELIVERING})
"""A decision on whose answer, or its delivery, a hold still waits. What outlives the hold is none of these."""

STOP: Final[Moves[StopState]] = {
    StopState.ASKED: frozenset({StopState.ORDERED}),
    StopState.ORDERED: frozenset({StopState.SETTLED}),
    StopState.SETTLED: frozenset(),
}

COMMAND: Final[Moves[CommandState]] = {
    CommandState.ASKED: frozenset({CommandState.TAKEN, CommandState.EXPIRED}),
    CommandState.TAKEN: frozenset({CommandState.DONE, CommandState.REFUSED, CommandState.EXPIRED}),
    CommandState.DONE: frozenset(),
    CommandState.REFUSED: frozenset(),
    CommandState.EXPIRED: frozenset(),
}

TASK: Final[Moves[TaskState]] = {
    TaskState.QUEUED: frozenset({TaskState.WORKING, TaskState.STOPPED}),
    TaskState.WORKING: frozenset(
        {TaskState.QUEUED, TaskState.NEEDS_OPERATOR, TaskState.DONE, TaskState.FAILED, TaskState.STOPPED},
    ),
    # The operator answers, tries again, takes the work as it is, or gives it up.
    TaskState.NEEDS_OPERATOR: frozenset(
        {TaskState.WORKING, TaskState.QUEUED, TaskState.DONE, TaskState.STOPPED},
    ),
    TaskState.DONE: frozenset(),
    TaskState.FAILED: frozenset({TaskState.QUEUED}),
    TaskState.STOPPED: frozenset({TaskState.QUEUED}),
}

SERIES: Final[Moves[SeriesState]] = {
    SeriesState.OPEN: frozenset({SeriesState.CLOSED}),
    SeriesState.CLOSED: frozenset(),
}

OPERATION: Final[Moves[OperationState]] = {
    OperationState.BEGUN: frozenset({OperationState.CLAIMED, OperationState.NOTHING, OperationState.CANCELLED}),
    OperationState.CLAIMED: frozenset({OperationState.ADMITTED, OperationState.RETIRED}),
    OperationState.NOTHING: frozenset(),
    OperationState.ADMITTED: frozenset(),
    OperationState.RETIRED: frozenset(),
    OperationState.CANCELLED: frozenset(),
}

OUTCOME: Final[Moves[OutcomeState]] = {
    OutcomeState.PENDING: frozenset({OutcomeState.DECIDED}),
    OutcomeState.DECIDED: frozenset({OutcomeState.ACKNOWLEDGED}),
    OutcomeState.ACKNOWLEDGED: frozenset(),
}

RUN: Final[Mapping[RunOutcome | None, frozenset[RunOutcome]]] = {
    None: frozenset(RunOutcome),
    **dict.fromkeys(RunOutcome, frozenset[RunOutcome]()),
}
"""A run has no outcome, then exactly one."""


def sources(table: Moves[S], to: S) -> str:
    """The same for a statement: ``'recorded', 'written'``. Values of our own enums, never text from outside."""
    return ", ".join(f"'{state.value}'" for state in table if to in table[state])


def check(table: Moves[S], expected: Collection[S], to: S) -> None:
    """Raises:
    ForbiddenMove: one of the expected states has no move to ``to``.
    """
    for state in expected:
        if to not in table[state]:
            raise ForbiddenMove(f"{type(to).__name__}: no move from {state.value} to {to.value}")
