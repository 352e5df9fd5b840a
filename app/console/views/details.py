"""The details of one session: turn ledger, decisions, processes, what a stop would end, terms, stop report. Pure.

Here, and in doctor, the words of the code may be shown (console.md, *Words*).
"""

from app.console.views.ending import report_lines
from app.console.views.ink import EMPTY, Line, Span, cut, indent, literal, one_line, sides, wrap
from app.console.views.standing import ended, waiting
from app.console.views.transcript_words import decision_outcome, title_of_subject
from app.wording import (
    age,
    clock,
    decision_kind,
    end_reason,
    failure,
    memory,
    money,
    plural,
    short_command,
    short_path,
    terms_sentence,
    turn_line,
    turn_money,
    turn_source,
    work_time,
)
from coordinator.api import SessionView
from store.vocab import Millis


def details_lines(session: SessionView, now: Millis, width: int, home: str = "") -> tuple[Line, ...]:
    blocks: list[tuple[str, list[Line]]] = [
        ("SESSION", _about(session, now, width, home)),
        ("TURNS", _turns(session, width)),
        ("DECISIONS", _decisions(session, width)),
        ("PLAN", _plan(session, width)),
        ("PROCESSES", _processes(session, width)),
        ("A STOP WOULD END", _would_end(session, width)),
        ("CHANGED", _changed(session, width)),
        ("TERMS", _terms(session, now, width)),
        ("STOP REPORT", list(report_lines(session, width - 2))),
    ]
    lines: list[Line] = []
    for name, rows in blocks:
        if not rows:
            continue
        if lines:
            lines.append(EMPTY)
        lines.append((Span(name, "grey strong"),))
        lines += [indent(row, 2) for row in rows]
    return tuple(lines)


def _pairs(pairs: list[tuple[str, str]], width: int) -> list[Line]:
    rows: list[Line] = []
    for name, value in pairs:
        if not value:
            continue
        for number, piece in enumerate(wrap(value, max(width - 16, 20))):
            rows.append((Span(f"{name if number == 0 else '':<14}", "grey"), Span(piece, "text")))
    return rows


def _about(session: SessionView, now: Millis, width: int, home: str) -> list[Line]:
    tree = short_path(session.tree, home)
    return _pairs(
        [
            ("title", one_line(session.title)),
            ("agent", f"{one_line(session.agent)} ({one_line(session.driver)}), {session.billing}"),
            ("model", one_line(session.model or "")),
            ("mode", one_line(session.mode or "")),
            ("tree", f"{one_line(tree)}{', in place' if session.in_place else ''}"),
            ("branch", f"{one_line(session.branch)} from {one_line(session.head[:10])}"),
            ("conversation", one_line(session.native_id or "not known yet")),
            ("began", f"{clock(session.created_at)}, by {one_line(session.operator)}"),
            ("hold", str(session.custody) if session.custody is not None else "none"),
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
        tokens = ""
        if turn.input_tokens is not None or turn.output_tokens is not None:
            tokens = f"{turn.input_tokens or 0:,} in {turn.output_tokens or 0:,} out"
        right = f"{tokens:>22} {took:>6} {turn_money(turn):>6}" if width >= 76 else f"{took:>6} {turn_money(turn):>6}"
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
            rows += [indent((Span(piece, "red"),), 4) for piece in wrap(failure(turn.failure), width - 8)]
            if turn.failure_text:
                rows.append(indent((Span(cut(one_line(turn.failure_text), width - 8), "grey"),), 4))
    return rows or [(Span("none yet", "grey"),)]


def _decisions(session: SessionView, width: int) -> list[Line]:
    rows: list[Line] = []
    for one in session.decisions:
        state = "waits for you" if one in waiting(session) else decision_outcome(one, None)
        left = (
            Span(f"{one.id:>3} ", "grey"),
            Span(f"{clock(one.asked_at)} {decision_kind(one.kind)}  ", "grey"),
            Span(title_of_subject(one.subject, session.tree) or one_line(one.title), "text"),
        )
        rows.append(sides(left, (Span(f"  {state}", "text"),), width - 2))
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
            ("at its budget", "it holds and asks" if terms.at_budget == "hold" else "it is ended"),
            ("money", money(terms.budget) if terms.budget is not None else "no limit"),
            ("working time", work_time(terms.working_seconds * 1000) if terms.working_seconds else "no limit"),
            ("may be away", age(terms.attendance_seconds * 1000)),
            ("rules", "; ".join(one_line(rule) for rule in terms.rules)),
        ],
        width,
    )
    return rows
