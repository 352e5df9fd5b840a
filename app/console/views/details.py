"""The details of one session: turn ledger, decisions, processes, what a stop would end, terms, stop report. Pure.

Here, and in doctor, the words of the code may be shown (console.md, *Words*).
"""

from app.console.views.bars import attempt_words
from app.console.views.ending import check_rows, report_lines
from app.console.views.ink import EMPTY, Line, Span, cells, cut, indent, literal, one_line, sides, wrap
from app.console.views.standing import ended, waiting
from app.console.views.transcript_words import outcome_words, title_of_subject
from app.wording import (
    age,
    agent_title,
    by_rule,
    clock,
    clock_seconds,
    custody_state,
    decision_kind,
    end_reason,
    failure,
    memory,
    mode_words,
    money,
    plural,
    rules_used,
    short_command,
    short_path,
    terms_sentence,
    turn_line,
    turn_money,
    turn_source,
    work_time,
)
from app.wording_checks import checks_agreed
from app.wording_review import billing
from coordinator.api import DecisionView, SessionView
from store.vocab import Millis


def details_lines(session: SessionView, now: Millis, width: int, home: str = "") -> tuple[Line, ...]:
    report = list(report_lines(session, width - 2))
    blocks: list[tuple[str, list[Line]]] = [
        # Of one that has ended, it is what was asked for with the key.
        ("STOP REPORT", report if session.receipt is not None else []),
        ("CHECKS", _checks(session, width)),
        ("SESSION", _about(session, now, width, home)),
        ("CHANGED", _changed(session, width)),
        ("TURNS", _turns(session, width)),
        ("DECISIONS", _decisions(session, width)),
        ("PLAN", _plan(session, width)),
        ("PROCESSES", _processes(session, width)),
        ("A STOP WOULD END", _would_end(session, width)),
        ("TERMS", _terms(session, now, width)),
        ("STOP REPORT", report if session.receipt is None else []),
    ]
    lines: list[Line] = []
    for name, rows in blocks:
        if not rows:
            continue
        if lines:
            lines.append(EMPTY)
        heading: Line = (Span(name, "grey strong"),)
        if name == "DECISIONS":
            heading = sides(heading, (Span(DECISION_COLUMNS, "grey"),), width)
        if name == "TURNS" and session.turns:
            heading = sides(heading, (Span(_turn_columns(width, "tokens in", "out", "took", "USD"), "grey"),), width)
        lines.append(heading)
        lines += [indent(row, 2) for row in rows]
    return tuple(lines)


def _pairs(pairs: list[tuple[str, str]], width: int) -> list[Line]:
    rows: list[Line] = []
    for name, value in pairs:
        if not value:
            continue
        for number, piece in enumerate(wrap(value, max(width - 20, 20))):
            rows.append((Span(f"{name if number == 0 else '':<18}", "grey"), Span(piece, "text")))
    return rows


def _about(session: SessionView, now: Millis, width: int, home: str) -> list[Line]:
    tree = short_path(session.tree, home)
    before = session.terms.continues if session.terms is not None else None
    return _pairs(
        [
            ("title", one_line(session.title)),
            ("agent", f"{one_line(agent_title(session.agent))}, {billing(session.billing)}"),
            ("driver", one_line(session.driver)),
            ("model", one_line(session.model or "")),
            ("mode", f"{one_line(session.mode)}, {mode_words(session.mode, session.agent)}" if session.mode else ""),
            ("tree", f"{one_line(tree)}{', in place' if session.in_place else ''}"),
            ("branch", f"{one_line(session.branch)} from {one_line(session.head[:10])}"),
            ("conversation", one_line(session.native_id or "not known yet")),
            ("task", f"{attempt_words(session).removeprefix('task ')}: Q shows it" if session.task is not None else ""),
            ("goes on from", f"run {before}" if before is not None else ""),
            ("began", f"{clock(session.created_at)}, by {one_line(session.operator)}"),
            ("state", custody_state(session.custody) if session.custody is not None else "never held"),
            ("held by", one_line(session.owner) or ("" if ended(session) else "this console")),
            ("end", f"{end_reason(session.reason)} {one_line(session.detail)}".strip() if session.reason else ""),
            ("its note", one_line(session.handoff)),
            (
                "last sign",
                f"{age(now - session.last_event_at)} ago" if session.last_event_at and not ended(session) else "",
            ),
        ],
        width,
    )


def _turns(session: SessionView, width: int) -> list[Line]:
    rows: list[Line] = []
    for turn in session.turns:
        took = age(turn.duration_ms) if turn.duration_ms is not None else ""
        given = f"{turn.input_tokens:,}" if turn.input_tokens is not None else ""
        made = f"{turn.output_tokens:,}" if turn.output_tokens is not None else ""
        right = _turn_columns(width, given, made, took, turn_money(turn))
        source = turn_source(turn)
        left = (
            Span(f"{turn.n:>3} ", "grey"),
            Span(f"{clock(turn.recorded_at)} ", "grey"),
            Span(f"{turn_line(turn)}  ", "text"),
            Span(f"{source}  " if source else "", "grey"),
            Span(one_line(turn.text), "text"),
        )
        rows.append(sides(left, (Span(right, "grey"),), width - 2))
        if turn.failure is not None:
            rows += [
                indent((Span(piece, "red"),), 4) for piece in wrap(failure(turn.failure, session.agent), width - 8)
            ]
            if turn.failure_text:
                rows.append(indent((Span(cut(one_line(turn.failure_text), width - 8), "grey"),), 4))
    return rows or [(Span("none yet", "grey"),)]


