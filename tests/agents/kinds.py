"""The agents that are not Claude Code itself: how each is led to the pretended model, and its words for the same deed.

What an operator would have in their own configuration of it stands here, and nothing that a driver should do by
itself: which mode asks a person is not set for it where the driver can set it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from store.vocab import CostKnowledge, FailureKind
from tests.agents.install import CLAUDE_ACP, CODEX, GEMINI, OPENCODE, PINNED, Pinned

Json = dict[str, Any]
PATCH = "*** Begin Patch\n*** Add File: {path}\n+{text}\n*** End Patch\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    pinned: Pinned
    driver: str
    profile: str
    """The name of the profile that ships with Footplate."""
    prepare: Callable[[Path, str], Mapping[str, str]]
    """Writes its configuration into a home, for a model at an address; its variables come back."""
    run: Callable[[str], Json]
    """The call with which its model runs a command."""
    write: Callable[[Path, str], Json]
    """The call with which it makes a file that says this."""
    cost: CostKnowledge
    """How the cost of a turn of it is known."""
    failing: tuple[int, FailureKind]
    """What its model may answer so that it gives up at once, and what that is then called."""
    resumes: bool = True
    """Whether it goes on in a conversation of another process."""
    needs: tuple[Pinned, ...] = ()
    """What it is built upon."""

    def __str__(self) -> str:
        return self.profile


def codex_home(home: Path, url: str) -> Mapping[str, str]:
    folder = home / ".codex"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(
        f"""
model = "gpt-5.5"
model_provider = "loopback"
check_for_update_on_startup = false
[model_providers.loopback]
name = "Loopback"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 1
[analytics]
enabled = false
[otel]
exporter = "none"
[feedback]
enabled = false
"""
    )
    return {"OPENAI_API_KEY": "dummy", "CODEX_HOME": str(folder)}


def opencode_home(home: Path, url: str) -> Mapping[str, str]:
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    cost = {"input": 3, "output": 15}
    model = {
        "name": "Loopback",
        "limit": {"context": 200_000, "output": 8000},
        "cost": cost,
        "tool_call": True,
        "attachment": True,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Loopback",
        "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
        "models": {"loopback": model},
    }
    told = {
        "model": "loopback/loopback",
        "small_model": "loopback/loopback",
        "provider": {"loopback": provider},
        "enabled_providers": ["loopback"],
        "autoupdate": False,
        "share": "disabled",
    }
    (folder / "opencode.json").write_text(json.dumps(told))
    return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def gemini_home(home: Path, url: str) -> Mapping[str, str]:
    folder = home / ".gemini"
    folder.mkdir(parents=True, exist_ok=True)
    told = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
        "model": {"name": "gemini-2.5-flash"},
    }
    (folder / "settings.json").write_text(json.dumps(told))
    return {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": url}


def claude_home(home: Path, url: str) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "CLAUDE_CODE_EXECUTABLE": str(PINNED[-1].binary),
    }


CODEX_KIND = Kind(
    pinned=CODEX,
    driver="codex",
    profile="codex",
    prepare=codex_home,
    run=lambda command: {"name": "exec_command", "input": {"cmd": command, "yield_time_ms": 30_000}},
    write=lambda path, text: {"name": "apply_patch", "input": PATCH.format(path=path, text=text)},
    cost=CostKnowledge.GUESS,
    failing=(401, FailureKind.AUTHENTICATION),
)
OPENCODE_KIND = Kind(
    pinned=OPENCODE,
    driver="acp",
    profile="opencode",
    prepare=opencode_home,
    run=lambda command: {"name": "bash", "input": {"command": command, "description": "run it"}},
    write=lambda path, text: {"name": "write", "input": {"filePath": str(path), "content": text}},
    cost=CostKnowledge.REPORTED,
    # It passes on its provider's words and no more.
    failing=(401, FailureKind.UNKNOWN),
)
GEMINI_KIND = Kind(
    pinned=GEMINI,
    driver="acp",
    profile="gemini",
    prepare=gemini_home,
    run=lambda command: {"name": "run_shell_command", "input": {"command": command, "description": "run it"}},
    write=lambda path, text: {"name": "write_file", "input": {"file_path": str(path), "content": text}},
    cost=CostKnowledge.UNKNOWN,
    failing=(401, FailureKind.AUTHENTICATION),
    # It says that it does, and finds none of those that it wrote.
    resumes=False,
)
CLAUDE_ACP_KIND = Kind(
    pinned=CLAUDE_ACP,
    driver="acp",
    profile="claude-agent-acp",
    prepare=claude_home,
    run=lambda command: {"name": "Bash", "input": {"command": command, "description": "run it"}},
    write=lambda path, text: {"name": "Write", "input": {"file_path": str(path), "content": text}},
    cost=CostKnowledge.REPORTED,
    # It tries again for minutes where it is not let in.
    failing=(400, FailureKind.UNKNOWN),
    needs=PINNED[-1:],
)
KINDS = (CODEX_KIND, OPENCODE_KIND, GEMINI_KIND, CLAUDE_ACP_KIND)
