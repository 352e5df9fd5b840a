"""Starting the agent: fork, its own session, its pipes, and a truthful word when the exec fails.

Not ``subprocess``: the parent-death signal has to be set between fork and exec, and the worker has one thread, where a
plain fork is safe. Nothing here reads or writes what the agent says.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import struct
import termios

from . import cgroup
from .kernel import kernel

_PIPE_BYTES = 256 * 1024
_RESTORED = tuple(getattr(signal, f"SIG{name}") for name in ("HUP", "INT", "QUIT", "TERM", "PIPE", "CHLD", "XFSZ"))
_NOT_FOUND = frozenset({errno.ENOENT, errno.ENOTDIR})
_NOT_EXECUTABLE = frozenset(
    getattr(errno, name, errno.ENOEXEC) for name in ("EACCES", "ENOEXEC", "EPERM", "ELIBBAD", "EBADARCH", "EBADEXEC")
)


class Order:
    """What is to be started, checked."""

    __slots__ = ("argv", "cwd", "environment", "quiet", "terminal")

    def __init__(
        self, argv: list[str], cwd: str, environment: dict[str, str], terminal: tuple[int, int] | None, quiet: float
    ) -> None:
        self.argv = argv
        self.cwd = cwd
        self.environment = environment
        self.terminal = terminal
        self.quiet = quiet
        """After so many seconds without output its silence is recorded; 0: never."""


class Started:
    """The worker's ends of a child that may still fail to exec; ``report`` tells."""

    __slots__ = ("generation", "master", "pid", "report", "stderr", "stdin", "stdout", "ticks")

    def __init__(self, pid: int, generation: int, stdin: int, stdout: int, stderr: int, report: int) -> None:
        self.pid = pid
        self.generation = generation
        self.stdin = stdin
        self.stdout = stdout
        """With a terminal: the same descriptor as ``stdin``."""
        self.stderr = stderr
        """-1 with a terminal."""
        self.report = report
        """End of file: the exec happened. Else stage and errno."""
        facts = kernel.stat(pid)
        self.ticks = facts.ticks if facts is not None else 0


def _nonblocking(fd: int) -> int:
    os.set_blocking(fd, False)
    return fd


def resize(fd: int, rows: int, columns: int) -> None:
    """Of a terminal that we hold; its foreground process is told by the kernel."""
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def start(order: Order, generation: int, umask: int, group: str) -> Started:
    """Fork and exec, in that cgroup if there is one; comes back at once, before the exec is known to have happened."""
    worker = os.getpid()
    report_read, report_write = os.pipe()
    if order.terminal is None:
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        kernel.widen(out_read, _PIPE_BYTES)
        theirs = (in_read, out_write, err_write)
        ours = (in_write, out_read, err_read)
    else:
        master, slave = os.openpty()
        resize(master, *order.terminal)
        theirs = (slave, slave, slave)
        ours = (master, master, -1)
    candidates = _candidates(order)
    try:
        pid = os.fork()
    except OSError:
        for fd in {*theirs, *ours, report_read, report_write} - {-1}:
            os.close(fd)
        raise
    if pid == 0:
        _become(order, candidates, theirs, report_write, worker, umask, group)
    os.close(report_write)
    for fd in set(theirs):
        os.close(fd)
    for fd in set(ours):
        if fd >= 0:
            _nonblocking(fd)
    return Started(pid, generation, *ours, _nonblocking(report_read))


def _candidates(order: Order) -> list[str]:
    program = order.argv[0]
    if "/" in program:
        return [program]
    return [f"{place or '.'}/{program}" for place in order.environment.get("PATH", os.defpath).split(":")]


def _become(
    order: Order,
    candidates: list[str],
    theirs: tuple[int, int, int],
    report: int,
    worker: int,
    umask: int,
    group: str,
) -> None:
    """In the child: never returns."""
    stage = "prepare"
    number = 0
    try:
        os.setsid()
        if not kernel.die_with_parent(signal.SIGKILL, worker):
            os._exit(127)
        if group:
            cgroup.join(group)
        if order.terminal is not None:
            fcntl.ioctl(theirs[0], termios.TIOCSCTTY, 0)
        # Moved out of the way first: theirs may themselves be 0, 1 or 2.
        spare = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in theirs]
        for target, fd in enumerate(spare):
            os.dup2(fd, target, inheritable=True)
        for name in _RESTORED:
            signal.signal(name, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.umask(umask)
        stage = "cwd"
        os.chdir(order.cwd)
        stage = "exec"
        number = errno.ENOENT
        for path in candidates:
            try:
                os.execve(path, order.argv, order.environment)
            except OSError as error:
                # A program that is there and cannot be run says more than the next folder's "no such file".
                if error.errno not in _NOT_FOUND or number in _NOT_FOUND:
                    number = error.errno or 0
                if error.errno not in _NOT_FOUND and error.errno != errno.EACCES:
                    break
    except OSError as error:
        number = error.errno or 0
    except BaseException:
        number = 0
    finally:
        try:
            os.write(report, f"{stage} {number}".encode())
        finally:
            os._exit(127)


def failure(report: bytes, order: Order) -> tuple[str, str]:
    """What the child said before it ended: the word for it, and a detail for a person."""
    stage, _, text = report.decode("ascii", "replace").partition(" ")
    number = int(text) if text.isdigit() else 0
    why = os.strerror(number) if number else "unknown"
    if stage == "cwd":
        return "bad-folder", f"{order.cwd}: {why}"
    if stage == "exec" and number in _NOT_FOUND:
        there = os.path.exists(order.argv[0])  # noqa: PTH110
        return "not-found", f"{order.argv[0]}: " + ("its interpreter is missing" if there else why)
    if stage == "exec" and number in _NOT_EXECUTABLE:
        return "not-executable", f"{order.argv[0]}: {why}"
    return "os-error", f"{stage}: {why}"
