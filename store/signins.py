"""Which agents were signed in when they were last heard, as far as the outcomes of their runs tell: a turn that went
well, or one (or a start) that failed for want of a sign-in.

Nothing is kept for this: it is read from what is there, and only from the newest runs, so that it costs the same on a
ledger of any age. Asking the agents themselves would start them.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from store.tx import Tx
from store.vocab import EndReason, FailureKind, Millis, TurnResultKind

NEWEST_RUNS: Final = 500
"""Of the whole ledger; what an agent did before them is too old to go by."""


class SignIn(Struct, frozen=True, kw_only=True):
    """What the newest outcome that tells said."""

    signed_in: bool
    at: Millis


# Turns that tell: those that went well, and those that were refused for want of a sign-in. Imported ones tell nothing.
TURNS: Final = f"""
SELECT runs.agent, turns.ended_at, turns.failure IS NULL FROM runs JOIN turns ON turns.run = runs.id
WHERE runs.id > (SELECT coalesce(max(id), 0) - {NEWEST_RUNS} FROM runs) AND runs.reason IS NOT '{EndReason.IMPORTED}'
  AND turns.ended_at IS NOT NULL
  AND (turns.failure = '{FailureKind.AUTHENTICATION}'
    OR (turns.failure IS NULL AND turns.result = '{TurnResultKind.SUCCESS}'))
"""
# Starts that the agent refused for want of a sign-in.
STARTS: Final = f"""
SELECT agent, ended_at, 0 FROM runs
WHERE id > (SELECT coalesce(max(id), 0) - {NEWEST_RUNS} FROM runs)
  AND reason = '{EndReason.SPAWN_FAILED}:{FailureKind.AUTHENTICATION}'
"""


def known(tx: Tx) -> Mapping[str, SignIn]:
    """By the profile's name; an agent that is not there was never heard to be either."""
    found: dict[str, SignIn] = {}
    for statement in (TURNS, STARTS):
        for agent, at, signed_in in tx.conn.execute(statement):
            before = found.get(agent)
            if before is None or at > before.at:
                found[agent] = SignIn(signed_in=bool(signed_in), at=Millis(at))
    return found
