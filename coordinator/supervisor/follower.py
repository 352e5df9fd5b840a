"""Who is ours where no kernel keeps a tree together (macOS): descendants followed while they live.

An orphan goes to launchd, and nothing tells whose it was. So the tree is looked at again whenever one of it forks or
ends, and each second besides. A process is taken for ours when one of these is proven at that moment:

- its parent is known to be ours, by pid and start;
- its session has a known member. Nobody enters a session but by being forked in it, and the number of one that lives is
  not given out again; so what a known one left behind is found, whoever adopted it;
- it lost its parents, and carries the nonce.

Missed is what clears or hides its environment, makes a session of its own and leaves its parents, all of it between two
looks. What is known is kept in memory that keeper and worker share, so that it outlives the worker.
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
import time
from collections.abc import Iterable

from . import darwin as kernel
from .process import Stat, mark
from .roll import Roll

_LAUNCHD = 1
_LOOK_SECONDS = 1.0
_LEAST_PAUSE = 0.005
"""Between two looks for forks' sake: a tree that forks all the time must not take all the time."""
_ASKED_MOST = 3
"""Of an orphan's environment: one that is just becoming another program tells nothing, Apple's own never do."""
_ROUNDS = 8
"""Of one look: who is new may have forked before anybody listened for it."""
_UNTOLD = 0
"""The start of another user's process. Nothing is proven by it, and nothing that has it is signalled."""
_TABLE_BYTES = 64 * 1024
_ENTRY = struct.Struct("<iQB3x")
_COUNT = struct.Struct("<I12x")


class Known:
    """One of ours, as it was last seen."""

    __slots__ = ("descended", "session", "ticks")

    def __init__(self, ticks: int, session: int, descended: bool) -> None:
        self.ticks = ticks
        self.session = session
        self.descended = descended
        """Not known by the nonce alone: then its session is one of ours too."""


