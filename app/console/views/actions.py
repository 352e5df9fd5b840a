"""Why an action is dead just now, what the hints are, and what the command list offers: one function for all. Pure.

The key that is off and the row of the list that is grey say the same sentence, because both ask ``why_dead``.
"""

from msgspec import Struct

from app.console.keys import TABLE, Key, Where, canonical, shown, written
from app.console.views.attention import queue
from app.console.views.ink import Line, Span, cells, wrap
from app.console.views.layout import NARROW
from app.console.views.standing import ended, foreign, held_elsewhere, in_flight, session_of, waiting
from app.wording import sentence
from coordinator.api import ConsoleSnapshot, Group, SessionView
from store.refusal import Refusal
from store.vocab import CustodyState, RefusalReason, RunId


class Situation(Struct, frozen=True, kw_only=True):
    """All that decides whether an action can be done."""

    snapshot: ConsoleSnapshot
    run: RunId | None
    focus: Where
    panel_fits: bool = True
    digits: int = 0
    """The highest digit that the card which is shown takes; 0 where none is."""
    folded: bool = False
    """Not all of that card is on the screen."""
    writing: bool = False
    """A text of that card's own is being written."""

    @property
    def session(self) -> SessionView | None:
        return session_of(self.snapshot, self.run)


_NEEDS_SESSION = frozenset(
    {
        "stop", "interrupt", "details", "panel", "continue", "finish", "rename", "pin", "seen", "model", "mode",
        "release", "unqueue", "terminal", "zoom", "beside", "swap", "scroll", "turn", "fold", "copy", "search",
        "search-next", "search-previous", "open", "changes", "tree",
    }
)  # fmt: skip
_NEEDS_HOLD = frozenset({"stop", "interrupt", "finish", "model", "mode", "release", "unqueue", "terminal"})
_SHELL = {name: f"{name} {{run}}" for name in ("stop", "interrupt", "finish")}
"""What a command does to a session that another console holds."""


def why_dead(action: str, at: Situation) -> str | None:
    """The reason in a sentence, or None when it can be done."""
    action = canonical(action)
    session = at.session
    if action in _NEEDS_SESSION and session is None:
        return "no session is in view"
    if session is not None and action in _NEEDS_HOLD:
        if foreign(session):
            return held_elsewhere(session, there="do it there", shell=_SHELL.get(action, ""))
        if ended(session):
            return f"{session.run} has ended: nothing of it runs"
    return _of_its_own(action, at, session)


def _of_its_own(action: str, at: Situation, session: SessionView | None) -> str | None:
    match action:
        case "next-waiting" | "waiting-list":
            return None if queue(at.snapshot) else "nothing waits for you: Esc, then J and K go through the sessions"
        case "stop-all":
            return None if holds(at.snapshot) else "nothing is held"
        case "send" if session is None:
            return None if (problem := cannot_start(at.snapshot)) is None else sentence(problem)
        case "new-session":
            return (
                None
                if at.snapshot.admission_open
                else "no new session just now: Footplate is closing or looking after old ones"
            )
        case "resume":
            return None if any(one.paused for one in at.snapshot.sessions) else "nothing is paused"
        case "answer" | "card-scroll" | "open-all" if at.writing:
            return "you are writing: Enter sends it, Esc leaves it"
        case "card-scroll" | "open-all" if at.focus is Where.CARD:
            return None if at.folded else "all of it is shown"
        case "panel":
            return None if at.panel_fits else "the panel needs a wider screen, of 120 columns; l shows the same"
        case "session-down" | "session-up" | "filter":
            return None if at.snapshot.sessions else "there is no session"
        case _:
            return None if session is None else _with_session(action, session)


def _with_session(action: str, session: SessionView) -> str | None:
    match action:
        case "send" if foreign(session) and not ended(session):
            return held_elsewhere(session)
        case "finish" | "model" | "mode" | "send" | "interrupt" if session.ending is not None:
            return f"{session.run} is ending"
        case "interrupt":
            if session.interrupting:
                return "it is being interrupted already"
            return None if in_flight(session) is not None else "no turn runs: there is nothing to interrupt"
        case "model":
            return None if session.models else "this agent does not say which models there are"
        case "mode":
            return None if session.modes else "this agent has no modes to choose from"
        case "terminal":
            return None if session.terminal else "this agent has no screen of its own: all that it says is here"
        case "tree":
            if not ended(session):
                return f"{session.run} works in it: stop or finish it first"
            return f"{session.run} had no tree of its own: it worked in yours" if session.in_place else None
        case "continue":
            if not ended(session):
                return f"{session.run} has not ended: just write to it"
            stuck = session.custody not in (None, CustodyState.CLOSED)
            return sentence(Refusal(RefusalReason.FENCING, {"run": session.run})) if stuck else None
        case "seen":
            return None if session.group is Group.YOUR_MOVE else "it is not your move there"
        case "release":
            if not session.queued:
                return "nothing waits in the line"
            return None if session.queue_held else "what waits goes by itself when the turn ends"
        case "unqueue":
            return None if session.queued else "nothing waits in the line"
        case _:
            return None


def cannot_start(snapshot: ConsoleSnapshot) -> Refusal | None:
    """Why no session can start in the repository at hand."""
    return snapshot.repository.problem if snapshot.repository is not None else None


