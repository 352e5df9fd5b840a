"""The session list of a wide screen, and the strip that stands for it on a narrow one. Pure.

What has no room gives way in this order: ended ones fold, then second rows go (those of what needs the operator last),
then the list scrolls. A filter narrows all of it; what needs the operator outside of it is still counted.
"""

from msgspec import Struct

from app.console.views.attention import queue
from app.console.views.glyphs import INK_OF, Glyphs
from app.console.views.ink import EMPTY, Line, Span, cells, cut, one_line, sides
from app.console.views.standing import all_waiting, doing, ended_badly, short_age, spent, title_of, waiting_since
from coordinator.api import ConsoleSnapshot, Group, SessionView
from store.vocab import Millis, RunId, RunOutcome

HEADINGS: dict[Group, str] = {
    Group.NEEDS_YOU: "NEEDS YOU",
    Group.YOUR_MOVE: "YOUR MOVE",
    Group.WORKING: "WORKING",
    Group.IDLE: "IDLE",
    Group.ENDED: "ENDED",
}
DAY = 24 * 3_600_000
"""What ended longer ago is for review, or for the filter; the one in view and pinned ones stay."""
LEAST_ENDED = 3
"""So many of the ended ones stay in sight before second rows give way for them."""


class ListPicture(Struct, frozen=True, kw_only=True):
    lines: tuple[Line, ...]
    runs: tuple[RunId | None, ...]
    """The session that each row belongs to, for the mouse and for keeping the one in view on the screen."""


def ordered(snapshot: ConsoleSnapshot, in_view: RunId | None = None, words: str = "") -> tuple[SessionView, ...]:
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
    if words.strip():
        return tuple(one for one in rows if matches(one, words))
    return tuple(one for one in rows if not _of_another_day(one, snapshot.now) or one.run == in_view)


def _of_another_day(session: SessionView, now: Millis) -> bool:
    old = session.ended_at is not None and now - session.ended_at > DAY
    return old and session.group is Group.ENDED and not session.pinned


def matches(session: SessionView, words: str) -> bool:
    """Every word is in its number, title, agent, repository, branch or group."""
    parts = (str(session.run), session.title, session.agent, session.model or "", session.repository, session.tree)
    hay = " ".join((*parts, session.branch, session.group, "pinned" if session.pinned else "")).casefold()
    return all(word in hay for word in words.casefold().split())


def glyph_of(session: SessionView, glyphs: Glyphs) -> Span:
    if session.ending is not None:
        return Span(glyphs.ended, "red")
    if session.group is Group.ENDED:
        if session.outcome is RunOutcome.FINISHED:
            return Span(glyphs.done, "grey")
        return Span(glyphs.ended, "red")
    return Span(glyphs.of(session.group), INK_OF[session.group])


class _Entry(Struct, frozen=True, kw_only=True):
    session: SessionView
    second: Span
    """What it does; '' where there is nothing to say."""
    chosen: bool

    def rows(self, level: int) -> int:
        return 2 if self.second.text and (level == 0 or (level == 1 and self.keeps)) else 1

    @property
    def keeps(self) -> bool:
        """Its second row goes last."""
        return self.chosen or self.session.group is Group.NEEDS_YOU


NARROWEST = 26
"""Cells of the list: a second row (``permission · 1m12s``) fits."""


def list_cells(snapshot: ConsoleSnapshot, in_view: RunId | None) -> int:
    """Cells that the list asks for, its margins included; 0 for nothing to list. From the titles alone, which stand
    still: a column must not move because a cost grew by a digit."""
    widest = max((cells((Span(title_of(one)),)) for one in ordered(snapshot, in_view)), default=0)
    return max(widest + _AROUND_TITLE, NARROWEST) if snapshot.sessions else 0


_AROUND_TITLE = 16
"""Margins, glyph, number, a pin, and the cost."""

LEVELS = (0, 1, 2)
"""How much has given way: nothing, the second rows of what does not wait, all second rows."""


