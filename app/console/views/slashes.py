"""What a text that begins with a slash would do, said before Enter and done after it by the same rule. Pure.

The agent's own commands come first and win a name; then Footplate's, by their names in the key table; everything else
is text.
"""

from typing import Final

from msgspec import Struct

from app.console.keys import TABLE, Key
from app.console.views.actions import Situation, why_dead
from app.console.views.ink import one_line
from app.console.views.standing import ended, foreign
from coordinator.api import SessionView

_WITH_WORDS: Final = frozenset({"rename", "model", "mode"})
"""Those of Footplate's that take what is written behind them. Any other with words behind it is a sentence."""
_NOT_SO: Final = frozenset({"commands", "redraw"})
"""A text is no way to them."""


class OfAgent(Struct, frozen=True, kw_only=True):
    name: str
    about: str
    agent: str


class OfFootplate(Struct, frozen=True, kw_only=True):
    action: str
    words: str
    rest: str = ""
    dead: str | None = None


class NeedsScreen(Struct, frozen=True, kw_only=True):
    """A command of the agent that works on its own screen only."""

    name: str
    agent: str
    instead: str


class IsText(Struct, frozen=True, kw_only=True):
    pass


Meaning = OfAgent | OfFootplate | NeedsScreen | IsText


def own_commands(table: tuple[Key, ...] = TABLE) -> tuple[tuple[str, str], ...]:
    """Footplate's: name and what it does."""
    return tuple((row.action, row.words) for row in table if row.listed and row.action not in _NOT_SO)


def meaning(text: str, at: Situation, table: tuple[Key, ...] = TABLE) -> Meaning | None:
    """None: it begins with no slash."""
    if not text.startswith("/"):
        return None
    session = at.session
    head, _, rest = text[1:].partition(" ")
    name = head.partition("\n")[0]
    if session is not None and not ended(session) and not foreign(session):
        about = dict(session.commands).get(name)
        if about is not None:
            return OfAgent(name=name, about=about, agent=session.agent)
    words = dict(own_commands(table)).get(head)
    if words is not None and (not rest.strip() or (head in _WITH_WORDS and "\n" not in rest)):
        return OfFootplate(action=head, words=words, rest=rest.strip(), dead=why_dead(head, at))
    if session is not None:
        instead = dict(session.own_screen).get(name)
        if instead is not None:
            return NeedsScreen(name=name, agent=session.agent, instead=instead)
    return IsText()


def said_before_enter(found: Meaning) -> str:
    match found:
        case OfAgent():
            about = f": {one_line(found.about)}" if found.about else ""
            return f"will run /{one_line(found.name)} in {found.agent}{about}"
        case OfFootplate(dead=str() as dead):
            return f"Footplate's /{found.action} can not be done: {dead}"
        case OfFootplate():
            return f"Footplate's own: {found.words}"
        case NeedsScreen():
            return needs_screen(found)
        case IsText():
            return "sent as text"


def needs_screen(found: NeedsScreen) -> str:
    return f"/{found.name} needs {found.agent}'s own screen: {found.instead}; a space before the slash sends it as text"


def offered(session: SessionView | None, table: tuple[Key, ...] = TABLE) -> tuple[tuple[str, str, str], ...]:
    """Every command with what it does and whose it is, the agent's first; a name is there once."""
    agent = session.commands if session is not None and not ended(session) and not foreign(session) else ()
    whose = session.agent if session is not None else ""
    names = {name for name, _ in agent}
    out = [(name, about, whose) for name, about in agent]
    return (*out, *((name, about, "Footplate") for name, about in own_commands(table) if name not in names))
