"""The session list of a wide screen, and the strip that stands for it on a narrow one. Pure."""

from dataclasses import dataclass

from app.console.views.glyphs import INK_OF, Glyphs
from app.console.views.ink import EMPTY, Line, Span, cells, cut, sides
from app.console.views.standing import all_waiting, doing, ended_badly, spent, title_of
from coordinator.api import ConsoleSnapshot, Group, SessionView
from store.vocab import Millis, RunId, RunOutcome

HEADINGS: dict[Group, str] = {
    Group.NEEDS_YOU: "NEEDS YOU",
    Group.YOUR_MOVE: "YOUR MOVE",
    Group.WORKING: "WORKING",
    Group.IDLE: "IDLE",
    Group.ENDED: "ENDED",
}
ENDED_SHOWN = 12
"""Older ended ones are for review; the one in view stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPicture:
    lines: tuple[Line, ...]
    runs: tuple[RunId | None, ...]
    """The session that each row belongs to, for the mouse and for keeping the one in view on the screen."""


def ordered(snapshot: ConsoleSnapshot, in_view: RunId | None = None) -> tuple[SessionView, ...]:
    """Sessions as they are listed: by group; those that wait longest first; pinned first; then by number."""
    since = {run: at for at, run in all_waiting(snapshot)}

    def place(session: SessionView) -> tuple[int, bool, int, int]:
        order = list(Group).index(session.group)
        if session.group is Group.NEEDS_YOU:
            return order, False, since.get(session.run, 0), session.run
        if session.group is Group.ENDED:
            return order, not session.pinned, -(session.ended_at or 0), -session.run
        return order, not session.pinned, 0, session.run

    rows = sorted(snapshot.sessions, key=place)
    ended = [one for one in rows if one.group is Group.ENDED]
    hidden = {one.run for one in ended[ENDED_SHOWN:] if one.run != in_view and not one.pinned}
    return tuple(one for one in rows if one.run not in hidden)


def glyph_of(session: SessionView, glyphs: Glyphs) -> Span:
    if session.ending is not None:
        return Span(glyphs.ended, "red")
    if session.group is Group.ENDED:
        if session.outcome is RunOutcome.FINISHED:
            return Span(glyphs.done, "grey")
        return Span(glyphs.ended, "red")
    return Span(glyphs.of(session.group), INK_OF[session.group])


def list_picture(
    snapshot: ConsoleSnapshot, in_view: RunId | None, now: Millis, width: int, glyphs: Glyphs
) -> ListPicture:
    lines: list[Line] = []
    runs: list[RunId | None] = []

    def put(row: Line, run: RunId | None = None) -> None:
        lines.append(row)
        runs.append(run)

    waiting = all_waiting(snapshot)
    oldest = waiting[0][1] if waiting else None
    heading: Group | None = None
    for session in ordered(snapshot, in_view):
        if session.group is not heading:
            if heading is not None:
                put(EMPTY)
            heading = session.group
            put((Span(HEADINGS[heading], "amber strong" if heading is Group.NEEDS_YOU else "grey strong"),))
        chosen = session.run == in_view
        on = " on-sel" if chosen else ""
        first = _first_row(session, width, glyphs, on, chosen)
        put(first, session.run)
        told = doing(snapshot, session, now, ticking=chosen or session.run == oldest)
        if told.text and (session.group is not Group.ENDED or ended_badly(session) or chosen):
            words = cut(told.text, width - 5)
            rest = " " * max(width - 5 - cells(words), 0)
            put((Span("     ", f"text{on}"), Span(words, told.ink + on), Span(rest, f"text{on}")), session.run)
    return ListPicture(lines=tuple(lines), runs=tuple(runs))


def _first_row(session: SessionView, width: int, glyphs: Glyphs, on: str, chosen: bool) -> Line:
    glyph = glyph_of(session, glyphs)
    number = str(session.run).ljust(2)
    name = ("strong bright" if chosen else "text") if session.group is not Group.ENDED else "grey"
    left: Line = (
        Span(glyph.text, glyph.ink + on),
        Span(f" {number} ", "grey" + on),
        Span((glyphs.pin + " " if session.pinned else "") + title_of(session), name + on),
    )
    row = sides(left, (Span(f" {spent(session)}", "grey" + on),), width)
    return tuple(Span(span.text, span.ink if not on or "on-" in span.ink else span.ink + on) for span in row)


def strip_line(snapshot: ConsoleSnapshot, in_view: RunId | None, width: int, glyphs: Glyphs) -> Line:
    """One row: `◆12 checkout ◆14 deps ◇9 docs`; the one in view always among them, ended ones last to come."""
    sessions = [one for one in ordered(snapshot, in_view) if one.group is not Group.ENDED or one.run == in_view]
    if not sessions:
        return (Span("no sessions", "grey"),)
    parts: list[Line] = []
    for room in range(18, 5, -1):
        parts = [_strip_part(one, one.run == in_view, room, glyphs) for one in sessions]
        if sum(_size(part) for part in parts) <= width:
            break
    at = next((index for index, one in enumerate(sessions) if one.run == in_view), 0)
    first, last = at, at
    used = _size(parts[at])
    while True:
        if first > 0 and used + _size(parts[first - 1]) + 6 <= width:
            first -= 1
            used += _size(parts[first])
        elif last < len(parts) - 1 and used + _size(parts[last + 1]) + 6 <= width:
            last += 1
            used += _size(parts[last])
        else:
            break
    row: list[Span] = []
    if first:
        row.append(Span(f"‹{first} " if glyphs.prompt == "›" else f"<{first} ", "grey"))
    for part in parts[first : last + 1]:
        row.extend(part)
        row.append(Span(" "))
    if last < len(parts) - 1:
        row.append(Span(f"+{len(parts) - 1 - last}", "grey"))
    return tuple(row)


def _size(part: Line) -> int:
    return cells(part) + 1


def _strip_part(session: SessionView, chosen: bool, room: int, glyphs: Glyphs) -> Line:
    glyph = glyph_of(session, glyphs)
    on = " on-sel" if chosen else ""
    name = cut(title_of(session), room)
    return (
        Span(glyph.text, glyph.ink + on),
        Span(f"{session.run} ", "grey" + on),
        Span(name, ("strong bright" if chosen else "text") + on),
    )
