"""When keeper and worker are both gone: who is still in the hold's cgroups or carries its nonce is proven ours, and is
ended from here."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coordinator.custody import spoolfile
from coordinator.custody.processes import boot_id, carriers, kill_carriers, name_of
from coordinator.custody.types import RecordKind
from coordinator.supervisor.cgroup import Cgroups
from coordinator.supervisor.kernel import kernel
from coordinator.supervisor.roll import Seen

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
    still: list[int] = []
    if kernel.FOLLOWS:
        seen, still = _end_agents(folder, nonce, header or {})
        for one in seen:
            ended.setdefault(one.pid, {"pid": one.pid, "name": one.name, "step": "kill"})
        steps.append(["kill", took()])
    until = time.monotonic() + PATIENCE
    while True:
        saw(carriers(nonce), "nonce")
        if not kill_carriers(nonce) or time.monotonic() > until:
            break
        time.sleep(0.005)
    steps.append(["nonce", took()])
    alive = {*carriers(nonce), *groups.members(), *still}
    saw(list(alive), "nonce")
    groups.remove()
    for facts in ended.values():
        facts["gone_after_ms"] = took()
    receipt: dict[str, Any] = {
        "reason": reason,
        "already_ended": not ended,
        "agent_exit": None,
        "steps": steps,
        "ended": [facts for pid, facts in ended.items() if pid not in alive],
        "remaining": [facts for pid, facts in ended.items() if pid in alive],
        "spared": [],
        "total_ms": took(),
    }
    return {**receipt, "followed": True} if kernel.FOLLOWS else receipt


def _end_agents(folder: Path, nonce: str, header: Mapping[str, object]) -> tuple[list[Seen], list[int]]:
    """Where no signal ends an agent with its keeper: those that the spool names and that are there, and what is known
    by them to be theirs. Gives who was seen, and who would not die."""
    from coordinator.supervisor.follower import Follower  # noqa: PLC0415 - never needed on Linux

    if header.get("boot_id") != boot_id():
        return [], []
    follower = Follower(nonce)
    follower.hold(-1, (os.getpid(),))
    try:
        for record in spoolfile.read_spool(folder / spoolfile.SPOOL):
            pid, ticks = record.facts.get("pid"), record.facts.get("start_ticks")
            if record.kind is RecordKind.STARTED and isinstance(pid, int) and isinstance(ticks, int):
                follower.begin_with(pid, ticks)
        roll = follower.roll(())
        roll.look("kill", 0)
        until = time.monotonic() + PATIENCE
        while roll.kill_children() and time.monotonic() < until:
            time.sleep(0.005)
        still = [one.pid for one in roll.look("kill", 0)]
        return list(roll.seen.values()), still
    finally:
        follower.close()


def _cgroups(header: Mapping[str, object]) -> Cgroups:
    """As the spool names them. None of another boot: the names outlive it, the cgroups do not."""
    ours = header.get("boot_id") == boot_id()
    return Cgroups(str(header.get("cgroups") or "") if ours else "")
