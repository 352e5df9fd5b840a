"""A run that goes on from one that has ended, in words: in which conversation, why, and what rides along. Reached
through ``app.wording``."""

from app.wording_measures import plural
from coordinator.starttypes import Continued, NewConversation, Proposal

_MOVED = {
    "budget": "money",
    "max_turns": "turns",
    "expires_at": "end time",
    "tree_kind": "tree",
    "working_seconds": "working time",
    "agent_version": "the agent's version",
}
_WHY: dict[NewConversation, str] = {
    NewConversation.ASKED: "as you want it",
    NewConversation.OTHER_AGENT: "the one before was with another agent",
    NewConversation.CANNOT: "this agent does not take up one that ended",
    NewConversation.TERMINAL: "",
    NewConversation.NONE_BEGUN: "there is none to take up",
    NewConversation.OTHER_TREE: "the one before was in another tree",
    NewConversation.HELD: "{other} holds the one before just now",
    NewConversation.FAILED: "{other} could not be started in the one before",
}


def moved_words(proposal: Proposal) -> tuple[str, ...]:
    """What is not as it was in the run before; nothing where all of it is."""
    if not proposal.moved or proposal.continued is None:
        return ()
    return (f"Not as in run {proposal.continued.run}: {', '.join(moved_word(name) for name in proposal.moved)}.",)


def moved_word(name: str) -> str:
    """A field of the terms by the name that it has for a person."""
    return _MOVED.get(name, name.replace("_", " "))


def continued_words(continued: Continued) -> tuple[str, ...]:
    """One sentence on the conversation, and one on what the agent never got, where there is any."""
    if continued.new is NewConversation.TERMINAL:
        return (f"It goes on from {continued.run} in its tree; the program begins anew and is told nothing of it.",)
    if continued.new is None:
        said = [f"It goes on from {continued.run} in the agent's own conversation."]
    else:
        why = _WHY[continued.new].format(other=f"run {continued.other}")
        told = f"an account of its {plural(continued.turns, 'turn')}" if continued.turns else "its brief"
        said = [f"It goes on from {continued.run} in a new conversation, with {told}: {why}."]
    rides = [plural(continued.answers, "answer")] if continued.answers else []
    rides += [plural(continued.unsent, "message")] if continued.unsent else []
    if rides:
        said.append(f"With it goes what the agent never got: {' and '.join(rides)} of yours.")
    return tuple(said)
