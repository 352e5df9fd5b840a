"""``agents.toml``: one table for each agent, over the built-in profile of its name or for a new one.

Every mistake is refused with the file and the key; nothing is looked for on this machine here (``profiles``).
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec.structs import replace

from coordinator import tomlfiles
from coordinator.agentprofile import PER_RUN, AgentProfile
from coordinator.builtinagents import INFERRED, PRACTICE, UNTRIED, builtin
from coordinator.drivers.registry import DRIVERS, check_prompt
from coordinator.tomlfiles import invalid
from store.refusal import Refusal
from store.vocab import Billing

_OF_TERMINALS: Final = ("prompt", "quiet_ms", "quit")
"""Keys that mean something for a program held on a terminal only."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table. What is left out comes from the built-in profile of that name, if there is one."""

    driver: str | None = None
    program: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    title: str | None = None
    args: tuple[str, ...] | None = None
    env_allow: tuple[str, ...] | None = None
    env_deny: tuple[str, ...] | None = None
    env: dict[str, str] | None = None
    billing: Billing | None = None
    model: str | None = None
    mode: str | None = None
    spared: tuple[str, ...] | None = None
    home: Literal["shared", "per-run"] | None = None
    install: str | None = None
    version_args: tuple[str, ...] | None = None
    prompt: str | None = None
    quiet_ms: Annotated[int, msgspec.Meta(ge=20, le=600_000)] | None = None
    quit: str | None = None


def load(agents_file: Path, environ: Mapping[str, str] | None = None) -> tuple[AgentProfile, ...] | Refusal:
    """Built-in profiles, changed and joined by those of ``agents.toml``, where each table is one profile."""
    source = os.environ if environ is None else environ
    profiles = {profile.name: profile for profile in builtin(source)}
    tables = tomlfiles.read(agents_file)
    if isinstance(tables, Refusal):
        return tables
    practice = profiles[PRACTICE]
    for name, table in tables.items():
        made = _profile(agents_file, name, table, profiles.get(name), practice)
        if isinstance(made, Refusal):
            return made
        profiles[name] = made
    return tuple(profiles.values())


def _profile(
    path: Path, name: str, table: object, base: AgentProfile | None, practice: AgentProfile
) -> AgentProfile | Refusal:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,31}", name):
        return invalid(path, name, "a name is small letters, digits, - and _, at most 32")
    entry = tomlfiles.typed(path, name, table, _Entry)
    if isinstance(entry, Refusal):
        return entry
    driver = entry.driver or (base.driver if base else None)
    program = entry.program or (base.program if base else None)
    if driver is None:
        return invalid(path, f"{name}.driver", f"it must be one of {', '.join(DRIVERS)}")
    if driver not in DRIVERS:
        return invalid(path, f"{name}.driver", f"there is no driver {driver!r}, there are {', '.join(DRIVERS)}")
    try:
        program = str(Path(program).expanduser()) if program is not None else None
    except RuntimeError:
        return invalid(path, f"{name}.program", "there is no such home folder")
    if driver == "rehearsal" and program is None:
        base, program = practice, sys.executable
    if program is None:
        return invalid(path, f"{name}.program", "it is missing")
    if base is not None and base.driver != driver:
        # Arguments and prompts of another protocol would only be in the way.
        base = None
    caution = {"pty": INFERRED, "acp": UNTRIED}.get(driver, "")
    start = base or AgentProfile(name=name, driver=driver, program=program, title=name, caution=caution)
    chosen = {key: value for key in _Entry.__struct_fields__ if (value := getattr(entry, key)) is not None}
    if entry.env is not None:
        chosen["env"] = tuple(sorted(entry.env.items()))
    made = replace(start, **{**chosen, "name": name, "driver": driver, "program": program})
    return _problem(path, entry, made) or made


def _problem(path: Path, entry: _Entry, made: AgentProfile) -> Refusal | None:
    name = made.name
    # Whatever a table says: what the practice agent costs is play money, and nothing else's is.
    if (made.billing is Billing.PRACTICE) != (made.driver == "rehearsal"):
        return invalid(path, f"{name}.billing", "practice is for the practice agent, and nothing else is")
    if made.home == PER_RUN and made.driver != "codex":
        return invalid(path, f"{name}.home", "only Codex can have a home for each run")
    for key in _OF_TERMINALS:
        if made.driver != "pty" and getattr(entry, key) is not None:
            return invalid(path, f"{name}.{key}", 'it is for programs on a terminal only (driver = "pty")')
    try:
        check_prompt(made.prompt)
    except re.error as problem:
        return invalid(path, f"{name}.prompt", f"it is no pattern: {problem}")
    for variable, value in made.env:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable) or "\0" in value:
            return invalid(path, f"{name}.env", f"{variable!r} cannot be a variable")
    return None
