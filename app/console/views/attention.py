"""The attention queue as the console shows it: one row for each thing that waits, over all sessions. Pure.

Title, ``^O`` and the list of ``a`` all read it here, so that they count and name the same things.
"""

from msgspec import Struct

from app.console.views.glyphs import Glyphs
from app.console.views.ink import EMPTY, Line, Span, cells, cut, one_line, sides
from app.console.views.standing import ended, ended_words, session_of, title_of, waiting
from app.wording import age, attention_kind, coarse_age, decision_kind
from coordinator.api import AttentionView, ConsoleSnapshot, DecisionView, Group, SessionView
from store.vocab import AttentionKind, DecisionId, DecisionKind, Millis, RunId, TaskId


class Waiting(Struct, frozen=True, kw_only=True):
    """One thing that waits for the operator."""

    kind: AttentionKind
    since: Millis
    run: RunId | None
    """None: about the console itself."""
    text: str
    """What is asked or told, in one line."""
    item: int | None = None
    """Its number in the ledger; None: read from the session alone."""
    decision: DecisionId | None = None
    task: TaskId | None = None
    """The task in line that it is about."""
    asked: DecisionKind | None = None
    to_see: bool = False
    ended: bool = False
    """Its run has ended."""

    @property
    def key(self) -> tuple[str, int]:
        """The same thing in a newer snapshot, whatever stands before it then."""
        if self.decision is not None:
            return "decision", self.decision
        return ("item", self.item) if self.item is not None else ("run", self.run or 0)


def queue(snapshot: ConsoleSnapshot) -> tuple[Waiting, ...]:
    """First come, first served."""
    rows: list[Waiting] = []
    told: set[DecisionId] = set()
    spoken_for: set[RunId] = set()
    for item in snapshot.attention:
        session = session_of(snapshot, item.run)
        rows.append(_of_item(item, session))
        if item.decision is not None:
            told.add(item.decision)
        if item.run is not None:
            spoken_for.add(item.run)
    for session in snapshot.sessions:
        if ended(session):
            continue
        asked = [one for one in waiting(session) if one.id not in told]
        rows += [_of_decision(session, one) for one in asked]
        if session.group is Group.NEEDS_YOU and not waiting(session) and session.run not in spoken_for:
            rows.append(_of_session(session))
    return tuple(sorted(rows, key=lambda one: (one.since, one.key)))


def _of_item(item: AttentionView, session: SessionView | None) -> Waiting:
    text, asked = one_line(item.text), None
    if item.decision is not None and session is not None:
        decision = next((one for one in session.decisions if one.id == item.decision), None)
        if decision is not None:
            text, asked = asked_words(decision), decision.kind
    if item.task is not None:
        text = task_words(item)
    if item.kind is AttentionKind.CRASHED and session is not None and session.reason:
        text = ended_words(session)
    return Waiting(
        kind=item.kind,
        since=item.since,
        run=item.run,
        text=text,
        item=item.id,
        decision=item.decision,
        task=item.task,
        asked=asked,
        to_see=item.to_see and item.kind is not AttentionKind.DECISION,
        ended=session is not None and ended(session),
    )


def task_words(item: AttentionView) -> str:
    """Its title and what is the matter; its number stands beside it."""
    return one_line(item.text).removeprefix(f"task {item.task} ").removeprefix("(").replace("): ", ": ", 1)


def _of_decision(session: SessionView, decision: DecisionView) -> Waiting:
    return Waiting(
        kind=AttentionKind.DECISION,
        since=decision.asked_at,
        run=session.run,
        text=asked_words(decision),
        decision=decision.id,
        asked=decision.kind,
    )


def _of_session(session: SessionView) -> Waiting:
    at_budget = session.at_budget or session.past_work
    return Waiting(
        kind=AttentionKind.BUDGET if at_budget else AttentionKind.PAGE,
        since=session.last_event_at or session.created_at,
        run=session.run,
        text="holds until you extend it or end it" if at_budget else "needs you",
    )


def asked_words(decision: DecisionView) -> str:
    """The command, the path or the first line of the question; a permission says first what kind of thing it is."""
    title, subject = one_line(decision.title), one_line(decision.subject)
    if decision.questions and not subject:
        subject = one_line(decision.questions[0].text)
    if not subject or subject == title:
        return title or subject or "asks you"
    return f"{title} {subject}" if title else subject


def kind_words(one: Waiting) -> str:
    if one.asked is not None:
        return decision_kind(one.asked)
    if one.kind is AttentionKind.BUDGET and one.to_see:
        return "budget"  # it warns only
    return attention_kind(one.kind)


def why_not_put_away(one: Waiting) -> str | None:
    """What ``x`` would do less than the operator may think; None where it may."""
    if one.to_see or one.asked is DecisionKind.PARK:
        return None
    if one.kind is AttentionKind.DECISION:
        return "the agent waits for an answer: Enter goes there; what it is not told, it cannot go on with"
    if one.kind is AttentionKind.TASK:
        return "this is over when the task has been seen to: Enter goes there"
    if one.kind is AttentionKind.BUDGET:
        return "it holds until you extend it or end it: Enter goes there"
    return "this is over only when the session goes on or ends: Enter goes there"


_GLYPHS: dict[AttentionKind, str] = {
    AttentionKind.STALLED: "idle",
    AttentionKind.ENDS_SOON: "move",
    AttentionKind.CRASHED: "ended",
}


def kind_glyph(one: Waiting, glyphs: Glyphs) -> Span:
    sign = getattr(glyphs, _GLYPHS.get(one.kind, "needs"))
    return Span(sign, "red" if one.kind is AttentionKind.CRASHED else "amber")


def queue_rows(
    rows: tuple[Waiting, ...],
    snapshot: ConsoleSnapshot,
    now: Millis,
    width: int,
    glyphs: Glyphs,
    chosen: int,
) -> tuple[Line, ...]:
    """One row each: sign and word, session, what is asked, since when. Only the oldest counts seconds."""
    if not rows:
        return ((Span("Nothing waits for you any more.", "text"),), EMPTY, (Span("Esc, then J and K.", "grey"),))
    words = max(cells(kind_words(one)) for one in rows)
    named = min(max(cells(_name(snapshot, one)) for one in rows), max(width // 4, 14))
    lines: list[Line] = []
    for at, one in enumerate(rows):
        on = " on-sel" if at == chosen else ""
        sign = kind_glyph(one, glyphs)
        name = cut(_name(snapshot, one), named)
        waited = now - one.since
        told = age(waited) if at == 0 else coarse_age(waited) if waited >= 60_000 else "just now"
        left: Line = (
            Span(f"{sign.text} ", sign.ink + on),
            Span(_padded(kind_words(one), words) + "  ", "text" + on),
            Span(_padded(name, named) + "  ", ("bright strong" if at == chosen else "bright") + on),
            Span(one.text, "grey" + on),
        )
        row = sides(left, (Span(f"  {told}", "grey" + on),), width)
        lines.append(tuple(Span(span.text, span.ink if not on or "on-" in span.ink else span.ink + on) for span in row))
    return tuple(lines)


def _name(snapshot: ConsoleSnapshot, one: Waiting) -> str:
    if one.task is not None:
        return f"task {one.task}"
    session = session_of(snapshot, one.run)
    if session is None:
        return "Footplate" if one.run is None else f"run {one.run}"
    return f"{session.run} {title_of(session)}"


def _padded(text: str, width: int) -> str:
    return text + " " * max(width - cells(text), 0)
