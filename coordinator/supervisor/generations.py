"""The agent's processes, one after the other: each generation is started once, and only while none is alive.

How one is forked is ``agent``'s, what it prints and is sent are ``output`` and ``writes``, which are opened and shut
here with it; why and how it is ended is no matter of this file.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from . import agent
from .config import Config
from .ending import exit_word
from .kernel import kernel
from .loop import Loop
from .output import Output
from .peers import Peer
from .spool import Spool
from .writes import Stdin

_EXEC_SECONDS = 30.0

Head = dict[str, object]


class Generations:
    """The process that is held now, and what became of those before it."""

    def __init__(
        self,
        loop: Loop,
        spool: Spool,
        config: Config,
        *,
        output: Output,
        stdin: Stdin,
        umask: int,
        now: Callable[[], float],
        born: Callable[[int], None],
    ) -> None:
        """``born``: is told the pid of each that is forked."""
        self._loop = loop
        self._spool = spool
        self._config = config
        self._output = output
        self._stdin = stdin
        self._umask = umask
        self._now = now
        self._born = born
        self._agent: agent.Started | None = None
        self._order: agent.Order | None = None
        self._starting: list[tuple[Peer, object]] = []
        self._exec_until = 0.0
        self._failures: dict[int, Head] = {}
        self.last = 0
        """Its number; 0 before the first."""
        self.alive = False
        self.exit: str | None = None
        """How the last one ended, in a word."""

    @property
    def pid(self) -> int:
        """Of the last one; 0 before the first."""
        return self._agent.pid if self._agent is not None else 0

    @property
    def exec_until(self) -> float | None:
        """Until when the one that was forked must have become the agent; None: it has, or there is none."""
        return self._exec_until if self._starting else None

    @property
    def terminal(self) -> int:
        """Its terminal, as long as it has one; else -1."""
        if self._agent is None or self._agent.stdin != self._agent.stdout:
            return -1
        return self._agent.stdout

    # ------------------------------------------------------------------------------------------------------- beginning

    def start(self, peer: Peer, head: Head, *, fenced: str | None, ending: bool) -> None:
        """Start the next generation, or say why not; asked again for one that lives, it says who that is."""
        n, number = head.get("n"), head.get("generation")
        generation = int(number) if isinstance(number, int | float | str) else 0
        if generation in self._failures:
            peer.answer(n, False, why=self._failures[generation]["what"], detail=self._failures[generation]["detail"])
        elif generation == self.last and self._agent is not None:
            if self._agent.report >= 0:
                self._starting.append((peer, n))
            else:
                peer.answer(n, True, **self._identity())
        elif fenced is not None:
            peer.answer(n, False, why="fenced", detail=fenced)
        elif self.alive or ending:
            peer.answer(n, False, why="agent-alive", detail=f"generation {self.last}")
        elif generation != self.last + 1:
            peer.answer(n, False, why="generation", detail=f"{self.last} is the last one")
        else:
            self._spawn(peer, n, generation, head)

    def _spawn(self, peer: Peer, n: object, generation: int, head: Head) -> None:
        try:
            self._order = order = self._config.order(head)
            self._output.close()
            self.last = generation
            self.exit = None
            group = self._config.cgroups.make(generation)
            self._agent = started = agent.start(order, generation, self._umask, group)
        except (OSError, ValueError, TypeError) as error:
            self._failures[generation] = {"what": "os-error", "detail": str(error)}
            peer.answer(n, False, why="os-error", detail=str(error))
            return
        self.alive = True
        self._spool.set_generation(generation)
        self._starting.append((peer, n))
        self._exec_until = self._now() + _EXEC_SECONDS
        self._born(started.pid)
        self._loop.reader(started.report, self.report)

    def report(self) -> None:
        """The exec happened, or the child says why not."""
        started, order = self._agent, self._order
        if started is None or order is None or started.report < 0:
            return
        try:
            said = os.read(started.report, 200)
        except BlockingIOError:
            return
        self._loop.forget(started.report)
        os.close(started.report)
        started.report = -1
        waiting, self._starting = self._starting, []
        if said:
            what, detail = agent.failure(said, order)
            facts: Head = {"what": what, "detail": detail}
            self._failures[started.generation] = facts
            self.alive = False
            for fd in {started.stdin, started.stdout, started.stderr} - {-1}:
                os.close(fd)
            self._spool.append_facts("exit", {"exit": "127", **facts})
            for peer, n in waiting:
                peer.answer(n, False, why=what, detail=detail)
            return
        identity = self._identity()
        self._spool.set_agent(started.pid, started.ticks, kernel.name(started.pid))
        self._spool.append_facts("started", identity)
        self._output.open(started.stdout, started.stderr, quiet=order.quiet)
        self._stdin.open(started.stdin, terminal=started.stdin == started.stdout)
        for peer, n in waiting:
            peer.answer(n, True, **identity)

    def _identity(self) -> Head:
        assert self._agent is not None
        return {"boot_id": self._config.boot_id, "pid": self._agent.pid, "start_ticks": self._agent.ticks}

    # ------------------------------------------------------------------------------------------------------------- end

    def left(self, status: int, *, booked: bool) -> None:
        """It has ended and was waited for. ``booked``: the spool has had its last record."""
        self.alive = False
        if booked:
            return
        self.report()  # the exec may have failed: then it never was the agent
        if self.last in self._failures:
            return
        self.exit = exit_word(os.waitstatus_to_exitcode(status))
        self._stdin.close("exited")
        self._output.drain()
        self._spool.append_facts("exit", {"exit": self.exit})

    def terminal_shut(self) -> None:
        """Nobody has its terminal open any more, and it is closed here too: its number is soon another thing's."""
        self._stdin.close("terminal closed")
        if self._agent is not None:
            self._agent.stdin = self._agent.stdout = -1
