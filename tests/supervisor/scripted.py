"""A kernel that does what a test says, while it is asked: processes that fork, end, are adopted, make sessions of their
own and clear their environment, and numbers that are given out again as soon as they may be.

It answers as ``darwin`` does, and it knows what none of those questions tells: whose a process truly is.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from coordinator.supervisor.process import Stat, mark

LAUNCHD, WORKER, KEEPER = 1, 2, 3
NONCE = "the nonce"
FEW = range(4, 10)
"""Numbers that are given out."""

Event = tuple[str, int, int]
EVENTS = (
    "fork", "exit", "setsid", "clear", "foreign", "foreign-fork", "foreign-exit", "foreign-setsid", "reap", "recycle",
    "take", "daemon",
)  # fmt: skip


@dataclass
class Process:
    pid: int
    ticks: int
    parent: int
    session: int
    ours: bool
    marked: bool
    dead: bool = False
    seen: bool = False
    others: bool = False
    """Another user's by now."""
    signals: list[int] = field(default_factory=list)


class World:
    """``during``: what happens while questions are asked, one for each."""

    FOLLOWS = True

    def __init__(self, during: Iterable[Event] = ()) -> None:
        self._during = list(during)
        self._clock = 0
        self._last = 0
        self.there: dict[int, Process] = {}
        for pid, parent, session in ((LAUNCHD, 0, 1), (WORKER, KEEPER, KEEPER), (KEEPER, LAUNCHD, KEEPER)):
            self._add(pid, parent, session, ours=False, marked=False)
        agent = self._new(WORKER, KEEPER, ours=True, marked=True)
        assert agent is not None
        self.agent = agent.pid
        self.wrong: list[Process] = []
        """Who was signalled and is not ours."""

    # --------------------------------------------------------------------------------------------------- what happens

    def _add(self, pid: int, parent: int, session: int, *, ours: bool, marked: bool) -> Process:
        self._clock += 1
        self.there[pid] = one = Process(pid, self._clock, parent, session, ours, marked)
        return one

    def _new(self, parent: int, session: int, *, ours: bool, marked: bool) -> Process | None:
        taken = set(self.there) | {one.session for one in self.there.values()}
        free = sorted((pid for pid in FEW if pid not in taken), key=lambda pid: pid <= self._last)
        if free:
            self._last = free[0]
        return self._add(free[0], parent, session, ours=ours, marked=marked) if free else None

    def _pick(self, n: int, *, ours: bool) -> Process | None:
        some = [one for one in self.there.values() if one.ours is ours and not one.dead and one.pid > KEEPER]
        return some[n % len(some)] if some else None

    def happen(self, event: Event) -> None:
        what, n, how = event
        one = self._pick(n, ours=not what.startswith("foreign"))
        if what == "foreign":
            made = self._new(LAUNCHD, LAUNCHD, ours=False, marked=False)
            if made is not None and how % 2:
                made.session = made.pid
        elif what == "reap":
            for zombie in [one for one in self.there.values() if one.dead and one.parent != WORKER]:
                del self.there[zombie.pid]
        elif one is None:
            return
        elif what.endswith("fork"):
            self._new(one.pid, one.session, ours=one.ours, marked=one.marked)
        elif what.endswith("exit"):
            self.end(one)
        elif what.endswith("setsid"):
            one.session = one.pid
        elif what == "clear":
            one.marked = False
        elif what == "recycle":
            self._recycle(one, leads=how % 2 == 1)
        elif what == "take":
            self._take(one)
        elif what == "daemon":
            self._daemon(one)

    def _recycle(self, one: Process, *, leads: bool) -> None:
        """It ends, is waited for, and somebody else has its number at once, and a child."""
        if one.parent == WORKER:
            return  # the worker has not waited for it yet
        self.end(one)
        self.there.pop(one.pid, None)
        if any(other.session == one.pid for other in self.there.values()):
            return
        after = self._add(one.pid, LAUNCHD, one.pid if leads else LAUNCHD, ours=False, marked=False)
        self._new(after.pid, after.session, ours=False, marked=False)

    def _take(self, one: Process) -> None:
        """Somebody else's process with a child ends, and one of ours forks into its number."""
        parents = {other.parent for other in self.there.values()}
        for other in [other for other in self.there.values() if not other.ours and other.pid > KEEPER]:
            if other.pid in parents:
                self.end(other)
                if not any(left.session == other.pid for left in self.there.values()):
                    self._add(other.pid, one.pid, one.session, ours=True, marked=one.marked)
                return

    def _daemon(self, one: Process) -> None:
        """By two forks and a session of its own."""
        between = self._new(one.pid, one.session, ours=True, marked=one.marked)
        if between is not None:
            between.session = between.pid
            self._new(between.pid, between.pid, ours=True, marked=between.marked)
            self.end(between)
            self.there.pop(between.pid, None)

    def end(self, one: Process) -> None:
        """Who waits for it is its parent; launchd does so at once."""
        one.dead = True
        for child in self.there.values():
            if child.parent == one.pid:
                child.parent = LAUNCHD
        for pid in [pid for pid, one in self.there.items() if one.dead and one.parent == LAUNCHD]:
            del self.there[pid]

    def reap(self) -> bool:
        """The worker waits for its children; whether it has any left."""
        for one in [one for one in self.there.values() if one.dead and one.parent == WORKER]:
            del self.there[one.pid]
        return any(one.parent == WORKER for one in self.there.values())

    def _meanwhile(self) -> None:
        if self._during:
            self.happen(self._during.pop(0))

    def left(self) -> list[Process]:
        return [one for one in self.there.values() if one.ours and not one.dead]

    # ---------------------------------------------------------------------------------------------- what is asked of it

    def stat(self, pid: int) -> Stat | None:
        """The session is read before the rest, as on a Mac."""
        before = self.there.get(pid)
        session = before.session if before is not None and not before.dead else 0
        self._meanwhile()
        one = self.there.get(pid)
        if one is None:
            return None
        return Stat(pid, "Z" if one.dead else "S", one.parent, session, 0 if one.others else one.ticks, 0)

    def all_pids(self) -> list[int]:
        self._meanwhile()
        return list(self.there)

    def children(self, pid: int, threads: int = 0) -> list[int]:
        return [one.pid for one in self.there.values() if one.parent == pid]

    def children_of_all(self) -> dict[int, list[int]] | None:
        return None

    def environment(self, pid: int) -> list[bytes]:
        self._meanwhile()
        one = self.there.get(pid)
        return [mark(NONCE)] if one is not None and one.marked and not one.dead and not one.others else []

    def name(self, pid: int) -> str:
        return f"process {pid}"

    def called(self, pid: int) -> frozenset[str]:
        return frozenset()

    def signal_exactly(self, pid: int, ticks: int, numbers: Iterable[int]) -> bool:
        self._meanwhile()
        one = self.there.get(pid)
        if one is None or one.ticks != ticks or one.dead or one.others:
            return False
        if not one.ours:
            self.wrong.append(one)
        for number in numbers:
            one.signals.append(number)
            if number == 9:
                self.end(one)
        return True

    def kill_carrier(self, pid: int, nonce: str) -> bool:
        facts = self.stat(pid)
        if facts is None or mark(nonce) not in self.environment(pid):
            return False
        return self.signal_exactly(pid, facts.ticks, (9,))

    def queue(self) -> int:
        return -1

    def watch(self, queue: int, pid: int) -> bool:
        return pid in self.there

    def drain(self, queue: int) -> int:
        return 0
