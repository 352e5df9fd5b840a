"""How a hold ends in the books: after its processes were seen gone, in one transaction, with the receipt.

Also the endings before there is anything to end (a refused run, a failed spawn), a wire that was lost, and a bug of
our own.
"""

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from coordinator import evidence as evidence_
from coordinator import mailbox, parking, recording
from coordinator.api import Done
from coordinator.custody import spoolfile
from coordinator.custody.client import Supervisor
from coordinator.custody.leftovers import end_carriers
from coordinator.custody.receipts import process_from_facts, receipt_from_facts
from coordinator.custody.types import RecordKind, SpawnFailure, SpoolRecord, WriteProof
from coordinator.recording import Ending
from coordinator.rows import read_rows
from store import attention, custody, evidence, runs
from store.canonical import dumps
from store.db import Tx
from store.refusal import Fact, Refusal
from store.vocab import (
    AttentionKind,
    EndReason,
    MicroUsd,
    RefusalReason,
    RunOutcome,
    StopResult,
    TurnId,
    TurnResultKind,
)

if TYPE_CHECKING:
    from coordinator.session import HeldSession

log = logging.getLogger(__name__)

LEAST_GUESS = MicroUsd(100_000)
"""Ten cents: what a killed turn is taken to have cost at least, until something larger is known."""


def already_ended(session: "HeldSession") -> Refusal:
    return Refusal(RefusalReason.ALREADY_ENDED, {"run": session.run_id})


async def refuse(session: "HeldSession", refusal: Refusal) -> Refusal:
    """Nothing was started; the run says why."""
    await session.write(lambda tx: recording.refuse_run(tx, session.run_id, refusal, detail=dumps(dict(refusal.facts))))
    return refusal


async def spawn_failed(session: "HeldSession", failure: SpawnFailure) -> Refusal | None:
    """The supervisor or the agent did not come up. With a supervisor there, it gives the receipt."""
    facts: dict[str, Fact] = {
        "agent": session.terms.agent,
        "program": session.terms.program,
        "what": failure.what,
        "detail": failure.detail,
        "exit": failure.exit,
        "stderr": failure.stderr[-2000:],
    }
    refusal = Refusal(RefusalReason.SPAWN_FAILED, facts)
    session.failure = refusal
    if session.supervisor is not None:
        session.order_end(EndReason.SPAWN_FAILED)
        return None
    ending = _ending(session, RunOutcome.FAILED, EndReason.SPAWN_FAILED, dumps(facts))
    await session.write(lambda tx: recording.close_hold(tx, ending))
    return refusal


def _ending(
    session: "HeldSession",
    outcome: RunOutcome,
    reason: str,
    detail: str,
    *,
    proofs: tuple[tuple[TurnId, WriteProof], ...] | None = None,
    receipt: str = "",
    remaining: int = 0,
    stop_result: StopResult = StopResult.NEVER_STARTED,
) -> Ending:
    if proofs is None:
        proofs = tuple((turn.id, WriteProof.NEVER) for turn in session.state.turns)
    return Ending(
        run=session.run_id,
        custody=session.custody_id,
        generation=session.generation,
        outcome=outcome,
        reason=reason,
        detail=detail,
        proofs=proofs,
        guess=_guess(session),
        receipt=receipt,
        remaining=remaining,
        stop_result=stop_result,
        reports_cost=session.driver.capabilities.reports_cost,
    )


def _guess(session: "HeldSession") -> MicroUsd:
    """An upper guess for a turn that was cut off: the dearest of this run so far, at most what the budget still had."""
    guess: int = max(session.state.largest, LEAST_GUESS)
    budget = session.limits.budget
    if budget is not None:
        guess = min(guess, max(0, budget - session.state.spent))
    return MicroUsd(guess)


