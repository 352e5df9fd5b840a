"""The facts of one run: terms and what was added to them, who decided what and when, how it ended, what changed. Pure.

Some rows lead somewhere: a decision to its place in the conversation, a diff to its text, a run to its page.
"""

import time
from collections.abc import Iterable

from msgspec import Struct

from app.console.views.details import DECISION_COLUMNS, decision_row
from app.console.views.ending import check_rows, report_lines
from app.console.views.ink import EMPTY, Line, Span, cut_line, indent, one_line, sides, wrap
from app.console.views.standing import spent_of
from app.wording import (
    age,
    agent_title,
    clock_seconds,
    custody_state,
    decision_kind,
    end_reason,
    outcome,
    plural,
    rules_used,
    short_path,
    size_of,
    terms_sentence,
    work_time,
)
from app.wording_checks import checks_agreed
from app.wording_review import amendment, billing, piece_kind, stop_result
from app.wording_trees import became_words
from coordinator.api import DecisionView
from coordinator.review.types import EvidenceRow, RunPage
from store.vocab import DecisionId, EvidenceKind, Millis, RunId

_OF_THE_TREE = frozenset({EvidenceKind.STATUS, EvidenceKind.DIFF, EvidenceKind.FILES, EvidenceKind.GIT_CONFIG})
"""Kinds of which the newest tells how it stands."""


class Fact(Struct, frozen=True):
    """One row, and where it leads."""

    line: Line
    decision: DecisionId | None = None
    piece: EvidenceRow | None = None
    run: RunId | None = None

    @property
    def leads(self) -> bool:
        return self.decision is not None or self.piece is not None or self.run is not None


def at_time(ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(ms / 1000))


def facts(page: RunPage, width: int, home: str) -> tuple[Fact, ...]:
    room = max(width - 2, 10)
    blocks: list[tuple[str, list[Fact]]] = [
        ("CANNOT BE READ ANY MORE", [Fact(row) for one in page.problems for row in _wrapped(one, room, "red")]),
        ("RUN", _about(page, room, home)),
        ("TERMS", _terms(page, room)),
        ("DECISIONS", _decisions(page, room)),
        ("STOPS", _stops(page, room)),
        ("STOP REPORT", [Fact(row) for row in _report(page, room)]),
        ("CHECKS", _checks(page, room)),
        ("WHAT CHANGED", _changed(page, room)),
        ("KEPT BEFORE THAT", [_piece(one, room) for one in _older(page)]),
        ("ITS TREE", [Fact(row) for one in page.became for row in _wrapped(became_words(one), room)]),
        ("HOLDS", _holds(page, room, home)),
    ]
    out: list[Fact] = []
    for name, rows in blocks:
        if not rows:
            continue
        if out:
            out.append(Fact(EMPTY))
        right: Line = (Span(DECISION_COLUMNS, "grey"),) if name == "DECISIONS" else ()
        out.append(Fact(sides((Span(name, "grey strong"),), right, width)))
        out += [Fact(indent(one.line, 2), one.decision, one.piece, one.run) for one in rows]
    return tuple(out)


def _wrapped(text: str, width: int, ink: str = "text") -> list[Line]:
    return [(Span(piece, ink),) for piece in wrap(one_line(text), width)]


def _pair(name: str, value: str, width: int) -> list[Fact]:
    if not value:
        return []
    pieces = wrap(one_line(value), max(width - 14, 10))
    return [
        Fact((Span(f"{name if at == 0 else '':<14}", "grey"), Span(piece, "text"))) for at, piece in enumerate(pieces)
    ]


