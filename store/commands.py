"""What another process asks of the console that owns a run: the owner carries it out, the asker reads here."""

from typing import ClassVar, Final, Literal

from store import entries, moves
from store.canonical import storable
from store.rows import Record, columns, many, one, sure
from store.tx import Tx
from store.vocab import CommandState, CommandVerb, CustodyState, IncarnationId, Millis, RunId


class Command(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "commands"
    DIGESTED: ClassVar[tuple[str, ...]] = ("body", "answer")

    id: int
    run: RunId | None
    """None: all."""
    verb: CommandVerb
    body: str
    """Canonical JSON."""
    operator: str
    asked_at: Millis
    state: CommandState
    incarnation: IncarnationId | None
    taken_at: Millis | None
    ended_at: Millis | None
    answer: str | None
    """Canonical JSON: what came of it, or the refusal."""


_ASKED: Final = CommandState.ASKED

# Another process asks.
ASK: Final = f"""
INSERT INTO commands (run, verb, body, operator, asked_at, state)
VALUES (:run, :verb, :body, :operator, :now, '{_ASKED}')
RETURNING {columns(Command)}
"""
GET: Final = f"SELECT {columns(Command)} FROM commands WHERE id = :id"
# One console takes it, once.
TAKE: Final = f"""
UPDATE commands SET state = '{CommandState.TAKEN}', incarnation = :incarnation, taken_at = :now
WHERE id = :id AND state IN ({moves.sources(moves.COMMAND, CommandState.TAKEN)}) RETURNING {columns(Command)}
"""
# For the console that holds the run now (or admitted it, where no hold is open), and for everyone.
ASKED_FOR: Final = f"""
SELECT {columns(Command)} FROM commands
WHERE state = '{_ASKED}' AND (run IS NULL OR :incarnation = coalesce(
  (SELECT custody.incarnation FROM custody
   WHERE custody.run = commands.run AND custody.state <> '{CustodyState.CLOSED}'),
  (SELECT runs.incarnation FROM runs WHERE runs.id = commands.run)))
ORDER BY id
"""
FINISH: Final = f"""
UPDATE commands SET state = :state, answer = :answer, ended_at = :now
WHERE id = :id AND state IN ({moves.sources(moves.COMMAND, CommandState.DONE)}) RETURNING {columns(Command)}
"""
# Nobody took it in time.


def _chain(row: Command) -> RunId | Literal[0]:
    return entries.LEDGER_CHAIN if row.run is None else row.run


def ask(tx: Tx, *, run: RunId | None, verb: CommandVerb, body: str, operator: str) -> Command:
    parameters = {"run": run, "verb": verb, "body": storable(body), "operator": operator, "now": tx.now}
    row = sure(tx, Command, ASK, parameters)
    entries.note(tx, _chain(row), "command.asked", row)
    return row


def get(tx: Tx, id: int) -> Command | None:
    return one(tx, Command, GET, {"id": id})


def take(tx: Tx, *, id: int, incarnation: IncarnationId) -> Command | None:
    row = one(tx, Command, TAKE, {"id": id, "incarnation": incarnation, "now": tx.now})
    if row is not None:
        entries.note(tx, _chain(row), "command.taken", row, "state", "incarnation", "taken_at")
    return row


def asked_for(tx: Tx, incarnation: IncarnationId) -> list[Command]:
    return many(tx, Command, ASKED_FOR, {"incarnation": incarnation})


def finish(tx: Tx, *, id: int, state: CommandState, answer: str) -> Command | None:
    moves.check(moves.COMMAND, (CommandState.TAKEN,), state)
    row = one(tx, Command, FINISH, {"id": id, "state": state, "answer": storable(answer), "now": tx.now})
    if row is not None:
        entries.note(tx, _chain(row), f"command.{state}", row, "state", "answer", "ended_at")
    return row
