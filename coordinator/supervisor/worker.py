"""The worker: the one loop that holds an agent. It carries out verbs, counts the hold down, and ends the tree.

What is a thing of its own stands elsewhere: the agent's processes (``generations``), the queue before stdin
(``writes``), the ladder (``ending``), the time that is left (``countdown``), the socket (``peers``), the file
(``spool``). Here they meet, and nothing here waits.
"""

from __future__ import annotations

import os
import signal
import socket
import time

from . import agent, kin
from .config import Config
from .countdown import Countdown
from .ending import Hands, Ladder
from .generations import Generations
from .loop import Loop
from .output import Output
from .peers import SOCKET, Peer, Peers
from .roll import Roll, Seen
from .spool import Spool
from .wireformat import VERSIONS_SPOKEN
from .writes import Stdin

MYPY = False
if MYPY:
    from .follower import Follower

_SYNC_SECONDS = 1.0
_LINGER_ATTACHED_SECONDS = 600.0
_REMAINING_LOOK_SECONDS = 1.0

Head = dict[str, object]


class Worker:
    """State of one hold. ``run`` returns when the hold is over and read, or nobody came to read it."""

    def __init__(
        self,
        config: Config,
        spool: Spool,
        listener: socket.socket,
        keeper: int,
        follower: Follower | None,
        umask: int,
    ) -> None:
        """``follower``: where what loses its parents does not come to us by itself."""
        self._config = config
        self._follower = follower
        self._spool = spool
        self._keeper = keeper
        self._now = time.monotonic
        self.loop = Loop()
        self._peers = Peers(
            self.loop,
            listener,
            spool,
            cookie=config.cookie,
            ourselves=frozenset((os.getpid(), keeper)),
            nonce=config.nonce,
            knows=follower.knows if follower is not None else None,
            verb=self._verb,
            detached=self._detached,
        )
        limits = {"chunk": config.chunk_limit, "line_limit": config.line_limit}
        self._output = Output(
            self.loop,
            spool,
            **limits,
            full=self._output_stopped,
            terminal_shut=lambda: self._agents.terminal_shut(),
            now=self._now,
        )
        self._stdin = Stdin(self.loop, spool, timeout=config.write_timeout, now=self._now, sent=self._output.stir)
        self._agents = Generations(
            self.loop,
            spool,
            config,
            output=self._output,
            stdin=self._stdin,
            umask=umask,
            now=self._now,
            born=self._forked,
        )
        self._epoch = 0
        self._farewell = b""
        self._pause_ms: int | None = None
        self._countdown = Countdown(
            self._now, seconds=config.hold_seconds, reason=config.hold_reason, expires_at_ms=config.expires_at_ms
        )
        self._fence: str | None = None
        self._ladder: Ladder | None = None
        self._ladder_at = 0.0
        self._roll = self._new_roll()
        self._gone = False
        self._over = False
        self._linger_until = 0.0
        self._half = False
        self._told = ""
        self._sync_at: float | None = None

    # ------------------------------------------------------------------------------------------------------ the loop

    def run(self, wakeup: int, keeper_gone: int) -> None:
        """Hold until it is over."""
        self.loop.reader(wakeup, lambda: self._signalled(wakeup))
        self.loop.reader(keeper_gone, lambda: self._keeper_gone(keeper_gone))
        if self._follower is not None:
            self.loop.reader(self._follower.hold(os.getpid(), (self._keeper,)), self._follower.stirred)
        while not self._over:
            self.loop.wait(self._turn())
        self._spool.drop_reserve()
        self._spool.sync()
        self._config.cgroups.remove()
        self._peers.close()
        try:
            os.unlink(f"{self._config.folder}/{SOCKET}")  # noqa: PTH108
        except OSError:
            pass

    def _turn(self) -> float | None:
        """Everything that is due; returns how long nothing will be."""
        now = self._now()
        self._due(now)
        self._peers.pump()
        if self._spool.dirty and self._sync_at is None:
            self._sync_at = now + _SYNC_SECONDS
        if self._over:
            return 0.0
        return max(0.0, self._next(now) - now)

    def _due(self, now: float) -> None:
        if self._sync_at is not None and now >= self._sync_at:
            self._sync_at = None
            if self._spool.dirty and not self._spool.sync():
                self.fence("storage")
        self._peers.drop_silent(now)
        self._output.look(now)
        if self._follower is not None and self._follower.due is not None and now >= self._follower.due:
            self._follower.look()
        late = self._agents.exec_until
        if late is not None and now >= late:
            self.fence("start-timeout")
        if self._fence is None:
            stuck, over = self._stdin.stuck_at(), self._countdown.over(now)
            if self._spool.full:
                self.fence("storage")
            elif over is not None:
                self.fence(over)
            elif stuck is not None and now >= stuck:
                self._stdin.give_up()
                self.fence("write-failed")
        if self._ladder is not None and now >= self._ladder_at:
            self._ladder_at = now + self._ladder.tick(now)
            if self._ladder.done:
                self._ended(now)
        if self._gone and self._ladder is None and now >= self._linger_until:
            self._over = True

    def _next(self, now: float) -> float:
        times = [self._sync_at, self._peers.silent_until(), self._output.quiet_at, self._agents.exec_until]
        if self._ladder is not None:
            times.append(self._ladder_at)
        if self._follower is not None:
            times.append(self._follower.due)
        if self._gone:
            times.append(self._linger_until)
        elif self._fence is None:
            times += [self._countdown.look_at(now), self._stdin.stuck_at()]
        return min(t for t in [*times, now + 3600] if t is not None)

    def _signalled(self, wakeup: int) -> None:
        numbers = os.read(wakeup, 4096)
        if signal.SIGTERM in numbers:
            self.fence("shutdown")
        self._reap()
        if self._ladder is not None:
            self._ladder_at = 0.0

    def _keeper_gone(self, fd: int) -> None:
        self.loop.reader(fd, None)
        self.fence("supervisor-lost")

    # ------------------------------------------------------------------------------------------------------ the agent

    def _reap(self) -> bool:
        """Wait for all that has ended; False when there is no child left."""
        if self._follower is not None:
            self._follower.before_waiting()
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if self._ladder is not None:
                self._roll.reaped(pid, self._ladder.step or "exited", self._ladder.ms(self._now()))
            if pid == self._agents.pid and self._agents.alive:
                self._agents.left(status, booked=self._gone)

    def _forked(self, pid: int) -> None:
        self._roll = self._new_roll()
        self._roll.agent_pid = pid
        if self._follower is not None:
            self._follower.look()

    def _output_stopped(self, why: str) -> None:
        self.fence(why)

    # ------------------------------------------------------------------------------------------------------ the ending

    def _new_roll(self) -> Roll:
        if self._follower is not None:
            return self._follower.roll(self._config.spared)
        return Roll(os.getpid(), self._config.spared, self._config.nonce)

    def fence(self, reason: str, *, kill: bool = False, restart: bool = False) -> None:
        """Order the ending; a later ``kill`` makes it quicker, nothing makes it slower."""
        now = self._now()
        if not restart and not self._gone:
            if self._fence is None or not kill:
                self._spool.fence(reason)
            self._fence = self._fence or reason
        if self._ladder is None and not self._gone:
            hands = Hands(
                agent_alive=lambda: self._agents.alive,
                say_farewell=self._say_farewell,
                said_at=lambda: self._output.said_at,
                close_stdin=lambda: self._stdin.close("fenced"),
                reap=self._reap,
                record_step=self._record_step,
                cgroups=self._config.cgroups,
            )
            never = (os.getpid(), self._keeper)
            self._ladder = Ladder(hands, self._roll, seconds=self._config.seconds, never=never, now=now)
            self._ladder.pause_ms = self._pause_ms
            self._half = self._stdin.half_line
            self._stdin.drop_unbegun("fenced")
            self._ladder.begin(now, kill=kill)
        elif self._ladder is not None and kill:
            self._ladder.kill(now)
        self._ladder_at = 0.0

    def _say_farewell(self) -> bool:
        return not self._half and self._stdin.last_word(f"farewell-{self._agents.last}", self._farewell)

    def _record_step(self, step: str, left: list[Seen]) -> None:
        facts: Head = {
            "step": step,
            "left": [
                {"pid": one.pid, "name": one.name, "own_session": one.own_session, "daemonised": one.daemonised}
                for one in left
            ],
        }
        self._spool.append_facts("step", facts)

    def _ended(self, now: float) -> None:
        """The ladder is through: the receipt, and unless the hold goes on, the end."""
        ladder = self._ladder
        assert ladder is not None
        # What was seen dead may still want waiting for: its exit belongs before the receipt, in the spool and in it.
        self._reap()
        self._stdin.close("fenced")
        self._output.drain()
        self._agents.report()
        overflow = self._output.lost
        if overflow:
            self._spool.append_facts("overflow", {"bytes": overflow})
        reason = self._fence or "restart"
        receipt = ladder.roll.receipt(
            reason=reason,
            already_ended=ladder.already_ended,
            agent_exit=self._agents.exit,
            steps=ladder.steps,
            total_ms=ladder.ms(self._now()),
        )
        remaining = bool(receipt["remaining"])
        if self._fence is None:
            receipt["restart"] = True
        # What remained of a restart is told again when the hold itself is ended: that is another receipt.
        names = f"{reason}: {receipt['remaining']}"
        if names != self._told:
            self._record_gone(receipt)
            self._told = names
        if remaining:
            # The supervisor stays: what would not die is tried again, and a second receipt says when it is gone.
            ladder.again(now)
            self._ladder_at = now + _REMAINING_LOOK_SECONDS
            return
        self._ladder = None
        self._told = ""
        self._output.close()
        self._config.cgroups.remove()
        if self._fence is None:
            self._spool.sync()
            return
        self._gone = True
        self._spool.append_facts("end", {})
        self._spool.sync()
        attached = self._peers.attached is not None
        self._linger_until = now + (_LINGER_ATTACHED_SECONDS if attached else self._config.linger)

    def _record_gone(self, receipt: Head) -> None:
        if self._spool.append_facts("gone", receipt):
            return
        # Not even the reserve had room for every name: the counts and what remains are what must not be lost.
        ended = receipt["ended"]
        assert isinstance(ended, list)
        self._spool.append_facts("gone", {**receipt, "ended": ended[:50], "not_named": max(0, len(ended) - 50)})

    # ----------------------------------------------------------------------------------------------------- the console

    def _detached(self) -> None:
        self._stdin.drop_unbegun("lost")
        if self._gone:
            self._linger_until = min(self._linger_until, self._now() + self._config.linger)

    def _verb(self, peer: Peer, verb: str, head: Head, body: bytes) -> None:
        n = head.get("n")
        if verb in ("fence", "kill"):  # from anybody with the cookie, whoever is attached: a stop takes nothing over
            restart = bool(head.get("restart")) and verb == "fence" and peer.attached
            self.fence(str(head.get("reason") or "killed"), kill=verb == "kill", restart=restart)
            peer.answer(n, True, ending=self._fence)
        elif verb == "status":
            peer.answer(n, True, **self._status())
        elif verb == "wrote":
            state, written, length = self._stdin.proof(str(head.get("id")))
            peer.answer(n, True, state=state, written=written, length=length)
        elif verb == "attach":
            self._attach(peer, head)
        elif not peer.attached:
            peer.answer(n, False, why="not-attached")
        else:
            self._attached_verb(peer, verb, head, body)

    def _attached_verb(self, peer: Peer, verb: str, head: Head, body: bytes) -> None:
        n, id = head.get("n"), str(head.get("id"))
        if verb == "credit":
            peer.credit = _int(head.get("upto"))
            peer.flush()
        elif verb == "hold":
            at = head.get("expires_at_ms")
            expires = _int(at) if at is not None else None
            self._countdown.renew(_float(head.get("remaining")), str(head.get("reason") or ""), expires)
            peer.answer(n, True)
        elif verb == "write":
            if self._fence is not None or self._ladder is not None:
                state = self._stdin.proof(id)[0]
                known = {"whole": "already", "cancelled": "cancelled", "begun": "begun"}
                peer.answer(n, True, outcome=known.get(state, "fenced"))
            else:
                self._stdin.write(id, body, lambda outcome: peer.answer(n, True, outcome=outcome))
        elif verb == "cancel":
            peer.answer(n, True, cancelled=self._stdin.cancel(id))
        elif verb == "farewell":
            self._farewell = body
            self._pause_ms = _int(head["pause_ms"]) if "pause_ms" in head else None
            peer.answer(n, True)
        elif verb == "start":
            self._agents.start(peer, head, fenced=self._fence, ending=self._ladder is not None)
        elif verb == "resize":
            size = {"rows": _int(head.get("rows")), "columns": _int(head.get("columns"))}
            if self._agents.alive and self._agents.terminal >= 0:
                self._spool.append_facts("resized", dict(size))
                agent.resize(self._agents.terminal, **size)
            peer.answer(n, True)
        elif verb == "end":
            peer.answer(n, self._gone, why="" if self._gone else "not-gone")
            self._over = self._gone
        else:
            peer.answer(n, False, why="unknown-verb")

    def _attach(self, peer: Peer, head: Head) -> None:
        n, epoch, offset = head.get("n"), _int(head.get("epoch")), _int(head.get("offset"))
        if peer.version not in VERSIONS_SPOKEN:
            peer.answer(n, False, why="version", detail=f"this supervisor speaks {VERSIONS_SPOKEN}")
            return
        if epoch <= self._epoch:
            peer.answer(n, False, why="epoch", detail=f"{self._epoch} is attached or was")
            return
        if offset > self._spool.good:
            peer.answer(n, False, why="offset", detail=f"the spool has {self._spool.good} bytes")
            return
        self._epoch = epoch
        self._peers.attach(peer)
        peer.offset = offset
        peer.credit = _int(head.get("upto"))
        if self._gone:
            self._linger_until = self._now() + _LINGER_ATTACHED_SECONDS
        peer.answer(n, True, **self._facts())

    def _facts(self) -> Head:
        return {
            "worker": {"boot_id": self._config.boot_id, "pid": os.getpid(), "start_ticks": self._config.worker_ticks},
            "keeper": {"boot_id": self._config.boot_id, "pid": self._keeper, "start_ticks": self._config.keeper_ticks},
            "generation": self._agents.last,
            "agent_alive": self._agents.alive,
            "ending": self._fence,
            "gone": self._gone,
            "epoch": self._epoch,
            "attached": self._peers.attached is not None,
            "spool_size": self._spool.good,
        }

    def _status(self) -> Head:
        processes = kin.listed(self._roll.below(), adopter=self._roll.adopter, agent=self._agents.pid)
        step = self._ladder.step if self._ladder is not None else ""
        return {
            **self._facts(),
            "processes": processes,
            "step": step,
            "hold_remaining": round(self._countdown.remaining, 3),
        }


def _int(value: object) -> int:
    return int(value) if isinstance(value, int | float | str) else 0


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float | str) else 0.0
