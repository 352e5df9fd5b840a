"""Which agents can be run on this machine: the program of each profile, its version, and why one cannot be run.

Looking runs nothing but ``--version``, with a bounded time and no secret in its environment (``programs``). What a
profile is stands in ``agentprofile``, which there are in ``builtinagents`` and ``agentsfile``; which protocol an agent
speaks is its driver's business.
"""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from coordinator import agenthome, builtinagents
from coordinator.agentprofile import AgentProfile as AgentProfile
from coordinator.agentsfile import load as load
from coordinator.builtinagents import CLAUDE_VARIABLE as CLAUDE_VARIABLE, PRACTICE as PRACTICE
from coordinator.knownversions import in_short, unfit
from coordinator.programs import Probe, find_program, native_binary, npm_package, probe_version
from store.refusal import Refusal
from store.vocab import RefusalReason

PRACTICE_VERSION = "practice 1"
_AT_ONCE = 4
"""Programs asked for their versions side by side: some take a second, and none needs the machine for itself."""


class Found(Struct, frozen=True, kw_only=True):
    """A profile, and what was seen of its program."""

    profile: AgentProfile
    program: str | None
    """Absolute path of what would be run; the native binary where the program on PATH is only a launcher."""
    version: str | None = None
    """None also for one that can be run and does not tell."""
    problem: Refusal | None = None
    """Why it cannot be run: ``agent-not-found``, ``agent-version`` or ``account-shared``."""
    launcher: str | None = None
    """The script on PATH, where ``program`` is not that."""

    @property
    def ready(self) -> bool:
        return self.problem is None

    @property
    def missing(self) -> bool:
        """Not on this machine at all, which of most agents is no news."""
        return self.problem is not None and self.problem.reason is RefusalReason.AGENT_NOT_FOUND


def builtin(environ: Mapping[str, str] | None = None) -> tuple[AgentProfile, ...]:
    """The profiles that are there without any configuration."""
    return builtinagents.builtin(os.environ if environ is None else environ)


def discover(
    profiles: Sequence[AgentProfile],
    path_env: str | None = None,
    *,
    cache: Path | None = None,
    timeout: float = 10.0,
    source: Mapping[str, str] | None = None,
) -> list[Found]:
    """Which of the profiles can be run here, each with its program and version, in their order.

    ``cache`` is a file that remembers versions by path, size and time of change, because some agents take a second to
    tell theirs. ``source``: the environment in which the agents would run; the process's own where it is not given.
    """
    around = os.environ if source is None else source
    where = os.environ.get("PATH", os.defpath) if path_env is None else path_env
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="versions") as askers:
        return list(
            askers.map(lambda profile: _fit(look(profile, where, cache=cache, timeout=timeout), around), profiles)
        )


def _fit(one: Found, source: Mapping[str, str]) -> Found:
    """What stands in the way beside program and version: an account that cannot be used as the profile says."""
    return one if one.problem is not None else replace(one, problem=agenthome.problem(one.profile, source))


def look(profile: AgentProfile, path_env: str, *, cache: Path | None = None, timeout: float = 10.0) -> Found:
    """One profile's program and version, or why it cannot be run."""
    if profile.driver == "rehearsal":
        return Found(profile=profile, program=profile.program, version=PRACTICE_VERSION)
    seen = find_program(profile.program, path_env)
    if seen is None:
        return Found(profile=profile, program=None, problem=_not_found(profile))

    def ask(program: Path) -> Probe:
        silent = profile.driver != "claude"
        return probe_version(program, path_env, ask=profile.version_args, silent=silent, cache=cache, timeout=timeout)

    native = native_binary(seen)
    probe = ask(native)
    if native != seen and not probe.ran:
        # A binary for another kind of processor, say: its launcher knows better.
        native, probe = seen, ask(seen)
    package = npm_package(seen)
    version = probe.version or (package[1] if package is not None else None)
    found = Found(profile=profile, program=str(native), version=version, launcher=str(seen) if native != seen else None)
    return replace(found, problem=_version_problem(found, probe, package[0] if package is not None else None))


def to_get(listed: Sequence[AgentProfile], path_env: str) -> tuple[AgentProfile, ...]:
    """Agents that a command installs, where no agent is on this machine; none where there is one. No program is run.

    The practice agent and programs with a prompt are no agents here: they are there always.
    """
    real = [one for one in listed if one.driver not in ("rehearsal", "pty")]
    if any(find_program(one.program, path_env) is not None for one in real):
        return ()
    return tuple(one for one in real if one.install)


def named(found: Sequence[Found], name: str) -> Found | Refusal:
    """The one of that name, if it can be run."""
    for one in found:
        if one.profile.name == name:
            return one.problem or one
    names = ", ".join(one.profile.name for one in found)
    return Refusal(RefusalReason.UNKNOWN_AGENT, {"agent": name, "agents": names})


def _not_found(profile: AgentProfile) -> Refusal:
    facts = {"agent": profile.name, "program": profile.program, "install": profile.install}
    return Refusal(RefusalReason.AGENT_NOT_FOUND, facts)


def _version_problem(found: Found, probe: Probe, package: str | None) -> Refusal | None:
    profile = found.profile
    facts = {"agent": profile.name, "program": found.program or "", "install": profile.install}
    # Claude Code always tells; of others it is enough that they run.
    if not probe.ran or (probe.version is None and profile.driver == "claude"):
        return Refusal(RefusalReason.AGENT_VERSION, {**facts, "problem": probe.problem})
    why = unfit(profile, found.version, package)
    if why is None:
        return None
    told = {"version": found.version, "problem": why.problem, "oldest": in_short(why.oldest)}
    return Refusal(RefusalReason.AGENT_VERSION, {**facts, **told})
