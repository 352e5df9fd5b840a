"""Signed terms, what they were bound to, and what was added to them later.

What the terms say is not known here: they are text with a digest, and ``coordinator.terms`` reads them.
"""

from typing import ClassVar, Final, Literal

from store import entries, moves
from store.canonical import storable
from store.rows import Record, columns, many, one, sure, values
from store.tx import Tx
from store.vocab import AuthorizationId, AuthorizationState, MicroUsd, Millis, RunId


class Authorization(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "authorizations"
    DIGESTED: ClassVar[tuple[str, ...]] = ("terms",)

    id: AuthorizationId
    state: AuthorizationState
    run: RunId | None
    terms: str
    """Canonical JSON as signed."""
    digest: str
    operator: str
    signed_at: Millis
    expires_at: Millis
    """As signed; an amendment may name a later end."""
    closed_at: Millis | None
    close_reason: str | None


class Amendment(Record, frozen=True, kw_only=True):
    TABLE: ClassVar[str] = "amendments"

    id: int
    authorization_id: AuthorizationId
    at: Millis
    operator: str
    money: MicroUsd | None
    """Added, not the new sum."""
    turns: int | None
    expires_at: Millis | None
    """The new end."""
    working_seconds: int | None
    """Added, as money is."""


# The operator signs.
SIGN: Final = f"INSERT INTO authorizations {values(Authorization)} RETURNING {columns(Authorization)}"
GET: Final = f"SELECT {columns(Authorization)} FROM authorizations WHERE id = :id"
# To its one run, in the transaction that admits it.
BIND: Final = f"""
UPDATE authorizations SET state = '{AuthorizationState.BOUND}', run = :run
WHERE id = :id AND state IN ({moves.sources(moves.AUTHORIZATION, AuthorizationState.BOUND)})
RETURNING {columns(Authorization)}
"""
# For good, whatever the reason.
CLOSE: Final = f"""
UPDATE authorizations SET state = '{AuthorizationState.CLOSED}', closed_at = :now, close_reason = :reason
WHERE id = :id AND state IN ({moves.sources(moves.AUTHORIZATION, AuthorizationState.CLOSED)})
RETURNING {columns(Authorization)}
"""
# The operator extends.
AMEND: Final = f"INSERT INTO amendments {values(Amendment, 'id')} RETURNING {columns(Amendment)}"
AMENDMENTS: Final = f"SELECT {columns(Amendment)} FROM amendments WHERE authorization_id = :id ORDER BY id"
# What a restored ledger must close.
NOT_CLOSED: Final = f"""
SELECT {columns(Authorization)} FROM authorizations WHERE state <> '{AuthorizationState.CLOSED}' ORDER BY signed_at, id
"""


def _chain(row: Authorization) -> RunId | Literal[0]:
    return entries.LEDGER_CHAIN if row.run is None else row.run


def sign(tx: Tx, *, id: AuthorizationId, terms: str, digest: str, operator: str, expires_at: Millis) -> Authorization:
    row = sure(
        tx,
        Authorization,
        SIGN,
        {
            "id": id,
            "state": AuthorizationState.OPEN,
            "run": None,
            "terms": storable(terms),
            "digest": digest,
            "operator": operator,
            "signed_at": tx.now,
            "expires_at": expires_at,
            "closed_at": None,
            "close_reason": None,
        },
    )
    entries.note(tx, entries.LEDGER_CHAIN, "authorization.signed", row)
    return row


def get(tx: Tx, id: AuthorizationId) -> Authorization | None:
    return one(tx, Authorization, GET, {"id": id})


def not_closed(tx: Tx) -> list[Authorization]:
    return many(tx, Authorization, NOT_CLOSED, {})


def bind(tx: Tx, *, id: AuthorizationId, run: RunId) -> Authorization | None:
    row = one(tx, Authorization, BIND, {"id": id, "run": run})
    if row is not None:
        entries.note(tx, run, "authorization.bound", row, "state", "run")
    return row


def close(tx: Tx, *, id: AuthorizationId, reason: str) -> Authorization | None:
    row = one(tx, Authorization, CLOSE, {"id": id, "now": tx.now, "reason": reason})
    if row is not None:
        entries.note(tx, _chain(row), "authorization.closed", row, "state", "closed_at", "close_reason")
    return row


def amend(
    tx: Tx,
    *,
    id: AuthorizationId,
    operator: str,
    money: MicroUsd | None = None,
    turns: int | None = None,
    expires_at: Millis | None = None,
    working_seconds: int | None = None,
) -> Amendment:
    signed = sure(tx, Authorization, GET, {"id": id})
    row = sure(
        tx,
        Amendment,
        AMEND,
        {
            "authorization_id": id,
            "at": tx.now,
            "operator": operator,
            "money": money,
            "turns": turns,
            "expires_at": expires_at,
            "working_seconds": working_seconds,
        },
    )
    entries.note(tx, _chain(signed), "amendment.signed", row)
    return row


def amendments(tx: Tx, id: AuthorizationId) -> list[Amendment]:
    return many(tx, Amendment, AMENDMENTS, {"id": id})
