"""Whether this process was started from within a run: an agent is never its own operator.

It stops accidents and simple tricks and is no wall: a process that clears its environment and leaves its ancestors
behind is found only by what the supervisor knows of it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

NONCE_VARIABLE = "FOOTPLATE_CUSTODY"
_SUPERVISOR = ("coordinator/supervisor", "coordinator.supervisor")
_GENERATIONS = 64


def inside_a_hold(environ: Mapping[str, str] | None = None, *, proc: Path = Path("/proc")) -> bool:
    """By our nonce in this environment, or in an ancestor's, or a supervisor among the ancestors."""
    if NONCE_VARIABLE in (os.environ if environ is None else environ):
        return True
    pid = os.getppid()
    for _ in range(_GENERATIONS):
        if pid <= 1:
            return False
        if _carries_nonce(proc / str(pid)) or _is_supervisor(proc / str(pid)):
            return True
        pid = _parent_of(proc / str(pid))
    return False


def _carries_nonce(process: Path) -> bool:
    marker = NONCE_VARIABLE.encode() + b"="
    return any(variable.startswith(marker) for variable in _read(process / "environ").split(b"\0"))


def _is_supervisor(process: Path) -> bool:
    parts = _read(process / "cmdline").decode("utf-8", "replace").split("\0")
    # Its own arguments only: a shell that greps for the name is none.
    return (
        bool(parts)
        and "python" in Path(parts[0]).name
        and any(part.rstrip("/").endswith(_SUPERVISOR) for part in parts[1:5])
    )


def _parent_of(process: Path) -> int:
    # The name in brackets may hold anything, brackets too; what follows the last one is numbers.
    after = _read(process / "stat").rpartition(b")")[2].split()
    return int(after[1]) if len(after) > 1 and after[1].isdigit() else 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
