"""Ending a tree: who is in it, the ladder, the receipt.

Every signal goes to a process that is proven ours at that moment: a direct child that we have not waited for yet cannot
be another process by now, a deeper descendant is signalled through a pidfd after its start time was read again, a
carrier of the nonce through the pidfd that its environment was read behind. The worker goes through it step by step,
the keeper from the last step on.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterable

from . import kin


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


def exit_word(code: int) -> str:
    """How a process ended, in a word: ``1``, ``SIGKILL``."""
    if code >= 0:
        return str(code)
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"SIG{-code}"


def through_pidfd(pid: int, ticks: int, numbers: Iterable[int]) -> bool:
    """Signal that process or nothing: a pid that was given to another is left alone."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        facts = kin.stat(pid)
        if facts is None or facts.ticks != ticks:
            return False
        for number in numbers:
            signal.pidfd_send_signal(fd, number)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


def kill_carrier(pid: int, nonce: str) -> bool:
    """KILL a process if it carries the nonce; its environment is read while a pidfd holds the pid to it."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not kin.carries(pid, nonce):
            return False
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        if poller.poll(0):  # ended meanwhile: what was read may be another's
            return False
        signal.pidfd_send_signal(fd, signal.SIGKILL)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


class Roll:
    """All processes of a hold that were ever seen while it was being ended."""

    def __init__(self, root: int, spared: Iterable[str], nonce: str) -> None:
        self._root = root
        self._spared_names = frozenset(spared)
        self._nonce = nonce
        self.agent_pid = 0
        self.seen: dict[tuple[int, int], Seen] = {}
        self._alive: dict[tuple[int, int], Seen] = {}
        self._spared: dict[tuple[int, int], Seen] = {}
        self._outside: dict[tuple[int, int], Seen] = {}

    def _is_spared(self, facts: kin.Stat, spared_pids: set[int]) -> bool:
        if not self._spared_names or facts.pid == self.agent_pid:
            return False
        if facts.parent in spared_pids:
            return True
        # A program asked for by name from within the agent's own session is a tool, not a shared daemon.
        return facts.session != self.agent_pid and bool(self._spared_names & kin.called(facts.pid))

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
        for facts in kin.descendants(self._root):
            if facts.dead:
                continue
            key = (facts.pid, facts.ticks)
            one = self.seen.get(key)
            if one is None:
                own = self.agent_pid != 0 and facts.session != self.agent_pid
                one = self.seen[key] = Seen(facts.pid, facts.ticks, kin.name(facts.pid), own)
            elif rename:
                one.name = kin.name(facts.pid)
                one.own_session = self.agent_pid != 0 and facts.session != self.agent_pid
            if before_signal and facts.parent == self._root and facts.pid != self.agent_pid and one.own_session:
                one.daemonised = True
            if self._is_spared(facts, spared_pids):
                spared_pids.add(facts.pid)
                spared[key] = one
            else:
                alive[key] = one
        for key, one in self._outside.items():
            now = kin.stat(one.pid)
            if key not in spared and now is not None and now.ticks == one.ticks and not now.dead:
                alive[key] = one
        for key, one in self.seen.items():
            if one.step is None and key not in alive and key not in spared:
                one.step, one.gone_ms = step, ms
        self._alive, self._spared = alive, spared
        return list(alive.values())

    def note_carriers(self, pids: Iterable[int]) -> None:
        """Processes found by their nonce: those that no look has shown as descendants are *outside*."""
        for pid in pids:
            facts = kin.stat(pid)
            if facts is None or facts.dead or (pid, facts.ticks) in self._alive:
                continue
            key = (pid, facts.ticks)
            one = self.seen.get(key)
            if one is None:
                one = self.seen[key] = Seen(pid, facts.ticks, kin.name(pid), True)
                one.daemonised = True
            one.step = None
            self._outside[key] = one

    def alive(self) -> list[Seen]:
        """As of the last look."""
        return list(self._alive.values())

    def kill_children(self) -> int:
        """KILL every direct child but the spared. Returns how many there were; zombies not waited for count."""
        spared = {one.pid for one in self._spared.values()}
        n = 0
        for pid in kin.direct_children(self._root):
            if pid in spared:
                continue
            if self._spared_names and pid != self.agent_pid:
                facts = kin.stat(pid)
                if facts is not None and not facts.dead and self._is_spared(facts, spared):
                    continue
            n += 1
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        return n

    def children_left(self) -> bool:
        """Whether any direct child but spared ones is there, zombies not counted."""
        spared = {one.pid for one in self._spared.values()}
        for pid in kin.direct_children(self._root):
            if pid not in spared:
                facts = kin.stat(pid)
                if facts is not None and not facts.dead:
                    return True
        return False

    def carriers(self, never: Iterable[int]) -> list[int]:
        """Live processes that carry the nonce and are neither spared nor one of these."""
        out = set(never) | {one.pid for one in self._spared.values()}
        found = []
        for pid in kin.carriers(self._nonce):
            if pid in out or (self._spared_names and self._spared_names & kin.called(pid)):
                continue
            found.append(pid)
        return found

    def kill_outside(self) -> None:
        """KILL the carriers that are no descendants, each only if it still is what it was found to be."""
        for one in self._outside.values():
            if one.step is None:
                kill_carrier(one.pid, self._nonce)

    def receipt(
        self, *, reason: str, already_ended: bool, agent_exit: str | None, steps: list[tuple[str, int]], total_ms: int
    ) -> dict[str, object]:
        """The facts of the ``gone`` record; the console reads them as a ``Receipt``."""
        ended = [one.facts() for one in self.seen.values() if one.step is not None]
        return {
            "reason": reason,
            "already_ended": already_ended,
            "agent_exit": agent_exit,
            "steps": [list(step) for step in steps],
            "ended": ended,
            "remaining": [one.facts() for one in self._alive.values()],
            "spared": [one.facts() for one in self._spared.values()],
            "total_ms": total_ms,
        }


class Hands:
    """What the ladder needs done; the worker does it, and the keeper in its place."""

    __slots__ = ("agent_alive", "close_stdin", "reap", "record_step", "say_farewell")

    def __init__(
        self,
        *,
        agent_alive: Callable[[], bool],
        say_farewell: Callable[[], bool],
        close_stdin: Callable[[], None],
        reap: Callable[[], bool],
        record_step: Callable[[str, list[Seen]], None],
    ) -> None:
        self.agent_alive = agent_alive
        self.say_farewell = say_farewell
        self.close_stdin = close_stdin
        self.reap = reap
        """Wait for what has ended; False when there is no child left at all."""
        self.record_step = record_step


class Ladder:
    """One ending: ``tick`` again and again until ``done``. It moves on at once when a step has left nothing to do."""

    def __init__(
        self, hands: Hands, roll: Roll, *, seconds: dict[str, float], never: Iterable[int], now: float
    ) -> None:
        self._hands = hands
        self.roll = roll
        self._seconds = seconds
        self._never = tuple(never)
        self.ordered_at = now
        self.step = ""
        self.steps: list[tuple[str, int]] = []
        self.done = False
        self.already_ended = False
        """The agent had left before anything was done to it."""
        self._until = now
        self._rounds = 0
        self._again = False
        self._termed: set[tuple[int, int]] = set()

    def ms(self, now: float) -> int:
        """Since the order."""
        return int((now - self.ordered_at) * 1000)

    def begin(self, now: float, *, kill: bool) -> None:
        """Take everybody down before anything is done to them, then the first step."""
        self._hands.reap()
        self.already_ended = not self._hands.agent_alive()
        self.roll.look("exited", 0, rename=True, before_signal=True)
        if kill:
            self._enter("kill", now)
        elif not self._hands.agent_alive():
            self._enter("term", now)
        elif self._hands.say_farewell():
            self._enter("farewell", now)
        else:
            self._enter("eof", now)

    def kill(self, now: float) -> None:
        """Escalate: nothing is waited for any more."""
        if self.step in ("", "farewell", "eof", "term"):
            self._enter("kill", now)

    def again(self, now: float) -> None:
        """One more round for what would not die; it adds no step to the receipt."""
        self._again = True
        self.done = False
        self.step = "kill"
        self._rounds = 0
        self._until = now

    def _enter(self, step: str, now: float) -> None:
        gentle = step in ("farewell", "eof", "term")
        # With the agent gone its orphans are children of ours too, and no daemons for that.
        unhurt = gentle and self._hands.agent_alive()
        alive = self.roll.look(self.step or "exited", self.ms(now), rename=True, before_signal=unhurt)
        self.step = step
        seconds = self._seconds[step] if gentle else self._seconds["not_dying"]
        self._until = now + seconds
        if gentle:
            self._until = min(self._until, self.ordered_at + self._seconds["total"])
        if step == "term" and not alive and not self._hands.reap():
            self._enter("nonce", now)  # nobody to say it to
            return
        self._rounds = 0
        if step != "nonce":
            self._tell(step, alive, now)
        if step == "eof":
            self._hands.close_stdin()
        elif step == "term":
            self._term_new(alive)

    def _tell(self, step: str, alive: list[Seen], now: float) -> None:
        if not self._again:
            self.steps.append((step, self.ms(now)))
            self._hands.record_step(step, alive)

    def _term_new(self, alive: list[Seen]) -> None:
        for one in alive:
            key = (one.pid, one.ticks)
            if key not in self._termed:
                self._termed.add(key)
                through_pidfd(one.pid, one.ticks, (signal.SIGTERM, signal.SIGCONT))

    def tick(self, now: float) -> float:
        """Go on; returns in how many seconds to come again, if no child ends before."""
        left = self._hands.reap()
        if self.step == "kill":
            return self._kill(now, left)
        if self.step == "nonce":
            return self._nonce(now)
        unhurt = self.step != "term" and self._hands.agent_alive()
        alive = self.roll.look(self.step, self.ms(now), before_signal=unhurt)
        if not left or (not alive and not self.roll.children_left()):
            self._enter("nonce", now)
            return 0.0
        if self.step in ("farewell", "eof") and not self._hands.agent_alive():
            self._enter("term", now)
            return 0.01
        if self.step == "term":
            self._term_new(alive)
        if now >= self._until:
            self._enter({"farewell": "eof", "eof": "term", "term": "kill"}[self.step], now)
            return 0.0
        return min(0.02, self._until - now)

    def _kill(self, now: float, left: bool) -> float:
        self._rounds += 1
        # Names are taken before each round: what a dying parent hands to us was hidden below it until now.
        self.roll.look("kill", self.ms(now))
        n = self.roll.kill_children() if left else 0
        if n == 0:
            self._enter("nonce", now)
            return 0.0
        if now >= self._until:  # not dying: one look for carriers, then what is left is named
            self._enter("nonce", now)
            self._until = now
            return 0.0
        return 0.0005 if self._rounds < 200 else 0.01

    def _nonce(self, now: float) -> float:
        self.roll.note_carriers(self.roll.carriers(self._never))
        alive = self.roll.look("nonce", self.ms(now))
        if (not alive and not self.roll.children_left()) or now >= self._until:
            self.done = True
            return 0.0
        if self._rounds == 0:
            self._tell("nonce", alive, now)
        self._rounds += 1
        self.roll.kill_outside()
        self.roll.kill_children()
        return 0.002 if self._rounds < 100 else 0.05
