"""What ``ls`` shows, read from the ledger: one line a run, and the questions that wait."""

import os
from pathlib import Path

from msgspec import Struct

from app import wording
from app.cli.printing import one_line
from app.paths import Paths
from coordinator.api import Group
from coordinator.clock import RealClock
from store import custody, decisions, runs, turns
from store.db import read_ledger
from store.tx import Tx
from store.vocab import DecisionState, EndReason, Millis, RunOutcome


class QuestionLine(Struct, frozen=True, kw_only=True):
    id: int
    kind: str
    title: str
    subject: str
    waiting: str
    asked_at: int


class RunLine(Struct, frozen=True, kw_only=True):
    run: int
    title: str
    agent: str
    group: Group
    standing: str
    """How it stands, in words."""
    outcome: str | None
    reason: str | None
    spent_micro_usd: int
    money: str
    turns: str
    when: str
    """How long ago it ended, or began where it has not."""
    created_at: int
    ended_at: int | None
    repository: str
    continues: int | None = None
    questions: tuple[QuestionLine, ...] = ()


def read(paths: Paths, *, live_only: bool = False, here: bool = False, limit: int = 50) -> list[RunLine]:
    """Newest first; nothing where there is no ledger yet."""
    if not paths.ledger.exists():
        return []
    with read_ledger(paths.ledger, now=RealClock().now) as tx:
        repository = _repository_here() if here else None
        rows = runs.listing(tx, repository=repository, live_only=live_only, limit=limit)
        return [_line(tx, row) for row in rows]


def _repository_here() -> str:
    # Looked for by its folder alone: no git runs for a list.
    start = Path(os.environ.get("PWD") or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return str(folder)
    return str(start)


def _line(tx: Tx, row: runs.Run) -> RunLine:
    spend = turns.spend(tx, row.id)
    waiting = [one for one in decisions.live(tx, row.id) if one.state is DecisionState.OPEN]
    flying = [] if row.outcome is not None else turns.in_flight(tx, row.id)
    group, standing = _standing(tx, row, waiting, flying)
    since = row.ended_at if row.ended_at is not None else row.created_at
    return RunLine(
        run=row.id,
        title=one_line(row.title, 40),
        agent="PRACTICE" if row.billing == "practice" else one_line(row.agent, 20),
        group=group,
        standing=standing if row.continues is None else f"{standing}, goes on from {row.continues}",
        outcome=None if row.outcome is None else row.outcome.value,
        reason=row.reason,
        spent_micro_usd=spend.money,
        money=wording.money_so_far(
            spend.money, guess=spend.guessed > 0, told=spend.turns > len(flying) and not spend.unknown
        ),
        turns=str(spend.turns),
        when=wording.age(tx.now - since),
        created_at=row.created_at,
        ended_at=row.ended_at,
        repository=row.repository,
        continues=row.continues,
        questions=tuple(_question(tx.now, one) for one in waiting),
    )


def _standing(tx: Tx, row: runs.Run, waiting: list[decisions.Decision], flying: list[turns.Turn]) -> tuple[Group, str]:
    if row.reason == EndReason.IMPORTED:
        return Group.ENDED, f"{wording.outcome(row.outcome or RunOutcome.FINISHED)}, imported"
    if row.outcome is not None:
        why = wording.end_reason(row.reason or "").split(": ")[0]
        return (Group.NEEDS_YOU if waiting else Group.ENDED), f"{wording.outcome(row.outcome)}, {why}"
    hold = custody.of_run(tx, row.id)
    words = "starting" if hold is None else wording.custody_state(hold.state)
    if waiting:
        return Group.NEEDS_YOU, f"{words}, {wording.decision_kind(waiting[0].kind)} {waiting[0].id}"
    if flying:
        return Group.WORKING, f"{words}, turn {flying[0].n} {wording.turn_state(flying[0].state)}"
    done = [turn for turn in turns.of_run(tx, row.id) if turn.ended_at is not None]
    unseen = bool(done) and (done[-1].ended_at or 0) > row.seen_at
    return (Group.YOUR_MOVE, f"{words}, your move") if unseen else (Group.IDLE, f"{words}, idle")


def _question(now: Millis, one: decisions.Decision) -> QuestionLine:
    return QuestionLine(
        id=one.id,
        kind=wording.decision_kind(one.kind),
        title=one_line(one.title),
        subject=one.subject,
        waiting=wording.age(now - one.asked_at),
        asked_at=one.asked_at,
    )
