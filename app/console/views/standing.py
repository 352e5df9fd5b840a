"""How a session stands, read from its frozen view: what waits, what runs, since when, for how much.

The one place where such things are derived, so that list, strip, title, card and panel say the same. Pure.
"""

from itertools import takewhile

from app.console.views.ink import Span, one_line
from app.wording import age, coarse_age, decision_kind, end_reason, money, money_so_far, outcome
from app.wording_checks import checks_in_short
from coordinator.api import GONE, ConsoleSnapshot, DecisionView, Group, RunningTool, SessionView, TurnView
from store.moves import UNFINISHED
from store.vocab import AttentionKind, Billing, DecisionState, Millis, RunId, RunOutcome

SILENT_FROM = 30_000
"""Milliseconds without an event after which silence is said."""

WAITING_STATES = frozenset({DecisionState.OPEN})


def session_of(snapshot: ConsoleSnapshot, run: RunId | None) -> SessionView | None:
    return next((session for session in snapshot.sessions if session.run == run), None)


def title_of(session: SessionView) -> str:
    return one_line(session.title) or f"run {session.run}"


def waiting(session: SessionView) -> tuple[DecisionView, ...]:
    """What the agent waits for, oldest first. What another console holds is not ours to answer."""
    # The unfinished come first: a long run has thousands behind them, and this is asked often for each picture.
    live = [one for one in takewhile(_is_unfinished, session.decisions) if one.state in WAITING_STATES]
    return tuple(sorted(live, key=lambda one: (one.asked_at, one.id)))


def _is_unfinished(decision: DecisionView) -> bool:
    return decision.state in UNFINISHED


def waiting_since(snapshot: ConsoleSnapshot, session: SessionView) -> Millis | None:
    """Since when this session waits for the operator, if it does."""
    if session.group is not Group.NEEDS_YOU:
        return None
    times = [one.asked_at for one in waiting(session)]
    times += [one.since for one in snapshot.attention if one.run == session.run]
    return min(times, default=session.last_event_at or session.created_at)


def all_waiting(snapshot: ConsoleSnapshot) -> tuple[tuple[Millis, RunId], ...]:
    """Sessions that need the operator, longest waiting first."""
    found = []
    for session in snapshot.sessions:
        since = waiting_since(snapshot, session)
        if since is not None:
            found.append((since, session.run))
    return tuple(sorted(found))


def ends_soon(snapshot: ConsoleSnapshot, session: SessionView) -> bool:
    return any(one.run == session.run and one.kind is AttentionKind.ENDS_SOON for one in snapshot.attention)


def in_flight(session: SessionView) -> TurnView | None:
    if session.in_flight is None:
        return None
    return next((turn for turn in reversed(session.turns) if turn.id == session.in_flight), None)


def last_turn(session: SessionView) -> TurnView | None:
    return session.turns[-1] if session.turns else None


def ended(session: SessionView) -> bool:
    """Whether nothing of it runs any more; it may still need a person, and then stands among those that do."""
    return session.group is Group.ENDED or session.outcome is not None


def ended_badly(session: SessionView) -> bool:
    return ended(session) and session.outcome is not RunOutcome.FINISHED


def foreign(session: SessionView) -> bool:
    return bool(session.owner)


def held_elsewhere(session: SessionView, *, there: str = "write to it there", shell: str = 'say {run} "…"') -> str:
    """Who holds it, and what can be done instead. ``shell``: the command that does it from here."""
    who = f"{session.run} is held by {one_line(session.owner)}"
    if session.owner == GONE:
        return f"{who}: footplate sweep settles what that one has left"
    return f"{who}: {there}{f', or footplate {shell.format(run=session.run)} in a shell' if shell else ''}"


def practice(session: SessionView) -> bool:
    return session.billing is Billing.PRACTICE


def spent(session: SessionView) -> str:
    told = not session.budget.unknown_turns and any(turn.cost_known for turn in session.turns)
    return money_so_far(session.budget.spent, guess=session.budget.guessed, told=told)


def spent_of(session: SessionView) -> str:
    limit = session.budget.limit
    return f"{spent(session)} of {money(limit)}" if limit is not None else spent(session)