def list_picture(
    snapshot: ConsoleSnapshot,
    in_view: RunId | None,
    now: Millis,
    width: int,
    glyphs: Glyphs,
    *,
    room: int | None = None,
    words: str = "",
) -> ListPicture:
    """``room``: rows that can be seen; None: as many as there are."""
    rows = ordered(snapshot, in_view, words)
    waits = queue(snapshot)
    oldest = waits[0].run if waits else None
    entries = [_entry(snapshot, one, now, in_view, oldest) for one in rows]
    head = filter_rows(snapshot, rows, words, width, glyphs) if words else []
    level, most = _fit(entries, None if room is None else room - len(head), folding=not words)
    picture = _Rows(list(head), [None] * len(head))
    heading: Group | None = None
    shown = 0
    for entry in entries:
        session = entry.session
        if session.group is Group.ENDED:
            if shown >= most and not entry.chosen:
                continue
            shown += 1
        if session.group is not heading:
            if heading is not None:
                picture.put(EMPTY)
            heading = session.group
            ink = "amber strong" if heading is Group.NEEDS_YOU else "grey strong"
            picture.put((Span(HEADINGS[heading], ink),))
        two = entry.rows(level) == 2
        since = None if two else waiting_since(snapshot, session)
        waited = short_age(now - since, False) if since is not None else ""
        picture.put(_first_row(session, width, glyphs, entry.chosen, waited), session.run)
        if two:
            picture.put(_second_row(entry, width), session.run)
    hidden = _hidden(snapshot, words, shown)
    if hidden:
        picture.put((Span(cut(f"     +{hidden} more {glyphs.dot} F finds them", width), "grey"),))
    return ListPicture(lines=tuple(picture.lines), runs=tuple(picture.runs))


class _Rows:
    def __init__(self, lines: list[Line], runs: list[RunId | None]) -> None:
        self.lines = lines
        self.runs = runs

    def put(self, row: Line, run: RunId | None = None) -> None:
        self.lines.append(row)
        self.runs.append(run)


def _entry(
    snapshot: ConsoleSnapshot, session: SessionView, now: Millis, in_view: RunId | None, oldest: RunId | None
) -> _Entry:
    chosen = session.run == in_view
    told = doing(snapshot, session, now, ticking=chosen or session.run == oldest)
    told_of_ended = session.group is not Group.ENDED or ended_badly(session) or chosen
    return _Entry(session=session, second=told if told_of_ended else Span(""), chosen=chosen)


def _fit(entries: list[_Entry], room: int | None, *, folding: bool) -> tuple[int, int]:
    """The level, and how many ended ones are shown."""
    live = [one for one in entries if one.session.group is not Group.ENDED]
    over = [one for one in entries if one.session.group is Group.ENDED]
    if room is None or not folding:
        level = 0 if room is None else next((at for at in LEVELS if _height(entries, at) <= room), LEVELS[-1])
        return level, len(over)
    for level in LEVELS:
        most = len(over)
        while True:
            shown = over[:most]
            fold = 0 if most == len(over) else 1
            if _height([*live, *shown], level) + fold <= room:
                return level, most
            if most <= min(LEAST_ENDED, len(over)):
                break
            most -= 1
    return LEVELS[-1], min(LEAST_ENDED, len(over))


def _height(entries: list[_Entry], level: int) -> int:
    groups = len({one.session.group for one in entries})
    return sum(one.rows(level) for one in entries) + groups * 2 - (1 if groups else 0)


def _hidden(snapshot: ConsoleSnapshot, words: str, shown: int) -> int:
    if words:
        return 0
    over = sum(1 for one in snapshot.sessions if one.group is Group.ENDED)
    return over - shown


