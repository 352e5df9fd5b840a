"""What the operator orders of one session, carried out by its actor: each a short piece that ends in a reply."""

import contextlib
from typing import TYPE_CHECKING, assert_never

from coordinator import (
    answerbook,
    closing,
    decisioncodec,
    deeds,
    extending,
    imagefiles,
    images,
    machine,
    marks,
    steps,
    writing,
)
from coordinator.api import (
    AnswerDecision,
    DismissDecision,
    Done,
    EditQueued,
    Extend,
    Finish,
    Interrupt,
    LookAtProcesses,
    ProcessView,
    ReleaseQueue,
    Reply,
    ResizeTerminal,
    Revoke,
    Said,
    Say,
    SendKeys,
    SetMode,
    SetModel,
)
from coordinator.constants import TURN_BYTES
from coordinator.drivers.base import Image
from coordinator.recording import keyed_digest
from coordinator.steps import Step
from coordinator.terminals import MOST_KEYS
from store import attachments, attention, decisions, queued
from store.canonical import storable
from store.db import Tx
from store.refusal import Refusal
from store.vocab import AttentionKind, DecisionId, DecisionKind, DecisionState, EndReason, RefusalReason, TurnSource

if TYPE_CHECKING:
    from coordinator.session import HeldSession, Order

SessionCommand = (
    Say
    | EditQueued
    | ReleaseQueue
    | AnswerDecision
    | DismissDecision
    | Interrupt
    | Finish
    | SetMode
    | SetModel
    | LookAtProcesses
    | SendKeys
    | ResizeTerminal
    | Extend
    | Revoke
)


async def obey(session: "HeldSession", order: "Order") -> None:
    command = order.command
    if not isinstance(command, SessionCommand):
        raise TypeError(f"not for a session: {command!r}")
    if session.state.paused and isinstance(command, Say | AnswerDecision | ReleaseQueue | Extend | SendKeys):
        # Who acts on it is there.
        await session.decide(machine.AttendanceChanged(paused=False))
    try:
        reply = await _obey(session, command, order)
    except BaseException:
        # A bug, or the end of the console: whoever waits for the answer must not wait for ever.
        order.reply(closing.already_ended(session))
        raise
    if reply is not None:
        order.reply(reply)
    session.house.changed()


async def _obey(session: "HeldSession", command: SessionCommand, order: "Order") -> Reply | None:
    operator = order.operator
    match command:
        case Extend():
            return await extending.extend(session, order, command)
        case Revoke():
            session.stopped_by = operator
            session.order_end(EndReason.REVOKED, by=operator)
            return Done()
        case Say():
            return await _say(session, command, operator)
        case EditQueued():
            return await _edit_queued(session, command)
        case ReleaseQueue():
            await session.decide(machine.QueueChanged(waiting=len(session.rows.queued), released=True))
            return Done()
        case AnswerDecision():
            return await _answer(session, command, operator)
        case DismissDecision():
            return await _dismiss(session, command.decision, operator)
        case Interrupt():
            return await _interrupt(session, command)
        case Finish():
            return await _finish(session)
        case SetMode():
            return await _set_mode(session, command.mode)
        case SetModel():
            return await _set_model(session, command.model)
        case LookAtProcesses():
            return await _look_at_processes(session)
        case SendKeys():
            return await _send_keys(session, command.data)
        case ResizeTerminal():
            return await _resize_terminal(session, command.rows, command.columns)
        case _:
            assert_never(command)


async def _say(session: "HeldSession", command: Say, operator: str) -> Reply:
    text = storable(command.text)  # an argument of the command line may hold what is no text
    if not text.strip():
        return Refusal(RefusalReason.EMPTY_TURN)
    if len(text.encode()) > TURN_BYTES:
        return Refusal(RefusalReason.TURN_TOO_LARGE, {"bytes": len(text.encode()), "limit": TURN_BYTES})
    if not session.state.live:
        return Refusal(RefusalReason.FENCING)
    screen = None if command.literal else _needs_screen(session, text)
    if screen is not None:
        return screen
    with_it = await _taken(session, command.images)
    if isinstance(with_it, Refusal):
        return with_it
    busy = not session.state.at_rest or not session.state.ready or session.rows.queued or session.state.parked
    if not busy:
        turn = deeds.new_turn(session, TurnSource.OPERATOR, text, operator=operator, images=with_it)
        sent = await deeds.send_turn(session, turn)
        return sent if isinstance(sent, Refusal) else Said(turn=sent.id)
    redacted = session.house.redactor.text(text)

    def add(tx: Tx) -> queued.QueuedTurn:
        row = queued.add(tx, run=session.run_id, text=redacted, operator=operator)
        attachments.add(tx, run=session.run_id, queued=row.id, images=images.to_keep(with_it))
        return row

    added: queued.QueuedTurn = await session.write(add)
    steps.reach(Step.QUEUED)
    await session.refresh()
    await session.decide(machine.QueueChanged(waiting=len(session.rows.queued)))
    return Said(queued=added.id)