def silent_ms(session: SessionView, now: Millis) -> int | None:
    """Since when a working agent says nothing; None while a tool runs, for then the tool and its time are shown."""
    if session.in_flight is None or session.tools or session.last_event_at is None or waiting(session):
        return None
    quiet = now - session.last_event_at
    return quiet if quiet >= SILENT_FROM else None


def tool_since(session: SessionView, tool: RunningTool) -> Millis:
    """Since when a tool runs: from the answer on, where one was waited for."""
    answers = [one.answered_at for one in session.decisions if one.tool == tool.name and one.answered_at is not None]
    return max([tool.since, *answers])


def short_age(ms: int, ticking: bool) -> str:
    """Seconds for what ticks; else whole minutes, so that nothing is painted each second; '' before the first one."""
    if ticking:
        return age(ms)
    return coarse_age(ms) if ms >= 60_000 else ""


def _since(words: str, ms: int, ticking: bool) -> str:
    told = short_age(ms, ticking)
    return f"{words} · {told}" if told else words


def doing(snapshot: ConsoleSnapshot, session: SessionView, now: Millis, *, ticking: bool) -> Span:
    """In a few words, what a session does or waits for: the second row of the list."""
    if session.ending is not None:
        return Span(_since("ending", now - session.ending.since, ticking), "red")
    if foreign(session):
        return Span(f"held by {one_line(session.owner)}", "grey")
    if session.paused and not ended(session):
        return Span("paused, you were away", "amber")
    match session.group:
        case Group.NEEDS_YOU:
            since = waiting_since(snapshot, session) or now
            return Span(_since(_needs(snapshot, session), now - since, ticking), "amber")
        case Group.YOUR_MOVE:
            turn = last_turn(session)
            at = session.turn_ended_at
            n = f"turn {turn.n} ended" if turn is not None else "ended"
            ago = short_age(now - at, False) if at is not None else ""
            return Span(n if at is None else f"{n} {ago} ago" if ago else f"{n} just now", "grey")
        case Group.WORKING:
            return Span(_working(session, now, ticking), "grey")
        case Group.IDLE:
            return Span("finishing" if session.finishing else "", "grey")
        case Group.ENDED:
            return Span(ended_words(session), "grey")


def _needs(snapshot: ConsoleSnapshot, session: SessionView) -> str:
    if ended(session):
        pages = [one for one in snapshot.attention if one.run == session.run and one.kind is AttentionKind.PAGE]
        return one_line(pages[0].text) if pages else ended_words(session)
    live = waiting(session)
    if live:
        more = f" +{len(live) - 1}" if len(live) > 1 else ""
        return decision_kind(live[0].kind) + more
    if session.at_budget:
        return "at its budget"
    if session.past_work:
        return "working time is up"
    said = next((one for one in snapshot.attention if one.run == session.run), None)
    return one_line(said.text) if said is not None else "needs you"


def _working(session: SessionView, now: Millis, ticking: bool) -> str:
    turn = in_flight(session)
    parts = [f"turn {turn.n}"] if turn is not None else ["starting" if not session.turns else "working"]
    if session.interrupting:
        parts.append("interrupting")
    elif session.finishing:
        parts.append("finishing")
    elif session.tools:
        tool = session.tools[0]
        parts += [one for one in (short_age(now - tool_since(session, tool), ticking), one_line(tool.name)) if one]
    elif (quiet := silent_ms(session, now)) is not None:
        parts.append(f"silent {short_age(quiet, ticking)}".rstrip())
    elif turn is not None:
        parts.append(short_age(now - turn.recorded_at, ticking))
    return " · ".join(part for part in parts if part)


def ended_words(session: SessionView) -> str:
    """Short: the reason up to its advice, what its checks come to, and whether anything is left."""
    if session.reason:
        words = (
            end_reason(session.reason).split(":")[0] if session.reason.startswith("exited") else _short_reason(session)
        )
    else:
        words = outcome(session.outcome) if session.outcome is not None else "ended"
    if session.checks:
        words += f", {checks_in_short(session.checks)}"
    receipt = session.receipt
    if receipt is None:
        return words
    return f"{words}, {len(receipt.remaining)} left" if receipt.remaining else f"{words}, none left"


def _short_reason(session: SessionView) -> str:
    words = end_reason(session.reason)
    if words.startswith("ended by Footplate: "):
        return words.removeprefix("ended by Footplate: ").split(":")[0]
    return words.split(":")[0]
