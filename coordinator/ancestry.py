"""Whether this process was started from within a run: an agent is never its own operator.

It stops accidents and simple tricks and is no wall: a process that clears its environment and leaves its ancestors
behind is found only by what the supervisor knows of it.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from coordinator.supervisor.process import CUSTODY_VARIABLE

if sys.platform == "darwin":
    from coordinator.supervisor import darwin

_SUPERVISOR = ("coordinator/supervisor", "coordinator.supervisor")
_GENERATIONS = 64


def inside_a_hold(environ: Mapping[str, str] | None = None, *, proc: Path = Path("/proc")) -> bool:
    """By our nonce in this environment, or in an ancestor's, or a supervisor among the ancestors."""
    if CUSTODY_VARIABLE in (os.environ if environ is None else environ):
        return True
    pid = os.getppid()
    for _ in range(_GENERATIONS):
        if pid <= 1:
            return False
        environment, arguments, parent = _of(pid, proc)
        if _has_nonce(environment) or _is_supervisor(arguments):
            return True
        pid = parent
    return False


def _of(pid: int, proc: Path) -> tuple[list[bytes], list[bytes], int]:
    """Environment, arguments and parent; empty and 0 where it is gone or not ours to read."""
    if sys.platform == "darwin":
        facts = darwin.stat(pid)
        return darwin.environment(pid), darwin.arguments(pid), facts.parent if facts is not None else 0
    else:
        process = proc / str(pid)
        return (
            _read(process / "environ").split(b"\0"),
            _read(process / "cmdline").split(b"\0"),
            _parent_in(_read(process / "stat")),
        )


def _has_nonce(environment: list[bytes]) -> bool:
    marker = CUSTODY_VARIABLE.encode() + b"="
    return any(variable.startswith(marker) for variable in environment)


def _is_supervisor(arguments: list[bytes]) -> bool:
    parts = [part.decode("utf-8", "replace") for part in arguments]
    # Its own arguments only: a shell that greps for the name is none.
    return (
        bool(parts)
        and "python" in Path(parts[0]).name
        and any(part.rstrip("/").endswith(_SUPERVISOR) for part in parts[1:5])
    )


def _parent_in(stat: bytes) -> int:
    # The name in brackets may hold anything, brackets too; what follows the last one is numbers.
    after = stat.rpartition(b")")[2].split()
    return int(after[1]) if len(after) > 1 and after[1].isdigit() else 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
