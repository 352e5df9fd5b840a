"""The flight of the fault matrix with a real Claude Code: the same pilot and the same witnesses, its own brief."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from coordinator.profiles import builtin
from store.vocab import RunId
from tests.children import noting_proxy
from tests.coordinator.held import Holding, bash, script
from tests.faults import flight
from tests.faults.dooming import Doom

QUESTION = {
    "question": "How far?",
    "header": "Far",
    "options": [{"label": "near", "description": "by"}, {"label": "far", "description": "off"}],
    "multiSelect": False,
}
MAILBOX = f"mkdir -p .footplate/1 && printf %s '{json.dumps(flight.PARK)}' > .footplate/1/decision.json"
BRIEF = "go " + script(
    {"text": "first", **bash(f"echo once >> {flight.RAN}", description="note it")},
    {"tools": [{"name": "AskUserQuestion", "input": {"questions": [QUESTION]}}]},
    bash(MAILBOX, description="ask"),
    {"text": "I wait"},
)
"""As the practice agent's, by the means that a real one has."""
PATIENCE = 25.0
"""A real one takes its time to start, the more beside other tests."""


def program(folder: Path, binary: Path) -> Path:
    """What is started as the agent: the binary, with its streams noted."""
    made = folder / "noted"
    if not made.exists():
        source = Path(noting_proxy.__file__).read_text()
        made.write_text(f"#!{sys.executable} -I\nBINARY = {str(binary)!r}\n{source}")
        made.chmod(0o700)
    return made


@asynccontextmanager
async def house(
    folder: Path, binary: Path, environment: Mapping[str, str], *, doom: Doom | None = None, **more: object
) -> AsyncIterator[Holding]:
    """``more``: of ``holding``."""
    claude = builtin({**environment, "FOOTPLATE_CLAUDE": str(program(folder, binary))})[0]
    # Under the name that the flight asks for.
    profiles = (replace(claude, name="practice"),)
    if doom is not None:
        doom.agent = str(binary)
    async with flight.house(folder, doom=doom, profiles=profiles, environment=environment, **more) as held:
        yield held


class Pilot(flight.Pilot):
    """The same, with more patience."""

    def __init__(self, held: Holding, ending: str) -> None:
        super().__init__(held, ending, patience=PATIENCE)


async def start(held: Holding) -> RunId:
    return await held.start(BRIEF, script="")