def _first_row(session: SessionView, width: int, glyphs: Glyphs, chosen: bool, waited: str) -> Line:
    on = " on-sel" if chosen else ""
    glyph = glyph_of(session, glyphs)
    number = str(session.run).ljust(2)
    name = ("strong bright" if chosen else "text") if session.group is not Group.ENDED else "grey"
    left: Line = (
        Span(glyph.text, glyph.ink + on),
        Span(f" {number} ", "grey" + on),
        Span((glyphs.pin + " " if session.pinned else "") + title_of(session), name + on),
    )
    # Before its first turn has ended there is no cost to be told, not even an unknown one.
    told = spent(session) if any(turn.ended_at is not None for turn in session.turns) or session.budget.spent else ""
    right: Line = (Span(f" {told}", "grey" + on),) if told else ()
    if waited:
        right = (Span(f" {waited}", "amber" + on), *right)
    row = sides(left, right, width)
    return tuple(Span(span.text, span.ink if not on or "on-" in span.ink else span.ink + on) for span in row)


def _second_row(entry: _Entry, width: int) -> Line:
    on = " on-sel" if entry.chosen else ""
    words = entry.second.text
    if cells((Span(words),)) > width - 5:
        words = words.removesuffix(", none left")  # a good end needs no second word
    words = cut(words, width - 5)
    rest = " " * max(width - 5 - cells(words), 0)
    return (Span("     ", f"text{on}"), Span(words, entry.second.ink + on), Span(rest, f"text{on}"))


def filter_rows(
    snapshot: ConsoleSnapshot, shown: tuple[SessionView, ...], words: str, width: int, glyphs: Glyphs
) -> list[Line]:
    """That the list is narrowed, by what, and what it leaves out that should be looked at."""
    count = f" {len(shown)} of {len(snapshot.sessions)}"
    name = (Span("FILTER ", "blue strong"), Span(one_line(words), "bright"))
    rows: list[Line] = [sides(name, (Span(count, "grey"),), width)]
    here = {one.run for one in shown}
    outside = sum(1 for one in queue(snapshot) if one.run not in here)
    if outside:
        rows.append((Span(cut(f"{glyphs.needs} {outside} outside it, {glyphs.waiting_key}", width), "amber"),))
    if not shown:
        rows += [EMPTY, (Span(cut("No session is called so.", width), "text"),), (Span("Esc shows all", "grey"),)]
    rows.append(EMPTY)
    return rows


def strip_line(
    snapshot: ConsoleSnapshot, in_view: RunId | None, width: int, glyphs: Glyphs, *, words: str = ""
) -> Line:
    """One row: `◆12 checkout ◆14 deps ◇9 docs`; the one in view always among them, ended ones last to come."""
    rows = ordered(snapshot, in_view, words)
    sessions = [one for one in rows if one.group is not Group.ENDED or one.run == in_view or words.strip()]
    if words:
        told: Line = (Span("FILTER ", "blue strong"), Span(cut(one_line(words), width // 3), "bright"), Span("  "))
        if not sessions:
            return (*told, Span("no session is called so; Esc shows all", "grey"))
        return (*told, *_strip(sessions, in_view, width - cells(told), glyphs))
    if not sessions:
        return (Span("no sessions", "grey"),)
    return _strip(sessions, in_view, width, glyphs)


def _strip(sessions: list[SessionView], in_view: RunId | None, width: int, glyphs: Glyphs) -> Line:
    parts: list[Line] = []
    room = 18
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
    before = f"{'‹' if glyphs.prompt == '›' else '<'}{first} " if first else ""
    after = f"+{len(parts) - 1 - last}" if last < len(parts) - 1 else ""
    # What is left over goes to the name of the one in view.
    spare = width - used - len(before) - len(after)
    if spare > 0:
        parts[at] = _strip_part(sessions[at], sessions[at].run == in_view, room + spare, glyphs)
    row: list[Span] = [Span(before, "grey")] if before else []
    for part in parts[first : last + 1]:
        row.extend(part)
        row.append(Span(" "))
    if after:
        row.append(Span(after, "grey"))
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
