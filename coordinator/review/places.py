"""Where in its run's conversation a thing stands that is listed elsewhere: a turn, a question, a text that was found.

Pure given a ``Tx``. A place is the key of an event; a turn's is that of its first.
"""

from typing import Final

from coordinator import eventcodec
from coordinator.api import Hit
from coordinator.drivers.base import DecisionAsked
from coordinator.review.types import SearchHit
from store import decisions, events
from store.tx import Tx
from store.vocab import DecisionId, RunId, TurnId

PAGE: Final = 500
LOOKED: Final = 20_000
"""Events that are looked through for a question, from where its turn begins."""
SAME_TIME: Final = 1_000
"""Milliseconds between what the agent said and what was written down of it."""
_BODIES: Final = 4_000_000
_ASKED: Final = "decision-asked"


def of_hit(tx: Tx, hit: SearchHit) -> Hit | None:
    """None: it stands in no conversation, as a question that nothing of the agent's shows."""
    if hit.key is not None:
        return Hit(key=hit.key, lines=1)
    if hit.decision is not None:
        return of_decision(tx, hit.run, hit.decision)
    return None if hit.turn is None else of_turn(tx, hit.turn)


def of_turn(tx: Tx, turn: TurnId) -> Hit | None:
    key = events.first_of_turn(tx, turn)
    return None if key is None else Hit(key=key, lines=1, turn=True)


def of_decision(tx: Tx, run: RunId, decision: DecisionId) -> Hit | None:
    """The event in which the agent asked; else the turn in which it did."""
    row = decisions.get(tx, decision)
    if row is None or row.run != run:
        return None
    first = events.first_of_turn(tx, row.turn) if row.turn is not None else None
    after = (first[0], first[1] - 1) if first is not None else events.BEFORE_ALL
    looked = 0
    best: tuple[int, events.Key] | None = None
    while looked < LOOKED and (best is None or best[0] > SAME_TIME):
        found, more = events.near(tx, run, after, newer=True, limit=PAGE, most=_BODIES)
        for one in found:
            if one.kind == _ASKED and _request(one) == row.request:
                # An agent may use the number of a request again: the one that was asked at this time is meant.
                best = min(best or (1 << 62, after), (abs(one.at - row.asked_at), (one.offset, one.n)))
        if not more or not found:
            break
        looked += len(found)
        after = (found[-1].offset, found[-1].n)
    if best is not None:
        return Hit(key=best[1], lines=1)
    return None if first is None else Hit(key=first, lines=1, turn=True)


def _request(event: events.Event) -> str:
    asked = eventcodec.decode(event.kind, event.body)
    return asked.request if isinstance(asked, DecisionAsked) else ""
