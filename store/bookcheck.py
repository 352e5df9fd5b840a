"""Whether what the rows say makes sense together: states complete, nothing left open behind an end, costs that sum.

``verify`` proves that rows are what the entries told; this looks for what should never have been told. Each rule is a
statement that gives the rows that break it: none, in a ledger that is in order.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from store.series import NOTHING_LEFT
from store.tx import Tx
from store.verify import Difference
from store.vocab import (
    AuthorizationState,
    CommandState,
    CostKnowledge,
    CustodyState,
    DecisionState,
    OperationState,
    OutcomeState,
    QueuedTurnState,
    SeriesState,
    StopState,
    TaskState,
    TurnState,
)


class Rule(Struct, frozen=True, kw_only=True):
    noun: str
    what: str
    expected: str
    broken: str
    """Gives the key of each row that breaks it, and what was found."""


_FINAL_TURN: Final = f"'{TurnState.SETTLED}', '{TurnState.CANCELLED}', '{TurnState.UNCERTAIN}'"
_FINAL_COMMAND: Final = f"'{CommandState.DONE}', '{CommandState.REFUSED}', '{CommandState.EXPIRED}'"
_FINAL_DECISION: Final = f"'{DecisionState.WITHDRAWN}', '{DecisionState.DISMISSED}'"
_CLAIMED: Final = f"'{TaskState.WORKING}', '{TaskState.NEEDS_OPERATOR}'"
_OVER: Final = f"'{TaskState.DONE}', '{TaskState.FAILED}', '{TaskState.STOPPED}'"
_LIVE_CONTROL: Final = "'permission', 'question', 'plan'"
_REPORTED: Final = f"cost_known = '{CostKnowledge.REPORTED}' AND cumulative IS NOT NULL AND cost IS NOT NULL"

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        noun="custody",
        what="end",
        expected="an outcome of its run, once it is closed",
        broken=f"""SELECT custody.id, 'run ' || run || ' has none' FROM custody JOIN runs ON runs.id = run
WHERE state = '{CustodyState.CLOSED}' AND outcome IS NULL""",
    ),
    Rule(
        noun="custody",
        what="end",
        expected="closed, or still ending, once its run has an outcome",
        broken=f"""SELECT custody.id, state FROM custody JOIN runs ON runs.id = run
WHERE outcome IS NOT NULL AND state NOT IN ('{CustodyState.CLOSED}', '{CustodyState.FENCING}')""",
    ),
    Rule(
        noun="custody",
        what="closed_at",
        expected="a time once it is closed, and none before",
        broken=f"""SELECT id, state || ', ' || coalesce(closed_at, 'none') FROM custody
WHERE (state = '{CustodyState.CLOSED}') <> (closed_at IS NOT NULL)""",
    ),
    Rule(
        noun="custody",
        what="fence_reason",
        expected="a reason for each end against its will",
        broken=f"SELECT id, 'none' FROM custody WHERE state = '{CustodyState.FENCING}' AND fence_reason IS NULL",
    ),
    Rule(
        noun="authorization",
        what="state",
        expected="closed once its run has an outcome",
        broken=f"""SELECT authorizations.id, state FROM authorizations JOIN runs ON authorization_id = authorizations.id
WHERE outcome IS NOT NULL AND state <> '{AuthorizationState.CLOSED}'""",
    ),
    Rule(
        noun="authorization",
        what="closed_at",
        expected="a time and a reason once it is closed, and none before",
        broken=f"""SELECT id, state || ', ' || coalesce(close_reason, 'none') FROM authorizations
WHERE (state = '{AuthorizationState.CLOSED}') <> (closed_at IS NOT NULL AND close_reason IS NOT NULL)""",
    ),
    Rule(
        noun="authorization",
        what="run",
        expected="a run once it is bound",
        broken=f"SELECT id, 'none' FROM authorizations WHERE state = '{AuthorizationState.BOUND}' AND run IS NULL",
    ),
    Rule(
        noun="turn",
        what="state",
        expected="a final one once its run has an outcome",
        broken=f"""SELECT turns.id, state FROM runs JOIN turns ON turns.run = runs.id
