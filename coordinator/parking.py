"""Parks: a question that the agent left in its mailbox and ended its turn over, and the turn that carries the answer
back."""

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct

from coordinator import decisioncodec, deeds, machine, mailbox, parkednote, preamble, steps
from coordinator.drivers.base import DecisionAsked, QuestionReply
from coordinator.evidence import mailbox_pieces
from coordinator.steps import Step
from store import attention, decisions, evidence
from store.canonical import digest
from store.db import Tx
from store.refusal import Refusal
from store.vocab import AttentionKind, DecisionKind, DecisionState, TurnId, TurnSource

if TYPE_CHECKING:
    from coordinator.session import HeldSession

HANDOFF_SHOWN = 4_000


class Found(Struct, frozen=True, kw_only=True):
    """What a mailbox held, ready to be written down."""

    read: mailbox.MailboxRead
    park: DecisionAsked | None = None
    malformed: parkednote.Malformed | None = None


async def look(session: "HeldSession") -> Found:
    read = await asyncio.to_thread(mailbox.read_mailbox, session.tree, session.run_id)
    if isinstance(read.decision, parkednote.Malformed):
        return Found(read=read, malformed=read.decision)
    if read.decision is None:
        return Found(read=read)
    return Found(read=read, park=parkednote.decision_of(read.decision, f"park-{read.decision_sha256[:16]}"))


def book(tx: Tx, session: "HeldSession", found: Found, turn: TurnId | None) -> None:
    """Evidence and decision in the caller's transaction."""
    for piece in mailbox_pieces(found.read, session.house.redactor.text):
        evidence.add(tx, run=session.run_id, kind=piece.kind, content=piece.content, note=piece.note)
    if found.park is not None:
        ask(tx, session, found.park, turn)


def ask(tx: Tx, session: "HeldSession", park: DecisionAsked, turn: TurnId | None) -> None:
    redact = session.house.redactor.text
    asked = decisions.ask(
        tx,
        run=session.run_id,
        turn=turn,
        kind=DecisionKind.PARK,
        request=park.request,
        generation=session.generation,
        payload=decisioncodec.payload(park, redact),
        title=park.title,
        subject=redact(park.subject),
    )
    if asked.state is DecisionState.OPEN:  # a console that went may have booked it, and an answer may be there by now
        attention.raise_(tx, run=session.run_id, kind=AttentionKind.DECISION, key=str(asked.id), text=park.title)


async def read(session: "HeldSession") -> None:
    """After a turn that ended well: what did it leave for the operator?"""
    found = await look(session)
    steps.reach(Step.MAILBOX_READ)
    turn = session.rows.turns[-1].id if session.rows.turns else None
    if found.read.decision is not None or found.read.handoff is not None:
        await session.write(lambda tx: book(tx, session, found, turn))
        steps.reach(Step.MAILBOX_BOOKED)
        await asyncio.to_thread(_unlink, session, found)
        steps.reach(Step.MAILBOX_UNLINKED)
        if found.read.handoff is not None:
            session.live.handoff = found.read.handoff[:HANDOFF_SHOWN]
        await session.refresh()
    session.malformed = found.malformed
    await session.decide(
        machine.MailboxRead(
            park=found.park is not None and bool(session.rows.open_parks),
            malformed="; ".join(found.malformed.problems) if found.malformed else "",
            handoff=found.read.handoff is not None,
        )
    )


def _unlink(session: "HeldSession", found: Found) -> None:
    # By digest: what was written anew since it was read stays, and is read after the next turn.
    if found.read.decision_sha256:
        mailbox.unlink(session.tree, session.run_id, "decision.json", found.read.decision_sha256)
    if found.read.handoff_sha256:
        mailbox.unlink(session.tree, session.run_id, "handoff.md", found.read.handoff_sha256)


async def repair(session: "HeldSession", problems: str) -> None:
    text = preamble.repair_text(session.run_id, problems)
    turn = deeds.new_turn(session, TurnSource.REPAIR, text, operator=session.operator)
    sent = await deeds.send_turn(session, turn)
    if isinstance(sent, Refusal):
        await session.decide(machine.RepairRefused())


async def ask_raw(session: "HeldSession") -> None:
    """Two malformed ones in a row: the operator reads the raw text and answers in words."""
    malformed = session.malformed or parkednote.Malformed(problems=())
    park = parkednote.free_question(malformed, f"park-{digest(malformed.raw)[:16]}")
    turn = session.rows.turns[-1].id if session.rows.turns else None
    await session.write(lambda tx: ask(tx, session, park, turn))
    await session.refresh()


def question_of(decision: decisions.Decision) -> str:
    """What was asked, in the agent's words."""
    asked = decisioncodec.view_parts(decision.payload)
    return "; ".join(question.text for question in asked.questions) or decision.title


def answer_as_text(decision: decisions.Decision, operator: str) -> str:
    """An answered question as a turn tells it. ``operator``: whoever speaks, where the ledger names nobody."""
    answer = decisioncodec.decode_answer(decision.answer or "")
    chosen = note = ""
    if isinstance(answer, QuestionReply):
        chosen = "; ".join(", ".join(labels) for labels in answer.answers.values())
        note = answer.note
    return preamble.answer_text(
        decision=decision.id,
        question=question_of(decision),
        chosen=chosen,
        note=note,
        operator=decision.answered_by or operator,
    )


async def send_answers(session: "HeldSession") -> None:
    """All waiting answers, oldest first, in one turn."""
    waiting = session.rows.park_answers
    if not waiting:
        return
    parts = [answer_as_text(decision, session.operator) for decision in waiting]
    turn = deeds.new_turn(
        session,
        TurnSource.ANSWER,
        "\n\n".join(parts),
        operator=waiting[0].answered_by or session.operator,
        decisions=tuple(decision.id for decision in waiting),
    )
    sent = await deeds.send_turn(session, turn)
    if isinstance(sent, Refusal):
        await deeds.say_why_it_waits(session, sent)
    else:
        await session.decide(machine.ParkAnswered(waiting=0, open=bool(session.rows.open_parks)))
        steps.reach(Step.PARK_ANSWERS_SENT)
