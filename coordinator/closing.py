"""How a hold ends in the books: after its processes were seen gone, in one transaction, with the receipt.

Also the endings before there is anything to end (a refused run, a failed spawn), a wire that was lost, and a bug of
our own.
"""

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final

from coordinator import agenthome, deeds, evidence, mailbox, parking, settling, steps
from coordinator.api import Done
from coordinator.checkruns import Wanted
from coordinator.checktypes import RepositoryChecks
from coordinator.custody import spoolfile
from coordinator.custody.client import Supervisor
from coordinator.custody.leftovers import end_left
from coordinator.custody.receipts import process_from_facts, receipt_from_facts
from coordinator.custody.types import Receipt, RecordKind, SpawnFailure, SpoolRecord, WriteProof
from coordinator.environment import agent_environment
from coordinator.settling import Ending
from coordinator.steps import Step
from coordinator.stuck import REMAINING
from store import attention, custody, runs, stops
from store.canonical import dumps
from store.db import Tx
from store.moves import FLYING
from store.refusal import Fact, Refusal
from store.vocab import (
    AttentionKind,
    DecisionState,
    EndReason,
    MicroUsd,
    Millis,
    RefusalReason,
    RunOutcome,
    StopResult,
    TurnResultKind,
)

if TYPE_CHECKING:
    from coordinator.session import HeldSession

log = logging.getLogger(__name__)

_LAST_WORDS: Final = 200
"""Characters of what an agent printed before it ended, for the sentence that says so."""

LEAST_GUESS = MicroUsd(100_000)
"""Ten cents: what a killed turn is taken to have cost at least, until something larger is known."""


def already_ended(session: "HeldSession") -> Refusal:
    return Refusal(RefusalReason.ALREADY_ENDED, {"run": session.run_id})


async def refuse(session: "HeldSession", refusal: Refusal) -> Refusal:
    """Nothing was started; the run says why."""

    def book(tx: Tx) -> runs.Run | Refusal:
        _note_stop(tx, session)
        return settling.refuse_run(tx, session.run_id, refusal, detail=dumps(dict(refusal.facts)))

    await session.write(book)
    return refusal


def _note_stop(tx: Tx, session: "HeldSession") -> None:
    """A stop that came before there was anything to end: the books know of it all the same."""
    if session.stop_reason is not None and stops.open_of(tx, session.run_id) is None:
        stops.ask(tx, run=session.run_id, reason=session.stop_reason, operator=session.stopped_by)


def _not_started(reason: str, facts: dict[str, Fact]) -> Refusal:
    """What the one who asked for the start is told."""
    match reason:
        case EndReason.STOPPED | EndReason.KILLED:
            return Refusal(RefusalReason.STOPPED, facts)
        case EndReason.SHUTDOWN:
            return Refusal(RefusalReason.SHUTTING_DOWN, facts)
        case EndReason.START_TIMEOUT:
            return Refusal(RefusalReason.START_TIMEOUT, facts)
        case _:
            return Refusal(RefusalReason.SPAWN_FAILED, facts)


async def spawn_failed(session: "HeldSession", failure: SpawnFailure) -> Refusal | None:
    """The supervisor or the agent did not come up. With a supervisor there, it gives the receipt."""
    redact = session.house.redactor.text  # before it is cut: of half a secret nobody would know that it is one
    facts: dict[str, Fact] = {
        "agent": session.terms.agent,
        "program": session.terms.program,
        "what": failure.what,
        "detail": redact(failure.detail),
        "exit": failure.exit,
        "stderr": redact(failure.stderr)[-2000:],
    }
    reason = session.stop_reason or EndReason.SPAWN_FAILED
    refusal = _not_started(reason, facts)
    session.failure = refusal
    if session.supervisor is not None:
        session.order_end(EndReason.SPAWN_FAILED)
        return None
    outcome = RunOutcome.FAILED if session.stop_reason is None else RunOutcome.INTERRUPTED
    ending = _ending(session, outcome, reason, dumps(facts))

    def book(tx: Tx) -> runs.Run | Refusal:
        _note_stop(tx, session)
        return settling.close_hold(tx, ending)

    await session.write(book)
    await asyncio.to_thread(agenthome.remove, session.folder)
    return refusal


