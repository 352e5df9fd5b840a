"""How a run goes on from one that has ended: in the agent's own conversation where it can be, else with an account from
the ledger; in the same tree; with the answers and messages that never arrived.

Here it is only found out and proposed, for the terms. That all of it still holds is looked at again in the transactions
of ``recording``, and what rides along is bound there, with turn 1. The texts are made in ``account``.
"""

import asyncio
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from coordinator import account, eventcodec, githelper, parking, recording
from coordinator.account import Before, ToldTurn
from coordinator.agreed import terms_of
from coordinator.constants import TURN_BYTES
from coordinator.drivers.base import CannotStart, Capabilities, TextBlock, ToolStarted
from coordinator.starttypes import Continued, NewConversation, Propose
from coordinator.tasks.desk import Desk
from coordinator.terms import Terms, TreeKind
from store import continued, custody, decisions, events, reviewing, runs, turns
from store.db import Tx
from store.refusal import Refusal
from store.turns import Turn
from store.vocab import (
    DecisionId,
    DecisionKind,
    DecisionState,
    EndReason,
    FailureKind,
    RefusalReason,
    RunId,
    RunOutcome,
    TurnResultKind,
    TurnSource,
    TurnState,
)

_TURNS: Final = 60
"""The newest turns that are looked at for an account; more would not find room in it."""
_TOLD, _LONGEST, _TOOLS = 40, 64_000, 8

_BY: Final = {
    TurnSource.BRIEF: "the operator",
    TurnSource.OPERATOR: "the operator",
    TurnSource.ANSWER: "an answer of the operator",
    TurnSource.REPAIR: "Footplate",
    TurnSource.AGENT: "",
}
_ENDS: Final[dict[str, str]] = {
    EndReason.STOPPED: "the operator stopped it",
    EndReason.KILLED: "the operator stopped it",
    EndReason.REVOKED: "the operator took its terms back",
    EndReason.FINISHED: "the operator ended it",
    EndReason.AT_REST: "its turn had ended with nothing asked",
    EndReason.HANDOFF: "the agent said that it was finished",
    EndReason.EXPIRED: "its time was up",
    EndReason.LAPSED: "the operator was away too long",
    EndReason.BUDGET_EXHAUSTED: "its budget was used up",
    EndReason.SHUTDOWN: "the console was closed",
}


class Ended(Struct, frozen=True, kw_only=True):
    """The run that is gone on from."""

    run: runs.Run
    terms: Terms | None
    """None: they cannot be read."""


async def look(house: Desk, run: RunId) -> Ended | Refusal:
    """Whether anything can go on from this run, and what it was."""

    def read(tx: Tx) -> Ended | Refusal:
        found = recording.goes_on_from(tx, run)
        return found if isinstance(found, Refusal) else Ended(run=found, terms=terms_of(tx, found))

    return await house.ledger.read(read)


async def going(
    house: Desk, ended: Ended, asked: Propose, terms: Terms, can: Capabilities
) -> tuple[Terms, Continued] | Refusal:
    """The terms of a new run, as far as they come from the one before. ``can``: of its agent."""
    terms = await _in_its_tree(ended, asked, terms)
    if can.terminal:
        if not terms.instruction.strip():
            return Refusal(RefusalReason.EMPTY_TURN)
        view = Continued(run=ended.run.id, title=ended.run.title, new=NewConversation.TERMINAL)
        return replace(terms, continues=ended.run.id), view
    resumes, operator = can.resumes, house.settings.operator
    found = await house.ledger.read(lambda tx: _found(tx, ended, asked, terms, resumes, operator))
    carried = house.redactor.text(found.carried)
    if (size := len(carried.encode("utf-8", "replace"))) > TURN_BYTES:
        return Refusal(RefusalReason.TURN_TOO_LARGE, {"bytes": size, "limit": TURN_BYTES})
    terms = replace(
        terms,
        instruction=terms.instruction if terms.instruction.strip() else account.GO_ON,
        continues=ended.run.id,
        conversation=found.conversation,
        carried=carried,
        answers=found.answers,
        unsent=found.view.unsent,
    )
    return terms, found.view


async def _in_its_tree(ended: Ended, asked: Propose, terms: Terms) -> Terms:
    """In the tree of its own that the run before had, where that is still there and nothing else was asked for."""
    run, before = ended.run, ended.terms
    had_one = before.tree_kind is TreeKind.WORKTREE if before is not None else run.tree != run.repository
    if not (had_one if asked.worktree is None else asked.worktree):
        return replace(terms, tree_kind=TreeKind.IN_PLACE)
    terms = replace(terms, tree_kind=TreeKind.WORKTREE)
    tree = run.tree if run.tree != run.repository else (before.tree if before is not None else "")
    if not tree or not await asyncio.to_thread(Path(tree).is_dir):
        return terms
    facts = await githelper.find_repository(Path(tree))
    if isinstance(facts, Refusal) or str(facts.top) != tree:
        return terms
    return replace(terms, tree=tree, head=facts.head, branch=facts.branch)


class _Found(Struct, frozen=True, kw_only=True):
    conversation: str
    carried: str
    answers: tuple[DecisionId, ...]
    view: Continued


def _found(tx: Tx, ended: Ended, asked: Propose, terms: Terms, resumes: bool, operator: str) -> _Found:
    run = ended.run
    line = runs.line(tx, run.id)
    conversation, new, other = _conversation(tx, line, terms, resumes=resumes, fresh=asked.fresh)
    waiting = decisions.undelivered(tx, run.id)
    unsent = continued.unsent(tx, run.id, but=account.GO_ON)
    before = _before(tx, run, line)
    told: tuple[ToldTurn, ...] = ()
    text, older = "", 0
    if new is not None:
        told, older = _turns(tx, line)
        text = account.of_runs(before, _task(tx, line), told, older=older)
    return _Found(
        conversation=conversation,
        carried=account.carried(before, text, [parking.answer_as_text(one, operator) for one in waiting], unsent),
        answers=tuple(one.id for one in waiting),
        view=Continued(
            run=run.id,
            title=run.title,
            new=new,
            other=other,
            turns=len(told) + older,
            answers=len(waiting),
            unsent=len(unsent),
        ),
    )