WHERE outcome IS NOT NULL AND state NOT IN ({_FINAL_TURN})""",
    ),
    Rule(
        noun="turn",
        what="ended_at",
        expected="a time and a hash of its events once it is over, and none before",
        broken=f"""SELECT id, state FROM turns
WHERE (state IN ({_FINAL_TURN})) <> (ended_at IS NOT NULL AND events_hash IS NOT NULL)""",
    ),
    Rule(
        noun="turn",
        what="result",
        expected="one once it is settled, and none else",
        broken=f"""SELECT id, state || ', ' || coalesce(result, 'none') FROM turns
WHERE (state = '{TurnState.SETTLED}') <> (result IS NOT NULL)""",
    ),
    Rule(
        noun="queued",
        what="turn",
        expected="the turn that it became, and none else",
        broken=f"""SELECT id, state || ', ' || coalesce(turn, 'none') FROM queued_turns
WHERE (state = '{QueuedTurnState.RECORDED}') <> (turn IS NOT NULL)""",
    ),
    Rule(
        noun="queued",
        what="state",
        expected="not waiting any more once its run has an outcome",
        broken=f"""SELECT queued_turns.id, state FROM queued_turns JOIN runs ON runs.id = run
WHERE state = '{QueuedTurnState.WAITING}' AND outcome IS NOT NULL""",
    ),
    Rule(
        noun="decision",
        what="ended_at",
        expected="a time once it was withdrawn or dismissed",
        broken=f"SELECT id, state FROM decisions WHERE state IN ({_FINAL_DECISION}) AND ended_at IS NULL",
    ),
    Rule(
        noun="decision",
        what="answer",
        expected="an answer, by somebody, before it is delivered",
        broken=f"""SELECT id, state FROM decisions
WHERE state IN ('{DecisionState.ANSWERED}', '{DecisionState.DELIVERING}', '{DecisionState.DELIVERED}',
  '{DecisionState.UNDELIVERED}') AND (answer IS NULL OR answered_by IS NULL)""",
    ),
    Rule(
        noun="decision",
        what="state",
        expected="not open any more once its run has an outcome",
        broken=f"""SELECT decisions.id, state FROM decisions JOIN runs ON runs.id = run
WHERE state = '{DecisionState.OPEN}' AND kind IN ({_LIVE_CONTROL}) AND outcome IS NOT NULL""",
    ),
    Rule(
        noun="stop",
        what="settled_at",
        expected="a time and a result once it is settled, and none before",
        broken=f"""SELECT id, state FROM stops
WHERE (state = '{StopState.SETTLED}') <> (settled_at IS NOT NULL AND result IS NOT NULL)""",
    ),
    Rule(
        noun="stop",
        what="state",
        expected="settled once its run has an outcome",
        broken=f"""SELECT stops.id, state FROM stops JOIN runs ON runs.id = run
WHERE state <> '{StopState.SETTLED}' AND outcome IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM custody WHERE custody.run = runs.id AND custody.state <> '{CustodyState.CLOSED}')""",
    ),
    Rule(
        noun="command",
        what="ended_at",
        expected="a time once it is over, and none before",
        broken=f"SELECT id, state FROM commands WHERE (state IN ({_FINAL_COMMAND})) <> (ended_at IS NOT NULL)",
    ),
    Rule(
        noun="task",
        what="token",
        expected="a claim, by a console, while it is worked at, and none once it is not",
        broken=f"""SELECT id, state || ', ' || coalesce(token, 'none') FROM tasks
WHERE (state = '{TaskState.WORKING}' AND token IS NULL) OR (state NOT IN ({_CLAIMED}) AND token IS NOT NULL)
  OR (token IS NULL) <> (incarnation IS NULL) OR (token IS NULL) <> (claimed_at IS NULL)""",
    ),
    Rule(
        noun="task",
        what="ended_at",
        expected="a time once it is over, and none before",
        broken=f"SELECT id, state FROM tasks WHERE (state IN ({_OVER})) <> (ended_at IS NOT NULL)",
    ),
    Rule(
        noun="task",
        what="unmet",
        expected="as many as it needs and are not done",
        broken=f"""SELECT id, unmet FROM tasks WHERE unmet <> (
  SELECT count(*) FROM task_dependencies JOIN tasks AS needed ON needed.id = needs
  WHERE task = tasks.id AND needed.state <> '{TaskState.DONE}')""",
    ),
    Rule(
        noun="task",
        what="terms",
        expected="those that it names, for as long as they stand",
        broken=f"""SELECT tasks.id, coalesce(tasks.series, 'none') || ', until ' || agreed_until