def _ending(
    session: "HeldSession",
    outcome: RunOutcome,
    reason: str,
    detail: str,
    *,
    proofs: tuple[tuple[str, WriteProof], ...] | None = None,
    receipt: str = "",
    remaining: int = 0,
    stop_result: StopResult = StopResult.NEVER_STARTED,
) -> Ending:
    if proofs is None:
        proofs = tuple((write, WriteProof.NEVER) for write in _under_way(session))
    return Ending(
        run=session.run_id,
        custody=session.custody_id,
        generation=session.generation,
        outcome=outcome,
        reason=reason,
        detail=detail,
        proofs=proofs,
        guess=guess(session),
        receipt=receipt,
        remaining=remaining,
        stop_result=stop_result,
        reports_cost=session.driver.capabilities.reports_cost,
        cut_off_at=session.exited_at or (Millis(session.gone.at_ms) if session.gone is not None else None),
    )


def _under_way(session: "HeldSession") -> tuple[str, ...]:
    """Ids of what was on its way to the agent: turns in flight, and answers."""
    flying = [turn.id for turn in session.rows.turns if turn.state in FLYING]
    answers = [d.write_id for d in session.rows.decisions if d.state is DecisionState.DELIVERING and d.write_id]
    return (*flying, *answers)


def _proofs(session: "HeldSession") -> tuple[tuple[str, WriteProof], ...]:
    return tuple((write, _proof(session, write)) for write in _under_way(session))


async def _last_note(session: "HeldSession") -> "parking.Found | None":
    """What the agent left in its mailbox. What cannot be read must not keep the books open."""
    try:
        if mailbox.present(session.tree, session.run_id):
            return await parking.look(session)
    except Exception:
        log.exception("run %s: its mailbox could not be read at the end", session.run_id)
    return None


def guess(session: "HeldSession") -> MicroUsd:
    """An upper guess for a turn that was cut off: the dearest of this run so far, at most what the budget still had."""
    upper: int = max(session.state.largest, LEAST_GUESS)
    budget = session.limits.budget
    if budget is not None:
        upper = min(upper, max(0, budget - session.state.spent))
    return MicroUsd(upper)


def _how_it_ended(session: "HeldSession") -> tuple[RunOutcome, str]:
    reason = session.stop_reason
    if reason is None and session.concluding is not None:
        failed = session.state.last_result is TurnResultKind.ERROR
        by_itself = session.finished_at_rest and session.concluding is EndReason.FINISHED
        why = EndReason.AT_REST if by_itself else session.concluding
        went_wrong = session.rows.turns[-1].failure if failed and by_itself and session.rows.turns else None
        return (
            RunOutcome.FAILED if failed else RunOutcome.FINISHED,
            f"{why}:{went_wrong}" if went_wrong else str(why),
        )
    reason = reason or session.state.fencing or EndReason.SUPERVISOR_LOST
    if reason.partition(":")[0] in (EndReason.SPAWN_FAILED, EndReason.START_TIMEOUT, EndReason.EXITED):
        return RunOutcome.FAILED, reason
    return RunOutcome.INTERRUPTED, reason


def _proof(session: "HeldSession", write: str) -> WriteProof:
    """What the spool proves of a write. Where no keeper was ever started there is none, and nothing went."""
    try:
        return spoolfile.proof_of_write(session.folder / "spool", write)
    except FileNotFoundError:
        stamped = session.rows.custody is not None and session.rows.custody.supervisor_pid is not None
        return WriteProof.BEGUN if stamped else WriteProof.NEVER