# ------------------------------------------------------------------------------------------------- the conversation


def _conversation(
    tx: Tx, line: list[RunId], terms: Terms, *, resumes: bool, fresh: bool | None
) -> tuple[str, NewConversation | None, RunId | None]:
    """The conversation to go on in, or '' and why not, with the run that is in the way."""
    if fresh:
        return "", NewConversation.ASKED, None
    had = next((run for id in line if (run := runs.get(tx, id)) is not None and _heard(tx, id)), None)
    if had is None or not had.native_id or had.reason == EndReason.IMPORTED:
        return "", NewConversation.NONE_BEGUN, None
    if (had.agent, had.driver) != (terms.agent, terms.driver):
        return "", NewConversation.OTHER_AGENT, None
    if not resumes:
        return "", NewConversation.CANNOT, None
    if had.tree != (terms.repository if terms.tree_kind is TreeKind.IN_PLACE else terms.tree):
        return "", NewConversation.OTHER_TREE, None
    native = had.native_id
    holder = next((held.run for held in custody.not_closed(tx) if held.native_id == native), None)
    if holder is not None:
        return "", NewConversation.HELD, holder
    failed = _failed_in(tx, line, native) if fresh is None else None
    return ("", NewConversation.FAILED, failed) if failed is not None else (native, None, None)


def _heard(tx: Tx, run: RunId) -> bool:
    """Whether the agent began a turn of this run: from then on it has the conversation too."""
    return any(turn.accepted_at is not None or turn.state is TurnState.SETTLED for turn in turns.of_run(tx, run))


def _failed_in(tx: Tx, line: list[RunId], native: str) -> RunId | None:
    """The newest run that was to go on in this conversation, where its agent did not come up in it."""
    tried = sorted({run for id in line for run in reviewing.continued_by(tx, id)} | set(line), reverse=True)
    for id in tried:
        run = runs.get(tx, id)
        signed = terms_of(tx, run) if run is not None else None
        if run is None or signed is None or signed.conversation != native:
            continue
        never_up = run.outcome is RunOutcome.FAILED and not events.has_kind(tx, id, "session-ready")
        return id if never_up and _lies_with_it(tx, id) else None
    return None


def _lies_with_it(tx: Tx, run: RunId) -> bool:
    """Whether the conversation may be what is wrong: an agent that is signed out says so of any."""
    told = continued.not_up(tx, run)
    event = eventcodec.decode(told.kind, told.body) if told is not None else None
    return not isinstance(event, CannotStart) or event.failure in (FailureKind.UNKNOWN, FailureKind.REFUSED)


# ------------------------------------------------------------------------------------------------ what rides along


def _before(tx: Tx, run: runs.Run, line: list[RunId]) -> Before:
    said = turns.of_run(tx, run.id)
    parks = [one for id in line for one in decisions.live(tx, id) if one.kind is DecisionKind.PARK]
    return Before(
        run=run.id,
        end=_end_of(run),
        cut_off=any(turn.state is TurnState.UNCERTAIN for turn in said[-1:]),
        asked=tuple(parking.question_of(one) for one in parks if one.state is DecisionState.OPEN),
    )


def _end_of(run: runs.Run) -> str:
    if run.outcome is RunOutcome.REFUSED:
        return "it was not started"
    return _ENDS.get((run.reason or "").partition(":")[0], "it broke off")


def _task(tx: Tx, line: list[RunId]) -> str:
    """What the first of them was to do."""
    first = runs.get(tx, line[-1])
    terms = terms_of(tx, first) if first is not None else None
    if terms is not None and terms.instruction:
        return terms.instruction
    return next((turn.text for turn in turns.of_run(tx, line[-1])), "(not known)")


def _turns(tx: Tx, line: list[RunId]) -> tuple[tuple[ToldTurn, ...], int]:
    """The newest turns of the line in their order, and how many there were before them."""
    went = [turn for id in reversed(line) for turn in turns.of_run(tx, id) if turn.state is not TurnState.CANCELLED]
    newest = went[-_TURNS:]
    return tuple(_told(tx, turn) for turn in newest), len(went) - len(newest)


def _told(tx: Tx, turn: Turn) -> ToldTurn:
    tools: list[str] = []
    words = ""
    for row in continued.told(tx, turn.id, limit=_TOLD, longest=_LONGEST):
        match eventcodec.decode(row.kind, row.body):
            case ToolStarted(name=name, title=title, parent=None):
                tools.append(f"{name}: {title}" if title else name)
            case TextBlock(text=text, parent=None) if text.strip():
                words = text
            case _:
                pass
    return ToldTurn(
        run=turn.run,
        n=turn.n,
        by=_BY[turn.source],
        said=turn.text,
        tools=tuple(tools[-_TOOLS:]),
        more_tools=len(tools) > _TOOLS,
        last_words=words,
        end=_end_of_turn(turn),
    )


def _end_of_turn(turn: Turn) -> str:
    if turn.state is TurnState.UNCERTAIN:
        return "cut off, its outcome is not known"
    if turn.result is TurnResultKind.INTERRUPTED:
        return "interrupted"
    if turn.result is TurnResultKind.ERROR:
        return f"with an error ({turn.failure or turn.subtype})"
    return ""
