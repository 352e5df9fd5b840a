"""Once the spool of a hold that was taken over is read up to now: what the console before had begun is brought to its
end.

What it had recorded and provably not sent is sent now where the same bytes can be made again, after all checks, and
cancelled otherwise; what it had not read is read. Nothing that may have gone is sent a second time.
"""

import contextlib
from typing import TYPE_CHECKING

from coordinator import decisioncodec, images, machine, mailbox, parking, settling, steps, turntimeout, writing
from coordinator.custody.types import WriteProof
from coordinator.recording import NewTurn, keyed_digest
from coordinator.steps import Step
from store import attachments, attention, control_writes, decisions, evidence
from store.control_writes import ControlWrite
from store.db import Tx
from store.decisions import Decision
from store.turns import Turn
from store.vocab import (
    AttentionKind,
    DecisionKind,
    DecisionState,
    EndReason,
    EvidenceKind,
    TurnResultKind,
    TurnSource,
    TurnState,
)

if TYPE_CHECKING:
    from coordinator.session import HeldSession

HANDSHAKE = "handshake"
"""What a part of the greeting is called in the ledger, with its place in it."""


async def catch_up(session: "HeldSession") -> None:
    """Once the spool is read up to now: settle what the old console had begun to send."""
    steps.reach(Step.CATCHING_UP)
    if not session.state.ready and not session.state.restarting and not session.next_due:
        await _greet_again(session)
    for turn in session.rows.turns:
        if turn.state is TurnState.RECORDED and turn.source is not TurnSource.AGENT:
            await _unsent_turn(session, turn)
    for decision in session.rows.decisions:
        # An answer to a park rides in a turn, which was looked at above.
        if decision.state is DecisionState.DELIVERING and decision.kind is not DecisionKind.PARK:
            await _unsent_answer(session, decision)
    await session.refresh()
    await _unread_mailbox(session)
    await session.decide(machine.QueueChanged(waiting=len(session.rows.queued)))
    steps.reach(Step.CAUGHT_UP)


async def _proof(session: "HeldSession", write: str) -> WriteProof | None:
    supervisor = session.supervisor
    if supervisor is None:
        return None
    with contextlib.suppress(ConnectionError, OSError):
        return await supervisor.wrote(write)
    return None


async def _never_goes(session: "HeldSession", write: str) -> bool:
    """Whether it is proven that nothing of it went, and nothing ever will.

    One that is cancelled already is as good: the console before may have died between that and what it meant to do.
    """
    proof = await _proof(session, write)
    if proof is WriteProof.CANCELLED:
        return True
    if proof is not WriteProof.NEVER or session.supervisor is None:
        return False
    with contextlib.suppress(ConnectionError, OSError):
        cancelled = await session.supervisor.cancel(write)
        steps.reach(Step.TAKEN_BACK)
        return cancelled
    return False


def handshake(tx: Tx, session: "HeldSession") -> list[ControlWrite]:
    """The greeting of this generation, in its order; of a part that had to be said anew, the newest."""
    newest: dict[str, ControlWrite] = {}
    for one in control_writes.of_run(tx, session.run_id):
        if one.what.startswith(HANDSHAKE) and one.generation == session.generation:
            newest[one.what] = one
    return list(newest.values())


async def _greet_again(session: "HeldSession") -> None:
    """The agent was started and perhaps never greeted: what provably did not go is said now, and its answer awaited."""
    session.set_deadline("start", session.house.settings.timing.start_timeout)
    asked: list[ControlWrite] = await session.house.ledger.read(lambda tx: handshake(tx, session))
    wanted = list(session.driver.opening())
    resumed = session.generation > 1 or bool(session.terms.conversation)
    if resumed and session.driver.capabilities.reports_cost:
        wanted.append(session.driver.ask_cost())
    for old, new in zip(asked, wanted, strict=False):
        if await _never_goes(session, old.id):
            await writing.write_control(session, new.id, new.data, old.what)
            if old.id == session.cost_ask:
                session.cost_ask = new.id


