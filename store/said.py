"""What the operator has said in a repository, over all its runs: what a composer's history is made of.

Read newest first and stopped early, so that a ledger of years costs no more than one of a week. Long texts come as
their beginning only; whoever wants one whole asks for that one.
"""

from typing import Final

from msgspec import Struct

from store.tx import Tx
from store.vocab import Millis, TurnId, TurnSource

MOST: Final = 500
WHOLE_BYTES: Final = 64 * 1024
"""What was sent for a longer one is more than this; it is listed by its beginning."""
ALL_BYTES: Final = 4 * 1024 * 1024
"""Of all texts together; from there on each is listed by its beginning."""
_HEAD: Final = 400
_LOOKED_AT: Final = 4 * MOST
"""The same sentence again and again must not make the look into the past a long one."""

# Newest runs first, in each the newest turn first: both by an index, nothing is sorted.
SAID_IN: Final = f"""
SELECT turns.id, turns.recorded_at, turns.bytes,
  CASE WHEN turns.bytes <= :whole THEN turns.text ELSE substr(turns.text, 1, :head) END
FROM runs CROSS JOIN turns ON turns.run = runs.id
WHERE runs.repository = :repository AND turns.source IN ('{TurnSource.BRIEF}', '{TurnSource.OPERATOR}')
ORDER BY runs.id DESC, turns.n DESC LIMIT :limit
"""
TEXT: Final = "SELECT text FROM turns WHERE id = :id"


class Said(Struct, frozen=True, kw_only=True):
    turn: TurnId
    at: Millis
    text: str
    whole: bool
    """False: ``text`` is its beginning."""
    bytes: int


def said_in(tx: Tx, repository: str) -> list[Said]:
    """Each text once, by its newest turn; newest last."""
    found: dict[str, Said] = {}
    room = ALL_BYTES
    asked = {"repository": repository, "whole": WHOLE_BYTES, "head": _HEAD, "limit": _LOOKED_AT}
    for turn, at, size, text in tx.conn.execute(SAID_IN, asked):
        whole = size <= WHOLE_BYTES and len(text) <= room
        shown = text if whole else text[:_HEAD]
        before = found.get(shown)
        if before is not None and before.whole == whole and before.at >= at:
            continue
        if before is None:
            room -= len(shown)
        found[shown] = Said(turn=TurnId(turn), at=Millis(at), text=shown, whole=whole, bytes=size)
        if len(found) >= MOST:
            break
    return sorted(found.values(), key=lambda one: one.at)


def text_of(tx: Tx, turn: TurnId) -> str | None:
    row = tx.conn.execute(TEXT, {"id": turn}).fetchone()
    return None if row is None else str(row[0])
