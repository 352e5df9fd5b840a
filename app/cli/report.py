"""What ``show`` tells of one run, read from the ledger; the same facts for ``--json`` and in words."""

from typing import Any

import msgspec
from msgspec import Struct

from app import wording
from app.cli.columns import Column
from app.cli.event_text import lines_of, quoted
from app.cli.exits import refused
from app.cli.printing import line, literal_lines, one_line, table
from app.paths import Paths
from app.wording_changes import counts
from app.wording_checks import check_line
from app.wording_trees import became_words
from coordinator import checkresults, dispositions, eventcodec, terms, views
from coordinator.api import DecisionView, TurnView
from coordinator.checktypes import NOT_PASSED, CheckView
from coordinator.clock import RealClock
from coordinator.custody.receipts import receipt_from_facts
from coordinator.custody.types import Receipt
from coordinator.dispositions import Disposition
from coordinator.keptchanges import kept
from coordinator.runplace import place_of
from store import (
    attachments,
    authorizations,
    custody,
    decisions,
    events,
    evidence,
    queued,
    receipts,
    reviewing,
    runs,
    turns,
)
from store.db import read_ledger
from store.refusal import Refusal
from store.tx import Tx
from store.vocab import CustodyState, EndReason, EvidenceKind, MicroUsd, Millis, RefusalReason, RunId

_PAGE = 500
_LAST_LINES = 40
_FILES = 20
"""Changed files that are listed; ``diff --stat`` has them all."""


class CheckReport(Struct, frozen=True, kw_only=True):
    check: CheckView
    output: str
    """As it is kept, behind a line that names what was run."""


class ChangedFile(Struct, frozen=True, kw_only=True):
    path: str
    status: str
    """One letter as git's."""
    added: int | None
    removed: int | None


class RunReport(Struct, frozen=True, kw_only=True):
    now: Millis
    run: runs.Run
    custody: CustodyState | None
    terms: terms.Terms | None
    turns: tuple[TurnView, ...]
    decisions: tuple[DecisionView, ...]
    waiting: tuple[str, ...]
    """Turns that wait in line, or were not sent."""
    spent: MicroUsd
    guessed: MicroUsd
    unknown_turns: int
    receipt: Receipt | None
    checks: tuple["CheckReport", ...]
    became: tuple[Disposition, ...]
    """What was done with its tree, oldest first."""
    continued_by: tuple[RunId, ...]
    changed: tuple[ChangedFile, ...]
    """Of a run that is over, as it was kept then; the first of them."""
    changed_count: int | None
    """All of them; None where that was not kept, or the run goes on."""
    notes: tuple[str, ...]
    """What the agent left in words: its note when it finished."""
    events: tuple[dict[str, Any], ...] = ()
    """With ``--transcript``: every kept event, in order."""


def read(paths: Paths, run: RunId, *, transcript: bool = False, as_json: bool = False) -> RunReport:
    """
    Raises:
        Leave: there is no such run.
    """
    found = None
    if paths.ledger.exists():
        with read_ledger(paths.ledger, now=RealClock().now) as tx:
            row = runs.get(tx, run)
            found = None if row is None else _report(tx, row, transcript)
    if found is None:
        raise refused(Refusal(RefusalReason.NO_SUCH_RUN, {"run": run}), as_json=as_json)
    return found


def _report(tx: Tx, row: runs.Run, transcript: bool) -> RunReport:
    signed = authorizations.get(tx, row.authorization_id)
    agreed = terms.parse(signed.terms) if signed is not None else None
    hold = custody.of_run(tx, row.id)
    spend = turns.spend(tx, row.id)
    reports = receipts.of_run(tx, row.id)
    with_them = attachments.listing(tx, row.id)
    changed, count = _changed(tx, row)
    return RunReport(
        changed=changed,
        changed_count=count,
        now=tx.now,
        run=row,
        custody=None if hold is None else hold.state,
        terms=agreed if isinstance(agreed, terms.Terms) else None,
        turns=tuple(views.turn_view(turn, with_them) for turn in turns.of_run(tx, row.id)),
        decisions=tuple(views.readable_view(one) for one in decisions.of_run(tx, row.id)),
        waiting=tuple(one.text for one in queued.waiting(tx, row.id)),
        spent=spend.money,
        guessed=spend.guessed,
        unknown_turns=spend.unknown,
        checks=tuple(_check(tx, one) for one in _checks(tx, row, agreed)),
        became=dispositions.of_run(tx, row.id),
        receipt=receipt_from_facts(msgspec.json.decode(reports[-1].body.encode())) if reports else None,
        continued_by=tuple(reviewing.continued_by(tx, row.id)),
        notes=tuple(
            one.content.decode("utf-8", "replace")
            for one in evidence.of_run(tx, row.id)
            if one.kind is EvidenceKind.HANDOFF
        ),
        events=tuple(_events(tx, row.id)) if transcript else (),
    )


def _changed(tx: Tx, row: runs.Run) -> tuple[tuple[ChangedFile, ...], int | None]:
    place = place_of(tx, row.id, spool=None)
    if isinstance(place, Refusal) or place.status is None or place.status.note.startswith("not read"):
        return (), None
    files = kept(place).files
    shown = tuple(
        ChangedFile(path=one.path, status=one.status, added=one.added, removed=one.removed) for one in files[:_FILES]
    )
    return shown, len(files)


def _checks(tx: Tx, row: runs.Run, agreed: object) -> tuple[CheckView, ...]:
    kept = checkresults.of_run(tx, row.id)
    return checkresults.as_agreed(agreed, kept, row.outcome) if isinstance(agreed, terms.Terms) else kept


