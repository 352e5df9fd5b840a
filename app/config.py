"""``config.toml``: what the operator set, as one frozen value. Errors name the file and the key.

Everything is optional. Money is written in dollars and times in the unit that the key names; what comes out is in the
units of the rest of the code. Agents are in ``agents.toml`` (``coordinator.profiles``), not here.
"""

import getpass
import os
import shlex
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Struct, field

from app import themes
from app.notices.items import Kind, NoticeSettings
from app.paths import Paths
from coordinator import tomlfiles
from coordinator.checktypes import CHECK_SECONDS, MOST_CHECKS, RepositoryChecks
from coordinator.constants import Timing
from coordinator.recording import Pool
from coordinator.terms import PRESETS
from coordinator.tomlfiles import invalid
from store.refusal import Refusal
from store.vocab import MicroUsd

_NonNegative = Annotated[float, msgspec.Meta(ge=0)]
_Minutes = Annotated[float, msgspec.Meta(gt=0, le=60 * 24 * 7)]


_Command = Annotated[str, msgspec.Meta(min_length=1, max_length=4000)]


class _Pool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Money of one agent, as ``day_budget`` and ``month_budget`` are of all."""

    day: _NonNegative | None = None
    month: _NonNegative | None = None


class _Pools(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    agents: dict[str, object] = msgspec.field(default_factory=dict)
    """Each read on its own, so that a mistake in one is told with its name."""


class _Repository(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    setup: _Command | None = None
    checks: Annotated[list[_Command], msgspec.Meta(max_length=MOST_CHECKS)] = msgspec.field(default_factory=list)
    check_minutes: Annotated[float, msgspec.Meta(gt=0, le=240)] = CHECK_SECONDS / 60


class _Notify(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    bell: bool = True
    terminal: Literal["auto", "osc9", "osc777", "off"] = "auto"
    command: str | list[str] | None = None
    command_seconds: Annotated[float, msgspec.Meta(ge=0.1, le=600)] = 10
    decision: bool = True
    turn_ended: bool = True
    silent: bool = True
    budget: bool = True
    crashed: bool = True
    page: bool = True


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file as it is written; ``Config`` is what the code reads."""

    operator: Annotated[str, msgspec.Meta(min_length=1, max_length=100)] | None = None
    agent: str | None = None
    preset: str = "normal"
    preamble: bool = True
    day_budget: _NonNegative | None = None
    month_budget: _NonNegative | None = None
    pools: _Pools = _Pools()
    repository: dict[str, object] = msgspec.field(default_factory=dict)
    """By path; each read on its own, as the pools are."""
    at_budget: Literal["hold", "fence"] = "hold"
    max_held_sessions: Annotated[int, msgspec.Meta(ge=1, le=200)] = 8
    attendance_minutes: _Minutes = 30
    lapse_grace_minutes: _Minutes = 10
    at_lapse: Literal["pause", "stop"] = "pause"
    hold_seconds: Annotated[float, msgspec.Meta(ge=5, le=86_400)] = 600
    stalled_minutes: _Minutes = 2
    on_disconnect: Literal["hold", "stop"] = "hold"
    turn_timeout_minutes: _Minutes | None = None
    at_timeout: Literal["ask", "fence"] = "ask"
    spool_days: Annotated[int, msgspec.Meta(ge=1, le=3650)] = 7
    ascii: bool = False
    theme: str = "dark"
    announce: bool = False
    mouse: bool = True
    escape_delay: Annotated[int, msgspec.Meta(ge=25, le=5000)] | None = None
    keys: dict[str, str] = msgspec.field(default_factory=dict)
    notify: _Notify = _Notify()


class Config(Struct, frozen=True, kw_only=True):
    operator: str | None = None
    """As set; ``operator_name`` says who it is when nothing is."""
    agent: str | None = None
    """Profile that is used when none is named."""
    preset: str = "normal"
    preamble: bool = True
    day_budget: MicroUsd | None = None
    month_budget: MicroUsd | None = None
    agent_pools: Mapping[str, Pool] = field(default_factory=dict)
    """What one agent may spend in a day and in a month, by its name."""
    setups: Mapping[str, str] = field(default_factory=dict)
    """The command that makes a new tree of a repository ready, by its absolute path."""
    checks: Mapping[str, RepositoryChecks] = field(default_factory=dict)
    """What looks at the work of a run that is finished, likewise."""
    at_budget: str = "hold"
    """``hold`` or ``fence``."""
    max_held_sessions: int = 8
    attendance_seconds: int = 1800
    lapse_grace_seconds: int = 600
    at_lapse: str = "pause"
    """``pause`` or ``stop``."""
    hold_seconds: float = 600.0
    stalled_seconds: float = 120.0
    on_disconnect: str = "hold"
    """``hold`` or ``stop``."""
    turn_timeout_seconds: float | None = None
    at_timeout: str = "ask"
    """``ask`` or ``fence``."""
    spool_days: int = 7
    """How long the agent's bytes as they came are kept after an end, before ``prune`` deletes them."""
    ascii: bool = False
    theme: str = "dark"
    """One of ``app.themes``."""
    announce: bool = False
    """State changes are printed as lines."""
    mouse: bool = True
    escape_delay: int | None = None
    """Milliseconds; None: 500 here, 1000 over ssh."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """The operator's own keymap: action id to key."""
    notify: NoticeSettings = field(default_factory=NoticeSettings)

    def timing(self) -> Timing:
        """The table of section 13 with what the operator lengthened or shortened."""
        return Timing(
            hold_seconds=self.hold_seconds,
            attendance=float(self.attendance_seconds),
            lapse_grace=float(self.lapse_grace_seconds),
            stalled_after=self.stalled_seconds,
            turn_timeout=self.turn_timeout_seconds,
        )


