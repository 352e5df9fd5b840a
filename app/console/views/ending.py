"""A hold that is ending, step by step, and what is said of one that has ended. Pure."""

from app.console.views.glyphs import Glyphs
from app.console.views.ink import Line, Span, cells, cut, cut_line, flow, indent, one_line, sides, wrap
from app.wording import (
    end_reason,
    how_ended,
    outcome,
    plural,
    receipt_lines,
    seconds,
    short_command,
    stop_step,
    where_it_stood,
)
from app.wording_checks import check_state, checks_sentence
from coordinator.api import EndingView, SessionView
from coordinator.checktypes import NOT_PASSED, CheckState
from store.vocab import Millis, RunOutcome

LEFT_SHOWN = 6


def ending_lines(
    session: SessionView, ending: EndingView, now: Millis, width: int, height: int, glyphs: Glyphs
) -> tuple[Line, ...]:
    passed = max(now - ending.since, 0)
    head = sides(
        (
            Span(f"{glyphs.ended} ending {session.run}", "red strong"),
            Span(f"  {one_line(end_reason(ending.reason)).split(':')[0]}", "grey"),
        ),
        (Span(f"{passed / 1000:.1f} s", "grey"),),
        width,
    )
    rows: list[Line] = [head]
    name_width = 32
    for step, ms in ending.steps:
        row: Line = (
            Span(f"{glyphs.done} ", "green"),
            Span(cut(stop_step(step), name_width).ljust(name_width), "text"),
            Span(seconds(ms), "grey"),
        )
        rows.append(indent(cut_line(row, width - 2), 2))
    if ending.agent_exit is not None:
        code = one_line(ending.agent_exit)
        how = cut(code if code.startswith("SIG") else f"exit {code}", max(width - 18, 1))
        rows.append(indent((Span(f"{glyphs.done} ", "green"), Span(f"agent ended ({how})", "text")), 2))
    if ending.left:
        count = len(ending.left)
        words = f"{plural(count, 'process', 'processes')} left"
        again: Line = (Span("killing", "red"),) if ending.killing else (Span(r"^\ again: kill now", "amber"),)
        rows.append(indent(sides((Span(f"{glyphs.working} ", "red"), Span(words, "text")), again, width - 2), 2))
        for process in ending.left[:LEFT_SHOWN]:
            notes = where_it_stood(process)
            left: Line = (Span(f"{process.pid}  ", "grey"), Span(short_command(one_line(process.name)), "text"))
            rows.append(indent(sides(left, (Span(notes, "grey"),) if notes else (), width - 7), 7))
        if count > LEFT_SHOWN:
            rows.append(indent((Span(f"and {count - LEFT_SHOWN} more, l details", "grey"),), 7))
    elif not ending.killing:
        rows.append(indent(sides((), (Span(r"^\ again: kill now", "amber"),), width - 2), 2))
    if len(rows) > height:
        # The newest steps and what is left matter more than the first ones.
        rows = [rows[0], *rows[len(rows) - height + 1 :]]
    return tuple(rows)


def ended_lines(
    session: SessionView, width: int, height: int, glyphs: Glyphs, *, letters: bool = True
) -> tuple[Line, ...]:
    """The end in one block: ``end_lines``, and where to go from here. ``letters``: they work just now; else Esc comes
    first, for each of them."""
    keys: list[Line] = [] if letters else [(Span("Esc", "blue strong"), Span(", then one of:", "grey"))]
    keys += [
        (Span(f"{key} ", "blue strong"), Span(name, "grey"))
        for key, name in _ONWARD
        if key != "B" or not session.in_place
    ]
    # What has no room in two rows is left out whole; the hints have the rest.
    onward = [indent(row, 2) for row in flow(keys, width - 2, gap=2)[:2]]
    rows = end_lines(session, width, glyphs, changed_files(session))[: max(height - len(onward), 1)]
    return (*rows, *onward)


_ONWARD = (
    ("c", "continue"),
    ("d", "what changed"),
    ("B", "keep or merge"),
    ("l", "stop report"),
    ("s", "new session"),
    ("v", "all sessions"),
)
_MOST_CHECKS = 4


def changed_files(session: SessionView) -> int | None:
    """How many files it changed, as this console saw its tree; None where it did not look."""
    return len(session.changed) if session.changed or session.changes_known else None


