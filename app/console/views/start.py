"""The start form: what an empty console says, and the terms of a proposal on their line. Pure."""

from app.console.views.glyphs import Glyphs
from app.console.views.ink import EMPTY, Line, Span, indent, literal, one_line, wrap
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
    proposal: Proposal, now: Millis, width: int, glyphs: Glyphs, *, show_added: bool, said: str = ""
) -> tuple[Line, ...]:
    """One sentence, then what differs from last time and what the agent's own rules let through."""
    rows: list[Line] = []
    preset = f"  preset {proposal.preset}" if proposal.preset else ""
    rows.append((Span("START UNDER THESE TERMS?", "amber strong"), Span(preset, "grey")))
    rows += [indent((Span(row, "bright"),), 2) for row in wrap(literal(terms_sentence(proposal.terms, now)), width - 2)]
    if proposal.moved:
        names = ", ".join(_MOVED.get(name, name.replace("_", " ")) for name in proposal.moved)
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
    """What stands where a conversation would: what to do, or what is missing to start."""
    repository = snapshot.repository
    rows: list[Line] = [(Span("New session", "strong bright"),), EMPTY]
    words = (
        "Say what is to be done, then Enter: the terms are shown, and nothing starts before you accept them."
        if repository is None or repository.problem is None
        else sentence(repository.problem)
    )
    ink = "text" if repository is None or repository.problem is None else "amber"
    rows += [(Span(row, ink),) for row in wrap(words, width)]
    if snapshot.sessions:
        rows += [EMPTY, (Span("Esc, then J and K: the sessions at hand.", "grey"),)]
    else:
        rows += [
            EMPTY,
            (
                Span(
                    "No agent at hand? On the terms, d takes the practice agent: a script, no model, no account.",
                    "grey",
                ),
            )
            if width >= 92
            else (Span("No agent at hand? On the terms, d takes the practice agent.", "grey"),),
        ]
    return tuple(rows)
