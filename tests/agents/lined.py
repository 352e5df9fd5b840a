"""The line of the fault tests with a real Claude Code: the same ten tasks and the same witnesses, its own tool.

What the practice agent pretends stands in ``tests/faults/queueing.py``; here is only what a real one is told and how
it is started, so that the two scenes cannot drift apart.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from tests.agents import noted
from tests.coordinator.held import Holding
from tests.faults import queueing
from tests.faults.queueing import Part

PATIENCE = 90.0
"""Seconds for what is left of ten tasks: a real one takes its time to start, the more beside other tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(Part):
    """One task of the scene, in the words of a real agent's model."""

    refused: Mapping[str, object] | None = None
    """How its first call fails, so many times as that says."""

    @property
    def instruction(self) -> str:
        # A name below its own working tree, which nobody knows when the task is put in line.
        write = {"name": "Write", "input": {"file_path": f"{self.name}.txt", "content": self.name}}
        first = {"text": "on it", "delay": 0.2, "tools": [write]}
        if self.refused is not None:
            first["fail"] = self.refused
        told = {"id": self.name, "steps": [first, {"text": "so far, and done", "chunks": 3, "slow": 0.1}]}
        return f"part {self.name}: @@{json.dumps(told)}@@"


TEN = tuple(Told(**{one.name: getattr(part, one.name) for one in fields(part)}) for part in queueing.TEN)


@asynccontextmanager
async def house(folder: Path, binary: Path, environment: Mapping[str, str], **more: object) -> AsyncIterator[Holding]:
    """``more``: of ``holding``."""
    async with noted.house(folder, binary, environment, max_held_sessions=queueing.SLOTS, **more) as held:
        yield held


async def to_the_end(held: Holding, folder: Path) -> None:
    await queueing.to_the_end(held, folder, TEN, patience=PATIENCE, script="")
