"""The queue as a command has it: an order is served against the ledger, and open consoles are told to look.

What an order does is ``coordinator.tasks.orders``'; it is the same from a console's panel.
"""

import asyncio
from typing import TypeVar

from app.cli.exits import refused
from app.cli.surroundings import Surroundings, agent_profiles
from app.paths import Paths
from coordinator import incarnation
from coordinator.api import QueueCommand, QueueView, ReadQueue, Reply
from coordinator.clock import RealClock
from coordinator.poke import poke
from store import incarnations
from store.db import read_ledger
from store.refusal import Refusal

T = TypeVar("T")
EMPTY = QueueView(tasks=(), counts={})


def ask(here: Surroundings, command: QueueCommand, *, as_json: bool = False) -> Reply:
    """What came of it, a ``Refusal`` too.

    Raises:
        Leave: the ledger or a configuration file cannot be used.
    """
    from app.wiring import open_desk
    from coordinator.tasks import orders

    profiles = agent_profiles(here.paths, here.config, as_json=as_json)

    async def served() -> Reply:
        async with open_desk(here.config, here.paths, profiles) as desk:
            return desk if isinstance(desk, Refusal) else await orders.serve(desk, command, here.operator)

    return asyncio.run(served())


def done(here: Surroundings, command: QueueCommand, answer: type[T], *, as_json: bool = False) -> T:
    """The answer to an order that is carried out; consoles are told.

    Raises:
        Leave: it was refused, and why.
    """
    reply = ask(here, command, as_json=as_json)
    if isinstance(reply, Refusal):
        raise refused(reply, as_json=as_json)
    if not isinstance(reply, answer):
        raise TypeError(f"no answer to that order: {type(reply).__name__}")
    if not isinstance(reply, QueueView):
        tell_consoles(here.paths)
    return reply


def read(here: Surroundings, command: ReadQueue, *, as_json: bool = False) -> QueueView:
    """The line as it stands; nothing where there is no ledger yet: looking makes none."""
    if not here.paths.ledger.exists():
        return EMPTY
    return done(here, command, QueueView, as_json=as_json)


def tell_consoles(paths: Paths) -> None:
    """Each that is open looks into the ledger now; it would within a second anyway."""
    with read_ledger(paths.ledger, now=RealClock().now) as tx:
        open_ = [one for one in incarnations.not_ended(tx) if not incarnation.is_gone(one)]
    for one in open_:
        poke(one.socket_path)
