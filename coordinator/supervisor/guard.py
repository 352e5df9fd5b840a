"""The guard: above one program of ours that is not an agent, until that has ended; then nothing of it is left.

The parent-death signal reaches one process only, and what a console starts for itself (a command that makes a tree
ready, a question for a version) has children. So such a program stands below a process that adopts whatever leaves it,
and that ends all of it as soon as the pipe which the console holds is closed: by the console, or by its death. It has
no spool, no socket and no ladder: nobody asks these programs to end in their own time.

``python -I -S main.py guard FD PROGRAM ARGUMENT…``; the environment is handed on as it came.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time

from . import kin
from .kernel import kernel
from .process import CUSTODY_VARIABLE

MYPY = False
if MYPY:
    from .follower import Follower

NOT_BEGUN = b"guard: "
"""Before the reason why the program could not be started; the exit code is 127."""
_DYING = 1.0
"""Seconds for what was killed to be gone; in the kernel's hands, it goes when that lets go of it."""
_PAUSE_MS = 5


def main() -> int:
    """Returns the program's exit code; one that a signal ended takes the guard with it by the same signal."""
    order, argv = int(sys.argv[2]), sys.argv[3:]
    os.set_inheritable(order, False)
    kernel.become_subreaper()
    follower = _follower()
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    try:
        # A group of its own: what it does to that does not reach the guard. Python's own ignored signals stay here.
        program = os.posix_spawnp(
            argv[0],
            argv,
            _environment(),
            setpgroup=0,
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD],
        )
    except OSError as problem:
        os.write(2, NOT_BEGUN + (problem.strerror or "").lower().encode() + b"\n")
        return 127
    code = _wait(program, order, woken, follower)
    _end_all(follower)
    return code if code >= 0 else _end_by(-code)


def _environment() -> dict[bytes, bytes]:
    """As the kernel has it: Python's start may have set a locale in its own copy. macOS shows more than variables."""
    if sys.platform == "darwin":
        return dict(os.environb)
    else:
        return dict(entry.split(b"=", 1) for entry in kernel.environment(os.getpid()) if b"=" in entry)


def _follower() -> Follower | None:
    """Where what loses its parents does not become a child of ours by itself."""
    if not kernel.FOLLOWS:
        return None
    from .follower import Follower  # noqa: PLC0415 - never needed on Linux

    nonce = os.environ.get(CUSTODY_VARIABLE, "")
    follower = Follower(nonce or os.urandom(16).hex())  # nobody carries what nobody was given
    follower.hold(os.getpid(), leads=os.getsid(0) == os.getpid())
    return follower


def _wait(program: int, order: int, woken: int, follower: Follower | None) -> int:
    """Until it has ended, or was ordered to: that is a KILL."""
    watched = select.poll()
    watched.register(order, select.POLLIN)
    watched.register(woken, select.POLLIN)
    if follower is not None:
        watched.register(follower.queue, select.POLLIN)
    while True:
        pause = None if follower is None else follower.look_if_due()
        ended = _reap(follower)
        if program in ended:
            return ended[program]
        for fd, _ in watched.poll(None if pause is None else pause * 1000):
            if fd == order:
                return -signal.SIGKILL
            if follower is not None and fd == follower.queue:
                follower.stirred()
            else:
                os.read(woken, 4096)


def _reap(follower: Follower | None) -> dict[int, int]:
    if follower is not None:
        follower.before_waiting()
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = os.waitstatus_to_exitcode(status)


def _end_all(follower: Follower | None) -> None:
    """Kill one's own children until there are none: with each its children become ours."""
    until = time.monotonic() + _DYING
    while follower is not None and follower.kill_all() and time.monotonic() < until:
        time.sleep(_PAUSE_MS / 1000)
        _reap(follower)
    while time.monotonic() < until:
        below = kin.direct_children(os.getpid())
        if not below:
            return
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)  # not yet waited for, so the number is nobody else's
            except OSError:
                continue  # another user's: it took that right from somewhere, and it is not ours to end
        time.sleep(_PAUSE_MS / 1000)
        _reap(follower)


def _end_by(number: int) -> int:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it was not the guard that failed
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number
