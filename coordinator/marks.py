"""What an operator notes about a run and what changes nothing of it: its name, its place, that it was seen, a draft.

None of it needs the run's actor, so all of it works for runs that have ended or that another console holds.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from coordinator import decisioncodec
from coordinator.api import Acknowledge, AnswerDecision, DismissDecision, Done, Pin, Rename, Reply, SaveDraft, Seen
from store import attention, decisions, drafts, runs
from store.db import Tx
from store.refusal import Refusal
from store.vocab import AttentionKind, DecisionKind, DecisionState, RefusalReason, RunId

if TYPE_CHECKING:
    from coordinator.coordinator import Coordinator

Mark = Rename | Pin | Seen | Acknowledge


async def mark(coordinator: "Coordinator", command: Mark, operator: str) -> Reply:
    """Write it down, and have it shown."""

    def write(tx: Tx) -> RunId | Refusal | None:
        match command:
            case Rename():
                runs.rename(tx, id=command.run, title=command.title)
            case Pin():
                runs.pin(tx, id=command.run, pinned=command.pinned)
            case Seen():
                runs.seen(tx, id=command.run, at=tx.now)
                # How it ended was told only so that somebody sees it.
                attention.clear(tx, run=command.run, kind=AttentionKind.CRASHED, by=operator)
            case Acknowledge():
                return _acknowledge(tx, command.item, operator)
        return command.run

    run = await coordinator.house.ledger.transaction(write)
    if isinstance(run, Refusal):
        return run
    if run is not None:
        await _show(coordinator, run)
    coordinator.house.changed()
    return Done()


def _acknowledge(tx: Tx, item: int, operator: str) -> RunId | Refusal | None:
    found = attention.get(tx, item)
    if found is None:
        return Refusal(RefusalReason.STALE, {"what": "notice"})
    if not attention.to_see(found):
        # It waits for more than a look.
        return Refusal(RefusalReason.NOT_AN_OPTION, {"option": "acknowledge"})
    attention.put_away(tx, id=item, by=operator)  # twice is once
    return found.run


async def of_ended(coordinator: "Coordinator", command: DismissDecision | AnswerDecision, operator: str) -> Reply:
    """What can still be done about a question of a run that is not held here."""
    if isinstance(command, AnswerDecision):
        return await answer_of_ended(coordinator, command, operator)
    return await dismiss_of_ended(coordinator, command, operator)


async def dismiss_of_ended(coordinator: "Coordinator", command: DismissDecision, operator: str) -> Reply:
    """Put aside a question that outlived its hold: nobody would ever answer it otherwise."""

    def write(tx: Tx) -> Refusal | None:
        run, found = runs.get(tx, command.run), decisions.get(tx, command.decision)
        if run is None or found is None or found.run != command.run:
            return Refusal(RefusalReason.NO_SUCH_DECISION, {"decision": command.decision})
        if run.outcome is None:
            return Refusal(RefusalReason.OWNED_BY_ANOTHER, {"run": command.run, "owner": run.incarnation})
        if not may_dismiss(found) or decisions.dismiss(tx, id=found.id, operator=operator) is None:
            return Refusal(RefusalReason.STALE)
        attention.clear(tx, run=run.id, kind=AttentionKind.DECISION, key=str(found.id), by=operator)
        return None

    refused = await coordinator.house.ledger.transaction(write)
    if isinstance(refused, Refusal):
        return refused
    await _show(coordinator, command.run)
    return Done()


async def answer_of_ended(coordinator: "Coordinator", command: AnswerDecision, operator: str) -> Reply:
    """Answer a question that outlived its hold."""
    house = coordinator.house
    said = await house.ledger.transaction(
        lambda tx: answer_after_the_end(tx, command, operator, redact=house.redactor.text)
    )
    if isinstance(said, Refusal):
        return said
    await _show(coordinator, command.run)
    return Done(note=said)


def answer_after_the_end(
    tx: Tx, command: AnswerDecision, operator: str, *, redact: Callable[[str], str]
) -> str | Refusal:
    """The answer, in words. It rides in the brief of the run that goes on from this one. A transaction's whole body."""
    run, found = runs.get(tx, command.run), decisions.get(tx, command.decision)
    if run is None or found is None or found.run != command.run:
        return Refusal(RefusalReason.NO_SUCH_DECISION, {"decision": command.decision})
    if run.outcome is None:
        return Refusal(RefusalReason.OWNED_BY_ANOTHER, {"run": command.run, "owner": run.incarnation})
    if found.kind is not DecisionKind.PARK:
        return Refusal(RefusalReason.ALREADY_ENDED, {"run": command.run})
    shown = decisioncodec.view_parts(found.payload)
    if (bad := decisioncodec.check_answer(command.answer, shown)) is not None:
        return bad
    answered = decisions.answer(
        tx,
        id=found.id,
        revision=command.revision,
        payload_hash=command.payload_hash,
        answer=redact(decisioncodec.encode_answer(command.answer)),
        operator=operator,
    )
    if isinstance(answered, Refusal):
        return answered
    decisions.end_of_hold(tx, run.id)
    attention.clear(tx, run=run.id, kind=AttentionKind.DECISION, key=str(found.id), by=operator)
    return decisioncodec.words(command.answer, shown)


def may_dismiss(decision: decisions.Decision) -> bool:
    """A request on the agent's wire wants an answer; what waits outside of it may be left unanswered for good."""
    return decision.kind is DecisionKind.PARK or decision.state is DecisionState.UNDELIVERED


async def keep_draft(coordinator: "Coordinator", command: SaveDraft) -> Reply:
    def keep(tx: Tx) -> None:
        if command.text:
            drafts.put(tx, key=command.key, text=command.text)
        else:
            drafts.drop(tx, key=command.key)

    await coordinator.house.ledger.transaction(keep)
    return Done()


async def _show(coordinator: "Coordinator", run: RunId) -> None:
    session = coordinator.sessions.get(run)
    if session is not None:
        await session.refresh()
    else:
        await coordinator.snapshots.reload(run)
