"""What every held session of one console shares: the ledger, clocks, ids, settings. Built once, by
``coordinator.py``."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field

from coordinator.attendance import Attendance, Presence
from coordinator.checkruns import CheckRuns
from coordinator.checktypes import RepositoryChecks
from coordinator.clock import Clock
from coordinator.constants import Timing
from coordinator.feed import Feed
from coordinator.ids import Ids
from coordinator.prices import Prices, built_in
from coordinator.profiles import AgentProfile, Found, discover
from coordinator.recording import Pool, Pools
from coordinator.redaction import Redactor
from store.db import Ledger
from store.refusal import Refusal
from store.vocab import AuthorizationId, IncarnationId, MicroUsd, Millis


class HouseSettings(Struct, frozen=True, kw_only=True):
    """What the configuration decides."""

    operator: str
    machine: str
    uid: int
    spool: Path
    worktrees: Path
    runtime: Path
    environment: Mapping[str, str]
    """As the console was started with, before any library changed it."""
    timing: Timing = Timing()
    max_held_sessions: int = 8
    day_budget: MicroUsd | None = None
    month_budget: MicroUsd | None = None
    agent_pools: Mapping[str, Pool] = field(default_factory=dict)
    """Money for a day and a month of one agent, by the profile's name."""
    at_lapse: str = "pause"
    """``pause`` or ``stop``."""
    at_budget: str = "hold"
    preset: str = "normal"
    default_agent: str | None = None
    practice_script: str = ""
    version_cache: Path | None = None
    """Where the versions of agents' programs are remembered."""
    mark: Path | None = None
    """``ledger.mark``; None: nothing is noted and nothing is compared."""
    at_timeout: str = "ask"
    """What follows a turn that took too long: ``ask`` or ``fence``."""
    cgroups: str | None = None
    """As in ``HoldSpec``: where the agents' cgroups are made."""
    prices: Prices = field(default_factory=built_in)
    """For agents that tell tokens and no money."""
    rules_file: Path | None = None
    """``rules.toml``: the standing rules with which runs are proposed; None: none are."""
    setups: Mapping[str, str] = field(default_factory=dict)
    """The command that makes a new tree ready, by the absolute path of the repository."""
    checks: Mapping[str, RepositoryChecks] = field(default_factory=dict)
    """What looks at the work of a run that is finished, by the absolute path of the repository."""
    passing: bool = False
    """Only settles what is over: holds that live on are left exactly as they are."""
    dispatches: bool = True
    """Begins tasks that wait in line. False for who opened this console for one run of their own (``start --plain``,
    the demo): how tasks ended is seen to all the same."""


class House(Struct, kw_only=True):
    settings: HouseSettings
    ledger: Ledger
    clock: Clock
    ids: Ids
    feed: Feed
    incarnation: IncarnationId
    digest_key: str
    redactor: Redactor
    profiles: tuple[AgentProfile, ...]
    changed: Callable[[], None]
    """Say that a new snapshot is due."""
    away_in: float | None = None
    """Seconds until the pause, while the countdown shows."""
    trouble: Refusal | None = None
    """While the ledger cannot be written."""
    shutting: bool = False
    attendance: Attendance
    checks: CheckRuns = field(default_factory=CheckRuns)
    work: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the one session that takes in what its agent printed just now (``taking``)."""
    used_elsewhere: frozenset[AuthorizationId] = frozenset()
    """Signed for runs that only a spool knows of: this ledger is older than they are."""
    notes: list[str] = field(default_factory=list)
    """What a person must be told after the screen is gone (unsettled holds)."""

    @property
    def away(self) -> bool:
        """Whether the window of attendance has passed: nothing new is begun then."""
        return self.attendance.at(self.clock.monotonic()) not in (Presence.THERE, Presence.NEARLY_AWAY)

    async def agents(self) -> dict[str, Found]:
        """What can be run here. Looked for each time: agents update themselves, and the operator gets those that are
        missing while the console is open."""
        return await found_by_name(self.settings, self.profiles)

    def pools(self, now: Millis) -> Pools:
        """Money for all runs together, and since when it counts."""
        return pools_of(self.settings, now)


def pools_of(settings: HouseSettings, now: Millis) -> Pools:
    day, month = periods(now)
    return Pools(
        day=settings.day_budget,
        month=settings.month_budget,
        day_began=day,
        month_began=month,
        agents=settings.agent_pools,
    )


async def found_by_name(settings: HouseSettings, profiles: Sequence[AgentProfile]) -> dict[str, Found]:
    path, cache, source = settings.environment.get("PATH", ""), settings.version_cache, settings.environment
    found = await asyncio.to_thread(discover, profiles, path, cache=cache, source=source)
    return {one.profile.name: one for one in found}


def periods(now: Millis) -> tuple[Millis, Millis]:
    """When the day and the month of an operator began: local midnight, and that of the first."""
    here = datetime.fromtimestamp(now / 1000).astimezone()
    day = here.replace(hour=0, minute=0, second=0, microsecond=0)
    return Millis(int(day.timestamp() * 1000)), Millis(int(day.replace(day=1).timestamp() * 1000))
