"""What a kind of agent can do, as its driver declares it: the screens show dead what is false, and say that it is.

No behaviour stands here; what the machine makes of it is the machine's.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct

FAREWELL_PAUSE: Final = 1.0
"""Seconds of silence. Measured: of several agents the result of an interrupted turn comes within a tenth on an idle
machine, half a second after the line before it on a very busy one, and never after EOF."""


class CostBasis(StrEnum):
    """How it is known what a turn costs."""

    TOLD = "told"
    """The agent says so with each turn."""
    ROUGHLY = "roughly"
    """Well enough for a limit: reckoned, or told now and then; ``Capabilities.cost_note`` says how."""
    UNTOLD = "not told"
    """Nobody says, so that no limit of money could hold."""


class Capabilities(Struct, frozen=True, kw_only=True):
    """What this kind of agent can do; the console shows dead what is false, with that reason."""

    reports_cost: bool
    """Each result tells what the process has cost so far; one that does not is a fault that ends the hold."""
    asks_permission: bool
    asks_questions: bool
    interrupts: bool
    resumes: bool
    streams_text: bool
    raises_cap_live: bool
    modes: tuple[str, ...] = ()
    """Modes that the operator may choose, first the one in which a person is asked."""
    sets_model: bool = False
    takes_images: bool = False
    cost_note: str = ""
    """Where it reports no cost: what stands in its place, for the terms (``estimated from the prices of …``)."""
    farewell_ends: bool = True
    """Its farewell ends the process. Where it does not, the end of its input follows soon after."""
    terminal: bool = False
    """Held on a pseudo-terminal: its bytes are a screen, and only a prompt and silence tell that a turn ended."""
    own_screen: tuple[tuple[str, str], ...] = ()
    """Slash commands that work on the agent's own screen only, and what to do instead. One that the agent lists as its
    own here is not meant."""

    @property
    def farewell_pause(self) -> float | None:
        """Seconds from its answer to the farewell to the end of its input; None: as long as the ladder has."""
        return None if self.farewell_ends else FAREWELL_PAUSE

    @property
    def cost(self) -> CostBasis:
        if self.reports_cost:
            return CostBasis.TOLD
        return CostBasis.ROUGHLY if self.cost_note else CostBasis.UNTOLD
