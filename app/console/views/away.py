"""What happened while the operator was away: one line for each session of which there is something to tell. Pure."""

from msgspec import Struct

from app.console.views.glyphs import Glyphs
from app.console.views.ink import Line, Span, cells, cut, sides
from app.console.views.lists import glyph_of, ordered
from app.console.views.standing import ended, ended_words, foreign, title_of, waiting
from app.wording import age, clock, money, plural
from coordinator.api import ConsoleSnapshot, SessionView
from store.vocab import MicroUsd, Millis


class Away(Struct, frozen=True, kw_only=True):
    since: Millis
    """When the operator was last there."""
    back: Millis | None = None
    """When they came back; None: they are still away."""


def paused(snapshot: ConsoleSnapshot) -> int:
    return sum(1 for one in snapshot.sessions if one.paused and not ended(one))


def happened(snapshot: ConsoleSnapshot, since: Millis) -> tuple[tuple[SessionView, str], ...]:
    """In the order of the list; nothing for a session that stands as it stood."""
    told = ((one, _words(one, since)) for one in ordered(snapshot))
    return tuple((one, words) for one, words in told if words)


def _words(session: SessionView, since: Millis) -> str:
    turns = [one for one in session.turns if one.ended_at is not None and one.ended_at > since]
    asks = () if foreign(session) or ended(session) else waiting(session)
    over = session.ended_at is not None and session.ended_at > since
    new = any(one.asked_at > since for one in asks)
    held = session.paused and not ended(session)
    if not (turns or over or new or held):
        return ""
    parts: list[str] = []
    if turns:
        parts.append(f"{plural(len(turns), 'turn')} ended")
    if asks:
        parts.append(f"{len(asks)} asks" if len(asks) == 1 else f"{len(asks)} ask")
    if over:
        parts.append(ended_words(session))
    if held and not parts:
        parts.append("paused")
    spent = MicroUsd(sum(one.cost or 0 for one in turns))
    if spent:
        parts.append(f"{money(spent)} spent")
    return ", ".join(parts)


def away_lines(
    snapshot: ConsoleSnapshot, away: Away | None, width: int, most: int, glyphs: Glyphs, *, resume: str
) -> tuple[Line, ...]:
    """Nothing where nothing happened. ``resume``: the key that lets all go on, from where the focus is."""
    if away is None:
        return ()
    rows = happened(snapshot, away.since)
    if not rows:
        return ()
    if away.back is None:
        # No time that runs: nothing is painted for a screen that nobody looks at.
        first = f"Away since {clock(away.since)}."
    else:
        first = f"You were away {age(max(away.back - away.since, 0))}."
    held = paused(snapshot)
    if held:
        first += f" {held} paused. {resume} resumes all."
    foot = "" if away.back is None else "any key takes this away; W shows it again"
    right: Line = (Span(foot, "grey"),) if cells(first) + len(foot) < width else ()
    lines: list[Line] = [sides((Span(first, "strong bright"),), right, width)]
    room = max(most - 1, 1)
    shown = rows if len(rows) <= room else rows[: room - 1]
    named = min(max(cells(f"{one.run} {title_of(one)}") for one, _ in rows), max(width // 3, 14))
    for session, words in shown:
        name = cut(f"{session.run} {title_of(session)}", named)
        sign = glyph_of(session, glyphs)
        gap = " " * (named - cells(name) + 2)
        lines.append((sign, Span(f" {name}{gap}", "text"), Span(cut(words, max(width - named - 4, 8)), "grey")))
    if len(shown) < len(rows):
        lines.append((Span(f"  and {len(rows) - len(shown)} more", "grey"),))
    return tuple(lines)
