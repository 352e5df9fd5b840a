"""The only place that builds concrete things: configuration to ledger to coordinator to front end.

``open_backend`` is a console: it holds sessions. ``open_desk`` is what a command has that only orders something of the
queue: it works beside any console and without one, holds nothing and begins nothing.
"""

import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from msgspec.structs import replace

from app import logs
from app.config import Config, operator_name
from app.paths import Paths
from app.platforms import untried
from coordinator import pricefile
from coordinator.house import HouseSettings
from coordinator.profiles import AgentProfile
from coordinator.supervisor.kernel import kernel
from coordinator.tasks import desk
from coordinator.tasks.desk import CommandDesk
from coordinator.thread import CoordinatorThread
from store.refusal import Fact, Refusal
from store.vocab import RefusalReason

MACHINE_ID = Path("/etc/machine-id")


def machine_id() -> str:
    """Which machine this is: its own id where it has one, else its name."""
    try:
        told = MACHINE_ID.read_text().strip()
    except OSError:
        told = ""
    return told or os.uname().nodename


def house_settings(
    config: Config, paths: Paths, environment: Mapping[str, str], *, practice_script: str = ""
) -> HouseSettings:
    return HouseSettings(
        operator=operator_name(config, environment),
        machine=machine_id(),
        uid=os.getuid(),
        spool=paths.spool,
        worktrees=paths.worktrees,
        runtime=paths.runtime,
        environment=dict(environment),
        timing=config.timing(),
        max_held_sessions=config.max_held_sessions,
        day_budget=config.day_budget,
        month_budget=config.month_budget,
        agent_pools=config.agent_pools,
        at_lapse=config.at_lapse,
        at_budget=config.at_budget,
        preset=config.preset,
        default_agent=config.agent,
        practice_script=practice_script,
        version_cache=paths.runtime / "versions.json",
        mark=paths.mark,
        at_timeout=config.at_timeout,
        rules_file=paths.rules_file,
        setups=config.setups,
        checks=config.checks,
    )


def sockets_fit(paths: Paths) -> Refusal | None:
    """``socket-path``, where the path of a socket is too long and no shorter way leads to it."""
    if not kernel.FOLLOWS or paths.longest_socket <= kernel.SOCKET_PATH_BYTES:
        return None
    facts: dict[str, Fact] = {
        "path": str(paths.ledger.parent),
        "length": paths.longest_socket,
        "limit": kernel.SOCKET_PATH_BYTES,
    }
    return Refusal(RefusalReason.SOCKET_PATH, facts)


@contextmanager
def open_backend(
    config: Config,
    paths: Paths,
    profiles: tuple[AgentProfile, ...],
    *,
    environment: Mapping[str, str] | None = None,
    repository: Path | None = None,
    practice_script: str = "",
    leave: bool = True,
    dispatches: bool = True,
) -> Iterator[CoordinatorThread | Refusal]:
    """The coordinator on its own thread, closed on every way out. Yields a ``Refusal`` where the ledger cannot be
    used.

    What is still held at the end, because nobody chose what should become of it (a screen that broke, a terminal that
    was lost, another console's holds picked up on the way), stays held by its keepers; without ``leave`` it is ended.
    ``dispatches``: whether it begins tasks that wait in line.
    """
    around = os.environ if environment is None else environment
    refused = untried(sys.platform, around) or paths.ensure() or sockets_fit(paths)
    if refused is not None:
        yield refused
        return
    kernel.one_heap()
    logs.keep(paths.logs, around, *(dict(one.env) for one in profiles))
    prices = pricefile.load(paths.config_file.parent / pricefile.NAME)
    if isinstance(prices, Refusal):
        yield prices
        return
    settings = house_settings(config, paths, around, practice_script=practice_script)
    settings = replace(settings, prices=prices, dispatches=dispatches)
    backend = CoordinatorThread(settings=settings, profiles=profiles, ledger_path=paths.ledger, repository=repository)
    try:
        refused = backend.start()
        yield backend if refused is None else refused
    finally:
        backend.close(leave=leave)


@asynccontextmanager
async def open_desk(
    config: Config,
    paths: Paths,
    profiles: tuple[AgentProfile, ...],
    *,
    environment: Mapping[str, str] | None = None,
    practice_script: str = "",
) -> AsyncIterator[CommandDesk | Refusal]:
    """Where a command's orders about the queue are carried out (``coordinator.tasks.orders.serve``), with or without a
    console. Yields a ``Refusal`` where the ledger cannot be used."""
    refused = paths.ensure()
    if refused is not None:
        yield refused
        return
    around = os.environ if environment is None else environment
    settings = house_settings(config, paths, around, practice_script=practice_script)
    async with desk.opened(settings, profiles, paths.ledger) as opened:
        yield opened
