"""Agent profiles: how each kind of agent is run, from what is built in and ``agents.toml``, and which are there to run.

Which protocol an agent speaks is its driver's business; here is only what starts it. Looking for the programs runs
nothing but ``--version``, with a bounded time and no secret in its environment (``coordinator.programs``).
"""

import os
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import msgspec

from coordinator.programs import Probe, find_program, native_binary, probe_version
from store.refusal import Refusal
from store.vocab import Billing, RefusalReason

DRIVERS: tuple[str, ...] = ("claude", "rehearsal")
"""Drivers that this version can hold an agent with."""

OLDEST_CLAUDE = (2, 1, 197)
"""The oldest Claude Code whose protocol was measured."""

PRACTICE = "practice"
PRACTICE_VERSION = "practice 1"
CLAUDE_VARIABLE = "FOOTPLATE_CLAUDE"
"""Names the claude program to take, for tests and for several versions side by side."""

_CLAUDE_INSTALL = "npm install -g @anthropic-ai/claude-code"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProfile:
    name: str
    driver: str
    program: str
    """Name to look for on PATH, or an absolute path."""
    title: str = ""
    """For a person: ``Claude Code``."""
    args: tuple[str, ...] = ()
    """Added to what the driver gives."""
    env_allow: tuple[str, ...] = ()
    """Names or patterns that are let through though they look like secrets."""
    env_deny: tuple[str, ...] = ()
    billing: Billing = Billing.KEY
    model: str | None = None
    mode: str | None = None
    """None: the driver's own, in which a person is asked."""
    spared: tuple[str, ...] = ()
    """Shared daemons that an ending leaves alone."""
    install: str = ""
    """The command that gets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A profile, and what was seen of its program."""

    profile: AgentProfile
    program: str | None
    """Absolute path of what would be run; the native binary where the program on PATH is only a launcher."""
    version: str | None = None
    problem: Refusal | None = None
    """Why it cannot be run: ``agent-not-found`` or ``agent-version``."""
    launcher: str | None = None
    """The script on PATH, where ``program`` is not that."""

    @property
    def ready(self) -> bool:
        return self.problem is None


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of ``agents.toml``. What is left out comes from the built-in profile of that name, if there is one."""

    driver: str | None = None
    program: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    title: str | None = None
    args: tuple[str, ...] | None = None
    env_allow: tuple[str, ...] | None = None
    env_deny: tuple[str, ...] | None = None
    billing: Billing | None = None
    model: str | None = None
    mode: str | None = None
    spared: tuple[str, ...] | None = None
    install: str | None = None


def builtin(environ: Mapping[str, str] | None = None) -> tuple[AgentProfile, ...]:
    """The profiles that are there without any configuration."""
    source = os.environ if environ is None else environ
    return (
        AgentProfile(
            name="claude",
            title="Claude Code",
            driver="claude",
            program=source.get(CLAUDE_VARIABLE) or "claude",
            env_allow=("ANTHROPIC_*", "CLAUDE_*", "AWS_*", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUD_ML_*", "VERTEX_*"),
            billing=_claude_billing(source),
            install=_CLAUDE_INSTALL,
        ),
        AgentProfile(
            name=PRACTICE,
            title="The practice agent",
            driver="rehearsal",
            program=sys.executable,
            args=(
                "-I",
                str(Path(__file__).resolve().parent / "rehearsal" / "agent.py"),
            ),
            billing=Billing.PRACTICE,
        ),
    )


def load(agents_file: Path, environ: Mapping[str, str] | None = None) -> tuple[AgentProfile, ...] | Refusal:
    """Built-in profiles, changed and joined by those of ``agents.toml``, where each table is one profile."""
    profiles = {profile.name: profile for profile in builtin(environ)}
    try:
        tables = tomllib.loads(agents_file.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return tuple(profiles.values())
    except UnicodeDecodeError:
        return _invalid(agents_file, "", "it is not UTF-8 text")
    except tomllib.TOMLDecodeError as problem:
        return _invalid(agents_file, "", f"it is not TOML: {problem}")
    except OSError as problem:
        return _invalid(agents_file, "", f"it cannot be read: {(problem.strerror or str(problem)).lower()}")
    for name, table in tables.items():
        made = _profile(agents_file, name, table, profiles.get(name))
        if isinstance(made, Refusal):
            return made
        profiles[name] = made
    return tuple(profiles.values())


def discover(
    profiles: Sequence[AgentProfile],
    path_env: str | None = None,
    *,
    cache: Path | None = None,
    timeout: float = 10.0,
) -> list[Found]:
    """Which of the profiles can be run here, each with its program and version.

    ``cache`` is a file that remembers versions by path, size and time of change, because some agents take a second to
    tell theirs.
    """
    where = os.environ.get("PATH", os.defpath) if path_env is None else path_env
    return [look(profile, where, cache=cache, timeout=timeout) for profile in profiles]


def look(profile: AgentProfile, path_env: str, *, cache: Path | None = None, timeout: float = 10.0) -> Found:
    """One profile's program and version, or why it cannot be run."""
    if profile.driver == "rehearsal":
        return Found(profile=profile, program=profile.program, version=PRACTICE_VERSION)
    seen = find_program(profile.program, path_env)
    if seen is None:
        return Found(profile=profile, program=None, problem=_not_found(profile))
    native = native_binary(seen)
    launcher = str(seen) if native != seen else None
    probe = probe_version(native, path_env, cache=cache, timeout=timeout)
    found = Found(profile=profile, program=str(native), version=probe.version, launcher=launcher)
    return replace(found, problem=_version_problem(profile, native, probe))


