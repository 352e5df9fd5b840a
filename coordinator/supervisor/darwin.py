"""macOS: libproc and sysctl for who a process is, a kqueue to be told of forks and ends. As the headers say.

Three things are weaker here than on Linux, and nothing in this file can mend them:

- No process adopts orphans but launchd. So descendants are followed while they live (``follower``).
- A signal goes to a number. That it still is the process that was looked at is read right before; a number given to
  another in those microseconds would be hit. The kernel hands out nearly 100,000 numbers before one comes again.
- The environment of Apple's own programs (``/bin/sh``, ``/bin/sleep``) is shown to nobody, so none of them is known by
  the nonce.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import struct
import sys
import time
from _socket import socket
from collections.abc import Iterable

from .process import Stat, mark, shown

FOLLOWS = True
SOCKET_PATH_BYTES = 103
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
SYNC = "F_FULLFSYNC"

# sys/proc_info.h
_ALL_PIDS, _PIDS_OF_PARENT = 1, 6
_BSD_FACTS, _TASK_FACTS, _FOLDER_FACTS, _SHORT_FACTS = 3, 4, 9, 13
BSD = struct.Struct("=11I4x16s32s5Ii2Q")
"""``proc_bsdinfo``: flags, status, exit status, pid, parent, six ids, both names, files, group, jobs, terminal and its
group, nice, start in seconds and microseconds."""
SHORT = struct.Struct("=4I16s8I")
"""``proc_bsdshortinfo``: pid, parent, group, status, name, flags, six ids, reserved. Of anybody's process."""
TASK = struct.Struct("=6Q12i")
"""``proc_taskinfo``: virtual size, resident size, and what is not asked for."""
FOLDERS_BYTES = 2352
"""``proc_vnodepathinfo``: twice ``vnode_info_path``, the working folder's first."""
FOLDER_PATH = slice(152, 152 + 1024)
"""In it the path, behind ``vnode_info``."""
# sys/proc.h: p_stat
_STATES = {1: "I", 2: "R", 3: "S", 4: "T", 5: "Z"}
# sys/sysctl.h
_CTL_KERN, _KERN_PROCARGS2 = 1, 49
_ARGUMENTS_MOST = 1 << 20
"""``ARG_MAX``; a larger buffer is refused."""
# sys/event.h
EVENT = struct.Struct("=QhHIqQ")
"""``kevent``: whom, filter, flags, what happened, data, ours."""
_EVFILT_PROC = -5
_EV_ADD, _EV_CLEAR = 0x1, 0x20
_NOTE_EXIT, _NOTE_FORK = 0x80000000, 0x40000000
_AT_ONCE = 64
# sys/un.h, sys/ucred.h, sys/fcntl.h
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
CREDENTIALS = struct.Struct("=IIh2x16I")
"""``xucred``: version, user, number of groups, groups."""
_F_FULLFSYNC = 51
_NO_FULL_SYNC = frozenset({errno.ENOTSUP, errno.ENOTTY, errno.EINVAL, errno.ENODEV})

_libc = ctypes.CDLL(None, use_errno=True)

# ------------------------------------------------------------------------------------------------------- who they are


def read(path: str, limit: int = 1 << 20) -> bytes:
    """The kernel shows nothing as files here: empty, as on Linux for one that is not there."""
    del path, limit
    return b""


def boot_id() -> str:
    """Changes with every boot.

    Raises:
        OSError: it is not told; without it no process has a name that lasts.
    """
    text = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(text))
    if (
        _libc.sysctlbyname(b"kern.bootsessionuuid", text, ctypes.byref(size), None, ctypes.c_size_t(0))
        or not text.value
    ):
        raise OSError(ctypes.get_errno(), "kern.bootsessionuuid is not told")
    return text.value.decode("ascii", "replace")


def _pid_info(pid: int, flavor: int, size: int) -> bytes:
    """Whole, or empty. The argument 1 lets zombies be found, by the flavors that know it."""
    buffer = ctypes.create_string_buffer(size)
    got = _libc.proc_pidinfo(
        pid, flavor, ctypes.c_uint64(1 if flavor in (_BSD_FACTS, _SHORT_FACTS) else 0), buffer, size
    )
    return buffer.raw if got == size else b""


def stat_from(raw: bytes, session: int) -> Stat | None:
    """A ``proc_bsdinfo``; its start is counted in microseconds of the wall clock, set once at the fork."""
    if len(raw) != BSD.size:
        return None
    fields = BSD.unpack(raw)
    state, pid, parent, seconds, micros = fields[1], fields[3], fields[4], fields[-2], fields[-1]
    return Stat(pid, _STATES.get(state, "S"), parent, session, seconds * 1_000_000 + micros, 0)


