"""The rows that frame a screen: console title, a session's title, the state row of a narrow screen, the queue. Pure."""

from msgspec import Struct

from app.console.views.attention import queue
from app.console.views.glyphs import Glyphs
from app.console.views.ink import Line, Span, cells, cut, cut_line, cut_path, one_line, sides, wrap
from app.console.views.layout import NARROW
from app.console.views.lists import glyph_of, strip_line
from app.console.views.panel import percent
from app.console.views.standing import (
    doing,
    ended,
    ended_words,
    foreign,
    held_elsewhere,
    in_flight,
    practice,
    short_age,
    spent_of,
    title_of,
    tool_since,
    waiting,
)
from app.wording import age, mode_words, money, plural, short_path, trouble_words
from coordinator.api import ConsoleSnapshot, SessionView
from store.vocab import Millis, RunId


def console_title(snapshot: ConsoleSnapshot, now: Millis, width: int, home: str, glyphs: Glyphs) -> Line:
    needs = queue(snapshot)
    today = money(snapshot.today)
    if snapshot.today_limit is not None:
        today = f"{today} of {money(snapshot.today_limit)}"
    told = f"today {today} USD "
    if not snapshot.today and snapshot.sessions and all(practice(one) for one in snapshot.sessions):
        told = "today: play money only " if width >= 100 else "play money "
    waits = line_words(snapshot) if width >= NARROW else ""
    right: Line = (Span(f"{waits} {glyphs.dot} {told}" if waits else told, "grey"),)
    call: Line = ()
    if needs:
        verb = "needs" if len(needs) == 1 else "need"
        words = f"{glyphs.needs} {len(needs)} {verb} you"
        if width >= 100:
            words += f", oldest {age(now - needs[0].since)}"
        call = (Span(words, "amber strong"), Span(f"  {glyphs.waiting_key}", "amber"))
    name: Line = (Span(" footplate", "strong bright"),)
    repository = snapshot.repository
    room = width - cells(name) - cells(call) - cells(right) - 8
    if repository is not None and room > 12:
        dirty = f" +{repository.dirty_files}" if repository.dirty_files else ""
        branch = f"{one_line(repository.branch) or 'no branch'}{dirty}"
        path = cut_path(one_line(short_path(repository.path, home)), max(room - cells(branch) - 2, 8))
        name = (*name, Span(f"  {path}", "text"), Span(f"  {cut(branch, 24)}", "grey"))
    if width < 100:
        return sides(name, (*call, Span("   ", "grey"), *right) if call else right, width)
    middle = width // 2 - cells(call) // 2
    gap = max(middle - cells(name), 2)
    return sides((*name, Span(" " * gap), *call), right, width)


class TitlePart(Struct, frozen=True, kw_only=True):
    """A part of a session's title that opens a picker."""

    name: str
    start: int
    end: int


