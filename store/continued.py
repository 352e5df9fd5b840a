"""What a run left that goes on in another: messages that were never sent, and what there is to tell of its turns.

An answer has a state of its own for that (``decisions``). A message has none: it was carried on when a brief that had
it went out, and whether one did is asked here, in the transaction that records the next such brief.
"""

from typing import Final

from store import queued, runs, turns
from store.events import Event
from store.rows import columns, many
from store.tx import Tx
from store.vocab import QueuedTurnState, RunId, TurnId, TurnSource, TurnState

_WENT: Final = f"EXISTS (SELECT 1 FROM turns WHERE turns.run = later.id AND n = 1 AND state <> '{TurnState.CANCELLED}')"
_CARRIED: Final = """(SELECT json_extract(terms, '$.unsent') FROM runs
  JOIN authorizations ON authorizations.id = authorization_id WHERE runs.id = later.id) > 0"""
# Whether a run that goes on from this one had a brief with messages that went out, or may have; where its brief never
# went, whether one that goes on from that one had.
TAKEN_UP: Final = f"""
WITH RECURSIVE later(id) AS (
  SELECT id FROM runs WHERE id > :run AND continues = :run
  UNION SELECT runs.id FROM runs JOIN later ON runs.id > later.id AND runs.continues = later.id WHERE NOT {_WENT}
) SELECT 1 FROM later WHERE {_WENT} AND {_CARRIED} LIMIT 1
"""
# What was said and begun in a turn, the newest first. A very long body is left out.
TOLD: Final = f"""
SELECT {columns(Event)} FROM events
WHERE turn = :turn AND kind IN ('text', 'tool-started') AND length(body) <= :longest ORDER BY id DESC LIMIT :limit
"""
# What an agent said that did not come up.
NOT_UP: Final = f"""
SELECT {columns(Event)} FROM events WHERE run = :run AND kind = 'cannot-start' ORDER BY id LIMIT 1
"""


def not_up(tx: Tx, run: RunId) -> Event | None:
    """The event in which the agent of this run said that it cannot start."""
    found = many(tx, Event, NOT_UP, {"run": run})
    return found[0] if found else None


def taken_up(tx: Tx, run: RunId) -> bool:
    """Whether what this run left has gone out in the brief of another one, or may have."""
    return tx.conn.execute(TAKEN_UP, {"run": run}).fetchone() is not None


def unsent(tx: Tx, run: RunId, *, but: str = "") -> list[str]:
    """The operator's messages that provably never went to the agent of this run, in their order; before them those of
    the run that it goes on from, where not even its own brief went. None that another run has taken up. ``but``: a text
    that says nothing by itself."""
    row = runs.get(tx, run)
    before = unsent(tx, row.continues, but=but) if row is not None and row.continues and not began(tx, run) else []
    if taken_up(tx, run):
        return before
    own = (TurnSource.BRIEF, TurnSource.OPERATOR)
    lost = [t.text for t in turns.of_run(tx, run) if t.state is TurnState.CANCELLED and t.source in own]
    lost += [one.text for one in queued.of_run(tx, run) if one.state is QueuedTurnState.UNSENT]
    return before + [text for text in lost if text != but]


def began(tx: Tx, run: RunId) -> bool:
    """Whether its brief went out, or may have."""
    return any(turn.n == 1 and turn.state is not TurnState.CANCELLED for turn in turns.of_run(tx, run))


def told(tx: Tx, turn: TurnId, *, limit: int, longest: int) -> list[Event]:
    """The last so many texts of the agent and calls of tools in a turn, in order."""
    return many(tx, Event, TOLD, {"turn": turn, "limit": limit, "longest": longest})[::-1]
