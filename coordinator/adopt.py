"""Taking over a hold whose console is gone: attach, replay, go on with the same live turn, or settle what its spool
proves.

The driver starts from its last snapshot and is fed again from that offset; what lies before the ledger's own offset
is discarded there, so that no event is doubled and none is missing. What the machine knows comes from the ledger,
never from the replay. What the old console had recorded and not sent is sent now only where the same bytes can be
made again, and cancelled otherwise.
"""

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from coordinator import closing, decisioncodec, machine, settling, steps, writing
from coordinator.api import EndingView, Started
from coordinator.custody import spoolfile
from coordinator.custody.client import Supervisor, read_cookie
from coordinator.custody.types import SpawnFailure, WriteProof
from coordinator.recording import keyed_digest
from coordinator.rows import SessionRows
from coordinator.steps import Step
from store import control_writes, decisions, events
from store.db import Tx
from store.decisions import Decision
from store.refusal import Refusal
from store.turns import Turn
from store.vocab import (
    AuthorizationState,
    CustodyState,
    DecisionState,
    EndReason,
    MicroUsd,
    TurnSource,
    TurnState,
)

if TYPE_CHECKING:
    from coordinator.session import HeldSession

log = logging.getLogger(__name__)

FLYING = (TurnState.RECORDED, TurnState.WRITTEN, TurnState.ACCEPTED)


def state_of(rows: SessionRows, limits: machine.Limits, *, ready: bool) -> machine.SessionState:
    """The machine's working copy, made again from the ledger. Pure."""
    generation = rows.custody.generation if rows.custody else 1
    settled = [t for t in rows.turns if t.state is TurnState.SETTLED]
    cumulative = max((t.cumulative or 0 for t in settled if t.generation == generation), default=0)
    last = settled[-1].result if settled else None
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
    ready = await house.ledger.read(lambda tx: events.has_kind(tx, session.run_id, "session-ready"))
    session.state = state_of(session.rows, session.state.limits, ready=ready)
    if row.driver_state is not None:
        session.driver.restore(row.driver_state)
    for turn in session.rows.turns:
        if turn.state in FLYING and turn.source is not TurnSource.AGENT:
            # Said to the driver again, not to the agent: it knows its own turns by their ids.
            session.driver.turn(turn.id, turn.text)
    session.ingest.discard_before(row.ingested)
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
    elif reason is not None:
        session.order_end(reason)
    else:
        session.set_deadline("catch-up", 0.0)
    if not session.started.done():
        session.started.set_result(Started(run=session.run_id))
    return None


def _why_not(session: "HeldSession") -> str | None:
    """Whether what was signed still stands; else the reason to end it."""
    rows = session.rows
    if rows.custody is None or rows.custody.fence_reason is not None:
        return rows.custody.fence_reason if rows.custody else EndReason.ORPHANED
    if rows.custody.state is not CustodyState.OPEN:
        return EndReason.CONSOLE_LOST
    if rows.authorization is None or rows.authorization.state is not AuthorizationState.BOUND:
        return EndReason.REVOKED
    if session.limits.expires_at <= session.house.clock.now():
        return EndReason.EXPIRED
    return None


async def catch_up(session: "HeldSession") -> None:
    """Once the spool is read up to now: settle what the old console had begun to send."""
    steps.reach(Step.CATCHING_UP)
    for turn in session.rows.turns:
        if turn.state is TurnState.RECORDED and turn.source is not TurnSource.AGENT:
            await _unsent_turn(session, turn)
    for decision in session.rows.decisions:
        if decision.state is DecisionState.DELIVERING and decision.write_id:
            await _unsent_answer(session, decision)
    await session.refresh()
    await session.decide(machine.QueueChanged(waiting=len(session.rows.queued)))
    steps.reach(Step.CAUGHT_UP)


async def _proof(session: "HeldSession", write: str) -> WriteProof | None:
    supervisor = session.supervisor
    if supervisor is None:
        return None
    with contextlib.suppress(ConnectionError, OSError):
        return await supervisor.wrote(write)
    return None


async def _unsent_turn(session: "HeldSession", turn: Turn) -> None:
    if await _proof(session, turn.id) is not WriteProof.NEVER:
        return  # begun, whole or unknown: its records, or its end, settle it
    text = f"{turn.text}\n\n{turn.preamble}" if turn.preamble else turn.text
    data = session.driver.turn(turn.id, text)
    same = keyed_digest(session.house.digest_key, data) == turn.digest
    if same and session.state.ready and session.state.live:
        session.spawn(writing.write_turn(session, turn.id, data), "turn")
        return
    supervisor = session.supervisor
    if supervisor is not None and await supervisor.cancel(turn.id):
        await session.write(lambda tx: settling.not_sent(tx, turn.id))
        await session.decide(machine.TurnNotSent(id=turn.id))
        if turn.source is TurnSource.BRIEF:
            session.order_end(EndReason.CONSOLE_LOST)


async def _unsent_answer(session: "HeldSession", decision: Decision) -> None:
    proof = await _proof(session, decision.write_id or "")
    if proof is WriteProof.BEGUN:
        await session.write(lambda tx: decisions.uncertain(tx, id=decision.id))
    if proof is not WriteProof.NEVER or decision.answer is None:
        return
    supervisor = session.supervisor
    if supervisor is None or not await supervisor.cancel(decision.write_id or ""):
        return
    data = session.driver.answer(decision.request, decisioncodec.decode_answer(decision.answer))
    write = f"{decision.write_id}-{session.rows.custody.epoch if session.rows.custody else 0}"

    def again(tx: Tx) -> None:
        if decisions.undeliver(tx, id=decision.id) is None:
            return
        control_writes.asked(
            tx,
            run=session.run_id,
            id=write,
            generation=session.generation,
            what="answer",
            length=len(data),
            digest=keyed_digest(session.house.digest_key, data),
        )
        decisions.deliver(tx, id=decision.id, write_id=write)

    await session.write(again)
    session.spawn(writing.send(session, write, data), "answer")


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
    if not session.started.done():
        session.started.set_result(Started(run=session.run_id))
    return None