def session_title(session: SessionView, width: int, glyphs: Glyphs, home: str) -> tuple[Line, tuple[TitlePart, ...]]:
    """Number and title at the left; model, mode, tree at the right, each with where it stands, for the mouse."""
    parts: list[tuple[str, Span]] = []
    if practice(session):
        parts.append(("practice", Span("PRACTICE", "amber strong")))
    if attempt := attempt_words(session):
        parts.append(("task", Span(attempt, "text")))
    parts.append(("model", Span(cut(one_line(session.model or session.agent), 24), "text")))
    parts.append(("mode", Span(cut(short_mode(session.mode), 20), "text")))
    where = one_line(session.tree.rsplit("/", 1)[-1])
    tree = f"in place on {one_line(session.branch)}" if session.in_place else f"tree {where}"
    parts.append(("tree", Span(cut(tree, max(width // 3, 16)), "grey")))
    # The title is what a session is known by: the parts give way to it, the tree first.
    wanted = min(cells(title_of(session)) + 6, width * 3 // 5)
    while len(parts) > 1 and wanted + sum(cells(span.text) + 3 for _, span in parts) > width:
        gone = next(
            (at for name in ("tree", "mode", "model", "task") for at, part in enumerate(parts) if part[0] == name), 0
        )
        del parts[gone]
    right: list[Span] = []
    for _, span in parts:
        if right:
            right.append(Span(f" {glyphs.dot} ", "grey"))
        right.append(span)
    left: Line = (Span(f"{session.run} ", "grey"), Span(title_of(session), "strong bright"))
    row = sides(left, tuple(right), width)
    at = width - cells(tuple(right))
    places: list[TitlePart] = []
    for name, span in parts:
        size = cells(span.text)
        places.append(TitlePart(name=name, start=at, end=at + size))
        at += size + 3
    return row, tuple(places)


def beside_title(
    snapshot: ConsoleSnapshot, session: SessionView, now: Millis, width: int, glyphs: Glyphs, *, unread: int
) -> Line:
    """Of the session that is only read along: how it stands, and that keys do not go there."""
    sign = glyph_of(session, glyphs)
    told = doing(snapshot, session, now, ticking=False)
    new: Line = (Span(f"{unread} new below  ", "amber"),) if unread else ()
    left: Line = (sign, Span(f" {session.run} ", "grey"), Span(title_of(session), "text"))
    return sides(left, (*new, Span(cut(told.text, max(width // 3, 10)), told.ink), Span("  b swaps", "blue")), width)


_SHORT_MODES = {
    "default": "asks",
    "manual": "asks",
    "acceptEdits": "edits freely",
    "plan": "plans first",
    "bypassPermissions": "never asks",
    "dontAsk": "refuses",
    "auto": "a model decides",
}


def short_mode(mode: str | None) -> str:
    return _SHORT_MODES.get(mode or "", one_line(mode or "mode unknown"))


def mode_choice(mode: str) -> str:
    return f"{short_mode(mode)}: {mode_words(mode)}"


def state_line(session: SessionView, now: Millis, width: int, glyphs: Glyphs, *, titled: bool) -> Line:
    """What the right panel would tell, in one row, for screens without it. ``titled``: a session's title, which says
    PRACTICE, stands above. What has no room is left out whole, the last first."""
    parts = [_stands(session, now)]
    running = sum(1 for task in session.background if task.state == "running")
    parts.append(_money_words(session))
    if session.plan:
        done = sum(1 for state, _ in session.plan if state == "done")
        parts.append(f"plan {done} of {len(session.plan)}")
    if running:
        parts.append(f"{running} in background")
    if session.context_used and session.context_size:
        parts.append(f"context {percent(session.context_used / session.context_size)}")
    parts = [part for part in parts if part]
    marked: Line = (Span("PRACTICE", "amber strong"), Span(f" {glyphs.dot} ", "grey"))
    row: Line = marked if practice(session) and not titled else ()
    between = f" {glyphs.dot} "
    while len(parts) > 1 and cells(row) + cells((Span(between.join(parts)),)) > width:
        del parts[-1]
    return cut_line((*row, Span(between.join(parts), "grey")), width)


def _stands(session: SessionView, now: Millis) -> str:
    turn = in_flight(session)
    if session.ending is not None:
        return "ending"
    if ended(session):
        return ended_words(session)
    if turn is None:
        return f"turn {session.turns[-1].n} ended" if session.turns else "starting"
    if waiting(session):
        return f"turn {turn.n} asks you"
    tool = session.tools[0] if session.tools else None
    if tool is None:
        return f"turn {turn.n}"
    return f"turn {turn.n} {one_line(tool.name)} {short_age(now - tool_since(session, tool), True)}"


def _money_words(session: SessionView) -> str:
    """What it cost of what it may; while nothing has been told, only what it may."""
    if any(turn.ended_at is not None for turn in session.turns) or session.budget.spent:
        return spent_of(session)
    limit = session.budget.limit
    return f"at most {money(limit)}" if limit is not None else ""


def queue_lines(session: SessionView, width: int) -> tuple[Line, ...]:
    """What waits to be sent, and when it goes."""
    if not session.queued:
        return ()
    turn = in_flight(session)
    if session.queue_held:
        when = "waits: ^P, send what waits"
    elif turn is not None:
        when = f"sent when turn {turn.n} ends"
    else:
        when = "sent next"
    count = f" and {len(session.queued) - 1} more" if len(session.queued) > 1 else ""
    images = len(session.queued[0].images)
    with_them = f" with {plural(images, 'image')}" if images else ""
    tail = f"”{with_them}{count}, {when}"
    text = cut(one_line(session.queued[0].text), max(width - cells(tail) - 8, 8))
    return (cut_row(Span(f"next: “{text}{tail}", "grey"), width),)


def rule_line(width: int, unread: int, glyphs: Glyphs) -> Line:
    """The rule above the text, and in it how much came below while the reader is further up."""
    if not unread:
        return (Span(glyphs.rule * width, "faint"),)
    words = f" {unread:,} new below: G "
    right = min(4, max(width - cells(words), 0))
    left = max(width - cells(words) - right, 0)
    return (Span(glyphs.rule * left, "faint"), Span(cut(words, width), "blue"), Span(glyphs.rule * right, "faint"))


def general_words(snapshot: ConsoleSnapshot, glyphs: Glyphs, width: int) -> str | None:
    """For the status row: what concerns no one session, or all of them. The key at its end is never cut."""
    loose = [one for one in snapshot.attention if one.run is None]
    for one in loose:
        if one.task is None:
            return _with_key(f"{glyphs.needs} needs a person: {one_line(one.text)}", _PUT_AWAY, width)
    if loose:
        return _with_key(f"{glyphs.needs} {one_line(loose[0].text)}", " (Q shows the task)", width)
    paused = sum(1 for one in snapshot.sessions if one.paused and not ended(one))
    if paused:
        return f"{glyphs.needs} {paused} paused, you were away: Enter in an empty text resumes all"
    if snapshot.away_in is not None:
        # In whole minutes: it is no reason to paint each second.
        minutes = max(round(snapshot.away_in / 60), 1)
        return f"are you there? runs pause in {minutes}m; any key keeps them going"
    return None


def status_lines(
    snapshot: ConsoleSnapshot, session: SessionView | None, writing: str, width: int, most: int, glyphs: Glyphs
) -> tuple[Line, ...]:
    """Above the hints while nothing was just said. ``writing``: what Enter would do with the text, which must be known
    before Enter and so comes before all else."""
    if writing:
        return (cut_row(Span(writing, "grey"), width),)
    if (trouble := snapshot.storage_trouble) is not None:
        return (cut_row(Span(f"{glyphs.ended} {one_line(trouble_words(trouble))}", "red"), width),)
    if (general := general_words(snapshot, glyphs, width)) is not None:
        return (cut_row(Span(general, "amber"), width),)
    if session is not None and foreign(session) and not ended(session):
        return said_lines(Span(held_elsewhere(session), "grey"), width, most)
    if session is not None and session.interrupting:
        return (cut_row(Span("interrupting the turn; what waits in the line stays there", "grey"), width),)
    if session is not None and session.status:
        return (cut_row(Span(one_line(session.status), "grey"), width),)
    return ((),)


def said_lines(said: Span, width: int, most: int) -> tuple[Line, ...]:
    """What was just said: what can be done about it stands at its end, which is not cut while there is room."""
    pieces = wrap(said.text, max(width, 20))
    if len(pieces) > most:
        pieces[most - 1 :] = [cut(" ".join(pieces[most - 1 :]), width)]
    return tuple((Span(piece, said.ink),) for piece in pieces)


_PUT_AWAY = " (a lists it, x there puts it away)"


def _with_key(words: str, key: str, width: int) -> str:
    return cut(words, max(width - cells((Span(key),)), 8)) + key


def line_words(snapshot: ConsoleSnapshot) -> str:
    """Of the tasks in line: how many wait, and whether all of them are kept back; '' where there are none."""
    queue = snapshot.queue
    if not queue.waiting:
        return ""
    return f"{queue.waiting:,} in line{', kept back' if queue.held else ''}"


def narrow_strip(snapshot: ConsoleSnapshot, in_view: RunId | None, width: int, glyphs: Glyphs, words: str) -> Line:
    """The sessions of a narrow screen in one row, and at its end what waits in line."""
    waits = line_words(snapshot)
    right: Line = (Span(f" {waits}", "grey"),) if waits else ()
    return sides(strip_line(snapshot, in_view, width - cells(right), glyphs, words=words), right, width)


def attempt_words(session: SessionView) -> str:
    """``task 12, attempt 2 of 3``; '' for a session that is no task's."""
    if session.task is None:
        return ""
    of = f" of {session.attempts}" if session.attempts else ""
    return f"task {session.task}, attempt {session.attempt}{of}" if session.attempt else f"task {session.task}"


def cut_row(span: Span, width: int) -> Line:
    return (Span(cut(span.text, width), span.ink),)
