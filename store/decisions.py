"""What agents ask to have decided, what the operator said, and how far the answer came.

An answer reaches the agent at most once: every step of its delivery is a guarded move, and the step before the bytes
names the write that carries them. Whether a kind of decision can be answered in some way is not known here.
"""

from typing import ClassVar, Final

from store import entries, moves, search
from store.canonical import digest, storable
from store.refusal import Fact, Refusal
from store.rows import Record, columns, many, one, values
from store.runs import LINE
from store.tx import Tx
from store.vocab import DecisionId, DecisionKind, DecisionState, Millis, RefusalReason, RunId, TurnId


class Decision(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "decisions"
    DIGESTED: ClassVar[tuple[str, ...]] = ("payload", "subject")

    id: DecisionId
    run: RunId
    turn: TurnId | None
    kind: DecisionKind
    state: DecisionState
    revision: int
    request: str
    """The agent's id, or the park's."""
    generation: int
    payload: str
    """Canonical JSON of what was shown."""
    payload_hash: str
    title: str
    subject: str
    asked_at: Millis
    answer: str | None
    """Canonical JSON."""
    answered_by: str | None
    answered_at: Millis | None
    write_id: str | None
    """The control write or turn that carries the answer."""
    delivered_at: Millis | None
    ended_at: Millis | None
    note: str
    """Why withdrawn, how refused, why never sent."""


_S = DecisionState
_RETURNING: Final = f"RETURNING {columns(Decision)}"
_CONTROL: Final = f"'{DecisionKind.PERMISSION}', '{DecisionKind.QUESTION}', '{DecisionKind.PLAN}'"
"""Kinds that live on the control channel and die with it."""
_RIDING: Final = f"'{DecisionKind.QUESTION}', '{DecisionKind.PARK}'"
"""Kinds whose answer may ride a later brief."""


def _from(to: DecisionState) -> str:
    return moves.sources(moves.DECISION, to)


# The agent asks; the same thing asked again is the same decision.
ASK: Final = f"INSERT INTO decisions {values(Decision, 'id')} ON CONFLICT DO NOTHING {_RETURNING}"
ASKED_BEFORE: Final = f"""
SELECT {columns(Decision)} FROM decisions
WHERE run = :run AND coalesce(turn, '') = coalesce(:turn, '') AND payload_hash = :payload_hash AND request = :request
"""
GET: Final = f"SELECT {columns(Decision)} FROM decisions WHERE id = :id"
# Those that somebody must still do something about.
LIVE: Final = f"""
SELECT {columns(Decision)} FROM decisions
WHERE state IN ('{_S.OPEN}', '{_S.ANSWERED}', '{_S.DELIVERING}', '{_S.UNDELIVERED}', '{_S.UNCERTAIN}')
  AND (:run IS NULL OR run = :run) ORDER BY id
"""
OF_RUN: Final = f"SELECT {columns(Decision)} FROM decisions WHERE run = :run ORDER BY id"
# As the agent's stream names it; an id may be used again by a later process of the agent.
BY_REQUEST: Final = f"""
SELECT {columns(Decision)} FROM decisions WHERE run = :run AND request = :request AND generation = :generation
ORDER BY id DESC LIMIT 1
"""
# Of the run or of those that it goes on from: their answers ride in its brief.
BY_WRITE: Final = f"""
SELECT {columns(Decision)} FROM decisions WHERE run IN ({LINE}) AND write_id = :write_id ORDER BY id
"""
# Answered, and never sent: they may ride a later brief.
UNDELIVERED: Final = f"""
SELECT {columns(Decision)} FROM decisions WHERE run IN ({LINE}) AND state = '{_S.UNDELIVERED}' ORDER BY id
"""
# The operator answers what was shown to them, and nothing else.
ANSWER: Final = f"""
UPDATE decisions SET state = '{_S.ANSWERED}', answer = :answer, answered_by = :operator, answered_at = :now
WHERE id = :id AND revision = :revision AND payload_hash = :payload_hash AND state = '{_S.OPEN}' {_RETURNING}
"""
# In the transaction that records the write that carries it.
DELIVER: Final = f"""
UPDATE decisions SET state = '{_S.DELIVERING}', write_id = :write_id, ended_at = NULL
WHERE id = :id AND state IN ({_from(_S.DELIVERING)}) {_RETURNING}
"""
DELIVERED: Final = f"""
UPDATE decisions SET state = '{_S.DELIVERED}', delivered_at = :now, ended_at = :now
WHERE id = :id AND state IN ({_from(_S.DELIVERED)}) {_RETURNING}
"""
# Provably not sent, and the hold goes on.
UNDELIVER: Final = f"""
UPDATE decisions SET state = '{_S.ANSWERED}', write_id = NULL WHERE id = :id AND state = '{_S.DELIVERING}' {_RETURNING}
"""
# Nobody can tell whether it arrived; or it never went and never will, and the note says why.
UNCERTAIN: Final = f"""
UPDATE decisions SET state = '{_S.UNCERTAIN}', ended_at = :now, note = :note
WHERE id = :id AND state IN ({_from(_S.UNCERTAIN)}) {_RETURNING}
"""
WITHDRAW: Final = f"""
UPDATE decisions SET state = '{_S.WITHDRAWN}', ended_at = :now, note = :note
WHERE id = :id AND state IN ({_from(_S.WITHDRAWN)}) {_RETURNING}
"""
REFUSED_BY_AGENT: Final = f"""
UPDATE decisions SET state = '{_S.REFUSED_BY_AGENT}', note = :note, ended_at = :now
WHERE id = :id AND state IN ({_from(_S.REFUSED_BY_AGENT)}) {_RETURNING}
"""
DISMISS: Final = f"""
UPDATE decisions SET state = '{_S.DISMISSED}', note = :note, ended_at = :now
WHERE id = :id AND state IN ({_from(_S.DISMISSED)}) {_RETURNING}
"""
# The end of a hold: what could still have been delivered on its wire cannot any more.
HOLD_ENDED_OPEN: Final = f"""
UPDATE decisions SET state = '{_S.WITHDRAWN}', ended_at = :now, note = :note
WHERE run = :run AND (
  state = '{_S.OPEN}' AND kind IN ({_CONTROL}) OR state = '{_S.ANSWERED}' AND kind NOT IN ({_RIDING}))
{_RETURNING}
"""
# Also of the runs that it goes on from, whose answers rode in its brief: nothing else of theirs is only answered.
HOLD_ENDED_ANSWERED: Final = f"""
UPDATE decisions SET state = '{_S.UNDELIVERED}'
WHERE run IN ({LINE}) AND state = '{_S.ANSWERED}' AND kind IN ({_RIDING}) {_RETURNING}
"""
HOLD_ENDED_DELIVERING: Final = f"""
UPDATE decisions SET state = '{_S.UNCERTAIN}', ended_at = :now
WHERE run IN ({LINE}) AND state = '{_S.DELIVERING}'
  AND (run = :run OR write_id IN (SELECT id FROM turns WHERE turns.run = :run))
{_RETURNING}
"""


def ask(
    tx: Tx,
    *,
    run: RunId,
    turn: TurnId | None,
    kind: DecisionKind,
    request: str,
    generation: int,
    payload: str,
    title: str,
    subject: str,
) -> Decision:
    stored = storable(payload)
    parameters: dict[str, object] = {
        "run": run,
        "turn": turn,
        "kind": kind,
        "state": DecisionState.OPEN,
        "revision": 1,
        "request": request,
        "generation": generation,
        "payload": stored,
        "payload_hash": digest(stored),
        "title": storable(title),
        "subject": storable(subject),
        "asked_at": tx.now,
        "answer": None,
        "answered_by": None,
        "answered_at": None,
        "write_id": None,
        "delivered_at": None,
        "ended_at": None,
        "note": "",
    }
    row = one(tx, Decision, ASK, parameters)
    if row is None:
        before = one(tx, Decision, ASKED_BEFORE, parameters)
        assert before is not None, "only decisions_once can have been in the way"
        return before
    entries.note(tx, run, "decision.open", row)
    search.fill_asked(tx, run=run, turn=turn, decision=row.id, title=row.title, subject=row.subject)
    return row


def get(tx: Tx, id: DecisionId) -> Decision | None:
    return one(tx, Decision, GET, {"id": id})


def live(tx: Tx, run: RunId | None = None) -> list[Decision]:
    return many(tx, Decision, LIVE, {"run": run})


def of_run(tx: Tx, run: RunId) -> list[Decision]:
    return many(tx, Decision, OF_RUN, {"run": run})


def by_request(tx: Tx, run: RunId, request: str, generation: int) -> Decision | None:
    return one(tx, Decision, BY_REQUEST, {"run": run, "request": request, "generation": generation})


def by_write(tx: Tx, run: RunId, write_id: str) -> list[Decision]:
    return many(tx, Decision, BY_WRITE, {"run": run, "write_id": write_id})


def undelivered(tx: Tx, run: RunId) -> list[Decision]:
    """Answers of the run, and of those that it goes on from, that never went out."""
    return many(tx, Decision, UNDELIVERED, {"run": run})


def answer(
    tx: Tx, *, id: DecisionId, revision: int, payload_hash: str, answer: str, operator: str
) -> Decision | Refusal:
    parameters = {
        "id": id,
        "revision": revision,
        "payload_hash": payload_hash,
        "answer": storable(answer),
        "operator": operator,
        "now": tx.now,
    }
    row = one(tx, Decision, ANSWER, parameters)
    if row is None:
        return _why_not(get(tx, id), id, revision, payload_hash)
    entries.note(tx, row.run, "decision.answered", row, "state", "answer", "answered_by", "answered_at")
    search.fill_answer(tx, run=row.run, turn=row.turn, decision=row.id, answer=row.answer)
    return row


def _why_not(found: Decision | None, id: DecisionId, revision: int, payload_hash: str) -> Refusal:
    if found is None:
        return Refusal(RefusalReason.NO_SUCH_DECISION, {"decision": id})
    facts: dict[str, Fact]
    if found.answer is not None:
        facts = {"decision": id, "by": found.answered_by, "at": found.answered_at, "answer": found.answer}
        return Refusal(RefusalReason.ALREADY_ANSWERED, facts)
    if found.state is not DecisionState.OPEN:
        return Refusal(RefusalReason.STALE, {"decision": id, "state": found.state.value, "note": found.note})
    facts = {"decision": id, "was": revision, "is": found.revision, "same_payload": found.payload_hash == payload_hash}
    return Refusal(RefusalReason.STALE, facts)


def _moved(tx: Tx, row: Decision | None, *more: str) -> Decision | None:
    if row is not None:
        entries.note(tx, row.run, f"decision.{row.state}", row, "state", "ended_at", *more)
    return row


def deliver(tx: Tx, *, id: DecisionId, write_id: str) -> Decision | None:
    return _moved(tx, one(tx, Decision, DELIVER, {"id": id, "write_id": write_id}), "write_id")


def delivered(tx: Tx, *, id: DecisionId) -> Decision | None:
    return _moved(tx, one(tx, Decision, DELIVERED, {"id": id, "now": tx.now}), "delivered_at")


def undeliver(tx: Tx, *, id: DecisionId) -> Decision | None:
    row = one(tx, Decision, UNDELIVER, {"id": id})
    if row is not None:
        entries.note(tx, row.run, "decision.not-sent", row, "state", "write_id")
    return row


def uncertain(tx: Tx, *, id: DecisionId, not_sent: str = "") -> Decision | None:
    """The answer will never be known to have arrived. ``not_sent``: why it is known that no byte of it went."""
    return _moved(tx, one(tx, Decision, UNCERTAIN, {"id": id, "now": tx.now, "note": not_sent}), "note")


def withdraw(tx: Tx, *, id: DecisionId, note: str) -> Decision | None:
    return _moved(tx, one(tx, Decision, WITHDRAW, {"id": id, "now": tx.now, "note": storable(note)}), "note")


def refused_by_agent(tx: Tx, *, id: DecisionId, note: str) -> Decision | None:
    return _moved(tx, one(tx, Decision, REFUSED_BY_AGENT, {"id": id, "now": tx.now, "note": storable(note)}), "note")


def dismiss(tx: Tx, *, id: DecisionId, operator: str) -> Decision | None:
    note = f"dismissed by {operator}"
    return _moved(tx, one(tx, Decision, DISMISS, {"id": id, "now": tx.now, "note": note}), "note")


def end_of_hold(tx: Tx, run: RunId) -> list[Decision]:
    """What becomes of a run's decisions when its hold ends; returns those that moved. An open park stays open."""
    note = "the hold ended first"
    ended: list[Decision] = []
    for statement in (HOLD_ENDED_DELIVERING, HOLD_ENDED_OPEN, HOLD_ENDED_ANSWERED):
        ended += many(tx, Decision, statement, {"run": run, "now": tx.now, "note": note})
    for row in ended:
        _moved(tx, row, "note")
    return ended
