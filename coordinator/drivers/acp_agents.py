"""What is known of single agents that speak the Agent Client Protocol: where they ask a person, and where they differ.

The one table of their own ways, by the name that each says of itself. An agent that is not in it is held by the
protocol alone, and by the most careful reading of what it offers. Nothing that is true of the protocol belongs here.
"""

import re
from enum import StrEnum
from typing import Final

from msgspec import Struct

ASK: Final = "ask"
PLAN: Final = "plan"
MODES: Final = (ASK, PLAN)
"""Modes by what they mean here; each agent has names of its own for them. None that lets a model, or nobody, decide."""


class Scope(StrEnum):
    """What the ``usage`` in the answer to a prompt counts."""

    TURN = "turn"
    SESSION = "session"
    LAST = "last"
    """The last call of the model alone: the turn's own is then not known."""


class Ways(Struct, frozen=True, kw_only=True):
    """One agent's."""

    profile: str = ""
    """Name of the built-in profile that starts it."""
    ask: tuple[str, ...] = ("default", "ask", "manual")
    """Its modes in which a person is asked, the best first."""
    plan: tuple[str, ...] = ("plan",)
    usage: Scope = Scope.TURN
    tells_cost: bool | None = None
    """None: not known before it does."""
    for_run: frozenset[str] = frozenset()
    """Its allow-always options that it forgets with the session, beside those that say so by their name."""
    edits_by_mode: bool = False
    """Allowing all edits puts it into a mode in which nobody is asked about them."""
    no_ends_turn: bool = False
    """A permission that is not given ends the turn."""
    wakes: bool = False
    """It goes on by itself when a background task of its ends, and says at the end what that cost."""
    resumes: bool = True
    """False: it says that it can go on with a conversation, and cannot."""
    environment: tuple[tuple[str, str], ...] = ()
    """What makes it ask, where that is no mode of its own."""
    hidden: tuple[str, ...] = ()
    """Notifications and requests of its own (how they begin) that say nothing to a person."""
    errors_as_text: re.Pattern[str] | None = None
    """How it tells a failed turn: as the last text of one that it calls ended well, without usage."""
    broken: tuple[tuple[tuple[int, int, int], str], ...] = ()
    """(first version that works, why none before it can be held)."""


_OPENCODE_ASKS: Final = '{"bash":"ask","edit":"ask","webfetch":"ask","external_directory":"ask","doom_loop":"ask"}'

_ANY: Final = Ways()

_BY_NAME: Final[dict[str, Ways]] = {
    "gemini-cli": Ways(
        profile="gemini",
        ask=("default",),
        tells_cost=False,
        for_run=frozenset({"proceed_always", "proceed_always_server", "proceed_always_tool"}),
        edits_by_mode=True,
        resumes=False,
    ),
    "opencode": Ways(
        profile="opencode",
        # Its modes say which of its own agents works; what is asked is a matter of its configuration.
        ask=("build",),
        usage=Scope.LAST,
        tells_cost=True,
        for_run=frozenset({"always"}),
        no_ends_turn=True,
        environment=(("OPENCODE_PERMISSION", _OPENCODE_ASKS),),
    ),
    "qwen-code": Ways(
        profile="qwen",
        ask=("default",),
        tells_cost=False,
        no_ends_turn=True,
        hidden=("qwen/notify/", "craft/"),
    ),
    "@mistralai/mistral-vibe": Ways(
        profile="vibe",
        ask=("ask",),
        plan=(),
        usage=Scope.SESSION,
        tells_cost=True,
        for_run=frozenset({"allow_always"}),
    ),
    "fast-agent-acp": Ways(profile="fast-agent", ask=(), plan=(), tells_cost=False),
    "@agentclientprotocol/claude-agent-acp": Ways(
        profile="claude-agent-acp",
        ask=("default",),
        tells_cost=True,
        edits_by_mode=True,
        wakes=True,
    ),
    "@zed-industries/claude-agent-acp": Ways(
        broken=(((1000, 0, 0), "after an interrupt its answers come one message late, and its successor does not"),),
    ),
    "@zed-industries/claude-code-acp": Ways(
        broken=(((1000, 0, 0), "after an interrupt its answers come one message late, and its successor does not"),),
    ),
    "@agentclientprotocol/codex-acp": Ways(
        profile="codex-acp",
        ask=("read-only",),
        plan=(),
        tells_cost=False,
        no_ends_turn=True,
        errors_as_text=re.compile(r"""^\s*\{\s*"error"\s*:.*""", re.MULTILINE),
    ),
    "codex-acp": Ways(
        ask=("read-only",),
        plan=(),
        tells_cost=False,
        no_ends_turn=True,
    ),
}
_BY_PROFILE: Final = {ways.profile: ways for ways in _BY_NAME.values() if ways.profile}

_THIS_SESSION: Final = re.compile(r"\b(?:this|current) (?:session|run|conversation)\b", re.IGNORECASE)
_EVERY_SESSION: Final = re.compile(r"\b(?:all|future|every) (?:\w+ )?sessions?\b", re.IGNORECASE)
_NUMBERS: Final = re.compile(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?")


def ways_of(name: str, profile: str = "") -> Ways:
    """By the name that the agent says of itself; until it has, by the profile that starts it."""
    found = _BY_NAME.get(name) or _BY_NAME.get(name.lower())
    if found is not None:
        return found
    return _ANY if name else _BY_PROFILE.get(profile, _ANY)


def why_broken(ways: Ways, version: str) -> str | None:
    """Why this version cannot be held; None: it can. A version that says no numbers is taken for a new one."""
    told = _NUMBERS.match(version)
    numbers = tuple(int(part or 0) for part in told.groups()) if told else (1_000_000,)
    return next((why for works, why in ways.broken if numbers < works), None)


def is_for_run(ways: Ways, option: str, label: str) -> bool:
    """Whether an allow-always of this agent ends with the session, and is written into no file."""
    if option in ways.for_run:
        return True
    return bool(_THIS_SESSION.search(label)) and not _EVERY_SESSION.search(label)
