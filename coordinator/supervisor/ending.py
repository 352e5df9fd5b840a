"""The ladder: farewell, end of file, TERM, KILL, the nonce's carriers; and when each has had its time.

It keeps time and order and nothing else: who is in the tree and how a signal reaches only ours is ``roll``, what the
worker must do for a step comes in as ``Hands``. The worker goes through it step by step, the keeper from KILL on. A
cgroup, where there is one, is killed first and makes nothing else needless: what it kills is waited for all the same.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable

from .cgroup import Cgroups
from .kernel import kernel
from .roll import Roll, Seen


def exit_word(code: int) -> str:
    """How a process ended, in a word: ``1``, ``SIGKILL``."""
    if code >= 0:
        return str(code)
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"SIG{-code}"


class Hands:
    """What the ladder needs done; the worker does it, and the keeper in its place."""

    __slots__ = ("agent_alive", "cgroups", "close_stdin", "reap", "record_step", "said_at", "say_farewell")

    def __init__(
        self,
        *,
        agent_alive: Callable[[], bool],
        say_farewell: Callable[[], bool],
        said_at: Callable[[], float],
        close_stdin: Callable[[], None],
        reap: Callable[[], bool],
        record_step: Callable[[str, list[Seen]], None],
        cgroups: Cgroups,
    ) -> None:
        self.cgroups = cgroups
        self.agent_alive = agent_alive
        self.say_farewell = say_farewell
        self.said_at = said_at
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
        self.pause_ms: int | None = None
        """Of an agent that no farewell ends: so long silent after what it says to it, and its input ends. One that says
        nothing has the step's own time, as has each where this is None."""
        self.roll = roll
        self._seconds = seconds
        self._never = tuple(never)
        self.ordered_at = now
        self.step = ""
        self.steps: list[tuple[str, int]] = []
        self.done = False
        self.already_ended = False
        """The agent had left before anything was done to it."""
        self._since = now
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
        unhurt = not self.step or (gentle and self._hands.agent_alive())
        alive = self.roll.look(self.step or "exited", self.ms(now), rename=True, before_signal=unhurt)
        self.step = step
        seconds = self._seconds[step] if gentle else self._seconds["not_dying"]
        self._since = now
        self._until = now + seconds
        if gentle:
            self._until = min(self._until, self.ordered_at + self._seconds["total"])
        if step == "term" and not alive and not self._left():
            self._enter("nonce", now)  # nobody to say it to
            return
        self._rounds = 0
        if step == "kill":
            self._kill_cgroups(now)
        if step != "nonce":
            self._tell(step, alive, now)
        if step == "eof":
            self._hands.close_stdin()
        elif step == "term":
            self._term_new(alive)

    def _kill_cgroups(self, now: float) -> None:
        self.roll.note_inside(self._hands.cgroups.members())  # forked since the look: named before it goes
        if self._hands.cgroups.kill():
            self._tell("cgroup", self.roll.alive(), now)

    def _tell(self, step: str, alive: list[Seen], now: float) -> None:
        if not self._again:
            self.steps.append((step, self.ms(now)))
            self._hands.record_step(step, alive)

    def _term_new(self, alive: list[Seen]) -> None:
        for one in alive:
            key = (one.pid, one.ticks)
            if key not in self._termed:
                self._termed.add(key)
                kernel.signal_exactly(one.pid, one.ticks, (signal.SIGTERM, signal.SIGCONT))

    def _left(self) -> bool:
        return self.roll.any_left(self._hands.reap())

    def tick(self, now: float) -> float:
        """Go on; returns in how many seconds to come again, if no child ends before."""
        left = self._left()
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
        if now >= self._until or self._said_its_last(now):
            self._enter({"farewell": "eof", "eof": "term", "term": "kill"}[self.step], now)
            return 0.0
        return min(0.02, self._until - now)

    def _said_its_last(self, now: float) -> bool:
        """It answered the farewell, and is silent since."""
        if self.step != "farewell" or self.pause_ms is None:
            return False
        said = self._hands.said_at()
        return said >= self._since and now >= said + self.pause_ms / 1000

    def _kill(self, now: float, left: bool) -> float:
        if self._rounds == 0:
            self.roll.kill_seen()
        self._rounds += 1
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
