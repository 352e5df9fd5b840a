"""The start form: what an empty console says, and the terms of a proposal on their line. Pure."""

from app.console.views.attention import queue
from app.console.views.glyphs import Glyphs
from app.console.views.ink import EMPTY, Line, Span, cells, cut, cut_line, indent, literal, one_line, wrap
from app.wording import sentence, terms_sentence
from coordinator.api import ConsoleSnapshot, Proposal
from store.vocab import Millis

_MOVED = {
    "budget": "money",
    "max_turns": "turns",
    "expires_at": "end time",
    "tree_kind": "tree",
    "working_seconds": "working time",
    "agent_version": "the agent's version",
}


def terms_lines(
    proposal: Proposal,
    now: Millis,
    width: int,
    glyphs: Glyphs,
    *,
    show_added: bool,
    said: str = "",
    with_it: str = "",
) -> tuple[Line, ...]:
    """One sentence, then what differs from last time and what the agent's own rules let through."""
    rows: list[Line] = []
    preset = f"  preset {one_line(proposal.preset)}" if proposal.preset else ""
    rows.append(cut_line((Span("START UNDER THESE TERMS?", "amber strong"), Span(preset, "grey")), width))
    rows += [indent((Span(row, "bright"),), 2) for row in wrap(literal(terms_sentence(proposal.terms, now)), width - 2)]
    if with_it:
        rows += [indent((Span(row, "text"),), 2) for row in wrap(literal(with_it), width - 2)]
    if proposal.moved:
        names = ", ".join(_MOVED.get(name, one_line(name.replace("_", " "))) for name in proposal.moved)
        rows += [indent((Span(row, "amber"),), 2) for row in wrap(f"not as last time: {names}", width - 2)]
    if proposal.own_rules:
        rules = ", ".join(one_line(rule) for rule in proposal.own_rules)
        rows += [indent((Span(row, "grey"),), 2) for row in wrap(f"its own rules let through: {rules}", width - 2)]
    if not proposal.terms.preamble:
        rows.append(indent((Span("Footplate adds nothing to the brief", "amber"),), 2))
    elif show_added:
        added = literal(proposal.preamble_text, newlines=True) or "(nothing)"
        rows.append(indent((Span("added to the brief, a again switches it off:", "grey"),), 2))
        rows += [indent((Span(row, "grey"),), 4) for row in wrap(added, width - 4)]
    if said:
        rows += [indent((Span(row, "amber"),), 2) for row in wrap(said, width - 2)]
    return tuple(rows)


def empty_lines(snapshot: ConsoleSnapshot, width: int, glyphs: Glyphs, agent: str | None) -> tuple[Line, ...]:
    """What stands where a conversation would: what to do, or what is missing to start, each with its key."""
    repository = snapshot.repository
    problem = repository.problem if repository is not None else None
    first = not snapshot.sessions and snapshot.last_here is None
    heading = "No session can start here" if problem is not None else "Your first session" if first else "New session"
    rows: list[Line] = [(Span(heading, "strong bright"),), EMPTY]
    if problem is not None:
        rows += [(Span(row, "amber"),) for row in wrap(sentence(problem), width)]
    else:
        words = "Say what is to be done, then Enter: the terms are shown, and nothing starts before you accept them."
        rows += [(Span(row, "text"),) for row in wrap(words, width)]
    rows.append(EMPTY)
    keys = _keys(snapshot, glyphs, startable=problem is None, first=first)
    room = max(cells(key) for key, _ in keys) + 3
    rows += [(Span(key.ljust(room), "blue"), Span(cut(words, width - room), "grey")) for key, words in keys]
    return tuple(rows)


def _keys(snapshot: ConsoleSnapshot, glyphs: Glyphs, *, startable: bool, first: bool) -> list[tuple[str, str]]:
    """Only those that lead somewhere from here."""
    keys: list[tuple[str, str]] = []
    waits, count = len(queue(snapshot)), len(snapshot.sessions)
    if startable:
        keys += [("Enter", "the terms: what it may do, for how long, for how much"), ("^J", "a new line")]
        if first:
            keys.append(("d", "on the terms: the practice agent, a script that needs no model and no account"))
    if waits:
        keys.append((glyphs.waiting_key, "what waits longest for you" if waits > 1 else "what waits for you"))
    if count:
        keys.append(("Esc J K", f"the {count} sessions at hand" if count > 1 else "the session at hand"))
    keys.append(("Esc ?", "all keys"))
    keys.append((glyphs.commands_key, "all commands"))
    if not startable:
        keys.append(("^Q", "quit, to open footplate in a repository"))
    return keys
