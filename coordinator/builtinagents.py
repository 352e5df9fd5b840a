"""The agents that Footplate knows without being told: what starts each, what of the environment it may see, who pays.

Facts, measured with the versions named, and nothing that looks at this machine but the environment it is given. What an
operator changes of them is in ``agents.toml``; which versions cannot be held is in ``knownversions``.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from coordinator.agentprofile import AgentProfile
from store.vocab import Billing

PRACTICE = "practice"
FIXED_STORY = "it plays a fixed story and reads neither your request nor your files"
INFERRED = "when its turns begin and end is told from its prompt and its silence alone"
"""What a program on a terminal, whatever it is, says of its turns."""
UNTRIED = "it was not tried with this version: whether it asks before it acts is up to the agent"
"""Of an agent that only a table of ``agents.toml`` knows."""
CLAUDE_VARIABLE = "FOOTPLATE_CLAUDE"
"""Names the claude program to take, for tests and for several versions side by side."""

_CLAUDE_ENV = ("ANTHROPIC_*", "CLAUDE_*", "AWS_*", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUD_ML_*", "VERTEX_*")
_OPENAI_ENV = ("OPENAI_*", "AZURE_OPENAI_*", "CODEX_*")
_GOOGLE_ENV = ("GEMINI_*", "GOOGLE_*")
_ANY_MODEL_ENV = (
    *("ANTHROPIC_*", "OPENAI_*", "AZURE_*", "GEMINI_*", "GOOGLE_*", "VERTEX_*", "AWS_*", "OPENROUTER_*", "MISTRAL_*"),
    *("GROQ_*", "DEEPSEEK_*", "XAI_*", "CEREBRAS_*", "TOGETHER_*", "FIREWORKS_*", "OLLAMA_*", "HF_TOKEN"),
)
"""For agents that take the models of any provider: what their makers call the keys."""


def builtin(source: Mapping[str, str]) -> tuple[AgentProfile, ...]:
    """All of them, whether their programs are here or not. ``source``: the operator's environment.

    Claude Code and the practice agent come first: they are what a first start falls back on.
    """
    return (_claude(source), _practice(), *_protocols(source), *_adapters(source), *_terminals())


def _claude(source: Mapping[str, str]) -> AgentProfile:
    return AgentProfile(
        name="claude",
        title="Claude Code",
        driver="claude",
        program=source.get(CLAUDE_VARIABLE) or "claude",
        env_allow=_CLAUDE_ENV,
        billing=_claude_billing(source),
        install="npm install -g @anthropic-ai/claude-code",
        tried=(2, 1, 332),
    )


def _practice() -> AgentProfile:
    return AgentProfile(
        name=PRACTICE,
        title="The practice agent",
        driver="rehearsal",
        program=sys.executable,
        args=(
            "-I",
            str(Path(__file__).resolve().parent / "rehearsal" / "agent.py"),
        ),
        billing=Billing.PRACTICE,
        caution=FIXED_STORY,
    )


def _protocols(source: Mapping[str, str]) -> tuple[AgentProfile, ...]:
    """Agents that are held in a protocol of their own, or speak the Agent Client Protocol themselves."""
    return (
        AgentProfile(
            name="codex",
            title="Codex",
            driver="codex",
            program="codex",
            env_allow=_OPENAI_ENV,
            billing=_codex_billing(source),
            install="npm install -g @openai/codex",
            tried=(0, 171, 0),
        ),
        AgentProfile(
            name="gemini",
            title="Gemini CLI",
            driver="acp",
            program="gemini",
            args=("--acp",),
            env_allow=_GOOGLE_ENV,
            billing=_with_key(source, "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"),
            install="npm install -g @google/gemini-cli",
            tried=(0, 61, 0),
            caution="commands that it takes for reading only run without asking",
        ),
        AgentProfile(
            name="opencode",
            title="OpenCode",
            driver="acp",
            program="opencode",
            args=("acp",),
            env_allow=("OPENCODE_*", *_ANY_MODEL_ENV),
            install="npm install -g opencode-ai",
            tried=(1, 18, 33),
        ),
        AgentProfile(
            name="qwen",
            title="Qwen Code",
            driver="acp",
            program="qwen",
            args=("--acp",),
            env_allow=("QWEN_*", "DASHSCOPE_*", "BAILIAN_*", "OPENAI_*"),
            billing=_with_key(source, "OPENAI_API_KEY", "DASHSCOPE_API_KEY"),
            install="npm install -g @qwen-code/qwen-code",
            tried=(0, 24, 4),
        ),
        AgentProfile(
            name="vibe",
            title="Mistral Vibe",
            driver="acp",
            program="vibe-acp",
            env_allow=("MISTRAL_*", "VIBE_*"),
            install="uv tool install mistral-vibe",
            tried=(3, 0, 2),
        ),
        AgentProfile(
            name="fast-agent",
            title="fast-agent",
            driver="acp",
            program="fast-agent-acp",
            env_allow=("FAST_AGENT_*", *_ANY_MODEL_ENV),
            install="uv tool install fast-agent-mcp",
            tried=(0, 10, 48),
            caution="with its own shell switched on (-x) it runs commands and writes files without asking",
        ),
    )


def _adapters(source: Mapping[str, str]) -> tuple[AgentProfile, ...]:
    """The same agents a second time, behind an adapter that speaks the Agent Client Protocol for them."""
    return (
        AgentProfile(
            name="claude-agent-acp",
            title="Claude Code (ACP)",
            driver="acp",
            program="claude-agent-acp",
            env_allow=_CLAUDE_ENV,
            billing=_claude_billing(source),
            install="npm install -g @agentclientprotocol/claude-agent-acp",
            tried=(0, 101, 0),
            caution="Footplate holds claude itself more closely than through this adapter",
        ),
        AgentProfile(
            name="codex-acp",
            title="Codex (ACP)",
            driver="acp",
            program="codex-acp",
            env_allow=_OPENAI_ENV,
            billing=_codex_billing(source),
            install="npm install -g @agentclientprotocol/codex-acp",
            tried=(2, 6, 0),
            caution="an interrupt ends its turn and not the command that runs; codex itself has both ended",
        ),
    )


def _terminals() -> tuple[AgentProfile, ...]:
    """Programs with a prompt. They ask nothing and tell no cost, so none is ever chosen by itself."""
    return (
        AgentProfile(
            name="bash",
            title="bash",
            driver="pty",
            program="bash",
            args=("--norc", "-i"),
            env=(("HISTFILE", "/dev/null"),),  # what is typed here is in the ledger, and not in the operator's history
            prompt=r"[$#] |^> ",
            quit="exit",
            caution=INFERRED,
        ),
        AgentProfile(
            name="python",
            title="Python",
            driver="pty",
            program="python3",
            args=("-q", "-i"),
            env=(("PYTHON_BASIC_REPL", "1"),),  # from 3.13 on the other one edits whole blocks, and waits in them
            prompt=r"^(?:>>>|\.\.\.) ",
            quit="exit()",
            caution=INFERRED,
        ),
        AgentProfile(
            name="aider",
            title="Aider",
            driver="pty",
            program="aider",
            # Else it asks about the repository, and shows news, before it is there to be asked anything.
            args=("--no-gitignore", "--no-check-update", "--no-show-release-notes", "--no-analytics"),
            prompt=r"^[\w ]*> ",
            quit="/exit",
            caution=INFERRED,
            env_allow=("AIDER_*", *_ANY_MODEL_ENV),
            install="uv tool install aider-chat",
        ),
    )


def _with_key(source: Mapping[str, str], *names: str) -> Billing:
    return Billing.KEY if any(source.get(name) for name in names) else Billing.SUBSCRIPTION


def _claude_billing(source: Mapping[str, str]) -> Billing:
    # With a key, or through a cloud's own billing, each token is money; else the account's subscription pays.
    cloud = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")
    return _with_key(source, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", *cloud)


def _codex_billing(source: Mapping[str, str]) -> Billing:
    """By how codex is signed in, where it says so: a key in the environment alone is not what it goes by."""
    home = source.get("CODEX_HOME") or (str(Path(source["HOME"]) / ".codex") if source.get("HOME") else "")
    try:
        told = json.loads((Path(home) / "auth.json").read_bytes()) if home else None
    except (OSError, ValueError):
        told = None
    mode = told.get("auth_mode") if isinstance(told, dict) else None
    if isinstance(mode, str):
        return Billing.KEY if mode.lower() == "apikey" else Billing.SUBSCRIPTION
    return _with_key(source, "OPENAI_API_KEY", "CODEX_API_KEY")