def _turn_columns(width: int, given: str, made: str, took: str, cost: str) -> str:
    tokens = f"{given:>10} {made:>8} " if width >= 72 else ""
    return f"{tokens}{took:>6} {cost:>6}"


def _decisions(session: SessionView, width: int) -> list[Line]:
    live = waiting(session)
    return [decision_row(one, session.tree, width - 2, waits=one in live) for one in session.decisions]


DECISION_COLUMNS = "answer, by whom"
"""What stands at the right of a decision's row."""
_ROOM_FOR_WHEN = 90
"""Cells from which on a decision's row tells when it was answered, beside when it was asked."""


def decision_row(one: DecisionView, tree: str, width: int, *, waits: bool, lead: Line = ()) -> Line:
    """What was asked comes first and has the room; who answered is last, and short."""
    state = "waits for you" if waits else outcome_words(one)
    # A rule is more than a name: which one it was is what is looked for.
    most = max(width // (3 if by_rule(one) else 7), 8)
    who = f" {cut(one_line(one.answered_by), most)}" if one.answered_by and not waits else ""
    if who and width >= _ROOM_FOR_WHEN and one.answered_at is not None:
        who += f" {clock_seconds(one.answered_at)}"
    what = title_of_subject(one.subject, tree) or one_line(one.title)
    lead = lead or (Span(f"{one.id:>3} {clock(one.asked_at)} {decision_kind(one.kind)}  ", "grey"),)
    # An answer may be a sentence of the operator's: the subject keeps what it needs of half the room.
    room = max(width - cells(lead) - cells((Span(who),)) - 3, 20)
    state = cut(state, max(room - cells((Span(what),)), room // 2))
    return sides((*lead, Span(what, "text")), (Span(f"  {state}", "text"), Span(who, "grey")), width)


def _checks(session: SessionView, width: int) -> list[Line]:
    rows = list(check_rows(session, width - 2))
    if any(one.evidence is not None for one in session.checks):
        rows.append((Span("what they printed: v, the review, has it", "grey"),))
    return rows


def _plan(session: SessionView, width: int) -> list[Line]:
    marks = {"done": "done", "active": "now", "pending": ""}
    return [
        (Span(f"{marks.get(state, cut(one_line(state), 5)):<6}", "grey"), Span(cut(one_line(text), width - 10), "text"))
        for state, text in session.plan
    ]


def _processes(session: SessionView, width: int) -> list[Line]:
    if ended(session):
        return []
    rows: list[Line] = []
    total = 0
    for process in session.processes:
        total += process.rss_kb
        own = "own session " if process.own_session else ""
        right = f"{own}{age(int(process.age_s * 1000)):>6} {memory(process.rss_kb):>6}"
        rows.append(
            sides(
                (Span(f"{process.pid:>8}  ", "grey"), Span(short_command(one_line(process.name)), "text")),
                (Span(right, "grey"),),
                width - 2,
            )
        )
    if rows:
        rows.append(sides((), (Span(f"together {memory(total):>6}", "grey"),), width - 2))
    return rows or [(Span("asking its keeper process …", "grey"),)]


def _would_end(session: SessionView, width: int) -> list[Line]:
    if ended(session):
        return []
    parts = (
        [plural(len(session.processes), "process", "processes")]
        if session.processes
        else ["its agent and all that it started"]
    )
    running = [task for task in session.background if task.state == "running"]
    if running:
        parts.append(
            f"{plural(len(running), 'background task')}: {', '.join(one_line(task.title) for task in running)}"
        )
    if session.in_flight is not None:
        parts.append("the turn that runs")
    if session.queued:
        parts.append(f"{plural(len(session.queued), 'message')} in the line, kept unsent")
    return [(Span(piece, "text"),) for part in parts for piece in wrap(part, width - 4)]


def _changed(session: SessionView, width: int) -> list[Line]:
    if not session.changed:
        told = "no files changed" if ended(session) else "no files so far"
        return [(Span(told if session.changes_known else "not looked at here: v, the review, has it", "grey"),)]
    rows: list[Line] = []
    for file in session.changed:
        counts = (
            f"+{file.added or 0} −{file.removed or 0}" if file.added is not None or file.removed is not None else ""
        )
        rows.append(
            sides(
                (Span(f"{one_line(file.status)[:1]:<1} ", "grey"), Span(one_line(file.path), "text")),
                (Span(counts, "grey"),),
                width - 2,
            )
        )
    return rows


def _terms(session: SessionView, now: Millis, width: int) -> list[Line]:
    terms = session.terms
    if terms is None:
        return []
    rows: list[Line] = [(Span(piece, "text"),) for piece in wrap(literal(terms_sentence(terms, now)), width - 4)]
    rows += _pairs(
        [
            ("program", f"{one_line(terms.program)} {one_line(terms.agent_version)}"),
            ("at its budget", "it stands still and asks you" if terms.at_budget == "hold" else "it is ended"),
            ("money", f"{money(terms.budget)} USD" if terms.budget is not None else "no limit"),
            ("working time", work_time(terms.working_seconds * 1000) if terms.working_seconds else "no limit"),
            ("if you are away", f"it pauses {age(terms.attendance_seconds * 1000)} after your last key"),
            ("afterwards", checks_agreed(terms)),
            *(("rule", one_line(used)) for used in rules_used(terms.rules, session.decisions)),
        ],
        width,
    )
    return rows
