"""A home of its own for a run's agent, where the operator asked for it (``home = "per-run"`` in ``agents.toml``).

What an agent keeps of a run (its transcripts, its rules, its key) then lies in the run's spool folder and goes with the
receipt. Only Codex has a home that can be named by a variable and begun from nothing. An account whose tokens are
renewed cannot be in two homes: the first to renew them signs the other out, so such a start is refused.
"""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from coordinator.agentprofile import PER_RUN, AgentProfile
from store.refusal import Refusal
from store.vocab import RefusalReason

VARIABLE: Final = "CODEX_HOME"
KEY: Final = "OPENAI_API_KEY"
_FOLDER: Final = "home"
_AUTH: Final = "auth.json"
_TAKEN: Final = ("config.toml", "AGENTS.md", "rules")
"""What the operator decided in the shared home holds in one of its own too."""


def problem(profile: AgentProfile, source: Mapping[str, str]) -> Refusal | None:
    """Why its account cannot be in a home of its own: ``account-shared``. ``source``: the operator's environment."""
    if profile.home != PER_RUN:
        return None
    told = _auth(_shared(profile, source))
    if told is None or (not told.get("tokens") and told.get("auth_mode") in (None, "apikey")):
        return None
    return Refusal(RefusalReason.ACCOUNT_SHARED, {"agent": profile.name})


def variables(profile: AgentProfile, folder: Path) -> Mapping[str, str]:
    """What names its home to the agent of the run whose spool folder that is."""
    return {VARIABLE: str(folder / _FOLDER)} if profile.home == PER_RUN else {}


def make(profile: AgentProfile, source: Mapping[str, str], folder: Path) -> None:
    """The home, with the operator's configuration and key in it. An agent that is started again finds its own.

    Raises:
        OSError: it cannot be written.
    """
    home = folder / _FOLDER
    if profile.home != PER_RUN or home.exists():
        return
    shared = _shared(profile, source)
    home.mkdir(mode=0o700)
    for name in _TAKEN:
        there = shared / name
        if there.is_dir():
            shutil.copytree(there, home / name)
        elif there.is_file():
            shutil.copyfile(there, home / name)
    key = (_auth(shared) or {}).get(KEY) or source.get(KEY)
    if isinstance(key, str) and key:
        made = os.open(home / _AUTH, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "w", encoding="utf-8") as file:
            json.dump({"auth_mode": "apikey", KEY: key}, file)


def remove(folder: Path) -> None:
    """After the receipt. What cannot be removed goes with the spool folder."""
    shutil.rmtree(folder / _FOLDER, ignore_errors=True)


def _shared(profile: AgentProfile, source: Mapping[str, str]) -> Path:
    told = {**source, **dict(profile.env)}
    return Path(told.get(VARIABLE) or Path(told.get("HOME") or Path.home()) / ".codex")


def _auth(home: Path) -> dict[str, object] | None:
    """Who is signed in there; None: nobody. One that cannot be understood is taken for an account."""
    try:
        told = json.loads((home / _AUTH).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {"auth_mode": "unknown"}
    return told if isinstance(told, dict) else {"auth_mode": "unknown"}
