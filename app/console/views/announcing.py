"""A change of state in one line of words, for who hears the screen rather than sees it (``announce = true``). Pure.

Only where a session moves from one group of the list to another: what a turn does in between is in the transcript.
"""

from app.console.views.standing import ended_words, title_of, waiting
from app.wording import decision_kind
from app.wording_checks import checks_in_short
from coordinator.api import ConsoleSnapshot, Group, SessionView


def announced(before: ConsoleSnapshot, after: ConsoleSnapshot) -> tuple[str, ...]:
    """What became of each session since then, in the order of the runs; nothing for one that stands as it stood."""
    was = {session.run: session for session in before.sessions}
    return tuple(
        f"{session.run} {title_of(session)}: {_now(session)}"
        for session in sorted(after.sessions, key=lambda one: one.run)
        if _moved(was.get(session.run), session)
    )


def _moved(old: SessionView | None, new: SessionView) -> bool:
    if old is None:
        return new.group is not Group.ENDED
    asked = {one.id for one in waiting(new)} - {one.id for one in waiting(old)}
    checked = checks_in_short(old.checks) != checks_in_short(new.checks)
    return old.group is not new.group or bool(asked) or checked


def _now(session: SessionView) -> str:
    if session.outcome is not None:
        return ended_words(session)
    asked = waiting(session)
    if asked:
        return f"{session.group}, {decision_kind(asked[-1].kind)}"
    return session.group
