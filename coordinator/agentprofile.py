"""What an agent profile is: how one kind of agent is run. Which there are stands in ``builtinagents`` and in the
operator's ``agents.toml`` (``agentsfile``); whether they can be run here is looked at in ``profiles``."""

from typing import Final

from msgspec import Struct

from store.vocab import Billing

SHARED: Final = "shared"
PER_RUN: Final = "per-run"


class AgentProfile(Struct, frozen=True, kw_only=True):
    name: str
    driver: str
    program: str
    """Name to look for on PATH, or an absolute path."""
    title: str = ""
    """For a person: ``Claude Code``."""
    args: tuple[str, ...] = ()
    """Added to what the driver gives."""
    env_allow: tuple[str, ...] = ()
    """Names or patterns that are let through though they look like secrets."""
    env_deny: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    """Variables set for it, whatever the operator's environment says."""
    billing: Billing = Billing.KEY
    model: str | None = None
    mode: str | None = None
    """None: the driver's own, in which a person is asked."""
    spared: tuple[str, ...] = ()
    """Shared daemons that an ending leaves alone."""
    home: str = SHARED
    """``shared``: as the operator has it; ``per-run``: one for each run, which goes with its receipt."""
    install: str = ""
    """The command that gets it."""
    version_args: tuple[str, ...] = ("--version",)
    """What makes it tell its version and end; empty: it is not asked."""
    tried: tuple[int, ...] = ()
    """The version that Footplate was tried with; an older one may be held, and is said to be older."""
    caution: str = ""
    """What an operator should know before choosing it: a line, in words."""
    prompt: str = ""
    """Of a program held on a terminal: pattern of the line with which it waits for input; '': silence alone tells."""
    quiet_ms: int | None = None
    """Of a program held on a terminal: so long silent, and its turn is over; None: the driver's own measure."""
    quit: str = ""
    """Of a program held on a terminal: what ends it when typed; '': the end of its input."""
