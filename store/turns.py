"""Turns: what was said to the agent and how each message ended, with what it cost.

A turn is here before a byte of it goes out. Whether it may be recorded (budgets, attendance, an open park) is decided
above; only single flight is held here, by an index.
"""

from typing import ClassVar, Final

from msgspec import Struct

from store import entries, events, moves, search
from store.canonical import storable
from store.refusal import Refusal
from store.rows import Record, columns, many, one, values
from store.tx import Tx
from store.vocab import (
    Billing,
    CostKnowledge,
    FailureKind,
    MicroUsd,
    Millis,
    RefusalReason,
    RunId,
    TurnId,
    TurnResultKind,
    TurnSource,
    TurnState,
)


class Turn(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "turns"
    DIGESTED: ClassVar[tuple[str, ...]] = ("text", "preamble")

    id: TurnId
    run: RunId
    n: int
    state: TurnState
    source: TurnSource
    generation: int
    text: str
    """Redacted."""
    preamble: str
    """What Footplate added."""
    bytes: int
    """Length of what was sent."""
    digest: str
    """Keyed digest of what was sent, but for a name of the conversation that only the agent could choose."""
    operator: str
    recorded_at: Millis
    written_at: Millis | None
    accepted_at: Millis | None
    ended_at: Millis | None
    result: TurnResultKind | None
    subtype: str
    failure: FailureKind | None
    failure_text: str
    cost: MicroUsd | None
    """This turn's own; None unknown."""
    cost_known: CostKnowledge | None
    cumulative: MicroUsd | None
    """The agent's own total when it settled."""
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    duration_ms: int | None
    events_hash: str | None


class Spend(Struct, frozen=True, kw_only=True):
    money: MicroUsd
    """All that is known or guessed."""
    turns: int
    """Turns that went to the agent, or may have."""
    unknown: int
    """Ended turns whose cost nobody told."""
    guessed: MicroUsd
    """The part of ``money`` that is an upper guess."""


_ENDED: Final = ("state", "ended_at", "events_hash")
_SETTLED: Final = (
    *_ENDED,
    "result",
    "subtype",
    "failure",
    "failure_text",
    "cost",
    "cost_known",
    "cumulative",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "duration_ms",
)
_FLYING: Final = ", ".join(f"'{state}'" for state in TurnState if state in moves.FLYING)

# The next number of a run.
NEXT: Final = "SELECT coalesce(max(n), 0) + 1 FROM turns WHERE run = :run"
# A turn, before any byte of it; the index refuses a second delivered one in flight.
RECORD: Final = f"INSERT INTO turns {values(Turn)} ON CONFLICT DO NOTHING RETURNING {columns(Turn)}"
GET: Final = f"SELECT {columns(Turn)} FROM turns WHERE id = :id"
OF_RUN: Final = f"SELECT {columns(Turn)} FROM turns WHERE run = :run ORDER BY n"
IN_FLIGHT: Final = f"SELECT {columns(Turn)} FROM turns WHERE run = :run AND state IN ({_FLYING}) ORDER BY n"
# The supervisor confirmed the last byte.
WRITTEN: Final = f"""
UPDATE turns SET state = '{TurnState.WRITTEN}', written_at = :now
WHERE id = :id AND state IN ({moves.sources(moves.TURN, TurnState.WRITTEN)}) RETURNING {columns(Turn)}
"""
# The agent showed that it began.
ACCEPTED: Final = f"""
UPDATE turns SET state = '{TurnState.ACCEPTED}', accepted_at = :now
WHERE id = :id AND state IN ({moves.sources(moves.TURN, TurnState.ACCEPTED)}) RETURNING {columns(Turn)}
"""
# Its result was read.
SETTLE: Final = f"""
UPDATE turns SET state = '{TurnState.SETTLED}', ended_at = :now, events_hash = :events_hash, result = :result,
  subtype = :subtype, failure = :failure, failure_text = :failure_text, cost = :cost, cost_known = :cost_known,
  cumulative = :cumulative, input_tokens = :input_tokens, output_tokens = :output_tokens,
  cache_read_tokens = :cache_read_tokens, cache_write_tokens = :cache_write_tokens, duration_ms = :duration_ms
WHERE id = :id AND state IN ({moves.sources(moves.TURN, TurnState.SETTLED)}) RETURNING {columns(Turn)}
"""
# The spool proves that no byte went.
CANCEL: Final = f"""
UPDATE turns SET state = '{TurnState.CANCELLED}', ended_at = :now, events_hash = :events_hash
WHERE id = :id AND state IN ({moves.sources(moves.TURN, TurnState.CANCELLED)}) RETURNING {columns(Turn)}
"""
# The hold ended before a result.
UNCERTAIN: Final = f"""
UPDATE turns SET state = '{TurnState.UNCERTAIN}', ended_at = :now, events_hash = :events_hash, cost = :cost,
  cost_known = :cost_known
WHERE id = :id AND state IN ({moves.sources(moves.TURN, TurnState.UNCERTAIN)}) RETURNING {columns(Turn)}
"""
# What a run has used of its terms. A cancelled turn never reached the agent.
SPEND: Final = f"""
SELECT coalesce(sum(cost), 0), count(*), coalesce(sum(cost_known = '{CostKnowledge.UNKNOWN}'), 0),
  coalesce(sum(CASE WHEN cost_known = '{CostKnowledge.GUESS}' THEN cost END), 0)
FROM turns WHERE run = :run AND state <> '{TurnState.CANCELLED}'
"""
# What counts in a pool of money: turns that ended since, of one way of billing, of one agent or of all. What was only
# read in was paid elsewhere.
SPENT_SINCE: Final = """
SELECT coalesce(sum(turns.cost), 0) FROM turns JOIN runs ON runs.id = turns.run
WHERE turns.cost IS NOT NULL AND turns.ended_at >= :since AND runs.billing = :billing
  AND runs.reason IS NOT 'imported'
  AND (:agent IS NULL OR runs.agent = :agent)
"""


def record(
    tx: Tx,
    *,
    id: TurnId,
    run: RunId,
    source: TurnSource,
    generation: int,
    text: str,
    preamble: str,
    bytes: int,
    digest: str,
    operator: str,
    state: TurnState = TurnState.RECORDED,
) -> Turn | Refusal:
    """A turn under the run's next number. ``state`` is ``ACCEPTED`` for one that the agent began by itself."""
    n = tx.conn.execute(NEXT, {"run": run}).fetchone()[0]
    empty = dict.fromkeys(_SETTLED)
    row = one(
        tx,
        Turn,
        RECORD,
        {
            **empty,
            "id": id,
            "run": run,
            "n": n,
            "state": state,
            "source": source,
            "generation": generation,
            "text": storable(text),
            "preamble": storable(preamble),
            "bytes": bytes,
            "digest": digest,
            "operator": operator,
            "recorded_at": tx.now,
            "written_at": None,
            "accepted_at": tx.now if state is TurnState.ACCEPTED else None,
            "subtype": "",
            "failure_text": "",
        },
    )
    if row is None:
        flying = [turn for turn in in_flight(tx, run) if turn.source is not TurnSource.AGENT]
        if not flying:
            raise LookupError(f"turn {id} is there already")
        return Refusal(RefusalReason.IN_FLIGHT, {"turn": flying[0].id, "n": flying[0].n})
    entries.note(tx, run, f"turn.{state}", row)
    return row


def get(tx: Tx, id: TurnId) -> Turn | None:
    return one(tx, Turn, GET, {"id": id})


def of_run(tx: Tx, run: RunId) -> list[Turn]:
    return many(tx, Turn, OF_RUN, {"run": run})


def in_flight(tx: Tx, run: RunId) -> list[Turn]:
    return many(tx, Turn, IN_FLIGHT, {"run": run})


def written(tx: Tx, *, id: TurnId) -> Turn | None:
    row = one(tx, Turn, WRITTEN, {"id": id, "now": tx.now})
    if row is not None:
        entries.note(tx, row.run, "turn.written", row, "state", "written_at")
    return row


def accepted(tx: Tx, *, id: TurnId) -> Turn | None:
    row = one(tx, Turn, ACCEPTED, {"id": id, "now": tx.now})
    if row is not None:
        entries.note(tx, row.run, "turn.accepted", row, "state", "accepted_at")
    return row


def settle(
    tx: Tx,
    *,
    id: TurnId,
    result: TurnResultKind,
    subtype: str = "",
    cost: MicroUsd | None = None,
    cost_known: CostKnowledge = CostKnowledge.UNKNOWN,
    cumulative: MicroUsd | None = None,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    cache_read_tokens: int | None = None,
    cache_write_tokens: int | None = None,
    duration_ms: int | None = None,
    failure: FailureKind | None = None,
    failure_text: str = "",
) -> Turn | None:
    """End a turn with its result. Append its events first: the entry carries their hash."""
    seen = events.digest_of_turn(tx, id)
    row = one(
        tx,
        Turn,
        SETTLE,
        {
            "id": id,
            "now": tx.now,
            "events_hash": seen.events_hash,
            "result": result,
            "subtype": storable(subtype),
            "failure": failure,
            "failure_text": storable(failure_text),
            "cost": cost,
            "cost_known": cost_known,
            "cumulative": cumulative,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "cache_read_tokens": cache_read_tokens,
            "cache_write_tokens": cache_write_tokens,
            "duration_ms": duration_ms,
        },
    )
    return _ended(tx, row, seen, *_SETTLED)


def cancel(tx: Tx, *, id: TurnId) -> Turn | None:
    seen = events.digest_of_turn(tx, id)
    row = one(tx, Turn, CANCEL, {"id": id, "now": tx.now, "events_hash": seen.events_hash})
    return _ended(tx, row, seen, *_ENDED)


def uncertain(
    tx: Tx,
    *,
    id: TurnId,
    cost: MicroUsd | None = None,
    cost_known: CostKnowledge = CostKnowledge.UNKNOWN,
) -> Turn | None:
    """It was cut off: as of the ``Tx``'s time, which is when its agent was gone, not when somebody saw that."""
    seen = events.digest_of_turn(tx, id)
    parameters = {"id": id, "now": tx.now, "events_hash": seen.events_hash, "cost": cost, "cost_known": cost_known}
    row = one(tx, Turn, UNCERTAIN, parameters)
    return _ended(tx, row, seen, *_ENDED, "cost", "cost_known")


def _ended(tx: Tx, row: Turn | None, seen: events.EventsDigest, *changed: str) -> Turn | None:
    if row is not None:
        covered = {"events_count": seen.events_count, "events_through": seen.events_through}
        entries.note(tx, row.run, f"turn.{row.state}", row, *changed, **covered)
        search.fill(tx, run=row.run, turn=row.id, text=row.text)
    return row


def spend(tx: Tx, run: RunId) -> Spend:
    money, count, unknown, guessed = tx.conn.execute(SPEND, {"run": run}).fetchone()
    return Spend(money=MicroUsd(money), turns=count, unknown=unknown, guessed=MicroUsd(guessed))


def spent_since(tx: Tx, *, since: Millis, billing: Billing = Billing.KEY, agent: str | None = None) -> MicroUsd:
    """Money of turns that ended since then, for the pools of a day and a month."""
    row = tx.conn.execute(SPENT_SINCE, {"since": since, "billing": billing, "agent": agent}).fetchone()
    return MicroUsd(row[0])
