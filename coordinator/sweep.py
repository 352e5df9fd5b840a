"""What a console does first: find the holds whose owner is gone, seize them one by one, take them over or settle them.

Order: seize, settle, and only then admission. Rows are seized in short transactions; everything that waits
(attaching, reading spools, ending processes) then runs side by side, so that thirty dead sockets cost one timeout.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from pathlib import Path

from msgspec import Struct

from coordinator import adopt, living, recording, settling, steps
from coordinator.custody import spoolfile
from coordinator.custody.client import Supervisor, fence_by_socket, read_cookie
from coordinator.custody.types import SpawnFailure
from coordinator.drivers import registry
from coordinator.house import House
from coordinator.incarnation import is_gone
from coordinator.profiles import AgentProfile
from coordinator.rows import SessionRows, read_rows
from coordinator.session import HeldSession
from coordinator.tasks import claiming
from coordinator.terms import Terms, parse
from store import attention, custody, incarnations, runs
from store.db import Tx
from store.refusal import Refusal
from store.vocab import AttentionKind, CustodyState, EndReason, Millis, RefusalReason, RunId

log = logging.getLogger(__name__)


class Swept(Struct, kw_only=True):
    """What was found; *recovered at start: 2 picked up, 1 ended*."""

    picked_up: tuple[RunId, ...] = ()
    ended: tuple[RunId, ...] = ()
    refused: tuple[RunId, ...] = ()
    strays: tuple[str, ...] = ()
    living: tuple[tuple[RunId, Millis], ...] = ()
    """Passed by: until when each stays held if nobody comes."""


class Seized(Struct, frozen=True, kw_only=True):
    rows: SessionRows
    held: custody.Custody
    limits: recording.EffectiveLimits | None
    """None where the terms cannot be read."""


async def sweep(house: House, begin: Callable[[HeldSession], None], *, held: Collection[RunId] = ()) -> Swept:
    """Find and seize. ``begin`` starts the actor of each hold that was seized; the caller waits for them.

    ``held``: the runs whose actors live here. One of our own without an actor could not be settled before, and is
    tried again.
    """
    gone = await _owners_gone(house)
    unowned = await _unowned(house, gone, held)
    left = await _left_alone(house, unowned) if house.settings.passing else {}
    seized = [
        one for one in [await _seize(house, row, gone) for row in unowned if row.run not in left] if one is not None
    ]
    sessions = [_session(house, one) for one in seized]
    for session in sessions:
        if session is not None:
            begin(session)
    refused = await _never_started(house, gone)
    strays = await _strays(house)
    live = [session for session in sessions if session is not None]
    await asyncio.gather(*(session.taken_over() for session in live))
    return Swept(
        picked_up=tuple(s.run_id for s in live if not s.ending),
        ended=tuple(s.run_id for s in live if s.ending),
        refused=refused,
        strays=strays,
        living=tuple(left.items()),
    )


async def _owners_gone(house: House) -> set[str]:
    rows = await house.ledger.read(lambda tx: incarnations.not_ended(tx))
    alive = {row.id for row in rows if not await asyncio.to_thread(is_gone, row)}
    alive.add(house.incarnation)

    def others(tx: Tx) -> set[str]:
        owners = {held.incarnation for held in custody.not_closed(tx)}
        owners |= {run.incarnation for run in runs.listing(tx, live_only=True, limit=10_000)}
        return {owner for owner in owners if owner not in alive}

    return await house.ledger.read(others)


async def _unowned(house: House, gone: set[str], held: Collection[RunId]) -> list[custody.Custody]:
    """Those of consoles that are gone, and those whose run has its outcome: no actor of any console is at them."""

    def look(tx: Tx) -> list[custody.Custody]:
        rows = [row for row in custody.not_closed(tx) if row.run not in held]
        ours = house.incarnation
        return [row for row in rows if row.incarnation in gone or row.incarnation == ours or _is_over(tx, row.run)]

    return await house.ledger.read(look)


def _is_over(tx: Tx, run: RunId) -> bool:
    row = runs.get(tx, run)
    return row is not None and row.outcome is not None


async def _left_alone(house: House, unowned: list[custody.Custody]) -> dict[RunId, Millis]:
    """Those that live on, and until when: side by side, for one that does not answer costs its timeout."""
    until = await asyncio.gather(*(living.lives_until(house, row) for row in unowned))
    return {row.run: at for row, at in zip(unowned, until, strict=True) if at is not None}


async def _seize(house: House, row: custody.Custody, gone: set[str]) -> Seized | None:
    def take(tx: Tx) -> Seized | Refusal:
        mine = custody.seize(tx, id=row.id, expect_incarnation=row.incarnation, incarnation=house.incarnation)
        if mine is None:
            return Refusal(RefusalReason.STALE)
        claiming.take_with_run(tx, row.run, house, gone)
        rows = read_rows(tx, row.run)
        terms = parse(rows.authorization.terms) if rows.authorization else None
        known = rows.authorization is not None and isinstance(terms, Terms)
        return Seized(
            rows=rows,
            held=mine,
            limits=recording.effective_limits(tx, rows.authorization, terms) if known else None,  # type: ignore[arg-type]
        )

    taken = await house.ledger.transaction(take)
    steps.reach(steps.Step.SEIZED)
    return taken if isinstance(taken, Seized) else None


def _session(house: House, seized: Seized) -> HeldSession | None:
    rows = seized.rows
    if rows.run is None or rows.authorization is None:
        return None
    terms = parse(rows.authorization.terms)
    driver = registry.create(rows.run.driver, house.ids.secret()[:6])
    if not isinstance(terms, Terms) or driver is None or seized.limits is None:
        log.error("run %s: its terms or its driver cannot be read; it stays as it is", rows.run.id)
        return None
    profile = next((one for one in house.profiles if one.name == rows.run.agent), None)
    return HeldSession(
        house,
        run=rows.run.id,
        custody_id=seized.held.id,
        terms=terms,
        profile=profile or AgentProfile(name=rows.run.agent, driver=rows.run.driver, program=terms.program),
        driver=driver,
        operator=rows.run.operator,
        limits=seized.limits,
        rows=rows,
        begin=adopt.adopt,
    )


async def _never_started(house: House, gone: set[str]) -> tuple[RunId, ...]:
    """Runs that were admitted by a console that is gone, and never came to a custody."""

    def refuse(tx: Tx) -> tuple[RunId, ...]:
        found: list[RunId] = []
        for run in runs.listing(tx, live_only=True, limit=10_000):
            if run.incarnation in gone and custody.of_run(tx, run.id) is None:
                settling.refuse_run(tx, run.id, Refusal(RefusalReason.NEVER_STARTED), "")
                found.append(run.id)
        return tuple(found)

    result = await house.ledger.transaction(refuse)
    return result if isinstance(result, tuple) else ()


async def _strays(house: House) -> tuple[str, ...]:
    """Live keepers that this ledger does not know: ended, and a person is told."""
    spool = house.settings.spool
    if not spool.is_dir():
        return ()
    found: list[str] = []
    for folder in sorted(spool.iterdir()):
        known = await house.ledger.read(lambda tx, name=folder.name: custody.get(tx, name))  # type: ignore[misc]
        if known is not None and known.state is not CustodyState.CLOSED:
            continue
        if not folder.is_dir() or not await asyncio.to_thread(spoolfile.spool_is_locked, folder):
            continue
        if known is not None:
            await _let_go(house, folder, known)
        else:
            await _end_stray(house, folder)
            found.append(folder.name)
    return tuple(found)


async def _let_go(house: House, folder: Path, known: custody.Custody) -> None:
    """Its books are closed and its console went before it said so: the keeper waits for somebody to read its end."""
    cookie = await asyncio.to_thread(read_cookie, folder)
    keeper = await Supervisor.attach(
        folder,
        cookie=cookie or "",
        epoch=known.epoch + 1,
        offset=known.ingested,
        timeout=house.settings.timing.attach,
    )
    if not isinstance(keeper, SpawnFailure):
        await keeper.end()


async def _end_stray(house: House, folder: Path) -> None:
    cookie = await asyncio.to_thread(read_cookie, folder)
    done = cookie is not None and await fence_by_socket(folder, cookie, EndReason.RESTORED)
    header = await asyncio.to_thread(spoolfile.read_header, folder / "spool") or {}
    text = f"a keeper process of a run that this ledger does not know ({header.get('run', '?')}) was " + (
        "ended" if done else "found and could not be ended"
    )
    await house.ledger.transaction(
        lambda tx: attention.raise_once(tx, run=None, kind=AttentionKind.PAGE, key=folder.name, text=text)
    )
