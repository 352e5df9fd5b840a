"""More money, turns or working time, a later end: a signed amendment, and a restart of an agent whose own cap cannot be
raised.

The restart keeps the hold: no turn in flight, the whole ladder with a receipt for the old process, then the next
generation in the same conversation, its cap what is left.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from coordinator import closing, launch, machine, recording, steps
from coordinator.api import Done, Extend, FeedEvent, Reply
from coordinator.custody.types import RecordKind, SpawnFailure, SpoolRecord
from coordinator.drivers import registry
from coordinator.drivers.base import ControlAcked
from coordinator.steps import Step
from coordinator.terms import Terms, parse
from store import authorizations, custody, receipts, runs, turns
from store.canonical import dumps
from store.db import Tx
from store.refusal import Refusal
from store.vocab import (
    AuthorizationId,
    AuthorizationState,
    CostKnowledge,
    CustodyState,
    EndReason,
    MicroUsd,
    Millis,
    RefusalReason,
)

if TYPE_CHECKING:
    from coordinator.session import HeldSession, Order

TIMER = "restart"


async def extend(session: "HeldSession", order: "Order", command: Extend) -> Reply | None:
    """Sign the amendment, then let the run use it. None: the answer comes when the agent was started again."""
    raises_cap = command.money is not None and session.limits.budget is not None
    able = session.driver.capabilities
    # One with a budget that tells its costs was started with a cap of its own, by this console or the one before.
    needs_restart = raises_cap and able.reports_cost and not able.raises_cap_live
    if needs_restart and (session.state.turns or not session.state.live):
        return Refusal(RefusalReason.IN_FLIGHT, {"turn": len(session.rows.turns)})

    def amend(tx: Tx) -> recording.EffectiveLimits | Refusal:
        row = runs.get(tx, session.run_id)
        signed = authorizations.get(tx, AuthorizationId(row.authorization_id)) if row else None
        if row is None or signed is None or signed.state is not AuthorizationState.BOUND:
            return Refusal(RefusalReason.AUTHORIZATION_CLOSED, {"reason": signed.close_reason if signed else None})
        terms = parse(signed.terms)
        if not isinstance(terms, Terms):
            return terms
        before = recording.effective_limits(tx, signed, terms)
        end = Millis(before.expires_at + command.seconds * 1000) if command.seconds else None
        authorizations.amend(
            tx,
            id=signed.id,
            operator=order.operator,
            money=command.money,
            turns=command.turns,
            expires_at=end,
            working_seconds=command.working_seconds,
        )
        if needs_restart:
            custody.move(tx, id=session.custody_id, expect=[CustodyState.OPEN], to=CustodyState.RESTARTING)
        return recording.effective_limits(tx, signed, terms)

    limits = await session.write(amend)
    if isinstance(limits, Refusal):
        return limits
    session.limits = limits
    steps.reach(Step.EXTENSION_SIGNED)
    session.set_deadline("renew", 0.0)
    if needs_restart:
        session.restart_order = order
        await session.decide(machine.RestartBegun())
        await _end_old(session)
        await session.refresh()
        return None
    await session.decide(limits.extended())
    await session.refresh()
    return Done(note="extended")


async def _end_old(session: "HeldSession") -> None:
    supervisor = session.supervisor
    if supervisor is None:
        return
    # Where it is lost on its way, it is looked after once there is a wire again.
    with contextlib.suppress(ConnectionError, OSError):
        await supervisor.fence(EndReason.SUPERSEDED, restart=True)
        steps.reach(Step.RESTART_ORDERED)


async def look_after(session: "HeldSession") -> None:
    """Attached in the middle of a restart: the end of the old process is ordered, unless it was.

    No console but the one that attached last orders a restart, so what the keeper says now stays true.
    """
    supervisor = session.supervisor
    if supervisor is None or not session.state.restarting or session.stop_reason is not None:
        return
    try:
        async with asyncio.timeout(session.house.settings.timing.command):
            status = await supervisor.status()
    except TimeoutError:
        session.set_deadline(TIMER, 0.5)
        return
    except (ConnectionError, OSError):
        return
    size = status.get("spool_size")
    if status.get("step") or status.get("ending"):
        return  # it is being ended: the receipt comes
    if isinstance(size, int) and session.ingest.position < size:
        session.set_deadline(TIMER, 0.02)  # the receipt may stand in what is not read yet
        return
    await _end_old(session)


def is_old_ones(session: "HeldSession", record: SpoolRecord) -> bool:
    """Whether this record is the receipt after which the next process may be started."""
    if record.kind is not RecordKind.GONE or not record.facts.get("restart") or record.facts.get("remaining"):
        return False  # with something left, another one comes when that is gone
    # One of a restart before this one comes again where a spool is read again.
    return session.state.restarting and record.generation >= session.generation


async def old_gone(session: "HeldSession", gone: SpoolRecord) -> None:
    """The old process is gone: its receipt is kept, once, whichever console comes to keep it."""
    driver = registry.create(session.terms.driver, session.house.ids.secret()[:6])
    assert driver is not None  # it is the one of the process that has just ended
    receipt = dumps(dict(gone.facts))
    steps.reach(Step.OLD_GONE)
    guess = closing.guess(session)

    def book(tx: Tx) -> MicroUsd:
        receipts.add(
            tx,
            custody=session.custody_id,
            generation=session.generation,
            run=session.run_id,
            body=receipt,
            remaining=0,
        )
        # One that the agent began by itself while the order was on its way.
        lost = turns.in_flight(tx, session.run_id)
        for turn in lost:
            turns.uncertain(tx, id=turn.id, cost=guess, cost_known=CostKnowledge.GUESS)
        return MicroUsd(guess * len(lost))

    lost: MicroUsd = await session.write(book)
    steps.reach(Step.OLD_RECEIPT_KEPT)
    session.driver, session.cost_ask = driver, ""
    session.generation += 1
    session.ingest.replace_driver(driver, session.generation)
    await session.decide(machine.Restarted(lost=lost))
    await session.refresh()
    session.next_due = True


async def start_next(session: "HeldSession") -> None:
    """Start the next generation in the same conversation, with the cap that is left."""
    order, session.restart_order, session.next_due = session.restart_order, None, False
    session.live.ending = None
    failure = await launch.start_agent(session, restart=True)
    steps.reach(Step.NEXT_STARTED)
    answer: Reply
    if isinstance(failure, SpawnFailure) and failure.what == "fenced":
        answer = Refusal(RefusalReason.FENCING)  # it ends meanwhile; why is in its spool
    elif isinstance(failure, SpawnFailure):
        session.order_end(EndReason.SPAWN_FAILED)
        answer = Refusal(RefusalReason.SPAWN_FAILED, {"agent": session.terms.agent, "what": failure.what})
    else:
        await session.decide(session.limits.extended())
        answer = Done(note="extended; the agent was started again in the same conversation")
    await session.refresh()
    if order is not None:
        order.reply(answer)


async def take_baseline(session: "HeldSession", feed: Sequence[FeedEvent]) -> None:
    """What a resumed process counts from, as soon as it says so."""
    for one in feed:
        if isinstance(one.event, ControlAcked) and one.event.id == session.cost_ask:
            session.cost_ask = ""
            await session.decide(machine.BaselineTold(cumulative=session.driver.cost_told(one.event)))
