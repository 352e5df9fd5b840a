"""Taking over a hold whose console is gone: attach, replay, go on with the same live turn, or settle what its spool
proves.

The driver starts from its last snapshot and is fed again from that offset; what lies before the ledger's own offset
is discarded there, so that no event is doubled and none is missing. What the machine knows comes from the ledger,
never from the replay. What the old console had under way is in ``catchup.py``.
"""

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from coordinator import catchup, closing, deeds, eventcodec, launch, machine, steps, stuck, turntimeout
from coordinator.api import EndingView, Started
from coordinator.custody import spoolfile
from coordinator.custody.client import Supervisor, read_cookie
from coordinator.custody.types import RecordKind, SpawnFailure
from coordinator.drivers import registry
from coordinator.drivers.base import ControlAcked
from coordinator.rows import SessionRows
from coordinator.steps import Step
from store import events, evidence
from store.custody import Custody
from store.db import Tx
from store.moves import FLYING
from store.refusal import Refusal
from store.vocab import (
    AuthorizationState,
    CustodyState,
    EndReason,
    EvidenceKind,
    MicroUsd,
    TurnSource,
    TurnState,
)

if TYPE_CHECKING:
    from coordinator.session import HeldSession

log = logging.getLogger(__name__)

SHOWN_AGAIN = 2_000
"""The newest events from which the panel (plan, context, what runs in the background) is made again."""


def state_of(rows: SessionRows, limits: machine.Limits, *, ready: bool) -> machine.SessionState:
    """The machine's working copy, made again from the ledger. Pure."""
    generation = rows.custody.generation if rows.custody else 1
    settled = [t for t in rows.turns if t.state is TurnState.SETTLED]
    cumulative = max((t.cumulative or 0 for t in settled if t.generation == generation), default=0)
    # Not the one with the highest number: a turn of the agent's own may begin later and end sooner.
    last = max(settled, key=lambda turn: (turn.ended_at or 0, turn.n)).result if settled else None
    return machine.SessionState(
        limits=limits,
        ready=ready,
        turns=tuple(
            machine.InFlight(id=t.id, source=t.source, accepted=t.state is TurnState.ACCEPTED)
            for t in rows.turns
            if t.state in FLYING
        ),
        cumulative=MicroUsd(cumulative),
        spent=rows.spend.money if rows.spend else MicroUsd(0),
        largest=MicroUsd(max((t.cost or 0 for t in settled), default=0)),
        turns_used=rows.spend.turns if rows.spend else 0,
        queued=len(rows.queued),
        # What waited for a console that is gone goes only when the operator says so.
        queue_held=bool(rows.queued),
        parked=bool(rows.open_parks),
        park_answers=len(rows.park_answers),
        last_result=last,
        concluding=rows.custody is not None and rows.custody.state is CustodyState.CONCLUDING,
        restarting=rows.custody is not None and rows.custody.state is CustodyState.RESTARTING,
    )


async def adopt(session: "HeldSession") -> Refusal | None:
    """Take it over. None: the actor goes on, to its next turn or to its end."""
    house = session.house
    row = session.rows.custody
    assert row is not None and session.rows.run is not None
    session.nonce, session.native_id = row.nonce, row.native_id
    session.generation = max(1, row.generation)
    session.head, session.branch = session.rows.run.head, session.rows.run.branch
    if session.rows.run.tree:
        session.tree = type(session.tree)(session.rows.run.tree)
    launch.rule(session)
    session.state = state_of(session.rows, session.state.limits, ready=await _is_ready(session, row))
    flying = session.state.turns[0].id if session.state.turns else None
    session.turn_watch = turntimeout.taken_over(
        session.rows, flying, wall=house.clock.now(), now=house.clock.monotonic()
    )
    session.concluding = await _concluding(session) if session.state.concluding else None
    _drivers(session, row)
    for known in await house.ledger.read(lambda tx: events.page(tx, session.run_id, limit=SHOWN_AGAIN, newest=True)):
        session.live.absorb(eventcodec.decode(known.kind, known.body), known.at)
    await _baseline(session)
    for turn in session.rows.turns:
        if turn.state in FLYING and turn.source is not TurnSource.AGENT:
            # Said to the driver again, not to the agent: it knows its own turns by their ids.
            session.driver.turn(turn.id, turn.text)
    cookie: str | None = await asyncio.to_thread(read_cookie, session.folder)
    session.cookie = cookie or ""
    if not await asyncio.to_thread(spoolfile.spool_is_locked, session.folder):
        return await _from_the_spool(session, row.driver_offset)
    steps.reach(Step.BEFORE_ATTACH)
    attached = await Supervisor.attach(
        session.folder,
        cookie=session.cookie,
        epoch=row.epoch,
        offset=row.driver_offset,
        timeout=house.settings.timing.attach,
    )
    if isinstance(attached, SpawnFailure):
        log.warning("run %s: its keeper does not answer: %s %s", session.run_id, attached.what, attached.detail)
        if not session.started.done():
            session.started.set_result(Started(run=session.run_id))  # nobody waits for what comes now
        # A worker that is gone answers nobody, and its keeper is just ending what it held.
        await closing.until_unlocked(session)
        if not await asyncio.to_thread(spoolfile.spool_is_locked, session.folder):
            return await _from_the_spool(session, row.driver_offset)
        await closing.unprovable(session, f"its keeper process does not answer ({attached.what})")
        return None
    session.supervisor = attached
    steps.reach(Step.ATTACHED)
    session.spawn(session.pump(attached), "pump")
    session.set_deadline("renew", 0.0)
    reason = _why_not(session)
    if attached.facts.get("ending") or attached.facts.get("gone"):
        # It was ending when its console went: the spool has the reason, and the actor settles with it.
        session.live.ending = EndingView(reason="", since=house.clock.now(), steps=(("no-new-turns", 0),))
    elif session.concluding is not None:
        # It had done its work, and only the agent's own end was still to be asked for.
        await deeds.conclude(session, session.concluding)
    elif reason is not None:
        session.order_end(reason)
    else:
        session.set_deadline("catch-up", 0.0)
    if not session.started.done():
        session.started.set_result(Started(run=session.run_id))
    return None