async def close(session: "HeldSession") -> None:
    """Everything up to *gone* is in the ledger; now the rest, in one transaction."""
    assert session.gone is not None
    steps.reach(Step.GONE_SEEN)
    receipt = receipt_from_facts(session.gone.facts)
    again = session.rows.run is not None and session.rows.run.outcome is not None
    session.live.receipt = receipt
    outcome, reason = _how_it_ended(session)
    proofs = await asyncio.to_thread(_proofs, session)
    found = await _last_note(session)
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
        closed = settling.close_hold(tx, ending)
        if receipt.remaining and not isinstance(closed, Refusal):
            left = ", ".join(f"{one.pid} ({one.name})" for one in receipt.remaining)
            text = f"run {session.run_id} left processes that would not end: {left}"
            attention.raise_once(tx, run=session.run_id, kind=AttentionKind.PAGE, key=REMAINING, text=text)
        return closed

    if not again and _is_checked(session, outcome):
        session.house.checks.expect(session.run_id, session.terms.checks)
    steps.reach(Step.BEFORE_CLOSED)
    await session.write(book)
    steps.reach(Step.CLOSED)
    await session.refresh()
    show_gone(session, receipt)
    session.live.background, session.live.status = (), ""
    session.live.tools.clear()
    if session.failure is None and not session.started.done():
        facts: dict[str, Fact] = {"agent": session.terms.agent, "program": session.terms.program}
        words = session.house.redactor.text(session.live.stderr_tail[-2000:])
        facts |= {"what": reason, "exit": receipt.agent_exit, "stderr": words}
        facts["detail"] = " ".join(words.split())[-_LAST_WORDS:]
        session.failure = _not_started(reason, facts)
    if session.failure is not None:
        session.fail_start(session.failure)
    supervisor = session.supervisor
    if supervisor is not None:
        with contextlib.suppress(ConnectionError, OSError):
            if not receipt.remaining:
                await supervisor.end()
                steps.reach(Step.SUPERVISOR_ENDED)
            await supervisor.detach()
    if not receipt.remaining:
        await asyncio.to_thread(agenthome.remove, session.folder)
    for waiter in session.waiters:
        if not waiter.done():
            waiter.set_result(Done(note=reason))
    session.house.changed()
    if not again:
        try:
            await _gather_evidence(session)
        finally:
            _check(session, outcome)


def _is_checked(session: "HeldSession", outcome: RunOutcome) -> bool:
    """Whether what it left is looked at by the operator's checks, by this console."""
    house = session.house
    finished = outcome is RunOutcome.FINISHED and bool(session.terms.checks)
    return finished and not house.shutting and not house.settings.passing


def _check(session: "HeldSession", outcome: RunOutcome) -> None:
    """Only now: nothing waits for it, and what it writes into the tree is none of the agent's doing."""
    house, terms = session.house, session.terms
    if not _is_checked(session, outcome):
        house.checks.end(session.run_id)
        return
    wanted = Wanted(
        run=session.run_id,
        tree=session.tree,
        checks=RepositoryChecks(commands=terms.checks, seconds=terms.check_seconds),
        environment=agent_environment(house.settings.environment, session.profile),
    )
    house.checks.begin(wanted)


async def _gather_evidence(session: "HeldSession") -> None:
    """What the run changed, sealed into its chain. After the receipt, which it must never delay."""
    redact = session.house.redactor.text
    pieces = await evidence.gather(session.tree, session.head, redact=redact, config_before=session.config_before)

    await session.write(lambda tx: evidence.keep(tx, session.run_id, pieces))
    await deeds.look_at_changes(session)


def show_step(session: "HeldSession", record: SpoolRecord) -> None:
    """A step of the ladder, for the screen."""
    raw = record.facts.get("left")
    left = tuple(process_from_facts(one) for one in raw) if isinstance(raw, list) else None
    since = session.live.ending.since if session.live.ending else record.at_ms
    session.live.end_step(str(record.facts.get("step", "")), max(0, record.at_ms - since), left)