def end_lines(session: SessionView, width: int, glyphs: Glyphs, changed: int | None) -> tuple[Line, ...]:
    """How it ended, the stop report's headline, what is kept, and what its checks said. ``changed``: files; None where
    that is not known."""
    finished = session.outcome is RunOutcome.FINISHED
    words = end_reason(session.reason) if session.reason else outcome(session.outcome) if session.outcome else "ended"
    glyph = Span(f"{glyphs.done if finished else glyphs.ended} ", "green" if finished else "red")
    rows: list[Line] = []
    for number, row in enumerate(wrap(words, width - 2)):
        rows.append((glyph, Span(row, "strong bright")) if number == 0 else indent((Span(row, "text"),), 2))
    told: list[str] = []
    if session.receipt is not None:
        told.append(receipt_lines(session.receipt)[0])
    if session.detail:
        told.append(one_line(session.detail))
    if changed is not None:
        told.append(f"{plural(changed, 'file')} changed." if changed else "No files changed.")
    danger = session.receipt is not None and bool(session.receipt.remaining)
    for text in told:
        red = danger and text is told[0]
        rows += [indent((Span(row, "red" if red else "text"),), 2) for row in wrap(text, width - 2)]
    return (*rows, *_checked(session, width, glyphs))


def _checked(session: SessionView, width: int, glyphs: Glyphs) -> list[Line]:
    """Those that are not passed, each on a row of its own, and what they all come to."""
    not_yet = [one for one in session.checks if one.state is not CheckState.PASSED]
    rows: list[Line] = []
    for one in sorted(not_yet, key=lambda one: one.state not in NOT_PASSED)[:_MOST_CHECKS]:
        failed = one.state in NOT_PASSED
        mark, ink = (glyphs.ended, "red") if failed else (glyphs.idle, "grey")
        state = cut(check_state(one), max(8, width // 2))
        room = max(8, width - cells(state) - 6)
        row = (Span(f"{mark} ", ink), Span(cut(one_line(one.command), room), "text"), Span(f"  {state}", ink))
        rows.append(indent(row, 2))
    said = checks_sentence(session.checks, session.run)
    return [*rows, *(indent((Span(row, "text"),), 2) for row in wrap(said, width - 2) if said)]


def check_rows(session: SessionView, width: int) -> tuple[Line, ...]:
    """One for each check: what was run, and how it stands."""
    rows: list[Line] = []
    for one in session.checks:
        ink = "green" if one.state is CheckState.PASSED else "red" if one.state in NOT_PASSED else "grey"
        rows.append(sides((Span(one_line(one.command), "text"),), (Span(f"  {check_state(one)}", ink),), width))
    return tuple(rows)


def report_lines(session: SessionView, width: int) -> tuple[Line, ...]:
    """The whole stop report, for details."""
    if session.receipt is None:
        return ((Span("No stop report: the run has not ended, or nothing was held.", "grey"),),)
    receipt = session.receipt
    rows: list[Line] = [(Span(row, "strong bright"),) for row in wrap(one_line(receipt_lines(receipt)[0]), width)]
    rows += [
        cut_line((Span(cut(stop_step(step), 31).ljust(32), "text"), Span(seconds(ms), "grey")), width)
        for step, ms in receipt.steps
    ]
    fates = [(one, how_ended(one), "grey") for one in receipt.ended]
    fates += [(one, "still there", "red") for one in receipt.remaining]
    fates += [(one, "left alone, as agents.toml says", "grey") for one in receipt.spared]
    told = [(one, f"{fate}{', ' if (notes := where_it_stood(one)) else ''}{notes}", ink) for one, fate, ink in fates]
    if not told:
        return tuple(rows)
    # One column for all of them: as wide as the longest, as long as the names keep half the room; longer ones go on
    # in a row of their own.
    column = min(max(cells((Span(fate),)) for _, fate, _ in told), (width - 9) // 2)
    room = max(width - 9 - column - 2, 8)
    rows.append(cut_line((Span(f"{'process':>7}  {'what it was':<{room}}  how it ended", "grey"),), width))
    for process, fate, ink in told:
        name = cut(short_command(one_line(process.name)), room)
        left: Line = (Span(f"{process.pid:>7}  ", "grey"), Span(name, "text"))
        for row in wrap(fate, column):
            rows.append((*left, Span(" " * (9 + room + 2 - cells(left))), Span(row, ink)))
            left = ()
    return tuple(rows)