def _followed(session: "HeldSession") -> int:
    """The generation in whose output the driver's snapshot was taken: that of the last turn that was settled."""
    settled = [turn.generation for turn in session.rows.turns if turn.state is TurnState.SETTLED]
    return settled[-1] if settled else 1


def _drivers(session: "HeldSession", row: Custody) -> None:
    """The driver as it was at its last snapshot, and where the agent was started anew since then, one for that."""
    held, driven = session.driver, _followed(session)
    held.argv(launch.start_of(session, restart=session.generation > 1))  # it remembers the mode that was asked for
    follows = held
    if driven < session.generation:
        again = registry.create(session.terms.driver, session.house.ids.secret()[:6])
        assert again is not None
        again.argv(launch.start_of(session, restart=driven > 1))
        follows = again
    if row.driver_state is not None:
        follows.restore(row.driver_state)
    session.ingest.resume(
        follows,
        position=row.driver_offset,
        known=row.ingested,
        driven=driven,
        generation=session.generation,
        later=held if follows is not held else None,
    )


async def _is_ready(session: "HeldSession", row: Custody) -> bool:
    """Whether the ledger has it that this generation of the agent said so."""
    since = 0
    if _followed(session) < session.generation:
        found = await asyncio.to_thread(_began_at, session.folder / "spool", row.driver_offset, session.generation)
        if found is None:
            return False
        since = found
    kind = "session-ready"
    known: bool = await session.house.ledger.read(lambda tx: events.has_kind(tx, session.run_id, kind, offset=since))
    return known


def _began_at(spool: Path, offset: int, generation: int) -> int | None:
    try:
        for record in spoolfile.read_spool(spool, offset):
            if record.kind is RecordKind.STARTED and record.generation == generation:
                return record.offset
    except FileNotFoundError:
        pass
    return None


async def _concluding(session: "HeldSession") -> EndReason:
    known = await session.house.ledger.read(lambda tx: evidence.of_run(tx, session.run_id))
    handoff = any(one.kind is EvidenceKind.HANDOFF for one in known)
    return EndReason.HANDOFF if handoff else EndReason.FINISHED


def _why_not(session: "HeldSession") -> str | None:
    """Whether what was signed still stands; else the reason to end it."""
    rows = session.rows
    if rows.custody is None or rows.custody.fence_reason is not None:
        return rows.custody.fence_reason if rows.custody else EndReason.ORPHANED
    if rows.custody.state not in (CustodyState.OPEN, CustodyState.RESTARTING):
        return EndReason.CONSOLE_LOST
    signed = rows.authorization
    if signed is None or signed.state is not AuthorizationState.BOUND:
        restored = signed is not None and signed.close_reason == EndReason.RESTORED
        return EndReason.RESTORED if restored else EndReason.REVOKED
    if session.limits.expires_at <= session.house.clock.now():
        return EndReason.EXPIRED
    return None


async def _baseline(session: "HeldSession") -> None:
    """What this generation counts from, where no turn of it has told yet: its answer is an event, or still to come."""
    settled = [turn for turn in session.rows.turns if turn.state is TurnState.SETTLED]
    resumed = session.generation > 1 or bool(session.terms.conversation)
    if not resumed or not session.driver.capabilities.reports_cost:
        return
    if any(turn.generation == session.generation for turn in settled):
        return
    session.state = replace(session.state, uncounted=True)

    def answered(tx: Tx) -> tuple[str, list[events.Event]]:
        asked = catchup.handshake(tx, session)
        page = events.page(tx, session.run_id, limit=1000, newest=True)
        return (asked[-1].id if asked else ""), [row for row in page if row.kind == "control-acked"]

    session.cost_ask, acked = await session.house.ledger.read(answered)
    for row in acked:
        event = eventcodec.decode(row.kind, row.body)
        if isinstance(event, ControlAcked) and event.id == session.cost_ask:
            session.cost_ask = ""
            told = session.driver.cost_told(event)
            session.state = replace(session.state, cumulative=told or MicroUsd(0), uncounted=told is None)


async def _from_the_spool(session: "HeldSession", offset: int) -> Refusal | None:
    """Nobody lives there any more: ingest what is left, end what still carries the nonce, settle what that proves."""
    spool = session.folder / "spool"
    if spool.exists():
        await asyncio.to_thread(spoolfile.cut_torn_tail, session.folder)
        records = await asyncio.to_thread(lambda: list(spoolfile.read_spool(spool, offset)))
        for start in range(0, len(records), 500):
            await session.take_in(records[start : start + 500])
    steps.reach(Step.SPOOL_TAKEN_IN)
    if session.gone is None:
        session.stop_reason = session.stop_reason or EndReason.ORPHANED
        session.gone = await asyncio.to_thread(closing.end_of_carriers, session, EndReason.ORPHANED)
    elif session.gone.facts.get("remaining"):
        boot, before = (session.rows.custody.boot_id if session.rows.custody else ""), session.gone.facts
        facts = await asyncio.to_thread(stuck.look_again, session.folder, session.nonce, boot, before)
        session.gone = replace(session.gone, facts=facts)
        session.set_deadline(stuck.TIMER, None)
    if not session.started.done():
        session.started.set_result(Started(run=session.run_id))
    return None
