"""What is said of agents: their titles and modes, how their cost is known, whether they are signed in, and why one
would not work. Reached through ``app.wording``.
"""

from collections.abc import Sequence

from app.wording_failures import sign_in
from app.wording_measures import moment, others_words
from app.wording_refusals import sentence
from app.wording_trees import tree_remarks
from coordinator.builtinagents import builtin
from coordinator.drivers.base import CostBasis
from coordinator.starttypes import Proposal
from store.refusal import Refusal
from store.vocab import Millis, RefusalReason

_TITLES = {profile.name: profile.title for profile in builtin({})}

_MODES = {
    "default": "asking you before each command",
    "manual": "asking you before each command",
    "ask": "asking you before it runs commands or changes files",
    "acceptEdits": "asking you before each command but not before edits",
    "accept-edits": "asking you before each command but not before edits",
    "read-only": "asking you before each command and each change",
    "workspace-write": "asking you before what reaches beyond its tree",
    "plan": "changing nothing before you approve its plan",
    "auto": "letting a model decide what it asks you",
    "dontAsk": "refusing by itself what no rule allows",
    "bypassPermissions": "never asking you",
    "unasked": "asking you nothing before it acts",
}
_OWN_RULES = "asking you before commands and edits that its own rules do not let through"
_OF_AGENT = {
    ("claude", "default"): _OWN_RULES,
    ("claude", "manual"): _OWN_RULES,
    ("claude", "acceptEdits"): "asking you before commands that its own rules do not let through, but not before edits",
}
"""What the same mode is with one agent: Claude Code lets some commands through by itself, ``ls`` and ``git status``."""


def agent_title(agent: str) -> str:
    """``Claude Code`` for the profile ``claude``; others by their own name."""
    return _TITLES.get(agent, agent)


def mode_words(mode: str, agent: str = "") -> str:
    """Who is asked in this mode. ``agent``: whose; '' where that is not known."""
    return _OF_AGENT.get((agent, mode)) or _MODES.get(mode, f"in its mode {mode}")


def cost_words(basis: CostBasis, note: str, agent: str) -> str:
    """How the agent's cost is known, where it does not tell it with each turn; '' where it does."""
    match basis:
        case CostBasis.TOLD:
            return ""
        case CostBasis.ROUGHLY:
            return f"its cost is {others_words(note)}: the limit of money holds by that"
        case CostBasis.UNTOLD:
            return (
                f"its cost is not told by {agent_title(agent)}: no limit of money can hold, those of turns and time do"
            )


def warnings(proposal: Proposal, now: Millis) -> list[str]:
    """What must be seen of the agent before its terms are agreed to."""
    agent, said = proposal.terms.agent, []
    if proposal.signed_out_at is not None:
        said.append(f"it was not signed in {at(proposal.signed_out_at, now)}: {sign_in(agent)} first")
    if proposal.cost is CostBasis.UNTOLD:
        said.append(cost_words(proposal.cost, proposal.cost_note, agent))
    return said


def remarks(proposal: Proposal) -> list[str]:
    """What is good to know of the agent, and of its tree, beside them."""
    roughly = proposal.cost is CostBasis.ROUGHLY
    said = [cost_words(proposal.cost, proposal.cost_note, proposal.terms.agent)] if roughly else []
    if proposal.caution:
        said.append(proposal.caution)
    return [*said, *tree_remarks(proposal)]


def why_not(others: Sequence[Refusal]) -> list[str]:
    """Why agents are not offered: a sentence for each that is on this machine, one line for all that are not."""
    missing = [str(one.facts.get("agent", "")) for one in others if one.reason is RefusalReason.AGENT_NOT_FOUND]
    said = [sentence(one) for one in others if one.reason is not RefusalReason.AGENT_NOT_FOUND]
    if missing:
        said.append(f"Not on this machine: {', '.join(missing)}; footplate agents says how to get each.")
    return said


def signed_in_words(signed_in: bool | None, at_: Millis | None, now: Millis) -> str:
    """From the newest outcome that tells: ``yes (09:31)``, ``no (Tue 11:14)``, ``not known``."""
    if signed_in is None:
        return "not known"
    when = f" ({moment(at_, now)})" if at_ is not None else ""
    return f"{'yes' if signed_in else 'no'}{when}"


def at(then: Millis, now: Millis) -> str:
    """``at 09:31`` today, else ``on Tue 11:14``."""
    said = moment(then, now)
    return f"at {said}" if len(said) == len("09:31") else f"on {said}"