async def _taken(session: "HeldSession", given: tuple[Image, ...]) -> tuple[Image, ...] | Refusal:
    return await imagefiles.taken(session.house, session.driver.capabilities, session.terms.agent, given)


def _needs_screen(session: "HeldSession", text: str) -> Refusal | None:
    """A command that the agent would only answer with an excuse: refused with what to do instead."""
    name = text[1:].split(maxsplit=1)[0] if text.startswith("/") and text[1:].strip() else ""
    instead = dict(session.driver.capabilities.own_screen).get(name)
    if instead is None or session.driver.slash(text) is not None:
        return None
    facts = {"agent": session.terms.agent, "what": f"do /{name} without a screen of its own", "instead": instead}
    return Refusal(RefusalReason.NOT_POSSIBLE_FOR_AGENT, facts)


async def _edit_queued(session: "HeldSession", command: EditQueued) -> Reply:
    redact = session.house.redactor.text
    redacted = redact(storable(command.text))
    added = await _taken(session, command.images)
    if isinstance(added, Refusal):
        return added

    def edit(tx: Tx) -> queued.QueuedTurn | Refusal | None:
        if not command.text.strip():
            return queued.withdraw(tx, id=command.queued)
        changed = queued.edit(tx, id=command.queued, text=redacted)
        if changed is None:
            return None
        if command.keep is not None:
            attachments.keep_only(tx, queued=command.queued, names=[redact(storable(name)) for name in command.keep])
        attachments.add(tx, run=session.run_id, queued=command.queued, images=images.to_keep(added))
        return images.refused(images.kept(attachments.of_queued(tx, command.queued))) or changed

    changed = await session.write(edit)
    if isinstance(changed, Refusal):
        return changed
    await session.refresh()
    await session.decide(machine.QueueChanged(waiting=len(session.rows.queued)))
    return Done() if changed is not None else Refusal(RefusalReason.STALE, {"what": "queued turn"})


async def _answer(session: "HeldSession", command: AnswerDecision, operator: str) -> Reply:
    decision = next((d for d in session.rows.decisions if d.id == command.decision), None)
    if decision is None:
        return Refusal(RefusalReason.NO_SUCH_DECISION, {"decision": command.decision})
    shown = decisioncodec.view_parts(decision.payload)
    answer = decisioncodec.as_offered(command.answer, shown)
    if isinstance(answer, Refusal):
        return answer
    if (bad := decisioncodec.check_answer(answer, shown)) is not None:
        return bad
    park = decision.kind is DecisionKind.PARK
    if not park and (session.stop_reason is not None or not session.state.live):
        return Refusal(RefusalReason.FENCING)
    # The driver is told of an answer only where the ledger will take it: it forgets the request with the first one.
    fits = (decision.revision, decision.payload_hash) == (command.revision, command.payload_hash)
    to_driver = not park and fits and decision.state is DecisionState.OPEN
    data = session.driver.answer(decision.request, answer) if to_driver else b""
    stored = session.house.redactor.text(decisioncodec.encode_answer(answer))

    def book(tx: Tx) -> decisions.Decision | Refusal:
        answered = answerbook.given(
            tx, decision, answer=stored, by=operator, revision=command.revision, payload_hash=command.payload_hash
        )
        if park or isinstance(answered, Refusal):
            return answered
        digest = keyed_digest(session.house.digest_key, data)
        return answerbook.on_its_way(tx, answered, generation=session.generation, length=len(data), digest=digest)

    result = await session.write(book)
    steps.reach(Step.ANSWER_COMMITTED)
    await session.refresh()
    if isinstance(result, Refusal):
        if to_driver:
            session.driver.never_went(decision.request)
        return result
    if park:
        await session.decide(
            machine.ParkAnswered(waiting=len(session.rows.park_answers), open=bool(session.rows.open_parks))
        )
    elif result.write_id is not None:
        session.spawn(writing.send(session, result.write_id, data), "answer")
    return Done(note=decisioncodec.words(answer, shown))