def _check(tx: Tx, check: CheckView) -> CheckReport:
    kept = evidence.get(tx, check.evidence) if check.evidence is not None else None
    return CheckReport(check=check, output="" if kept is None else kept.content.decode("utf-8", "replace"))


def _events(tx: Tx, run: RunId) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = 0
    while page := events.page(tx, run, after=after, limit=_PAGE):
        found += [
            {"at": one.at, "turn": one.turn, "kind": one.kind, "body": msgspec.json.decode(one.body.encode())}
            for one in page
        ]
        after = page[-1].id
    return found


# ------------------------------------------------------------------------------------------------------------ in words


def print_run(found: RunReport) -> None:
    row = found.run
    line(f"run {row.id}  {one_line(row.title)}")
    line(f"  {_standing(found)}")
    if row.continues is not None:
        line(f"  goes on from run {row.continues}")
    for later in found.continued_by:
        line(f"  continued by run {later}")
    if found.terms is not None and row.reason != EndReason.IMPORTED:  # nobody agreed to any
        line(f"  terms: {one_line(wording.terms_sentence(found.terms, found.now), 1000)}")
    line(f"  tree: {one_line(wording.short_path(row.tree))}" + (f" on {one_line(row.branch)}" if row.branch else ""))
    line(f"  spent: {_spent(found)}")
    for turn in found.turns:
        _print_turn(turn, row.agent)
        _print_events([one for one in found.events if one["turn"] == turn.id])
    _print_events([one for one in found.events if one["turn"] is None])
    for text in found.waiting:
        line(f"waits in line: {one_line(text)}")
    for one in found.decisions:
        _print_decision(one)
    if found.changed_count:
        line(f"changed: {wording.plural(found.changed_count, 'file')}")
        rows = [(f"  {one.status}", counts(one.added, one.removed), one_line(one.path, 200)) for one in found.changed]
        table(rows, (Column(), Column(), Column(least=20, end=True)))
        if found.changed_count > len(found.changed):
            line(f"  and {found.changed_count - len(found.changed)} more; footplate diff {row.id} --stat lists them")
    for note in found.notes:
        line("its note when it finished:")
        for said in quoted(note):
            line(said)
    for check in found.checks:
        print_check(check)
    for became in found.became:
        line(f"its tree: {one_line(became_words(became), 400)}")
    if found.receipt is not None:
        line("stop report")
        for said in wording.receipt_lines(found.receipt):
            line(f"  {one_line(said, 400)}")


def print_check(told: CheckReport) -> None:
    """How it stands, and of one that did not pass how what it printed ends."""
    line(f"check {one_line(check_line(told.check), 1000)}")
    if told.check.state in NOT_PASSED:
        printed = told.output.partition("\n")[2].splitlines()
        if len(printed) > _LAST_LINES:
            lines = wording.plural(len(printed), "line")
            line(f"  the last {_LAST_LINES} of {lines}; --json and the review have them all")
        for said in literal_lines("\n".join(printed[-_LAST_LINES:])) if printed else ():
            line(f"  | {said}")


def _standing(found: RunReport) -> str:
    row = found.run
    if row.outcome is None:
        return "starting" if found.custody is None else wording.custody_state(found.custody)
    when = f" at {wording.moment(row.ended_at, found.now)}" if row.ended_at is not None else ""
    detail = f" ({one_line(row.detail)})" if row.detail else ""
    return f"{wording.outcome(row.outcome)}{when}: {wording.end_reason(row.reason or '')}{detail}"


def _spent(found: RunReport) -> str:
    play = ", play money" if found.run.billing == "practice" else ""
    unknown = f", and {wording.plural(found.unknown_turns, 'turn')} of unknown cost" if found.unknown_turns else ""
    limit = found.terms.budget if found.terms is not None else None
    of = f" of {wording.money(limit)}" if limit is not None else ""
    told = not found.unknown_turns and any(turn.cost_known for turn in found.turns)
    return f"{wording.money_so_far(found.spent, guess=found.guessed > 0, told=told)}{of}{unknown}{play}"


def _print_turn(turn: TurnView, agent: str) -> None:
    source = wording.turn_source(turn)
    by = f", {source}" if source else ""
    line(f"turn {turn.n}  {wording.clock(turn.recorded_at)}  {wording.turn_line(turn)}{by}  {wording.turn_money(turn)}")
    for said in literal_lines(turn.text):
        line(f"  > {said}")
    if turn.images:
        line(f"  {one_line(wording.attached(turn.images), 2000)}")
    if turn.failure is not None:
        line(f"  {wording.failure(turn.failure, agent)}")


def _print_events(kept: list[dict[str, Any]]) -> None:
    for one in kept:
        for said in lines_of(eventcodec.decode(one["kind"], msgspec.json.encode(one["body"]).decode())):
            line(f"  {said}")


def _print_decision(one: DecisionView) -> None:
    line(f"question {one.id} ({wording.decision_kind(one.kind)})  {one_line(one.title)}  {wording.decision_state(one)}")
    for said in literal_lines(one.subject):
        line(f"    {said}")
    for number, question in enumerate(one.questions, 1):
        line(f"    {number} {one_line(question.text, 1000)}")
        for place, choice in enumerate(question.choices, 1):
            line(f"        {place} {one_line(choice.label)}")
    if one.answer:
        line(f"    {one_line(wording.answered(one))}")