def show_gone(session: "HeldSession", receipt: Receipt) -> None:
    session.live.end_step("seen-gone" if receipt.followed else "gone", receipt.total_ms, ())


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
        if mine is None:
            session.left = True  # another console has it now
            return
        again = await Supervisor.attach(
            session.folder,
            cookie=session.cookie,
            epoch=mine.epoch,
            offset=offset,
            timeout=session.house.settings.timing.attach,
        )
        if not isinstance(again, SpawnFailure):
            session.supervisor = again
            session.spawn(session.pump(again), "pump")
            session.set_deadline("catch-up", 0.0)  # what was written into the lost connection may never have come
            return
    session.order_end(EndReason.SUPERVISOR_LOST)
    await until_unlocked(session)
    rest = await asyncio.to_thread(_rest, session, session.ingest.position)
    for start in range(0, len(rest), 500):
        await session.take_in(rest[start : start + 500])
    if session.gone is None:
        session.gone = await asyncio.to_thread(end_of_carriers, session, EndReason.SUPERVISOR_LOST)


async def until_unlocked(session: "HeldSession") -> None:
    """Until the supervisor is proven gone, or has had the whole ladder's time."""
    deadline = session.house.clock.monotonic() + session.house.settings.timing.ladder.total + 5
    while session.house.clock.monotonic() < deadline:
        if not spoolfile.spool_is_locked(session.folder):
            return
        await asyncio.sleep(0.05)  # another process lets go of its lock without a word


def _rest(session: "HeldSession", offset: int) -> list[SpoolRecord]:
    return list(spoolfile.read_spool(session.folder / "spool", offset))


def end_of_carriers(session: "HeldSession", reason: str) -> SpoolRecord:
    """Keeper and worker are both gone: who is in the hold's cgroups or carries its nonce is ours, and ended here.

    With nobody left to end, the last that was heard of it is the best that is known of when it ended.
    """
    facts = end_left(session.folder, session.nonce, reason=reason)
    now, lived = session.house.clock.now(), facts.get("ended") or facts.get("remaining")
    return SpoolRecord(
        kind=RecordKind.GONE,
        offset=0,
        next_offset=0,
        at_ms=now if lived or session.heard_at is None else session.heard_at,
        generation=session.generation,
        facts=facts,
    )


async def unprovable(session: "HeldSession", what: str) -> None:
    """Nothing can be proven just now: custody is kept, a person is told, a later sweep may help."""
    session.left = True
    text = f"run {session.run_id} cannot be settled: {what}; footplate sweep tries again"

    def book(tx: Tx) -> None:
        custody.fence(tx, id=session.custody_id, reason=EndReason.ORPHANED)
        attention.raise_once(tx, run=session.run_id, kind=AttentionKind.PAGE, key="unprovable", text=text)

    await session.write(book)
    await session.refresh()


async def after_a_bug(session: "HeldSession") -> None:
    """The actor's own code failed: end the agent, then the books, as far as they can be kept."""
    session.order_end(EndReason.PROTOCOL_ERROR)
    if await session.house.ledger.read(lambda tx: custody.get(tx, session.custody_id)) is None:
        session.fail_start(await refuse(session, Refusal(RefusalReason.NEVER_STARTED, {"run": session.run_id})))
        return
    deadline = session.house.clock.monotonic() + session.house.settings.timing.ladder.total + 5
    gone = await asyncio.to_thread(_end_in_spool, session)
    while gone is None and spoolfile.spool_is_locked(session.folder) and session.house.clock.monotonic() < deadline:
        await asyncio.sleep(0.05)
        gone = await asyncio.to_thread(_end_in_spool, session)
    session.gone = (
        gone if gone is not None else await asyncio.to_thread(end_of_carriers, session, EndReason.SUPERVISOR_LOST)
    )
    try:
        await close(session)
    except Exception:
        log.exception("run %s: its books could not be closed; the next start will", session.run_id)
        session.house.notes.append(f"run {session.run_id} could not be settled; its log says why")


def _end_in_spool(session: "HeldSession") -> SpoolRecord | None:
    """The newest receipt of this hold's end; one of a restart in place is none. Others may stand behind it."""
    try:
        records = list(spoolfile.read_spool(session.folder / "spool"))
    except FileNotFoundError:
        return None
    ends = [one for one in records if one.kind is RecordKind.GONE and not one.facts.get("restart")]
    return ends[-1] if ends else None
