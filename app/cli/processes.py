"""What ``ps`` shows: the processes of each hold, seen by their ancestry and their mark, and not by asking anybody.

The keeper is the reaper of everything that its agent leaves behind, so the tree under it is the whole of a hold; its
identity (pid and start time and boot) is checked first, so that a pid that was given away is never shown as ours. What
carries a run's nonce and is not in that tree has slipped away from a keeper that is gone; of a run that has ended it is
a leftover, and there should be none.
"""

import os
import time
from collections.abc import Iterable

import psutil
from msgspec import Struct

from app import wording
from app.cli.columns import Column
from app.cli.printing import line, one_line, sentence, table
from app.paths import Paths
from coordinator.clock import RealClock
from coordinator.custody.processes import boot_id, carried, is_alive
from coordinator.custody.types import ProcessIdentity
from store import custody, runs
from store.db import read_ledger
from store.vocab import CustodyState, RunId


class ProcessLine(Struct, frozen=True, kw_only=True):
    pid: int
    name: str
    age_ms: int
    rss_kb: int
    own_session: bool
    """It has left its agent's session, as a daemon does; most tools do."""
    role: str
    """``keeper``, ``agent``, ``slipped-away`` or ''."""


class HoldLine(Struct, frozen=True, kw_only=True):
    run: RunId
    title: str
    state: CustodyState
    alive: bool
    """False: nothing of it is seen on this machine."""
    processes: tuple[ProcessLine, ...]


class LeftoverLine(Struct, frozen=True, kw_only=True):
    """A run that has ended, and something of it is alive."""

    run: RunId
    title: str
    processes: tuple[ProcessLine, ...]


class Found(Struct, frozen=True, kw_only=True):
    holds: tuple[HoldLine, ...] = ()
    leftovers: tuple[LeftoverLine, ...] = ()


def read(paths: Paths) -> Found:
    if not paths.ledger.exists():
        return Found()
    with read_ledger(paths.ledger, now=RealClock().now) as tx:
        held = custody.not_closed(tx)
        over = custody.closed_in_boot(tx, boot_id())
        titles = {row.run: one_line(found.title, 60) for row in (*held, *over) if (found := runs.get(tx, row.run))}
    marked = carried()
    holds = []
    for row in held:
        processes = _of(row, marked.get(row.nonce, ()))
        title = titles.get(row.run, "")
        holds.append(HoldLine(run=row.run, title=title, state=row.state, alive=bool(processes), processes=processes))
    leftovers = []
    for row in over:
        processes = _of(row, marked.get(row.nonce, ()))
        if processes:
            leftovers.append(LeftoverLine(run=row.run, title=titles.get(row.run, ""), processes=processes))
    return Found(holds=tuple(holds), leftovers=tuple(leftovers))


def _of(hold: custody.Custody, marked: Iterable[int]) -> tuple[ProcessLine, ...]:
    tree = _tree(hold)
    pids = {one.pid for one in tree}
    for pid in marked:
        if pid not in pids:
            try:
                tree.append(psutil.Process(pid))
            except psutil.Error:
                continue
    found = [_process(one, hold, in_tree=one.pid in pids) for one in tree]
    return tuple(one for one in found if one is not None)


def _tree(hold: custody.Custody) -> list[psutil.Process]:
    for pid, ticks in ((hold.keeper_pid, hold.keeper_ticks), (hold.supervisor_pid, hold.supervisor_ticks)):
        if pid is None or ticks is None:
            continue
        if is_alive(ProcessIdentity(boot_id=hold.boot_id, pid=pid, start_ticks=ticks)):
            try:
                keeper = psutil.Process(pid)
                return [keeper, *keeper.children(recursive=True)]
            except psutil.Error:
                return []
    return []


def _process(process: psutil.Process, hold: custody.Custody, *, in_tree: bool) -> ProcessLine | None:
    try:
        with process.oneshot():
            command = " ".join(process.cmdline()) or process.name()
            role = _role(process.pid, hold)
            return ProcessLine(
                pid=process.pid,
                name=one_line(command, 200),
                age_ms=max(0, round((time.time_ns() / 1e9 - process.create_time()) * 1000)),
                rss_kb=process.memory_info().rss // 1024,
                own_session=role == "" and os.getsid(process.pid) != hold.agent_pid,
                role=role or ("" if in_tree else "slipped-away"),
            )
    except (psutil.Error, OSError):
        return None  # ended while it was looked at


def _role(pid: int, hold: custody.Custody) -> str:
    if pid in (hold.keeper_pid, hold.supervisor_pid):
        return "keeper"
    return "agent" if pid == hold.agent_pid else ""


# ------------------------------------------------------------------------------------------------------------- in words

_ROLES = {"slipped-away": "slipped away"}
_COLUMNS = (
    Column(head="run", right=True),
    Column(head="pid", right=True),
    Column(goes=2),
    Column(head="age", right=True, goes=3),
    Column(head="memory", right=True, goes=1),
    Column(head="session", goes=4),
    Column(head="process", least=14),
)


def print_found(found: Found) -> None:
    """One table over all of them, then what should not be there."""
    if not found.holds:
        line("Nothing is held.")
    else:
        table([row for hold in found.holds for row in _rows(hold)], _COLUMNS)
        for hold in found.holds:
            if not hold.alive:
                sentence(f"Of run {hold.run} nothing is seen on this machine; footplate sweep closes its books.")
    if found.leftovers:
        line()
        line("Left over from runs that have ended:")
        table([row for left in found.leftovers for row in _rows(left)], _COLUMNS)
        sentence("Look what they are, and end them by hand; footplate show RUN has the report of the run's end.")


def _rows(of: HoldLine | LeftoverLine) -> list[tuple[str, ...]]:
    return [
        (
            str(of.run),
            str(one.pid),
            _ROLES.get(one.role, one.role),
            wording.age(one.age_ms),
            wording.memory(one.rss_kb),
            "own" if one.own_session else "",
            one.name,
        )
        for one in of.processes
    ]
