"""The start form: what an empty console says, and the terms of a proposal on their line. Pure."""

from app.console.views.attention import queue
from app.console.views.glyphs import Glyphs
from app.console.views.ink import EMPTY, Line, Span, cells, cut_line, flow, hung, indent, literal, one_line, wrap
from app.wording import (
    continued_words,
    moved_word,
    plural,
    remarks,
    rules_leave_open,
    rules_proposed,
    sentence,
    terms_sentence,
    warnings,
)
from app.wording_rules import SHOWN
from coordinator.api import ConsoleSnapshot, Proposal
from coordinator.builtinagents import FIXED_STORY, PRACTICE
from coordinator.terms import TreeKind
from store.vocab import Billing, Millis


def terms_lines(
    proposal: Proposal,
    now: Millis,
    width: int,
    *,
    show_added: bool,
    said: str = "",
    with_it: str = "",
) -> tuple[Line, ...]:
    """One sentence, then what differs from last time and what the agent's own rules let through."""
    rows: list[Line] = []
    preset = f"  {one_line(proposal.preset)} limits" if proposal.preset else ""
    rows.append(cut_line((Span("START UNDER THESE TERMS?", "amber strong"), Span(preset, "grey")), width))
    rows += [indent((Span(row, "bright"),), 2) for row in wrap(literal(terms_sentence(proposal.terms, now)), width - 2)]
    notes = [(literal(one), "amber") for one in warnings(proposal, now)]
    notes += [(literal(one), "grey") for one in remarks(proposal)]
    for note, ink in notes:
        rows += hung(_sentence(note), width, ink)
    going = continued_words(proposal.continued) if proposal.continued is not None else ()
    for said_of in going:
        rows += hung(literal(said_of), width)
    if with_it:
        rows += hung(literal(with_it), width)
    if proposal.moved:
        names = ", ".join(one_line(moved_word(name)) for name in proposal.moved)
        rows += hung(f"not as last time: {names}", width, "amber")
    rows += _rule_rows(proposal, width)
    if proposal.own_rules:
        rules = ", ".join(one_line(rule) for rule in proposal.own_rules)
        rows += hung(f"its own rules let through: {rules}", width, "grey")
    if not proposal.terms.preamble:
        without = "no word on how to leave a note" if proposal.terms.carried else "nothing"
        rows += hung(f"Footplate adds {without} to the brief", width, "amber")
    elif show_added:
        added = literal(proposal.preamble_text, newlines=True) or "(nothing)"
        rows += hung("added to the brief, a again switches it off:", width, "grey")
        rows += [indent((Span(row, "grey"),), 4) for row in wrap(added, width - 4)]
    if said:
        rows += hung(said, width, "amber")
    keys: list[Line] = [(Span(f"{key} ", "blue strong"), Span(words, "text")) for key, words in _terms_keys(proposal)]
    rows += [indent(row, 2) for row in flow(keys, width - 2)]
    return tuple(rows)


def _sentence(note: str) -> str:
    """Elsewhere it is said after a colon or in a list; here it stands alone."""
    return note[:1].upper() + note[1:]


def _terms_keys(proposal: Proposal) -> list[tuple[str, str]]:
    """What can be done with these terms; here and not in the row of hints, where such words have no room."""
    terms = proposal.terms
    keys = [("Enter", "start"), ("Esc", "not yet"), ("Tab", "other limits")]
    if proposal.continued is None:
        own = terms.tree_kind is TreeKind.WORKTREE
        keys.append(("t", "in place instead" if own else "on a tree of its own"))
    keys.append(("a", "what is added to the brief" if terms.preamble else "add how to leave a note"))
    if terms.billing is not Billing.PRACTICE and PRACTICE in proposal.agents:
        keys.append(("d", "the practice agent instead"))
    return [*keys, ("e", "every field")]