def _how_it_ended(session: "HeldSession") -> tuple[RunOutcome, str]:
    reason = session.stop_reason
    if reason is None and session.concluding is not None:
        failed = session.state.last_result is TurnResultKind.ERROR
        return (RunOutcome.FAILED if failed else RunOutcome.FINISHED), str(session.concluding)
    reason = reason or session.state.fencing or EndReason.SUPERVISOR_LOST
    if reason == EndReason.SPAWN_FAILED and session.live.receipt is not None:
        return RunOutcome.FAILED, reason
    failures = (EndReason.SPAWN_FAILED, EndReason.START_TIMEOUT)
    if reason in failures or reason.startswith(f"{EndReason.EXITED}:"):
        return RunOutcome.FAILED, reason
    return RunOutcome.INTERRUPTED, reason


async def close(session: "HeldSession") -> None:
    """Everything up to *gone* is in the ledger; now the rest, in one transaction."""
    assert session.gone is not None
    receipt = receipt_from_facts(session.gone.facts)
    session.live.receipt = receipt
    outcome, reason = _how_it_ended(session)
    spool = session.folder / "spool"
    proofs = tuple(
        [(turn.id, await asyncio.to_thread(spoolfile.proof_of_write, spool, turn.id)) for turn in session.state.turns]
    )
    found = await parking.look(session) if mailbox.present(session.tree, session.run_id) else None
    stop_result = (
        StopResult.ALREADY_ENDED
        if receipt.already_ended
        else (StopResult.FORCED if session.kill_asked or receipt.remaining else StopResult.HELD)
    )
    detail = session.live.stderr_tail[-2000:] if outcome is RunOutcome.FAILED else ""
    ending = _ending(
        session,
        outcome,
        reason,
        session.house.redactor.text(detail),
        proofs=proofs,
        receipt=dumps(dict(session.gone.facts)),
        remaining=len(receipt.remaining),
        stop_result=stop_result,
    )
    last_turn = session.rows.turns[-1].id if session.rows.turns else None

    def book(tx: Tx) -> runs.Run | Refusal:
        if found is not None:
            parking.book(tx, session, found, last_turn)
        return recording.close_hold(tx, ending)

    await session.write(book)
    session.rows = await session.house.ledger.read(lambda tx: read_rows(tx, session.run_id))
    show_gone(session, receipt.total_ms)
    if session.failure is None and not session.started.done():
        facts: dict[str, Fact] = {"agent": session.terms.agent, "program": session.terms.program}
        facts |= {"what": reason, "exit": receipt.agent_exit, "stderr": session.live.stderr_tail[-2000:]}
        why = RefusalReason.START_TIMEOUT if reason == EndReason.START_TIMEOUT else RefusalReason.SPAWN_FAILED
        session.failure = Refusal(why if reason != EndReason.STOPPED else RefusalReason.STOPPED, facts)
    if session.failure is not None:
        session.fail_start(session.failure)
    supervisor = session.supervisor
    if supervisor is not None:
        with contextlib.suppress(ConnectionError, OSError):
            if not receipt.remaining:
                await supervisor.end()
            await supervisor.detach()
    for waiter in session.waiters:
        if not waiter.done():
            waiter.set_result(Done(note=reason))
    session.house.changed()
    await _gather_evidence(session)


async def _gather_evidence(session: "HeldSession") -> None:
    """What the run changed, sealed into its chain. After the receipt, which it must never delay."""
    redact = session.house.redactor.text
    pieces = await evidence_.gather(session.tree, session.head, redact=redact, config_before=session.config_before)

    def keep(tx: Tx) -> None:
        for piece in pieces:
            evidence.add(tx, run=session.run_id, kind=piece.kind, content=piece.content, note=piece.note)

    await session.write(keep)


def show_step(session: "HeldSession", record: SpoolRecord) -> None:
    """A step of the ladder, for the screen."""
    raw = record.facts.get("left")
    left = tuple(process_from_facts(one) for one in raw) if isinstance(raw, list) else None
    since = session.live.ending.since if session.live.ending else record.at_ms
    session.live.end_step(str(record.facts.get("step", "")), max(0, record.at_ms - since), left)


def show_gone(session: "HeldSession", total_ms: int) -> None:
    session.live.end_step("gone", total_ms, ())


