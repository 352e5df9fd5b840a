"""Linux: ``/proc`` for who a process is, pidfds to signal exactly that one, and calls that Python has no name for.

Nothing here decides anything. A signal is sent only behind a pidfd, to a process that was looked at behind it.
"""

from __future__ import annotations

import _socket  # the module around it costs milliseconds
import ctypes
import fcntl
import os
import select
import signal
import struct
import sys
from collections.abc import Iterable

from .process import Stat, mark, shown

assert sys.platform == "linux"

FOLLOWS = False
"""Whether descendants must be followed while they live: not where a subreaper gets whoever loses its parents."""
SOCKET_PATH_BYTES = 107
FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
"""How a folder is opened that is only gone through."""
SYNC = "fdatasync"
"""The name of what ``sync`` does."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PIDS_BY_SCAN = not os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110
_M_ARENA_MAX = -8
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024

# Loaded at import: a child between fork and exec must not import or look up anything.
_libc = ctypes.CDLL(None, use_errno=True)
_prctl = _libc.prctl

# ------------------------------------------------------------------------------------------------------- who they are


def read(path: str, limit: int = 1 << 20) -> bytes:
    """A small file of the kernel's, whole; empty when it is gone or not ours to read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while limit > 0:
            part = os.read(fd, min(65536, limit))
            if not part:
                break
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)


def boot_id() -> str:
    """Changes with every boot: with it, a pid and a start time name one process for ever."""
    return read("/proc/sys/kernel/random/boot_id").decode().strip()


def stat(pid: int) -> Stat | None:
    """None: no such process. Its start is counted in clock ticks since boot."""
    text = read(f"/proc/{pid}/stat")
    close = text.rfind(b")")  # the name may hold spaces and brackets of its own
    fields = text[close + 1 :].split()
    if close < 0 or len(fields) < 20:
        return None
    return Stat(pid, fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]), int(fields[17]))


def all_pids() -> list[int]:
    """Every process that /proc shows."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208


def children(pid: int, threads: int = 0) -> list[int]:
    """Direct children, of all threads of the process; zombies included. One known thread saves the listing."""
    if threads == 1:
        return [int(child) for child in read(f"/proc/{pid}/task/{pid}/children").split()]
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except OSError:
        return []
    found: list[int] = []
    for task in tasks:
        found += map(int, read(f"/proc/{pid}/task/{task}/children").split())
    return found


def children_of_all() -> dict[int, list[int]] | None:
    """By parent, where a kernel has no list for each: then it takes a look at everybody. None: ``children`` will do."""
    if not _PIDS_BY_SCAN:
        return None
    below: dict[int, list[int]] = {}
    for pid in all_pids():
        facts = stat(pid)
        if facts is not None:
            below.setdefault(facts.parent, []).append(pid)
    return below


def environment(pid: int) -> list[bytes]:
    """As it was started with; empty when it is gone or not ours to read."""
    return read(f"/proc/{pid}/environ", 8 << 20).split(b"\0")


def name(pid: int) -> str:
    """Command line for a person: one line, at most 200 characters, no control characters."""
    text = read(f"/proc/{pid}/cmdline", 4096).rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")
    return shown(text or "[" + read(f"/proc/{pid}/comm").decode("utf-8", "replace").strip() + "]")


def called(pid: int) -> frozenset[str]:
    """Names by which a profile may know a program: its executable's and the kernel's short one."""
    names = {read(f"/proc/{pid}/comm").decode("utf-8", "replace").strip()}
    try:
        names.add(os.path.basename(os.readlink(f"/proc/{pid}/exe")))  # noqa: PTH115, PTH119 - pathlib costs start time
    except OSError:
        pass
    return frozenset(names)


def rss_kb(pid: int) -> int:
    """Resident memory."""
    fields = read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * _PAGE_KB if len(fields) > 1 else 0


def age_seconds(facts: Stat) -> float:
    """Since its start."""
    up = float(read("/proc/uptime").split()[0])
    return max(0.0, up - facts.ticks / _TICKS)


# ------------------------------------------------------------------------------------------------------ life and death


def become_subreaper() -> None:
    """From now on orphans below this process become its children, whatever session they made for themselves."""
    if _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def die_with_parent(number: int, parent: int) -> bool:
    """Ask for a signal when the parent thread ends; False when it had ended before the asking."""
    _prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    return os.getppid() == parent


exit_handle = os.pidfd_open
"""A descriptor that is readable once that process has ended. Who is not our child may be another one by now. Raises
OSError where there is none of that number."""


def signal_exactly(pid: int, ticks: int, numbers: Iterable[int]) -> bool:
    """Signal that process or nothing: a pid that was given to another is left alone."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        facts = stat(pid)
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
        if mark(nonce) not in environment(pid):
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


# ----------------------------------------------------------------------------------------------- files, sockets, pipes


def peer_of(sock: _socket.socket) -> tuple[int, int]:
    """Process and user at the other end of a socket, as of its connecting."""
    size = struct.calcsize("3i")
    pid, uid, _ = struct.unpack("3i", sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, size))
    return pid, uid


def below(folder: int, name: str) -> str:
    """A short path to what is in an open folder, however long the folder's own is; empty: no path leads there."""
    return f"/proc/self/fd/{folder}/{name}"


def close_from(first: int) -> None:
    """Close every descriptor from that one on."""
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def widen(pipe: int, size: int) -> None:
    """Give a pipe more room, where it can be had."""
    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)
    except OSError:
        pass  # the user's share of pipe memory is used up; 64 KiB do


def one_heap() -> None:
    """Have all threads to come take their memory from one heap.

    glibc gives each a heap of its own. Events are made on one thread and let go on another, so the heaps fill with
    holes: of a console's 30 MB in them 13 were free after ten minutes, of 22 in one heap 6 (measured).
    """
    mallopt = getattr(_libc, "mallopt", None)  # other C libraries have one heap anyhow, and not this word for it
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)


def set_aside(fd: int, size: int) -> None:
    """Take that much of the disk for an empty file."""
    os.posix_fallocate(fd, 0, size)


sync = os.fdatasync
"""What was written survives a power cut from here on."""