def _about(page: RunPage, width: int, home: str) -> list[Fact]:
    run = page.session
    end = end_reason(run.reason) if run.reason else outcome(run.outcome) if run.outcome else "it has not ended"
    if page.imported:
        end = "imported: this run was not held by Footplate, its costs are estimates"
    tree = short_path(run.tree, home)
    rows: list[Fact] = []
    for name, value in (
        ("agent", f"{agent_title(run.agent)}, {billing(run.billing)}"),
        ("model", run.model or ""),
        ("repository", short_path(run.repository, home)),
        ("tree", f"{tree}, in place" if run.in_place else tree),
        ("branch", f"{run.branch} from {run.head[:10]}" if run.head else run.branch),
        ("conversation", run.native_id or ""),
        ("began", f"{at_time(run.created_at)}, by {run.operator}"),
        ("ended", at_time(run.ended_at) if run.ended_at is not None else ""),
        ("took", _took(page)),
        ("how", f"{end} {run.detail}".strip()),
        ("its note", run.handoff),
        ("cost", f"{spent_of(run)} USD, {plural(run.budget.unknown_turns, 'turn')} of unknown cost"
         if run.budget.unknown_turns else f"{spent_of(run)} USD"),
        ("imported from", short_path(page.imported_from, home)),
        ("held by", run.owner),
    ):  # fmt: skip
        rows += _pair(name, value, width)
    others = [(page.continues, "goes on from")] if page.continues is not None else []
    others += [(one, "continued by") for one in page.continued_by]
    rows += [Fact((Span(f"{words:<14}", "grey"), Span(f"run {one}", "blue")), run=one) for one, words in others]
    return rows


def _took(page: RunPage) -> str:
    """The three times of a run, and what lies between them."""
    run = page.session
    if run.ended_at is None or page.imported:
        return ""
    turns = sum(turn.duration_ms or 0 for turn in run.turns)
    return (
        f"{age(run.ended_at - run.created_at)} from its beginning to its end; its turns {age(turns)}, with the time in "
        f"which they waited for you; without that it worked {work_time(run.budget.working_ms)}"
    )


def _terms(page: RunPage, width: int) -> list[Fact]:
    signed, terms = page.authorization, page.session.terms
    rows: list[Fact] = []
    if page.imported:
        return [Fact(row) for row in _wrapped("none: nobody agreed to anything here", width)]
    if signed.problem:
        rows += [Fact(row) for row in _wrapped(f"they cannot be read any more: {signed.problem}", width, "red")]
    elif terms is not None:
        rows += [Fact(row) for row in _wrapped(terms_sentence(terms, page.session.created_at), width)]
        for used in rules_used(terms.rules, page.session.decisions):
            rows += _pair("rule", used, width)
    if terms is not None:
        rows += _pair("afterwards", checks_agreed(terms), width)
    rows += _pair("agreed", f"{at_time(signed.signed_at)}, by {signed.operator}", width)
    rows += _pair("until", at_time(signed.expires_at), width)
    for one in page.amendments:
        rows += _pair("extended", f"{at_time(one.at)}, by {one.operator}: {amendment(one)}", width)
    if signed.closed_at is not None:
        rows += _pair("over", f"{at_time(signed.closed_at)}: {end_reason(signed.close_reason or '')}", width)
    return rows


def _decisions(page: RunPage, width: int) -> list[Fact]:
    run = page.session
    numbers = {turn.id: turn.n for turn in run.turns}
    rows: list[Fact] = []
    for one in sorted(run.decisions, key=lambda one: (one.asked_at, one.id)):
        n = numbers.get(one.turn) if one.turn is not None else None
        in_turn = f"turn {n}  " if n is not None else ""
        at = f"{one.id:>5} {clock_seconds(one.asked_at)} {in_turn}{decision_kind(one.kind)}  "
        row = decision_row(one, run.tree, width, waits=False, lead=(Span(at, "grey"),))
        rows.append(Fact(row, decision=one.id))
        if one.note:
            rows += [Fact(indent(row, 6), decision=one.id) for row in _wrapped(f"note: {one.note}", width - 6, "grey")]
    return rows


