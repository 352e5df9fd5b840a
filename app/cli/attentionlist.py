"""What ``attention`` shows, read from the ledger: all that waits for a person, oldest first."""

from msgspec import Struct

from app import wording
from app.cli.columns import Column
from app.cli.printing import line, one_line, sentence, table
from app.paths import Paths
from coordinator.clock import RealClock
from store import attention, decisions, runs
from store.db import read_ledger
from store.tx import Tx
from store.vocab import AttentionKind, DecisionId


class AttentionLine(Struct, frozen=True, kw_only=True):
    item: int
    kind: str
    """``decision``, ``stalled``, ``budget``, ``ends-soon``, ``crashed``, ``page``, ``task``."""
    words: str
    """The kind, as a person reads it."""
    run: int | None
    title: str
    text: str
    decision: int | None
    task: int | None
    since: int
    waiting: str


def read(paths: Paths) -> list[AttentionLine]:
    """First come, first served; nothing where there is no ledger yet."""
    if not paths.ledger.exists():
        return []
    with read_ledger(paths.ledger, now=RealClock().now) as tx:
        return [_line(tx, item) for item in attention.open_items(tx)]


def _line(tx: Tx, item: attention.AttentionItem) -> AttentionLine:
    run = runs.get(tx, item.run) if item.run is not None else None
    words, text, decision = wording.attention_kind(item.kind), item.text, None
    if item.kind is AttentionKind.DECISION and item.key.isdigit():
        decision = decisions.get(tx, DecisionId(int(item.key)))
        if decision is not None:
            words, text = wording.decision_kind(decision.kind), f"{decision.title} {decision.subject}"
    if item.kind is AttentionKind.BUDGET and attention.to_see(item):
        words = "budget"  # it warns only
    if item.kind is AttentionKind.CRASHED and run is not None and run.reason:
        text = wording.end_reason(run.reason)
    return AttentionLine(
        item=item.id,
        kind=item.kind.value,
        words=words,
        run=item.run,
        title=one_line(run.title, 40) if run is not None else "",
        text=one_line(text),
        decision=None if decision is None else decision.id,
        task=_task(item),
        since=item.since,
        waiting=wording.age(tx.now - item.since),
    )


def _task(item: attention.AttentionItem) -> int | None:
    number = item.key.partition(":")[0]
    return int(number) if item.kind is AttentionKind.TASK and number.isdecimal() else None


_COLUMNS = (
    Column(head="what", least=10),
    Column(head="whose", least=10),
    Column(head="for", right=True, goes=1),
    Column(head="about", least=12),
)


def print_lines(lines: list[AttentionLine]) -> None:
    if not lines:
        line("Nothing waits for you.")
        return
    table([(one.words, _whose(one), one.waiting, one.text) for one in lines], _COLUMNS)
    asked = next((one.decision for one in lines if one.decision is not None), None)
    if asked is not None:
        sentence(f"Answer one with: footplate answer {asked} CHOICE")
    task = next((one.task for one in lines if one.task is not None), None)
    if task is not None:
        sentence(f"More on a task: footplate queue show {task}")


def _whose(one: AttentionLine) -> str:
    if one.task is not None:
        return f"task {one.task}"
    return "Footplate" if one.run is None else f"{one.run} {one.title}"
