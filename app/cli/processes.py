"""What ``ps`` shows: the processes of each hold, seen by their ancestry and not by asking anybody.

The keeper is the reaper of everything that its agent leaves behind, so the tree under it is the whole of a hold; its
identity (pid and start time and boot) is checked first, so that a pid that was given away is never shown as ours.
"""

import time
from dataclasses import dataclass

import psutil

from app import wording
from app.cli.printing import line, one_line, table
from app.paths import Paths
from coordinator.clock import RealClock
from coordinator.custody.processes import is_alive
from coordinator.custody.types import ProcessIdentity
from store import custody, runs
from store.db import read_ledger
from store.vocab import CustodyState, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLine:
    pid: int
    name: str
    age_ms: int
    rss_kb: int
    role: str
    """``keeper``, ``agent`` or ''."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldLine:
    run: RunId
    title: str
    state: CustodyState
    alive: bool
    """False: nothing of it is seen on this machine."""
    processes: tuple[ProcessLine, ...]


def read(paths: Paths) -> list[HoldLine]:
    if not paths.ledger.exists():
        return []
    with read_ledger(paths.ledger, now=RealClock().now) as tx:
        held = [(hold, runs.get(tx, hold.run)) for hold in custody.not_closed(tx)]
    return [_hold(hold, row.title if row else "") for hold, row in held]


def _hold(hold: custody.Custody, title: str) -> HoldLine:
    processes = tuple(_tree(hold))
    return HoldLine(
        run=hold.run, title=one_line(title, 60), state=hold.state, alive=bool(processes), processes=processes
    )


def _tree(hold: custody.Custody) -> list[ProcessLine]:
    for pid, ticks in ((hold.keeper_pid, hold.keeper_ticks), (hold.supervisor_pid, hold.supervisor_ticks)):
        if pid is None or ticks is None:
            continue
        if is_alive(ProcessIdentity(boot_id=hold.boot_id, pid=pid, start_ticks=ticks)):
            try:
                keeper = psutil.Process(pid)
                found = [keeper, *keeper.children(recursive=True)]
            except psutil.Error:
                return []
            return [seen for one in found if (seen := _process(one, hold)) is not None]
    return []


def _process(process: psutil.Process, hold: custody.Custody) -> ProcessLine | None:
    try:
        with process.oneshot():
            command = " ".join(process.cmdline()) or process.name()
            return ProcessLine(
                pid=process.pid,
                name=one_line(command, 200),
                age_ms=max(0, round((time.time_ns() / 1e9 - process.create_time()) * 1000)),
                rss_kb=process.memory_info().rss // 1024,
                role=_role(process.pid, hold),
            )
    except psutil.Error:
        return None  # ended while it was looked at


def _role(pid: int, hold: custody.Custody) -> str:
    if pid in (hold.keeper_pid, hold.supervisor_pid):
        return "keeper"
    return "agent" if pid == hold.agent_pid else ""


def print_holds(holds: list[HoldLine]) -> None:
    for hold in holds:
        line(f"run {hold.run}  {hold.title}  {wording.custody_state(hold.state)}")
        if not hold.alive:
            line("    nothing of it is seen on this machine; the next console closes its books")
        table(
            [
                (f"    {one.pid}", one.role, wording.age(one.age_ms), wording.memory(one.rss_kb), one.name)
                for one in hold.processes
            ],
            right=frozenset({2, 3}),
        )