def holds(snapshot: ConsoleSnapshot) -> tuple[SessionView, ...]:
    """What this console holds: what a stop of all would end."""
    return tuple(one for one in snapshot.sessions if not ended(one) and not foreign(one))


def hints(
    at: Situation, table: tuple[Key, ...] = TABLE, *, most: int = 6, narrow: bool = False
) -> tuple[tuple[str, str], ...]:
    """At most six keys with their words, for where the focus is; dead ones are left out. ``narrow``: in short words."""
    session = at.session
    over = session is not None and ended(session)
    names = _HINTS_ENDED.get(at.focus, _HINTS[at.focus]) if over else _HINTS[at.focus]
    out: list[tuple[str, str]] = []
    for name in names:
        row = next((one for one in table if one.action == name), None)
        if row is None or why_dead(name, at) is not None:
            continue
        out.append((_shown(row, at), hint_words(row, at, narrow=narrow)))
    return tuple(out[:most])


_HINTS: dict[Where, tuple[str, ...]] = {
    Where.COMPOSER: ("send", "to-keys", "interrupt", "stop", "next-waiting", "newline"),
    Where.CARD: ("answer", "card-scroll", "open-all", "card-back", "stop", "next-waiting"),
    Where.TERMS: ("start", "terms-back", "next-waiting"),
    Where.KEYS: ("write", "terminal", "session-down", "scroll", "details", "new", "help"),
    Where.FILTER: ("filter-keep", "filter-clear", "stop", "next-waiting"),
    Where.SEARCH: ("search-keep", "search-back"),
    Where.REVIEW: ("review-back", "review-open", "review-filter", "review-texts", "review-spend", "review-part"),
    Where.CHANGES: ("changes-file", "changes-hunk", "changes-turn", "changes-edit", "changes-page", "changes-back"),
    Where.LIVE: ("live-type", "live-escape", "live-back"),
    Where.TASKS: ("tasks-add", "tasks-open", "tasks-terms", "tasks-mark", "tasks-edit", "tasks-back"),
    Where.ANYWHERE: ("stop", "stop-all", "next-waiting"),
}
_HINTS_ENDED: dict[Where, tuple[str, ...]] = {
    Where.COMPOSER: ("send", "to-keys", "next-waiting"),
    Where.KEYS: ("continue", "new", "details", "changes", "tree", "session-down", "help"),
}
"""Where the session in view has ended: what is written goes to another one that goes on from it."""


def _shown(row: Key, at: Situation) -> str:
    if row.action == "answer" and at.digits:
        return f"1–{at.digits}" if at.digits > 1 else "1"
    return shown(row)


def hint_words(row: Key, at: Situation, *, narrow: bool = False) -> str:
    session = at.session
    if row.action == "send":
        if session is None:
            return "show the terms"
        if ended(session):
            return "terms to go on"
        if in_flight(session) is None and not waiting(session):
            return "send"
        return "later" if narrow else "after this turn"
    if row.action == "details" and session is not None and ended(session):
        return "stop report"
    return row.hint or row.words


_ALWAYS = (("commands", "commands"), ("quit", "quit"))
"""At the right end of the hints, wherever the focus is."""


def hints_line(at: Situation, width: int, table: tuple[Key, ...] = TABLE) -> Line:
    row: list[Span] = [Span(" ")]
    always = [(shown(row), words) for name, words in _ALWAYS for row in table if row.action == name]
    right: Line = tuple(span for key, words in always for span in (Span(f"  {key} ", "blue"), Span(words, "grey")))
    # What stands at the right begins with a blank of its own, and its last cell may be the screen's.
    room = width - cells(right)
    for key, words in hints(at, table, narrow=width < NARROW):
        part = (Span(f"{'  ' if len(row) > 1 else ''}{key} ", "blue"), Span(words, "grey"))
        if cells(tuple(row)) + cells(part) > room:
            break
        row.extend(part)
    gap = max(width - cells(tuple(row)) - cells(right), 0)
    return (*row, Span(" " * max(gap - 1, 0)), *right, Span(" " * min(gap, 1)))


class Offer(Struct, frozen=True, kw_only=True):
    """A row of the command list."""

    action: str
    key: str
    words: str
    dead: str | None


def offers(at: Situation, table: tuple[Key, ...] = TABLE) -> tuple[Offer, ...]:
    return tuple(
        Offer(action=row.action, key=shown(row), words=row.words, dead=why_dead(row.action, at))
        for row in table
        if row.listed
    )


_PLAIN = "footplate start --plain holds a session as plain numbered text, each question with an id."


def help_lines(width: int, table: tuple[Key, ...] = TABLE) -> tuple[Line, ...]:
    lines: list[Line] = []
    for where in Where:
        rows = [row for row in table if row.where is where]
        if not rows:
            continue
        if lines:
            lines.append(())
        lines.append((Span(where.value.upper(), "grey strong"),))
        for row in rows:
            others = [written(key) for key in row.keys[1:]] if row.shown.count(" ") + 1 < len(row.keys) else []
            also = f" (also {', '.join(others)})" if others and not row.inner else ""
            for number, piece in enumerate(wrap(row.words + also, max(width - 14, 20))):
                lines.append((Span(f"  {shown(row) if number == 0 else '':<12}", "blue"), Span(piece, "text")))
    lines += [
        (),
        (Span("FOR SCREEN READERS", "grey strong"),),
        *((Span(f"  {row}", "text"),) for row in wrap(_PLAIN, width - 2)),
    ]
    return tuple(lines)
