"""Who is in a tree: every process seen while it was being ended, what became of it, and the signals that are sent.

Every signal goes to a process that is proven ours at that moment: a direct child that we have not waited for yet cannot
be another process by now, a deeper descendant is signalled through a pidfd after its start time was read again, a
carrier of the nonce through the pidfd that its environment was read behind. When which is sent is for the ladder. Where
no kernel hands orphans to us, ``follower`` has the roll of those that were followed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable

from . import kin
from .kernel import kernel
from .process import Stat


class Seen:
    """A process that was in the tree, and what became of it."""

    __slots__ = ("daemonised", "gone_ms", "name", "own_session", "pid", "step", "ticks")

    def __init__(self, pid: int, ticks: int, name: str, own_session: bool) -> None:
        self.pid = pid
        self.ticks = ticks
        self.name = name
        self.own_session = own_session
        self.daemonised = False
        self.step: str | None = None
        self.gone_ms = 0

    def facts(self) -> dict[str, object]:
        """For a record."""
        return {
            "pid": self.pid,
            "start_ticks": self.ticks,
            "name": self.name,
            "step": self.step or "",
            "gone_after_ms": self.gone_ms,
            "own_session": self.own_session,
            "daemonised": self.daemonised,
        }


def named(pid: int, before: str) -> str:
    """What it is called now. ``before``: what it was called, which stays where no command line can be read, as of one
    that is just going or becoming another program: of those there is only the kernel's short word, in brackets."""
    now = kernel.name(pid)
    return before if now.startswith("[") else now