async def _dismiss(session: "HeldSession", decision: DecisionId, operator: str) -> Reply:
    def book(tx: Tx) -> decisions.Decision | None:
        attention.clear(tx, run=session.run_id, kind=AttentionKind.DECISION, key=str(decision), by=operator)
        return decisions.dismiss(tx, id=decision, operator=operator)

    found = next((d for d in session.rows.decisions if d.id == decision), None)
    if found is None or not marks.may_dismiss(found):
        return Refusal(RefusalReason.NOT_AN_OPTION, {"option": "dismiss"})
    dismissed = await session.write(book)
    await session.refresh()
    if dismissed is None:
        return Refusal(RefusalReason.STALE)
    await session.decide(
        machine.ParkAnswered(waiting=len(session.rows.park_answers), open=bool(session.rows.open_parks))
    )
    return Done()


async def _interrupt(session: "HeldSession", command: Interrupt) -> Reply:
    flying = [turn.id for turn in session.state.turns]
    able = session.state.live and session.state.ready
    if not flying or (command.turn is not None and command.turn not in flying) or not able:
        return Refusal(RefusalReason.NOTHING_TO_INTERRUPT)
    if not session.driver.capabilities.interrupts:
        return Refusal(RefusalReason.NOT_POSSIBLE_FOR_AGENT, {"what": "interrupt", "agent": session.terms.agent})
    await session.decide(machine.InterruptAsked(turn=command.turn))
    return Done()


async def _finish(session: "HeldSession") -> Reply:
    if not session.state.live:
        return Refusal(RefusalReason.FENCING)
    open_ = frozenset(decision.id for decision in session.rows.open_decisions)
    if open_ - session.finish_over and not session.state.finishing:
        # Asked again over an open decision: the same key a second time means it.
        session.finish_over = open_
        return Refusal(RefusalReason.DECISION_OPEN, {"decision": min(open_)})
    await session.decide(machine.FinishAsked())
    return Done()


async def _set_mode(session: "HeldSession", mode: str) -> Reply:
    if not session.state.live:
        return Refusal(RefusalReason.FENCING)
    if mode not in session.driver.capabilities.modes:
        return Refusal(RefusalReason.NOT_POSSIBLE_FOR_AGENT, {"what": f"mode {mode}", "agent": session.terms.agent})
    write = session.driver.set_mode(mode)
    await writing.write_control(session, write.id, write.data, "mode")
    return Done()


async def _set_model(session: "HeldSession", model: str) -> Reply:
    if not session.state.live:
        return Refusal(RefusalReason.FENCING)
    if not session.driver.capabilities.sets_model:
        return Refusal(RefusalReason.NOT_POSSIBLE_FOR_AGENT, {"what": "model", "agent": session.terms.agent})
    write = session.driver.set_model(model)
    await writing.write_control(session, write.id, write.data, "model")
    return Done()


async def _look_at_processes(session: "HeldSession") -> Reply:
    supervisor = session.supervisor
    if supervisor is None:
        return Refusal(RefusalReason.NO_HELD_SESSION, {"run": session.run_id})
    with contextlib.suppress(ConnectionError, OSError):
        status = await supervisor.status()
        listed = status.get("processes")
        session.live.processes = tuple(
            ProcessView(
                pid=int(one["pid"]),
                name=str(one["name"]),
                age_s=float(one["age_s"]),
                rss_kb=int(one["rss_kb"]),
                own_session=bool(one["own_session"]),
            )
            for one in (listed if isinstance(listed, list) else [])
        )
    return Done()


async def _send_keys(session: "HeldSession", data: bytes) -> Reply:
    """What a person types into the agent's own terminal: for what it asks there, which is no decision of ours."""
    refused = _no_terminal(session)
    if refused is not None:
        return refused
    if len(data) > MOST_KEYS:
        return Refusal(RefusalReason.TURN_TOO_LARGE, {"bytes": len(data), "limit": MOST_KEYS})
    if session.state.at_rest and session.state.at_budget:
        # Else keys would be a way to go on without a turn.
        return Refusal(RefusalReason.BUDGET_EXHAUSTED, {"run": session.run_id})
    write = f"keys-{session.house.ids.secret()[:16]}"
    await writing.write_control(session, write, data, "keys")
    return Done()


async def _resize_terminal(session: "HeldSession", rows: int, columns: int) -> Reply:
    refused = _no_terminal(session)
    if refused is not None:
        return refused
    if session.supervisor is not None:
        with contextlib.suppress(ConnectionError, OSError):
            await session.supervisor.resize(max(1, min(rows, 500)), max(1, min(columns, 1000)))
    return Done()


def _no_terminal(session: "HeldSession") -> Refusal | None:
    if not session.driver.capabilities.terminal:
        what = "be typed to: it has no terminal of its own"
        return Refusal(RefusalReason.NOT_POSSIBLE_FOR_AGENT, {"what": what, "agent": session.terms.agent})
    return None if session.state.live and session.stop_reason is None else Refusal(RefusalReason.FENCING)
