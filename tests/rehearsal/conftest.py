"""A practice agent, held raw: `rehearse()` starts one in a folder of its own, and each is ended after the test."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coordinator.rehearsal import agent
from tests.fakes.stream_json import HELD, Talker

AGENT = Path(agent.__file__)
Rehearse = Callable[..., Talker]


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    folder = tmp_path / "stage"
    folder.mkdir()
    return folder


@pytest.fixture
def rehearse(tmp_path: Path, stage: Path) -> Iterator[Rehearse]:
    with contextlib.ExitStack() as held:

        def start(
            *flags: str, script: str = "plain", asks: bool = True, cwd: Path = stage, **environment: str
        ) -> Talker:
            argv = [sys.executable, "-I", str(AGENT), "--script", script, *(HELD if asks else HELD[:6]), *flags]
            variables = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
            variables |= {"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1", **environment}
            return held.enter_context(Talker(argv, cwd=cwd, environment=variables))

        yield start
