"""The right panel: plan, background, what changed, context, money, turns, time. Pure."""

from app.console.views.glyphs import Glyphs
from app.console.views.ink import EMPTY, Line, Span, cells, cut, cut_path, one_line, sides
from app.console.views.standing import ended, spent_of
from app.wording import coarse_age, moment, money, plural, turn_money, turn_source, work_time
from coordinator.api import SessionView
from store.vocab import Millis

PLAN_ROWS = 9
CHANGED_ROWS = 8
BACKGROUND_ROWS = 5
LAST_TURNS = 4


def gauge(share: float, width: int, glyphs: Glyphs) -> Line:
    """Rounded so that something is something and not all is not all."""
    share = min(max(share, 0.0), 1.0)
    full = round(share * width)
    if share > 0:
        full = max(full, 1)
    if share < 1:
        full = min(full, width - 1)
    ink = "red" if share >= 1 else "amber" if share >= 0.8 else "text"
    return (Span(glyphs.full * full, ink), Span(glyphs.empty * (width - full), "grey"))


def _heading(name: str, told: str, width: int, told_ink: str = "text") -> Line:
    return sides((Span(name, "grey strong"),), (Span(told, told_ink),) if told else (), width)


def panel_lines(session: SessionView, now: Millis, width: int, glyphs: Glyphs) -> tuple[Line, ...]:
    blocks = [
        _plan(session, width, glyphs),
        _background(session, width, glyphs),
        _changed(session, width, glyphs),
        _limits(session, now, width, glyphs),
        _last_turns(session, width),
    ]
    lines: list[Line] = []
    for block in blocks:
        if block:
            if lines:
                lines.append(EMPTY)
            lines.extend(block)
    return tuple(lines)


def _plan(session: SessionView, width: int, glyphs: Glyphs) -> list[Line]:
    if not session.plan:
        return []
    done = sum(1 for state, _ in session.plan if state == "done")
    rows = [_heading("PLAN", f"{done} of {len(session.plan)}", width)]
    # The part being worked at stays in sight when the plan is long.
    active = next((at for at, (state, _) in enumerate(session.plan) if state != "done"), len(session.plan))
    first = max(0, min(active - 3, len(session.plan) - PLAN_ROWS))
    shown = session.plan[first : first + PLAN_ROWS]
    for state, text in shown:
        glyph, ink, name = {
            "done": (glyphs.done, "grey", "grey"),
            "active": (glyphs.working, "green", "bright"),
        }.get(state, (glyphs.idle, "grey", "text"))
        rows.append((Span(f"{glyph} ", ink), Span(cut(one_line(text), width - 2), name)))
    hidden = len(session.plan) - len(shown)
    if hidden:
        rows.append((Span(f"  {hidden} more, l details", "grey"),))
    return rows


def _background(session: SessionView, width: int, glyphs: Glyphs) -> list[Line]:
    if not session.background:
        return []
    running = sum(1 for task in session.background if task.state == "running")
    rows = [_heading("BACKGROUND", f"{running} running" if running else "", width)]
    for task in session.background[:BACKGROUND_ROWS]:
        glyph, ink = {
            "running": (glyphs.working, "green"),
            "done": (glyphs.done, "grey"),
            "failed": (glyphs.ended, "red"),
        }.get(task.state, (glyphs.idle, "grey"))
        kind = "agent" if task.kind == "agent" else ""
        left: Line = (Span(f"{glyph} ", ink), Span(one_line(task.title), "text"))
        rows.append(
            sides(
                left, (Span(kind or ("" if task.state == "running" else cut(one_line(task.state), 8)), "grey"),), width
            )
        )
    if len(session.background) > BACKGROUND_ROWS:
        rows.append((Span(f"  {len(session.background) - BACKGROUND_ROWS} more", "grey"),))
    return rows


