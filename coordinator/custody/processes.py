"""Processes by their identity, for the console's half: sweep, proof of an end, a stop when no supervisor answers.

Signals are sent only here and in the supervisor, and only to a process whose identity or nonce was read first: on Linux
behind a pidfd.
"""

import os
import signal
import sys

from coordinator.custody.types import ProcessIdentity
from coordinator.supervisor import kin
from coordinator.supervisor.kernel import kernel
from coordinator.supervisor.process import CUSTODY_VARIABLE

if sys.platform == "darwin":
    from coordinator.supervisor import darwin


def boot_id() -> str:
    """Of this boot."""
    return kernel.boot_id()


def identity_of(pid: int) -> ProcessIdentity | None:
    """Who has this pid now; None: nobody, or only a zombie."""
    facts = kernel.stat(pid)
    if facts is None or facts.dead:
        return None
    return ProcessIdentity(boot_id=kernel.boot_id(), pid=pid, start_ticks=facts.ticks)


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether exactly this process still runs."""
    return identity_of(identity.pid) == identity


def carriers(nonce: str) -> list[int]:
    """Live processes whose environment carries the nonce, without this one."""
    return [pid for pid in kin.carriers(nonce) if pid != os.getpid()]


def carried() -> dict[str, list[int]]:
    """Every live process that carries some hold's nonce, by the nonce: one look at all, for who has many to ask for."""
    name = f"{CUSTODY_VARIABLE}="
    found: dict[str, list[int]] = {}
    for pid in kernel.all_pids():
        facts = kernel.stat(pid)
        if facts is None or facts.dead or pid == os.getpid():
            continue
        for entry in kernel.environment(pid):
            text = entry.decode("ascii", "replace")
            if text.startswith(name):
                found.setdefault(text.removeprefix(name), []).append(pid)
    return found


def kill_carriers(nonce: str) -> list[int]:
    """Send KILL to every carrier; returns those to whom it was sent. Call again until there are none."""
    return [pid for pid in carriers(nonce) if kernel.kill_carrier(pid, nonce)]


def kill_identity(identity: ProcessIdentity) -> bool:
    """Send KILL to exactly this process; False when it is not there (any more)."""
    return identity.boot_id == kernel.boot_id() and kernel.signal_exactly(
        identity.pid, identity.start_ticks, (signal.SIGKILL,)
    )


def working_folder(pid: int) -> str:
    """Where it stands; empty when it is gone or not ours to ask."""
    if sys.platform == "darwin":
        return darwin.working_folder(pid)
    else:
        try:
            return os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115 - of every process, and a Path takes its time
        except OSError:
            return ""


def name_of(pid: int) -> str:
    """Its command line, in one line."""
    return kernel.name(pid)
