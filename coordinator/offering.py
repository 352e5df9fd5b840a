"""An agent's own options under the operator's digits. Pure; for the card, ``--plain`` and the command line alike.

What a digit means never moves: 1 allows once, 2 denies, 3 stands for *deny, and say why* and so for nothing here. The
rest follow from 4 on in the agent's order.
"""

from collections.abc import Sequence
from typing import Final

from coordinator.drivers.asks import DecisionAsked, Json, Offer, OfferKind
from store.vocab import DecisionKind

UNCOVERED: Final = ("&&", "||", ";", "$(", "`", "|", "\n", ">", "<(")
"""Where one of these stands in a command, a rule about how it begins could not hold."""
FIRST_OF_THE_REST: Final = 4
LAST: Final = 9


def uncovered(tool_input: Json) -> str | None:
    """The part of a command that no rule could cover."""
    command = tool_input.get("command")
    if isinstance(command, list):
        command = " ".join(str(part) for part in command)
    if not isinstance(command, str):
        return None
    return next((sign for sign in UNCOVERED if sign in command), None)


def offered(decision: DecisionAsked) -> tuple[Offer, ...]:
    """The options that may be taken: one that reaches further than this request only where a rule could hold."""
    if decision.kind is not DecisionKind.PERMISSION:
        return ()
    wide = uncovered(decision.input) is None
    return tuple(offer for offer in decision.offers if wide or offer.kind is not OfferKind.ALLOW_RUN)


def numbered(offers: Sequence[Offer]) -> tuple[tuple[int, Offer], ...]:
    """Each option with its digit, in the order of the digits; what is past 9 is left out."""
    allow = next((one for one in offers if one.kind is OfferKind.ALLOW), None)
    deny = next((one for one in offers if one.kind is OfferKind.DENY), None)
    deny = deny or next((one for one in offers if one.kind is OfferKind.DENY_STOP), None)
    first = [(1, allow)] if allow else []
    first += [(2, deny)] if deny else []
    rest = [one for one in offers if one is not allow and one is not deny]
    return (*first, *zip(range(FIRST_OF_THE_REST, LAST + 1), rest, strict=False))