async def _unread_mailbox(session: "HeldSession") -> None:
    """A turn ended well, and the console went before it had read what the turn left, or before it acted on it."""
    settled = [turn for turn in session.rows.turns if turn.state is TurnState.SETTLED]
    last = session.rows.turns[-1] if session.rows.turns else None
    if not session.state.live or not session.state.at_rest or last not in settled[-1:]:
        return
    if last is None or last.result is not TurnResultKind.SUCCESS:
        return
    if mailbox.present(session.tree, session.run_id):
        await parking.read(session)
        return
    known = await session.house.ledger.read(lambda tx: evidence.of_run(tx, session.run_id))
    if any(one.kind is EvidenceKind.HANDOFF and one.at >= (last.ended_at or 0) for one in known):
        await session.decide(machine.MailboxRead(park=bool(session.rows.open_parks), handoff=True))


async def _unsent_turn(session: "HeldSession", turn: Turn) -> None:
    proof = await _proof(session, turn.id)
    if proof not in (WriteProof.NEVER, WriteProof.CANCELLED):
        return  # begun, whole or unknown: its records, or its end, settle it
    text = f"{turn.text}\n\n{turn.preamble}" if turn.preamble else turn.text
    with_it = images.kept(await session.house.ledger.read(lambda tx: attachments.of_turn(tx, turn.id)))
    data = session.driver.turn(turn.id, text, with_it)
    same = proof is WriteProof.NEVER and keyed_digest(session.house.digest_key, data) == turn.digest
    if same and session.state.live and not session.state.ready and turn.source is TurnSource.BRIEF:
        session.first_turn = NewTurn(
            id=turn.id, source=turn.source, text=turn.text, preamble=turn.preamble, sent=data, operator=turn.operator
        )
        session.turn_watch = turntimeout.TurnWatch()
        return  # it goes when the agent says that it is ready, as at any start
    if same and session.state.ready and session.state.live:
        session.turn_watch = turntimeout.TurnWatch()  # it goes only now
        session.spawn(writing.write_turn(session, turn.id, data), "turn")
        return
    if await _never_goes(session, turn.id):
        session.driver.never_went(turn.id)
        await session.write(lambda tx: settling.not_sent(tx, turn.id))
        await session.decide(machine.TurnNotSent(id=turn.id))
        if turn.source is TurnSource.BRIEF:
            session.order_end(EndReason.CONSOLE_LOST)


async def _unsent_answer(session: "HeldSession", decision: Decision) -> None:
    proof = await _proof(session, decision.write_id or "")
    if proof is WriteProof.BEGUN:
        await session.write(lambda tx: decisions.uncertain(tx, id=decision.id))
    if decision.answer is None:
        return
    # Said to the driver in any case: what was answered, or may have been, is not answered once more at the end.
    data = session.driver.answer(decision.request, decisioncodec.decode_answer(decision.answer))
    if not await _never_goes(session, decision.write_id or ""):
        return
    digest = keyed_digest(session.house.digest_key, data)
    before: ControlWrite | None = await session.house.ledger.read(
        lambda tx: control_writes.get(tx, session.run_id, decision.write_id or "")
    )
    if before is None or before.digest != digest:
        # The ledger keeps it redacted, and a redacted answer is another one: it is not sent, and a person is told.
        session.driver.never_went(decision.request)
        await session.write(lambda tx: _cannot_be_made_again(tx, decision))
        return
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
            digest=digest,
        )
        decisions.deliver(tx, id=decision.id, write_id=write)

    await session.write(again)
    session.spawn(writing.send(session, write, data), "answer")


def _cannot_be_made_again(tx: Tx, decision: Decision) -> None:
    decisions.uncertain(tx, id=decision.id, not_sent="it could not be made again exactly")
    asked = (decision.subject or decision.title)[:200]
    text = (
        f"your answer to “{asked}” had not gone out when the console was lost, and cannot be made again "
        "as you gave it (what is secret is not kept): the agent still waits for it; interrupt it, then say it anew"
    )
    attention.raise_(tx, run=decision.run, kind=AttentionKind.PAGE, key=f"answer-{decision.id}", text=text)
