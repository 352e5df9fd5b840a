"""Carries the machine's *act* effects out: turns and controls to the agent, the mailbox, the endings."""

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from coordinator import (
    evidence,
    githelper,
    images as kept_images,
    launch,
    machine,
    parking,
    recording,
    steps,
    turntrees,
    writing,
)
from coordinator.drivers.base import ControlWrite, Image
from coordinator.recording import NewTurn
from coordinator.steps import Step
from store import attachments, attention, custody, stops
from store.db import Tx
from store.refusal import Refusal
from store.turns import Turn
from store.vocab import AttentionKind, CustodyState, DecisionState, EndReason, FailureKind, RefusalReason, TurnSource

if TYPE_CHECKING:
    from coordinator.session import HeldSession

log = logging.getLogger(__name__)


async def carry_out(session: "HeldSession", act: machine.Act) -> None:
    match act:
        case machine.SendBrief():
            await launch.send_brief(session)
        case machine.ReadMailbox():
            # A turn that began later in the same batch is awaited: the machine remembers that the mailbox is due.
            if session.state.at_rest:
                await parking.read(session)
        case machine.SendRepair():
            await parking.repair(session, act.problems)
        case machine.ParkAsText():
            await parking.ask_raw(session)
        case machine.SendParkAnswers():
            await parking.send_answers(session)
        case machine.SendQueued():
            await send_queued(session)
        case machine.SendInterrupt():
            await interrupt(session, background_too=act.background_too)
        case machine.SendReply():
            # Ids are made from what this process of the agent said: the next one may well say the same.
            id = act.id if session.generation == 1 else f"{act.id}@{session.generation}"
            await writing.write_control(session, id, act.data, "reply")
        case machine.SendRuled():
            _send_ruled(session, act)
        case machine.FailStart():
            session.failure = _start_refused(session, act)
            session.fail_start(session.failure)
        case machine.Conclude():
            await conclude(session, act.reason)
        case machine.Fence():
            await fence(session, act.reason)
        case machine.Settled():
            session.set_deadline("interrupt", None)
            session.spawn(look_and_keep(session), "changes")


def _send_ruled(session: "HeldSession", act: machine.SendRuled) -> None:
    """The answer of a standing rule, on the way that any answer goes."""
    sent = (
        one for one in session.rows.decisions if one.request == act.request and one.generation == session.generation
    )
    going = next((one for one in sent if one.state is DecisionState.DELIVERING), None)
    steps.reach(Step.ANSWER_COMMITTED)
    if going is not None and going.write_id is not None and session.stop_reason is None:
        session.spawn(writing.send(session, going.write_id, act.data), "answer")


def _start_refused(session: "HeldSession", act: machine.FailStart) -> Refusal:
    agent, text = session.terms.agent, act.text
    if act.failure is FailureKind.AUTHENTICATION:
        return Refusal(RefusalReason.AGENT_SIGNED_OUT, {"agent": agent, "detail": text})
    known = None if act.failure is FailureKind.UNKNOWN else act.failure.value
    return Refusal(
        RefusalReason.SPAWN_FAILED, {"agent": agent, "what": act.failure.value, "failure": known, "detail": text}
    )


async def send_turn(session: "HeldSession", turn: NewTurn) -> Turn | Refusal:
    """Record a turn and let its bytes go."""
    house = session.house
    if session.stop_reason is not None or not session.state.live:
        # A stop is an order from the moment it is given; the ledger hears of it later.
        session.driver.never_went(turn.id)
        return Refusal(RefusalReason.FENCING)

    def record(tx: Tx) -> Turn | Refusal:
        return recording.record_turn(
            tx,
            session.run_id,
            turn,
            digest_key=house.digest_key,
            paused=session.state.paused,
            pools=house.pools(tx.now),
            incarnation=house.incarnation,
        )

    recorded: Turn | Refusal = await session.write(record)
    if isinstance(recorded, Refusal):
        session.driver.never_went(turn.id)
        return recorded
    steps.reach(Step.TURN_RECORDED)
    await session.refresh()
    await session.decide(machine.TurnRecorded(id=turn.id, source=turn.source))
    session.spawn(writing.write_turn(session, turn.id, turn.sent), "turn")
    return recorded


def new_turn(
    session: "HeldSession",
    source: TurnSource,
    text: str,
    *,
    operator: str,
    queued: int | None = None,
    decisions: tuple[int, ...] = (),
    images: tuple[Image, ...] = (),
) -> NewTurn:
    turn = session.house.ids.turn()
    return NewTurn(
        id=turn,
        source=source,
        text=session.house.redactor.text(text),
        preamble="",
        sent=session.driver.turn(turn, text, images),
        operator=operator,
        generation=session.generation,
        queued=queued,
        decisions=decisions,
        images=images,
    )


async def send_queued(session: "HeldSession") -> None:
    """The oldest of the line goes; what cannot go now stays in it, and the line is held."""
    if not session.rows.queued:
        return
    first = session.rows.queued[0]
    steps.reach(Step.QUEUE_TAKEN)
    with_it = await session.house.ledger.read(lambda tx: attachments.of_queued(tx, first.id))
    turn = new_turn(
        session,
        TurnSource.OPERATOR,
        first.text,
        operator=first.operator,
        queued=first.id,
        images=kept_images.kept(with_it),
    )
    sent = await send_turn(session, turn)
    if isinstance(sent, Refusal):
        await say_why_it_waits(session, sent)
        return
    await session.decide(machine.QueueChanged(waiting=len(session.rows.queued)))
    steps.reach(Step.QUEUE_SENT)


