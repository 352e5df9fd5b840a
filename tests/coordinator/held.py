"""A coordinator on a scratch house, with the practice agent as a real process: what the tests of holding begin with."""

import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from coordinator.api import OperatorCommand, Proposal, Propose, Reply, SessionView, Started, StartRun
from coordinator.clock import Clock, RealClock
from coordinator.constants import Timing
from coordinator.coordinator import Coordinator
from coordinator.custody.types import Ladder
from coordinator.house import HouseSettings
from coordinator.ids import RealIds
from coordinator.profiles import AgentProfile, load
from store.db import Ledger
from store.refusal import Refusal
from store.vocab import RunId, TurnState
from tests.waiting import eventually

QUICK = Timing(
    hold_seconds=20.0,
    hold_renewal=0.2,
    ladder=Ladder(farewell=1.0, eof=0.5, term=0.5, total=5.0, not_dying=2.0),
    close_deadline=10.0,
    command_poll=0.1,
    interrupt=2.0,
)


def repository(folder: Path) -> Path:
    """A git repository with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    for command in (
        ["git", "init", "-q", "-b", "main"],
        [
            "git",
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@example.invalid",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "one",
        ],
    ):
        subprocess.run(command, cwd=folder, check=True, env=environment, capture_output=True)
    return folder


class Holding:
    """A coordinator and the few words with which a test drives it."""

    def __init__(self, coordinator: Coordinator, tree: Path) -> None:
        self.coordinator = coordinator
        self.tree = tree

    async def do(self, command: OperatorCommand) -> Reply:
        return await self.coordinator.handle(command)

    async def start(self, brief: str, *, agent: str = "practice", **terms: object) -> RunId:
        started = await self.try_start(brief, agent=agent, **terms)
        assert isinstance(started, Started), started
        return started.run

    async def try_start(self, brief: str, *, agent: str = "practice", **terms: object) -> Reply:
        proposal = await self.do(
            Propose(instruction=brief, repository=str(self.tree), agent=agent, preamble=False, worktree=False)
        )
        assert isinstance(proposal, Proposal), proposal
        given = {"script": "plain" if agent == "practice" else "", **terms}
        return await self.do(StartRun(terms=replace(proposal.terms, **given)))  # type: ignore[arg-type]

    def view(self, run: RunId) -> SessionView | None:
        return next((view for view in self.coordinator.snapshot().sessions if view.run == run), None)

    async def until(self, run: RunId, look: Callable[[SessionView], object], timeout: float = 15.0) -> SessionView:
        def seen() -> SessionView | None:
            view = self.view(run)
            return view if view is not None and look(view) else None

        try:
            return await eventually(seen, timeout) or self._never()
        except AssertionError:
            raise AssertionError(f"never seen; last: {self.view(run)}") from None

    async def settled(self, run: RunId, turns: int = 1) -> SessionView:
        """Once so many turns began and the last of them has ended."""
        return await self.until(run, lambda v: len(v.turns) == turns and v.turns[-1].state is TurnState.SETTLED)

    def _never(self) -> SessionView:
        raise AssertionError("unreachable")


def agents_of(folder: Path, environment: Mapping[str, str]) -> tuple[AgentProfile, ...]:
    """The built-in ones, and those of an ``agents.toml`` there."""
    found = load(folder / "agents.toml", environment)
    assert not isinstance(found, Refusal), found
    return found


@asynccontextmanager
async def holding(
    folder: Path,
    *,
    timing: Timing = QUICK,
    profiles: tuple[AgentProfile, ...] | None = None,
    environment: dict[str, str] | None = None,
    ids: RealIds | None = None,
    clock: Clock | None = None,
    **more: object,
) -> AsyncIterator[Holding]:
    """``more``: other settings of the house."""
    tree = folder / "tree"
    if not tree.exists():
        repository(tree)
    source = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "FOOTPLATE_REHEARSAL_PACE": "0"}
    settings = HouseSettings(
        operator="Ada",
        machine="test-machine",
        uid=os.getuid(),
        spool=folder / "spool",
        worktrees=folder / "worktrees",
        runtime=folder / "run",
        environment={**source, **(environment or {})},
        timing=timing,
    )
    settings = replace(settings, **more)  # type: ignore[arg-type]
    clock, ids = clock or RealClock(), ids or RealIds()
    ledger = await Ledger.open(folder / "ledger.db", now=clock.now, machine="test-machine", ledger_id=ids.secret)
    assert not isinstance(ledger, Refusal), ledger
    try:
        async with Coordinator.opened(
            settings=settings,
            profiles=profiles or agents_of(folder, settings.environment),
            ledger=ledger,
            clock=clock,
            ids=ids,
            repository=tree,
        ) as coordinator:
            yield Holding(coordinator, tree)
    finally:
        await ledger.close()


def script(*steps: dict[str, object]) -> str:
    """Steps of the practice agent, to stand in a turn's text."""
    return f"@@{json.dumps({'steps': list(steps)})}@@"


def bash(command: str, **more: object) -> dict[str, object]:
    return {"tools": [{"name": "Bash", "input": {"command": command, **more}}]}