FROM tasks LEFT JOIN series ON series.id = tasks.series
WHERE agreed_until <> coalesce(series.expires_at, 0) OR (tasks.state = '{TaskState.QUEUED}'
  AND tasks.series IS NOT NULL AND spent <> {NOTHING_LEFT.format(series="tasks.series")})""",
    ),
    Rule(
        noun="task",
        what="begun",
        expected="as many attempts as there were",
        broken="""SELECT id, begun FROM tasks
WHERE begun < (SELECT coalesce(max(n), 0) FROM attempts WHERE task = tasks.id)""",
    ),
    Rule(
        noun="series",
        what="closed_at",
        expected="a time and a reason once it is closed, and none before",
        broken=f"""SELECT id, state || ', ' || coalesce(close_reason, 'none') FROM series
WHERE (state = '{SeriesState.CLOSED}') <> (closed_at IS NOT NULL AND close_reason IS NOT NULL)""",
    ),
    Rule(
        noun="operation",
        what="task",
        expected="what it claimed, and a time once it is over",
        broken=f"""SELECT id, state FROM operations
WHERE (state IN ('{OperationState.CLAIMED}', '{OperationState.ADMITTED}') AND (task IS NULL OR token IS NULL))
  OR (state IN ('{OperationState.BEGUN}', '{OperationState.CLAIMED}')) <> (ended_at IS NULL)""",
    ),
    Rule(
        noun="attempt",
        what="operation",
        expected="one that was carried out by it",
        broken=f"""SELECT run, operation FROM attempts JOIN operations ON operations.id = operation
WHERE state <> '{OperationState.ADMITTED}' OR operations.task <> attempts.task""",
    ),
    Rule(
        noun="attempt",
        what="outcome",
        expected="one once its run has an outcome, and none before",
        broken="""SELECT attempts.run, coalesce(outcome, 'none') FROM attempts JOIN runs ON runs.id = attempts.run
WHERE (outcome IS NOT NULL) <> EXISTS (SELECT 1 FROM outcomes WHERE outcomes.run = attempts.run)""",
    ),
    Rule(
        noun="outcome",
        what="verdict",
        expected="one once it is decided, and none before",
        broken=f"""SELECT run, state FROM outcomes
WHERE (state = '{OutcomeState.PENDING}') <> (verdict IS NULL AND decided_at IS NULL)
  OR (state = '{OutcomeState.ACKNOWLEDGED}') <> (acknowledged_at IS NOT NULL)""",
    ),
    # Its turns' own costs are the steps between what the agent told as its total, which begins at nothing where the run
    # goes on from no other.
    Rule(
        noun="run",
        what="costs",
        expected="what the agent told as its total",
        broken=f"""
WITH told AS (
  SELECT run, generation, sum(cost) AS costs, min(cumulative) AS low, max(cumulative) AS high
  FROM turns WHERE {_REPORTED} GROUP BY run, generation
), first AS (
  SELECT turns.run, turns.generation, sum(cost) AS costs FROM turns
  JOIN told ON told.run = turns.run AND told.generation = turns.generation AND cumulative = low
  WHERE {_REPORTED} GROUP BY turns.run, turns.generation
)
SELECT told.run, told.costs || ' millionths of a dollar, and told was ' || (high - low + first.costs)
  || ' (generation ' || told.generation || ')'
FROM told JOIN first ON first.run = told.run AND first.generation = told.generation
WHERE told.costs <> high - low + first.costs OR (told.generation = 1 AND first.costs <> low
  AND EXISTS (SELECT 1 FROM runs WHERE runs.id = told.run AND continues IS NULL))""",
    ),
)


def unsound(tx: Tx) -> Iterator[Difference]:
    """What breaks a rule, the rules in their order."""
    for rule in RULES:
        for key, found in tx.conn.execute(rule.broken).fetchall():
            yield Difference(where=f"{rule.noun} {key}", what=rule.what, expected=rule.expected, found=str(found))