async def say_why_it_waits(session: "HeldSession", refusal: Refusal) -> None:
    """What waits and may not go for want of money is the operator's to look at; all else goes by itself later."""
    agent = refusal.facts.get("agent")
    of = f" for {agent}" if agent else ""
    texts = {
        RefusalReason.BUDGET_EXHAUSTED: "holds at its budget",
        RefusalReason.TURN_CAP: "holds at its budget",
        RefusalReason.POOL_EXHAUSTED: f"holds: the budget of the {refusal.facts.get('period')}{of} is used up",
    }
    text = texts.get(refusal.reason)
    if text is not None:
        await session.write(
            lambda tx: attention.raise_(tx, run=session.run_id, kind=AttentionKind.BUDGET, key="budget", text=text)
        )


async def interrupt(session: "HeldSession", *, background_too: bool) -> None:
    timing = session.house.settings.timing
    session.set_deadline("interrupt", timing.interrupt)
    write = session.driver.interrupt()
    session.interrupt_write = write.heard_as or write.id
    session.set_deadline("interrupt-ack", timing.interrupt_ack)
    await _control(session, write, "interrupt")
    if background_too:
        for write in session.driver.stop_background():
            await _control(session, write, "stop background")


async def _control(session: "HeldSession", write: ControlWrite, what: str) -> None:
    await writing.write_control(session, write.id, write.data, what)


async def conclude(session: "HeldSession", reason: EndReason) -> None:
    """The agent's own end, by the same ladder and with the same receipt as any other."""
    session.concluding = reason
    steps.reach(Step.CONCLUDE_BEGUN)
    await session.write(
        lambda tx: custody.move(
            tx,
            id=session.custody_id,
            expect=[CustodyState.OPEN],
            to=CustodyState.CONCLUDING,
        )
    )
    steps.reach(Step.CONCLUDE_BOOKED)
    await session.refresh()
    supervisor = session.supervisor
    if supervisor is not None:
        with contextlib.suppress(ConnectionError, OSError):
            await supervisor.fence(reason)
            steps.reach(Step.CONCLUDE_ORDERED)


async def fence(session: "HeldSession", reason: str) -> None:
    """The supervisor was told first; now the books."""
    if session.stop_reason is None:
        session.order_end(reason)
    steps.reach(Step.BEFORE_FENCE_BOOKED)
    await book_end(session, reason)
    steps.reach(Step.FENCE_BOOKED)
    await session.refresh()


async def book_end(session: "HeldSession", reason: str) -> None:
    """That an end was ordered, into the ledger: before what agents printed, and as often as one likes."""

    def book(tx: Tx) -> None:
        held = custody.get(tx, session.custody_id)
        if held is not None and held.state is CustodyState.CLOSED:
            return  # a ledger that was busy let this through after the end
        custody.fence(tx, id=session.custody_id, reason=reason)
        if stops.open_of(tx, session.run_id) is None:
            stops.ask(tx, run=session.run_id, reason=reason, operator=session.stopped_by)
        stops.order(tx, run=session.run_id)

    await session.write(book, first=True)


async def look_at_changes(session: "HeldSession") -> None:
    """Which files the run changed so far, for the right panel, and the tree as it is after its newest turn that is
    over. A failure here is no failure of the run.

    One look at a time, and one more for all who asked meanwhile: of a large tree a look takes longer than a short turn.
    """
    session.looks_asked += 1
    mine = session.looks_asked
    async with session.looking:
        if session.looks_begun >= mine:
            return
        session.looks_begun = session.looks_asked
        over = [turn.n for turn in session.rows.turns if turn.ended_at is not None]
        found = await turntrees.note(session.folder, session.tree, session.head, turn=max(over, default=None))
    if not isinstance(found, Refusal):
        session.live.changed, session.live.changes_known = tuple(found), True
        session.house.changed()


async def look_and_keep(session: "HeldSession") -> None:
    """After a turn: what it changed, on the screen, and into the ledger where the run has come to rest with it."""
    await look_at_changes(session)
    try:
        await _keep_evidence(session)
    except Exception:
        # Nothing of the run depends on it, and its end keeps all of it once more.
        log.exception("run %s: what it changed so far could not be kept", session.run_id)


async def _keep_evidence(session: "HeldSession") -> None:
    async with session.looking:
        if not session.state.at_rest or session.ending or session.concluding is not None:
            return  # the next rest, or the end, has it
        config = await asyncio.to_thread(githelper.read_config, session.tree)
        changed = session.live.changed
        seen = await asyncio.to_thread(evidence.signature, session.tree, changed, config)
        if seen == session.kept or (session.kept is None and not changed and config == session.config_before):
            return
        last = next(iter(reversed(await asyncio.to_thread(turntrees.noted, session.folder))), None)
        over = max((turn.n for turn in session.rows.turns if turn.ended_at is not None), default=0)
        whole = last is not None and last.turn == over and not last.left
        pieces = await evidence.gather(
            session.tree,
            session.head,
            redact=session.house.redactor.text,
            config_before=session.config_before,
            noted=evidence.Noted(tree=last.tree, store=turntrees.store_of(session.folder)) if whole and last else None,
        )
        if session.gone is None:
            await session.write(lambda tx: evidence.keep(tx, session.run_id, pieces, over=False))
            session.kept = seen