def named(found: Sequence[Found], name: str) -> Found | Refusal:
    """The one of that name, if it can be run."""
    for one in found:
        if one.profile.name == name:
            return one.problem or one
    names = ", ".join(one.profile.name for one in found)
    return Refusal(RefusalReason.UNKNOWN_AGENT, {"agent": name, "agents": names})


def _profile(path: Path, name: str, table: object, base: AgentProfile | None) -> AgentProfile | Refusal:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,31}", name):
        return _invalid(path, name, "a name is small letters, digits, - and _, at most 32")
    try:
        entry = msgspec.convert(table, _Entry)
    except msgspec.ValidationError as problem:
        return _invalid(path, *_place(name, str(problem)))
    driver = entry.driver or (base.driver if base else None)
    program = entry.program or (base.program if base else None)
    if driver is None:
        return _invalid(path, f"{name}.driver", f"it must be one of {', '.join(DRIVERS)}")
    if driver not in DRIVERS:
        return _invalid(path, f"{name}.driver", f"there is no driver {driver!r}, there are {', '.join(DRIVERS)}")
    if driver == "rehearsal" and program is None:
        base, program = builtin()[1], sys.executable
    if program is None:
        return _invalid(path, f"{name}.program", "it is missing")
    start = base or AgentProfile(name=name, driver=driver, program=program, title=name)
    chosen = {key: value for key in _Entry.__struct_fields__ if (value := getattr(entry, key)) is not None}
    made = replace(start, **{**chosen, "name": name, "driver": driver, "program": str(Path(program).expanduser())})
    # Whatever a table says: what the practice agent costs is play money, and nothing else's is.
    if (made.billing is Billing.PRACTICE) != (driver == "rehearsal"):
        return _invalid(path, f"{name}.billing", "practice is for the practice agent, and nothing else is")
    return made


def _invalid(path: Path, key: str, problem: str) -> Refusal:
    return Refusal(RefusalReason.CONFIG_INVALID, {"file": str(path), "key": key, "problem": problem})


def _place(name: str, message: str) -> tuple[str, str]:
    unknown = re.search(r"unknown field `([^`]+)`", message)
    if unknown:
        return f"{name}.{unknown.group(1)}", "there is no such key"
    place = re.search(r" - at `\$\.?([^`]*)`", message)
    problem = re.sub(r" - at `[^`]*`", "", message).replace("`", "")
    return f"{name}.{place.group(1)}" if place else name, problem[:1].lower() + problem[1:]


def _claude_billing(source: Mapping[str, str]) -> Billing:
    # With a key, or through a cloud's own billing, each token is money; else the account's subscription pays.
    keys = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")
    return Billing.KEY if any(source.get(name) for name in keys) else Billing.SUBSCRIPTION


def _not_found(profile: AgentProfile) -> Refusal:
    facts = {"agent": profile.name, "program": profile.program, "install": profile.install}
    return Refusal(RefusalReason.AGENT_NOT_FOUND, facts)


def _version_problem(profile: AgentProfile, program: Path, probe: Probe) -> Refusal | None:
    facts: dict[str, str] = {"agent": profile.name, "program": str(program)}
    if probe.version is None:
        return Refusal(RefusalReason.AGENT_VERSION, {**facts, "problem": probe.problem})
    if profile.driver == "claude":
        numbers = version_numbers(probe.version)
        if numbers is None or numbers < OLDEST_CLAUDE:
            oldest = ".".join(map(str, OLDEST_CLAUDE))
            return Refusal(RefusalReason.AGENT_VERSION, {**facts, "version": probe.version, "oldest": oldest})
    return None


def version_numbers(version: str) -> tuple[int, ...] | None:
    """``2.1.332 (Claude Code)`` as numbers to compare."""
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", version)
    return tuple(int(part) for part in found.groups()) if found else None
