"""Words of a review: lists, orders, money and time looked at later. Pure, and the same on the screen and on a line."""

import time
from typing import Final

from app.wording_endings import end_reason, outcome
from app.wording_measures import clock, money, plural
from coordinator.review.types import AmendmentRow, RunRow, Sort, SpendBy, SpendRow
from store.vocab import Billing, CostKnowledge, EndReason, EvidenceKind, MicroUsd, Millis, StopResult

SORTS: Final = {
    Sort.NEWEST: "newest first",
    Sort.OLDEST: "oldest first",
    Sort.COST: "dearest first",
    Sort.TURNS: "most turns first",
    Sort.DURATION: "longest first",
    Sort.REPOSITORY: "by repository",
}
BY: Final = {
    SpendBy.DAY: "by day",
    SpendBy.REPOSITORY: "by repository",
    SpendBy.AGENT: "by agent",
    SpendBy.MODEL: "by model",
    SpendBy.RUN: "by run",
    SpendBy.TURN: "by turn",
}
_KINDS: Final = {
    "turn": "you",
    "text": "agent",
    "thought": "thought",
    "tool-started": "call",
    "tool-finished": "result",
    "decision": "question",
    "decision-asked": "question",
    "notice": "notice",
}
_PIECES: Final = {
    EvidenceKind.MAILBOX: "its question, as it wrote it",
    EvidenceKind.HANDOFF: "its note",
    EvidenceKind.DIFF: "diff",
    EvidenceKind.STATUS: "state of the files",
    EvidenceKind.GIT_CONFIG: "settings of git",
    EvidenceKind.FILES: "hashes of the files",
    EvidenceKind.CHECK: "check",
}
_ENDS: Final = {
    EndReason.HANDOFF: "says it is done",
    EndReason.BUDGET_EXHAUSTED: "budget used up",
    EndReason.EXITED: "ended by itself",
    EndReason.REVOKED: "terms taken back",
    EndReason.SPAWN_FAILED: "could not be started",
    EndReason.TELEMETRY: "cost report missing",
    EndReason.PROTOCOL_ERROR: "not understood",
    EndReason.SHUTDOWN: "console was closed",
    EndReason.CONSOLE_LOST: "no console came back",
    EndReason.SUPERVISOR_LOST: "keeper was lost",
    EndReason.ORPHANED: "found without console",
    EndReason.STORAGE: "disk was full",
    EndReason.RESTORED: "ledger was restored",
    EndReason.SUPERSEDED: "taken over elsewhere",
}
"""Shorter than elsewhere: for a column; the run's own page says it whole."""
_STOPPED: Final = {
    StopResult.HELD: "ended in order",
    StopResult.ALREADY_ENDED: "it had ended already",
    StopResult.FORCED: "killed",
    StopResult.NEVER_STARTED: "it had not begun",
    StopResult.UNREACHABLE: "nobody answered any more",
}


_BILLINGS: Final = {
    Billing.KEY: "paid by key",
    Billing.SUBSCRIPTION: "by subscription, its money only nominal",
    Billing.PRACTICE: "play money",
}


def billing(kind: Billing) -> str:
    return _BILLINGS[kind]


def piece_kind(kind: EvidenceKind) -> str:
    """What was kept of a run."""
    return _PIECES[kind]


def stop_result(result: StopResult) -> str:
    return _STOPPED[result]


def day_or_time(ms: int, now: int) -> str:
    """``09:14`` today, ``29 Nov 09:14`` this year, else the day: never more than twelve cells."""
    then, today = time.localtime(ms / 1000), time.localtime(now / 1000)
    if then[:3] == today[:3]:
        return clock(ms)
    if then[0] == today[0]:
        return time.strftime("%d %b %H:%M", then)
    return time.strftime("%Y-%m-%d", then)


def run_cost(row: RunRow) -> str:
    """``~``: some of it is a guess, or nobody knows it."""
    return money(row.cost, guess=row.cost_known is not CostKnowledge.REPORTED)


def run_end(row: RunRow) -> str:
    """How a run came to its end, in two or three words."""
    if row.reason == EndReason.IMPORTED:
        return "imported"
    if row.outcome is None:
        return "open"
    if not row.reason:
        return outcome(row.outcome)
    kind = row.reason.partition(":")[0]
    if kind in _ENDS:
        return _ENDS[EndReason(kind)]
    return end_reason(row.reason).removeprefix("ended by Footplate: ").split(":")[0]


def hit_kind(kind: str) -> str:
    """Who said it, or what it is."""
    return _KINDS.get(kind, kind.replace("-", " "))


def amendment(row: AmendmentRow) -> str:
    """What the operator added to the terms."""
    parts = []
    if row.money is not None:
        parts.append(f"{money(row.money)} more")
    if row.turns is not None:
        parts.append(f"{plural(row.turns, 'turn')} more")
    if row.working_seconds is not None:
        parts.append(f"{plural(row.working_seconds // 60, 'minute')} of work more")
    if row.expires_at is not None:
        parts.append(f"until {time.strftime('%Y-%m-%d %H:%M', time.localtime(row.expires_at / 1000))}")
    return ", ".join(parts) or "nothing"


SMALL: Final = 1_000_000
"""Micro-USD under which the largest sum of a table is shown to the hundredth of a cent, as are the others then: bars of
different length beside the same number would say nothing."""


def spend_cost(row: SpendRow, most: int = SMALL) -> str:
    """``most``: the largest cost of the table that it stands in."""
    if row.unknown_turns == row.turns and not row.cost:
        return money(None)
    guess = bool(row.guessed or row.unknown_turns)
    if most < SMALL and row.cost:
        small = f"{row.cost / 1_000_000:.4f}" if row.cost >= 50 else "<0.0001"
        return f"{'~' if guess else ''}{small}"
    return money(row.cost, guess=guess)


def spend_key(row: SpendRow, by: SpendBy) -> str:
    """What these turns have in common, as it is called."""
    if not row.key:
        return "not known"
    if by is SpendBy.TURN:
        run, _, n = row.key.partition(".")
        return f"run {run} turn {n}"
    return f"run {row.key}" if by is SpendBy.RUN else row.key


def spend_sum(rows: tuple[SpendRow, ...]) -> str:
    """All of it in a sentence; ``rows`` may be of any grouping but the runs in them are then not told."""
    if not rows:
        return "nothing was spent"
    turns, unknown = sum(row.turns for row in rows), sum(row.unknown_turns for row in rows)
    cost, guessed = MicroUsd(sum(row.cost for row in rows)), sum(row.guessed for row in rows)
    said = f"{money(cost, guess=bool(guessed or unknown))} USD in {plural(turns, 'turn')}"
    if guessed:
        said += f", {money(MicroUsd(guessed), guess=True)} of it estimated"
    if unknown:
        said += f", {plural(unknown, 'turn')} of unknown cost"
    return said


def ledger_day(ms: Millis) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(ms / 1000))