def stat(pid: int) -> Stat | None:
    """None: no such process. Of another user's (``sudo``) the start is not told: 0. The session is read apart from the
    rest: look twice to rely on it."""
    try:
        session = os.getsid(pid)
    except OSError:
        session = 0  # a zombie, or gone
    facts = stat_from(_pid_info(pid, _BSD_FACTS, BSD.size), session)
    return facts or short_stat_from(_pid_info(pid, _SHORT_FACTS, SHORT.size), session)


def short_stat_from(raw: bytes, session: int) -> Stat | None:
    """A ``proc_bsdshortinfo``: it has no start."""
    if len(raw) != SHORT.size:
        return None
    pid, parent, _, state = SHORT.unpack(raw)[:4]
    return Stat(pid, _STATES.get(state, "S"), parent, session, 0, 0)


def _pids(kind: int, of: int) -> list[int]:
    room = 4096
    while True:
        buffer = (ctypes.c_int * room)()
        got = _libc.proc_listpids(kind, of, buffer, ctypes.sizeof(buffer))
        if got < ctypes.sizeof(buffer):
            return [pid for pid in buffer[: max(0, got) // ctypes.sizeof(ctypes.c_int)] if pid > 0]
        room *= 2


def all_pids() -> list[int]:
    """Every process, zombies included."""
    return _pids(_ALL_PIDS, 0)


def children(pid: int, threads: int = 0) -> list[int]:
    """Direct children, zombies included."""
    del threads
    return _pids(_PIDS_OF_PARENT, pid)


def children_of_all() -> dict[int, list[int]] | None:
    """``children`` will do."""
    return None


def arguments_from(raw: bytes) -> tuple[bytes, list[bytes], list[bytes]]:
    """What ``KERN_PROCARGS2`` gives: the executable's path, its arguments, and all strings after them.

    Those are the environment and, behind it, a few of the kernel's own. An empty first argument cannot be told from
    the padding before it; then what follows counts as one argument more.
    """
    if len(raw) < 5:
        return b"", [], []
    count = int.from_bytes(raw[:4], sys.byteorder, signed=True)
    path, _, rest = raw[4:].partition(b"\0")
    strings = rest.lstrip(b"\0").split(b"\0")
    count = max(0, count)
    return path, strings[:count], [entry for entry in strings[count:] if entry]


def _arguments(pid: int) -> tuple[bytes, list[bytes], list[bytes]]:
    buffer = ctypes.create_string_buffer(_ARGUMENTS_MOST)
    size = ctypes.c_size_t(_ARGUMENTS_MOST)
    asked = (ctypes.c_int * 3)(_CTL_KERN, _KERN_PROCARGS2, pid)
    if _libc.sysctl(asked, 3, buffer, ctypes.byref(size), None, ctypes.c_size_t(0)) != 0:
        return b"", [], []
    return arguments_from(ctypes.string_at(buffer, size.value))


def arguments(pid: int) -> list[bytes]:
    """Its command line; empty for a zombie and for another user's."""
    return _arguments(pid)[1]


def environment(pid: int) -> list[bytes]:
    """As it was started with, and strings of the kernel's; empty where it is not ours to read, or of Apple's own."""
    return _arguments(pid)[2]


def _names(pid: int) -> list[str]:
    raw = _pid_info(pid, _BSD_FACTS, BSD.size)
    if raw:
        short, long = BSD.unpack(raw)[11:13]
    else:
        raw = _pid_info(pid, _SHORT_FACTS, SHORT.size)
        short, long = SHORT.unpack(raw)[4] if raw else b"", b""
    return [part.partition(b"\0")[0].decode("utf-8", "replace") for part in (long, short)]


def name(pid: int) -> str:
    """Command line for a person: one line, at most 200 characters, no control characters."""
    text = b" ".join(arguments(pid)).decode("utf-8", "replace")
    return shown(text or f"[{next((name for name in _names(pid) if name), '')}]")


def called(pid: int) -> frozenset[str]:
    """Names by which a profile may know a program: its executable's and the kernel's own."""
    path = _arguments(pid)[0].decode("utf-8", "replace")
    return frozenset({*_names(pid), path.rpartition("/")[2]}) - {""}


def working_folder(pid: int) -> str:
    """Where it stands; empty when it is gone or not ours to ask."""
    raw = _pid_info(pid, _FOLDER_FACTS, FOLDERS_BYTES)
    return os.fsdecode(raw[FOLDER_PATH].partition(b"\0")[0])


def rss_kb(pid: int) -> int:
    """Resident memory."""
    raw = _pid_info(pid, _TASK_FACTS, TASK.size)
    return int(TASK.unpack(raw)[1]) // 1024 if raw else 0


def age_seconds(facts: Stat) -> float:
    """Since its start, by the wall clock."""
    return max(0.0, time.time() - facts.ticks / 1_000_000)


# ------------------------------------------------------------------------------------------------------ life and death


def become_subreaper() -> None:
    """There is none here: orphans go to launchd, and ``follower`` looks for them."""


def die_with_parent(number: int, parent: int) -> bool:
    """No signal can be asked for: whoever watches the parent ends this one. False when that had ended already."""
    del number
    return os.getppid() == parent


def queue() -> int:
    """A kqueue: a descriptor that is readable while something has happened.

    Raises:
        OSError: there is none to be had.
    """
    made = int(_libc.kqueue())
    if made < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    os.set_inheritable(made, False)
    return made


def _watch(queue: int, pid: int, what: int) -> bool:
    change = ctypes.create_string_buffer(EVENT.pack(pid, _EVFILT_PROC, _EV_ADD | _EV_CLEAR, what, 0, 0), EVENT.size)
    return int(_libc.kevent(queue, change, 1, None, 0, None)) >= 0


def watch(queue: int, pid: int) -> bool:
    """Be told when it forks or ends; False: it is gone, or only a zombie."""
    return _watch(queue, pid, _NOTE_EXIT | _NOTE_FORK)


def drain(queue: int) -> int:
    """Take what has happened, without waiting; how much it was."""
    events = ctypes.create_string_buffer(EVENT.size * _AT_ONCE)
    no_wait = struct.pack("=qq", 0, 0)
    taken = 0
    while (n := int(_libc.kevent(queue, None, 0, events, _AT_ONCE, no_wait))) > 0:
        taken += n
    return taken


def exit_handle(pid: int) -> int:
    """A descriptor that is readable once that process has ended; at once, where there is none of that number.

    Raises:
        OSError: there are no more descriptors.
    """
    made = queue()
    if _watch(made, pid, _NOTE_EXIT):
        return made
    os.close(made)
    ended, end = os.pipe()
    os.close(end)
    return ended


def signal_exactly(pid: int, ticks: int, numbers: Iterable[int]) -> bool:
    """Signal that process or nothing, as far as it can be known here (see above)."""
    facts = stat(pid)
    if facts is None or not ticks or facts.ticks != ticks or facts.dead:
        return False
    try:
        for number in numbers:
            os.kill(pid, number)
    except OSError:
        return False
    return True


def kill_carrier(pid: int, nonce: str) -> bool:
    """KILL a process if it carries the nonce, and was the same before and after that was read."""
    facts = stat(pid)
    if facts is None or mark(nonce) not in environment(pid):
        return False
    return signal_exactly(pid, facts.ticks, (signal.SIGKILL,))


# ----------------------------------------------------------------------------------------------- files, sockets, pipes


def peer_of(sock: socket) -> tuple[int, int]:
    """Process and user at the other end of a socket; 0 and -1 where that is gone already."""
    try:
        told = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, CREDENTIALS.size)
        pid = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID)
    except OSError:
        return 0, -1
    return pid, int(CREDENTIALS.unpack(told)[1]) if len(told) == CREDENTIALS.size else -1


def below(folder: int, name: str) -> str:
    """No path leads through an open folder here: empty."""
    del folder, name
    return ""


def close_from(first: int) -> None:
    """Close every descriptor from that one on. By the list: how many there may be is no number to count up to here."""
    for entry in os.listdir("/dev/fd"):  # noqa: PTH208
        if entry.isdigit() and int(entry) >= first:
            try:
                os.close(int(entry))
            except OSError:
                pass  # the listing's own


def widen(pipe: int, size: int) -> None:
    """A pipe grows by itself here."""
    del pipe, size


def one_heap() -> None:
    """Threads share their heaps here."""


def set_aside(fd: int, size: int) -> None:
    """Take that much of the disk for an empty file."""
    view = memoryview(bytes(size))
    while view:
        view = view[os.write(fd, view) :]


def sync(fd: int) -> None:
    """What was written survives a power cut from here on: ``fsync`` alone stops at the drive's own memory."""
    try:
        fcntl.fcntl(fd, _F_FULLFSYNC)
    except OSError as error:
        if error.errno not in _NO_FULL_SYNC:
            raise
        os.fsync(fd)  # a file system that knows no more