async def without_wire(session: "HeldSession") -> None:
    """The connection ended before *gone*: attach again where the supervisor lives, else read what it left."""
    supervisor_alive = spoolfile.spool_is_locked(session.folder)
    offset = session.ingest.position
    if supervisor_alive and session.reattached < 3:
        session.reattached += 1
        house = session.house

        def higher(tx: Tx) -> custody.Custody | None:
            return custody.seize(
                tx, id=session.custody_id, expect_incarnation=house.incarnation, incarnation=house.incarnation
            )

        mine = await session.write(higher)
        again = await Supervisor.attach(
            session.folder,
            cookie=session.cookie,
            epoch=mine.epoch if mine is not None else 0,
            offset=offset,
            timeout=session.house.settings.timing.attach,
        )
        if not isinstance(again, SpawnFailure):
            session.supervisor = again
            session.spawn(session.pump(again), "pump")
            return
    session.order_end(EndReason.SUPERVISOR_LOST)
    await _until_unlocked(session)
    rest = await asyncio.to_thread(_rest, session, session.ingest.position)
    for start in range(0, len(rest), 500):
        await session.take_in(rest[start : start + 500])
    if session.gone is None:
        session.gone = await asyncio.to_thread(end_of_carriers, session, EndReason.SUPERVISOR_LOST)


async def _until_unlocked(session: "HeldSession") -> None:
    """Until the supervisor is proven gone, or has had the whole ladder's time."""
    deadline = session.house.clock.monotonic() + session.house.settings.timing.ladder.total + 5
    while session.house.clock.monotonic() < deadline:
        if not spoolfile.spool_is_locked(session.folder):
            return
        await asyncio.sleep(0.05)  # another process lets go of its lock without a word


def _rest(session: "HeldSession", offset: int) -> list[SpoolRecord]:
    return list(spoolfile.read_spool(session.folder / "spool", offset))


def end_of_carriers(session: "HeldSession", reason: str) -> SpoolRecord:
    """Keeper and worker are both gone: what still carries our nonce is proven ours, and is ended here."""
    facts = end_carriers(session.nonce, reason=reason)
    return SpoolRecord(
        kind=RecordKind.GONE,
        offset=0,
        next_offset=0,
        at_ms=session.house.clock.now(),
        generation=session.generation,
        facts=facts,
    )


async def unprovable(session: "HeldSession", what: str) -> None:
    """Nothing can be proven just now: custody is kept, a person is told, a later sweep may help."""
    session.left = True
    text = f"run {session.run_id} cannot be settled: {what}; footplate sweep tries again"

    def book(tx: Tx) -> None:
        custody.fence(tx, id=session.custody_id, reason=EndReason.ORPHANED)
        attention.raise_(tx, run=session.run_id, kind=AttentionKind.PAGE, key="unprovable", text=text)

    await session.write(book)
    await session.refresh()


async def after_a_bug(session: "HeldSession") -> None:
    """The actor's own code failed: end the agent, then the books, as far as they can be kept."""
    session.order_end(EndReason.PROTOCOL_ERROR)
    supervisor = session.supervisor
    if supervisor is not None:
        with contextlib.suppress(ConnectionError, OSError):
            await supervisor.fence(EndReason.PROTOCOL_ERROR)
    deadline = session.house.clock.monotonic() + session.house.settings.timing.ladder.total + 5
    while spoolfile.spool_is_locked(session.folder) and session.house.clock.monotonic() < deadline:
        last = await asyncio.to_thread(_last_record, session)
        if last is not None and last.kind in (RecordKind.GONE, RecordKind.END):
            break
        await asyncio.sleep(0.05)
    records = await asyncio.to_thread(_rest, session, 0) if (session.folder / "spool").exists() else []
    gone = next((record for record in records if record.kind is RecordKind.GONE), None)
    session.gone = (
        gone if gone is not None else await asyncio.to_thread(end_of_carriers, session, EndReason.SUPERVISOR_LOST)
    )
    try:
        await close(session)
    except Exception:
        log.exception("run %s: its books could not be closed; the next start will", session.run_id)
        session.house.notes.append(f"run {session.run_id} could not be settled; its log says why")


def _last_record(session: "HeldSession") -> SpoolRecord | None:
    last = None
    for record in spoolfile.read_spool(session.folder / "spool", 0):
        last = record
    return last
