"""Where the operator's orders about the queue are carried out: a console's house, or a command's own place without one.

``Desk`` is all that such an order may use: it holds no session, and begins none. What it writes every console sees.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from coordinator.clock import Clock, RealClock
from coordinator.house import HouseSettings, found_by_name
from coordinator.ids import Ids, RealIds
from coordinator.profiles import AgentProfile, Found
from coordinator.redaction import Redactor, secrets_of
from store.db import Ledger
from store.refusal import Refusal
from store.vocab import IncarnationId


class Desk(Protocol):
    @property
    def settings(self) -> HouseSettings: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def ids(self) -> Ids: ...

    @property
    def redactor(self) -> Redactor: ...

    @property
    def profiles(self) -> tuple[AgentProfile, ...]: ...

    @property
    def incarnation(self) -> IncarnationId | None:
        """Of the console; None: there is none here."""
        ...

    @property
    def away(self) -> bool:
        """Whether the operator of this console is away, so that nothing is begun; False without a console."""
        ...

    async def agents(self) -> dict[str, Found]:
        """What can be run here, by the profile's name."""
        ...


class CommandDesk(Struct, frozen=True, kw_only=True):
    """Of a command, which speaks for itself and is gone when it is done."""

    settings: HouseSettings
    ledger: Ledger
    clock: Clock
    ids: Ids
    redactor: Redactor
    profiles: tuple[AgentProfile, ...]
    incarnation: IncarnationId | None = None
    away: bool = False

    async def agents(self) -> dict[str, Found]:
        return await found_by_name(self.settings, self.profiles)


@asynccontextmanager
async def opened(
    settings: HouseSettings,
    profiles: Sequence[AgentProfile],
    ledger_path: Path,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> AsyncIterator[CommandDesk | Refusal]:
    """A desk beside whatever console is open; the ledger is made where there is none yet. Yields a ``Refusal`` where it
    cannot be used.
    """
    clock, ids = clock or RealClock(), ids or RealIds()
    ledger = await Ledger.open(ledger_path, now=clock.now, machine=settings.machine, ledger_id=ids.secret)
    if isinstance(ledger, Refusal):
        yield ledger
        return
    secrets = secrets_of(settings.environment).union(*(secrets_of(dict(one.env)) for one in profiles))
    try:
        yield CommandDesk(
            settings=settings,
            ledger=ledger,
            clock=clock,
            ids=ids,
            redactor=Redactor(secrets),
            profiles=tuple(profiles),
        )
    finally:
        await ledger.close()
