"""The keeper: above the worker, waiting. If the worker dies, it ends what the worker held and writes the last words.

Whatever an agent's tools do to leave the tree, they become children of the worker, and with its death the keeper's. It
has no loop, no socket and no protocol, so that nothing of those can end it. Where there is no subreaper, it takes over
what the worker had followed.
"""

from __future__ import annotations

import os
import time

from .config import Config
from .ending import Hands, Ladder, exit_word
from .roll import Roll, Seen
from .spool import Spool

MYPY = False
if MYPY:
    from .follower import Follower


def keep(worker: int, config: Config, spool: Spool, follower: Follower | None) -> int:
    """Wait for the worker; returns the exit code."""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == worker:
            break
    code = os.waitstatus_to_exitcode(status)
    if spool.ended:
        return 0
    return _end(code, config, spool, follower)


def _end(code: int, config: Config, spool: Spool, follower: Follower | None) -> int:
    if follower is None:
        roll = Roll(os.getpid(), config.spared, config.nonce)
    else:
        follower.hold(os.getpid())
        follower.recall()
        roll = follower.roll(config.spared)
    spool.cut()
    agent = spool.agent
    began = time.monotonic()
    exits: dict[int, int] = {}

    def reap() -> bool:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            exits[pid] = os.waitstatus_to_exitcode(status)
            roll.reaped(pid, "kill", int((time.monotonic() - began) * 1000))

    def record(step: str, left: list[Seen]) -> None:
        del step, left  # nobody is there to see it; the receipt says it all

    hands = Hands(
        agent_alive=lambda: False,
        say_farewell=lambda: False,
        said_at=lambda: 0.0,
        close_stdin=lambda: None,
        reap=reap,
        record_step=record,
        cgroups=config.cgroups,
    )
    ladder = Ladder(hands, roll, seconds=config.seconds, never=(os.getpid(),), now=time.monotonic())
    ladder.begin(time.monotonic(), kill=True)
    spool.append_facts("worker-lost", {"exit": code})
    before = ""
    while True:
        pause = ladder.tick(time.monotonic())
        if ladder.done:
            if agent is not None and agent[0] in exits:  # it went with the worker, perhaps before the first look
                roll.note_ended(*agent, "kill")
            facts = roll.receipt(
                reason=spool.reason or "supervisor-lost",
                already_ended=False,
                agent_exit=exit_word(exits[agent[0]]) if agent is not None and agent[0] in exits else None,
                steps=ladder.steps,
                total_ms=ladder.ms(time.monotonic()),
            )
            names = str(facts["remaining"])
            if names != before:
                spool.append_facts("gone", facts)
                spool.sync()
                before = names
            if not facts["remaining"]:
                break
            ladder.again(time.monotonic())
            pause = 1.0
        time.sleep(pause)
    spool.append_facts("end", {})
    spool.sync()
    spool.drop_reserve()
    return 1