def load(paths: Paths) -> Config | Refusal:
    """The configuration, the defaults where the file is not there."""
    return parse_file(paths.config_file)


def parse_file(path: Path) -> Config | Refusal:
    tables = tomlfiles.read(path)
    if isinstance(tables, Refusal):
        return tables
    raw = tomlfiles.typed(path, "", tables, _File)
    if isinstance(raw, Refusal):
        return raw
    if raw.preset not in {preset.name for preset in PRESETS}:
        names = ", ".join(preset.name for preset in PRESETS)
        return invalid(path, "preset", f"there is no preset {raw.preset!r}, there are {names}")
    if raw.theme not in themes.NAMES:
        return invalid(path, "theme", f"there is no theme {raw.theme!r}, there are {', '.join(themes.NAMES)}")
    pools = _pools(path, raw.pools)
    if isinstance(pools, Refusal):
        return pools
    repositories = _repositories(path, raw.repository)
    if isinstance(repositories, Refusal):
        return repositories
    notify = _notify(path, raw.notify)
    if isinstance(notify, Refusal):
        return notify
    return Config(
        operator=raw.operator,
        agent=raw.agent,
        preset=raw.preset,
        preamble=raw.preamble,
        day_budget=_micro(raw.day_budget),
        month_budget=_micro(raw.month_budget),
        agent_pools=pools,
        setups={place: one.setup for place, one in repositories.items() if one.setup and one.setup.strip()},
        checks={place: checks for place, one in repositories.items() if (checks := _checks(one)) is not None},
        at_budget=raw.at_budget,
        max_held_sessions=raw.max_held_sessions,
        attendance_seconds=int(raw.attendance_minutes * 60),
        lapse_grace_seconds=int(raw.lapse_grace_minutes * 60),
        at_lapse=raw.at_lapse,
        hold_seconds=float(raw.hold_seconds),
        stalled_seconds=raw.stalled_minutes * 60,
        on_disconnect=raw.on_disconnect,
        turn_timeout_seconds=None if raw.turn_timeout_minutes is None else raw.turn_timeout_minutes * 60,
        at_timeout=raw.at_timeout,
        spool_days=raw.spool_days,
        ascii=raw.ascii,
        theme=raw.theme,
        announce=raw.announce,
        mouse=raw.mouse,
        escape_delay=raw.escape_delay,
        keys=raw.keys,
        notify=notify,
    )


def _notify(path: Path, raw: _Notify) -> NoticeSettings | Refusal:
    """A command is words, without a shell: who wants one writes it (``sh -c "…"``)."""
    try:
        command = shlex.split(raw.command) if isinstance(raw.command, str) else raw.command or []
    except ValueError as problem:
        return invalid(path, "notify.command", str(problem).lower())
    if raw.command is not None and not (command and command[0]):
        return invalid(path, "notify.command", "it is empty; leave it out for none")
    return NoticeSettings(
        bell=raw.bell,
        terminal=raw.terminal,
        command=tuple([str(Path(command[0]).expanduser()), *command[1:]] if command else ()),
        command_seconds=raw.command_seconds,
        off=frozenset(kind for kind in Kind if not getattr(raw, kind.name.lower())),
    )


def _pools(path: Path, raw: _Pools) -> dict[str, Pool] | Refusal:
    found: dict[str, Pool] = {}
    for name, table in raw.agents.items():
        key = f"pools.agents.{name}"
        one = tomlfiles.typed(path, key, table, _Pool)
        if isinstance(one, Refusal):
            return one
        if one.day is None and one.month is None:
            return invalid(path, key, "it limits nothing; give day, month or both")
        found[name] = Pool(day=_micro(one.day), month=_micro(one.month))
    return found


def _repositories(path: Path, raw: Mapping[str, object]) -> dict[str, _Repository] | Refusal:
    """Links in the path are followed: git tells where a repository really lies."""
    found: dict[str, _Repository] = {}
    for name, table in raw.items():
        key = f'repository."{name}"'
        one = tomlfiles.typed(path, key, table, _Repository)
        if isinstance(one, Refusal):
            return one
        place = Path(name).expanduser()
        if not place.is_absolute():
            return invalid(path, key, "write its whole path, from / or ~")
        found[str(place.resolve())] = one
    return found


def _checks(raw: _Repository) -> RepositoryChecks | None:
    commands = tuple(dict.fromkeys(one for one in raw.checks if one.strip()))
    return RepositoryChecks(commands=commands, seconds=max(1, round(raw.check_minutes * 60))) if commands else None


def unknown_agent(path: Path, config: Config, agents: Collection[str]) -> Refusal | None:
    """A limit of money for an agent that there is not would limit nothing: its name is mistyped."""
    for name in config.agent_pools:
        if name not in agents:
            there = ", ".join(sorted(agents))
            return invalid(path, f"pools.agents.{name}", f"there is no agent of that name, there are {there}")
    return None


def operator_name(config: Config, environ: Mapping[str, str] | None = None) -> str:
    """Who answers, says and starts: as set, else git's name for them, else the login."""
    return config.operator or _git_name(os.environ if environ is None else environ) or _login()


def _git_name(environ: Mapping[str, str]) -> str:
    # --global and a folder that is no repository: nothing that a repository's own configuration names is ever run.
    try:
        told = subprocess.run(
            ["git", "config", "--global", "--get", "user.name"],
            cwd="/",
            env={name: environ[name] for name in ("PATH", "HOME", "XDG_CONFIG_HOME") if name in environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    name = told.stdout.decode("utf-8", "replace").strip()
    return "".join(letter for letter in name if letter.isprintable())[:100]


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def _micro(dollars: float | None) -> MicroUsd | None:
    return None if dollars is None else MicroUsd(round(dollars * 1_000_000))
