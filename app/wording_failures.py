"""What went wrong in an agent, as an operator reads it: one sentence for each kind of failure, and one remedy, which
for some agents is a command of their own. Reached through ``app.wording``.

What is before the colon stands alone where there is little room. An agent's own words are never repeated here: they
are shown beside.
"""

from app.wording_measures import clock
from store.vocab import FailureKind

_F = FailureKind

_WHAT: dict[FailureKind, str] = {
    _F.AUTHENTICATION: "the agent is not signed in",
    _F.BILLING: "the agent's account has no credit left",
    _F.RATE_LIMITED: "the account's limit is reached",
    _F.OVERLOADED: "the model's service is overloaded",
    _F.TRANSIENT: "the connection to the model broke",
    _F.BUDGET: "the agent stopped at its own money limit",
    _F.MAX_TURNS: "the agent stopped at its own turn limit",
    _F.CONTEXT_FULL: "the conversation no longer fits the model",
    _F.MODEL_NOT_FOUND: "the model is not known to the account",
    _F.REFUSED: "the model refused to answer",
    _F.NOT_INSTALLED: "a program that the agent needs is not installed",
    _F.UNKNOWN: "the agent reported an error that is not known here",
}

_REMEDY: dict[FailureKind, str] = {
    _F.AUTHENTICATION: "run it once by itself and sign in, then try again",
    _F.BILLING: "add some, then start again",
    _F.RATE_LIMITED: "start again when it resets",
    _F.OVERLOADED: "try again in a few minutes",
    _F.TRANSIENT: "say it again, or start again",
    _F.BUDGET: "extend the budget, or finish",
    _F.MAX_TURNS: "say how to go on",
    _F.CONTEXT_FULL: "start a new run, and say in its brief what it must know",
    _F.MODEL_NOT_FOUND: "choose another one",
    _F.REFUSED: "say it in other words",
    _F.NOT_INSTALLED: "install it, then start again",
    _F.UNKNOWN: "its own words are in the transcript",
}

_SIGN_IN: dict[str, str] = {
    "claude": "run claude and sign in with /login",
    "claude-agent-acp": "run claude and sign in with /login",
    "codex": "run codex login",
    "codex-acp": "run codex login",
    "gemini": "run gemini once and choose how to sign in, or set GEMINI_API_KEY",
    "opencode": "run opencode auth login",
    "qwen": "run qwen and sign in with /auth",
    "vibe": "run vibe --setup, or set MISTRAL_API_KEY",
    "fast-agent": "set the key of its model's provider, as fast-agent's own help names it",
    "aider": "set the key of its model's provider, as aider's own help names it",
}

_OF_AGENT: dict[tuple[FailureKind, str], str] = {
    (_F.BILLING, "claude"): "add some, or sign in with a subscription (/login in claude), then start again",
    (_F.BILLING, "codex"): "add some, or sign in with a subscription (codex login), then start again",
    (_F.RATE_LIMITED, "claude"): "start again when it resets; /usage in claude says when",
    (_F.RATE_LIMITED, "codex"): "start again when it resets; /status in codex says when",
    (_F.CONTEXT_FULL, "claude"): "say /compact, or start a new run",
    (_F.CONTEXT_FULL, "claude-agent-acp"): "say /compact, or start a new run",
    (_F.MODEL_NOT_FOUND, "claude"): "choose another one; /model in claude lists them",
    (_F.MODEL_NOT_FOUND, "codex"): "choose another one; /model in codex lists them",
    (_F.MODEL_NOT_FOUND, "opencode"): "choose another one; opencode models lists them",
}


def failure(kind: FailureKind, agent: str = "", *, resets_at: int | None = None) -> str:
    """What went wrong and what to do. ``agent``: the profile's name. ``resets_at``: Unix seconds, where told."""
    what = _WHAT[kind]
    if kind is FailureKind.AUTHENTICATION and agent in _SIGN_IN:
        return f"{what}: {_SIGN_IN[agent]}, then try again"
    if kind is FailureKind.RATE_LIMITED and resets_at:
        return f"{what}: it resets at {clock(resets_at * 1000)}, start again then"
    return f"{what}: {_OF_AGENT.get((kind, agent), _REMEDY[kind])}"


def failure_in_short(kind: FailureKind) -> str:
    """What went wrong, without the remedy."""
    return _WHAT[kind]


def sign_in(agent: str) -> str:
    """How to sign in with this agent, as something to do."""
    return _SIGN_IN.get(agent, "run it once by itself and sign in")
