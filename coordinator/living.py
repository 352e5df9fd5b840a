"""Whether a hold whose console is gone lives on by itself, and for how long: asked of its keeper, changing nothing."""

import asyncio

from coordinator.custody import spoolfile
from coordinator.custody.client import read_cookie, status_by_socket
from coordinator.house import House
from coordinator.recording import effective_limits
from coordinator.terms import Terms, parse
from store import authorizations, custody, runs
from store.db import Tx
from store.vocab import AuthorizationId, AuthorizationState, CustodyState, Millis


async def lives_until(house: House, row: custody.Custody) -> Millis | None:
    """Until when it stays held if nobody comes; None: it is over, ending, mute, or no longer agreed to."""
    expires_at = await house.ledger.read(lambda tx: _agreed_until(tx, row))
    if expires_at is None or expires_at <= house.clock.now():
        return None
    folder = house.settings.spool / row.id
    if not await asyncio.to_thread(spoolfile.spool_is_locked, folder):
        return None
    cookie = await asyncio.to_thread(read_cookie, folder)
    status = await status_by_socket(folder, cookie, timeout=house.settings.timing.attach) if cookie else None
    if status is None or status.get("ending") or status.get("gone"):
        return None
    if not status.get("agent_alive") and row.state is not CustodyState.RESTARTING:
        return None
    left = status.get("hold_remaining")
    seconds = float(left) if isinstance(left, int | float) else 0.0
    return Millis(min(expires_at, house.clock.now() + int(seconds * 1000)))


def _agreed_until(tx: Tx, row: custody.Custody) -> int | None:
    run = runs.get(tx, row.run)
    signed = authorizations.get(tx, AuthorizationId(run.authorization_id)) if run is not None else None
    if signed is None or signed.state is not AuthorizationState.BOUND:
        return None
    if row.state not in (CustodyState.OPEN, CustodyState.RESTARTING):  # one is carried on by the next console
        return None
    terms = parse(signed.terms)
    return effective_limits(tx, signed, terms).expires_at if isinstance(terms, Terms) else None