def _stops(page: RunPage, width: int) -> list[Fact]:
    rows: list[Fact] = []
    for one in page.stops:
        said = f"{at_time(one.asked_at)}, by {one.operator}: {end_reason(one.reason)}"
        if one.settled_at is not None:
            said += f"; done after {(one.settled_at - one.asked_at) / 1000:.1f} s"
        if one.result is not None:
            said += f", {stop_result(one.result)}"
        rows += [Fact(row) for row in _wrapped(said, width)]
    return rows


def _report(page: RunPage, width: int) -> Iterable[Line]:
    return () if page.session.receipt is None else report_lines(page.session, width)


def _checks(page: RunPage, width: int) -> list[Fact]:
    """Each leads to what it printed."""
    pieces = {one.id: one for one in page.evidence}
    rows = check_rows(page.session, width)
    return [
        Fact(row, piece=pieces.get(one.evidence) if one.evidence is not None else None)
        for one, row in zip(page.session.checks, rows, strict=True)
    ]


def _changed(page: RunPage, width: int) -> list[Fact]:
    rows: list[Fact] = []
    for file in page.session.changed:
        counts = "" if file.added is None and file.removed is None else f"+{file.added or 0} −{file.removed or 0}"
        left: Line = (Span(f"{one_line(file.status)[:1]:<1} ", "grey"), Span(one_line(file.path), "text"))
        rows.append(Fact(sides(left, (Span(counts, "grey"),), width)))
    older = {one.id for one in _older(page)}
    shown = older | {one.evidence for one in page.session.checks}
    return rows + [_piece(one, width) for one in page.evidence if one.id not in shown]


def files_kept(page: RunPage) -> int | None:
    """How many files the run had changed when its tree was last looked at; None where that was not read."""
    newest = next((one for one in reversed(page.evidence) if one.kind is EvidenceKind.STATUS), None)
    if newest is None:
        return None
    count = newest.note.partition(" ")[0]
    return int(count) if count.isascii() and count.isdigit() else None


def _piece(one: EvidenceRow, width: int) -> Fact:
    left: Line = (Span(f"{piece_kind(one.kind)}  ", "blue"), Span(one_line(one.note), "text"))
    right: Line = (Span(f"{size_of(one.size)}  {at_time(one.at)}", "grey"),)
    return Fact(sides(left, right, width), piece=one)


def _older(page: RunPage) -> list[EvidenceRow]:
    """How the tree stood before, and what checks said before they were run again."""
    newest = {one.kind: one.id for one in page.evidence}
    told = {one.evidence for one in page.session.checks}
    return [
        one
        for one in page.evidence
        if (one.kind in _OF_THE_TREE and one.id != newest[one.kind])
        or (one.kind is EvidenceKind.CHECK and one.id not in told)
    ]


def _holds(page: RunPage, width: int, home: str) -> list[Fact]:
    rows: list[Fact] = []
    for one in page.custody:
        left: Line = (
            Span(f"{at_time(one.created_at)}  ", "grey"),
            Span(custody_state(one.state), "text"),
            Span(f"  {one_line(short_path(one.tree, home))}", "grey"),
        )
        starts = f"started {plural(one.generation, 'time')}"
        rows.append(
            Fact(cut_line(sides(left, (Span(f"{starts}, process {one.agent_pid or '–'}", "grey"),), width), width))
        )
    if page.custody:
        sent = plural(page.control_writes, "message")
        told = f"{plural(page.events, 'event')}; {sent} to the agent that were no turns: greeting, answers, interrupts"
        rows += [Fact(row) for row in _wrapped(told, width, "grey")]
    return rows


def row_of_decision(rows: tuple[Fact, ...], wanted: DecisionId) -> int | None:
    return next((at for at, one in enumerate(rows) if one.decision == wanted), None)


def decision_of_request(decisions: Iterable[DecisionView], request: str, at: Millis) -> DecisionView | None:
    """What became of a question that stands in the conversation; an agent may use a request's number again."""
    same = [one for one in decisions if one.request == request]
    return min(same, key=lambda one: abs(one.asked_at - at)) if same else None
