"""Which versions of agents cannot be held, each with the reason, and which are older than the one that was tried.

What was measured, and of agents behind the Agent Client Protocol what ``acp_agents`` knows. Pure: whoever looks at this
machine gives version and package.
"""

import re
from typing import Final

from msgspec import Struct

from coordinator.agentprofile import AgentProfile
from coordinator.drivers import acp_agents

OLDEST_CLAUDE: Final = (2, 1, 197)
"""The oldest Claude Code whose protocol was measured."""


class Unfit(Struct, frozen=True, kw_only=True):
    """Why a version cannot be held."""

    problem: str = ""
    """In words; empty where it is only too old."""
    oldest: tuple[int, ...] = ()
    """The first version that can be held; empty where none can."""


def unfit(profile: AgentProfile, version: str | None, package: str | None) -> Unfit | None:
    """None: it may be held. ``package``: the npm package that the program belongs to, where it does."""
    numbers = version_numbers(version or "")
    if profile.driver == "claude" and (numbers is None or numbers < OLDEST_CLAUDE):
        return Unfit(oldest=OLDEST_CLAUDE)
    if profile.driver == "acp" and package is not None:
        # Packages go by the names that their agents say of themselves.
        why = acp_agents.why_broken(acp_agents.ways_of(package), version or "")
        return Unfit(problem=why) if why is not None else None
    return None


def older_than_tried(profile: AgentProfile, version: str | None) -> bool:
    """It may be held, and nobody tried."""
    numbers = version_numbers(version or "")
    return bool(profile.tried) and numbers is not None and numbers < profile.tried


def version_numbers(version: str) -> tuple[int, ...] | None:
    """``2.1.332 (Claude Code)`` as numbers to compare."""
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", version)
    return tuple(int(part) for part in found.groups()) if found else None


def in_short(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
