"""Standing rules, in words: at the terms that carry them, in the details of a run, on the command line."""

from collections.abc import Iterable

from app.wording_measures import plural
from coordinator import standing
from coordinator.api import Proposal
from coordinator.drivers.asks import ActKind
from coordinator.ruling import BY
from coordinator.standing import Rule, Verdict
from coordinator.viewtypes import DecisionView

SHOWN = 6
"""Rows of rules on the terms themselves; the others are a key away. Those that are new come first."""
_OPEN = "how an allowed command goes on is open: options of many write files or run programs"


def rule_words(text: str) -> str:
    """``allow commands that begin with pytest``; as it is written where it cannot be read any more."""
    rule = standing.parse(text)
    return standing.words(rule) if isinstance(rule, Rule) else text


def but_for_rules(rules: tuple[str, ...]) -> str:
    """After who is asked, in the sentence that is agreed to."""
    count = len(rules)
    return f", but for what {plural(count, 'standing rule')} answer{'s' if count == 1 else ''}" if rules else ""


def rules_proposed(proposal: Proposal) -> list[tuple[str, bool]]:
    """Each rule of the proposed terms in words, and whether it differs from the last time: the new ones first, those
    that are gone last."""
    new = [(f"new: {rule_words(text)}", True) for text in proposal.new_rules]
    old = [(rule_words(text), False) for text in proposal.terms.rules if text not in proposal.new_rules]
    return [*new, *old, *((f"no longer: {rule_words(text)}", True) for text in proposal.gone_rules)]


def rules_leave_open(proposal: Proposal) -> str:
    """What no rule on the beginning of a command can hold; '' where none allows any."""
    allowed = any(text.startswith(f"{Verdict.ALLOW} {ActKind.COMMAND} ") for text in proposal.terms.rules)
    return _OPEN if allowed else ""


def rules_used(rules: tuple[str, ...], decisions: Iterable[DecisionView]) -> list[str]:
    """Each rule of a run in words, with how many requests it answered."""
    by = [decision.answered_by or "" for decision in decisions]
    counts = {
        text: sum(text in one.removeprefix(BY).split(" + ") for one in by if one.startswith(BY)) for text in rules
    }
    return [f"{rule_words(text)} ({_used(counts[text])})" for text in rules]


def by_rule(decision: DecisionView) -> bool:
    """Whether a standing rule answered it: then nobody was asked."""
    return (decision.answered_by or "").startswith(BY)


def _used(count: int) -> str:
    return f"answered {plural(count, 'request')}" if count else "not used"
