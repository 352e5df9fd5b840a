"""More money, more turns, a later end: a signed amendment, and a restart of an agent whose own cap cannot be raised.

The restart keeps the hold: no turn in flight, the whole ladder with a receipt for the old process, then the next
generation in the same conversation, its cap what is left.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coordinator import closing, launch, machine, recording, steps
from coordinator.api import Done, Extend, FeedEvent, Reply
from coordinator.custody.types import SpawnFailure
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


async def extend(session: "HeldSession", order: "Order", command: Extend) -> Reply | None:
    """Sign the amendment, then let the run use it. None: the answer comes when the agent was started again."""
    raises_cap = command.money is not None and session.limits.budget is not None
    needs_restart = raises_cap and session.cap is not None and not session.driver.capabilities.raises_cap_live
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
            tx, id=signed.id, operator=order.operator, money=command.money, turns=command.turns, expires_at=end
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
    supervisor = session.supervisor
    if needs_restart and supervisor is not None:
        session.restart_order = order
        await session.decide(machine.RestartBegun())
        await supervisor.fence(EndReason.SUPERSEDED, restart=True)
        steps.reach(Step.RESTART_ORDERED)
        await session.refresh()
        return None
    await session.decide(machine.Extended(budget=limits.budget, max_turns=limits.max_turns))
    await session.refresh()
    return Done(note="extended")


async def go_on(session: "HeldSession") -> None:
    """The old process is gone, with a receipt: start the next generation in the same conversation."""
    gone, order = session.gone, session.restart_order
    session.gone, session.restart_order, session.live.ending = None, None, None
    driver = registry.create(session.terms.driver, session.house.ids.secret()[:6])
    if gone is None or driver is None:
        session.order_end(EndReason.SPAWN_FAILED)
        return
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
    session.driver = driver
    session.generation += 1
    session.ingest.replace_driver(driver, session.generation)
    await session.decide(machine.Restarted(lost=lost))
    failure = await launch.start_agent(session, resume=True)
    steps.reach(Step.NEXT_STARTED)
    if isinstance(failure, SpawnFailure):
        session.order_end(EndReason.SPAWN_FAILED)
        answer: Reply = Refusal(RefusalReason.SPAWN_FAILED, {"agent": session.terms.agent, "what": failure.what})
    else:
        await session.decide(machine.Extended(budget=session.limits.budget, max_turns=session.limits.max_turns))
        answer = Done(note="extended; the agent was started again in the same conversation")
    await session.refresh()
    if order is not None:
        order.reply(answer)


async def take_baseline(session: "HeldSession", feed: Sequence[FeedEvent]) -> None:
    """What a resumed process counts from, as soon as it says so."""
    for one in feed:
        if isinstance(one.event, ControlAcked) and one.event.id == session.cost_ask:
            session.cost_ask = ""
            told = session.driver.cost_told(one.event)
            await session.decide(machine.BaselineTold(cumulative=told or MicroUsd(0)))