class Follower:
    """The followed of one hold. Made before the fork of keeper and worker; ``hold`` is called by who looks."""

    def __init__(self, nonce: str) -> None:
        self._mark = mark(nonce)
        self.nonce = nonce
        self._table = mmap.mmap(-1, _TABLE_BYTES)
        self._known: dict[int, Known] = {}
        self._asked: dict[tuple[int, int], int] = {}
        """How often the environment of each orphan was read; pid and start."""
        self._watched: set[tuple[int, int]] = set()
        self._root = 0
        self._looked_at = 0.0
        self._never: frozenset[int] = frozenset()
        self._own_session = 0
        self.queue = -1
        """To wait on: then ``stirred`` is called."""
        self.due: float | None = None
        """When the next look is due, monotonic; None: there is nobody to look for."""

    # -------------------------------------------------------------------------------------------------------- one's own

    def hold(self, root: int, never: Iterable[int] = (), *, leads: bool = False) -> int:
        """From now on this process looks; gives the queue to wait on.

        ``root``: whose children are ours; -1: nobody's are. ``never``: who is not. ``leads``: none but ours are in the
        root's own session.
        """
        self._root = root
        self._never = frozenset({root, *never})
        self._own_session = 0 if leads else os.getsid(0)
        self._watched.clear()
        self.queue = kernel.queue()
        if leads:
            facts = kernel.stat(root)
            if facts is not None:
                self._known[root] = Known(facts.ticks, facts.session, True)
        return self.queue

    def close(self) -> None:
        """Nothing is looked for any more."""
        if self.queue >= 0:
            os.close(self.queue)
            self.queue = -1

    def begin_with(self, pid: int, ticks: int) -> None:
        """One that is known from elsewhere to be ours, if it still is there."""
        facts = kernel.stat(pid)
        if facts is not None and facts.ticks == ticks and pid not in self._never:
            self._known[pid] = Known(ticks, facts.session, True)

    def recall(self) -> None:
        """Take over what the one before us knew."""
        for n in range(min(_COUNT.unpack_from(self._table)[0], _TABLE_BYTES // _ENTRY.size - 1)):
            pid, ticks, descended = _ENTRY.unpack_from(self._table, (n + 1) * _ENTRY.size)
            facts = kernel.stat(pid)
            if facts is not None and facts.ticks == ticks and pid not in self._never:
                self._known[pid] = Known(ticks, facts.session, bool(descended))

    def _keep(self) -> None:
        n = 0
        for pid, one in self._known.items():
            if pid != self._root and n < _TABLE_BYTES // _ENTRY.size - 1:
                n += 1
                # Half an entry, from a worker that was killed here, names nobody: pid and start go together.
                _ENTRY.pack_into(self._table, n * _ENTRY.size, pid, one.ticks, one.descended)
        _COUNT.pack_into(self._table, 0, n)

    # ---------------------------------------------------------------------------------------------------------- looking

    def stirred(self) -> None:
        """One of them forked or ended: look again soon."""
        kernel.drain(self.queue)
        soon = max(time.monotonic(), self._looked_at + _LEAST_PAUSE)
        self.due = soon if self.due is None else min(self.due, soon)

    def before_waiting(self) -> None:
        """Before a child that has ended is waited for: its number, and its session's, is nobody else's until then."""
        for pid in kernel.children(self._root):
            facts = kernel.stat(pid)
            if facts is not None and facts.dead:
                self.look()
                return

    def look(self) -> list[Stat]:
        """All of ours that are there, zombies too, those known longest first."""
        for _ in range(_ROUNDS):
            found = self._look_once()
            if not self._watch(found):
                break
        self._keep()
        self._looked_at = time.monotonic()
        self.due = self._looked_at + _LOOK_SECONDS
        return [facts for facts in found if facts.pid != self._root]

    def look_if_due(self) -> float:
        """Look, if it is time; returns in how many seconds it will be again."""
        now = time.monotonic()
        if self.due is None or now >= self.due:
            self.look()
        return max(0.0, (self.due or now) - now)

    def knows(self, pid: int) -> bool:
        """As of the last look."""
        return pid in self._known

    def adopt(self, pid: int) -> Stat | None:
        """One that was found by its nonce, if it still has it: what it forks is ours too from now on."""
        facts = kernel.stat(pid)
        if facts is None or facts.dead or pid in self._never or not self._carries(facts):
            return None
        if pid not in self._known or self._known[pid].ticks != facts.ticks:
            self._known[pid] = Known(facts.ticks, facts.session, False)
        return facts

    def _look_once(self) -> list[Stat]:
        there: dict[int, Stat] = {}
        for pid, one in list(self._known.items()):
            facts = kernel.stat(pid)
            if facts is None or facts.ticks not in (one.ticks, _UNTOLD):
                del self._known[pid]
                continue
            facts.ticks = one.ticks  # it became another user's: still there, and not ours to end
            there[pid] = facts
            one.session = facts.session or one.session
        others = [
            facts
            for pid in kernel.all_pids()
            if pid not in there and pid not in self._never
            if (facts := kernel.stat(pid)) is not None
        ]
        self._asked = {key: n for one in others if (n := self._asked.get(key := (one.pid, one.ticks), 0))}
        self._descend(others, there)
        marked = [facts for facts in others if facts.pid not in there and self._is_marked_orphan(facts)]
        for facts in marked:
            there[facts.pid] = facts
            self._known[facts.pid] = Known(facts.ticks, facts.session, False)
        if marked:
            self._descend(others, there)
        return list(there.values())

    def _descend(self, others: list[Stat], there: dict[int, Stat]) -> None:
        """Those of the others that descend from who is known, and from them in turn."""
        grown = True
        while grown:
            grown = False
            sessions = {one.session for one in self._known.values() if one.descended} - {0, self._own_session}
            for facts in others:
                if facts.pid in there or facts.dead:
                    continue
                descended = self._descends(facts, sessions)
                if descended is not None:
                    there[facts.pid] = facts
                    self._known[facts.pid] = Known(facts.ticks, facts.session, descended)
                    grown = True

    def _descends(self, facts: Stat, sessions: set[int]) -> bool | None:
        """Whether its session is one of ours as well (True) or may be another's (False); None: not ours by descent."""
        if facts.parent == self._root:
            return True
        parent = self._known.get(facts.parent)
        if parent is not None and self._is_child(facts, parent):
            return parent.descended
        return True if facts.session in sessions and self._in_a_session_of_ours(facts) else None

    def _is_marked_orphan(self, facts: Stat) -> bool:
        key = (facts.pid, facts.ticks)
        if facts.parent != _LAUNCHD or facts.dead or self._asked.get(key, 0) >= _ASKED_MOST:
            return False
        self._asked[key] = self._asked.get(key, 0) + 1
        return self._carries(facts)

    def _carries(self, facts: Stat) -> bool:
        """If its number is another's by now, then the start that goes with it names nobody, and nobody is hit."""
        return self._mark in kernel.environment(facts.pid)

    def _is_child(self, facts: Stat, parent: Known) -> bool:
        """Once it has lost its parent it never has that one again: so it had this one when that was looked at."""
        if not self._is_same(facts.parent, parent):
            return False
        now = kernel.stat(facts.pid)
        return now is not None and now.ticks == facts.ticks and now.parent == facts.parent

    def _is_same(self, pid: int, one: Known) -> bool:
        now = kernel.stat(pid)
        return now is not None and now.ticks == one.ticks != _UNTOLD

    def _in_a_session_of_ours(self, facts: Stat) -> bool:
        """Nobody comes back to a session that it left: so it was in this one when the other was looked at in it."""
        for pid, one in self._known.items():
            if one.descended and one.session == facts.session and self._holds_session(pid, one):
                now = kernel.stat(facts.pid)
                return now is not None and now.ticks == facts.ticks and now.session == facts.session
        return False

    def _holds_session(self, pid: int, one: Known) -> bool:
        """A zombie tells no session any more; but the number of the one that led it is held as long as it is there."""
        now = kernel.stat(pid)
        return now is not None and now.ticks == one.ticks != _UNTOLD and one.session in (now.session, pid)

    def _watch(self, found: list[Stat]) -> bool:
        """Whether there was a new one among them."""
        alive = {(facts.pid, facts.ticks) for facts in found if not facts.dead}
        new = alive - self._watched
        self._watched = alive
        for pid, _ in new:
            kernel.watch(self.queue, pid)
        return bool(new)

    # ----------------------------------------------------------------------------------------------------------- ending

    def roll(self, spared: Iterable[str]) -> Roll:
        """For one ending of theirs."""
        return FollowedRoll(self._root, spared, self)

    def kill_all(self) -> bool:
        """KILL all that are there; whether there were any."""
        found = [facts for facts in self.look() if not facts.dead]
        for facts in found:
            kernel.signal_exactly(facts.pid, facts.ticks, (signal.SIGKILL,))
        return bool(found)


class FollowedRoll(Roll):
    """As ``Roll``, where who lost its parents becomes nobody's child of ours."""

    followed = True

    def __init__(self, root: int, spared: Iterable[str], follower: Follower) -> None:
        super().__init__(root, spared, follower.nonce)
        self.adopter = _LAUNCHD
        self._follower = follower

    def below(self) -> list[Stat]:
        return self._follower.look()

    def any_left(self, children: bool) -> bool:
        return children or any(not facts.dead for facts in self.below())

    def note_carriers(self, pids: Iterable[int]) -> None:
        for pid in pids:
            facts = self._follower.adopt(pid)
            if facts is not None and (pid, facts.ticks) not in self._alive:
                one = self._name(facts)
                one.own_session = one.daemonised = True
                one.step = None

    def kill_children(self) -> int:
        spared = {one.pid for one in self._spared.values()}
        n = 0
        for facts in self.below():
            if facts.dead or facts.pid in spared:
                continue
            if self._is_spared(facts, spared):
                spared.add(facts.pid)
                continue
            self._name(facts)
            n += 1
            kernel.signal_exactly(facts.pid, facts.ticks, (signal.SIGKILL,))
        return n

    def kill_seen(self) -> None:
        for one in list(self._alive.values()):
            kernel.signal_exactly(one.pid, one.ticks, (signal.SIGKILL,))

    def children_left(self) -> bool:
        spared = {one.pid for one in self._spared.values()}
        return any(not facts.dead and facts.pid not in spared for facts in self.below())
