"""What the tests of real agents stand on: the binaries, the pretended model, and a home that leads nowhere else.

`make agents` installs the binaries. Where one is missing its tests are skipped, loudly: a suite that is green because
nothing ran must not look like one that held.
"""

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agents.install import PINNED
from tests.fakes.loopback_model import LoopbackModel

DEAD_PROXY = "http://127.0.0.1:9"
"""Nothing listens there: whatever tries to leave loopback fails at once instead of going out."""
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    path: Path
    version: str
    generation: str
    """``197`` or ``332``: which of the two measured ways of speaking it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHome:
    """Where an agent runs in a test."""

    home: Path
    repository: Path
    environment: dict[str, str]


@pytest.fixture(params=PINNED, ids=lambda pinned: pinned.version)
def claude_binary(request: pytest.FixtureRequest) -> Binary:
    pinned = request.param
    if not pinned.binary.is_file():
        line = (
            f"AGENT MISSING: Claude Code {pinned.version} is not installed, nothing was tested on it; run `make agents`"
        )
        warnings.warn(line, stacklevel=1)
        pytest.skip(line)
    return Binary(path=pinned.binary, version=pinned.version, generation=pinned.generation)


@pytest.fixture
def loopback() -> Iterator[LoopbackModel]:
    with LoopbackModel() as model:
        yield model


@pytest.fixture
def agent_home(tmp_path: Path, loopback: LoopbackModel) -> AgentHome:
    home, repository = tmp_path / "home", tmp_path / "repository"
    for folder in (home, repository, home / ".claude", home / "tmp"):
        folder.mkdir()
    proxies = dict.fromkeys(
        ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), DEAD_PROXY
    )
    environment = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": loopback.url,
        "ANTHROPIC_API_KEY": "dummy",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        **proxies,
        **QUIET,
    }
    return AgentHome(home=home, repository=repository, environment=environment)
