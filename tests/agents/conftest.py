"""What the tests of real agents stand on: the binaries, the pretended model, and a home that leads nowhere else.

`make agents` installs the binaries. Where one is missing its tests are skipped, loudly: a suite that is green because
nothing ran must not look like one that held.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agents.install import PINNED, Pinned
from tests.agents.surroundings import lonely
from tests.fakes.loopback_model import LoopbackModel


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


def installed(*wanted: Pinned) -> None:
    """Skips the test where one of them is not."""
    missing = [str(pinned) for pinned in wanted if not pinned.binary.is_file()]
    if missing:
        line = f"AGENT MISSING: {', '.join(missing)} is not installed, nothing was tested on it; run `make agents`"
        warnings.warn(line, stacklevel=2)
        pytest.skip(line)


@pytest.fixture(params=PINNED, ids=lambda pinned: pinned.version)
def claude_binary(request: pytest.FixtureRequest) -> Binary:
    pinned: Pinned = request.param
    installed(pinned)
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
    environment = {
        **lonely(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": loopback.url,
        "ANTHROPIC_API_KEY": "dummy",
    }
    return AgentHome(home=home, repository=repository, environment=environment)