def _rule_rows(proposal: Proposal, width: int) -> list[Line]:
    """As many as have room, the new ones first; the rest is a key away."""
    left, rows = rules_proposed(proposal), list[Line]()
    while left:
        words, moved = left[0]
        wrapped = hung(literal(words), width, "amber" if moved else "text", by=4)
        if rows and len(rows) + len(wrapped) > SHOWN + (len(left) == 1):
            break
        rows += wrapped
        del left[0]
    if left:
        differ = sum(moved for _, moved in left)
        more = f"and {len(left)} more{f', {differ} of them not as last time' if differ else ''}: r shows them all"
        rows += hung(more, width, "amber" if differ else "grey", by=4)
    return rows + _left_open(proposal, width, by=4)


def _left_open(proposal: Proposal, width: int, *, by: int) -> list[Line]:
    words = rules_leave_open(proposal)
    return hung(words, width, "grey", by=by) if words else []


def rules_lines(proposal: Proposal, width: int) -> tuple[Line, ...]:
    """Every rule of the proposed terms."""
    rules = rules_proposed(proposal) or [("none: it asks you before whatever it asks about", False)]
    rows = [row for words, moved in rules for row in hung(literal(words), width, "amber" if moved else "text", by=0)]
    return (*rows, *_left_open(proposal, width, by=0))


_GETTABLE = 4
"""Agents that are named with the command that gets them; ``footplate agents`` names all."""


def empty_lines(
    snapshot: ConsoleSnapshot,
    width: int,
    glyphs: Glyphs,
    agent: str | None,
    *,
    to_get: tuple[tuple[str, str], ...] = (),
) -> tuple[Line, ...]:
    """What stands where a conversation would: what to do, or what is missing to start, each with its key.

    ``to_get``: agents and the command that gets each, where none is on this machine.
    """
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
    if problem is None and agent == PRACTICE:
        rows += [(Span(row, "amber"),) for row in wrap(f"The practice agent: {FIXED_STORY}.", width)]
        rows.append(EMPTY)
    if to_get:
        rows += [*_to_get_lines(to_get, width, startable=problem is None), EMPTY]
    keys = _keys(snapshot, glyphs, startable=problem is None)
    room = max(cells(key) for key, _ in keys) + 3
    for key, words in keys:
        for number, piece in enumerate(wrap(words, max(width - room, 20))):
            rows.append((Span((key if number == 0 else "").ljust(room), "blue"), Span(piece, "grey")))
    return tuple(rows)


def _to_get_lines(to_get: tuple[tuple[str, str], ...], width: int, *, startable: bool) -> list[Line]:
    """No account is asked for: an agent has one of its own, or needs none."""
    named = to_get[:_GETTABLE]
    room = max(cells(title) for title, _ in named) + 3
    rows: list[Line] = [
        (Span(row, "amber"),)
        for row in wrap(
            "No agent is on this machine yet. Any of these gets one; it is found as soon as it is there:", width
        )
    ]
    rows += [
        cut_line((Span(f"  {title}".ljust(room + 2), "text"), Span(command, "bright")), width)
        for title, command in named
    ]
    more = "footplate agents names the others. " if len(to_get) > len(named) else ""
    until = "Until then the practice agent answers" if startable else "footplate demo shows the practice agent"
    words = f"{more}{until}: it plays a fixed story, needs no account and costs nothing."
    return [*rows, *((Span(row, "grey"),) for row in wrap(words, width))]


def _keys(snapshot: ConsoleSnapshot, glyphs: Glyphs, *, startable: bool) -> list[tuple[str, str]]:
    """Only those that lead somewhere from here."""
    keys: list[tuple[str, str]] = []
    waits, count = len(queue(snapshot)), len(snapshot.sessions)
    if startable:
        keys += [("Enter", "the terms: what it may do, for how long, for how much"), ("^J", "a new line")]
    if waits:
        keys.append((glyphs.waiting_key, "what waits longest for you" if waits > 1 else "what waits for you"))
    if count:
        keys.append(("Esc J K", f"the {plural(count, 'session')} at hand" if count > 1 else "the session at hand"))
    if snapshot.queue.waiting or snapshot.queue.needs_operator:
        keys.append(("Esc Q", "the tasks in line"))
    keys.append(("Esc ?", "all keys"))
    keys.append((glyphs.commands_key, "all commands"))
    if not startable:
        keys.append(("^Q", "quit, to open footplate in a repository"))
    return keys
