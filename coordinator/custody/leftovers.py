"""When keeper and worker are both gone: who is still in the hold's cgroups or carries its nonce is proven ours, and is
ended from here."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coordinator.custody import spoolfile
from coordinator.custody.processes import boot_id, carriers, kill_carriers, name_of
from coordinator.supervisor.cgroup import Cgroups

PATIENCE = 5.0
"""Seconds after which a process that does not die is *remaining*."""


def end_left(folder: Path, nonce: str, *, reason: str) -> dict[str, Any]:
    """End all that the hold of this spool folder has left; gives the facts of a receipt. Blocks at most ``PATIENCE``
    seconds for each of the two ways."""
    begun = time.monotonic()
    header = spoolfile.read_header(folder / spoolfile.SPOOL)
    groups = _cgroups(header or {})
    ended: dict[int, dict[str, Any]] = {}
    steps: list[list[object]] = []

    def saw(pids: list[int], step: str) -> None:
        for pid in pids:
            ended.setdefault(pid, {"pid": pid, "name": name_of(pid), "step": step})

    def took() -> int:
        return int((time.monotonic() - begun) * 1000)

    if not groups.empty():
        saw(groups.members(), "cgroup")
        groups.kill()
        while not groups.empty() and time.monotonic() - begun < PATIENCE:
            time.sleep(0.005)
        steps.append(["cgroup", took()])
    until = time.monotonic() + PATIENCE
    while True:
        saw(carriers(nonce), "nonce")
        if not kill_carriers(nonce) or time.monotonic() > until:
            break
        time.sleep(0.005)
    steps.append(["nonce", took()])
    alive = {*carriers(nonce), *groups.members()}
    saw(list(alive), "nonce")
    groups.remove()
    for facts in ended.values():
        facts["gone_after_ms"] = took()
    return {
        "reason": reason,
        "already_ended": not ended,
        "agent_exit": None,
        "steps": steps,
        "ended": [facts for pid, facts in ended.items() if pid not in alive],
        "remaining": [facts for pid, facts in ended.items() if pid in alive],
        "spared": [],
        "total_ms": took(),
    }


def _cgroups(header: Mapping[str, object]) -> Cgroups:
    """As the spool names them. None of another boot: the names outlive it, the cgroups do not."""
    ours = header.get("boot_id") == boot_id()
    return Cgroups(str(header.get("cgroups") or "") if ours else "")
