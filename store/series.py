"""Terms that the operator agreed to for several attempts of one task, and what is used of them.

What the terms say is not known here: they are text with a digest, and ``coordinator.tasks.seriesterms`` reads them.
An attempt counts from the transaction that admits its run until its outcome is dealt with as one that does not count
(``outcomes.acknowledge``); its money counts in any case. So no crash makes more of either than was agreed to.
"""

from typing import ClassVar, Final

from msgspec import Struct

from store import entries, moves
from store.canonical import storable
from store.rows import Record, columns, number, one, sure, values
from store.tx import Tx
from store.vocab import MicroUsd, Millis, SeriesId, SeriesState, TaskId


class Series(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "series"
    DIGESTED: ClassVar[tuple[str, ...]] = ("terms",)

    id: SeriesId
    task: TaskId
    """May be gone, where no attempt was ever made of it."""
    revision: int
    """Of the task, when it was signed."""
    state: SeriesState
    terms: str
    """Canonical JSON as signed."""
    digest: str
    attempts: int
    """How many may be begun under it that count."""
    budget: MicroUsd | None
    """For all of them; None: the agent tells no cost."""
    operator: str
    signed_at: Millis
    expires_at: Millis
    """After that none is begun."""
    closed_at: Millis | None
    close_reason: str | None


SIGN: Final = f"INSERT INTO series {values(Series)} RETURNING {columns(Series)}"
GET: Final = f"SELECT {columns(Series)} FROM series WHERE id = :id"
# What was agreed to last, in force or not.
NEWEST: Final = (
    f"SELECT {columns(Series)} FROM series WHERE task = :task ORDER BY signed_at DESC, series.rowid DESC LIMIT 1"
)
CLOSE: Final = f"""
UPDATE series SET state = '{SeriesState.CLOSED}', closed_at = :now, close_reason = :reason
WHERE id = :id AND state IN ({moves.sources(moves.SERIES, SeriesState.CLOSED)}) RETURNING {columns(Series)}
"""
MADE: Final = "SELECT count(*) FROM attempts WHERE series = :series AND counted = 1"
SPENT: Final = "SELECT sum(cost) FROM attempts JOIN turns ON turns.run = attempts.run WHERE attempts.series = :series"
NOTHING_LEFT: Final = f"""NOT EXISTS (
  SELECT 1 FROM series AS agreed WHERE agreed.id = {{series}} AND agreed.state = '{SeriesState.OPEN}'
    AND agreed.attempts > (SELECT count(*) FROM attempts WHERE attempts.series = agreed.id AND attempts.counted = 1)
    AND (agreed.budget IS NULL OR agreed.budget > (
      SELECT coalesce(sum(turns.cost), 0) FROM attempts JOIN turns ON turns.run = attempts.run
      WHERE attempts.series = agreed.id)))"""
"""As a part of statements about tasks: the same as ``left`` tells, but for the time."""


class Left(Struct, frozen=True, kw_only=True):
    """What may still be used under a series."""

    attempts: int
    money: MicroUsd | None
    """None: no limit was agreed to. Below nothing where a turn cost more than was left."""

    @property
    def nothing(self) -> bool:
        return self.attempts <= 0 or (self.money is not None and self.money <= 0)


def sign(
    tx: Tx,
    *,
    id: SeriesId,
    task: TaskId,
    revision: int,
    terms: str,
    digest: str,
    attempts: int,
    budget: MicroUsd | None,
    operator: str,
    expires_at: Millis,
) -> Series:
    """The operator agreed. In force only once ``tasks.attach_series`` has put it to the task, in the same transaction.

    Raises:
        sqlite3.IntegrityError: this id is there already.
    """
    row = sure(
        tx,
        Series,
        SIGN,
        {
            "id": id,
            "task": task,
            "revision": revision,
            "state": SeriesState.OPEN,
            "terms": storable(terms),
            "digest": digest,
            "attempts": attempts,
            "budget": budget,
            "operator": operator,
            "signed_at": tx.now,
            "expires_at": expires_at,
            "closed_at": None,
            "close_reason": None,
        },
    )
    entries.note(tx, entries.LEDGER_CHAIN, "series.signed", row)
    return row


def get(tx: Tx, id: SeriesId) -> Series | None:
    return one(tx, Series, GET, {"id": id})


def newest(tx: Tx, task: TaskId) -> Series | None:
    """What was agreed to last for a task, in force or not: what new terms are held against."""
    return one(tx, Series, NEWEST, {"task": task})


def close(tx: Tx, *, id: SeriesId, reason: str) -> Series | None:
    """No attempt is begun under it any more; those that are held go on. None: it was closed before."""
    row = one(tx, Series, CLOSE, {"id": id, "now": tx.now, "reason": reason})
    if row is not None:
        entries.note(tx, entries.LEDGER_CHAIN, "series.closed", row, "state", "closed_at", "close_reason")
    return row


def spent(tx: Tx, id: SeriesId) -> MicroUsd:
    """What all its attempts have cost, as far as it was told or guessed."""
    return MicroUsd(number(tx, SPENT, {"series": id}))


def attempts_made(tx: Tx, id: SeriesId) -> int:
    """Those that count, the one that is held among them."""
    return number(tx, MADE, {"series": id})


def left(tx: Tx, row: Series) -> Left:
    money = None if row.budget is None else MicroUsd(row.budget - spent(tx, row.id))
    return Left(attempts=row.attempts - attempts_made(tx, row.id), money=money)