class Roll:
    """All processes of a hold that were ever seen while it was being ended."""

    followed = False
    """What was found is what was seen or carried the nonce: nothing keeps the tree together, so there may be more."""

    def __init__(self, root: int, spared: Iterable[str], nonce: str) -> None:
        self._root = root
        self.adopter = root
        """Whose child one becomes that has lost its parents."""
        self._spared_names = frozenset(spared)
        self._nonce = nonce
        self.agent_pid = 0
        self.seen: dict[tuple[int, int], Seen] = {}
        self._alive: dict[tuple[int, int], Seen] = {}
        self._spared: dict[tuple[int, int], Seen] = {}
        self._outside: dict[tuple[int, int], Seen] = {}
        self._killed: set[int] = set()
        """Direct children that were sent KILL and not waited for yet: once is enough, none can refuse it."""

    def _is_spared(self, facts: Stat, spared_pids: set[int]) -> bool:
        if not self._spared_names or facts.pid == self.agent_pid:
            return False
        if facts.parent in spared_pids:
            return True
        # A program asked for by name from within the agent's own session is a tool, not a shared daemon.
        return facts.session != self.agent_pid and bool(self._spared_names & kernel.called(facts.pid))

    def below(self) -> list[Stat]:
        """All that is ours now, zombies too; parents first."""
        return kin.descendants(self._root)

    def any_left(self, children: bool) -> bool:
        """Whether anything of ours may be there. ``children``: we have one. Here everything becomes one."""
        return children

    def note_ended(self, pid: int, ticks: int, name: str, step: str) -> None:
        """One that is known from elsewhere to have been in the tree, and is gone."""
        one = self.seen.setdefault((pid, ticks), Seen(pid, ticks, name, False))
        one.step = one.step or step

    def look(self, step: str, ms: int, *, rename: bool = False, before_signal: bool = False) -> list[Seen]:
        """See who is alive now; who was and is not gets this step and time. Spared ones are kept apart.

        ``before_signal``: nothing was done to the tree yet, so who is our direct child left its parents by itself.
        """
        alive: dict[tuple[int, int], Seen] = {}
        spared: dict[tuple[int, int], Seen] = {}
        spared_pids: set[int] = set()
        for facts in self.below():
            if facts.dead:
                continue
            key = (facts.pid, facts.ticks)
            one = self.seen.get(key)
            if one is None:
                own = self.agent_pid != 0 and facts.session != self.agent_pid
                one = self.seen[key] = Seen(facts.pid, facts.ticks, kernel.name(facts.pid), own)
            elif rename:
                one.name = named(facts.pid, one.name)
                one.own_session = self.agent_pid != 0 and facts.session != self.agent_pid
            if before_signal and facts.parent == self.adopter and facts.pid != self.agent_pid and one.own_session:
                one.daemonised = True
            if self._is_spared(facts, spared_pids):
                spared_pids.add(facts.pid)
                spared[key] = one
            else:
                alive[key] = one
        for key, one in self._outside.items():
            now = kernel.stat(one.pid)
            if key not in spared and now is not None and now.ticks == one.ticks and not now.dead:
                alive[key] = one
        for key, one in self.seen.items():
            if one.step is None and key not in alive and key not in spared:
                now = kernel.stat(one.pid)
                if now is not None and now.ticks == one.ticks and not now.dead:
                    # Its parent ended while the tree was walked, and it was between the two: seen in neither place.
                    (spared if key in self._spared else alive)[key] = one
                else:
                    one.step, one.gone_ms = step, ms
        self._alive, self._spared = alive, spared
        return list(alive.values())

    def note_carriers(self, pids: Iterable[int]) -> None:
        """Processes found by their nonce: those that no look has shown as descendants are *outside*."""
        for pid in pids:
            facts = kernel.stat(pid)
            if facts is None or facts.dead or (pid, facts.ticks) in self._alive:
                continue
            key = (pid, facts.ticks)
            one = self.seen.get(key)
            if one is None:
                one = self.seen[key] = Seen(pid, facts.ticks, kernel.name(pid), True)
                one.daemonised = True
            one.step = None
            self._outside[key] = one

    def note_inside(self, pids: Iterable[int]) -> None:
        """Processes in a cgroup of ours that no look has shown."""
        for pid in pids:
            facts = kernel.stat(pid)
            if facts is None or facts.dead or (pid, facts.ticks) in self.seen:
                continue
            self._name(facts)

    def _name(self, facts: Stat) -> Seen:
        """One that lives, before it goes."""
        key = (facts.pid, facts.ticks)
        if key not in self.seen:
            own = self.agent_pid != 0 and facts.session != self.agent_pid
            self.seen[key] = Seen(facts.pid, facts.ticks, kernel.name(facts.pid), own)
        self._alive[key] = self.seen[key]
        return self.seen[key]

    def reaped(self, pid: int, step: str, ms: int) -> None:
        """A direct child was waited for: until then its pid was nobody else's."""
        self._killed.discard(pid)
        for key, one in self._alive.items():
            if one.pid == pid:
                one.step, one.gone_ms = one.step or step, one.gone_ms or ms
                del self._alive[key]
                return

    def alive(self) -> list[Seen]:
        """As of the last look."""
        return list(self._alive.values())

    def kill_children(self) -> int:
        """KILL every direct child but the spared. Returns how many there were; zombies not waited for count."""
        spared = {one.pid for one in self._spared.values()}
        known = {one.pid for one in self._alive.values()}
        n = 0
        for pid in kin.direct_children(self._root):
            if pid in spared:
                continue
            if pid in self._killed:
                n += 1
                continue
            facts = kernel.stat(pid) if pid not in known or self._spared_names else None
            if facts is not None and not facts.dead:
                if self._is_spared(facts, spared):
                    spared.add(pid)
                    continue
                self._name(facts)  # it may have been hidden below a parent, or forked since the last look
            n += 1
            self._killed.add(pid)
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        return n

    def kill_seen(self) -> None:
        """KILL everything of the last look at once: a deep tree need not go layer by layer."""
        direct = set(kin.direct_children(self._root))
        for one in list(self._alive.values()):
            if one.pid not in direct:
                kernel.signal_exactly(one.pid, one.ticks, (signal.SIGKILL,))

    def children_left(self) -> bool:
        """Whether any direct child but spared ones is there, zombies not counted."""
        spared = {one.pid for one in self._spared.values()}
        for pid in kin.direct_children(self._root):
            if pid not in spared:
                facts = kernel.stat(pid)
                if facts is not None and not facts.dead:
                    return True
        return False

    def carriers(self, never: Iterable[int]) -> list[int]:
        """Live processes that carry the nonce and are neither spared nor one of these."""
        out = set(never) | {one.pid for one in self._spared.values()}
        found = []
        for pid in kin.carriers(self._nonce):
            if pid in out or (self._spared_names and self._spared_names & kernel.called(pid)):
                continue
            found.append(pid)
        return found

    def kill_outside(self) -> None:
        """KILL the carriers that are no descendants, each only if it still is what it was found to be."""
        for one in self._outside.values():
            if one.step is None:
                kernel.kill_carrier(one.pid, self._nonce)

    def receipt(
        self, *, reason: str, already_ended: bool, agent_exit: str | None, steps: list[tuple[str, int]], total_ms: int
    ) -> dict[str, object]:
        """The facts of the ``gone`` record; the console reads them as a ``Receipt``."""
        ended = [one.facts() for one in self.seen.values() if one.step is not None]
        facts: dict[str, object] = {
            "reason": reason,
            "already_ended": already_ended,
            "agent_exit": agent_exit,
            "steps": [list(step) for step in steps],
            "ended": ended,
            "remaining": [one.facts() for one in self._alive.values()],
            "spared": [one.facts() for one in self._spared.values()],
            "total_ms": total_ms,
        }
        return {**facts, "followed": True} if self.followed else facts
