"""What of the operator's environment an agent is given. Pure: a mapping in, a mapping out.

An agent runs commands that a model chose, and prints what it sees; so what looks like a secret stays behind unless
the profile lets it through, and what would tie the agent to the operator's own terminal or console always does. The
nonce of the hold is not set here (the supervisor adds it), and what is redacted is decided in ``redaction``.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Protocol

ALWAYS_LEFT_BEHIND: tuple[str, ...] = (
    # the operator's own terminal and multiplexer: a key sent there would come from the operator
    "TMUX",
    "TMUX_*",
    "STY",
    "ZELLIJ*",
    "KITTY_LISTEN_ON",
    "WEZTERM_UNIX_SOCKET",
    "WINDOWID",
    # the console's
    "FOOTPLATE_*",
    "NOTIFY_SOCKET",
    "LISTEN_FDS",
    "LISTEN_PID",
    # another agent's, when the console itself was started by one
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXIT_AFTER_STOP_DELAY",
    "CLAUDE_CODE_MESSAGING_*",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PID",
    # what the console's own Python was started with is not meant for the agent's
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "VIRTUAL_ENV_PROMPT",
)
"""Names and patterns that no profile lets through."""

LOOKS_SECRET: tuple[str, ...] = (
    "*TOKEN",
    "*TOKEN_*",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*_PASS",
    "*API_KEY*",
    "*APIKEY*",
    "*ACCESS_KEY*",
    "*PRIVATE_KEY*",
    "*CREDENTIAL*",
    "*_PAT",
    "*_DSN",
    "*_AUTH",
    "*DATABASE_URL",
    "*_CONNECTION_STRING",
    "*WEBHOOK_URL*",
    "PGPASSFILE",
    "NETRC",
    "VAULT_ADDR",
    "GPG_PASSPHRASE",
    "KUBECONFIG",
)
"""Left behind unless the profile allows the name."""


class _Profile(Protocol):
    @property
    def env_allow(self) -> tuple[str, ...]: ...

    @property
    def env_deny(self) -> tuple[str, ...]: ...

    @property
    def env(self) -> tuple[tuple[str, str], ...]: ...


def agent_environment(
    source: Mapping[str, str],
    profile: _Profile,
    driver_set: Mapping[str, str] | None = None,
    driver_drop: Iterable[str] = (),
) -> dict[str, str]:
    """``source`` without what is not for an agent, and with what its driver needs.

    The order of who wins: what is always left behind, then the driver, then what the profile sets, then its
    ``env_deny``, then its ``env_allow``, then what looks like a secret.
    """
    dropped = frozenset(driver_drop)
    given = {
        name: value
        for name, value in source.items()
        if name not in dropped and not matches(name, ALWAYS_LEFT_BEHIND) and _passes(name, profile)
    }
    for name, value in {**dict(profile.env), **(driver_set or {})}.items():
        if not matches(name, ALWAYS_LEFT_BEHIND) or name.startswith("CLAUDE"):
            given[name] = value
    return given


def matches(name: str, patterns: Iterable[str]) -> bool:
    """By capitals: ``github_token`` is as secret as ``GITHUB_TOKEN``."""
    upper = name.upper()
    return any(fnmatchcase(upper, pattern.upper()) for pattern in patterns)


def _passes(name: str, profile: _Profile) -> bool:
    if matches(name, profile.env_deny):
        return False
    return matches(name, profile.env_allow) or not matches(name, LOOKS_SECRET)