def _changed(session: SessionView, width: int, glyphs: Glyphs) -> list[Line]:
    if not session.changed:
        return []
    count = len(session.changed)
    rows = [_heading("CHANGED", plural(count, "file"), width)]
    for file in session.changed[:CHANGED_ROWS]:
        counts: list[Span] = []
        if file.added:
            counts.append(Span(f"+{file.added}", "green"))
        if file.removed:
            counts.append(Span(f"{' ' if counts else ''}{glyphs.minus}{file.removed}", "red"))
        room = width - 2 - cells(tuple(counts)) - 1
        path = cut_path(one_line(file.path), room)
        rows.append(sides((Span(f"{one_line(file.status)[:1]:<1} ", "grey"), Span(path, "text")), tuple(counts), width))
    if count > CHANGED_ROWS:
        rows.append((Span(f"  {count - CHANGED_ROWS} more", "grey"),))
    return rows


def tokens(count: int) -> str:
    if count < 1_000:
        return str(count)
    return f"{count / 1_000_000:.1f}M" if count >= 1_000_000 else f"{count // 1_000}k"


def percent(share: float) -> str:
    """Something is never ``0%``."""
    return f"{round(share * 100)}%" if share >= 0.01 or not share else "<1%"


def _limits(session: SessionView, now: Millis, width: int, glyphs: Glyphs) -> list[Line]:
    budget = session.budget
    rows: list[Line] = []
    if session.context_used is not None:
        size = session.context_size
        if size:
            share = session.context_used / size
            rows.append(
                _heading("CONTEXT", f"{tokens(session.context_used)} of {tokens(size)}  {percent(share)}", width)
            )
            rows += [gauge(share, width, glyphs), EMPTY]
        else:
            rows += [_heading("CONTEXT", tokens(session.context_used), width), EMPTY]
    if budget.limit:
        share = budget.spent / budget.limit
        told = f"  {percent(share)}" if budget.spent else ""  # a share of what is not known would be a claim
        rows.append(_heading("MONEY", f"{spent_of(session)}{told}", width))
        if budget.spent:  # an empty gauge says nothing that the row above does not say, and looks like a fault
            rows.append(gauge(share, width, glyphs))
    else:
        rows.append(_heading("MONEY", f"{spent_of(session)}, no limit", width))
    if budget.turn_so_far is not None:
        rows.append(_heading("", f"this turn {money(budget.turn_so_far)} so far", width, "grey"))
    if budget.unknown_turns:
        n = budget.unknown_turns
        rows.append(_heading("", f"{plural(n, 'turn')} of unknown cost", width, "amber"))
    rows.append(_heading("TURNS", f"{budget.turns} of {budget.max_turns}", width))
    worked, limit = work_time(budget.working_ms), budget.working_limit_ms
    rows.append(_heading("WORKING", f"{worked} of {work_time(limit)}" if limit else worked, width))
    if limit and budget.working_ms:
        rows.append(gauge(budget.working_ms / limit, width, glyphs))
    if not ended(session):
        rows.append(_ends(budget.expires_at, now, width))
    return rows


def _last_turns(session: SessionView, width: int) -> list[Line]:
    """What was said last and what each came to, newest first."""
    over = [turn for turn in session.turns if turn.ended_at is not None][-LAST_TURNS:]
    if not over:
        return []
    rows = [_heading("LAST TURNS", "l details" if len(session.turns) > len(over) else "", width, "grey")]
    for turn in reversed(over):
        text = one_line(turn.text) or turn_source(turn).split(" (")[0]
        rows.append(sides((Span(f"{turn.n} ", "grey"), Span(text, "text")), (Span(turn_money(turn), "grey"),), width))
    return rows


def _ends(at: Millis, now: Millis, width: int) -> Line:
    left = at - now
    if left <= 0:
        return _heading("ENDS", "now", width, "amber")
    # In whole minutes: it stands still while nobody waits.
    words = coarse_age(left) if left >= 60_000 else "under 1m"
    return _heading("ENDS", f"{moment(at, now)}, {words}", width, "amber" if left < 600_000 else "text")
